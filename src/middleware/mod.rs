//! The corridor: one tower layer around the finished router. It wraps the router from outside because axum answers
//! wrong methods and unknown paths beyond the reach of `Router::layer`. Only the preflight, the host check, the flood
//! limit and the panic catcher answer by themselves, and all of them sit inside what dresses an answer, so that a 429
//! carries everything a 200 carries.

pub mod access_log;
pub mod client_ip;
pub mod cors;
pub mod host;
pub mod panic;
pub mod render;
pub mod request_id;
pub mod response_time;
pub mod security_headers;
pub mod volumetric;

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{Router, body::Body, extract::Request, response::Response};
use tower::{Service, ServiceExt};
use tracing::Instrument;
use uuid::Uuid;

use self::{
    access_log::AccessLog, client_ip::Peer, cors::Cors, host::Hosts, request_id::RequestIds, volumetric::Volumetric,
};
use crate::{
    clock::Clock,
    error::{ApiError, ErrorCode},
    limit::{self, Attempt, Limiter, Prefixes},
};

/// How many fields the corridor adds to an answer, at most.
const DRESS: usize = 16;

/// What the corridor knows.
#[derive(Debug)]
pub struct Corridor {
    pub clock: Clock,
    pub ids: RequestIds,
    pub limiter: Limiter,
    pub proxies: client_ip::TrustedProxies,
    pub prefixes: Prefixes,
    pub cors: Cors,
    pub hosts: Hosts,
    pub volumetric: Volumetric,
    /// Whether browsers are told to come back over TLS only.
    pub strict_transport: bool,
}

impl Corridor {
    /// Walks a request through, from the door to the room and back.
    async fn walk(&self, router: Router, mut request: Request) -> Response {
        // Minted, never taken from the client: it is what a person quotes to support.
        let id = self.ids.mint();
        // Inferred once; log, limits and sessions read the same fact, and nobody behind asks the peer again.
        let peer = request.extensions_mut().remove().unwrap_or(Peer::None);
        let attempt = Attempt::new(id, self.proxies.infer(&peer, request.headers(), self.prefixes));
        // Opened before anything can answer, so that every request leaves exactly one line.
        let log = AccessLog::open(&self.clock, &request, attempt.clone());
        let gateway = crate::error::gateway::covers(request.uri().path());
        let origin = self.cors.judge(&request);

        request.extensions_mut().insert(attempt.clone());
        request.extensions_mut().insert(log.trail());
        if self.limiter.has_routes() {
            request.extensions_mut().insert(self.limiter.clone());
        }
        // A text, which is written down faster than what has to be formatted.
        let span = tracing::info_span!("request", id = &*id.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
        let mut response = self.answer(router, request, &attempt, &origin).instrument(span).await;

        let now = self.clock.now();
        let error = render::render(&mut response, id, now, gateway);
        let refused = error.as_ref().is_some_and(|error| error.code() == ErrorCode::RateLimited);
        let headers = response.headers_mut();
        headers.reserve(DRESS);
        limit::headers::write(&attempt, now, refused, headers);
        cors::dress(&origin, headers);
        security_headers::dress(self.strict_transport, headers);
        response_time::dress(log.elapsed(), headers);
        request_id::dress(id, headers);
        log.close(response.status(), error.as_ref());
        response
    }

    /// Whoever may answer: preflight, host check, flood limit, and the router with its panic catcher.
    async fn answer(&self, router: Router, request: Request, attempt: &Attempt, origin: &cors::Verdict) -> Response {
        use axum::response::IntoResponse;

        // A preflight is the browser's question, not the page's request: answered here, counted nowhere.
        if let Some(answer) = cors::preflight(&request, origin) {
            return answer;
        }
        // Before anything is counted: what is not for us spends nothing.
        if !self.hosts.serves(&request) {
            return ApiError::new(ErrorCode::HostUnknown).into_response();
        }
        if let Some(refusal) = self.limiter.shuts_out(attempt.client()) {
            return ApiError::from(refusal).into_response();
        }
        // Over every path, known or not: a flood ends here.
        let (path, headers) = (request.uri().path(), request.headers());
        if let Err(refusal) = self.volumetric.admit(&self.limiter, path, headers, attempt).await {
            return refusal.into_response();
        }
        match panic::catching(router).oneshot(request).await {
            Ok(response) => response.map(Body::new),
            Err(never) => match never {},
        }
    }
}

/// The corridor with the rooms behind it: the whole service.
#[derive(Clone)]
pub struct House {
    corridor: Arc<Corridor>,
    router: Router,
}

/// What a house gives back.
type Answer = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

impl House {
    pub fn new(corridor: Corridor, router: Router) -> Self {
        Self { corridor: Arc::new(corridor), router }
    }

    /// Answers one request of a connection. Each connection has a count of its own: those of the whole house would go
    /// from core to core with every request.
    pub fn answer<B>(self: Arc<Self>, request: http::Request<B>) -> Answer
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let request = request.map(Body::new);
        Box::pin(async move { Ok(self.corridor.walk(self.router.clone(), request).await) })
    }
}

impl fmt::Debug for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("House")
    }
}

impl<B> Service<http::Request<B>> for House
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        Arc::new(self.clone()).answer(request)
    }
}
