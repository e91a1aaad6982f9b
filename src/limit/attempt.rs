//! What one request carries through all its decisions: its id, who asks, what it may still spend on Redis, and the tally
//! of the buckets it met. It decides nothing.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use smallvec::SmallVec;
use uuid::Uuid;

use super::{Bucket, ClientIp, algorithm::Rule, memory::Reading, policy::Policy};

/// The longest that one request waits for Redis, all its decisions together.
pub(super) const ALLOWANCE: Duration = Duration::from_millis(50);

/// One request's account with the limiter; clones share it. It travels in the request's extensions.
#[derive(Clone, Debug)]
pub struct Attempt(Arc<Account>);

#[derive(Debug)]
struct Account {
    request_id: Uuid,
    client: ClientIp,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None`: a fault was met, and memory decides the rest of this request.
    allowance: Option<Duration>,
    /// Few requests meet more buckets than these, which lie beside the heap.
    tally: SmallVec<[Applied; 2]>,
}

/// A bucket that applied, and how it stood after this request.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub(super) bucket: Bucket,
    pub(super) rule: Rule,
    /// Of a named budget. The others' names are written down in the program, and shared by no counter.
    named: Option<Arc<str>>,
    pub(super) remaining: u32,
    pub(super) rest: Duration,
    pub(super) refused: bool,
}

impl Applied {
    /// Its name in the header fields.
    pub(super) fn name(&self) -> &str {
        self.named.as_deref().unwrap_or(self.bucket.name())
    }
}

impl Attempt {
    /// The account of the request with this id, of this client; nothing spent.
    pub fn new(request_id: Uuid, client: ClientIp) -> Self {
        let state = Mutex::new(State { allowance: Some(ALLOWANCE), tally: SmallVec::new() });
        Self(Arc::new(Account { request_id, client, state }))
    }

    /// The request's id.
    pub fn request_id(&self) -> Uuid {
        self.0.request_id
    }

    /// Who asks.
    pub fn client(&self) -> &ClientIp {
        &self.0.client
    }

    /// How long this request may still wait for Redis; `None` when memory decides.
    pub(super) fn allowance(&self) -> Option<Duration> {
        self.state().allowance.filter(|left| !left.is_zero())
    }

    /// Takes a wait off the allowance.
    pub(super) fn spend(&self, waited: Duration) {
        let mut state = self.state();
        state.allowance = state.allowance.map(|left| left.saturating_sub(waited));
    }

    /// From now on memory decides for this request.
    pub(super) fn stay_on_memory(&self) {
        self.state().allowance = None;
    }

    /// Notes how a bucket stands. A bucket that is asked twice counts once, with its newest numbers.
    pub(super) fn record(&self, policy: &Policy, reading: &Reading, refused: bool) {
        let bucket = policy.bucket;
        let named = matches!(bucket, Bucket::Named(_)).then(|| Arc::clone(&policy.name));
        let (remaining, rest) = (reading.remaining, reading.rest);
        let applied = Applied { bucket, rule: policy.rule, named, remaining, rest, refused };
        let mut state = self.state();
        match state.tally.iter_mut().find(|earlier| earlier.bucket == bucket) {
            Some(earlier) => *earlier = applied,
            None => state.tally.push(applied),
        }
    }

    /// Shows the buckets that applied, in the order in which they were asked.
    pub(super) fn tell<R>(&self, read: impl FnOnce(&[Applied]) -> R) -> R {
        read(&self.state().tally)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
