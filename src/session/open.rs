//! Opening a session, in the transaction of the act that proves the person.

use uuid::Uuid;

use super::{Sessions, SignedInBy, store};
use crate::{
    account::{self, Account},
    error::ApiError,
    limit::ClientIp,
    secret::Plain,
    store::Tx,
};

/// Longest user agent that is kept, in bytes.
const USER_AGENT_MAX: usize = 512;

/// From where a session is opened: for the person to recognise it later.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub client: ClientIp,
    pub user_agent: Option<String>,
}

/// Tokens for a session, to be shown once.
#[derive(Debug)]
pub struct Opened {
    pub access: String,
    pub refresh: Plain,
    pub account: Account,
}

impl Sessions {
    /// Opens a session for `account` and notes the sign-in.
    ///
    /// # Errors
    /// A fault of the database, or of signing.
    pub async fn open(
        &self,
        tx: &mut Tx,
        account: &Account,
        by: SignedInBy,
        visitor: &Visitor,
    ) -> Result<Opened, ApiError> {
        let now = self.clock.now();
        let account = account::touch_login(tx, account.id, now)
            .await?
            .ok_or_else(|| ApiError::internal("the account vanished while its session was opened"))?;
        let session = store::NewSession {
            id: self.entropy.uuid(),
            user_id: account.id,
            workspace_id: account.default_workspace_id,
            signed_in_by: by.name(),
            ip_address: &visitor.client.address(),
            user_agent: visitor.user_agent.as_deref().map(|text| clip(text, USER_AGENT_MAX)),
            now,
            expires_at: now + self.lifetimes.refresh,
        };
        store::insert(tx, &session).await?;
        let refresh = self.issue_refresh(tx, session.id, None).await?;
        let access = self.sign(account.id, session.id, session.workspace_id)?;
        Ok(Opened { access, refresh, account })
    }

    pub(super) async fn issue_refresh(
        &self,
        tx: &mut Tx,
        session: Uuid,
        parent: Option<&Plain>,
    ) -> Result<Plain, ApiError> {
        let now = self.clock.now();
        let refresh = Plain::mint(&self.entropy);
        let parent = parent.map(Plain::hash);
        store::insert_refresh(tx, &refresh.hash(), session, parent.as_ref(), now, now + self.lifetimes.refresh).await?;
        Ok(refresh)
    }

    pub(super) fn sign(&self, person: Uuid, session: Uuid, workspace: Option<Uuid>) -> Result<String, ApiError> {
        self.signer
            .sign(person, session, workspace, self.entropy.uuid(), self.clock.now(), self.lifetimes.access)
            .map_err(ApiError::internal)
    }

    /// Seconds that an access token lives.
    pub const fn access_seconds(&self) -> u64 {
        self.lifetimes.access.as_secs()
    }

    pub(super) const fn refresh_seconds(&self) -> u64 {
        self.lifetimes.refresh.as_secs()
    }
}

/// At most `max` bytes of `text`, cut between characters.
fn clip(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
