//! The refresh token's cookie, and the rule that a page of a foreign origin may not use it.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::secret::Plain;

const NAME: &str = "labs_refresh";

/// How cookies are set, and from which origins they are accepted.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether the cookie travels on encrypted connections only; off in development alone.
    pub secure: bool,
    /// The origins whose pages may act with the cookie.
    pub origins: Vec<String>,
}

impl Policy {
    /// `Set-Cookie` for a fresh token.
    pub(super) fn set(&self, token: &Plain, max_age: u64) -> HeaderValue {
        self.header(token.reveal(), max_age)
    }

    /// `Set-Cookie` that removes the cookie.
    pub(super) fn clear(&self) -> HeaderValue {
        self.header("", 0)
    }

    fn header(&self, value: &str, max_age: u64) -> HeaderValue {
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{NAME}={value}; HttpOnly{secure}; SameSite=Lax; Path=/api/auth; Max-Age={max_age}");
        // Tokens are base64url, so the text is always a valid header value.
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("labs_refresh=; Max-Age=0; Path=/api/auth"))
    }

    /// Whether a request that is authenticated by cookie comes from an allowed page. Without an `Origin` it is no page's script.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        match headers.get(header::ORIGIN) {
            None => true,
            Some(origin) => self.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()),
        }
    }
}

/// The refresh token that the browser sent along.
pub(crate) fn presented(headers: &HeaderMap) -> Option<Plain> {
    named(headers, NAME)
}

/// The secret in a cookie, when the browser sent one that is not empty.
pub(crate) fn named(headers: &HeaderMap, wanted: &str) -> Option<Plain> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, value)| *name == wanted && !value.is_empty())
        .map(|(_, value)| Plain::presented(value.to_owned()))
}
