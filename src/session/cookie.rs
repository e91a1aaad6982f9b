//! The cookies of a sign-in: the refresh token, with the rule that a page of a foreign origin may not use it, and the
//! mark by which a browser is known again, which opens nothing.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::secret::Plain;

/// The refresh token.
const REFRESH: &str = "labs_refresh";

/// The mark of a known device.
const DEVICE: &str = "labs_device";

/// How long a browser keeps the mark: one year, in seconds.
const DEVICE_MAX_AGE: u64 = 365 * 24 * 60 * 60;

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
        self.header(REFRESH, token.reveal(), max_age)
    }

    /// `Set-Cookie` that removes the refresh token.
    pub(crate) fn clear(&self) -> HeaderValue {
        self.header(REFRESH, "", 0)
    }

    /// `Set-Cookie` for the mark of a known device.
    pub(super) fn set_device(&self, mark: &Plain) -> HeaderValue {
        self.header(DEVICE, mark.reveal(), DEVICE_MAX_AGE)
    }

    fn header(&self, name: &str, value: &str, max_age: u64) -> HeaderValue {
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{name}={value}; HttpOnly{secure}; SameSite=Lax; Path=/api/auth; Max-Age={max_age}");
        // Tokens and marks are base64url and dots, so the text is always a valid header value.
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
    named(headers, REFRESH)
}

/// The mark of a known device that the browser sent along, not yet judged.
pub(super) fn presented_device(headers: &HeaderMap) -> Option<Plain> {
    named(headers, DEVICE)
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
