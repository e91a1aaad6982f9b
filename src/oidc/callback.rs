//! A browser that comes back from the provider: its state is claimed, its cookie compared, its code exchanged, and the
//! account that the provider vouches for is handed to the front end as a ticket of one minute.

use super::{Oidc, Pending, Secrets, provider::Unusable};
use crate::{
    error::{ApiError, ErrorCode},
    secret::{Plain, equal},
    store::{Contention, Fault, retrying},
    ticket::{self, Purpose},
};

/// What the address of the return says. Nothing of it is believed.
#[derive(Debug, Default)]
pub struct Return {
    pub code: Option<String>,
    pub state: Option<Plain>,
    pub error: Option<String>,
    pub issuer: Option<String>,
}

/// Where a sign-in that succeeded goes on.
#[derive(Debug)]
pub struct Landed {
    pub ticket: Plain,
    pub redirect_to: Option<String>,
}

/// How a sign-in failed.
#[derive(Debug)]
pub enum Failure {
    StateInvalid,
    Declined,
    Provider(Unusable),
    EmailUnverified,
    Disabled,
    SignupClosed,
    Failed(ApiError),
    Store(Fault),
}

impl Failure {
    /// What the front end is told: a word and a code of the catalogue.
    pub const fn told(&self) -> (&'static str, ErrorCode) {
        match self {
            Self::StateInvalid => ("invalid_state", ErrorCode::SignInExpired),
            Self::Declined => ("access_denied", ErrorCode::SignInIncomplete),
            Self::Provider(_) => ("provider_error", ErrorCode::ProviderUnreachable),
            Self::EmailUnverified => ("email_not_verified", ErrorCode::SignInIncomplete),
            Self::Disabled => ("account_disabled", ErrorCode::AccountDisabled),
            Self::SignupClosed => ("signup_closed", ErrorCode::RegistrationClosed),
            Self::Failed(_) => ("internal_error", ErrorCode::Internal),
            Self::Store(_) => ("unavailable", ErrorCode::Unavailable),
        }
    }

    /// What the log is told besides.
    pub fn cause(&self) -> Option<&str> {
        match self {
            Self::Provider(Unusable(cause)) => Some(cause),
            Self::Failed(error) => error.cause().map(crate::error::Cause::for_log),
            Self::Store(fault) => Some(fault.for_log()),
            Self::StateInvalid | Self::Declined | Self::EmailUnverified | Self::Disabled | Self::SignupClosed => None,
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl Contention for Failure {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Store(fault) if fault.is_contention())
    }
}

impl Oidc {
    /// Finishes a sign-in.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn finish(&self, back: Return, browser: Option<&Plain>) -> Result<Landed, Failure> {
        let state = back.state.as_ref().ok_or(Failure::StateInvalid)?;
        let pending = retrying(|| self.claim(state)).await?;
        let fits = browser.is_some_and(|it| equal(it.hash().as_bytes(), &pending.browser));
        if !fits {
            return Err(Failure::StateInvalid);
        }
        let broken = |cause: &str| Failure::Provider(Unusable(cause.to_owned()));
        match back.error.as_deref() {
            Some("access_denied") => return Err(Failure::Declined),
            Some(_) => return Err(broken("the provider returned an error")),
            None => {}
        }
        let provider = self.provider.as_deref().ok_or_else(|| broken("no provider is configured any more"))?;
        if back.issuer.is_some_and(|issuer| issuer != provider.issuer()) {
            return Err(broken("the return names another issuer"));
        }
        let code = back.code.ok_or_else(|| broken("the return brings no code"))?;
        let secrets: Secrets = self
            .seal
            .open(&pending.sealed)
            .and_then(|clear| serde_json::from_slice(&clear).ok())
            .ok_or(Failure::StateInvalid)?;
        let person = tokio::time::timeout(self.patience, provider.identify(code, &secrets))
            .await
            .unwrap_or_else(|_| Err(Unusable(String::from("no answer in time"))))
            .map_err(Failure::Provider)?;
        let redirect_to = pending.redirect_to;
        let particulars = serde_json::json!({ "redirect_to": redirect_to }).to_string();
        let ticket = retrying(|| self.enter(provider.issuer(), &person, &particulars)).await?;
        Ok(Landed { ticket, redirect_to })
    }

    /// Claims a state: of any number of returns exactly one gets it, whatever comes of it.
    async fn claim(&self, state: &Plain) -> Result<Pending, Failure> {
        let mut tx = self.db.begin().await?;
        let ticket = ticket::claim_whole(&mut tx, &state.hash(), Purpose::OidcState, self.clock.now()).await?;
        tx.commit().await?;
        let text = ticket.and_then(|ticket| ticket.particulars).ok_or(Failure::StateInvalid)?;
        serde_json::from_str(&text).map_err(|error| Failure::Failed(ApiError::internal(error)))
    }
}
