//! Whether the service lives, and how its parts are. Liveness asks nobody; the detailed answer asks every part at once,
//! each within its own deadline, at most once a second, and names no host, path or cause.

pub mod routes;

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::sync::Mutex;

use crate::{
    clock::{Clock, Timestamp},
    limit::{Limiter, RedisState},
    mail::{Courier, MailState},
    store::Database,
};

/// How long an answer is shared.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// What the health routes need.
#[derive(Clone)]
pub struct Health {
    pub(crate) parts: Arc<Parts>,
}

/// The parts that are asked.
pub struct Parts {
    pub db: Database,
    pub limiter: Limiter,
    pub courier: Arc<Courier>,
    pub clock: Clock,
    pub environment: &'static str,
    /// When the process started, by the monotonic clock.
    pub started: Duration,
    pub latest: Mutex<Option<(Duration, Detailed)>>,
}

/// The body of `/health/detailed`.
#[derive(Clone, Debug, Serialize)]
pub struct Detailed {
    pub status: &'static str,
    version: &'static str,
    environment: &'static str,
    uptime_seconds: u64,
    timestamp: Timestamp,
    rate_limit_backend: &'static str,
    database: &'static str,
    redis: &'static str,
    mail: &'static str,
    details: Details,
}

#[derive(Clone, Debug, Serialize)]
struct Details {
    database: DatabaseDetails,
    redis: RedisDetails,
    mail: MailDetails,
}

#[derive(Clone, Debug, Serialize)]
struct DatabaseDetails {
    backend: &'static str,
    latency_ms: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct RedisDetails {
    latency_ms: Option<f64>,
    since: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize)]
struct MailDetails {
    transport: &'static str,
    queued: u64,
    dead: u64,
    oldest_seconds: u64,
}

impl Health {
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// How the parts are, no older than a second. Callers that come together share one answer.
    pub async fn detailed(&self) -> Detailed {
        let mut latest = self.parts.latest.lock().await;
        let now = self.parts.clock.monotonic();
        if let Some((at, answer)) = latest.as_ref()
            && now.saturating_sub(*at) < SHARED_FOR
        {
            return answer.clone();
        }
        let answer = self.parts.ask().await;
        *latest = Some((self.parts.clock.monotonic(), answer.clone()));
        answer
    }
}

impl Parts {
    async fn ask(&self) -> Detailed {
        let asked = self.clock.monotonic();
        let (ping, report) = tokio::join!(self.db.ping(), self.courier.report());
        let latency = self.clock.monotonic().saturating_sub(asked);
        if let Err(fault) = &ping {
            tracing::warn!(cause = fault.for_log(), "The database does not answer");
        }
        let (redis, redis_details) = match self.limiter.redis_state() {
            RedisState::Healthy { latency, since } => {
                ("healthy", RedisDetails { latency_ms: Some(millis(latency)), since: Some(since) })
            }
            RedisState::Unreachable { since } => ("unreachable", RedisDetails { latency_ms: None, since: Some(since) }),
            RedisState::Disabled => ("disabled", RedisDetails { latency_ms: None, since: None }),
        };
        let mail_failing = report.state == MailState::Failing;
        let status = match (&ping, redis, mail_failing) {
            (Err(_), _, _) => "unhealthy",
            (Ok(()), "unreachable", _) | (Ok(()), _, true) => "degraded",
            (Ok(()), _, false) => "healthy",
        };
        Detailed {
            status,
            version: env!("CARGO_PKG_VERSION"),
            environment: self.environment,
            uptime_seconds: self.clock.monotonic().saturating_sub(self.started).as_secs(),
            timestamp: self.clock.now(),
            rate_limit_backend: self.limiter.backend().name(),
            database: if ping.is_ok() { "healthy" } else { "unreachable" },
            redis,
            mail: report.state.as_str(),
            details: Details {
                database: DatabaseDetails {
                    backend: self.db.backend(),
                    latency_ms: ping.is_ok().then(|| millis(latency)),
                },
                redis: redis_details,
                mail: MailDetails {
                    transport: report.transport,
                    queued: report.queued,
                    dead: report.dead,
                    oldest_seconds: report.oldest_seconds,
                },
            },
        }
    }
}

fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 10_000.0).round() / 10.0
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Health")
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parts")
    }
}
