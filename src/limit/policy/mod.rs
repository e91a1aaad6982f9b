//! What the operator decides about a bucket: how it counts, what a hit costs, what happens when Redis is away and when
//! the budget is spent. A set of policies is whole or it is not used; it is replaced at once and never edited.

mod field;
mod file;
mod networks;
mod source;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

pub use self::{file::PolicyFault, networks::Networks, source::PolicySource};
use super::{
    Bucket, ClientIp, Quotas,
    algorithm::{Algorithm, Rule},
};

/// Which algorithms the buckets begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The reference's fixed windows.
    #[default]
    Reference,
    /// Exact logs for credentials, mailboxes and sign-ups, sliding windows for the ceilings, and the budgets of accounts
    /// and known devices.
    Strict,
}

impl Profile {
    /// The profile of this name.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "reference" => Ok(Self::Reference),
            "strict" => Ok(Self::Strict),
            _ => Err(String::from("must be reference or strict")),
        }
    }

    /// How much of the memory belongs to `log`.
    pub const fn journal_percent(self) -> usize {
        match self {
            Self::Reference => 12,
            Self::Strict => 50,
        }
    }

    const fn algorithm(self, bucket: Bucket) -> Algorithm {
        match (self, bucket) {
            (_, Bucket::Named(_)) => Algorithm::Gcra,
            (Self::Reference, _) => Algorithm::Fixed,
            (Self::Strict, Bucket::Ip | Bucket::PublicIp) => Algorithm::Sliding,
            (Self::Strict, _) => Algorithm::Log,
        }
    }

    const fn mode(self, bucket: Bucket) -> Mode {
        match (self, bucket) {
            (Self::Reference, Bucket::Account | Bucket::Device) => Mode::Off,
            _ => Mode::Enforce,
        }
    }
}

/// What happens while Redis is configured and does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fail {
    /// Each process counts for itself.
    #[default]
    Memory,
    /// Nothing is counted and everybody admitted.
    Open,
    /// Everybody hears 503.
    Closed,
}

/// Whether a policy acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Enforce,
    /// Counts, logs and admits.
    Shadow,
    /// Does not count.
    Off,
}

/// Whom a named budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The counted network, or the address cut to these prefixes.
    Ip(Option<super::Prefixes>),
    User,
    ApiKey,
    Mailbox,
}

/// What a hook is told of a hit over the limit.
#[derive(Debug)]
pub struct Over<'a> {
    pub policy: &'a Policy,
    pub client: &'a ClientIp,
    /// The matched template.
    pub route: &'a str,
    pub request_id: uuid::Uuid,
    pub wait: Duration,
}

/// Code that decides about a hit over the limit.
pub trait OnLimit: Send + Sync {
    /// Whether the hit is admitted all the same. It is not counted.
    fn admits(&self, over: &Over<'_>) -> bool;
}

/// The hooks that policies may name.
#[derive(Clone, Default)]
pub struct Hooks(HashMap<&'static str, Arc<dyn OnLimit>>);

impl Hooks {
    /// These hooks and one more.
    #[must_use]
    pub fn with(mut self, name: &'static str, hook: impl OnLimit + 'static) -> Self {
        self.0.insert(name, Arc::new(hook));
        self
    }

    fn named(&self, name: &str) -> Option<Arc<dyn OnLimit>> {
        self.0.get(name).cloned()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// One policy.
#[derive(Clone)]
pub struct Policy {
    /// Its name in headers, logs and metrics.
    pub name: Arc<str>,
    pub bucket: Bucket,
    pub rule: Rule,
    pub cost: u32,
    pub fail: Fail,
    pub mode: Mode,
    /// Whether answers tell of it.
    pub headers: bool,
    pub whom: Whom,
    /// `None`: refuse.
    pub on_limit: Option<Arc<dyn OnLimit>>,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policy({}, {:?})", self.name, self.rule)
    }
}

/// All policies at one time.
#[derive(Clone, Debug)]
pub struct Policies {
    /// In the order of [`Bucket::ALL`].
    buckets: Vec<Arc<Policy>>,
    /// By method and template, as `"POST /api/auth/login"`.
    routes: HashMap<Box<str>, Vec<Arc<Policy>>>,
    named: HashMap<Arc<str>, Arc<Policy>>,
    pub networks: Networks,
}

impl Policies {
    /// The policies of a profile, with the operator's quotas and no file.
    pub fn of_profile(profile: Profile, quotas: &Quotas) -> Self {
        let policy = |bucket: Bucket| {
            let window = u64::try_from(bucket.window().as_micros()).unwrap_or(u64::MAX);
            Arc::new(Policy {
                name: bucket.name().into(),
                bucket,
                rule: Rule::new(profile.algorithm(bucket), bucket.quota(quotas), window),
                cost: 1,
                fail: Fail::Memory,
                mode: profile.mode(bucket),
                headers: true,
                whom: if bucket.is_mailbox() { Whom::Mailbox } else { Whom::Ip(None) },
                on_limit: None,
            })
        };
        Self {
            buckets: Bucket::ALL.iter().copied().map(policy).collect(),
            routes: HashMap::new(),
            named: HashMap::new(),
            networks: Networks::default(),
        }
    }

    /// The policy of a bucket that is no named budget.
    pub fn of(&self, bucket: Bucket) -> Option<&Arc<Policy>> {
        self.buckets.iter().find(|policy| policy.bucket == bucket)
    }

    /// The policies that the file puts on a route; `route` as `"POST /api/auth/login"`.
    pub fn on_route(&self, route: &str) -> &[Arc<Policy>] {
        self.routes.get(route).map_or(&[], Vec::as_slice)
    }

    /// Whether the file puts a policy on any route.
    pub fn has_routes(&self) -> bool {
        !self.routes.is_empty()
    }

    /// The routes that have policies.
    pub fn routes(&self) -> impl Iterator<Item = &str> {
        self.routes.keys().map(AsRef::as_ref)
    }

    /// A named budget.
    pub fn named(&self, name: &str) -> Option<&Arc<Policy>> {
        self.named.get(name)
    }

    /// Every policy, built-in ones first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.buckets.iter().chain(self.named.values())
    }

    /// What is impossible in these policies: the field and a sentence for each.
    pub fn faults(&self) -> Vec<String> {
        let fault = |policy: &Arc<Policy>| {
            let (field, problem) = policy.rule.fault()?;
            Some(format!("{}: {field} {problem}", policy.name))
        };
        self.all().filter_map(fault).collect()
    }
}
