//! Invitations that an operator hands out: a code, how often it may be used, and until when. A code is shown when it
//! is made and never again. While any invitation is unexpired, used up and revoked ones included, sign-up stays by
//! invitation: taking one back must never open the gate to everybody.

mod store;

use std::time::Duration;

use crate::{
    clock::Clock,
    secret::{Entropy, Plain},
    store::{Database, Fault},
};

pub use self::store::{Invite, any_unexpired, count_use, find_usable, list, revoke};

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
    store::insert(db, &code.hash(), &new).await?;
    Ok(code)
}
