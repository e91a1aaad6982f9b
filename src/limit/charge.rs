//! What one request spends from one bucket: the bucket and whom it counts. Nothing is written down before a store wants
//! it: Redis asks for the exact text of the key, and memory for a hash. The recipes of all keys stand here and nowhere
//! else, because workers of the original share them in Redis.

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::IpAddr,
    sync::Arc,
};

use super::{AddressText, Bucket, ClientIp, MailScope, algorithm::Algorithm, client::Network, policy::Policy};
use crate::secret::fingerprint;

/// How the keys begin.
const RECIPES: [&str; 9] = [
    "rate_limit:policy",
    "rate_limit:ip",
    "rate_limit:public_ip",
    "rate_limit:auth",
    "rate_limit:auth_email",
    "rate_limit:prima_signup:ip",
    "rate_limit:prima_signup:email",
    "rate_limit:account",
    "rate_limit:device",
];

/// One hit on one bucket.
#[derive(Clone, Copy)]
pub struct Charge<'a> {
    bucket: Bucket,
    /// The recipe's second part: a route's template, a kind of mail, the name of a budget.
    middle: &'a str,
    whose: Whose<'a>,
    /// Of a named budget.
    policy: Option<&'a Arc<Policy>>,
}

/// Whom a bucket counts.
#[derive(Clone, Copy)]
enum Whose<'a> {
    Network(Network),
    Mailbox(&'a str),
    Other(&'a str),
}

/// What memory counts a charge under: the charge, and the algorithm, whose states are no other's.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub(super) charge: &'a Charge<'a>,
    pub(super) algorithm: Algorithm,
}

impl<'a> Charge<'a> {
    /// A request to any counted path.
    pub const fn ip(client: &ClientIp) -> Self {
        Self::of(Bucket::Ip, "", Whose::Network(client.counted()))
    }

    /// A request to a path that anybody may embed.
    pub const fn public_ip(client: &ClientIp) -> Self {
        Self::of(Bucket::PublicIp, "", Whose::Network(client.counted()))
    }

    /// A request to an anonymous route; `template` is the matched route's, never the path as sent.
    pub const fn auth(template: &'a str, client: &ClientIp) -> Self {
        Self::of(Bucket::Auth, template, Whose::Network(client.counted()))
    }

    /// A request that mails somebody; `email` in its canonical form.
    pub const fn auth_email(scope: MailScope, email: &'a str) -> Self {
        Self::of(Bucket::AuthEmail(scope), scope.name(), Whose::Mailbox(email))
    }

    /// A developer's sign-up, by where it comes from.
    pub const fn signup_ip(client: &ClientIp) -> Self {
        Self::of(Bucket::SignupIp, "", Whose::Network(client.counted()))
    }

    /// A developer's sign-up, by whom it names; `email` in its canonical form.
    pub const fn signup_email(email: &'a str) -> Self {
        Self::of(Bucket::SignupEmail, "", Whose::Mailbox(email))
    }

    /// A sign-in to an account from a device that it does not know; `email` in its canonical form.
    pub const fn account(email: &'a str) -> Self {
        Self::of(Bucket::Account, "", Whose::Mailbox(email))
    }

    /// A sign-in from a known device, by the device's random id.
    pub const fn device(id: &'a str) -> Self {
        Self::of(Bucket::Device, "", Whose::Other(id))
    }

    /// A hit on a named budget, by `who`.
    pub fn named(policy: &'a Arc<Policy>, who: &'a str) -> Self {
        Self { policy: Some(policy), ..Self::of(policy.bucket, &policy.name, Whose::Other(who)) }
    }

    /// A hit on a named budget, by a network.
    pub(super) fn named_by_network(policy: &'a Arc<Policy>, network: Network) -> Self {
        Self { whose: Whose::Network(network), ..Self::named(policy, "") }
    }

    const fn of(bucket: Bucket, middle: &'a str, whose: Whose<'a>) -> Self {
        Self { bucket, middle, whose, policy: None }
    }

