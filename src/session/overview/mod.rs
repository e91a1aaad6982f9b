//! A person's sessions as the person sees them, and ending them one by one or all but this. What belongs to somebody
//! else is as unknown as what does not exist.

pub mod routes;
mod store;

use uuid::Uuid;

pub use self::store::Kept;
use super::{Proven, Sessions};
use crate::{
    account::holding::{Held, Holding},
    audit::{self, Act, Event},
    limit::ClientIp,
    store::{Database, Fault, Timestamp},
};

impl Sessions {
    /// The live sessions of the caller, this one first, then the one seen last.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn overview(&self, caller: &Proven) -> Result<Vec<Kept>, Fault> {
        store::live(&self.db, caller.account.id, caller.session_id, self.alive_at(self.clock.now())).await
    }

    /// When a session ends if nobody uses it any more.
    fn end_of(&self, kept: &Kept) -> Timestamp {
        kept.expires_at.min(kept.created_at + self.lifetimes.absolute)
    }

    /// Ends one live session of the caller; `false` when there is none with this id.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn end_one(&self, caller: &Proven, session: Uuid, client: &ClientIp) -> Result<bool, Fault> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let ended = store::end(&mut tx, caller.account.id, session, self.alive_at(now)).await?;
        if ended {
            let event = Event::by(Act::SessionRevoked, client, now).on(caller.account.id).within(session);
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        Ok(ended)
    }

    /// Ends every live session of the caller but this one, and says how many.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn end_others(&self, caller: &Proven, client: &ClientIp) -> Result<u64, Fault> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let ended = self.revoke_others(&mut tx, caller.account.id, caller.session_id).await?;
        let event = Event::by(Act::SessionsRevoked, client, now).on(caller.account.id).within(caller.session_id);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(ended)
    }
}

/// Every session of a person that still rests here, for the export.
#[derive(Debug)]
pub struct Everything(pub Database);

impl Holding for Everything {
    fn name(&self) -> &'static str {
        "sessions"
    }

    fn about(&self, person: Uuid) -> Held<'_> {
        Box::pin(async move {
            let sessions = store::everything_of(&self.0, person).await?;
            serde_json::to_value(sessions).map_err(|error| Fault::Defect(error.to_string()))
        })
    }
}
