//! How long the answer took, in milliseconds, on every response.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

const HEADER: HeaderName = HeaderName::from_static("x-response-time");

pub(super) fn dress(elapsed: Duration, headers: &mut HeaderMap) {
    let mut digits = itoa::Buffer::new();
    let mut text = String::with_capacity("86400000.000ms".len());
    text.push_str(digits.format(elapsed.as_millis()));
    // Three decimals: a leading one keeps the zeros and becomes the point.
    let decimals = digits.format(1000 + elapsed.subsec_micros() % 1000);
    text.push('.');
    text.push_str(&decimals[1..]);
    text.push_str("ms");
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(HEADER, value);
    }
}
