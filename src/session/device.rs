//! Known devices: a browser that signed in carries a mark, so that it is recognised without a look into the database.
//! The mark is a random id and one HMAC per account that signed in there, over the id and the fingerprint of the
//! address. It proves that somebody signed in here before and nothing else; it never opens anything.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::secret::{Entropy, Plain, SecretKey, equal, fingerprint, tag};

/// Bytes of a device's id.
const ID_BYTES: usize = 16;

/// Accounts that one browser is known for: a family's machine. The one that signed in longest ago makes way.
const ACCOUNTS_MAX: usize = 5;

/// Longest mark that is looked at, in bytes; ours have at most 242.
const MARK_MAX: usize = 512;

/// Makes and recognises marks. Marks of the key before the last change are still recognised.
#[derive(Clone)]
pub struct Devices {
    current: [u8; 32],
    previous: Option<[u8; 32]>,
}

impl Devices {
    pub fn new(current: &SecretKey, previous: Option<&SecretKey>) -> Self {
        const LABEL: &str = "known device";
        Self { current: current.derive(LABEL), previous: previous.map(|key| key.derive(LABEL)) }
    }

    /// Whether the browser with this mark has signed in to the account with this address before.
    pub fn knows(&self, mark: &Plain, email: &str) -> bool {
        self.recognise(mark, email).is_some()
    }

    /// The id of the browser with this mark, when it has signed in to the account with this address before.
    pub fn recognise<'a>(&self, mark: &'a Plain, email: &str) -> Option<&'a str> {
        let (id, seals) = parse(mark)?;
        let fingerprint = fingerprint(email);
        // Every seal is compared with every key, so that the time does not tell which one fitted.
        let keys = [Some(&self.current), self.previous.as_ref()];
        let mut known = false;
        for key in keys.into_iter().flatten() {
            let expected = seal(key, id, &fingerprint);
            for seal in &seals {
                known |= equal(seal.as_bytes(), expected.as_bytes());
            }
        }
        known.then_some(id)
    }

    /// The mark for a browser that has just signed in: the one it had, with this account in front, or a new one.
    pub(super) fn mark(&self, presented: Option<&Plain>, email: &str, entropy: &Entropy) -> Plain {
        let fresh = URL_SAFE_NO_PAD.encode(entropy.bytes::<ID_BYTES>());
        let (id, others) = presented.and_then(parse).unwrap_or((&fresh, Vec::new()));
        let own = seal(&self.current, id, &fingerprint(email));
        let others = others.into_iter().filter(|other| *other != own).take(ACCOUNTS_MAX - 1);
        let parts: Vec<&str> = [id, own.as_str()].into_iter().chain(others).collect();
        Plain::presented(parts.join("."))
    }
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Devices")
    }
}

/// The id and the seals of a mark; `None` for anything that is not shaped like one.
fn parse(mark: &Plain) -> Option<(&str, Vec<&str>)> {
    let text = mark.reveal();
    if text.len() > MARK_MAX {
        return None;
    }
    let mut parts = text.split('.');
    let id = parts.next().filter(|id| is_bytes(id, ID_BYTES))?;
    let seals: Vec<&str> = parts.collect();
    let sound = seals.len() <= ACCOUNTS_MAX && seals.iter().all(|seal| is_bytes(seal, 32));
    sound.then_some((id, seals))
}

fn is_bytes(text: &str, length: usize) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == length)
}

fn seal(key: &[u8; 32], id: &str, fingerprint: &str) -> String {
    URL_SAFE_NO_PAD.encode(tag(key, &[id.as_bytes(), fingerprint.as_bytes()]))
}
