//! The policy file beside the route plan: a policy for a route that is not served, or that counts somebody whom the route
//! does not know, is refused. And the signal that reads the file again.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::plan::Planned;
use crate::{
    extract::Rule,
    limit::{
        Bucket, Limiter,
        policy::{Policies, Whom},
    },
};

/// A sentence for each policy that stands where it would count nobody.
pub(super) fn faults(policies: &Policies, routes: &[Planned]) -> Vec<String> {
    let mut faults = Vec::new();
    for name in policies.routes() {
        let Some(route) = routes.iter().find(|route| name == format!("{} {}", route.verb.name(), route.path)) else {
            faults.push(format!("policy.routes names {name:?}, which is not served"));
            continue;
        };
        for policy in policies.on_route(name) {
            if let Some(absent) = unknown_to(policy.whom, route) {
                faults.push(format!("policy.key counts by {absent}, which {name:?} does not know"));
            }
        }
    }
    faults
}

fn unknown_to(whom: Whom, route: &Planned) -> Option<&'static str> {
    let has = |is_it: fn(&Rule) -> bool| route.rules.iter().any(is_it);
    match whom {
        Whom::Ip(_) => None,
        Whom::User => (!has(|rule| matches!(rule, Rule::Bearer))).then_some("user"),
        Whom::Mailbox => (!has(|rule| matches!(rule, Rule::Bucket(Bucket::AuthEmail(_))))).then_some("mailbox"),
        Whom::ApiKey => (!has(|rule| matches!(rule, Rule::ApiKey))).then_some("api_key"),
    }
}

/// Reads the policies again on SIGHUP, until cancelled.
pub(super) async fn reload_on_hangup(limiter: Limiter, routes: Vec<Planned>, ending: CancellationToken) {
    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => {
            tracing::warn!(cause = %error, "SIGHUP cannot be listened to, rate limit policies are read at the start only");
            return;
        }
    };
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            hangup = hangups.recv() => match hangup {
                Some(()) => limiter.reload(|policies| faults(policies, &routes)),
                None => return,
            },
        }
    }
}
