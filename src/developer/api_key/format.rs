//! What a key looks like: `sk-prima-`, 43 characters of base64url, 6 of base62 that check the rest. A typing error is
//! told from a key without a query, and a scanner for leaked secrets recognises one.

use std::fmt;

use crate::secret::{Entropy, Hashed, Plain};

/// How every key begins.
pub const MARK: &str = "sk-prima-";

/// Characters of chance: 32 bytes of base64url.
const BODY_CHARS: usize = 43;

/// Characters of the checksum: the fewest of base62 that hold 32 bits.
const CHECK_CHARS: usize = 6;

/// Characters of a key that stay readable: the mark and four of chance.
const PREFIX_CHARS: usize = 13;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A well-formed key in clear. It is shown once or hashed, nothing else.
#[derive(Clone)]
pub struct Key(Plain);

impl Key {
    /// A fresh key.
    pub fn mint(entropy: &Entropy) -> Self {
        let unchecked = format!("{MARK}{}", Plain::mint(entropy).reveal());
        let check = checksum(&unchecked);
        Self(Plain::presented(unchecked + &check))
    }

    /// Reads a key that somebody presents; `None` when it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(MARK)?;
        let is_body_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if body.len() != BODY_CHARS + CHECK_CHARS || !body.bytes().all(is_body_byte) {
            return None;
        }
        let (unchecked, check) = text.split_at(text.len() - CHECK_CHARS);
        (checksum(unchecked) == check).then(|| Self(Plain::presented(text.to_owned())))
    }

    /// What is stored and looked up in its place.
    pub fn hash(&self) -> Hashed {
        self.0.hash()
    }

    /// What stays readable of it.
    pub fn prefix(&self) -> &str {
        self.reveal().get(..PREFIX_CHARS).unwrap_or(MARK)
    }

    /// The key itself, for the one answer that shows it.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// CRC-32 (the one of zip and gzip) in base62, the highest digit first.
fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECK_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}
