//! Sending a browser to the provider. What comes back must fit what is kept here and what the browser carries.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{Oidc, Pending, Secrets, provider::Unusable};
use crate::{
    error::{ApiError, ErrorCode},
    public_url::InnerPath,
    secret::Plain,
    store::{Fault, retrying},
    ticket::Purpose,
};

/// Bytes of a PKCE verifier: 64 characters of base64url.
const VERIFIER_BYTES: usize = 48;

/// Where the browser goes, and the cookie that it must bring back.
#[derive(Debug)]
pub struct Begun {
    pub authorize: String,
    pub browser: Plain,
}

impl Oidc {
    /// Begins a sign-in.
    ///
    /// # Errors
    /// A provider that is not configured or not reachable; an absent part.
    pub async fn begin(&self, redirect_to: Option<InnerPath>) -> Result<Begun, ApiError> {
        let provider = self.provider.as_deref().ok_or_else(|| ApiError::new(ErrorCode::ProviderUnconfigured))?;
        let secrets = Secrets {
            nonce: Plain::mint(&self.entropy).reveal().to_owned(),
            verifier: URL_SAFE_NO_PAD.encode(self.entropy.bytes::<VERIFIER_BYTES>()),
        };
        let browser = Plain::mint(&self.entropy);
        let clear = serde_json::to_vec(&secrets).map_err(ApiError::internal)?;
        let pending = Pending {
            sealed: self.seal.seal(&self.entropy, &clear),
            browser: browser.hash().as_bytes().to_vec(),
            redirect_to: redirect_to.map(InnerPath::into_string),
        };
        let pending = serde_json::to_string(&pending).map_err(ApiError::internal)?;
        let state = retrying(async || {
            let mut tx = self.db.begin().await?;
            let state = self.tickets.issue(&mut tx, Purpose::OidcState, None, &pending).await?;
            tx.commit().await?;
            Ok::<_, Fault>(state)
        })
        .await?;
        let authorize = tokio::time::timeout(self.patience, provider.authorize_url(state.reveal(), &secrets))
            .await
            .unwrap_or_else(|_| Err(Unusable(String::from("no description in time"))))
            .map_err(|Unusable(cause)| ApiError::new(ErrorCode::ProviderUnreachable).because(cause))?;
        Ok(Begun { authorize, browser })
    }
}
