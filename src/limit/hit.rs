//! Counting what is no request of its own: each message of a socket, each sign-in to an account, a route that a policy
//! names. The answer carries what a socket is closed with.

use std::{sync::Arc, time::Duration};

use super::{
    Attempt, Because, Charge, ClientIp, Limiter, Verdict,
    policy::{Policies, Policy, Whom},
};

/// What a hit met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    Admitted,
    /// Over the limit; it was not counted.
    Over(Duration),
    /// Redis is away and the policy is closed.
    Unavailable(Duration),
}

impl Hit {
    /// The code with which a WebSocket is closed (RFC 6455, section 7.4.1): policy violation, or try again later.
    pub const fn close_code(self) -> Option<u16> {
        match self {
            Self::Admitted => None,
            Self::Over(_) => Some(1008),
            Self::Unavailable(_) => Some(1013),
        }
    }
}

/// Who is behind a request, as far as it is known where it is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Who<'a> {
    pub user: Option<&'a str>,
    pub api_key: Option<&'a str>,
    /// In its canonical form.
    pub mailbox: Option<&'a str>,
}

impl Limiter {
    /// Counts a hit by `who` on a named budget; `cost` instead of the policy's own. A name that no policy has admits.
    pub async fn hit(&self, name: &str, who: &str, cost: Option<u32>, attempt: &Attempt) -> Hit {
        let Some(policy) = self.current().named(name).cloned() else { return Hit::Admitted };
        let policy = match cost {
            Some(cost) => Arc::new(Policy { cost: cost.max(1), ..Policy::clone(&policy) }),
            None => policy,
        };
        let charge = Charge::named(&policy, who);
        match self.decide(&[charge], &ClientIp::unknown(), name, attempt).await {
            Verdict::Admitted => Hit::Admitted,
            Verdict::Refused(refusal) if refusal.because() == Because::Unavailable => Hit::Unavailable(refusal.wait()),
            Verdict::Refused(refusal) => Hit::Over(refusal.wait()),
        }
    }
}

impl Policies {
    /// The charges that policies put on a route, for as much of `who` as is known; each kind is charged where it becomes
    /// known, so `who` names only what is new. `with_network` asks for the kinds that count addresses.
    pub fn charges<'a>(&'a self, route: &str, client: &ClientIp, who: Who<'a>, with_network: bool) -> Vec<Charge<'a>> {
        let charge = |policy: &'a Arc<Policy>| {
            let who = match policy.whom {
                Whom::Ip(_) if !with_network => return None,
                Whom::Ip(None) => return Some(Charge::named_by_network(policy, client.counted())),
                Whom::Ip(Some(prefixes)) => return Some(Charge::named_by_network(policy, client.counted_by(prefixes))),
                Whom::User => who.user?,
                Whom::ApiKey => who.api_key?,
                Whom::Mailbox => who.mailbox?,
            };
            Some(Charge::named(policy, who))
        };
        self.on_route(route).iter().filter_map(charge).collect()
    }
}
