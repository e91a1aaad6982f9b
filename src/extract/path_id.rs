//! The `{id}` of a path. What is no UUID is refused in the words of a faulty field.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use serde_json::Value;
use uuid::Uuid;

use super::{
    field::{Field, Problem},
    fields::fault,
    rule::{Describe, Rule},
};
use crate::error::{ApiError, Loc};

/// The id that the path names.
#[derive(Clone, Copy, Debug)]
pub struct PathId(pub Uuid);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // A path that cannot be decoded names no id either.
        let id = match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Uuid::read(&Value::String(text)),
            Err(_) => Err(Problem::new("uuid_parsing", "Input should be a valid UUID")),
        };
        id.map(Self)
            .map_err(|problem| ApiError::invalid(vec![fault(vec![Loc::Name("path"), Loc::Name("id")], problem)]))
    }
}

impl Describe for PathId {
    fn describe(_rules: &mut Vec<Rule>) {}
}
