//! How long the answer took, in milliseconds, on every response.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

const HEADER: HeaderName = HeaderName::from_static("x-response-time");

pub(super) fn dress(elapsed: Duration, headers: &mut HeaderMap) {
    let text = format!("{:.3}ms", elapsed.as_secs_f64() * 1000.0);
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(HEADER, value);
    }
}
