//! A wait as the client reads it: whole seconds, rounded up, at least one. One value, two renderings.

use std::{fmt, time::Duration};

use http::HeaderValue;

/// The value of a `Retry-After` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryAfter(u64);

impl RetryAfter {
    /// Whole seconds, rounded up, at least one.
    pub const fn from_wait(wait: Duration) -> Self {
        let seconds = wait.as_secs() + if wait.subsec_nanos() > 0 { 1 } else { 0 };
        Self(if seconds == 0 { 1 } else { seconds })
    }

    /// The whole seconds.
    pub const fn seconds(self) -> u64 {
        self.0
    }

    /// The header's value.
    pub fn header(self) -> HeaderValue {
        HeaderValue::from(self.0)
    }
}

impl fmt::Display for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
