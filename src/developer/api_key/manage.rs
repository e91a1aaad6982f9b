//! What an owner does with keys: list, make, change, revoke, rotate. Parallel changes of one person's keys come one
//! after the other, so that the limit holds.

use uuid::Uuid;

use super::{
    super::{
        Refusal,
        field::{Grace, Moment, Name, Scopes},
    },
    ApiKey, ApiKeys, Key, LIVE_LIMIT, NewKey, insert, store,
};
use crate::{
    account::{Account, Workspace},
    audit::{self, Act, Event},
    extract::Change,
    limit::ClientIp,
    session::Proven,
    store::{Fault, Json, Timestamp, Tx, retrying},
};

/// What an owner wants of a new key.
#[derive(Debug)]
pub struct Wanted {
    pub name: Name,
    pub scopes: Scopes,
    pub expires_at: Option<Moment>,
}

/// Who manages keys: an owner in a session, and from where.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    pub caller: &'a Proven,
    pub client: &'a ClientIp,
}

impl Owner<'_> {
    const fn id(&self) -> Uuid {
        self.caller.account.id
    }

    /// Writes what was done with a key, as part of the act. A key is named by its id.
    async fn record(&self, tx: &mut Tx, act: Act, now: Timestamp, keys: &str) -> Result<(), Fault> {
        let event = Event::by(act, self.client, now).on(self.id()).within(self.caller.session_id);
        audit::record(tx, &event.detail(keys)).await
    }
}

/// A partial update of a key.
#[derive(Debug)]
pub struct KeyChange {
    pub name: Option<Name>,
    pub scopes: Option<Scopes>,
    pub expires_at: Change<Moment>,
}

/// How a key is exchanged for a new one.
#[derive(Debug)]
pub struct Rotation {
    pub grace: Grace,
    /// Kept: the new key ends when the old one would have.
    pub expires_at: Change<Moment>,
}

