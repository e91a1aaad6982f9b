//! A person's answer to a command-line client's wish.

use super::{CliLogins, wish::Wish};
use crate::{
    error::{ApiError, ErrorCode},
    session::Proven,
    store::{Fault, retrying},
    ticket::Purpose,
};

/// What the person pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny,
}

impl CliLogins {
    /// Where the browser goes: back to the client, with a code or with a refusal.
    ///
    /// # Errors
    /// A form that is not this session's own or too old; an absent part.
    pub async fn decide(
        &self,
        person: &Proven,
        wish: &Wish,
        decision: Decision,
        csrf: &str,
    ) -> Result<String, ApiError> {
        if !self.csrf.admit(csrf, person.session_id, wish, self.clock.now()) {
            return Err(ApiError::new(ErrorCode::ForeignPage));
        }
        if decision == Decision::Deny {
            return Ok(wish.target("error=access_denied"));
        }
        // `magic_link::redeem` reads these.
        let particulars = serde_json::json!({
            "challenge": wish.challenge,
            "name": wish.name,
            "session": person.session_id,
        })
        .to_string();
        let code = retrying(async || {
            let mut tx = self.db.begin().await?;
            let code = self.tickets.issue(&mut tx, Purpose::Cli, Some(person.account.id), &particulars).await?;
            tx.commit().await?;
            Ok::<_, Fault>(code)
        })
        .await?;
        tracing::info!(user = %person.account.id, session = %person.session_id, "Command-line sign-in approved");
        Ok(wish.target(&format!("code={}", code.reveal())))
    }
}
