//! Opening a session, in the transaction of the act that proves the person. A sign-in from a device not seen before is
//! told to the account's owner by mail, the very first one aside.

use uuid::Uuid;

use super::{Sessions, SignedInBy, store, user_agent};
use crate::{
    account::{self, Account},
    audit::{self, Act, Event},
    error::ApiError,
    limit::ClientIp,
    mail::{Delivery, Letter},
    secret::Plain,
    store::{Fault, Tx},
};

/// Longest user agent that is kept, in bytes.
const USER_AGENT_MAX: usize = 512;

/// From where a session is opened: for the person to recognise it later.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub client: ClientIp,
    pub user_agent: Option<String>,
    /// The mark of a known device, as the browser presents it.
    pub device: Option<Plain>,
    /// What the device calls itself. A hand-off alone knows it: its owner read it and approved it.
    pub label: Option<String>,
}

impl Visitor {
    /// Browser and system in words of ours, never what the client sent.
    pub fn in_words(&self) -> String {
        user_agent::in_words(self.user_agent.as_deref())
    }

    /// The same, with the label that the owner approved.
    fn named(&self) -> String {
        let words = self.in_words();
        match &self.label {
            Some(label) => format!("{words} ({label})"),
            None => words,
        }
    }
}

/// Tokens for a session, to be shown once.
#[derive(Debug)]
pub struct Opened {
    pub access: String,
    pub refresh: Plain,
    pub account: Account,
    /// The mark by which the browser is known from now on; a refresh changes none.
    pub(super) device: Option<Plain>,
    /// Whether a mail was queued.
    pub(super) announced: bool,
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
        let noted = account::touch_login(tx, account.id, self.clock.now())
            .await?
            .ok_or_else(|| ApiError::internal("the account vanished while its session was opened"))?;
        self.open_noted(tx, account, noted, by, visitor).await
    }

    /// The same for a sign-in that is noted already: the account before it, and after.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_noted(
        &self,
        tx: &mut Tx,
        before: &Account,
        account: Account,
        by: SignedInBy,
        visitor: &Visitor,
    ) -> Result<Opened, ApiError> {
        let now = self.clock.now();
        let first = before.last_login_at.is_none();
        let session = store::NewSession {
            id: self.entropy.uuid(),
            user_id: account.id,
            workspace_id: account.default_workspace_id,
            signed_in_by: by.name(),
            ip_address: &visitor.client.address(),
            user_agent: visitor.user_agent.as_deref().map(|text| clip(text, USER_AGENT_MAX)),
            label: visitor.label.as_deref(),
            now,
            expires_at: now + self.lifetimes.idle,
        };
        store::insert(tx, &session).await?;
        let event = Event::by(Act::SignIn, &visitor.client, now).on(account.id).within(session.id).detail(by.name());
        audit::record(tx, &event).await?;
        let known = visitor.device.as_ref().is_some_and(|mark| self.devices.knows(mark, &account.email));
        let announced = !known && !first && by.is_announced();
        if announced {
            self.announce(tx, &account, visitor).await?;
        }
        let device = Some(self.devices.mark(visitor.device.as_ref(), &account.email, &self.entropy));
        let refresh = self.issue_refresh(tx, session.id, None).await?;
        let access = self.sign(account.id, session.id, session.workspace_id)?;
        Ok(Opened { access, refresh, account, device, announced })
    }

    /// Tells the owner of the account from where somebody signed in.
    async fn announce(&self, tx: &mut Tx, account: &Account, visitor: &Visitor) -> Result<(), Fault> {
        let letter = Letter::NewDevice { device: visitor.named(), address: visitor.client.address().to_string() };
        self.post.enqueue(tx, account.recipient(), &letter, Delivery::Send).await
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
