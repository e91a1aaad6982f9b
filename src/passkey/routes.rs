//! The passkey routes: what they read and what they answer.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{AppendHeaders, IntoResponse},
};
use http::{StatusCode, header};
use serde::Serialize;
use uuid::Uuid;

use super::{
    PasskeyView, Passkeys,
    check::Checked,
    cookie,
    credential::{Assertion, Attestation, NamedAssertion, PasskeyName},
    extract::{AskedHost, Memory, PageOrigin},
    options::{Begun, CreationOptions, RequestOptions},
    sign_in::SignedIn,
};
use crate::{
    account::Email,
    error::{ApiError, ErrorCode},
    extract::{Fields, FromFields, json::JsonBody, path::PathId},
    limit::extract::{Admitted, Limited, LimitedQuery, PerPath},
    session::{CurrentSession, TokenResponse, Visitor},
};

#[derive(Debug)]
pub(crate) struct LoginBody {
    email: Email,
}

impl FromFields for LoginBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { email: fields.required(&["email"])? })
    }
}

/// `POST /api/auth/webauthn/login/begin`
pub(crate) async fn begin_login(
    State(passkeys): State<Arc<Passkeys>>,
    PageOrigin(origin): PageOrigin,
    Limited(_, body): Limited<PerPath, LoginBody>,
) -> Result<Json<Begun<RequestOptions>>, ApiError> {
    Ok(Json(passkeys.begin_login(origin.as_deref(), &body.email).await?))
}

/// `POST /api/auth/webauthn/login/begin-discoverable`
pub(crate) async fn begin_discoverable(
    State(passkeys): State<Arc<Passkeys>>,
    PageOrigin(origin): PageOrigin,
    Admitted(_): Admitted<PerPath>,
) -> Result<Json<Begun<RequestOptions>>, ApiError> {
    Ok(Json(passkeys.begin_discoverable(origin.as_deref()).await?))
}

/// What ends a ceremony. `response` is the other common spelling of `credential`.
#[derive(Debug)]
pub(crate) struct CompleteBody<C> {
    challenge_id: Uuid,
    credential: C,
}

impl<C: FromFields> FromFields for CompleteBody<C> {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let challenge_id = fields.required(&["challenge_id"]);
        let credential = fields.object(&["credential", "response"]);
        Some(Self { challenge_id: challenge_id?, credential: credential? })
    }
}

/// `POST /api/auth/webauthn/login/complete`
pub(crate) async fn complete_login(
    State(passkeys): State<Arc<Passkeys>>,
    visitor: Visitor,
    Memory(memory): Memory,
    Limited(_, body): Limited<PerPath, CompleteBody<Assertion>>,
) -> Result<impl IntoResponse, ApiError> {
    let signed_in = passkeys.complete_login(body.challenge_id, &body.credential, &visitor).await?;
    Ok(answer(&passkeys, &signed_in, memory.as_deref()))
}

/// `POST /api/auth/webauthn/login/complete-discoverable`
pub(crate) async fn complete_discoverable(
    State(passkeys): State<Arc<Passkeys>>,
    visitor: Visitor,
    Memory(memory): Memory,
    Limited(_, body): Limited<PerPath, CompleteBody<NamedAssertion>>,
) -> Result<impl IntoResponse, ApiError> {
    let signed_in = passkeys.complete_discoverable(body.challenge_id, &body.credential, &visitor).await?;
    Ok(answer(&passkeys, &signed_in, memory.as_deref()))
}

fn answer(passkeys: &Passkeys, signed_in: &SignedIn, memory: Option<&str>) -> impl IntoResponse + use<> {
    let cookie = cookie::remember(memory, &signed_in.device, passkeys.sessions.cookie.secure);
    (AppendHeaders([(header::SET_COOKIE, cookie)]), TokenResponse::new(&passkeys.sessions, &signed_in.opened))
}

#[derive(Debug)]
pub(crate) struct CheckQuery {
    email: Option<Email>,
}

impl FromFields for CheckQuery {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { email: fields.optional(&["email"]) })
    }
}