impl ApiKeys {
    /// The owner's keys that have not been revoked.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn list(&self, owner: &Account) -> Result<Vec<ApiKey>, Fault> {
        store::list(&self.db, owner.id).await
    }

    /// The workspace that a new key belongs to: the one that is asked for, else the session's, else the default.
    ///
    /// # Errors
    /// When the one that is asked for is not the owner's, or there is none at all.
    pub async fn workspace(
        &self,
        owner: &Account,
        asked: Option<Uuid>,
        of_session: Option<Uuid>,
    ) -> Result<Uuid, Refusal> {
        let candidates = if asked.is_some() { [asked, None] } else { [of_session, owner.default_workspace_id] };
        for id in candidates.into_iter().flatten() {
            if Workspace::of_member(&self.db, owner.id, id).await?.is_some() {
                return Ok(id);
            }
        }
        Err(Refusal::NoSuchWorkspace)
    }

    /// Makes a key.
    ///
    /// # Errors
    /// An expiry that has passed, too many keys, an absent part.
    pub async fn create(&self, owner: Owner<'_>, workspace: Uuid, wanted: &Wanted) -> Result<(ApiKey, Key), Refusal> {
        let made = retrying(async || {
            let now = self.clock.now();
            let expires_at = ahead(wanted.expires_at, now)?;
            let mut tx = self.db.begin().await?;
            store::hold_owner(&mut tx, owner.id()).await?;
            refuse_another(&mut tx, owner.id(), now).await?;
            let key = Key::mint(&self.entropy);
            let new = NewKey {
                id: self.entropy.uuid(),
                user_id: owner.id(),
                workspace_id: workspace,
                name: &wanted.name.0,
                scopes: &wanted.scopes.0,
                now,
                expires_at,
            };
            let row = insert(&mut tx, &key, &new).await?;
            owner.record(&mut tx, Act::ApiKeyIssued, now, &row.id.to_string()).await?;
            tx.commit().await?;
            Ok::<_, Refusal>((row, key))
        })
        .await?;
        tracing::info!(user = %owner.id(), key = %made.0.id, "API key made");
        Ok(made)
    }

    /// Changes the fields that are mentioned. A key that a rotation has replaced only waits for its end.
    ///
    /// # Errors
    /// No such live key, an expiry that has passed, an absent part.
    pub async fn change(&self, owner: Owner<'_>, id: Uuid, change: &KeyChange) -> Result<ApiKey, Refusal> {
        retrying(async || {
            let now = self.clock.now();
            let mut tx = self.db.begin().await?;
            let mut key = self.hold(&mut tx, owner.id(), id, now).await?;
            if let Some(name) = &change.name {
                key.name.clone_from(&name.0);
            }
            if let Some(scopes) = &change.scopes {
                key.scopes = Json(scopes.0.clone());
            }
            key.expires_at = changed(&change.expires_at, key.expires_at, now)?;
            store::update(&mut tx, &key).await?;
            owner.record(&mut tx, Act::ApiKeyChanged, now, &id.to_string()).await?;
            tx.commit().await?;
            Ok(key)
        })
        .await
    }

    /// Revokes a key at once.
    ///
    /// # Errors
    /// No such key, an absent part.
    pub async fn revoke(&self, owner: Owner<'_>, id: Uuid) -> Result<(), Refusal> {
        retrying(async || {
            let now = self.clock.now();
            let mut tx = self.db.begin().await?;
            if !store::revoke(&mut tx, owner.id(), id, now).await? {
                return Err(Refusal::NoSuchKey);
            }
            owner.record(&mut tx, Act::ApiKeyRevoked, now, &id.to_string()).await?;
            tx.commit().await?;
            Ok(())
        })
        .await?;
        tracing::info!(user = %owner.id(), key = %id, "API key revoked");
        Ok(())
    }

    /// Makes a new key in a key's place. The old one ends at once, or lives on for the grace.
    ///
    /// # Errors
    /// No such live key, one that has been replaced already, too many keys, an absent part.
    pub async fn rotate(&self, owner: Owner<'_>, id: Uuid, rotation: &Rotation) -> Result<(ApiKey, Key), Refusal> {
        let made = retrying(async || {
            let now = self.clock.now();
            let mut tx = self.db.begin().await?;
            store::hold_owner(&mut tx, owner.id()).await?;
            let mut old = self.hold(&mut tx, owner.id(), id, now).await?;
            let expires_at = changed(&rotation.expires_at, old.expires_at, now)?;
            if rotation.grace.0.is_zero() {
                store::revoke(&mut tx, owner.id(), id, now).await?;
            } else {
                let end = now + rotation.grace.0;
                old.expires_at = Some(old.expires_at.map_or(end, |expiry| expiry.min(end)));
            }
            refuse_another(&mut tx, owner.id(), now).await?;
            let key = Key::mint(&self.entropy);
            let new = NewKey {
                id: self.entropy.uuid(),
                user_id: owner.id(),
                workspace_id: old.workspace_id,
                name: &old.name,
                scopes: &old.scopes.0,
                now,
                expires_at,
            };
            let row = insert(&mut tx, &key, &new).await?;
            old.replaced_by = Some(row.id);
            store::update(&mut tx, &old).await?;
            owner.record(&mut tx, Act::ApiKeyRotated, now, &format!("{id} by {}", row.id)).await?;
            tx.commit().await?;
            Ok::<_, Refusal>((row, key))
        })
        .await?;
        tracing::info!(user = %owner.id(), key = %made.0.id, old = %id, "API key rotated");
        Ok(made)
    }

    /// A live key of the owner that no rotation has replaced, its row held.
    async fn hold(&self, tx: &mut Tx, owner: Uuid, id: Uuid, now: Timestamp) -> Result<ApiKey, Refusal> {
        let key = store::find_for_update(tx, owner, id, now).await?.ok_or(Refusal::NoSuchKey)?;
        if key.replaced_by.is_some() { Err(Refusal::Replaced) } else { Ok(key) }
    }
}

async fn refuse_another(tx: &mut Tx, owner: Uuid, now: Timestamp) -> Result<(), Refusal> {
    let held = store::count_live(tx, owner, now).await?;
    if held < LIVE_LIMIT { Ok(()) } else { Err(Refusal::TooManyKeys) }
}

fn ahead(moment: Option<Moment>, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    match moment {
        Some(Moment(moment)) if moment <= now => Err(Refusal::ExpiryPast),
        moment => Ok(moment.map(|moment| moment.0)),
    }
}

fn changed(change: &Change<Moment>, current: Option<Timestamp>, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    match change {
        Change::Keep => Ok(current),
        Change::Clear => Ok(None),
        Change::Set(moment) => ahead(Some(*moment), now),
    }
}
