//! The profile's fields: what each may hold.

use serde_json::Value;
use url::Url;
use validator::ValidateNonControlCharacter;

use crate::{
    extract::{Field, Problem, field},
    mail::Language,
};

/// A person's name: 1 to 255 characters after trimming, no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullName(pub String);

/// The name of a workspace: 1 to 120 characters after trimming, no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceName(pub String);

/// The address of a picture: `https`, at most 2048 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvatarUrl(pub String);

/// The language a person reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locale {
    #[default]
    De,
    En,
    Fr,
    It,
}

impl Locale {
    /// The name on the wire and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::De => "de",
            Self::En => "en",
            Self::Fr => "fr",
            Self::It => "it",
        }
    }

    /// The locale of a stored name; the database admits no other.
    pub fn from_stored(name: &str) -> Self {
        match name {
            "en" => Self::En,
            "fr" => Self::Fr,
            "it" => Self::It,
            _ => Self::De,
        }
    }

    /// The language of mails. French and Italian readers get English until there are templates for them.
    pub fn language(self) -> Language {
        Language::for_locale(self.name())
    }
}

/// One line of text: 1 to `max` characters after trimming, no control characters.
///
/// # Errors
/// The fault, without what was sent.
pub fn name(value: &Value, max: u64) -> Result<String, Problem> {
    let text = field::text(value)?.trim();
    field::length(text, 1, max)?;
    if !text.validate_non_control_character() {
        return Err(Problem::value("Value error, control characters are not allowed"));
    }
    Ok(text.to_owned())
}

impl Field for FullName {
    fn read(value: &Value) -> Result<Self, Problem> {
        name(value, 255).map(Self)
    }
}

impl Field for WorkspaceName {
    fn read(value: &Value) -> Result<Self, Problem> {
        name(value, 120).map(Self)
    }
}

impl Field for AvatarUrl {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 1, 2048)?;
        match Url::parse(text) {
            Ok(url)
                if url.scheme() == "https"
                    && url.has_host()
                    && url.username().is_empty()
                    && url.password().is_none() =>
            {
                Ok(Self(url.into()))
            }
            _ => Err(Problem::new("url_scheme", "URL scheme should be 'https'")),
        }
    }
}

impl Field for Locale {
    fn read(value: &Value) -> Result<Self, Problem> {
        match field::text(value)? {
            "de" => Ok(Self::De),
            "en" => Ok(Self::En),
            "fr" => Ok(Self::Fr),
            "it" => Ok(Self::It),
            _ => Err(Problem::not_one_of("Input should be 'de', 'en', 'fr' or 'it'")),
        }
    }
}
