//! Who may sign up. The gate is shut when the operator lists addresses or codes, or while an unexpired invitation
//! exists; a match in any of them opens it. It never looks at accounts, so it cannot tell whether one exists.

use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::invite;
use crate::{
    account::Email,
    clock::Clock,
    error::{ApiError, ErrorCode},
    limit::extract,
    secret::{Hashed, Plain, equal},
    store::Database,
};

/// One entry of `PRIMA_SIGNUP_ALLOWLIST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// One address, in its canonical form.
    Address(String),
    /// Everybody at one domain (not at its subdomains), in A-labels.
    Domain(String),
}

impl Allowed {
    /// Reads `dev@example.com` or `@example.com`.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refuse = |why| format!("holds {text:?}, which is neither an address nor an @domain: {why}");
        if text.starts_with('@') {
            let someone = Email::parse(&format!("x{text}")).map_err(refuse)?;
            let domain = someone.as_str().split_once('@').map_or("", |(_, domain)| domain);
            return Ok(Self::Domain(domain.to_owned()));
        }
        Email::parse(text).map(|email| Self::Address(email.as_str().to_owned())).map_err(refuse)
    }

    fn covers(&self, email: &Email) -> bool {
        match self {
            Self::Address(address) => address == email.as_str(),
            Self::Domain(domain) => email.as_str().split_once('@').is_some_and(|(_, own)| own == domain),
        }
    }
}

/// What the operator configured; invitations stand in the database.
#[derive(Clone, Debug, Default)]
pub struct Doors {
    pub allowed: Vec<Allowed>,
    /// Codes, as digests.
    pub codes: Vec<Hashed>,
}

impl Doors {
    /// Reads one code from the configuration.
    ///
    /// # Errors
    /// When no sign-up could carry it.
    pub fn parse_code(text: &str) -> Result<Hashed, String> {
        if text.chars().count() > 64 {
            return Err(String::from("holds a code of more than 64 characters"));
        }
        Ok(Plain::presented(text.to_owned()).hash())
    }
}

/// The gate in front of the hourly buckets.
#[derive(Clone, Debug)]
pub struct SignupGate {
    pub db: Database,
    pub clock: Clock,
    pub doors: Arc<Doors>,
}

/// What opened the gate.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The invitation whose use is to be counted, when one was needed.
    pub invite: Option<Uuid>,
}

impl extract::Gate for SignupGate {
    type Pass = Pass;

    fn mailbox(body: &Map<String, Value>) -> Option<String> {
        let email = Email::parse(body.get("email")?.as_str()?).ok()?;
        Some(email.as_str().to_owned())
    }

    async fn judge(&self, body: &Map<String, Value>) -> Result<Pass, ApiError> {
        let email = body.get("email").and_then(Value::as_str);
        // Without an address there is nobody to refuse; the fields' reader will.
        let Some(email) = email.filter(|email| email.contains('@')) else { return Ok(Pass { invite: None }) };
        let code = body.get("invite_code").and_then(Value::as_str).map(|code| Plain::presented(code.to_owned()).hash());
        self.open(email, code.as_ref()).await
    }
}

impl SignupGate {
    async fn open(&self, email: &str, code: Option<&Hashed>) -> Result<Pass, ApiError> {
        let Doors { allowed, codes } = &*self.doors;
        let configured = !allowed.is_empty() || !codes.is_empty();
        let listed = Email::parse(email).is_ok_and(|email| allowed.iter().any(|entry| entry.covers(&email)));
        if listed || code.is_some_and(|code| is_one_of(code, codes)) {
            return Ok(Pass { invite: None });
        }
        let now = self.clock.now();
        if !configured && !invite::any_unexpired(&self.db, now).await? {
            return Ok(Pass { invite: None });
        }
        let found = match code {
            Some(code) => invite::find_usable(&self.db, code, now).await?,
            None => None,
        };
        found.map(|id| Pass { invite: Some(id) }).ok_or(ApiError::new(ErrorCode::SignupClosed))
    }
}

/// All are compared, each in constant time.
fn is_one_of(code: &Hashed, codes: &[Hashed]) -> bool {
    codes.iter().fold(false, |found, known| equal(code.as_bytes(), known.as_bytes()) | found)
}
