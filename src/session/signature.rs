//! The cryptography under the token library, from ring. One algorithm is offered; any other is an error.

use std::sync::Once;

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
};
use ring::hmac;
use signature::{Error, Signer, Verifier};

static PROVIDER: CryptoProvider =
    CryptoProvider { signer_factory: signer, verifier_factory: verifier, key_utils: KeyUtils::new_unimplemented() };

/// Hands the provider to the library; any further call changes nothing.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Another provider can only stand there if something else in the process installed one first; both verify HS256.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is the library's")]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))))
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
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}
