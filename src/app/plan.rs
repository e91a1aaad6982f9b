//! The route plan: axum's router cannot be listed, so every route is entered here first, with the rules of its handler's
//! parameters. The start-up audit and the tests' ratchet read the list.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    handler::Handler,
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter},
};
use futures_util::future::{BoxFuture, Either};
use http::{HeaderValue, StatusCode, Uri, header};
use tower::{Service, layer::layer_fn};

use crate::{
    error::{ApiError, ErrorCode},
    extract::{Described, Rule},
    limit::{Who, extract::RoutePolicies},
    middleware::access_log::Trail,
};

/// A method of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Get,
    Post,
    Patch,
    Delete,
}

impl Verb {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// One route, and what its handler demands.
#[derive(Clone, Debug)]
pub struct Planned {
    pub verb: Verb,
    pub path: &'static str,
    pub rules: Vec<Rule>,
    /// Why nobody has to be signed in and nothing is counted, when that is so on purpose.
    pub open_because: Option<&'static str>,
}

impl Planned {
    /// Whether the route may be mounted: somebody is signed in, something is counted, or there is a reason.
    pub fn is_guarded(&self) -> bool {
        let guards = self.rules.iter().any(|rule| matches!(rule, Rule::Bearer | Rule::ServiceKey | Rule::Bucket(_)));
        guards || self.open_because.is_some()
    }
}

/// The plan under construction.
pub struct Plan<S> {
    routes: Vec<Planned>,
    methods: BTreeMap<&'static str, MethodRouter<S>>,
}

impl<S> Default for Plan<S> {
    fn default() -> Self {
        Self { routes: Vec::new(), methods: BTreeMap::new() }
    }
}

impl<S: Clone + Send + Sync + 'static> Plan<S> {
    pub fn new() -> Self {
        Self::default()
    }

    /// A route that its handler's parameters guard.
    #[must_use]
    pub fn on<H, T, P>(self, verb: Verb, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, S> + Described<P>,
        T: 'static,
    {
        self.enter(verb, path, handler, None)
    }

    /// A route that is open to everybody and counted by no bucket of its own, with the reason.
    #[must_use]
    pub fn open<H, T, P>(self, verb: Verb, path: &'static str, handler: H, because: &'static str) -> Self
    where
        H: Handler<T, S> + Described<P>,
        T: 'static,
    {
        self.enter(verb, path, handler, Some(because))
    }

    fn enter<H, T, P>(mut self, verb: Verb, path: &'static str, handler: H, open_because: Option<&'static str>) -> Self
    where
        H: Handler<T, S> + Described<P>,
        T: 'static,
    {
        self.routes.push(Planned { verb, path, rules: H::rules(), open_because });
        let methods = self.methods.remove(path).unwrap_or_default();
        self.methods.insert(path, methods.on(verb.filter(), handler));
        self
    }

    /// The list of the routes alone.
    pub fn into_routes(self) -> Vec<Planned> {
        self.routes
    }

    /// The finished router and the list of its routes.
    ///
    /// # Errors
    /// Every route that nothing guards.
    pub fn finish(self, state: S) -> Result<(Router, Vec<Planned>), Vec<String>> {
        let unguarded: Vec<String> = self
            .routes
            .iter()
            .filter(|route| !route.is_guarded())
            .map(|route| format!("{} {} has neither a session nor a bucket", route.verb.name(), route.path))
            .collect();
        if !unguarded.is_empty() {
            return Err(unguarded);
        }
        let mut known = matchit::Router::new();
        let mut router = Router::new();
        for (path, methods) in self.methods {
            known.insert(path, ()).map_err(|error| vec![error.to_string()])?;
            router = router.route(path, closed(methods, path, &self.routes));
        }
        let fallback = move |uri: Uri| std::future::ready(unknown(&known, &uri));
        let router = router.route_layer(layer_fn(AtTheDoor)).fallback(fallback).with_state(state);
        Ok((router, self.routes))
    }
}

impl<S> fmt::Debug for Plan<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.routes).finish()
    }
}

/// Adds the refusal of every other method. HEAD must not run a GET handler under `/api`: it would spend a single-use
/// state. Health routes and pages answer it.
fn closed<S>(methods: MethodRouter<S>, path: &'static str, routes: &[Planned]) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let mut names: Vec<&str> =
        routes.iter().filter(|route| route.path == path).map(|route| route.verb.name()).collect();
    let answers_head = !path.starts_with("/api/") || path.starts_with("/api/health");
    if names.contains(&"GET") && answers_head {
        names.push("HEAD");
    }
    let allow = HeaderValue::from_str(&names.join(", ")).unwrap_or(HeaderValue::from_static(""));
    let refuse = move || std::future::ready(ApiError::method_not_allowed(allow.clone()));
    let methods =
        if names.contains(&"GET") && !answers_head { methods.on(MethodFilter::HEAD, refuse.clone()) } else { methods };
    methods.fallback(refuse)
}

/// Stands in front of every route: notes which it is, and charges the budgets that the policy file puts on it. Where it
/// puts none, nothing is waited for and nothing allocated.
#[derive(Clone)]
struct AtTheDoor<S>(S);

impl<S> Service<Request> for AtTheDoor<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Infallible>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let noted = (request.extensions().get::<Trail>(), request.extensions().get::<MatchedPath>());
        if let (Some(trail), Some(route)) = noted {
            trail.note(route.clone());
        }
        let Some(policies) = RoutePolicies::of(request.extensions(), request.method()) else {
            return Either::Left(self.0.call(request));
        };
        // The clone was not asked whether it is ready, the original was.
        let next = self.0.clone();
        let mut room = std::mem::replace(&mut self.0, next);
        Either::Right(Box::pin(async move {
            match policies.charge(Who::default(), true).await {
                Ok(()) => room.call(request).await,
                Err(refusal) => Ok(refusal.into_response()),
            }
        }))
    }
}

/// An unknown path, or a known one with a slash too many: the slash is removed by a relative redirect, before anything is spent.
fn unknown(known: &matchit::Router<()>, uri: &Uri) -> Response {
    let trimmed = uri.path().strip_suffix('/').filter(|path| known.at(path).is_ok());
    let Some(path) = trimmed else { return ApiError::new(ErrorCode::NotFound).into_response() };
    let location = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    match HeaderValue::try_from(location) {
        Ok(location) => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, location)]).into_response(),
        Err(_) => ApiError::new(ErrorCode::NotFound).into_response(),
    }
}
