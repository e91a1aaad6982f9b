//! The operator's own door: `GET /metrics` on an address of its own, never on the one that clients reach.

use std::convert::Infallible;

use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{limit::Limiter, middleware::client_ip::Rejected};

/// The bound door.
#[derive(Debug)]
pub(super) struct Door(TcpListener, Rejected);

impl Door {
    /// Binds the address, when there is one.
    ///
    /// # Errors
    /// A sentence for the operator, when it is taken or not ours to bind.
    pub(super) async fn open(address: Option<&str>, rejected: &Rejected) -> Result<Option<Self>, String> {
        let Some(address) = address else { return Ok(None) };
        let bound = TcpListener::bind(address).await;
        bound
            .map(|listener| Some(Self(listener, rejected.clone())))
            .map_err(|error| format!("METRICS_ADDR cannot be bound: {error}"))
    }

    /// Answers until cancelled.
    pub(super) async fn run(self, limiter: Limiter, ending: CancellationToken) {
        while let Some(accepted) = ending.run_until_cancelled(self.0.accept()).await {
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            };
            let (limiter, rejected, ending) = (limiter.clone(), self.1.clone(), ending.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer(&request, &limiter, &rejected);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut http = http1::Builder::new();
                let connection = http.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
                let _ = ending.run_until_cancelled(connection).await;
            });
        }
    }
}

fn answer(request: &Request<Incoming>, limiter: &Limiter, rejected: &Rejected) -> Response<Full<bytes::Bytes>> {
    let known = request.uri().path() == "/metrics";
    let text = if known { limiter.metrics(&rejected.counts()) } else { String::new() };
    let mut response = Response::new(Full::from(text));
    if !known {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let kind = http::HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
