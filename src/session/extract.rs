//! Who is calling: a live session, or no entry. Absent is not the same as invalid. A session that is used is noted as
//! seen, at most once a minute.

use std::{sync::Arc, time::Duration};

use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use http::{header, request::Parts};
use serde_json::Value;
use uuid::Uuid;

use super::{Keys, Proven, Sessions, Visitor, cookie, store, token::TokenError};
use crate::{
    account::{Account, Email, Workspace},
    error::{ApiError, ErrorCode},
    extract::{
        Describe, FromFields, Rule,
        bearer::bearer,
        json::{self, Decoded},
    },
    limit::{
        Admission, Attempt, Bucket, Limiter, Who,
        extract::{Addressed, Mailbox, PerPath, RoutePolicies, Scope, Visit, noted},
    },
    store::Timestamp,
};

/// How stale the note of a session's last use may be: a write for every request would cost more than it tells.
const SEEN_EVERY: Duration = Duration::from_mins(1);

/// How long a request waits for that note. Its answer does not depend on it, so a busy database costs it little.
const SEEN_DEADLINE: Duration = Duration::from_millis(250);

/// A caller with a live session of an active account.
#[derive(Clone, Debug)]
pub struct CurrentSession(pub Proven);

impl<S> FromRequestParts<S> for CurrentSession
where
    S: Send + Sync,
    Arc<Sessions>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (caller, _) = prove(parts, &Arc::<Sessions>::from_ref(state)).await?;
        Ok(Self(caller))
    }
}

/// The caller whom a bearer token proves, and the workspace that the session works in.
async fn prove(parts: &Parts, sessions: &Sessions) -> Result<(Proven, Option<Workspace>), ApiError> {
    let refuse = |code| ApiError::new(code).with_challenge();
    let token = bearer(&parts.headers).ok_or_else(|| refuse(ErrorCode::NotAuthenticated))?;
    let now = sessions.clock.now();
    let claims = sessions.signer.verify(token, now).map_err(|error| match error {
        TokenError::Expired => refuse(ErrorCode::AccessTokenExpired),
        TokenError::Invalid => refuse(ErrorCode::AccessTokenInvalid),
    })?;
    let owner = store::find_owner(&sessions.db, claims.sid, claims.sub, claims.wid, sessions.alive_at(now)).await?;
    let owner = owner.ok_or_else(|| refuse(ErrorCode::AccessTokenInvalid))?;
    if !owner.account.is_active {
        return Err(ApiError::new(ErrorCode::AccountDisabled));
    }
    if owner.last_seen_at + SEEN_EVERY <= now {
        note_seen(sessions, claims.sid, now).await;
    }
    if let Some(policies) = RoutePolicies::of(&parts.extensions, &parts.method) {
        let user = owner.account.id.to_string();
        policies.charge(Who { user: Some(&user), ..Who::default() }, false).await?;
    }
    let (account, workspace) = owner.into_parts();
    Ok((Proven { session_id: claims.sid, workspace_id: claims.wid, account }, workspace))
}

impl Describe for CurrentSession {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Bearer);
    }
}

/// Notes that a session is in use. A note that fails is made by a later request.
async fn note_seen(sessions: &Sessions, session: Uuid, now: Timestamp) {
    let idle_end = now + sessions.lifetimes.idle;
    let note = store::touch(&sessions.db, session, now, now - SEEN_EVERY, idle_end);
    match tokio::time::timeout(SEEN_DEADLINE, note).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => tracing::warn!(cause = fault.for_log(), %session, "A session could not be noted as seen"),
        Err(_) => tracing::debug!(%session, "The database was too busy to note a session as seen"),
    }
}

/// A caller with a live session, a body, and the proof that the mailbox it has mailed was charged. No bucket of path and
/// address: the session is what guards the route. Without a session nothing is read and nothing is spent.
#[derive(Debug)]
pub struct LimitedSession<B, T>(pub Proven, pub Admission<B>, pub T);

impl<S, M, T> FromRequest<S> for LimitedSession<Mailbox<M>, T>
where
    S: Send + Sync,
    Arc<Sessions>: FromRef<S>,
    Limiter: FromRef<S>,
    M: Scope,
    T: FromFields + Addressed,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (caller, visit, body) = enter::<S, T>(request, state).await?;
        let admission = visit.admit(&Limiter::from_ref(state), body.mailbox()).await?;
        Ok(Self(caller, admission, body))
    }
}

impl<M: Scope, T> Describe for LimitedSession<Mailbox<M>, T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Bearer, Rule::Body, Rule::Bucket(Bucket::AuthEmail(M::SCOPE))]);
    }
}

