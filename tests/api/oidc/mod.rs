//! Signing in with Infomaniak, as a browser sees it, against a provider that keeps the protocol or breaks it.

mod account;
mod hostile;
mod walk;

use std::collections::HashMap;

use url::Url;

use crate::world::{Ask, Reply, Verbs, World, provider::IdentityProvider};

pub(crate) const START: &str = "/api/auth/infomaniak/start";
pub(crate) const CALLBACK: &str = "/api/auth/infomaniak/callback";

/// A house that knows a provider.
pub(crate) async fn house(more: &[(&str, &str)]) -> (World, IdentityProvider) {
    let provider = IdentityProvider::open().await;
    let variables = provider.variables();
    let plan = variables.iter().fold(World::plan(), |plans, (name, value)| plans.set(name, value));
    let plan = more.iter().fold(plan, |plans, (name, value)| plans.set(name, value));
    (plan.build().await, provider)
}

/// A browser on its way to the provider.
pub(crate) struct Away {
    pub(crate) query: HashMap<String, String>,
    pub(crate) cookie: String,
}

/// The parameters of a `Location`.
pub(crate) fn query_of(reply: &Reply) -> HashMap<String, String> {
    let location = reply.header("location").unwrap_or_else(|| panic!("no way on: {reply:?}"));
    Url::parse(location).unwrap().query_pairs().into_owned().collect()
}

impl World {
    /// Starts a sign-in.
    pub(crate) async fn away(&self, query: &str) -> Away {
        let reply = self.anonymous().get(&format!("{START}{query}")).await;
        reply.is(302);
        let cookie = reply.cookies()[0].split(';').next().unwrap().to_owned();
        Away { query: query_of(&reply), cookie }
    }

    /// The return with this query, in the browser that went.
    pub(crate) fn back(&self, away: &Away, query: &str) -> Ask {
        let path = format!("{CALLBACK}?{query}&state={}", away.query["state"]);
        self.anonymous().get(&path).header("cookie", &away.cookie)
    }

    /// The whole way until the return is answered.
    pub(crate) async fn walk(&self, provider: &IdentityProvider, query: &str) -> Reply {
        let away = self.away(query).await;
        let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
        self.back(&away, &format!("code={code}")).await
    }

    /// Where no account must have been made.
    pub(crate) async fn db_accounts(&self) -> i64 {
        self.db_number("SELECT count(*) FROM users WHERE $1 = $1", "").await
    }
}

impl Reply {
    /// A redirect to the front end with the token of a hand-off.
    #[track_caller]
    pub(crate) fn handed_off(&self) -> String {
        self.is(302);
        let location = self.header("location").unwrap();
        assert!(location.starts_with("https://labs.example/magic-link?token="), "{self:?}");
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert!(self.cookies()[0].starts_with("labs_oidc=;") && self.cookies()[0].contains("Max-Age=0"), "{self:?}");
        query_of(self)["token"].clone()
    }

    /// A redirect to the front end with a refusal, and nothing that the provider said.
    #[track_caller]
    pub(crate) fn turned_away(&self, word: &str, code: &str) -> &Self {
        self.is(302);
        let wanted = format!("https://labs.example/login?error={word}&error_code={code}");
        assert_eq!(self.header("location"), Some(wanted.as_str()), "{self:?}");
        assert!(self.cookies().iter().all(|cookie| cookie.starts_with("labs_oidc=;")), "{self:?}");
        self
    }
}
