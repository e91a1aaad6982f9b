//! `/health` and `/health/detailed`, and the same under `/api`.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::{StatusCode, header};
use serde::Serialize;

use super::Health;

#[derive(Debug, Serialize)]
struct Alive {
    status: &'static str,
}

/// `GET /health`: alive, whatever is down.
pub(crate) async fn health() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(Alive { status: "healthy" }))
}

/// `GET /health/detailed`
pub(crate) async fn detailed(State(health): State<Arc<Health>>) -> impl IntoResponse {
    let answer = health.detailed().await;
    let status = if answer.status == "unhealthy" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(answer))
}
