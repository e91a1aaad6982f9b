//! A ceremony under way: what was asked of an authenticator, kept in the database so that any process may hear the
//! answer. The first completion takes it away, whatever comes of it.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{Passkeys, Refusal, relying_party::RelyingParty, store};

/// How long an authenticator may take (W3C Web Authentication 3, 15.1: 300 s where the user is verified).
pub(super) const LIFETIME: Duration = Duration::from_mins(5);

/// What a challenge is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ceremony {
    /// Signing in after naming an address.
    Login,
    /// Signing in with whatever passkey the device offers.
    Discoverable,
    /// Adding a passkey to the caller's account.
    Registration,
}

impl Ceremony {
    /// The name in the database.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Discoverable => "discoverable",
            Self::Registration => "registration",
        }
    }
}

/// A ceremony that was taken out of the database: nobody else will get it.
#[derive(Debug)]
pub(super) struct Taken<'a, S> {
    pub(super) party: &'a RelyingParty,
    pub(super) user_id: Option<Uuid>,
    pub(super) name: Option<String>,
    pub(super) state: S,
}

/// For whom a ceremony is opened, and what is kept until it ends.
#[derive(Debug, Default)]
pub(super) struct Purpose<'a> {
    pub(super) user_id: Option<Uuid>,
    pub(super) name: Option<&'a str>,
}

impl Passkeys {
    /// Keeps the state of a ceremony and returns the id by which its completion names it.
    pub(super) async fn open(
        &self,
        ceremony: Ceremony,
        party: &RelyingParty,
        purpose: Purpose<'_>,
        state: &(impl Serialize + Sync),
    ) -> Result<Uuid, Refusal> {
        let id = self.entropy.uuid();
        let state = serde_json::to_string(state).map_err(Refusal::defect)?;
        let row = store::NewCeremony {
            id,
            kind: ceremony.name(),
            rp_id: party.id(),
            user_id: purpose.user_id,
            name: purpose.name,
            state: &state,
            expires_at: self.clock.now() + LIFETIME,
        };
        store::insert_ceremony(&self.db, &row).await?;
        Ok(id)
    }

    /// Takes a ceremony, in a statement of its own: a completion that fails later has still used it up.
    pub(super) async fn take<S: DeserializeOwned>(
        &self,
        id: Uuid,
        ceremony: Ceremony,
    ) -> Result<Taken<'_, S>, Refusal> {
        let row = store::take_ceremony(&self.db, id, self.clock.now()).await?.ok_or(Refusal::Expired)?;
        if row.kind != ceremony.name() {
            return Err(Refusal::Expired);
        }
        // Its site may have left the configuration since.
        let party = self.parties.with_id(&row.rp_id).ok_or(Refusal::Expired)?;
        // A state that another release wrote: the person starts again.
        let state = serde_json::from_str(&row.state).map_err(|_| Refusal::Expired)?;
        Ok(Taken { party, user_id: row.user_id, name: row.name, state })
    }
}
