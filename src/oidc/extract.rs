//! The query of a browser's navigation, read without ever refusing: a person who comes back from the provider must land
//! on a page, not on an error body.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{HeaderMap, request::Parts};

use super::{callback::Return, cookie};
use crate::{
    extract::{Describe, Rule},
    public_url::InnerPath,
    secret::Plain,
};

/// Longest code that is sent on, in bytes.
const CODE_MAX: usize = 2048;

/// Longest state that is looked up, in bytes.
const STATE_MAX: usize = 512;

/// Where a person wanted to go, when it is a place of ours.
#[derive(Debug)]
pub(crate) struct Destination(pub(super) Option<InnerPath>);

/// What a browser brings back.
#[derive(Debug)]
pub(crate) struct Back {
    pub(super) said: Return,
    pub(super) browser: Option<Plain>,
}

impl<S: Sync> FromRequestParts<S> for Destination {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(value(parts, "redirect_to", usize::MAX).as_deref().and_then(InnerPath::parse)))
    }
}

impl<S: Sync> FromRequestParts<S> for Back {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let said = Return {
            code: value(parts, "code", CODE_MAX),
            state: value(parts, "state", STATE_MAX).map(Plain::presented),
            error: value(parts, "error", CODE_MAX),
            issuer: value(parts, "iss", CODE_MAX),
        };
        Ok(Self { said, browser: presented(&parts.headers) })
    }
}

fn presented(headers: &HeaderMap) -> Option<Plain> {
    cookie::presented(headers)
}

fn value(parts: &Parts, wanted: &str, max: usize) -> Option<String> {
    let query = parts.uri.query().unwrap_or("");
    let found = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == wanted).last();
    found.map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty() && value.len() <= max)
}

impl Describe for Destination {
    fn describe(_rules: &mut Vec<Rule>) {}
}

impl Describe for Back {
    fn describe(_rules: &mut Vec<Rule>) {}
}
