//! A counter of which every core has a part of its own: one number that all of them write would go from core to core
//! with every request.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use prometheus_client::metrics::counter::Atomic;

/// Parts of a counter. Threads beyond share them.
const PARTS: usize = 16;

/// As long as what a core takes from memory at once, so that no two parts lie in it.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Part(AtomicU64);

/// The parts; what was counted is their sum.
#[derive(Debug, Default)]
pub(super) struct Striped([Part; PARTS]);

impl Striped {
    /// The part of this thread: the first one has the first, and so on.
    fn part(&self) -> &AtomicU64 {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static MINE: Cell<usize> = Cell::new(THREADS.fetch_add(1, Relaxed) % PARTS);
        }
        &self.0[MINE.get()].0
    }
}

impl Atomic<u64> for Striped {
    fn inc(&self) -> u64 {
        self.inc_by(1)
    }

    /// Answers with what this thread's part was before. Nobody asks for more.
    fn inc_by(&self, number: u64) -> u64 {
        self.part().fetch_add(number, Relaxed)
    }

    fn get(&self) -> u64 {
        self.0.iter().map(|part| part.0.load(Relaxed)).sum()
    }
}
