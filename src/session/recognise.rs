//! Recognising a browser by its refresh token without spending it: a page that is only looked at must not rotate it.

use uuid::Uuid;

use super::{Proven, Sessions, refresh::Grace, store};
use crate::{
    account,
    secret::Plain,
    store::{Fault, Timestamp, Tx},
};

impl Sessions {
    /// The live session of an active account behind a refresh token that `refresh` would still take.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn recognise(&self, presented: &Plain) -> Result<Option<Proven>, Fault> {
        let now = self.clock.now();
        let found = store::find_by_refresh(&self.db, &presented.hash(), self.alive_at(now), Grace::around(now)).await?;
        let Some(session) = found else { return Ok(None) };
        let account = account::find(&self.db, session.user_id).await?.filter(|account| account.is_active);
        Ok(account.map(|account| Proven { session_id: session.id, workspace_id: session.workspace_id, account }))
    }

    /// Whether a session is live, as part of a larger act.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn is_live(&self, tx: &mut Tx, session: Uuid) -> Result<bool, Fault> {
        self.end_if_live(tx, session).await.map(|end| end.is_some())
    }

    /// When a live session ends, unless it is extended before; `None` when it has ended.
    ///
    /// # Errors
    /// A fault of the database.
    pub(super) async fn end_if_live(&self, tx: &mut Tx, session: Uuid) -> Result<Option<Timestamp>, Fault> {
        let ends = store::find_ends(tx, session, self.alive_at(self.clock.now())).await?;
        Ok(ends.map(|(idle, opened)| idle.min(opened + self.lifetimes.absolute)))
    }
}
