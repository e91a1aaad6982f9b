//! Ending sessions. Their access tokens are refused from the next request on.

use uuid::Uuid;

use super::{Proven, Sessions, store};
use crate::{
    audit::{self, Act, Event},
    limit::ClientIp,
    store::{Fault, Tx},
};

/// Which sessions a sign-out ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// This one.
    #[default]
    Local,
    /// All of the person's.
    Global,
}

impl Sessions {
    /// Signs out of one session or of all.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn sign_out(&self, caller: &Proven, scope: Scope, client: &ClientIp) -> Result<(), Fault> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let detail = match scope {
            Scope::Local => {
                store::revoke(&mut tx, caller.session_id, now).await?;
                "local"
            }
            Scope::Global => {
                self.revoke_all(&mut tx, caller.account.id).await?;
                "global"
            }
        };
        let event = Event::by(Act::SignOut, client, now).on(caller.account.id).within(caller.session_id);
        audit::record(&mut tx, &event.detail(detail)).await?;
        tx.commit().await
    }

    /// Ends every session of a person, as part of a larger act.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn revoke_all(&self, tx: &mut Tx, person: Uuid) -> Result<(), Fault> {
        store::revoke_all(tx, person, self.clock.now()).await
    }

    /// Ends every session of a person but one, as part of a larger act, and says how many.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn revoke_others(&self, tx: &mut Tx, person: Uuid, kept: Uuid) -> Result<u64, Fault> {
        store::revoke_others(tx, person, kept, self.alive_at(self.clock.now())).await
    }
}
