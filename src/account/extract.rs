//! The workspace that a request asks for, in the header `X-Workspace-ID`. Whether the caller belongs to it is not yet known.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    error::{ApiError, Loc},
    extract::{Describe, Field, Rule, fields::fault},
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
