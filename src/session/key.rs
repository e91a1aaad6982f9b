//! The keys behind access tokens: a secret that this service alone knows, or an Ed25519 pair whose public half other
//! services may fetch. One kind is in use; nothing here accepts both.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest,
    signature::{Ed25519KeyPair, KeyPair},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde::Serialize;

use crate::secret::{self, SecretKey};

/// What signs access tokens, and what else is still accepted while keys rotate.
#[derive(Clone, Debug)]
pub enum TokenKeys {
    /// HS256 by keys derived from the operator's secrets.
    Shared { current: SecretKey, previous: Option<SecretKey> },
    /// `EdDSA`.
    Pair { current: PrivateKey, previous: Option<PrivateKey> },
}

/// An Ed25519 key pair.
#[derive(Clone)]
pub struct PrivateKey {
    pkcs8: Vec<u8>,
    public: Vec<u8>,
}

impl PrivateKey {
    /// Reads a PKCS#8 key in PEM, as `openssl genpkey -algorithm ed25519` writes it. A literal `\n` counts as a line's
    /// end: some places that hold variables know no other.
    ///
    /// # Errors
    /// What is wrong, without the key.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        let text = text.replace("\\n", "\n");
        let der = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes())
            .map_err(|_| String::from("must be a PKCS#8 private key in PEM (BEGIN PRIVATE KEY), or the path to one"))?;
        let pkcs8 = der.secret_pkcs8_der().to_vec();
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8)
            .map_err(|_| String::from("must be an Ed25519 key: make one with openssl genpkey -algorithm ed25519"))?;
        Ok(Self { public: pair.public_key().as_ref().to_vec(), pkcs8 })
    }

    pub(super) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    pub(super) fn public(&self) -> &[u8] {
        &self.public
    }

    /// The key's name: its thumbprint (RFC 7638), which anybody can compute from the public half.
    pub fn id(&self) -> String {
        let required = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, URL_SAFE_NO_PAD.encode(&self.public));
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, required.as_bytes()))
    }

    fn jwk(&self) -> Jwk {
        Jwk {
            kty: "OKP",
            crv: "Ed25519",
            x: URL_SAFE_NO_PAD.encode(&self.public),
            r#use: "sig",
            alg: "EdDSA",
            kid: self.id(),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.id())
    }
}

/// The public keys, as `/.well-known/jwks.json` shows them (RFC 7517, RFC 8037).
#[derive(Clone, Debug, Serialize)]
pub struct KeySet {
    keys: Vec<Jwk>,
}

#[derive(Clone, Debug, Serialize)]
struct Jwk {
    kty: &'static str,
    crv: &'static str,
    x: String,
    r#use: &'static str,
    alg: &'static str,
    kid: String,
}

impl TokenKeys {
    /// What others need to check tokens: nothing while the key is a secret.
    pub fn public(&self) -> KeySet {
        let keys = match self {
            Self::Shared { .. } => Vec::new(),
            Self::Pair { current, previous } => {
                [Some(current), previous.as_ref()].into_iter().flatten().map(PrivateKey::jwk).collect()
            }
        };
        KeySet { keys }
    }
}

/// The 256-bit key that an operator's secret becomes for access tokens.
pub(super) fn shared(secret: &SecretKey) -> [u8; 32] {
    secret.derive("access token")
}

/// A name for a shared key that says nothing about it.
pub(super) fn shared_id(key: &[u8; 32]) -> String {
    secret::short_hex(&secret::tag(key, &[b"key id"]))
}
