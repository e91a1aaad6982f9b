//! Keys that stand for a person where no session is needed. Sessions neither issue nor store them: the hall hands in
//! whoever does, so that this room needs to know no other.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use uuid::Uuid;

use crate::{account::Account, store::Fault};

/// Whom a key stands for.
#[derive(Clone, Debug)]
pub struct KeyHolder {
    pub key_id: Uuid,
    pub account: Account,
    pub workspace_id: Uuid,
}

/// The holder, or nobody; boxed, because the ring is an object.
pub type Holder<'a> = Pin<Box<dyn Future<Output = Result<Option<KeyHolder>, Fault>> + Send + 'a>>;

/// Who knows the keys.
pub trait KeyRing: Send + Sync {
    /// Whether the text is meant as a key, whatever it is worth.
    fn recognises(&self, token: &str) -> bool;

    /// Whom a live key stands for.
    fn holder<'a>(&'a self, key: &'a str) -> Holder<'a>;
}

/// The ring, as handlers' parameters get it.
#[derive(Clone)]
pub struct Keys(Arc<dyn KeyRing>);

impl Keys {
    /// Takes the ring.
    pub fn new(ring: impl KeyRing + 'static) -> Self {
        Self(Arc::new(ring))
    }

    pub(super) fn ring(&self) -> &dyn KeyRing {
        &*self.0
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}
