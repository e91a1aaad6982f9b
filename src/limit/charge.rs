//! What one request spends from one bucket: the bucket and the exact key under which it is counted.
//! The recipes of all keys stand here and nowhere else, because workers of the original share them in Redis.

use std::fmt;

use super::{Bucket, ClientIp, MailScope};
use crate::secret::fingerprint;

/// One hit on one bucket.
#[derive(Clone, PartialEq, Eq)]
pub struct Charge {
    bucket: Bucket,
    key: Box<str>,
    mailbox: Option<Box<str>>,
}

impl Charge {
    /// A request to any counted path.
    pub fn ip(client: &ClientIp) -> Self {
        Self::of_network(Bucket::Ip, format!("rate_limit:ip:{}", client.network()))
    }

    /// A request to a path that anybody may embed.
    pub fn public_ip(client: &ClientIp) -> Self {
        Self::of_network(Bucket::PublicIp, format!("rate_limit:public_ip:{}", client.network()))
    }

    /// A request to an anonymous route; `template` is the matched route's, never the path as sent.
    pub fn auth(template: &str, client: &ClientIp) -> Self {
        Self::of_network(Bucket::Auth, format!("rate_limit:auth:{template}:{}", client.network()))
    }

    /// A request that mails somebody; `email` in its canonical form.
    pub fn auth_email(scope: MailScope, email: &str) -> Self {
        Self::of_mailbox(Bucket::AuthEmail(scope), format!("rate_limit:auth_email:{}:{email}", scope.name()), email)
    }

    /// A developer's sign-up, by where it comes from.
    pub fn signup_ip(client: &ClientIp) -> Self {
        Self::of_network(Bucket::SignupIp, format!("rate_limit:prima_signup:ip:{}", client.network()))
    }

    /// A developer's sign-up, by whom it names; `email` in its canonical form.
    pub fn signup_email(email: &str) -> Self {
        Self::of_mailbox(Bucket::SignupEmail, format!("rate_limit:prima_signup:email:{email}"), email)
    }

    fn of_network(bucket: Bucket, key: String) -> Self {
        Self { bucket, key: key.into(), mailbox: None }
    }

    fn of_mailbox(bucket: Bucket, key: String, email: &str) -> Self {
        Self { bucket, key: key.into(), mailbox: Some(email.into()) }
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
