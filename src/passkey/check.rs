//! "Should this page offer the passkey first?" A browser that has used one here learns it of its own person; a stranger
//! always hears no, unless the operator chose to tell everybody.

use serde::Serialize;

use super::{Passkeys, Refusal, store};
use crate::account::Email;

/// The answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    available: bool,
    rp_id: Option<String>,
    has_passkeys: bool,
}

impl Passkeys {
    /// Answers for the calling page, an address and what the browser remembers. The database is asked in every case
    /// that names an address, so that the time tells nothing either.
    ///
    /// # Errors
    /// An absent part.
    pub async fn check(
        &self,
        origin: Option<&str>,
        email: Option<&Email>,
        remembered: Option<&str>,
    ) -> Result<Checked, Refusal> {
        let Some(party) = self.parties.for_origin(origin) else {
            return Ok(Checked { available: false, rp_id: None, has_passkeys: false });
        };
        let holder = match email {
            Some(email) => store::find_holder(&self.db, email.as_str(), party.id()).await?,
            None => None,
        };
        let may_know = |user| self.check_discloses || self.devices.remembers(remembered, user, party.id());
        Ok(Checked { available: true, rp_id: Some(party.id().to_owned()), has_passkeys: holder.is_some_and(may_know) })
    }
}
