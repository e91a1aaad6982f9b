//! A form as browsers post it, read with the same care as a JSON body. A repeated name: the last one wins.

use axum::extract::{FromRequest, Request};
use http::header;
use serde_json::{Map, Value};

use super::{
    field::Problem,
    fields::{Fields, FromFields, fault},
    json,
    rule::{Describe, Rule},
};
use crate::error::{ApiError, Loc};

/// The fields of a posted form.
#[derive(Debug)]
pub struct Form<T>(pub T);

impl<S: Sync, T: FromFields> FromRequest<S> for Form<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let is_form =
            kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/x-www-form-urlencoded");
        if !is_form {
            let problem = Problem::new("model_attributes_type", "Input should be a posted form");
            return Err(ApiError::invalid(vec![fault(vec![Loc::Name("body")], problem)]));
        }
        let bytes = json::collect_in_time(request.into_body()).await?;
        let values: Map<String, Value> = url::form_urlencoded::parse(&bytes)
            .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
            .collect();
        Fields::read("body", values).map(Self)
    }
}

impl<T> Describe for Form<T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Form);
    }
}
