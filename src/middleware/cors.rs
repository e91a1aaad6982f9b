//! Which pages may read an answer. Two regimes: exact origins with credentials, and any origin without them under the
//! public prefixes. Without an allowed origin an answer carries nothing but `Vary: Origin`.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::volumetric::is_under;
use crate::limit;

/// How long a browser may remember a preflight's answer, in seconds.
const MAX_AGE: &str = "600";

const METHODS: &str = "GET, POST, PATCH, DELETE";
const HEADERS: &str = "Authorization, Content-Type, X-Workspace-ID";

/// The two regimes.
#[derive(Clone, Debug)]
pub struct Cors {
    /// Exact origins that may act with credentials.
    pub origins: Vec<String>,
    /// Prefixes under which any origin may read, without credentials.
    pub public_prefixes: Vec<String>,
}

/// What the origin of a request may do.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Credentialed(HeaderValue),
    Public(HeaderValue),
    Nothing,
}

impl Cors {
    pub(super) fn judge(&self, request: &Request) -> Verdict {
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else { return Verdict::Nothing };
        if self.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()) {
            Verdict::Credentialed(origin.clone())
        } else if self.public_prefixes.iter().any(|prefix| is_under(request.uri().path(), prefix)) {
            Verdict::Public(origin.clone())
        } else {
            Verdict::Nothing
        }
    }
}

/// The answer to a preflight; `None` for every other request, a plain OPTIONS included.
pub(super) fn preflight(request: &Request, verdict: &Verdict) -> Option<Response> {
    let headers = request.headers();
    let asks = headers.contains_key(header::ORIGIN) && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if request.method() != Method::OPTIONS || !asks {
        return None;
    }
    let mut response = StatusCode::OK.into_response();
    if !matches!(verdict, Verdict::Nothing) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    }
    Some(response)
}

/// What every answer of every layer carries.
pub(super) fn dress(verdict: &Verdict, headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let origin = match verdict {
        Verdict::Credentialed(origin) => {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
            origin
        }
        Verdict::Public(origin) => origin,
        Verdict::Nothing => return,
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(limit::headers::EXPOSED));
}
