//! Whether a key is alive, for sibling services and for `GET /me`. A key that cannot be one is refused without a query.

use super::{ApiKey, ApiKeys, Key, USE_NOTED_EVERY, format::MARK, store};
use crate::{
    account,
    session::{KeyHolder, KeyRing, key_ring::Holder},
    store::Fault,
};

impl ApiKeys {
    /// The live key of an active owner.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn introspect(&self, text: &str) -> Result<Option<ApiKey>, Fault> {
        let found = self.find(text).await?.filter(|found| found.owner_is_active);
        let Some(found) = found else { return Ok(None) };
        self.note_use(&found.key).await;
        Ok(Some(found.key))
    }

    async fn find(&self, text: &str) -> Result<Option<store::Found>, Fault> {
        match Key::parse(text) {
            Some(key) => store::find_live(&self.db, &key.hash(), self.clock.now()).await,
            None => Ok(None),
        }
    }

    /// A use that cannot be noted refuses nobody.
    async fn note_use(&self, key: &ApiKey) {
        let now = self.clock.now();
        let before = now - USE_NOTED_EVERY;
        if key.last_used_at.is_none_or(|used| used <= before)
            && let Err(fault) = store::touch(&self.db, key.id, now, before).await
        {
            tracing::warn!(key = %key.id, cause = fault.for_log(), "The use of a key could not be noted");
        }
    }
}

impl KeyRing for ApiKeys {
    fn recognises(&self, token: &str) -> bool {
        token.starts_with(MARK)
    }

    fn holder<'a>(&'a self, key: &'a str) -> Holder<'a> {
        Box::pin(async move {
            let Some(found) = self.find(key).await? else { return Ok(None) };
            let account = account::find(&self.db, found.key.user_id).await?;
            if found.owner_is_active {
                self.note_use(&found.key).await;
            }
            let (key_id, workspace_id) = (found.key.id, found.key.workspace_id);
            Ok(account.map(|account| KeyHolder { key_id, account, workspace_id }))
        })
    }
}
