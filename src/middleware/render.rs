//! Where an error gets its body: the envelope, or the gateway object under its prefix. A refusal that carries no
//! [`ApiError`] gets the default of its status, so that no answer leaves in a foreign shape.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use uuid::Uuid;

use crate::{
    clock::Timestamp,
    error::{ApiError, ErrorCode, envelope, gateway},
};

/// Writes the error body, and returns the error for the log.
pub(super) fn render(response: &mut Response, id: Uuid, now: Timestamp, gateway: bool) -> Option<ApiError> {
    let carried = response.extensions_mut().remove::<ApiError>();
    let error = carried.or_else(|| default_for(response))?;
    let id = id.to_string();
    let body = if gateway { gateway::render(&error, &id) } else { envelope::render(&error, &id, now) };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(body);
    Some(error)
}

/// The error of a status that something inside answered without one. An answer of ours that is JSON already stays.
fn default_for(response: &Response) -> Option<ApiError> {
    let status = response.status();
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes() == b"application/json");
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return None;
    }
    let code = match status {
        StatusCode::UNAUTHORIZED => ErrorCode::NotAuthenticated,
        StatusCode::NOT_FOUND => ErrorCode::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => ErrorCode::MethodNotAllowed,
        StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::BodyTooLarge,
        StatusCode::SERVICE_UNAVAILABLE => ErrorCode::Unavailable,
        status if status.is_server_error() => ErrorCode::Internal,
        _ => ErrorCode::Invalid,
    };
    Some(ApiError::new(code).because("answered without an error of the house"))
}
