//! Ending sessions. Their access tokens are refused from the next request on.

use uuid::Uuid;

use super::{Sessions, store};
use crate::store::{Fault, Tx};

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
    pub async fn sign_out(&self, session: Uuid, person: Uuid, scope: Scope) -> Result<(), Fault> {
        let mut tx = self.db.begin().await?;
        match scope {
            Scope::Local => store::revoke(&mut tx, session, self.clock.now()).await?,
            Scope::Global => self.revoke_all(&mut tx, person).await?,
        }
        tx.commit().await
    }

    /// Ends every session of a person, as part of a larger act.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn revoke_all(&self, tx: &mut Tx, person: Uuid) -> Result<(), Fault> {
        store::revoke_all(tx, person, self.clock.now()).await
    }
}
