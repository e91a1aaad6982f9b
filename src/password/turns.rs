//! Turns at an account: what would wait for its row in the database anyway waits here, where it holds no connection.

use std::{sync::Arc, time::Duration};

use tokio::sync::{Mutex, MutexGuard};
use uuid::Uuid;

use crate::error::ApiError;

/// How many accounts may take turns at once in this process, at most.
const STRIPES: usize = 1024;

/// Longest that somebody waits for a turn.
const WAIT: Duration = Duration::from_secs(10);

/// Lets what is done to one account come one after the other. It saves work and connections and decides nothing: who wins
/// is the database's business, also between processes.
#[derive(Clone, Debug)]
pub struct Turns(Arc<[Mutex<()>]>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| Mutex::new(())).collect())
    }
}

impl Turns {
    pub(super) async fn of(&self, account: Uuid) -> Result<MutexGuard<'_, ()>, ApiError> {
        // Ids are random, so any two bytes spread them evenly.
        let [high, low, ..] = *account.as_bytes();
        let place = usize::from(u16::from_be_bytes([high, low])) % STRIPES;
        let stripe = self.0.get(place).ok_or_else(|| ApiError::internal("a stripe is missing"))?;
        tokio::time::timeout(WAIT, stripe.lock())
            .await
            .map_err(|_| ApiError::unavailable("too many wait for their turn at one account"))
    }
}
