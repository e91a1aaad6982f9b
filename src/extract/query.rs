//! A query string, read with the same care as a body. A repeated name: the last one wins.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde_json::{Map, Value};

use super::{
    fields::{Fields, FromFields},
    rule::{Describe, Rule},
};
use crate::error::ApiError;

/// The fields of the query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Sync, T: FromFields> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let text = parts.uri.query().unwrap_or("");
        let values: Map<String, Value> = url::form_urlencoded::parse(text.as_bytes())
            .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
            .collect();
        Fields::read("query", values).map(Self)
    }
}

impl<T> Describe for Query<T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Query);
    }
}
