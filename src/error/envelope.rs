//! The Labs envelope, and the volumetric refusal's own shape.

use serde::Serialize;

use super::{ApiError, Details, FieldFault};
use crate::clock::Timestamp;

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a str,
    code: &'a str,
    request_id: &'a str,
    timestamp: String,
    details: Option<Shown<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Fields { errors: &'a [FieldFault] },
    Reasons { reasons: &'a [&'static str] },
}

#[derive(Serialize)]
struct Flood {
    error: &'static str,
    message: &'static str,
}

/// The body of every error outside the gateway prefix.
pub fn render(error: &ApiError, request_id: &str, now: Timestamp) -> Vec<u8> {
    if error.is_flood() {
        return flood(error);
    }
    let details = match error.details() {
        Details::None => None,
        Details::Fields(errors) => Some(Shown::Fields { errors }),
        Details::Reasons(reasons) => Some(Shown::Reasons { reasons }),
    };
    super::body(&Envelope {
        error: error.sentence(),
        code: error.code().wire(),
        request_id,
        timestamp: now.to_rfc3339_millis(),
        details,
    })
}

/// The body of the volumetric refusal, the same on every path.
pub fn flood(error: &ApiError) -> Vec<u8> {
    super::body(&Flood { error: "rate_limit_exceeded", message: error.sentence() })
}
