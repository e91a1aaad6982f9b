//! Everything that is stored about a person, as one JSON, secrets aside: no password hash, no token, no code.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{ProfileError, Profiles};
use crate::{
    account::{User, Workspace},
    audit::{self, Act, Entry, Event},
    limit::ClientIp,
    mail::Queued,
    session::Proven,
    store::Timestamp,
    ticket::{self, Pending},
};

/// What a person takes along.
#[derive(Debug, Serialize)]
pub struct Export {
    exported_at: Timestamp,
    account: User,
    email_verified_at: Option<Timestamp>,
    pending_workspace_name: Option<String>,
    workspaces: Vec<Workspace>,
    tickets: Vec<Pending>,
    mails_waiting: Vec<Queued>,
    security_events: Vec<Entry>,
    /// One key for each room that stores something of its own.
    #[serde(flatten)]
    rooms: Map<String, Value>,
}

impl Profiles {
    /// Gathers everything about the caller, and notes that it was taken.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn export(&self, caller: &Proven, client: &ClientIp) -> Result<Export, ProfileError> {
        let now = self.clock.now();
        let account = &caller.account;
        let mut tx = self.db.begin().await?;
        audit::record(&mut tx, &Event::by(Act::Export, client, now).on(account.id).within(caller.session_id)).await?;
        tx.commit().await?;
        let mut rooms = Map::new();
        for holding in self.holdings.iter() {
            rooms.insert(holding.name().to_owned(), holding.about(account.id).await?);
        }
        Ok(Export {
            exported_at: now,
            account: account.view(),
            email_verified_at: account.email_verified_at,
            pending_workspace_name: account.pending_workspace_name.clone(),
            workspaces: Workspace::all_of(&self.db, account.id).await?,
            tickets: ticket::pending_of(&self.db, account.id).await?,
            mails_waiting: self.post.queued_for(&self.db, &account.email).await?,
            security_events: audit::of_person(&self.db, account.id).await?,
            rooms,
        })
    }
}