    /// The place of the recipe among [`RECIPES`].
    const fn recipe(&self) -> u8 {
        match self.bucket {
            Bucket::Named(_) => 0,
            Bucket::Ip => 1,
            Bucket::PublicIp => 2,
            Bucket::Auth => 3,
            Bucket::AuthEmail(_) => 4,
            Bucket::SignupIp => 5,
            Bucket::SignupEmail => 6,
            Bucket::Account => 7,
            Bucket::Device => 8,
        }
    }

    /// What stands between the recipe and whom it counts.
    const fn between(&self) -> [&'a str; 3] {
        if self.middle.is_empty() { [":", "", ""] } else { [":", self.middle, ":"] }
    }

    /// The policy of a named budget.
    pub(super) const fn policy(&self) -> Option<&'a Arc<Policy>> {
        self.policy
    }

    /// The key with everything but its recipe digested: keyed BLAKE3 over length-prefixed parts, so that Redis's operator
    /// reads no address and no two lists of parts share a digest.
    pub(super) fn digested(&self, key: &[u8; 32]) -> String {
        let (recipe, mut network) = (RECIPES[usize::from(self.recipe())], AddressText::new());
        let mut hasher = blake3::Hasher::new_keyed(key);
        for part in [&*self.between().concat(), self.whose.text(&mut network)] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let digest = hasher.finalize().to_hex();
        format!("{recipe}:{}", &digest[..32])
    }

    /// The bucket that is charged.
    pub const fn bucket(&self) -> Bucket {
        self.bucket
    }

    /// The key under which it is counted in Redis. It may hold a mailbox: it is for the stores, never for a log.
    pub fn key(&self) -> String {
        let mut network = AddressText::new();
        let (recipe, who) = (RECIPES[usize::from(self.recipe())], self.whose.text(&mut network));
        let [colon, middle, another] = self.between();
        [recipe, colon, middle, another, who].concat()
    }

    /// How a log names the mailbox, where it may.
    pub(super) fn logged_mailbox(&self) -> Option<String> {
        match self.whose {
            Whose::Mailbox(email) if self.bucket.logs_mailbox() => Some(fingerprint(email)),
            _ => None,
        }
    }
}

impl fmt::Debug for Charge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charge({})", self.bucket.name())
    }
}

impl Whose<'_> {
    /// As the key has it; a network is written down in `room`.
    fn text<'a>(&'a self, room: &'a mut AddressText) -> &'a str {
        match self {
            Self::Network(network) => {
                *room = network.text();
                room
            }
            Self::Mailbox(text) | Self::Other(text) => text,
        }
    }
}

impl Hash for Key<'_> {
    /// What has a fixed length in one block, the texts behind it.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Charge { middle, whose, policy, .. } = self.charge;
        let mut network = AddressText::new();
        let (kind, prefix, bits, who) = match whose {
            // By its text, under which the same budget may be hit without a request.
            Whose::Network(_) if policy.is_some() => (0, 0, 0, whose.text(&mut network)),
            Whose::Network(Network::Block(IpAddr::V4(first), prefix)) => (4, *prefix, first.to_bits().into(), ""),
            Whose::Network(Network::Block(IpAddr::V6(first), prefix)) => (6, *prefix, first.to_bits(), ""),
            Whose::Network(Network::Local) => (1, 0, 0, ""),
            Whose::Network(Network::Unknown) => (2, 0, 0, ""),
            Whose::Mailbox(who) | Whose::Other(who) => (0, 0, 0, *who),
        };
        let mut block = [0; 24];
        block[..16].copy_from_slice(&bits.to_ne_bytes());
        block[16..20].copy_from_slice(&[kind, prefix, self.charge.recipe(), self.algorithm as u8]);
        block[20..].copy_from_slice(&u32::try_from(middle.len()).unwrap_or(u32::MAX).to_ne_bytes());
        state.write(&block);
        for text in [middle, who] {
            if !text.is_empty() {
                state.write(text.as_bytes());
            }
        }
    }
}
