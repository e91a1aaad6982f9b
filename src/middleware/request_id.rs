//! The id of a request: a fresh UUID for each. An id that a client sends is never read. Where the system has no chance to
//! give, time and a counter make one: it names a request and guards nothing, and an answer without it would be lost.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::atomic::{AtomicU32, Ordering},
};

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use crate::{clock::Clock, secret::Entropy};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// What tells ids of one millisecond apart that chance did not make.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A fresh id. This runs outside the panic catcher, so it cannot fail.
pub(super) fn mint(entropy: &Entropy, clock: &Clock) -> Uuid {
    if let Some(bytes) = entropy.try_bytes() {
        return uuid::Builder::from_random_bytes(bytes).into_uuid();
    }
    let id = without_chance(clock.now().micros(), COUNTER.fetch_add(1, Ordering::Relaxed));
    tracing::error!(
        request_id = %id,
        cause = "the operating system's random generator failed",
        "A request got an id of time and a counter"
    );
    id
}

/// An id of the usual form, stirred from a moment, this process and a counter.
fn without_chance(micros: i64, counter: u32) -> Uuid {
    let half = |side: u8| {
        let mut hasher = DefaultHasher::new();
        (side, micros, std::process::id(), counter).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    uuid::Builder::from_random_bytes((half(0) << 64 | half(1)).to_be_bytes()).into_uuid()
}

/// Shows the id to the client.
pub(super) fn dress(id: Uuid, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HEADER, value);
    }
}
