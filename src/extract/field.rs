//! How one value becomes a domain type, and what is said when it does not. Vocabulary: Pydantic's.

use std::borrow::Cow;

use serde_json::Value;
use uuid::Uuid;
use validator::ValidateLength;

/// A type that one JSON value can become.
pub trait Field: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// The fault, without what was sent.
    fn read(value: &Value) -> Result<Self, Problem>;
}

/// What is wrong with one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub kind: &'static str,
    pub msg: Cow<'static, str>,
}

impl Problem {
    /// A fault with a fixed sentence.
    pub const fn new(kind: &'static str, msg: &'static str) -> Self {
        Self { kind, msg: Cow::Borrowed(msg) }
    }

    /// A rule of the domain is broken.
    pub const fn value(msg: &'static str) -> Self {
        Self::new("value_error", msg)
    }

    /// The field is absent.
    pub const fn missing() -> Self {
        Self::new("missing", "Field required")
    }

    /// An object with fields was expected.
    pub const fn not_an_object() -> Self {
        Self::new("model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
    }

    /// The value is none of a closed list, which the sentence names.
    pub const fn not_one_of(msg: &'static str) -> Self {
        Self::new("enum", msg)
    }
}

/// The value as text, without a NUL character.
///
/// # Errors
/// When it is not a string, or holds a NUL.
pub fn text(value: &Value) -> Result<&str, Problem> {
    let Value::String(text) = value else {
        return Err(Problem::new("string_type", "Input should be a valid string"));
    };
    if text.contains('\0') {
        return Err(Problem::value("Value error, the NUL character is not allowed"));
    }
    Ok(text)
}

/// Checks a length in Unicode code points.
///
/// # Errors
/// When the text is shorter than `min` or longer than `max`.
pub fn length(text: &str, min: u64, max: u64) -> Result<(), Problem> {
    if !text.validate_length(Some(min), None, None) {
        let plural = if min == 1 { "" } else { "s" };
        let msg = format!("String should have at least {min} character{plural}");
        return Err(Problem { kind: "string_too_short", msg: msg.into() });
    }
    if !text.validate_length(None, Some(max), None) {
        return Err(Problem {
            kind: "string_too_long",
            msg: format!("String should have at most {max} characters").into(),
        });
    }
    Ok(())
}

/// Checks that the text holds nothing but RFC 3986's unreserved characters, which no address has to encode.
///
/// # Errors
/// When it holds anything else.
pub fn unreserved(text: &str) -> Result<(), Problem> {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if text.bytes().all(is_unreserved) {
        Ok(())
    } else {
        Err(Problem::new("string_pattern_mismatch", "String should match pattern '^[A-Za-z0-9._~-]+$'"))
    }
}

impl Field for Uuid {
    fn read(value: &Value) -> Result<Self, Problem> {
        Self::try_parse(text(value)?).map_err(|_| Problem::new("uuid_parsing", "Input should be a valid UUID"))
    }
}

impl Field for bool {
    fn read(value: &Value) -> Result<Self, Problem> {
        value.as_bool().ok_or(Problem::new("bool_parsing", "Input should be a valid boolean"))
    }
}
