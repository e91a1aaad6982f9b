//! Rotating a refresh token. A used one that comes back within the grace, while no successor was used, is a second
//! tab and gets a successor of its own; otherwise it is a stolen copy and the whole session ends.

use std::time::Duration;

use super::{Opened, Sessions, store};
use crate::{
    account,
    audit::{self, Act, Event},
    error::ApiError,
    limit::ClientIp,
    secret::Plain,
    store::{Contention, Fault, Timestamp, retrying},
};

/// How long a used token may come back without harm: two tabs, a lost answer.
const GRACE: Duration = Duration::from_secs(10);

/// When a token must have been used for its return to be harmless. It reaches as far ahead: the process that took the
/// other tab's request may have a clock that runs ahead of ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grace {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Grace {
    pub(super) fn around(now: Timestamp) -> Self {
        Self { from: now - GRACE, to: now + GRACE }
    }
}

/// Why no new token is issued.
#[derive(Debug)]
pub enum RefreshError {
    /// Unknown, expired, revoked or reused: the person signs in again.
    Ended,
    /// The account is disabled.
    Disabled,
    /// A part failed.
    Failed(ApiError),
    /// The database failed.
    Store(Fault),
}

impl From<Fault> for RefreshError {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl Contention for RefreshError {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Store(fault) if fault.is_contention())
    }
}

impl Sessions {
    /// Exchanges a refresh token for new tokens of the same session.
    ///
    /// # Errors
    /// See [`RefreshError`].
    pub async fn refresh(&self, presented: &Plain, client: &ClientIp) -> Result<Opened, RefreshError> {
        retrying(|| self.rotate(presented, client)).await
    }

    async fn rotate(&self, presented: &Plain, client: &ClientIp) -> Result<Opened, RefreshError> {
        let now = self.clock.now();
        let hash = presented.hash();
        let mut tx = self.db.begin().await?;
        // The session's row is taken first, so that parallel refreshes of one session come one after the other.
        let session = store::extend_by_refresh(&mut tx, &hash, self.alive_at(now), now + self.lifetimes.idle)
            .await?
            .ok_or(RefreshError::Ended)?;
        // Waiting for the row took time: whoever held it may have used the token after this request came.
        let now = self.clock.now();
        let first_use = store::use_refresh(&mut tx, &hash, now).await?;
        if !first_use && !store::is_in_grace(&mut tx, &hash, Grace::around(now)).await? {
            store::revoke(&mut tx, session.id, now).await?;
            let event = Event::by(Act::RefreshReused, client, now).on(session.user_id).within(session.id);
            audit::record(&mut tx, &event.refused("session ended")).await?;
            tx.commit().await?;
            tracing::warn!(session = %session.id, user = %session.user_id, "Refresh token reused, session {} revoked", session.id);
            return Err(RefreshError::Ended);
        }
        let account = account::find_in(&mut tx, session.user_id).await?.ok_or(RefreshError::Ended)?;
        if !account.is_active {
            return Err(RefreshError::Disabled);
        }
        let refresh = self.issue_refresh(&mut tx, session.id, Some(presented)).await.map_err(RefreshError::Failed)?;
        let access = self.sign(account.id, session.id, session.workspace_id).map_err(RefreshError::Failed)?;
        tx.commit().await?;
        Ok(Opened { access, refresh, account, device: None, announced: false })
    }
}
