//! The cookie that binds a sign-in to the browser in which it began. `Lax`, because the provider sends people back by a
//! top-level navigation from its own site.

use axum::http::{HeaderMap, HeaderValue};

use crate::{secret::Plain, session::cookie, ticket::Purpose};

const NAME: &str = "labs_oidc";

pub(super) fn set(value: &Plain, secure: bool) -> HeaderValue {
    header(value.reveal(), Purpose::OidcState.lifetime().as_secs(), secure)
}

pub(super) fn clear(secure: bool) -> HeaderValue {
    header("", 0, secure)
}

pub(super) fn presented(headers: &HeaderMap) -> Option<Plain> {
    cookie::named(headers, NAME)
}

fn header(value: &str, max_age: u64, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{NAME}={value}; HttpOnly{secure}; SameSite=Lax; Path=/api/auth/infomaniak; Max-Age={max_age}");
    // The value is base64url, so the text is always a valid header value.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("labs_oidc=; Max-Age=0; Path=/api/auth/infomaniak"))
}
