//! What a room holds about a person, for the person to take along. Each room answers for itself; the hall lists them, so
//! that the export needs to know no room.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use serde_json::Value;
use uuid::Uuid;

use crate::store::Fault;

/// A room's answer, on its way.
pub type Held<'a> = Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send + 'a>>;

/// A room that holds something about people.
pub trait Holding: Send + Sync + 'static {
    /// Under which key the export shows it.
    fn name(&self) -> &'static str;

    /// Everything it holds about one person, secrets aside.
    fn about(&self, person: Uuid) -> Held<'_>;
}

/// Every room that holds something.
#[derive(Clone, Default)]
pub struct Holdings(Vec<Arc<dyn Holding>>);

impl Holdings {
    /// Adds a room.
    #[must_use]
    pub fn with(mut self, holding: impl Holding) -> Self {
        self.0.push(Arc::new(holding));
        self
    }

    /// The rooms.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Holding> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl fmt::Debug for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Holding::name)).finish()
    }
}
