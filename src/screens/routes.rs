//! Serving the screens, with a policy that lets a page load its own files and call its own API, and nothing else.

use axum::response::IntoResponse;
use http::{HeaderValue, header};

use super::Asset;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The answer for one file. Browsers ask again each time; the files are small and change with the binary.
pub(crate) fn answer(asset: Asset) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, asset.text)
}
