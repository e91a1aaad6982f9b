//! The credential of an `Authorization: Bearer` header. It judges nothing about it.

use http::{HeaderMap, header};

/// The credential; `None` when there is no such header. An empty one or a foreign scheme is absent too.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}
