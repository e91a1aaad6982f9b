//! A panic in a room becomes a 500 with id and CORS headers, so that a browser can read it. The panic hook logs it.

use std::any::Any;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
};
use tower_http::catch_panic::{CatchPanic, ResponseForPanic};

use crate::error::ApiError;

/// The answer to a panic: an error of the house, without the panic's words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer;

impl ResponseForPanic for Answer {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, _: Box<dyn Any + Send + 'static>) -> Response {
        ApiError::internal("a handler panicked; the panic stands in the log above").into_response()
    }
}

pub(super) fn catching(router: Router) -> CatchPanic<Router, Answer> {
    CatchPanic::custom(router, Answer)
}
