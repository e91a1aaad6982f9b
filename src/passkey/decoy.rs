//! Made-up passkeys for addresses that have none, so that asking for a sign-in tells nobody who is here. They are the
//! same on every call and every process, and vary from address to address as real ones do.

use webauthn_rs::prelude::{
    AttestationFormat, COSEAlgorithm, COSEEC2Key, COSEKey, COSEKeyType, Credential, ECDSACurve, ParsedAttestation,
};

use super::options::Descriptor;
use crate::secret::{self, SecretKey};

/// Lengths that widespread authenticators give to their ids.
const LENGTHS: [usize; 8] = [16, 16, 20, 32, 32, 32, 48, 64];

/// What widespread browsers report of them.
const TRANSPORTS: [Option<&str>; 8] = [
    Some("hybrid internal"),
    Some("hybrid internal"),
    Some("hybrid internal"),
    Some("internal"),
    Some("internal"),
    Some("nfc usb"),
    Some("usb"),
    None,
];

/// A point on P-256: the base point (FIPS 186-5). Everybody knows its private key, so whatever it verifies proves nothing.
const BASE_X: [u8; 32] = [
    0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2, 0x77, 0x03, 0x7d,
    0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96,
];
const BASE_Y: [u8; 32] = [
    0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16, 0x2b, 0xce, 0x33,
    0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5,
];

/// A passkey that is verified in place of one that nobody has: for the time it takes, never for the answer.
#[expect(clippy::default_trait_access, reason = "the library does not give the names of these two types away")]
pub(super) fn stand_in(credential_id: &[u8]) -> Credential {
    let key = COSEEC2Key { curve: ECDSACurve::SECP256R1, x: BASE_X.to_vec(), y: BASE_Y.to_vec() };
    Credential {
        cred_id: credential_id.to_vec(),
        cred: COSEKey { type_: COSEAlgorithm::ES256, key: COSEKeyType::EC_EC2(key) },
        counter: 0,
        transports: None,
        user_verified: true,
        backup_eligible: false,
        backup_state: false,
        registration_policy: Default::default(),
        extensions: Default::default(),
        attestation: ParsedAttestation::default(),
        attestation_format: AttestationFormat::None,
    }
}

/// Makes them up.
#[derive(Clone)]
pub struct Decoys([u8; 32]);

impl Decoys {
    pub fn new(key: &SecretKey) -> Self {
        Self(key.derive("passkey decoys"))
    }

    /// One to three passkeys that nobody has.
    pub(super) fn list(&self, rp_id: &str, email: &str) -> Vec<Descriptor> {
        let draw =
            |what: &[u8], number: u8| secret::tag(&self.0, &[what, rp_id.as_bytes(), email.as_bytes(), &[number]]);
        // Most people have one.
        let count = [1, 1, 1, 1, 2, 2, 2, 3][usize::from(draw(b"count", 0)[0] % 8)];
        (0..count)
            .map(|number| {
                let shape = draw(b"shape", number);
                let length = LENGTHS[usize::from(shape[0] % 8)];
                let transports = TRANSPORTS[usize::from(shape[1] % 8)];
                let id = [draw(b"head", number), draw(b"tail", number)].concat();
                Descriptor::new(&id[..length], transports)
            })
            .collect()
    }
}

impl std::fmt::Debug for Decoys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoys")
    }
}
