//! The fields of this room's bodies: what each may hold.

use std::time::Duration;

use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    account::field::name,
    clock::Timestamp,
    extract::{Field, Problem, field},
};

/// Scopes that one key may carry.
const SCOPES_MAX: usize = 32;

/// Longest time for which a rotated key may live on, in days.
const GRACE_MAX_DAYS: u64 = 7;

/// The name of a developer or of a key: 1 to 120 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub String);

/// A company: 1 to 160 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Company(pub String);

/// An invitation as somebody types it: 1 to 64 characters. The gate has judged it by the time this is read.
#[derive(Debug)]
pub struct InviteCode;

/// What a key may be used for: sibling services give the words their meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(pub Vec<String>);

/// A moment, RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

/// How long a rotated key lives on: 0 to 7 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grace(pub Duration);

impl Field for Name {
    fn read(value: &Value) -> Result<Self, Problem> {
        name(value, 120).map(Self)
    }
}

impl Field for Company {
    fn read(value: &Value) -> Result<Self, Problem> {
        name(value, 160).map(Self)
    }
}

impl Field for InviteCode {
    fn read(value: &Value) -> Result<Self, Problem> {
        field::length(field::text(value)?, 1, 64).map(|()| Self)
    }
}

impl Field for Scopes {
    fn read(value: &Value) -> Result<Self, Problem> {
        let Value::Array(items) = value else {
            return Err(Problem::new("list_type", "Input should be a valid list"));
        };
        if items.len() > SCOPES_MAX {
            return Err(Problem::new("too_long", "List should have at most 32 items"));
        }
        let mut scopes = Vec::with_capacity(items.len());
        for item in items {
            let scope = field::text(item)?;
            field::length(scope, 1, 64)?;
            if !scope.bytes().all(is_scope_byte) {
                return Err(Problem::value("Value error, a scope is ASCII without blanks, quotes and backslashes"));
            }
            if !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        Ok(Self(scopes))
    }
}

/// RFC 6749, appendix A.4: the characters of a scope token.
const fn is_scope_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'"' && byte != b'\\'
}

impl Field for Moment {
    fn read(value: &Value) -> Result<Self, Problem> {
        OffsetDateTime::parse(field::text(value)?, &Rfc3339)
            .map(|moment| Self(Timestamp::from_date_time(moment)))
            .map_err(|_| Problem::new("datetime_parsing", "Input should be a valid datetime"))
    }
}

impl Field for Grace {
    fn read(value: &Value) -> Result<Self, Problem> {
        let days = value.as_u64().ok_or(Problem::new("int_parsing", "Input should be a valid integer"))?;
        if days > GRACE_MAX_DAYS {
            return Err(Problem::new("less_than_equal", "Input should be less than or equal to 7"));
        }
        Ok(Self(Duration::from_hours(days * 24)))
    }
}
