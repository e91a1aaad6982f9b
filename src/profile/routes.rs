//! `GET` and `PATCH /api/auth/me`.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    response::IntoResponse,
};
use http::{header, request::Parts};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{ProfileChange, ProfileError, Profiles};
use crate::{
    account::{User, Workspace},
    error::{ApiError, ErrorCode, Loc},
    extract::{Describe, Field, Fields, FromFields, Rule, fields::fault, json::JsonBody},
    session::CurrentSession,
};

/// The header that selects a workspace.
const WORKSPACE_HEADER: &str = "x-workspace-id";

/// The workspace that a request asks for.
#[derive(Clone, Copy, Debug)]
pub struct AskedWorkspace(pub Option<Uuid>);

impl<S: Sync> FromRequestParts<S> for AskedWorkspace {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(WORKSPACE_HEADER) else { return Ok(Self(None)) };
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let loc = vec![Loc::Name("header"), Loc::Name("X-Workspace-ID")];
        Uuid::read(&Value::String(text))
            .map(|id| Self(Some(id)))
            .map_err(|problem| ApiError::invalid(vec![fault(loc, problem)]))
    }
}

impl Describe for AskedWorkspace {
    fn describe(_rules: &mut Vec<Rule>) {}
}

#[derive(Debug, Serialize)]
struct Me {
    #[serde(flatten)]
    user: User,
    workspace: Option<Workspace>,
}

/// `GET /api/auth/me`
pub(crate) async fn me(
    State(profiles): State<Profiles>,
    CurrentSession(caller): CurrentSession,
    AskedWorkspace(asked): AskedWorkspace,
) -> Result<impl IntoResponse, ApiError> {
    let workspace = profiles.workspace(&caller.account, asked, caller.workspace_id).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(Me { user: caller.account.view(), workspace })))
}

impl FromFields for ProfileChange {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            full_name: fields.change(&["full_name", "name"]),
            avatar_url: fields.change(&["avatar_url"]),
            locale: fields.optional(&["locale"]),
            default_workspace_id: fields.optional(&["default_workspace_id"]),
        })
    }
}

/// `PATCH /api/auth/me`
pub(crate) async fn change_me(
    State(profiles): State<Profiles>,
    CurrentSession(caller): CurrentSession,
    JsonBody(change): JsonBody<ProfileChange>,
) -> Result<Json<User>, ApiError> {
    let account = profiles.change(&caller.account, &change).await?;
    Ok(Json(account.view()))
}

impl From<ProfileError> for ApiError {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::NoSuchWorkspace => Self::new(ErrorCode::NotFound),
            ProfileError::Store(fault) => fault.into(),
        }
    }
}
