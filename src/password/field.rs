//! Passwords as fields: shape only. Neither type prints itself.

use std::fmt;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::hashing::Candidate;
use crate::extract::{Field, Problem, field};

/// A password that somebody wants to have: 8 to 128 code points after NFC, never trimmed.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPassword(String);

/// A password that somebody claims to have: 1 to 1024 code points.
#[derive(Clone, PartialEq, Eq)]
pub struct CurrentPassword {
    normal: String,
    as_sent: String,
}

impl NewPassword {
    /// The NFC form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl CurrentPassword {
    /// The NFC form.
    pub fn as_str(&self) -> &str {
        &self.normal
    }
}

impl<'a> From<&'a CurrentPassword> for Candidate<'a> {
    fn from(password: &'a CurrentPassword) -> Self {
        Self::new(&password.normal, &password.as_sent)
    }
}

impl Field for NewPassword {
    fn read(value: &Value) -> Result<Self, Problem> {
        normalised(value, 8, 128).map(Self)
    }
}

impl Field for CurrentPassword {
    fn read(value: &Value) -> Result<Self, Problem> {
        let normal = normalised(value, 1, 1024)?;
        Ok(Self { normal, as_sent: field::text(value)?.to_owned() })
    }
}

fn normalised(value: &Value, min: u64, max: u64) -> Result<String, Problem> {
    let text: String = field::text(value)?.nfc().collect();
    field::length(&text, min, max)?;
    Ok(text)
}

impl fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewPassword(…)")
    }
}

impl fmt::Debug for CurrentPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CurrentPassword(…)")
    }
}
