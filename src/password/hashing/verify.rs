//! The work itself, on whichever thread it is called: hash under today's recipe, compare under any known one.

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, phc::PasswordHash},
};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use ring::{digest, pbkdf2};

use super::stored::{Recipe, Stored};
use crate::secret;

/// Memory of one hash in KiB: 19 MiB, the first recommendation of the OWASP password storage sheet for Argon2id.
const MEMORY_KIB: u32 = 19 * 1024;

/// Passes over the memory, from the same recommendation.
const PASSES: u32 = 2;

/// Lanes, from the same recommendation.
const LANES: u32 = 1;

/// Bytes of salt.
pub(super) const SALT: usize = 16;

/// How many bytes of a password bcrypt looks at.
const BCRYPT_REACH: usize = 72;

/// Today's hash of a password.
pub(super) fn hash(password: &[u8], salt: &[u8; SALT]) -> Result<String, String> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| error.to_string())?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash: PasswordHash = argon2.hash_password_with_salt(password, salt).map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

/// A stored hash of today's recipe with this salt and this tag.
pub(super) fn recipe_of_today(salt: &[u8; SALT], tag: &[u8; 32]) -> String {
    let [salt, tag] = [salt.as_slice(), tag].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${tag}")
}

impl Stored {
    /// Whether this password made the hash.
    pub(super) fn fits(&self, password: &[u8]) -> Result<bool, String> {
        match &self.recipe {
            Recipe::Argon2 { algorithm, version, params, salt, tag } => {
                let mut made = vec![0; tag.len()];
                Argon2::new(*algorithm, *version, params.clone())
                    .hash_password_into(password, salt, &mut made)
                    .map_err(|error| error.to_string())?;
                Ok(secret::equal(&made, tag))
            }
            Recipe::Bcrypt { text, prehashed } => {
                let digest = prehashed.then(|| hexadecimal(digest::digest(&digest::SHA256, password).as_ref()));
                let password = digest.as_deref().map_or(password, str::as_bytes);
                bcrypt::verify(password, text).map_err(|error| error.to_string())
            }
            Recipe::Scrypt { params, salt, tag } => {
                let mut made = vec![0; tag.len()];
                scrypt::scrypt(password, salt, params, &mut made).map_err(|error| error.to_string())?;
                Ok(secret::equal(&made, tag))
            }
            Recipe::Pbkdf2 { rounds, salt, tag } => {
                Ok(pbkdf2::verify(pbkdf2::PBKDF2_HMAC_SHA256, *rounds, salt, password, tag).is_ok())
            }
        }
    }

    /// Whether the hash is made as today's are.
    pub(super) fn is_current(&self) -> bool {
        match &self.recipe {
            Recipe::Argon2 { algorithm: Algorithm::Argon2id, version: Version::V0x13, params, salt, .. } => {
                (params.m_cost(), params.t_cost(), params.p_cost()) == (MEMORY_KIB, PASSES, LANES) && salt.len() >= SALT
            }
            _ => false,
        }
    }

    /// Whether the hash looked at the whole of this password. bcrypt sees 72 bytes; what follows was never proved.
    pub(super) fn saw_all_of(&self, password: &[u8]) -> bool {
        !matches!(&self.recipe, Recipe::Bcrypt { prehashed: false, .. }) || password.len() <= BCRYPT_REACH
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}
