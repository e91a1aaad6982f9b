//! The servers: a bare handler, ours, `tower_governor` and limitador, each around the same handler on the same runtime.

use std::{collections::HashMap, convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router, ServiceExt,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt,
};
use http::StatusCode;
use limitador::{
    RateLimiter,
    limit::{Expression, Limit, Predicate},
};
use serde_json::{Value, json};
use tower::{Layer, Service};
use tower_governor::{GovernorLayer, governor::GovernorConfigBuilder, key_extractor::SmartIpKeyExtractor};

use crate::{
    Outcome,
    ours::{Limits, Spends, limiter},
};

/// Everybody's window.
const WINDOW: Duration = Duration::from_mins(1);

/// Clients that limitador keeps at most; it wants to know, and gives up the least recently seen.
const LIMITADOR_CLIENTS: u64 = 2_000_000;

const NAMESPACE: &str = "bench";

async fn answer() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// The same answer with the header fields that ours writes, and no limiter: what they cost by themselves.
async fn dressed() -> impl IntoResponse {
    let fields = [
        ("ratelimit-policy", "\"ip\";q=1000000;w=60"),
        ("ratelimit", "\"ip\";r=999999;t=60"),
        ("x-ratelimit-limit", "1000000"),
        ("x-ratelimit-remaining", "999999"),
        ("x-ratelimit-reset", "1800000000"),
    ];
    (fields, answer().await)
}

/// Serves one contender until it is killed. `policies` and `redis` are read by ours, `quota` by the others.
#[tokio::main]
pub(crate) async fn serve(contender: &str, address: &str, policies: &str, quota: u32, redis: &str) -> Outcome {
    let router = Router::new().route("/", get(answer));
    // Whoever is a tower layer stands around the finished router, as ours does in the service.
    match contender {
        "bare" => listen(router, address).await,
        "bare-dressed" => listen(Router::new().route("/", get(dressed)), address).await,
        "ours-1" | "ours-2" | "ours-3" => {
            let buckets = contender.trim_start_matches("ours-").parse()?;
            let limits = Limits::new(limiter(policies, redis).await?, Spends::Buckets(buckets));
            listen(limits.layer(router), address).await
        }
        "governor" | "governor-untold" => {
            let mut builder = GovernorConfigBuilder::default().key_extractor(SmartIpKeyExtractor);
            let builder = builder.period(WINDOW / quota).burst_size(quota);
            if contender == "governor" {
                let config = builder.use_headers().finish();
                return listen(GovernorLayer::new(config.ok_or("no such quota")?).layer(router), address).await;
            }
            let config = builder.finish();
            listen(GovernorLayer::new(config.ok_or("no such quota")?).layer(router), address).await
        }
        "limitador" => listen(router.layer(from_fn_with_state(limitador(quota)?, by_limitador)), address).await,
        _ => Err(format!("no contender named {contender}").into()),
    }
}

/// Serves every path of a policy file until it is killed.
#[tokio::main]
pub(crate) async fn schedule(address: &str, policies: &str, redis: &str) -> Outcome {
    let limiter = limiter(policies, redis).await?;
    let paths: Vec<String> = limiter.policies().routes().map(|route| route.replace("GET ", "")).collect();
    let mut router = Router::new();
    for path in paths {
        router = router.route(&path, get(answer));
    }
    listen(Limits::new(limiter, Spends::Route).layer(router), address).await
}

async fn listen<S>(service: S, address: &str) -> Outcome
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let listener = tokio::net::TcpListener::bind(address).await?.tap_io(|stream| {
        // A socket without it is slower, not wrong.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

fn limitador(quota: u32) -> Outcome<Arc<RateLimiter>> {
    let limiter = RateLimiter::new(LIMITADOR_CLIENTS);
    let client = Expression::try_from("client").map_err(|error| error.to_string())?;
    limiter.add_limit(Limit::new(NAMESPACE, quota.into(), WINDOW.as_secs(), Vec::<Predicate>::new(), vec![client]));
    Ok(Arc::new(limiter))
}

async fn by_limitador(State(limiter): State<Arc<RateLimiter>>, request: Request, next: Next) -> Response {
    match is_refused(&limiter, &request) {
        Ok(true) => StatusCode::TOO_MANY_REQUESTS.into_response(),
        Ok(false) => next.run(request).await,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error).into_response(),
    }
}

fn is_refused(limiter: &RateLimiter, request: &Request) -> Result<bool, String> {
    let header = request.headers().get("x-forwarded-for");
    let client = header.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let context = HashMap::from([(String::from("client"), client.to_owned())]).into();
    let verdict = limiter.check_rate_limited_and_update(&NAMESPACE.into(), &context, 1);
    verdict.map(|verdict| verdict.limited).map_err(|error| error.to_string())
}
