//! Who is calling: a live session, or no entry. Absent is not the same as invalid.

use axum::extract::{FromRef, FromRequestParts};
use http::{header, request::Parts};

use uuid::Uuid;

use super::{Keys, Proven, Sessions, Visitor, store, token::TokenError};
use crate::{
    account::Account,
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

/// What a caller showed to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    Session,
    ApiKey,
}

impl AuthMethod {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::ApiKey => "api_key",
        }
    }
}

/// A caller who is known by a session or by a key. Only routes that tell people about themselves take it; whatever
/// changes something demands [`CurrentSession`].
#[derive(Clone, Debug)]
pub struct KnownCaller {
    pub account: Account,
    pub workspace_id: Option<Uuid>,
    pub by: AuthMethod,
}

impl<S> FromRequestParts<S> for KnownCaller
where
    S: Send + Sync,
    Sessions: FromRef<S>,
    Keys: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let keys = Keys::from_ref(state);
        let key = bearer(&parts.headers).filter(|token| keys.ring().recognises(token));
        let Some(key) = key else {
            let CurrentSession(proven) = CurrentSession::from_request_parts(parts, state).await?;
            let Proven { account, workspace_id, .. } = proven;
            return Ok(Self { account, workspace_id, by: AuthMethod::Session });
        };
        // Mistyped, unknown, revoked and expired are one answer.
        let invalid = || ApiError::new(ErrorCode::AccessTokenInvalid).with_challenge();
        let holder = keys.ring().holder(key).await?.ok_or_else(invalid)?;
        if !holder.account.is_active {
            return Err(ApiError::new(ErrorCode::AccountDisabled));
        }
        Ok(Self { account: holder.account, workspace_id: Some(holder.workspace_id), by: AuthMethod::ApiKey })
    }
}

impl Describe for KnownCaller {
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
