//! The id of a request: a fresh UUID for each. An id that a client sends is never read. It names a request and guards
//! nothing, so that it needs no secret and no question to the system: a counter, scrambled under a key of chance.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::{Builder, Uuid};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Makes the ids of one process.
#[derive(Default)]
pub struct RequestIds {
    /// Other processes have other keys.
    key: RandomState,
    count: AtomicU64,
}

impl RequestIds {
    /// A fresh id. This runs outside the panic catcher, so it cannot fail.
    pub(super) fn mint(&self) -> Uuid {
        let count = self.count.fetch_add(1, Relaxed);
        let half = |side: u8| u128::from(self.key.hash_one((side, count)));
        Builder::from_random_bytes((half(0) << 64 | half(1)).to_be_bytes()).into_uuid()
    }
}

impl fmt::Debug for RequestIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestIds")
    }
}

/// Shows the id to the client.
pub(super) fn dress(id: Uuid, headers: &mut HeaderMap) {
    let mut text = Uuid::encode_buffer();
    if let Ok(value) = HeaderValue::from_str(id.hyphenated().encode_lower(&mut text)) {
        headers.insert(HEADER, value);
    }
}
