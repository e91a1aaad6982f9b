//! An e-mail address in the one form in which it is stored, compared, counted and mailed.

use std::fmt;

use serde_json::Value;
use validator::{ValidateEmail, ValidateLength};

use crate::extract::{Field, Problem, field};

/// Longest address that fits an SMTP path (RFC 5321, 4.5.3.1.3).
const MAX: u64 = 254;

/// Shortest address that can be one.
const MIN: u64 = 3;

/// A mailbox: ASCII dot-atom, `@`, a domain in A-labels with at least one dot, all lower case. Plus tags stay.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// Reads an address as people type it: surrounding white space is dropped, an internationalised domain is converted.
    ///
    /// # Errors
    /// A sentence that says what is wrong, without the address.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if !text.validate_length(Some(MIN), Some(MAX), None) {
            return Err("it must have 3 to 254 characters");
        }
        if text.chars().any(char::is_control) {
            return Err("it must not hold control characters");
        }
        let Some((local, domain)) = text.split_once('@') else {
            return Err("an email address must have an @-sign");
        };
        if domain.contains('@') {
            return Err("an email address must have exactly one @-sign");
        }
        if !is_dot_atom(local) {
            return Err("the part before the @-sign must be plain ASCII, at most 64 characters, without quotes");
        }
        let domain = to_ascii(domain)?;
        let address = format!("{}@{domain}", local.to_ascii_lowercase());
        if address.validate_length(None, Some(MAX), None) && address.validate_email() {
            Ok(Self(address))
        } else {
            Err("it is not a deliverable address")
        }
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the `@`.
    pub fn local(&self) -> &str {
        self.0.split_once('@').map_or("", |(local, _)| local)
    }
}

/// The domain in lower-case A-labels, without a trailing dot and with at least one inner dot.
fn to_ascii(domain: &str) -> Result<String, &'static str> {
    let ascii = idna::domain_to_ascii_strict(domain).map_err(|_| "the part after the @-sign is not a domain")?;
    if ascii.ends_with('.') || !ascii.contains('.') || ascii.split('.').any(str::is_empty) {
        return Err("the part after the @-sign is not a full domain");
    }
    Ok(ascii)
}

/// RFC 5322 dot-atom, at most 64 characters (RFC 5321, 4.5.3.1.1).
fn is_dot_atom(local: &str) -> bool {
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&byte))
    };
    local.len() <= 64 && local.split('.').all(is_atom)
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Field for Email {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        Self::parse(text).map_err(|why| Problem {
            kind: "value_error",
            msg: format!("value is not a valid email address: {why}").into(),
        })
    }
}
