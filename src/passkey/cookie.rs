//! The cookie `labs_pk`, in which a browser remembers that a passkey was used here. It goes to the passkey routes only.

use axum::http::{HeaderMap, HeaderValue, header};

use super::device;

const NAME: &str = "labs_pk";

/// A year: longer than people stay away.
const MAX_AGE: u64 = 31_536_000;

/// `Set-Cookie` that adds a tag to what the browser sent.
pub(super) fn remember(memory: Option<&str>, tag: &str, secure: bool) -> HeaderValue {
    let value = device::remember(memory, tag);
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{NAME}={value}; HttpOnly{secure}; SameSite=Lax; Path=/api/auth/webauthn; Max-Age={MAX_AGE}");
    // Tags are base64url and dots, so the text is always a valid header value.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("labs_pk=; Max-Age=0; Path=/api/auth/webauthn"))
}

/// What the browser sent along.
pub(super) fn presented(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(name, _)| *name == NAME).map(|(_, value)| value.to_owned())
}
