//! `refresh`, `logout` and `dev-login`, and the answer that every sign-in gives.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;
use serde_json::Value;

use super::{CurrentSession, Opened, RefreshError, Sessions, SignedInBy, Visitor, cookie, revoke::Scope};
use crate::{
    account::{self, User},
    error::{ApiError, ErrorCode},
    extract::{Field, Fields, FromFields, Problem, Query, field},
    limit::extract::{Limited, PerPath},
    secret::Plain,
};

/// The tokens of a session, in the body and the refresh token also as a cookie.
#[derive(Debug)]
pub struct TokenResponse {
    body: TokenBody,
    refresh: HeaderValue,
    device: Option<HeaderValue>,
}

#[derive(Debug, Serialize)]
struct TokenBody {
    access_token: String,
    refresh_token: String,
    token_type: &'static str,
    expires_in: u64,
    user: User,
    #[serde(flatten)]
    landing: Option<Landing>,
}

/// Present in the answer of `verify-magic-link` alone, there also when it is null.
#[derive(Debug, Serialize)]
struct Landing {
    redirect_to: Option<String>,
}

impl TokenResponse {
    /// The answer for an opened session.
    pub fn new(sessions: &Sessions, opened: &Opened) -> Self {
        if opened.announced {
            sessions.post.wake();
        }
        Self {
            refresh: sessions.cookie.set(&opened.refresh, sessions.refresh_seconds()),
            device: opened.device.as_ref().map(|mark| sessions.cookie.set_device(mark)),
            body: TokenBody {
                access_token: opened.access.clone(),
                refresh_token: opened.refresh.reveal().to_owned(),
                token_type: "bearer",
                expires_in: sessions.access_seconds(),
                user: opened.account.view(),
                landing: None,
            },
        }
    }

    /// The same answer, which also says where the person wanted to go.
    #[must_use]
    pub fn leading_to(mut self, redirect_to: Option<String>) -> Self {
        self.body.landing = Some(Landing { redirect_to });
        self
    }
}

impl IntoResponse for TokenResponse {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for cookie in [Some(self.refresh), self.device].into_iter().flatten() {
            headers.append(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// `{"message": "…"}`: the answer of every action that issues nothing.
#[derive(Debug, Serialize)]
pub struct Message {
    message: &'static str,
}

impl Message {
    /// An informative sentence; clients rely on the status.
    pub const fn new(message: &'static str) -> Self {
        Self { message }
    }
}

/// A secret that a client presents: 1 to 512 characters, not yet compared with anything.
#[derive(Debug)]
pub struct PresentedToken(pub Plain);

impl Field for PresentedToken {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 1, 512)?;
        Ok(Self(Plain::presented(text.to_owned())))
    }
}

#[derive(Debug)]
pub(crate) struct RefreshBody {
    refresh_token: Option<PresentedToken>,
}

impl FromFields for RefreshBody {
    const OPTIONAL: bool = true;

    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { refresh_token: fields.optional(&["refresh_token"]) })
    }
}

/// `POST /api/auth/refresh`
pub(crate) async fn refresh(
    State(sessions): State<Arc<Sessions>>,
    visitor: Visitor,
    headers: HeaderMap,
    Limited(_, body): Limited<PerPath, RefreshBody>,
) -> Result<TokenResponse, ApiError> {
    if let Some(PresentedToken(token)) = body.refresh_token {
        let opened = sessions.refresh(&token, &visitor.client).await.map_err(refusal)?;
        return Ok(TokenResponse::new(&sessions, &opened));
    }
    let Some(token) = cookie::presented(&headers) else {
        return Err(ApiError::new(ErrorCode::SessionExpired));
    };
    if !sessions.cookie.admits(&headers) {
        return Err(ApiError::new(ErrorCode::ForeignPage));
    }
    match sessions.refresh(&token, &visitor.client).await {
        Ok(opened) => Ok(TokenResponse::new(&sessions, &opened)),
        Err(error @ RefreshError::Ended) => Err(refusal(error).with_cookie(sessions.cookie.clear())),
        Err(error) => Err(refusal(error)),
    }
}

#[derive(Debug)]
pub(crate) struct LogoutQuery {
    scope: Scope,
}

impl FromFields for LogoutQuery {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { scope: fields.optional(&["scope"]).unwrap_or_default() })
    }
}

impl Field for Scope {
    fn read(value: &Value) -> Result<Self, Problem> {
        match field::text(value)? {
            "local" => Ok(Self::Local),
            "global" => Ok(Self::Global),
            _ => Err(Problem::not_one_of("Input should be 'local' or 'global'")),
        }
    }
}

/// `POST /api/auth/logout`
pub(crate) async fn logout(
    State(sessions): State<Arc<Sessions>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    Query(query): Query<LogoutQuery>,
) -> Result<impl IntoResponse, ApiError> {
    sessions.sign_out(&caller, query.scope, &visitor.client).await?;
    Ok(([(header::SET_COOKIE, sessions.cookie.clear())], Json(Message::new("Signed out."))))
}

/// `POST /api/auth/dev-login`, mounted in development only.
pub(crate) async fn dev_login(
    State(sessions): State<Arc<Sessions>>,
    visitor: Visitor,
) -> Result<TokenResponse, ApiError> {
    let admin = account::find_first_admin(&sessions.db).await?.ok_or(ApiError::new(ErrorCode::NotFound))?;
    let mut tx = sessions.db.begin().await?;
    let opened = sessions.open(&mut tx, &admin, SignedInBy::DevLogin, &visitor).await?;
    tx.commit().await?;
    Ok(TokenResponse::new(&sessions, &opened))
}

fn refusal(error: RefreshError) -> ApiError {
    match error {
        RefreshError::Ended => ApiError::new(ErrorCode::SessionExpired),
        RefreshError::Disabled => ApiError::new(ErrorCode::AccountDisabled),
        RefreshError::Failed(error) => error,
        RefreshError::Store(fault) => fault.into(),
    }
}

/// How long others may keep the public keys. A new key is published and used at the same moment, so a reader that meets
/// an unknown key id should ask again.
const PUBLIC_KEYS_KEPT: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// `GET /.well-known/jwks.json`
pub(crate) async fn public_keys(State(sessions): State<Arc<Sessions>>) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, PUBLIC_KEYS_KEPT)], Json(sessions.public_keys().clone()))
}
