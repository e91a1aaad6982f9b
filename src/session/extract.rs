//! Who is calling: a live session, or no entry. Absent is not the same as invalid.

use axum::extract::{FromRef, FromRequestParts};
use http::{header, request::Parts};

use super::{Proven, Sessions, Visitor, store, token::TokenError};
use crate::{
    error::{ApiError, ErrorCode},
    extract::{Describe, Rule, bearer::bearer},
    limit::ClientIp,
};

/// A caller with a live session of an active account.
#[derive(Clone, Debug)]
pub struct CurrentSession(pub Proven);

impl<S> FromRequestParts<S> for CurrentSession
where
    S: Send + Sync,
    Sessions: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let sessions = Sessions::from_ref(state);
        let refuse = |code| ApiError::new(code).with_challenge();
        let token = bearer(&parts.headers).ok_or_else(|| refuse(ErrorCode::NotAuthenticated))?;
        let now = sessions.clock.now();
        let claims = sessions.signer.verify(token, now).map_err(|error| match error {
            TokenError::Expired => refuse(ErrorCode::AccessTokenExpired),
            TokenError::Invalid => refuse(ErrorCode::AccessTokenInvalid),
        })?;
        let owner = store::find_owner(&sessions.db, claims.sid, claims.sub, now).await?;
        let account = owner.ok_or_else(|| refuse(ErrorCode::AccessTokenInvalid))?;
        if !account.is_active {
            return Err(ApiError::new(ErrorCode::AccountDisabled));
        }
        Ok(Self(Proven { session_id: claims.sid, workspace_id: claims.wid, account }))
    }
}

impl Describe for CurrentSession {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Bearer);
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let client = parts.extensions.get::<ClientIp>().cloned();
        let client =
            client.ok_or_else(|| ApiError::internal("a request reached a handler without a client address"))?;
        let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Self { client, user_agent })
    }
}

impl Describe for Visitor {
    fn describe(_rules: &mut Vec<Rule>) {}
}
