//! Time that stands still until a test moves it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};

use labs_auth::clock::{Clock, TimeSource};

/// 2026-01-02 03:04:05 UTC, in microseconds.
pub(crate) const START: i64 = 1_767_323_045_000_000;

/// The hands of one world's clock.
#[derive(Clone)]
pub(crate) struct Hands(Arc<AtomicI64>);

impl Hands {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), SeqCst);
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::from_source(self.clone())
    }
}

impl TimeSource for Hands {
    fn wall_micros(&self) -> i64 {
        self.0.load(SeqCst)
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.wall_micros() - START).unwrap()
    }
}
