//! A password that somebody claims to have, as a field, and the question whether it is the right one. How passwords are
//! hashed is the password room's business; the hall hands its answer to the rooms that need a fresh proof.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::{
    error::ApiError,
    extract::{Field, Problem, field},
};

/// A password that somebody claims to have: 1 to 1024 code points. It does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct CurrentPassword {
    normal: String,
    as_sent: String,
}

impl CurrentPassword {
    /// The NFC form.
    pub fn as_str(&self) -> &str {
        &self.normal
    }

    /// What was sent, for a hash from elsewhere that nobody normalised.
    pub fn as_sent(&self) -> &str {
        &self.as_sent
    }
}

impl Field for CurrentPassword {
    fn read(value: &Value) -> Result<Self, Problem> {
        let as_sent = field::text(value)?;
        let normal: String = as_sent.nfc().collect();
        field::length(&normal, 1, 1024)?;
        Ok(Self { normal, as_sent: as_sent.to_owned() })
    }
}

impl fmt::Debug for CurrentPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CurrentPassword(…)")
    }
}

/// The answer to [`Proof::fits`], on its way.
pub type Fitting<'a> = Pin<Box<dyn Future<Output = Result<bool, ApiError>> + Send + 'a>>;

/// Something that compares a password with a stored hash.
pub trait Proof: Send + Sync + 'static {
    /// Whether `password` belongs to the hash `stored`.
    fn fits<'a>(&'a self, password: &'a CurrentPassword, stored: &'a str) -> Fitting<'a>;
}

/// The proof that the hall hands over.
#[derive(Clone)]
pub struct PasswordProof(Arc<dyn Proof>);

impl PasswordProof {
    pub fn new(proof: impl Proof) -> Self {
        Self(Arc::new(proof))
    }

    /// Whether `password` belongs to the hash `stored`.
    ///
    /// # Errors
    /// 503 when too many passwords are being compared already.
    pub async fn fits(&self, password: &CurrentPassword, stored: &str) -> Result<bool, ApiError> {
        self.0.fits(password, stored).await
    }
}

impl fmt::Debug for PasswordProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordProof")
    }
}
