//! The gateway shape: the error object that API clients of `/api/prima/v1` parse.

use std::borrow::Cow;

use http::StatusCode;
use serde::Serialize;

use super::{ApiError, Details, FieldFault, Loc};

/// Everything under this prefix answers in the gateway shape.
pub const PREFIX: &str = "/api/prima/v1";

#[derive(Serialize)]
struct Outer<'a> {
    error: Inner<'a>,
}

#[derive(Serialize)]
struct Inner<'a> {
    message: Cow<'a, str>,
    r#type: &'static str,
    param: Option<&'static str>,
    code: &'a str,
    request_id: &'a str,
}

/// Whether a path answers in this shape.
pub fn covers(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The body of every error that the service raises under the prefix, the volumetric refusal aside.
pub fn render(error: &ApiError, request_id: &str) -> Vec<u8> {
    if error.is_flood() {
        return super::envelope::flood(error);
    }
    super::body(&Outer {
        error: Inner {
            message: sentence(error),
            r#type: kind(error.code().status()),
            param: first_fault(error).and_then(param),
            code: error.code().wire(),
            request_id,
        },
    })
}

fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    }
}

/// What is wrong, of fields with the first one that fails.
fn sentence(error: &ApiError) -> Cow<'_, str> {
    first_fault(error).map_or(error.sentence().into(), |fault| format!("{}.", fault.msg).into())
}

fn first_fault(error: &ApiError) -> Option<&FieldFault> {
    let Details::Fields(faults) = error.details() else { return None };
    faults.first()
}

/// Its name, when it has one.
fn param(fault: &FieldFault) -> Option<&'static str> {
    match fault.loc.get(1)? {
        Loc::Name(name) => Some(name),
        Loc::Offset(_) => None,
    }
}
