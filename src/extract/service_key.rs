//! Who may ask as a sibling service: whoever presents one of `SERVICE_KEYS`. A missing or wrong key spends the route's
//! `auth` bucket; a valid one is compared first, in process, and counted nowhere.

use std::{fmt, sync::Arc};

use axum::extract::{FromRef, FromRequestParts};
use http::{HeaderMap, request::Parts};

use super::{
    bearer::bearer,
    rule::{Describe, Rule},
};
use crate::{
    error::{ApiError, ErrorCode},
    limit::{Bucket, Limiter, extract::Visit},
    secret::{Hashed, Plain, SECRET_KEY_MIN_BYTES, equal},
};

/// The keys of all sibling services, as digests: what is compared has one length, whatever was sent.
#[derive(Clone, Default)]
pub struct ServiceKeys(Arc<[Hashed]>);

impl ServiceKeys {
    /// The keys that an operator configured.
    pub fn new(keys: Vec<Hashed>) -> Self {
        Self(keys.into())
    }

    /// Reads one key from the configuration.
    ///
    /// # Errors
    /// When it is too short to resist guessing.
    pub fn parse(text: &str) -> Result<Hashed, String> {
        if text.len() < SECRET_KEY_MIN_BYTES {
            return Err(format!("holds a key of fewer than {SECRET_KEY_MIN_BYTES} bytes"));
        }
        Ok(Plain::presented(text.to_owned()).hash())
    }

    /// Whether no sibling is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the request carries one of the keys. All are compared, each in constant time.
    pub fn admit(&self, headers: &HeaderMap) -> bool {
        let Some(presented) = bearer(headers).filter(|_| !self.is_empty()) else { return false };
        let presented = Plain::presented(presented.to_owned()).hash();
        self.0.iter().fold(false, |found, key| equal(key.as_bytes(), presented.as_bytes()) | found)
    }
}

impl fmt::Debug for ServiceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceKeys({})", self.0.len())
    }
}

/// A caller that is a sibling service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceKey;

impl<S> FromRequestParts<S> for ServiceKey
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    ServiceKeys: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let keys = ServiceKeys::from_ref(state);
        if keys.admit(&parts.headers) {
            return Ok(Self);
        }
        Visit::noted_in(&parts.extensions, &parts.method)?.charge_path(&Limiter::from_ref(state)).await?;
        // Without a key in the configuration there is nobody whom the route could serve.
        Err(if keys.is_empty() {
            ApiError::new(ErrorCode::NotFound)
        } else {
            ApiError::new(ErrorCode::NotAuthenticated).with_challenge()
        })
    }
}

impl Describe for ServiceKey {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::ServiceKey, Rule::Bucket(Bucket::Auth)]);
    }
}
