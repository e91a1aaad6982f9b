//! The cryptography under the token library, from ring. Two algorithms are offered, each with its own kind of key; any
//! other algorithm, and any key of the other kind, is an error.

use std::sync::Once;

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
};
use ring::{
    hmac,
    signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey},
};
use signature::{Error, Signer, Verifier};

static PROVIDER: CryptoProvider =
    CryptoProvider { signer_factory: signer, verifier_factory: verifier, key_utils: KeyUtils::new_unimplemented() };

/// Hands the provider to the library; any further call changes nothing.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Another provider can only stand there if something else in the process installed one first; both verify the same two.
        let _ = PROVIDER.install_default();
    });
}

struct Hs256(hmac::Key);

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.0, message, signature).map_err(|_| Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

struct Signing(Ed25519KeyPair);

impl Signer<Vec<u8>> for Signing {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(self.0.sign(message).as_ref().to_vec())
    }
}

impl JwtSigner for Signing {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

/// The 32 bytes of a public key.
struct Verifying(Vec<u8>);

impl Verifier<Vec<u8>> for Verifying {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Verifying {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is the library's")]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.as_bytes());
            Ok(Box::new(Signing(pair.map_err(|_| ErrorKind::InvalidKeyFormat)?)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is the library's")]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.try_get_as_bytes()?))))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => Ok(Box::new(Verifying(key.try_get_as_bytes()?.to_vec()))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}
