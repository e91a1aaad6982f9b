//! Tokens whose signature was found genuine: a page sends one token with every request of half an hour, and its signature
//! is checked once. Whatever changes with time is not remembered; the caller judges it each time.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::token::{Claims, TokenError};

/// How many are remembered. Of two that meet in one place the later one stays.
const PLACES: usize = 4096;

/// Of a whole token.
type Digest = [u8; blake3::OUT_LEN];

/// A token's digest, and what it says.
type Known = (Digest, Arc<Claims>);

pub(super) struct Genuine(Box<[Mutex<Option<Known>>]>);

impl Default for Genuine {
    fn default() -> Self {
        Self((0..PLACES).map(|_| Mutex::default()).collect())
    }
}

impl Genuine {
    /// What a genuine token says: remembered, or as `check` finds it.
    pub(super) fn claims(
        &self,
        token: &str,
        check: impl FnOnce() -> Result<Claims, TokenError>,
    ) -> Result<Arc<Claims>, TokenError> {
        let digest = *blake3::hash(token.as_bytes()).as_bytes();
        if let Some((_, claims)) = self.place(&digest).as_ref().filter(|(known, _)| *known == digest) {
            return Ok(Arc::clone(claims));
        }
        let claims = Arc::new(check()?);
        *self.place(&digest) = Some((digest, Arc::clone(&claims)));
        Ok(claims)
    }

    fn place(&self, [high, low, ..]: &Digest) -> MutexGuard<'_, Option<Known>> {
        let number = usize::from(u16::from_be_bytes([*high, *low]));
        self.0[number % PLACES].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Genuine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Genuine(…)")
    }
}
