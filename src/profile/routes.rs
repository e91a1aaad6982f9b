//! `GET` and `PATCH /api/auth/me`.

use axum::{Json, extract::State, response::IntoResponse};
use http::header;
use serde::Serialize;

use super::{ProfileChange, ProfileError, Profiles};
use crate::{
    account::{User, Workspace, extract::AskedWorkspace},
    error::{ApiError, ErrorCode},
    extract::{Fields, FromFields, json::JsonBody},
    session::{CurrentSession, KnownCaller},
};

#[derive(Debug, Serialize)]
struct Me {
    #[serde(flatten)]
    user: User,
    workspace: Option<Workspace>,
    /// What the caller showed: `session` or `api_key`.
    auth_method: &'static str,
}

/// `GET /api/auth/me`
pub(crate) async fn me(
    State(profiles): State<Profiles>,
    caller: KnownCaller,
    AskedWorkspace(asked): AskedWorkspace,
) -> Result<impl IntoResponse, ApiError> {
    let workspace = profiles.workspace(&caller.account, asked, caller.workspace_id).await?;
    let me = Me { user: caller.account.view(), workspace, auth_method: caller.by.name() };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(me)))
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
