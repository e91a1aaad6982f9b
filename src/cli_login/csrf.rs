//! The token in the page's form: bound to the session and to every field, so that no other page can approve anything
//! and no field can be exchanged after the person has read it.

use std::{fmt, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use super::wish::Wish;
use crate::{
    clock::Timestamp,
    secret::{SecretKey, equal, tag},
};

/// How long a page may stay open before it is approved.
const LIFETIME: Duration = Duration::from_mins(10);

/// Label of the keys.
const LABEL: &str = "cli-login form";

/// The keys under which tokens are made (the first) and accepted (all), so that keys rotate.
#[derive(Clone)]
pub struct CsrfKeys(Vec<[u8; 32]>);

impl CsrfKeys {
    pub fn new(current: &SecretKey, previous: Option<&SecretKey>) -> Self {
        Self([Some(current), previous].into_iter().flatten().map(|key| key.derive(LABEL)).collect())
    }

    /// A token for a page that `session` looks at.
    pub(super) fn token(&self, session: Uuid, wish: &Wish, now: Timestamp) -> String {
        let until = (now + LIFETIME).seconds();
        let tag = self.0.first().map(|key| sign(key, session, wish, until)).unwrap_or_default();
        format!("{until}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// Whether a token was made for this session and these fields, not long ago.
    pub(super) fn admit(&self, token: &str, session: Uuid, wish: &Wish, now: Timestamp) -> bool {
        let Some((until, presented)) = token.split_once('.') else { return false };
        let (Ok(until), Ok(presented)) = (until.parse::<i64>(), URL_SAFE_NO_PAD.decode(presented)) else {
            return false;
        };
        let genuine =
            self.0.iter().fold(false, |found, key| equal(&sign(key, session, wish, until), &presented) | found);
        genuine && now.seconds() < until
    }
}

fn sign(key: &[u8; 32], session: Uuid, wish: &Wish, until: i64) -> [u8; 32] {
    let name = wish.name.as_deref().map_or([0].as_slice(), str::as_bytes);
    tag(
        key,
        &[
            session.as_bytes(),
            &wish.port.to_be_bytes(),
            wish.state.as_bytes(),
            wish.challenge.as_bytes(),
            name,
            &until.to_be_bytes(),
        ],
    )
}

impl fmt::Debug for CsrfKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CsrfKeys(…)")
    }
}
