//! From bytes to a JSON value. It bounds size and time, never decompresses, and decides nothing about fields.

use std::{
    error::Error,
    io::{self, ErrorKind},
    iter::successors,
    pin::pin,
    time::Duration,
};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde_json::Value;

use super::{
    field::Problem,
    fields::{Fields, FromFields, fault},
    rule::{Describe, Rule},
};
use crate::error::{ApiError, ErrorCode, Loc};

/// Largest body that is read.
pub const BODY_LIMIT: usize = 64 * 1024;

/// Longest that a body may take to arrive, in all.
pub const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// How much of an oversized body is thrown away before the answer, so that the client gets to read it.
const DISCARD_LIMIT: usize = 4 * 1024 * 1024;

/// How long throwing away may take.
const DISCARD_DEADLINE: Duration = Duration::from_secs(5);

/// What a body turned out to be.
#[derive(Debug)]
pub enum Decoded {
    /// Nothing, or `null`.
    Absent,
    /// A JSON value.
    Json(Value),
    /// Something under another content type.
    Foreign,
}

/// Decodes the body of a request.
///
/// # Errors
/// 415 when it is compressed, 413 when it is too large, 408 when it is too slow, 422 when it is not JSON.
pub async fn decode(request: Request) -> Result<Decoded, ApiError> {
    let (parts, body) = request.into_parts();
    if is_compressed(&parts.headers) {
        return Err(ApiError::new(ErrorCode::BodyCompressed));
    }
    let bytes = collect_in_time(body).await?;
    if bytes.is_empty() {
        return Ok(Decoded::Absent);
    }
    if !is_json(&parts.headers) {
        return Ok(Decoded::Foreign);
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    match serde_json::from_slice(bytes) {
        Ok(Value::Null) => Ok(Decoded::Absent),
        Ok(value) => Ok(Decoded::Json(value)),
        Err(error) => Err(not_json(bytes, &error)),
    }
}

/// The whole body, within its bounds of size and time.
pub(super) async fn collect_in_time(body: Body) -> Result<Bytes, ApiError> {
    let mut collected = pin!(collect(body));
    // Most bodies come with their head, and need no timer.
    if let Some(outcome) = collected.as_mut().now_or_never() {
        return outcome;
    }
    match tokio::time::timeout(BODY_DEADLINE, collected).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ApiError::new(ErrorCode::BodyTooSlow).closing()),
    }
}

/// Reads a request type from what was decoded.
///
/// # Errors
/// 422 with every fault.
pub fn read<T: FromFields>(decoded: Decoded) -> Result<T, ApiError> {
    match decoded {
        Decoded::Json(Value::Object(values)) => Fields::read("body", values),
        Decoded::Absent if T::OPTIONAL => Fields::read("body", serde_json::Map::new()),
        Decoded::Absent => Err(whole_body(Problem::missing())),
        Decoded::Json(_) | Decoded::Foreign => Err(whole_body(Problem::not_an_object())),
    }
}

fn whole_body(problem: Problem) -> ApiError {
    ApiError::invalid(vec![fault(vec![Loc::Name("body")], problem)])
}

fn not_json(bytes: &[u8], error: &serde_json::Error) -> ApiError {
    let before: usize =
        bytes.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let offset = before + error.column().saturating_sub(1);
    let problem = Problem::new("json_invalid", "JSON decode error");
    ApiError::invalid(vec![fault(vec![Loc::Name("body"), Loc::Offset(offset)], problem)])
}

async fn collect(mut body: Body) -> Result<Bytes, ApiError> {
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(broken_off)?;
        let Ok(data) = frame.into_data() else { continue };
        if collected.len() + data.len() > BODY_LIMIT {
            discard(body, collected.len() + data.len()).await;
            return Err(ApiError::new(ErrorCode::BodyTooLarge).closing());
        }
        collected.extend_from_slice(&data);
    }
    Ok(collected.freeze())
}

/// A body whose rest will not come: its chunks are none, or the client stopped sending.
fn broken_off(error: axum::Error) -> ApiError {
    let mut causes = successors(Some(&error as &(dyn Error + 'static)), |cause| (**cause).source());
    let is_malformed = |cause: &io::Error| matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData);
    if causes.any(|cause| cause.downcast_ref().is_some_and(is_malformed)) {
        whole_body(Problem::value("Value error, the body is not in the chunks that were announced")).closing()
    } else {
        ApiError::new(ErrorCode::BodyTooSlow).because(error).closing()
    }
}

/// Reads on without keeping anything: a client that is still sending would not read the answer.
async fn discard(mut body: Body, already: usize) {
    let drain = async {
        let mut total = already;
        while total < DISCARD_LIMIT {
            match body.frame().await {
                Some(Ok(frame)) => total += frame.data_ref().map_or(0, Bytes::len),
                Some(Err(_)) | None => break,
            }
        }
    };
    // Running out of time only means that the connection closes with bytes unread.
    let _ = tokio::time::timeout(DISCARD_DEADLINE, drain).await;
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// No content type, `application/json` or `application/*+json`, whatever its parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return true };
    if value == "application/json" {
        return true;
    }
    let Ok(value) = value.to_str() else { return false };
    let essence = value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    match essence.strip_prefix("application/") {
        Some(subtype) => subtype == "json" || subtype.ends_with("+json"),
        None => false,
    }
}

/// A JSON body on a route that a session guards. Anonymous routes take theirs through `limit::extract::Limited`.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<S: Sync, T: FromFields> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        read(decode(request).await?).map(Self)
    }
}

impl<T> Describe for JsonBody<T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Body);
    }
}
