//! What the passkey routes read from the head of a request: the page's origin, the browser's memory, the host.

use axum::extract::FromRequestParts;
use http::{header, request::Parts};

use super::cookie;
use crate::{
    error::{ApiError, ErrorCode},
    extract::{Describe, Rule},
};

/// The `Origin` of the calling page; `None` where there is no header. Two headers, or bytes that are no text, name none
/// that could be configured.
#[derive(Clone, Debug)]
pub struct PageOrigin(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for PageOrigin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let mut values = parts.headers.get_all(header::ORIGIN).iter();
        Ok(Self(match (values.next(), values.next()) {
            (None, _) => None,
            (Some(one), None) => Some(one.to_str().unwrap_or_default().to_owned()),
            (Some(_), Some(_)) => Some(String::new()),
        }))
    }
}

impl Describe for PageOrigin {
    fn describe(_rules: &mut Vec<Rule>) {}
}

/// What the browser remembers.
#[derive(Clone, Debug)]
pub struct Memory(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for Memory {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self(cookie::presented(&parts.headers)))
    }
}

impl Describe for Memory {
    fn describe(_rules: &mut Vec<Rule>) {}
}

/// The host that a request is for, in lower case and without its port.
#[derive(Clone, Debug)]
pub struct AskedHost(pub String);

impl<S: Sync> FromRequestParts<S> for AskedHost {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let value = parts.headers.get(header::HOST).map_or(&[][..], http::HeaderValue::as_bytes);
        let authority = http::uri::Authority::try_from(value).map_err(|_| ApiError::new(ErrorCode::NotFound))?;
        let host = authority.host();
        Ok(Self(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()))
    }
}

impl Describe for AskedHost {
    fn describe(_rules: &mut Vec<Rule>) {}
}
