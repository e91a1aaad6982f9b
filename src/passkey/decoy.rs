//! Made-up passkeys for addresses that have none, so that asking for a sign-in tells nobody who is here. They are the
//! same on every call and every process, and vary from address to address as real ones do.

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