/// `GET /api/auth/webauthn/check`
pub(crate) async fn check(
    State(passkeys): State<Arc<Passkeys>>,
    PageOrigin(origin): PageOrigin,
    Memory(memory): Memory,
    LimitedQuery(_, query): LimitedQuery<PerPath, CheckQuery>,
) -> Result<impl IntoResponse, ApiError> {
    let checked: Checked = passkeys.check(origin.as_deref(), query.email.as_ref(), memory.as_deref()).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(checked)))
}

#[derive(Debug)]
pub(crate) struct EnrolBody {
    name: Option<PasskeyName>,
}

impl FromFields for EnrolBody {
    const OPTIONAL: bool = true;

    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { name: fields.optional(&["name"]) })
    }
}

/// `POST /api/auth/webauthn/register/begin`
pub(crate) async fn begin_enrolment(
    State(passkeys): State<Arc<Passkeys>>,
    CurrentSession(caller): CurrentSession,
    PageOrigin(origin): PageOrigin,
    JsonBody(body): JsonBody<EnrolBody>,
) -> Result<Json<Begun<CreationOptions>>, ApiError> {
    Ok(Json(passkeys.begin_enrolment(origin.as_deref(), &caller.account, body.name.as_ref()).await?))
}

#[derive(Debug)]
pub(crate) struct EnrolmentBody {
    complete: CompleteBody<Attestation>,
    name: Option<PasskeyName>,
}

impl FromFields for EnrolmentBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let name = fields.optional(&["name"]);
        Some(Self { complete: CompleteBody::from_fields(fields)?, name })
    }
}

/// `POST /api/auth/webauthn/register/complete`
pub(crate) async fn complete_enrolment(
    State(passkeys): State<Arc<Passkeys>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    Memory(memory): Memory,
    JsonBody(EnrolmentBody { complete, name }): JsonBody<EnrolmentBody>,
) -> Result<impl IntoResponse, ApiError> {
    let enrolled = passkeys
        .complete_enrolment(&caller, &visitor.client, complete.challenge_id, &complete.credential, name.as_ref())
        .await?;
    let cookie = cookie::remember(memory.as_deref(), &enrolled.device, passkeys.sessions.cookie.secure);
    Ok((StatusCode::CREATED, [(header::SET_COOKIE, cookie)], Json(enrolled.passkey)))
}

#[derive(Debug, Serialize)]
struct Listed {
    credentials: Vec<PasskeyView>,
}

/// `GET /api/auth/webauthn/credentials`
pub(crate) async fn list(
    State(passkeys): State<Arc<Passkeys>>,
    CurrentSession(caller): CurrentSession,
) -> Result<impl IntoResponse, ApiError> {
    Ok(Json(Listed { credentials: passkeys.list(&caller.account).await? }))
}

#[derive(Debug)]
pub(crate) struct RenameBody {
    name: PasskeyName,
}

impl FromFields for RenameBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { name: fields.required(&["name"])? })
    }
}

/// `PATCH /api/auth/webauthn/credentials/{id}`
pub(crate) async fn rename(
    State(passkeys): State<Arc<Passkeys>>,
    CurrentSession(caller): CurrentSession,
    PathId(id): PathId,
    JsonBody(body): JsonBody<RenameBody>,
) -> Result<Json<PasskeyView>, ApiError> {
    Ok(Json(passkeys.rename(&caller.account, id, &body.name).await?))
}

/// `DELETE /api/auth/webauthn/credentials/{id}`
pub(crate) async fn remove(
    State(passkeys): State<Arc<Passkeys>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    passkeys.remove(&caller, &visitor.client, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Serialize)]
struct RelatedOrigins {
    origins: Vec<String>,
}

/// `GET /.well-known/webauthn`: on which other sites browsers may use the passkeys of the relying party that the host
/// names.
pub(crate) async fn related_origins(
    State(passkeys): State<Arc<Passkeys>>,
    AskedHost(host): AskedHost,
) -> Result<impl IntoResponse, ApiError> {
    let party = passkeys.parties.with_id(&host).ok_or(ApiError::new(ErrorCode::NotFound))?;
    let origins = party.web_origins().into_iter().map(str::to_owned).collect();
    Ok(Json(RelatedOrigins { origins }))
}
