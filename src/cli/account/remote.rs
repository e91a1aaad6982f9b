//! The service, from a client's side: encrypted unless it runs on this very machine, no redirects, bounded answers.

use std::time::Duration;

use openidconnect::{
    reqwest::{self, StatusCode, redirect},
    url::{Host, Url},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::Outcome;
use crate::{public_url::not_a_url, secret::Plain};

/// Longest that one request may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Largest answer that is read.
const ANSWER_MAX: usize = 256 * 1024;

/// Tokens as the service hands them out.
#[derive(Deserialize)]
pub(super) struct SignedIn {
    pub access_token: String,
    pub refresh_token: String,
    pub expires_in: u64,
    pub user: Me,
}

/// Who one is.
#[derive(Debug, Deserialize)]
pub(super) struct Me {
    pub email: String,
}

/// What the service made of a credential.
#[derive(Debug)]
pub(super) enum Answer<T> {
    Said(T),
    /// 401: the credential is not good any more.
    Refused,
}

/// One server.
#[derive(Debug)]
pub(super) struct Remote {
    base: Url,
    client: reqwest::Client,
}

impl Remote {
    /// Takes an address that a person typed.
    pub(super) fn parse(server: &str) -> Outcome<Self> {
        let url = Url::parse(server).map_err(|error| format!("--server {}", not_a_url(&error)))?;
        let local = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if url.scheme() != "https" && !(url.scheme() == "http" && local) {
            return Err(String::from("--server must start with https:// (http:// is accepted for this machine alone)"));
        }
        if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
            return Err(String::from("--server must have no query, fragment or user"));
        }
        let builder = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .user_agent(concat!("labs-auth-cli/", env!("CARGO_PKG_VERSION")));
        let builder = if local { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { base: url, client })
    }

    pub(super) fn address(&self) -> &str {
        self.base.as_str()
    }

    /// The address of one route.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    /// Exchanges the code of the hand-off.
    pub(super) async fn redeem(&self, code: &Plain, verifier: &Plain) -> Outcome<SignedIn> {
        let body = json!({ "token": code.reveal(), "code_verifier": verifier.reveal() });
        let request = self.post("/api/auth/verify-magic-link", &body);
        match self.ask(request).await? {
            Answer::Said(signed_in) => Ok(signed_in),
            Answer::Refused => Err(String::from("the server did not accept the answer of the browser")),
        }
    }

    pub(super) async fn refresh(&self, token: &str) -> Outcome<Answer<SignedIn>> {
        self.ask(self.post("/api/auth/refresh", &json!({ "refresh_token": token }))).await
    }

    pub(super) async fn me(&self, access: &str) -> Outcome<Answer<Me>> {
        self.ask(self.client.get(self.url("/api/auth/me")).bearer_auth(access)).await
    }

    pub(super) async fn sign_out(&self, access: &str) -> Outcome<Answer<Value>> {
        self.ask(self.client.post(self.url("/api/auth/logout")).bearer_auth(access)).await
    }

    fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        let request = self.client.post(self.url(path)).header("content-type", "application/json");
        request.body(body.to_string())
    }

    async fn ask<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Outcome<Answer<T>> {
        let lost = |error: reqwest::Error| format!("{} cannot be reached: {}", self.base, error.without_url());
        let mut answer = request.send().await.map_err(lost)?;
        let status = answer.status();
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(lost)? {
            if body.len() + piece.len() > ANSWER_MAX {
                return Err(format!("{} sent too large an answer", self.base));
            }
            body.extend_from_slice(&piece);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Ok(Answer::Refused);
        }
        if !status.is_success() {
            return Err(told(status, &body));
        }
        serde_json::from_slice(&body).map(Answer::Said).map_err(|_| format!("{} is no labs-auth server", self.base))
    }
}

/// The service's own sentence, when it sent one.
fn told(status: StatusCode, body: &[u8]) -> String {
    let sentence =
        serde_json::from_slice::<Value>(body).ok().and_then(|it| it.get("error")?.as_str().map(str::to_owned));
    match sentence {
        Some(sentence) => {
            format!("the server says: {}", sentence.chars().filter(|it| !it.is_control()).collect::<String>())
        }
        None => format!("the server answered {status}"),
    }
}
