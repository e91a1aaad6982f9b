//! `GET` and `DELETE /api/auth/sessions`, and `DELETE /api/auth/sessions/{id}`.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::header;
use serde::Serialize;
use uuid::Uuid;

use super::Kept;
use crate::{
    error::{ApiError, ErrorCode},
    extract::path::PathId,
    session::{CurrentSession, Sessions, Visitor, routes::Message, user_agent},
    store::Timestamp,
};

#[derive(Debug, Serialize)]
struct SessionView {
    id: Uuid,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    expires_at: Timestamp,
    ip_address: String,
    user_agent: String,
    label: Option<String>,
    signed_in_by: String,
    current: bool,
}

#[derive(Debug, Serialize)]
struct Overview {
    sessions: Vec<SessionView>,
}

/// `GET /api/auth/sessions`
pub(crate) async fn list(
    State(sessions): State<Arc<Sessions>>,
    CurrentSession(caller): CurrentSession,
) -> Result<impl IntoResponse, ApiError> {
    let view = |kept: Kept| SessionView {
        id: kept.id,
        created_at: kept.created_at,
        last_seen_at: kept.last_seen_at,
        expires_at: sessions.end_of(&kept),
        ip_address: kept.ip_address,
        user_agent: user_agent::in_words(kept.user_agent.as_deref()),
        label: kept.label,
        signed_in_by: kept.signed_in_by,
        current: kept.id == caller.session_id,
    };
    let kept = sessions.overview(&caller).await?;
    let body = Overview { sessions: kept.into_iter().map(view).collect() };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)))
}

/// `DELETE /api/auth/sessions/{id}`
pub(crate) async fn end_one(
    State(sessions): State<Arc<Sessions>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    if !sessions.end_one(&caller, id, &visitor.client).await? {
        return Err(ApiError::new(ErrorCode::NotFound));
    }
    let body = Json(Message::new("The session has ended."));
    if id == caller.session_id {
        return Ok(([(header::SET_COOKIE, sessions.cookie.clear())], body).into_response());
    }
    Ok(body.into_response())
}

#[derive(Debug, Serialize)]
struct Ended {
    message: &'static str,
    ended: u64,
}

/// `DELETE /api/auth/sessions`
pub(crate) async fn end_others(
    State(sessions): State<Arc<Sessions>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
) -> Result<impl IntoResponse, ApiError> {
    let ended = sessions.end_others(&caller, &visitor.client).await?;
    Ok(Json(Ended { message: "All other sessions have ended.", ended }))
}
