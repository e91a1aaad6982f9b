//! Invitations that an operator hands out: a code, how often it may be used, and until when. A code is shown when it
//! is made and never again. While any invitation is unexpired, used up and revoked ones included, sign-up stays by
//! invitation: taking one back must never open the gate to everybody.

mod store;

use std::time::Duration;

use uuid::Uuid;

use crate::{
    audit::{self, Act, Event, Origin},
    clock::{Clock, Timestamp},
    secret::{Entropy, Plain},
    store::{Database, Fault, Tx, retrying},
};

pub use self::store::{Invite, any_unexpired, count_use, find_usable, list};

/// Characters of a code that stay readable for the operator.
const PREFIX_CHARS: usize = 6;

/// What an operator wants of a new invitation.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub note: Option<&'a str>,
    pub max_uses: u32,
    pub lifetime: Duration,
}

/// Makes an invitation and returns its code.
///
/// # Errors
/// A fault of the database.
pub async fn create(db: &Database, clock: &Clock, entropy: &Entropy, wanted: &Wanted<'_>) -> Result<Plain, Fault> {
    let code = Plain::mint(entropy);
    let now = clock.now();
    let prefix: String = code.reveal().chars().take(PREFIX_CHARS).collect();
    let new = store::NewInvite {
        id: entropy.uuid(),
        prefix: &prefix,
        note: wanted.note,
        max_uses: wanted.max_uses.into(),
        now,
        expires_at: now + wanted.lifetime,
    };
    retrying(async || {
        let mut tx = db.begin().await?;
        store::insert(&mut tx, &code.hash(), &new).await?;
        record(&mut tx, Act::InviteMade, new.id, now).await?;
        tx.commit().await
    })
    .await?;
    Ok(code)
}

/// Takes an invitation back; `false` when there is none to take back.
///
/// # Errors
/// A fault of the database.
pub async fn revoke(db: &Database, id: Uuid, now: Timestamp) -> Result<bool, Fault> {
    retrying(async || {
        let mut tx = db.begin().await?;
        if !store::revoke(&mut tx, id, now).await? {
            return Ok(false);
        }
        record(&mut tx, Act::InviteRevoked, id, now).await?;
        tx.commit().await?;
        Ok(true)
    })
    .await
}

/// Writes what the operator did, as part of the act. An invitation is named by its id.
async fn record(tx: &mut Tx, act: Act, invite: Uuid, now: Timestamp) -> Result<(), Fault> {
    let invite = invite.to_string();
    audit::record(tx, &Event::from(act, Origin::CommandLine, now).detail(&invite)).await
}
