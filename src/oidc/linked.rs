//! A person's identities at the provider, for the export.

use uuid::Uuid;

use super::store;
use crate::{
    account::holding::{Held, Holding},
    store::{Database, Fault},
};

/// Every identity that is linked to a person.
#[derive(Debug)]
pub struct Everything(pub Database);

impl Holding for Everything {
    fn name(&self) -> &'static str {
        "identities"
    }

    fn about(&self, person: Uuid) -> Held<'_> {
        Box::pin(async move {
            let identities = store::all_of(&self.0, person).await?;
            serde_json::to_value(identities).map_err(|error| Fault::Defect(error.to_string()))
        })
    }
}
