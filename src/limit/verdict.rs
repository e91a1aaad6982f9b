//! The answer to a request that asked its buckets. It knows no HTTP: the rooms and the corridor render it.

use std::time::Duration;

use super::Bucket;
use crate::error::RetryAfter;

/// Whether a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    Refused(Refusal),
}

/// Which bucket refused, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    bucket: Bucket,
    wait: Duration,
}

impl Refusal {
    pub(super) const fn new(bucket: Bucket, wait: Duration) -> Self {
        Self { bucket, wait }
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
