//! A stored password hash, read: which function made it, with what, and that it costs no more than it may. It refuses
//! every form it does not know, so that a password in clear is never taken for a hash.

use std::{fmt, num::NonZeroU32};

use argon2::{Algorithm, Params, Version, password_hash::phc::PasswordHash};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::cost;

/// Base64 as the formats write it: with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A hash of a known form and a bearable cost.
pub struct Stored {
    pub(super) recipe: Recipe,
}

/// The function and what it needs.
pub(super) enum Recipe {
    Argon2 {
        algorithm: Algorithm,
        version: Version,
        params: Params,
        salt: Vec<u8>,
        tag: Vec<u8>,
    },
    /// `prehashed`: Django's `bcrypt_sha256`, which feeds bcrypt the hexadecimal SHA-256 of the password.
    Bcrypt {
        text: String,
        prehashed: bool,
    },
    Scrypt {
        params: scrypt::Params,
        salt: Vec<u8>,
        tag: Vec<u8>,
    },
    Pbkdf2 {
        rounds: NonZeroU32,
        salt: Vec<u8>,
        tag: Vec<u8>,
    },
}

/// Why a hash cannot be used. It never holds the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No form that is known here, or a password in clear.
    Unknown,
    /// A known form, but not well made.
    Malformed(&'static str),
    /// Checking it would take more than it may.
    TooCostly(&'static str),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the hash has no form that is known here"),
            Self::Malformed(form) => write!(f, "the hash is not a well-formed {form} hash"),
            Self::TooCostly(form) => write!(f, "the {form} hash costs more than a check may"),
        }
    }
}

impl Stored {
    /// Reads a hash as Argon2, bcrypt, scrypt or PBKDF2-SHA-256 libraries, passlib and Django write it.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn parse(text: &str) -> Result<Self, Unusable> {
        if text.len() > cost::TEXT_MAX || !text.is_ascii() {
            return Err(Unusable::Unknown);
        }
        let (form, rest) = split(text);
        let recipe = match form {
            "$argon2id" | "$argon2i" | "$argon2d" => argon2(text),
            "$2a" | "$2b" | "$2y" => bcrypt(text, false),
            "$scrypt" => scrypt_phc(rest),
            "$pbkdf2-sha256" => pbkdf2_passlib(rest),
            // Django writes the name of its hasher in front, and its own order for scrypt and PBKDF2.
            "argon2" if rest.starts_with("argon2") => argon2(&text["argon2".len()..]),
            "bcrypt" => bcrypt(rest, false),
            "bcrypt_sha256" => bcrypt(rest, true),
            "scrypt" => scrypt_django(rest),
            "pbkdf2_sha256" => pbkdf2_django(rest),
            _ => Err(Unusable::Unknown),
        }?;
        Ok(Self { recipe })
    }

    /// The function's name, for reports.
    pub const fn name(&self) -> &'static str {
        match &self.recipe {
            Recipe::Argon2 { algorithm, .. } => algorithm.as_str(),
            Recipe::Bcrypt { .. } => "bcrypt",
            Recipe::Scrypt { .. } => "scrypt",
            Recipe::Pbkdf2 { .. } => "pbkdf2-sha256",
        }
    }
}

/// Prints the function alone.
impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stored({})", self.name())
    }
}

/// The first field, with its leading `$` if it has one, and the rest.
fn split(text: &str) -> (&str, &str) {
    let start = usize::from(text.starts_with('$'));
    text[start..].find('$').map_or((text, ""), |at| (&text[..start + at], &text[start + at + 1..]))
}

fn argon2(text: &str) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("argon2");
    let hash = PasswordHash::new(text).map_err(|_| MALFORMED)?;
    let algorithm = Algorithm::new(hash.algorithm.as_str()).map_err(|_| MALFORMED)?;
    // Without a version it is the first one (PHC string of Argon2 1.0).
    let version = hash.version.map_or(Ok(Version::V0x10), Version::try_from).map_err(|_| MALFORMED)?;
    // A secret key or associated data would be known to the other backend alone.
    if hash.params.iter().any(|(name, _)| !matches!(name.as_str(), "m" | "t" | "p")) {
        return Err(MALFORMED);
    }
    let params = Params::try_from(&hash).map_err(|_| MALFORMED)?;
    let (memory, passes) = (u64::from(params.m_cost()), u64::from(params.t_cost()));
    if memory > cost::MEMORY_MAX_KIB
        || memory.saturating_mul(passes) > cost::ARGON2_WORK_MAX_KIB
        || params.p_cost() > cost::ARGON2_LANES_MAX
    {
        return Err(Unusable::TooCostly("argon2"));
    }
    let (Some(salt), Some(tag)) = (hash.salt, hash.hash) else { return Err(MALFORMED) };
    let tag = sized(tag.as_bytes().to_vec(), MALFORMED)?;
    Ok(Recipe::Argon2 { algorithm, version, params, salt: salt.to_vec(), tag })
}

