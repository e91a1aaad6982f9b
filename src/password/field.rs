//! A new password as a field: shape only. It does not print itself. The current one stands in `account/password.rs`.

use std::fmt;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

pub use crate::account::CurrentPassword;
use crate::extract::{Field, Problem, field};

/// A password that somebody wants to have: 8 to 128 code points after NFC, never trimmed.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPassword(String);

impl NewPassword {
    /// The NFC form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Field for NewPassword {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text: String = field::text(value)?.nfc().collect();
        field::length(&text, 8, 128)?;
        Ok(Self(text))
    }
}

impl fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewPassword(…)")
    }
}
