//! A person's keys, for the person to take along: everything but what could open anything.

use serde_json::json;
use uuid::Uuid;

use super::{ApiKey, store};
use crate::{
    account::{Held, Holding},
    store::Database,
};

/// The keys, as the export asks for them.
#[derive(Clone, Debug)]
pub struct Everything(pub Database);

impl Holding for Everything {
    fn name(&self) -> &'static str {
        "api_keys"
    }

    fn about(&self, person: Uuid) -> Held<'_> {
        Box::pin(async move {
            let keys = store::everything_of(&self.0, person).await?;
            Ok(keys.iter().map(shown).collect())
        })
    }
}

fn shown(key: &ApiKey) -> serde_json::Value {
    json!({
        "id": key.id, "name": key.name, "prefix": key.prefix, "scopes": key.scopes.0, "workspace_id": key.workspace_id,
        "created_at": key.created_at, "expires_at": key.expires_at, "last_used_at": key.last_used_at,
    })
}
