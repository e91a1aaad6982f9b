//! The `{id}` of a path, with the house's own refusal.

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use serde_json::Value;
use uuid::Uuid;

use super::{
    field::Field,
    fields::fault,
    rule::{Describe, Rule},
};
use crate::error::{ApiError, Loc};

/// The id that the path names. Whether it exists, and whose it is, is not yet known.
#[derive(Clone, Copy, Debug)]
pub struct PathId(pub Uuid);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let faulty = |problem| ApiError::invalid(vec![fault(vec![Loc::Name("path"), Loc::Name("id")], problem)]);
        // The only rejection besides a missing route is a path that is not UTF-8: no UUID either.
        let text = match RawPathParams::from_request_parts(parts, state).await {
            Ok(params) => params.iter().find(|(name, _)| *name == "id").map_or(String::new(), |(_, id)| id.to_owned()),
            Err(_) => String::new(),
        };
        Uuid::read(&Value::String(text)).map(Self).map_err(faulty)
    }
}

impl Describe for PathId {
    fn describe(_rules: &mut Vec<Rule>) {}
}
