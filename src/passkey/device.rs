//! What a browser may remember: that one of its people has a passkey on a site, as a tag that says nothing to anybody
//! else. It is no credential and opens nothing.

use std::fmt;

use uuid::Uuid;

use super::credential::encode;
use crate::secret::{self, SecretKey};

/// People and sites that one browser remembers.
const REMEMBERED_MAX: usize = 8;

/// Makes and knows the tags.
pub struct Devices {
    current: [u8; 32],
    previous: Option<[u8; 32]>,
}

impl Devices {
    /// Makes tags with the current key and knows those of either.
    pub fn new(current: &SecretKey, previous: Option<&SecretKey>) -> Self {
        let derive = |key: &SecretKey| key.derive("passkey device");
        Self { current: derive(current), previous: previous.map(derive) }
    }

    /// The tag of a person on a site.
    pub(super) fn tag(&self, user: Uuid, rp_id: &str) -> String {
        tag(&self.current, user, rp_id)
    }

    /// Whether a browser's memory holds the tag of this person on this site.
    pub(super) fn remembers(&self, memory: Option<&str>, user: Uuid, rp_id: &str) -> bool {
        let keys = [Some(&self.current), self.previous.as_ref()];
        let wanted: Vec<String> = keys.into_iter().flatten().map(|key| tag(key, user, rp_id)).collect();
        let known = memory.unwrap_or_default().split('.').take(REMEMBERED_MAX);
        known.fold(false, |found, held| found | wanted.iter().any(|tag| secret::equal(tag.as_bytes(), held.as_bytes())))
    }
}

/// A browser's memory with a tag in front; the oldest one falls out.
pub(super) fn remember(memory: Option<&str>, tag: &str) -> String {
    let earlier = memory.unwrap_or_default().split('.').filter(|held| *held != tag && is_tag(held));
    std::iter::once(tag).chain(earlier).take(REMEMBERED_MAX).collect::<Vec<_>>().join(".")
}

/// Anything else that a client put there is not sent back.
fn is_tag(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn tag(key: &[u8; 32], user: Uuid, rp_id: &str) -> String {
    encode(secret::tag(key, &[user.as_bytes(), rp_id.as_bytes()]))
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Devices")
    }
}
