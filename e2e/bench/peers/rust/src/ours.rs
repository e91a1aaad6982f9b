//! The limiter alone as a tower layer: who the client is, one decision, the header fields, the refusal's body. It makes
//! the calls that the service's corridor makes, through the library's public surface, and nothing else of the corridor.

use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::Body,
    extract::{ConnectInfo, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use labs_auth::{
    clock::{Clock, Timestamp},
    error::{ApiError, envelope},
    limit::{
        Attempt, Backend, Charge, ClientIp, Limiter, Prefixes, RedisAddress, Setup, Verdict, Who, headers,
        policy::PolicySource,
    },
    middleware::client_ip::{Peer, TrustedProxies},
};
use smallvec::{SmallVec, smallvec};
use tokio_util::sync::CancellationToken;
use tower::{Layer, Service};
use uuid::Uuid;

use crate::Outcome;

/// Room for two million clients: nobody is evicted while a million are counted.
const MEMORY_MB: usize = 64;

/// What a request spends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spends {
    /// The first so many of `ip`, `public-ip` and `auth`.
    Buckets(usize),
    /// The policies that the file puts on its path.
    Route,
}

/// What one request spends; two, as in the corridor, lie beside the heap.
type Charges = SmallVec<[Charge<'static>; 2]>;

/// The layer.
#[derive(Clone)]
pub(crate) struct Limits(Arc<Parts>);

pub(crate) struct Parts {
    limiter: Limiter,
    proxies: TrustedProxies,
    clock: Clock,
    spends: Spends,
}

/// A limiter with the policies of a file, on Redis when there is one.
pub(crate) async fn limiter(policies: &str, redis: &str) -> Outcome<Limiter> {
    let source = PolicySource { path: Some(PathBuf::from(policies)), ..PolicySource::default() };
    let loaded = source.load().map_err(|faults| faults.join("; "))?;
    let address = if redis == "-" { None } else { Some(RedisAddress::from_url(redis)?) };
    let wanted = if address.is_some() { Backend::Redis } else { Backend::Memory };
    let setup = Setup { source, policies: loaded, redis: address, memory_mb: MEMORY_MB, key: None };
    let limiter = Limiter::with(setup, Clock::system());
    limiter.begin().await;
    if limiter.backend() != wanted {
        return Err("Redis does not answer".into());
    }
    let watch = limiter.clone();
    tokio::spawn(async move { watch.run(CancellationToken::new()).await });
    Ok(limiter)
}

impl Limits {
    pub(crate) fn new(limiter: Limiter, spends: Spends) -> Self {
        Self(Arc::new(Parts { limiter, proxies: TrustedProxies::default(), clock: Clock::system(), spends }))
    }
}

impl Parts {
    fn client(&self, request: &Request) -> ClientIp {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(Peer::None, |info| Peer::Address(info.0.ip()));
        self.proxies.infer(&peer, request.headers(), Prefixes::default())
    }

    /// What a request spends whatever its path.
    fn charges(&self, client: &ClientIp) -> Option<Charges> {
        match self.spends {
            Spends::Buckets(1) => Some(smallvec![Charge::ip(client)]),
            Spends::Buckets(2) => Some(smallvec![Charge::ip(client), Charge::public_ip(client)]),
            Spends::Buckets(_) => Some(smallvec![
                Charge::ip(client),
                Charge::public_ip(client),
                Charge::auth("/", client)
            ]),
            Spends::Route => None,
        }
    }

    /// The route of a request whose path decides what it spends.
    fn route(&self, request: &Request) -> Option<String> {
        matches!(self.spends, Spends::Route).then(|| format!("{} {}", request.method(), request.uri().path()))
    }

    async fn decide(&self, route: Option<String>, attempt: &Attempt) -> Verdict {
        let client = attempt.client();
        if let Some(charges) = self.charges(client) {
            return self.limiter.decide(&charges, client, "/", attempt).await;
        }
        let policies = self.limiter.policies();
        let charges = policies.charges(&route.unwrap_or_default(), client, Who::default(), true);
        self.limiter.decide(&charges, client, "/", attempt).await
    }
}

fn dress(attempt: &Attempt, now: Timestamp, refused: bool, mut response: Response) -> Response {
    headers::write(attempt, now, refused, response.headers_mut());
    response
}

impl<S> Layer<S> for Limits {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { inner, parts: Arc::clone(&self.0) }
    }
}

/// A service behind the layer.
#[derive(Clone)]
pub(crate) struct Limited<S> {
    inner: S,
    parts: Arc<Parts>,
}

impl<S> Service<Request> for Limited<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Answer<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let parts = &self.parts;
        // Who mints the ids of requests is not the limiter's matter.
        let attempt = Attempt::new(Uuid::nil(), parts.client(&request));
        let client = attempt.client();
        let charges = parts.charges(client);
        match charges.and_then(|charges| parts.limiter.decide_now(&charges, client, "/", &attempt)) {
            Some(Verdict::Admitted) => {
                Answer::Admitted { now: parts.clock.now(), inner: self.inner.call(request), attempt }
            }
            Some(Verdict::Refused(refusal)) => {
                let response = dress(&attempt, parts.clock.now(), true, refuse(refusal.into()));
                Answer::Refused { response: Some(response) }
            }
            None => {
                let (parts, route) = (Arc::clone(parts), parts.route(&request));
                // The clone was not asked whether it is ready, the original was.
                let next = self.inner.clone();
                let mut inner = std::mem::replace(&mut self.inner, next);
                let answer = Box::pin(async move {
                    let (refused, response) = match parts.decide(route, &attempt).await {
                        Verdict::Admitted => (false, inner.call(request).await?),
                        Verdict::Refused(refusal) => (true, refuse(refusal.into())),
                    };
                    Ok(dress(&attempt, parts.clock.now(), refused, response))
                });
                Answer::Waits { answer }
            }
        }
    }
}

pin_project_lite::pin_project! {
    /// The answer to a request; only one that has to ask Redis takes an allocation.
    #[project = Step]
    pub(crate) enum Answer<F> {
        Admitted { #[pin] inner: F, attempt: Attempt, now: Timestamp },
        Refused { response: Option<Response> },
        Waits { answer: Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>> },
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for Answer<F> {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Step::Admitted { inner, attempt, now } => {
                inner.poll(context).map_ok(|response| dress(attempt, *now, false, response))
            }
            Step::Refused { response } => response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response))),
            Step::Waits { answer } => answer.as_mut().poll(context),
        }
    }
}

/// The refusal as a client of the service reads it.
fn refuse(error: ApiError) -> Response {
    let body = envelope::flood(&error);
    let mut response = error.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.body_mut() = Body::from(body);
    response
}
