//! How we say no: one [`ApiError`] with a closed code, a sentence for the client and a hidden cause.
//! It travels in the response's extensions; the corridor renders it, fills in the request id and logs once.

pub mod code;
pub mod envelope;
pub mod gateway;
pub mod retry_after;

use std::{fmt, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use http::HeaderValue;

pub use self::{code::ErrorCode, retry_after::RetryAfter};
use crate::store::Fault;

/// How long a client should wait when a part of the service is absent.
const ABSENT_PART_WAIT: Duration = Duration::from_secs(5);

/// Room for a usual error body, in bytes.
const BODY: usize = 512;

/// A refusal on its way to the client.
#[derive(Clone, Debug)]
pub struct ApiError(Box<Refusal>);

#[derive(Clone, Debug)]
struct Refusal {
    code: ErrorCode,
    sentence: &'static str,
    details: Details,
    cause: Option<Cause>,
    retry_after: Option<RetryAfter>,
    challenge: bool,
    close: bool,
    allow: Option<HeaderValue>,
    cookie: Option<HeaderValue>,
    flood: bool,
}

/// What stands under `details` in the envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Details {
    None,
    Fields(Vec<FieldFault>),
    Reasons(Vec<&'static str>),
}

/// One fault of one field, in Pydantic's vocabulary. It never holds what the client sent.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FieldFault {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub loc: Vec<Loc>,
    pub msg: String,
}

/// One step of the way to a field.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Loc {
    Name(&'static str),
    Offset(usize),
}

/// What really happened: for the log only. It has no `Display` on purpose.
#[derive(Clone)]
pub struct Cause(Arc<str>);

impl Cause {
    /// The text for the log line.
    pub fn for_log(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cause(…)")
    }
}

impl ApiError {
    /// A refusal with the code's own sentence.
    pub fn new(code: ErrorCode) -> Self {
        Self(Box::new(Refusal {
            code,
            sentence: code.sentence(),
            details: Details::None,
            cause: None,
            retry_after: None,
            challenge: false,
            close: false,
            allow: None,
            cookie: None,
            flood: false,
        }))
    }

    /// 422 with one entry for each fault.
    pub fn invalid(faults: Vec<FieldFault>) -> Self {
        Self::new(ErrorCode::Invalid).with(|it| it.details = Details::Fields(faults))
    }

    /// 422: the password breaks the policy for these reasons.
    pub fn weak_password(reasons: Vec<&'static str>) -> Self {
        Self::new(ErrorCode::WeakPassword).with(|it| it.details = Details::Reasons(reasons))
    }

    /// 500: a defect. The cause reaches the log, never the client.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Internal).because(cause)
    }

    /// 503: a part is absent; the client may come back.
    pub fn unavailable(cause: impl fmt::Display) -> Self {
        Self::new(ErrorCode::Unavailable).because(cause).retry_after(RetryAfter::from_wait(ABSENT_PART_WAIT))
    }

    /// 429 of a per-path, per-mailbox or hourly bucket.
    pub fn rate_limited(sentence: &'static str, retry_after: RetryAfter) -> Self {
        Self::new(ErrorCode::RateLimited).retry_after(retry_after).with(|it| it.sentence = sentence)
    }

    /// 429 of the volumetric limiter, which has a shape of its own.
    pub fn flooded(retry_after: RetryAfter) -> Self {
        Self::new(ErrorCode::RateLimited).retry_after(retry_after).with(|it| it.flood = true)
    }

    /// A code with another sentence, where the code's own speaks of something else.
    #[must_use]
    pub fn saying(self, sentence: &'static str) -> Self {
        self.with(|it| it.sentence = sentence)
    }

    /// 405 with the methods that the path does take.
    pub fn method_not_allowed(allow: HeaderValue) -> Self {
        Self::new(ErrorCode::MethodNotAllowed).with(|it| it.allow = Some(allow))
    }

    /// Adds what the log should say.
    #[must_use]
    pub fn because(self, cause: impl fmt::Display) -> Self {
        self.with(|it| it.cause = Some(Cause(cause.to_string().into())))
    }

    /// Adds a wait, shown as `Retry-After`.
    #[must_use]
    pub fn retry_after(self, wait: RetryAfter) -> Self {
        self.with(|it| it.retry_after = Some(wait))
    }

    /// Adds `WWW-Authenticate: Bearer`.
    #[must_use]
    pub fn with_challenge(self) -> Self {
        self.with(|it| it.challenge = true)
    }

    /// Closes the connection after the answer: the rest of the request is not wanted.
    #[must_use]
    pub fn closing(self) -> Self {
        self.with(|it| it.close = true)
    }

    /// Adds a `Set-Cookie`, to clear what was refused.
    #[must_use]
    pub fn with_cookie(self, cookie: HeaderValue) -> Self {
        self.with(|it| it.cookie = Some(cookie))
    }

    fn with(mut self, change: impl FnOnce(&mut Refusal)) -> Self {
        change(&mut self.0);
        self
    }

    /// The code of the catalogue.
    pub const fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The sentence for the client.
    pub const fn sentence(&self) -> &'static str {
        self.0.sentence
    }

    /// What stands under `details`.
    pub const fn details(&self) -> &Details {
        &self.0.details
    }

    /// What the log should say.
    pub const fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    /// The wait that is shown to the client.
    pub const fn wait(&self) -> Option<RetryAfter> {
        self.0.retry_after
    }

    /// Whether this is the volumetric refusal.
    pub const fn is_flood(&self) -> bool {
        self.0.flood
    }
}

impl IntoResponse for ApiError {
    /// A response without a body: status, headers and the error itself as an extension. The corridor writes the body.
    fn into_response(self) -> Response {
        let mut response = self.0.code.status().into_response();
        let headers = response.headers_mut();
        if let Some(wait) = self.0.retry_after {
            headers.insert(http::header::RETRY_AFTER, wait.header());
        }
        if self.0.challenge {
            headers.insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.0.close {
            headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(allow) = &self.0.allow {
            headers.insert(http::header::ALLOW, allow.clone());
        }
        if let Some(cookie) = &self.0.cookie {
            headers.append(http::header::SET_COOKIE, cookie.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unreachable(_) | Fault::Contended(_) => Self::unavailable(fault.for_log()),
            Fault::Defect(_) => Self::internal(fault.for_log()),
        }
    }
}

/// An error body. The structs above always serialise; an empty body would still carry status and headers.
fn body(shape: &impl serde::Serialize) -> Vec<u8> {
    let mut body = Vec::with_capacity(BODY);
    serde_json::to_writer(&mut body, shape).unwrap_or_default();
    body
}
