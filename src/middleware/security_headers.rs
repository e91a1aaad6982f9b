//! What every answer tells browsers about itself. A handler that serves a page may set its own policy first.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// For an API: nothing may be loaded, nothing may frame it.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Two years, as the preload list asks for.
const TRANSPORT: &str = "max-age=63072000; includeSubDomains";

const ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
];

pub(super) fn dress(strict_transport: bool, headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if strict_transport {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(TRANSPORT));
    }
}
