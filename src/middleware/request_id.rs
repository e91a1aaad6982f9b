//! The id of a request: a fresh UUID for each. An id that a client sends is never read.

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use crate::secret::Entropy;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// A fresh id.
pub(super) fn mint(entropy: &Entropy) -> Uuid {
    entropy.uuid()
}

/// Shows the id to the client.
pub(super) fn dress(id: Uuid, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HEADER, value);
    }
}
