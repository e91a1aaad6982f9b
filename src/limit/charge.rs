//! What one request spends from one bucket: the bucket and the exact key under which it is counted.
//! The recipes of all keys stand here and nowhere else, because workers of the original share them in Redis.

use std::{fmt, sync::Arc};

use super::{Bucket, ClientIp, MailScope, policy::Policy};
use crate::secret::fingerprint;

/// One hit on one bucket.
#[derive(Clone)]
pub struct Charge {
    bucket: Bucket,
    key: Box<str>,
    /// Where the recipe's own part of the key ends, and where its last part begins.
    parts: (usize, usize),
    mailbox: Option<Box<str>>,
    /// Of a named budget.
    policy: Option<Arc<Policy>>,
}

impl Charge {
    /// A request to any counted path.
    pub fn ip(client: &ClientIp) -> Self {
        Self::of_network(Bucket::Ip, "rate_limit:ip", "", client.network())
    }

    /// A request to a path that anybody may embed.
    pub fn public_ip(client: &ClientIp) -> Self {
        Self::of_network(Bucket::PublicIp, "rate_limit:public_ip", "", client.network())
    }

    /// A request to an anonymous route; `template` is the matched route's, never the path as sent.
    pub fn auth(template: &str, client: &ClientIp) -> Self {
        Self::of_network(Bucket::Auth, "rate_limit:auth", template, client.network())
    }

    /// A request that mails somebody; `email` in its canonical form.
    pub fn auth_email(scope: MailScope, email: &str) -> Self {
        Self::of_mailbox(Bucket::AuthEmail(scope), "rate_limit:auth_email", scope.name(), email)
    }

    /// A developer's sign-up, by where it comes from.
    pub fn signup_ip(client: &ClientIp) -> Self {
        Self::of_network(Bucket::SignupIp, "rate_limit:prima_signup:ip", "", client.network())
    }

    /// A developer's sign-up, by whom it names; `email` in its canonical form.
    pub fn signup_email(email: &str) -> Self {
        Self::of_mailbox(Bucket::SignupEmail, "rate_limit:prima_signup:email", "", email)
    }

    /// A sign-in to an account from a device that it does not know; `email` in its canonical form.
    pub fn account(email: &str) -> Self {
        Self::of_mailbox(Bucket::Account, "rate_limit:account", "", email)
    }

    /// A sign-in from a known device, by the device's random id.
    pub fn device(id: &str) -> Self {
        Self::of_network(Bucket::Device, "rate_limit:device", "", id)
    }

    /// A hit on a named budget, by `who`.
    pub fn named(policy: &Arc<Policy>, who: &str) -> Self {
        let charge = Self::of_network(policy.bucket, "rate_limit:policy", &policy.name, who);
        Self { policy: Some(Arc::clone(policy)), ..charge }
    }

    fn of_network(bucket: Bucket, recipe: &str, middle: &str, last: &str) -> Self {
        let mut key = String::with_capacity(recipe.len() + middle.len() + last.len() + 2);
        key.push_str(recipe);
        if !middle.is_empty() {
            key.push(':');
            key.push_str(middle);
        }
        key.push(':');
        let parts = (recipe.len(), key.len());
        key.push_str(last);
        Self { bucket, key: key.into(), parts, mailbox: None, policy: None }
    }

    fn of_mailbox(bucket: Bucket, recipe: &str, middle: &str, email: &str) -> Self {
        Self { mailbox: Some(email.into()), ..Self::of_network(bucket, recipe, middle, email) }
    }

    /// The policy of a named budget.
    pub(super) const fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The key with everything but its recipe digested: keyed BLAKE3 over length-prefixed parts, so that Redis's operator
    /// reads no address and no two lists of parts share a digest.
    pub(super) fn digested(&self, key: &[u8; 32]) -> String {
        let (recipe, last) = self.parts;
        let mut hasher = blake3::Hasher::new_keyed(key);
        for part in [&self.key[recipe..last], &self.key[last..]] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let digest = hasher.finalize().to_hex();
        format!("{}:{}", &self.key[..recipe], &digest[..32])
    }

    /// The bucket that is charged.
    pub const fn bucket(&self) -> Bucket {
        self.bucket
    }

    /// The key under which it is counted. It may hold a mailbox: it is for the stores, never for a log.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How a log names the mailbox, where it may.
    pub(super) fn logged_mailbox(&self) -> Option<String> {
        self.mailbox.as_deref().filter(|_| self.bucket.logs_mailbox()).map(fingerprint)
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charge({})", self.bucket.name())
    }
}
