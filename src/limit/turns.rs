//! A fair queue for work that takes a core: first come, first served, but at most so many of one client run at once and
//! its others wait while strangers pass them. It refuses only when the queue is full.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// The queue. Clones share it.
#[derive(Clone)]
pub struct Turns(Arc<Queue>);

struct Queue {
    of_one_client: usize,
    longest: usize,
    state: Mutex<State>,
}

struct State {
    free: usize,
    running: HashMap<Box<str>, usize>,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    client: Box<str>,
    call: oneshot::Sender<Turn>,
}

/// Leave to run. Dropping it calls the next.
pub struct Turn {
    queue: Arc<Queue>,
    client: Box<str>,
}

impl Turns {
    /// `slots` run at once, `of_one_client` of one client, and `longest` may wait.
    pub fn new(slots: usize, of_one_client: usize, longest: usize) -> Self {
        let state = State { free: slots.max(1), running: HashMap::new(), waiting: VecDeque::new() };
        Self(Arc::new(Queue { of_one_client: of_one_client.max(1), longest, state: Mutex::new(state) }))
    }

    /// Waits for a turn; `None` when too many wait already. An empty `client` is nobody in particular and not bounded.
    /// Whoever stops waiting loses the place.
    pub async fn wait(&self, client: &str) -> Option<Turn> {
        let receiver = {
            let mut state = self.0.state();
            state.waiting.retain(|waiter| !waiter.call.is_closed());
            if state.waiting.len() >= self.0.longest {
                return None;
            }
            let (call, receiver) = oneshot::channel();
            state.waiting.push_back(Waiter { client: client.into(), call });
            receiver
        };
        Queue::call_next(&self.0);
        receiver.await.ok()
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.0.state().waiting.iter().filter(|waiter| !waiter.call.is_closed()).count()
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out the free turns. A turn for somebody who has just left comes back by being dropped, outside the lock.
    fn call_next(queue: &Arc<Self>) {
        loop {
            let called = {
                let mut state = queue.state();
                if state.free == 0 {
                    return;
                }
                let State { running, waiting, .. } = &*state;
                let may_run = |waiter: &Waiter| {
                    waiter.client.is_empty()
                        || running.get(&waiter.client).is_none_or(|count| *count < queue.of_one_client)
                };
                let Some(next) = waiting.iter().position(may_run) else { return };
                let Some(waiter) = state.waiting.remove(next) else { return };
                state.free -= 1;
                *state.running.entry(waiter.client.clone()).or_default() += 1;
                waiter
            };
            let turn = Turn { queue: Arc::clone(queue), client: called.client };
            drop(called.call.send(turn));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        {
            let mut state = self.queue.state();
            state.free += 1;
            if let Some(count) = state.running.get_mut(&self.client) {
                *count -= 1;
                if *count == 0 {
                    state.running.remove(&self.client);
                }
            }
        }
        Queue::call_next(&self.queue);
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns(…)")
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}
