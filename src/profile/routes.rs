//! `GET`, `PATCH` and `DELETE /api/auth/me`, the code for the latter, the export, and `GET /api/auth/workspaces`.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{
    ProfileChange, ProfileError, Profiles,
    leave::{LeaveProof, TypedCode},
};
use crate::{
    account::{AskedWorkspace, User, Workspace},
    error::{ApiError, ErrorCode},
    extract::{Field, Fields, FromFields, Problem, field, json::JsonBody},
    limit::{MailScope, extract::Scope},
    session::{CurrentSession, KnownCaller, OwnMailbox, Sessions, Visitor, routes::Message},
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
    State(profiles): State<Arc<Profiles>>,
    caller: KnownCaller,
    AskedWorkspace(asked): AskedWorkspace,
) -> Result<impl IntoResponse, ApiError> {
    let workspace = match caller.workspace {
        Some(own) if asked.is_none_or(|asked| asked == own.id) => Some(own),
        _ => profiles.workspace(&caller.account, asked, caller.workspace_id).await?,
    };
    let me = Me { user: caller.account.view(), workspace, auth_method: caller.by.name() };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(me)))
}

impl FromFields for ProfileChange {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            full_name: fields.change(&["full_name", "name"]),
            avatar_url: fields.change(&["avatar_url"]),
            // What everybody has can be changed, not taken away.
            locale: fields.if_present(&["locale"]),
            default_workspace_id: fields.if_present(&["default_workspace_id"]),
        })
    }
}

/// `PATCH /api/auth/me`
pub(crate) async fn change_me(
    State(profiles): State<Arc<Profiles>>,
    CurrentSession(caller): CurrentSession,
    JsonBody(change): JsonBody<ProfileChange>,
) -> Result<Json<User>, ApiError> {
    let account = profiles.change(&caller.account, &change).await?;
    Ok(Json(account.view()))
}

#[derive(Debug, Serialize)]
struct Belonging {
    workspaces: Vec<Workspace>,
    current_workspace_id: Option<Uuid>,
}

/// `GET /api/auth/workspaces`
pub(crate) async fn workspaces(
    State(profiles): State<Arc<Profiles>>,
    CurrentSession(caller): CurrentSession,
    AskedWorkspace(asked): AskedWorkspace,
) -> Result<impl IntoResponse, ApiError> {
    let current = profiles.workspace(&caller.account, asked, caller.workspace_id).await?;
    let workspaces = Workspace::all_of(&profiles.db, caller.account.id).await?;
    let body = Belonging { workspaces, current_workspace_id: current.map(|workspace| workspace.id) };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)))
}

/// `GET /api/auth/me/export`
pub(crate) async fn export(
    State(profiles): State<Arc<Profiles>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
) -> Result<impl IntoResponse, ApiError> {
    let export = profiles.export(&caller, &visitor.client).await?;
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"labs-account.json\"")),
    ];
    Ok((headers, Json(export)))
}

/// Mailbox scope of the code for leaving, charged on the caller's own address.
#[derive(Debug)]
pub struct LeaveMail;

impl Scope for LeaveMail {
    const SCOPE: MailScope = MailScope::Leave;
}

/// `POST /api/auth/me/leave-code`
pub(crate) async fn ask_to_leave(
    State(profiles): State<Arc<Profiles>>,
    visitor: Visitor,
    OwnMailbox(caller, admission): OwnMailbox<LeaveMail>,
) -> Result<impl IntoResponse, ApiError> {
    profiles.ask_to_leave(&admission, &caller, &visitor.client).await?;
    Ok((StatusCode::ACCEPTED, Json(Message::new("We have sent a code to your mailbox."))))
}

impl Field for TypedCode {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 1, 64)?;
        Ok(Self::new(text))
    }
}

impl FromFields for LeaveProof {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let code = fields.optional(&["code"]);
        // One of the two must be there; the fault names the password, which most accounts have.
        if let Some(code) = code {
            Some(Self::Code(code))
        } else {
            Some(Self::Password(fields.required(&["current_password", "password"])?))
        }
    }
}

/// `DELETE /api/auth/me`
pub(crate) async fn leave(
    State(profiles): State<Arc<Profiles>>,
    State(sessions): State<Arc<Sessions>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    JsonBody(proof): JsonBody<LeaveProof>,
) -> Result<impl IntoResponse, ApiError> {
    profiles.leave(&caller, &proof, &visitor.client).await?;
    Ok(([(header::SET_COOKIE, sessions.cookie.clear())], Json(Message::new("Your account has been deleted."))))
}

impl From<ProfileError> for ApiError {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::NoSuchWorkspace => Self::new(ErrorCode::NotFound),
            ProfileError::Gone => Self::new(ErrorCode::AccessTokenInvalid).with_challenge(),
            ProfileError::WrongPassword => Self::new(ErrorCode::WrongPassword),
            ProfileError::NoPassword => Self::new(ErrorCode::NoPassword),
            ProfileError::WrongCode => Self::new(ErrorCode::LinkInvalid).saying("The code is invalid or has expired."),
            ProfileError::Store(fault) => fault.into(),
            ProfileError::Failed(error) => error,
        }
    }
}