/// `$2x$`, the form with the sign bug of 2011, is not known here: its hashes fit several passwords.
fn bcrypt(text: &str, prehashed: bool) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("bcrypt");
    let parts: bcrypt::HashParts = text.parse().map_err(|_| MALFORMED)?;
    if !["$2a$", "$2b$", "$2y$"].iter().any(|prefix| text.starts_with(prefix)) || parts.get_cost() < 4 {
        return Err(MALFORMED);
    }
    if parts.get_cost() > cost::BCRYPT_COST_MAX {
        return Err(Unusable::TooCostly("bcrypt"));
    }
    Ok(Recipe::Bcrypt { text: text.to_owned(), prehashed })
}

/// `ln=16,r=8,p=1$SALT$TAG`
fn scrypt_phc(rest: &str) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("scrypt");
    let [settings, salt, tag] = fields(rest).ok_or(MALFORMED)?;
    let (mut log_n, mut block, mut lanes) = (None, None, None);
    for setting in settings.split(',') {
        match setting.split_once('=') {
            Some(("ln", value)) => log_n = value.parse().ok(),
            Some(("r", value)) => block = value.parse().ok(),
            Some(("p", value)) => lanes = value.parse().ok(),
            _ => return Err(MALFORMED),
        }
    }
    let (Some(log_n), Some(block), Some(lanes)) = (log_n, block, lanes) else { return Err(MALFORMED) };
    scrypt(log_n, block, lanes, decode(salt, MALFORMED)?, decode(tag, MALFORMED)?)
}

/// `16384$SALT$8$5$TAG`; the salt is its own text.
fn scrypt_django(rest: &str) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("scrypt");
    let [n, salt, block, lanes, tag] = fields(rest).ok_or(MALFORMED)?;
    let n: u64 = n.parse().map_err(|_| MALFORMED)?;
    if !n.is_power_of_two() {
        return Err(MALFORMED);
    }
    let log_n = u8::try_from(n.trailing_zeros()).map_err(|_| MALFORMED)?;
    let (block, lanes) = (block.parse().map_err(|_| MALFORMED)?, lanes.parse().map_err(|_| MALFORMED)?);
    scrypt(log_n, block, lanes, salt.as_bytes().to_vec(), decode(tag, MALFORMED)?)
}

fn scrypt(log_n: u8, block: u32, lanes: u32, salt: Vec<u8>, tag: Vec<u8>) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("scrypt");
    if log_n == 0 || block == 0 || lanes == 0 {
        return Err(MALFORMED);
    }
    let n = 1_u64.checked_shl(log_n.into()).unwrap_or(u64::MAX);
    let mixed = n.saturating_mul(block.into());
    // 128 bytes a block: eight of them are one KiB.
    if mixed / 8 > cost::MEMORY_MAX_KIB || mixed.saturating_mul(lanes.into()) > cost::SCRYPT_WORK_MAX {
        return Err(Unusable::TooCostly("scrypt"));
    }
    let params = scrypt::Params::new(log_n, block, lanes).map_err(|_| MALFORMED)?;
    if salt.len() > cost::SALT_MAX {
        return Err(MALFORMED);
    }
    Ok(Recipe::Scrypt { params, salt, tag: sized(tag, MALFORMED)? })
}

/// `29000$SALT$TAG` in passlib's Base64, which writes `.` for `+`.
fn pbkdf2_passlib(rest: &str) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("pbkdf2-sha256");
    let [rounds, salt, tag] = fields(rest).ok_or(MALFORMED)?;
    let adapted = |text: &str| decode(&text.replace('.', "+"), MALFORMED);
    pbkdf2(rounds, adapted(salt)?, adapted(tag)?)
}

/// `1000000$SALT$TAG`; the salt is its own text.
fn pbkdf2_django(rest: &str) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("pbkdf2-sha256");
    let [rounds, salt, tag] = fields(rest).ok_or(MALFORMED)?;
    pbkdf2(rounds, salt.as_bytes().to_vec(), decode(tag, MALFORMED)?)
}

fn pbkdf2(rounds: &str, salt: Vec<u8>, tag: Vec<u8>) -> Result<Recipe, Unusable> {
    const MALFORMED: Unusable = Unusable::Malformed("pbkdf2-sha256");
    let digits = !rounds.is_empty() && rounds.bytes().all(|byte| byte.is_ascii_digit());
    // Digits that do not fit are a number that is too large, not a fault of form.
    let rounds: u32 = if digits { rounds.parse().unwrap_or(u32::MAX) } else { return Err(MALFORMED) };
    if rounds > cost::PBKDF2_ROUNDS_MAX {
        return Err(Unusable::TooCostly("pbkdf2-sha256"));
    }
    let rounds = NonZeroU32::new(rounds).ok_or(MALFORMED)?;
    // A longer result would cost the rounds once more for every 32 bytes; neither passlib nor Django writes one.
    if salt.len() > cost::SALT_MAX || tag.len() > 32 {
        return Err(MALFORMED);
    }
    Ok(Recipe::Pbkdf2 { rounds, salt, tag: sized(tag, MALFORMED)? })
}

fn fields<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split('$').collect::<Vec<_>>().try_into().ok()
}

fn decode(text: &str, malformed: Unusable) -> Result<Vec<u8>, Unusable> {
    BASE64.decode(text).map_err(|_| malformed)
}

fn sized(tag: Vec<u8>, malformed: Unusable) -> Result<Vec<u8>, Unusable> {
    if (cost::TAG_MIN..=cost::TAG_MAX).contains(&tag.len()) { Ok(tag) } else { Err(malformed) }
}
