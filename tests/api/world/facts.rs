//! What the rules about answers need to know of a house, and the secrets that its test has sent so far.

use std::{collections::BTreeSet, sync::Mutex};

use labs_auth::{
    app::Planned,
    config::{Environment, Settings},
    extract::{Rule, ServiceKeys},
    limit::{Bucket, policy::Policies},
};

pub(super) struct Facts {
    pub(super) origins: Vec<String>,
    pub(super) public_prefixes: Vec<String>,
    pub(super) production: bool,
    pub(super) volumetric: bool,
    pub(super) service_keys: ServiceKeys,
    policies: Policies,
    routes: Vec<Planned>,
    secrets: Mutex<BTreeSet<String>>,
}

/// Shorter texts than this turn up in bodies by chance.
const SHORTEST_SECRET: usize = 8;

impl Facts {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            origins: settings.cors.origins.clone(),
            public_prefixes: settings.cors.public_prefixes.clone(),
            production: settings.environment == Environment::Production,
            volumetric: settings.limits.volumetric,
            service_keys: settings.service_keys.clone(),
            policies: settings.limits.policies.clone(),
            routes: Vec::new(),
            secrets: Mutex::default(),
        }
    }

    pub(super) fn with_routes(self, routes: &[Planned]) -> Self {
        Self { routes: routes.to_vec(), ..self }
    }

    /// Whether the route counts networks by a bucket of its own.
    pub(super) fn counts_networks(&self, method: &str, path: &str) -> bool {
        self.has_bucket(method, path, |bucket| !bucket.is_mailbox())
    }

    /// Whether the policy file has a budget for the route; whom it counts is found out as a request is judged.
    pub(super) fn has_policy(&self, method: &str, path: &str) -> bool {
        !self.policies.on_route(&format!("{method} {path}")).is_empty()
    }

    /// Whether the route counts mailboxes.
    pub(super) fn counts_mailboxes(&self, method: &str, path: &str) -> bool {
        self.has_bucket(method, path, Bucket::is_mailbox)
    }

    fn has_bucket(&self, method: &str, path: &str, is_meant: impl Fn(Bucket) -> bool) -> bool {
        let routes = self.routes.iter().filter(|route| route.verb.name() == method && route.path == path);
        let mut rules = routes.flat_map(|route| &route.rules);
        rules.any(|rule| matches!(rule, Rule::Bucket(bucket) if is_meant(*bucket)))
    }

    pub(super) fn remember(&self, secrets: impl IntoIterator<Item = String>) {
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
        self.secrets.lock().unwrap().extend(long);
    }

    /// The first secret that `text` gives away.
    pub(super) fn given_away(&self, text: &str) -> Option<String> {
        self.secrets.lock().unwrap().iter().find(|secret| text.contains(secret.as_str())).cloned()
    }
}
