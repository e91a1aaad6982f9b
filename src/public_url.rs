//! Addresses that the service shows to people. They come from configuration alone: no request header reaches a link.

use std::fmt;

use url::Url;

use crate::secret::Plain;

/// The base of links: an `http` or `https` address without query or fragment, kept without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// Takes an address from the configuration.
    ///
    /// # Errors
    /// A sentence for the operator when it is not a usable base.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| not_a_url(&error))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(String::from("must start with http:// or https://"));
        }
        if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
            return Err(String::from("must have no query, fragment, user or password"));
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// The address of one page.
    pub fn page(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// The address of one page with a one-time token.
    pub fn link(&self, path: &str, token: &Plain) -> String {
        format!("{}{path}?token={}", self.0, token.reveal())
    }

    /// The origin of the address, as browsers send it.
    pub fn origin(&self) -> String {
        Url::parse(&self.0).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
    }

    /// Whether the address is encrypted on its way.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

/// What is wrong with an address that is none, for the operator.
pub fn not_a_url(error: &url::ParseError) -> String {
    match error {
        url::ParseError::RelativeUrlWithoutBase => String::from("is not a URL: it must start with https:// or http://"),
        other => format!("is not a URL ({other})"),
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A page of the front end that somebody wants to land on: a path of ours, never another site's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerPath(String);

/// Longest path that is carried, in characters.
const INNER_PATH_MAX: usize = 512;

impl InnerPath {
    /// A path that starts with exactly one slash. Browsers read a backslash as a slash and skip control characters, so
    /// neither may occur.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        let leaves = rest.starts_with('/') || text.contains('\\') || text.chars().any(char::is_control);
        (!leaves && text.chars().count() <= INNER_PATH_MAX).then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}
