//! One line a request, whatever became of it: a request whose connection ended is logged when it is dropped. It never
//! shows the raw path's query, a header or a body; the path itself only as the matched template.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::extract::{MatchedPath, Request};
use http::{Method, StatusCode};
use uuid::Uuid;

use crate::{clock::Clock, error::ApiError, limit::Attempt};

/// Where the router notes which route matched, for whoever stands outside.
#[derive(Clone, Debug, Default)]
pub struct Trail(Arc<OnceLock<MatchedPath>>);

impl Trail {
    /// Notes the route.
    pub fn note(&self, route: MatchedPath) {
        // A request matches one route; a second note would say the same.
        let _ = self.0.set(route);
    }

    fn route(&self) -> &str {
        self.0.get().map_or("unmatched", MatchedPath::as_str)
    }
}

/// The open line of a request.
#[derive(Debug)]
pub(super) struct AccessLog<'a> {
    clock: &'a Clock,
    start: Duration,
    attempt: Attempt,
    method: Method,
    trail: Trail,
    closed: bool,
}

impl<'a> AccessLog<'a> {
    pub(super) fn open(clock: &'a Clock, request: &Request, attempt: Attempt) -> Self {
        Self {
            clock,
            start: clock.monotonic(),
            attempt,
            method: request.method().clone(),
            trail: Trail::default(),
            closed: false,
        }
    }

    pub(super) fn trail(&self) -> Trail {
        self.trail.clone()
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.start)
    }

    /// Writes the line of an answered request.
    pub(super) fn close(mut self, status: StatusCode, error: Option<&ApiError>) {
        self.closed = true;
        let code = error.map_or("-", |error| error.code().wire());
        let cause = error.and_then(ApiError::cause).map_or("-", |cause| cause.for_log());
        let (method, route, client) = (self.method.as_str(), self.trail.route(), &*self.attempt.client().address());
        let mut id = Uuid::encode_buffer();
        let request_id = &*self.attempt.request_id().hyphenated().encode_lower(&mut id);
        // Texts are handed over as they are: formatting them through the macro was a third of the line's cost.
        let message = [method, " ", route, " ", status.as_str()].concat();
        let (message, status, millis) = (message.as_str(), status.as_u16(), self.millis());
        if status >= 500 {
            tracing::error!(message, request_id, method, route, status, millis, client, code, cause);
        } else {
            tracing::info!(message, request_id, method, route, status, millis, client, code, cause);
        }
    }

    fn millis(&self) -> f64 {
        (self.elapsed().as_secs_f64() * 1_000_000.0).round() / 1000.0
    }
}

impl Drop for AccessLog<'_> {
    fn drop(&mut self) {
        if !self.closed {
            let (method, route) = (self.method.as_str(), self.trail.route());
            let millis = self.millis();
            let client = &*self.attempt.client().address();
            tracing::info!(request_id = %self.attempt.request_id(), method, route, millis, client, cause = "the connection ended", "{method} {route} aborted");
        }
    }
}
