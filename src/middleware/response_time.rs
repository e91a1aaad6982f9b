//! How long the answer took, in milliseconds, on every response.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

const HEADER: HeaderName = HeaderName::from_static("x-response-time");

pub(super) fn dress(elapsed: Duration, headers: &mut HeaderMap) {
    let micros = elapsed.as_micros();
    if let Ok(value) = HeaderValue::try_from(format!("{}.{:03}ms", micros / 1000, micros % 1000)) {
        headers.insert(HEADER, value);
    }
}