/// A caller with a live session, and the proof that the caller's own mailbox was charged. It reads no body.
#[derive(Debug)]
pub struct OwnMailbox<M>(pub Proven, pub Admission<Mailbox<M>>);

impl<S, M> FromRequest<S> for OwnMailbox<M>
where
    S: Send + Sync,
    Arc<Sessions>: FromRef<S>,
    Limiter: FromRef<S>,
    M: Scope,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let visit = Visit::of(&request)?;
        let (mut parts, _) = request.into_parts();
        let CurrentSession(caller) = CurrentSession::from_request_parts(&mut parts, state).await?;
        let admission = visit.admit(&Limiter::from_ref(state), &caller.account.email).await?;
        Ok(Self(caller, admission))
    }
}

impl<M: Scope> Describe for OwnMailbox<M> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Bearer, Rule::Bucket(Bucket::AuthEmail(M::SCOPE))]);
    }
}

async fn enter<S, T>(request: Request, state: &S) -> Result<(Proven, Visit, T), ApiError>
where
    S: Send + Sync,
    Arc<Sessions>: FromRef<S>,
    T: FromFields,
{
    let visit = Visit::of(&request)?;
    let (mut parts, body) = request.into_parts();
    let CurrentSession(caller) = CurrentSession::from_request_parts(&mut parts, state).await?;
    let body = json::read(json::decode(Request::from_parts(parts, body)).await?)?;
    Ok((caller, visit, body))
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
    /// The workspace of the session, where it was found on the way.
    pub workspace: Option<Workspace>,
    pub by: AuthMethod,
}

impl<S> FromRequestParts<S> for KnownCaller
where
    S: Send + Sync,
    Arc<Sessions>: FromRef<S>,
    Arc<Keys>: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let keys = Arc::<Keys>::from_ref(state);
        let key = bearer(&parts.headers).filter(|token| keys.ring().recognises(token));
        let Some(key) = key else {
            let (Proven { account, workspace_id, .. }, workspace) =
                prove(parts, &Arc::<Sessions>::from_ref(state)).await?;
            return Ok(Self { account, workspace_id, workspace, by: AuthMethod::Session });
        };
        // Mistyped, unknown, revoked and expired are one answer.
        let invalid = || ApiError::new(ErrorCode::AccessTokenInvalid).with_challenge();
        let holder = keys.ring().holder(key).await?.ok_or_else(invalid)?;
        if !holder.account.is_active {
            return Err(ApiError::new(ErrorCode::AccountDisabled));
        }
        if let Some(policies) = RoutePolicies::of(&parts.extensions, &parts.method) {
            let (user, key) = (holder.account.id.to_string(), holder.key_id.to_string());
            policies.charge(Who { user: Some(&user), api_key: Some(&key), ..Who::default() }, false).await?;
        }
        let (account, workspace_id) = (holder.account, Some(holder.workspace_id));
        Ok(Self { account, workspace_id, workspace: None, by: AuthMethod::ApiKey })
    }
}

impl Describe for KnownCaller {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Bearer, Rule::ApiKey]);
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let client = *noted::<Attempt>(&parts.extensions)?.client();
        let user_agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Self { client, user_agent, device: cookie::presented_device(&parts.headers), label: None })
    }
}

impl Describe for Visitor {
    fn describe(_rules: &mut Vec<Rule>) {}
}

/// The body of a sign-in, and the proof that it was charged for. A browser that the account knows is not shut out by what
/// strangers spent; its mark is checked without a look into the database.
#[derive(Debug)]
pub struct LimitedSignIn<T>(pub Admission<PerPath>, pub T);

impl<S, T> FromRequest<S> for LimitedSignIn<T>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    Arc<Sessions>: FromRef<S>,
    T: FromFields + Addressed,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (limiter, sessions) = (Limiter::from_ref(state), Arc::<Sessions>::from_ref(state));
        let visit = Visit::of(&request)?;
        let mark = cookie::presented_device(request.headers());
        let decoded = json::decode(request).await?;
        let named = mailbox(&decoded);
        let known = mark.as_ref().zip(named.as_ref());
        let device = known.and_then(|(mark, email)| sessions.devices.recognise(mark, email.as_str()));
        let (admission, body) = visit.admit_sign_in(&limiter, decoded, device).await?;
        Ok(Self(admission, body))
    }
}

impl<T> Describe for LimitedSignIn<T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Body, Rule::Bucket(Bucket::Auth)]);
    }
}

/// The address that a body names, before its fields are judged.
fn mailbox(decoded: &Decoded) -> Option<Email> {
    let Decoded::Json(Value::Object(fields)) = decoded else { return None };
    fields.get("email")?.as_str().and_then(|text| Email::parse(text).ok())
}
