//! The work itself, on whichever thread it is called: hash under today's recipe, compare under any known one.

use argon2::{Algorithm, Argon2, Block, Params, Version};
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

/// What Argon2 fills while it hashes. It may be used again: every block is written before it is read.
#[derive(Default)]
pub(super) struct Memory(Vec<Block>);

impl Memory {
    fn blocks(&mut self, count: usize) -> &mut [Block] {
        if self.0.len() < count {
            self.0.resize(count, Block::new());
        }
        &mut self.0[..count]
    }

    /// Whether it is worth keeping: a brought hash may have asked for much more than ours do.
    pub(super) fn is_usual(&self) -> bool {
        (1..=MEMORY_KIB as usize).contains(&self.0.len())
    }

    fn argon2(&mut self, argon2: &Argon2<'_>, password: &[u8], salt: &[u8], tag: &mut [u8]) -> Result<(), String> {
        let blocks = self.blocks(argon2.params().block_count());
        argon2.hash_password_into_with_memory(password, salt, tag, blocks).map_err(|error| error.to_string())
    }
}

/// Today's hash of a password.
pub(super) fn hash(password: &[u8], salt: &[u8; SALT], memory: &mut Memory) -> Result<String, String> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| error.to_string())?;
    let mut tag = [0; 32];
    memory.argon2(&Argon2::new(Algorithm::Argon2id, Version::V0x13, params), password, salt, &mut tag)?;
    Ok(recipe_of_today(salt, &tag))
}

/// A stored hash of today's recipe with this salt and this tag.
pub(super) fn recipe_of_today(salt: &[u8; SALT], tag: &[u8; 32]) -> String {
    let [salt, tag] = [salt.as_slice(), tag].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${salt}${tag}")
}

impl Stored {
    /// Whether this password made the hash.
    pub(super) fn fits(&self, password: &[u8], memory: &mut Memory) -> Result<bool, String> {
        match &self.recipe {
            Recipe::Argon2 { algorithm, version, params, salt, tag } => {
                let mut made = vec![0; tag.len()];
                memory.argon2(&Argon2::new(*algorithm, *version, params.clone()), password, salt, &mut made)?;
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
