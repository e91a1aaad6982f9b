//! Chance and secrets. The only file that asks the system for randomness; [`Plain`] and [`Hashed`] are
//! different types, so a secret that is shown once cannot be stored by mistake, and neither prints itself.

use std::{fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead, digest, hkdf, hmac,
    rand::{SecureRandom, SystemRandom},
};
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// Bytes of chance in a secret: 256 bits, 43 characters of base64url.
const SECRET_BYTES: usize = 32;

/// Fewest bytes that a `SECRET_KEY` may have: the width of the HMAC it feeds.
pub const SECRET_KEY_MIN_BYTES: usize = 32;

/// Something that fills a buffer with chance. Tests may bring a seeded one.
pub trait RandomSource: Send + Sync + 'static {
    /// Fills `buffer`; `false` when the system refuses.
    fn fill(&self, buffer: &mut [u8]) -> bool;
}

struct System(SystemRandom);

impl RandomSource for System {
    fn fill(&self, buffer: &mut [u8]) -> bool {
        self.0.fill(buffer).is_ok()
    }
}

/// The randomness that every part is handed.
#[derive(Clone)]
pub struct Entropy(Arc<dyn RandomSource>);

impl Entropy {
    /// The operating system's generator.
    pub fn system() -> Self {
        Self(Arc::new(System(SystemRandom::new())))
    }

    /// Randomness from `source`.
    pub fn from_source(source: impl RandomSource) -> Self {
        Self(Arc::new(source))
    }

    /// `N` fresh bytes.
    ///
    /// # Panics
    /// When the operating system has no randomness to give: nothing that needs a secret can go on.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut buffer = [0; N];
        assert!(self.0.fill(&mut buffer), "the operating system's random generator failed");
        buffer
    }

    /// A fresh UUID, version 4.
    pub fn uuid(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid()
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// A secret in clear: minted here or sent by a client. It is shown once or hashed, nothing else.
#[derive(Clone)]
pub struct Plain(String);

impl Plain {
    /// A fresh secret of 256 bits as 43 characters of base64url.
    pub fn mint(entropy: &Entropy) -> Self {
        Self(URL_SAFE_NO_PAD.encode(entropy.bytes::<SECRET_BYTES>()))
    }

    /// A secret that somebody presents.
    pub fn presented(text: String) -> Self {
        Self(text)
    }

    /// The S256 challenge of a PKCE verifier (RFC 7636, 4.2): its SHA-256 as base64url.
    pub fn pkce_challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.hash().as_bytes())
    }

    /// What is stored and looked up in its place.
    pub fn hash(&self) -> Hashed {
        Hashed(digest::digest(&digest::SHA256, self.0.as_bytes()).as_ref().to_vec())
    }

    /// The secret itself, for the one place that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plain(…)")
    }
}

/// The SHA-256 of a secret: what the database holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Hashed(Vec<u8>);

impl Hashed {
    /// A hash as it was read from the database.
    pub const fn stored(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The 32 bytes, to bind in a statement.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Hashed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hashed(…)")
    }
}

/// The operator's `SECRET_KEY`, from which every other key is derived by a label.
#[derive(Clone)]
pub struct SecretKey(Arc<str>);

impl SecretKey {
    /// Takes the operator's secret.
    ///
    /// # Errors
    /// When it is shorter than [`SECRET_KEY_MIN_BYTES`].
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() < SECRET_KEY_MIN_BYTES {
            return Err(format!("must be at least {SECRET_KEY_MIN_BYTES} bytes long"));
        }
        Ok(Self(text.into()))
    }

    /// A 256-bit key for one purpose (HKDF-SHA-256, `label` as info).
    pub fn derive(&self, label: &str) -> [u8; 32] {
        let mut key = [0; 32];
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"labs-auth");
        let filled = salt
            .extract(self.0.as_bytes())
            .expand(&[label.as_bytes()], hkdf::HKDF_SHA256)
            .and_then(|material| material.fill(&mut key));
        debug_assert!(filled.is_ok(), "32 bytes are always within HKDF's reach");
        key
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// HMAC-SHA-256 over length-prefixed parts, so that no two lists of parts share one tag.
pub fn tag(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.sign().as_ref());
    bytes
}

/// Whether two byte strings are equal, in time that does not depend on where they differ.
pub fn equal(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

/// A short, stable name for a mailbox in logs: the first 16 hexadecimal digits of its SHA-256.
pub fn fingerprint(mailbox: &str) -> String {
    let digest = digest::digest(&digest::SHA256, mailbox.as_bytes());
    short_hex(digest.as_ref())
}

/// The first eight bytes as 16 hexadecimal digits; a name, not a proof.
pub fn short_hex(bytes: &[u8]) -> String {
    let first = bytes.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{first:016x}")
}

/// Sealing for text that must rest in the database and be read again: AES-256-GCM, fresh nonce in front.
#[derive(Clone)]
pub struct Seal {
    current: [u8; 32],
    previous: Option<[u8; 32]>,
}

impl Seal {
    /// Seals with the current key; opens with either, so that keys rotate.
    pub fn new(label: &str, current: &SecretKey, previous: Option<&SecretKey>) -> Self {
        Self { current: current.derive(label), previous: previous.map(|key| key.derive(label)) }
    }

    /// The sealed form of `text`.
    pub fn seal(&self, entropy: &Entropy, text: &[u8]) -> Vec<u8> {
        let nonce: [u8; aead::NONCE_LEN] = entropy.bytes();
        let mut sealed = text.to_vec();
        let done = cipher(&self.current).map(|key| {
            key.seal_in_place_append_tag(aead::Nonce::assume_unique_for_key(nonce), aead::Aad::empty(), &mut sealed)
        });
        debug_assert!(matches!(done, Some(Ok(()))), "a 256-bit key seals any mail");
        [nonce.as_slice(), &sealed].concat()
    }

    /// The text inside, or `None` when neither key opens it.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, body) = sealed.split_at_checked(aead::NONCE_LEN)?;
        [Some(&self.current), self.previous.as_ref()].into_iter().flatten().find_map(|key| {
            let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut text = body.to_vec();
            let opened = cipher(key)?.open_in_place(nonce, aead::Aad::empty(), &mut text).ok()?;
            Some(opened.to_vec())
        })
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

fn cipher(key: &[u8; 32]) -> Option<aead::LessSafeKey> {
    aead::UnboundKey::new(&aead::AES_256_GCM, key).ok().map(aead::LessSafeKey::new)
}
