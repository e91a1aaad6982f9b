//! A browser that is signed in, known by its cookie. A page of a foreign origin cannot act with it.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use http::{header, request::Parts};

use super::CliLogins;
use crate::{
    error::{ApiError, ErrorCode},
    extract::{Describe, Rule},
    session::{Proven, cookie},
};

/// The session behind the cookie of a posted form.
#[derive(Debug)]
pub(crate) struct Browser(pub(super) Proven);

impl<S> FromRequestParts<S> for Browser
where
    S: Send + Sync,
    Arc<CliLogins>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let logins = Arc::<CliLogins>::from_ref(state);
        let token = cookie::presented(&parts.headers).ok_or_else(|| ApiError::new(ErrorCode::SessionExpired))?;
        let own = parts.headers.get(header::ORIGIN).is_some_and(|it| it.as_bytes() == logins.own_origin.as_bytes());
        if !own && !logins.sessions.cookie.admits(&parts.headers) {
            return Err(ApiError::new(ErrorCode::ForeignPage));
        }
        let proven = logins.sessions.recognise(&token).await?;
        proven.map(Self).ok_or_else(|| ApiError::new(ErrorCode::SessionExpired))
    }
}

impl Describe for Browser {
    fn describe(_rules: &mut Vec<Rule>) {}
}
