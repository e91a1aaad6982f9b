//! The answer to a request that asked its buckets. It knows no HTTP: the rooms and the corridor render it.

use std::time::Duration;

use super::Bucket;
use crate::error::{ApiError, ErrorCode, RetryAfter};

/// Whether a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    Refused(Refusal),
}

/// What a client is told to wait when Redis is away: about as long as a switch takes.
const UNAVAILABLE_WAIT: Duration = Duration::from_secs(2);

/// What a client of a network that is never admitted is told to wait.
const NETWORK_WAIT: Duration = Duration::from_hours(1);

/// Which bucket refused, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    bucket: Bucket,
    wait: Duration,
    because: Because,
}

/// Why a request does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The budget is spent.
    Spent,
    /// Redis does not answer, and the policy would rather refuse than count apart.
    Unavailable,
    /// The client's network is never admitted.
    Network,
}

impl Refusal {
    pub(super) const fn new(bucket: Bucket, wait: Duration) -> Self {
        Self { bucket, wait, because: Because::Spent }
    }

    pub(super) const fn unavailable(bucket: Bucket) -> Self {
        Self { bucket, wait: UNAVAILABLE_WAIT, because: Because::Unavailable }
    }

    pub(super) const fn network() -> Self {
        Self { bucket: Bucket::Ip, wait: NETWORK_WAIT, because: Because::Network }
    }

    /// Why.
    pub const fn because(&self) -> Because {
        self.because
    }

    /// The bucket that refused.
    pub const fn bucket(&self) -> Bucket {
        self.bucket
    }

    /// The exact rest of its window.
    pub const fn wait(&self) -> Duration {
        self.wait
    }

    /// The wait as the client reads it.
    pub const fn retry_after(&self) -> RetryAfter {
        RetryAfter::from_wait(self.wait)
    }

    /// What the client reads.
    pub const fn sentence(&self) -> &'static str {
        self.bucket.sentence()
    }
}

impl From<Refusal> for ApiError {
    /// 429 with the bucket's sentence and shape, or 503 when nothing could be counted.
    fn from(refusal: Refusal) -> Self {
        let wait = refusal.retry_after();
        match refusal.because {
            Because::Unavailable => Self::new(ErrorCode::Unavailable)
                .because(format!("Redis is away and the policy of {} is closed", refusal.bucket.name()))
                .retry_after(wait),
            Because::Spent | Because::Network if refusal.bucket.is_volumetric() => Self::flooded(wait),
            Because::Spent | Because::Network => Self::rate_limited(refusal.sentence(), wait),
        }
    }
}
