//! An answer, and what a test may demand of it. Every demand names the request and shows the answer when it fails.

use std::fmt;

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// An answer of the house.
#[derive(Clone)]
pub(crate) struct Reply {
    asked: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

const AUTH_SENTENCE: &str = "Too many authentication attempts. Please try again later.";
const MAILBOX_SENTENCE: &str = "Too many requests for this email. Please try again later.";

impl Reply {
    pub(super) fn new(asked: String, status: StatusCode, headers: HeaderMap, body: Vec<u8>) -> Self {
        Self { asked, status, headers, body }
    }

    /// The status must be this one.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }

    /// The answer must be this refusal.
    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, code: &str) -> &Self {
        self.is(status);
        assert_eq!(self.code(), code, "{self:?}");
        self
    }

    /// The answer must be the refusal of the path's bucket.
    #[track_caller]
    pub(crate) fn is_rate_limited(&self) -> &Self {
        self.is_error(429, "RATE_001");
        assert_eq!(self.field("error"), AUTH_SENTENCE, "{self:?}");
        assert!(self.header("ratelimit").is_some_and(|it| it.starts_with("\"auth\";r=0;t=")), "{self:?}");
        assert!(self.wait() <= 60, "{self:?}");
        self
    }

    /// The answer must be the refusal of a mailbox's bucket, which shows no numbers.
    #[track_caller]
    pub(crate) fn is_mailbox_limited(&self) -> &Self {
        self.is_error(429, "RATE_001");
        assert_eq!(self.field("error"), MAILBOX_SENTENCE, "{self:?}");
        for numbers in ["ratelimit", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            assert!(self.header(numbers).is_none(), "{numbers} tells of another person's traffic: {self:?}");
        }
        assert!(self.wait() <= 60, "{self:?}");
        self
    }

    /// The answer must be the volumetric refusal, in the middleware's shape.
    #[track_caller]
    pub(crate) fn is_flooded(&self) -> &Self {
        self.is(429);
        let shape = json!({"error": "rate_limit_exceeded", "message": "Too many requests. Please slow down."});
        assert_eq!(self.json(), shape, "{self:?}");
        self
    }

    /// The 422 must name a fault of this type at this place, such as `body.email`.
    #[track_caller]
    pub(crate) fn has_fault(&self, kind: &str, place: &str) -> &Self {
        self.is_error(422, "VAL_001");
        assert!(self.faults().contains(&(kind.to_owned(), place.to_owned())), "no {kind} at {place}: {self:?}");
        self
    }

    /// The faults of a 422: type and place.
    pub(crate) fn faults(&self) -> Vec<(String, String)> {
        let step = |step: &Value| step.as_str().map_or_else(|| step.to_string(), str::to_owned);
        let place = |loc: &Value| loc.as_array().unwrap().iter().map(step).collect::<Vec<_>>().join(".");
        let errors = self.json()["details"]["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|it| (it["type"].as_str().unwrap().to_owned(), place(&it["loc"]))).collect()
    }

    /// The code, wherever this answer's shape keeps it.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let code = if body["error"].is_object() { &body["error"]["code"] } else { &body["code"] };
        code.as_str().unwrap_or_default().to_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// A member of the body that is text.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_else(|| panic!("no text at {name}: {self:?}")).to_owned()
    }

    /// A header's one value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Every cookie that is set.
    pub(crate) fn cookies(&self) -> Vec<&str> {
        self.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// The wait of a refusal, in seconds.
    #[track_caller]
    pub(crate) fn wait(&self) -> u64 {
        self.header("retry-after").unwrap_or_else(|| panic!("no wait: {self:?}")).parse().unwrap()
    }

    /// How many more requests the tightest bucket admits.
    #[track_caller]
    pub(crate) fn remaining(&self) -> u64 {
        self.header("x-ratelimit-remaining").unwrap_or_else(|| panic!("not counted: {self:?}")).parse().unwrap()
    }

    /// The body without what differs between any two answers.
    pub(crate) fn masked(&self) -> Value {
        let mut body = self.json();
        for name in ["request_id", "timestamp"] {
            if body.get(name).is_some() {
                body[name] = Value::Null;
            }
        }
        body
    }

    /// The names of the headers, sorted.
    pub(crate) fn header_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.headers.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    /// The two answers must be the same to whoever wants to learn something from them.
    #[track_caller]
    pub(crate) fn tells_no_more_than(&self, other: &Self) -> &Self {
        assert_eq!(self.status, other.status, "{self:?}\n{other:?}");
        assert_eq!(self.masked(), other.masked(), "{self:?}\n{other:?}");
        assert_eq!(self.header_names(), other.header_names(), "{self:?}\n{other:?}");
        self
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{} answered {}\n{:#?}\n{body}", self.asked, self.status, self.headers)
    }
}
