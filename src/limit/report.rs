//! What the operator reads of a refusal: one line per key and window, the mailbox only as a fingerprint.

use std::time::Duration;

use super::{
    Attempt, Charge, ClientIp,
    policy::{Mode, Policy},
};
use crate::error::RetryAfter;

/// Logs a refusal. The caller asks for it once per key and window.
pub(super) fn refusal(
    charge: &Charge<'_>,
    policy: &Policy,
    wait: Duration,
    client: &ClientIp,
    route: &str,
    attempt: &Attempt,
) {
    let bucket = charge.bucket();
    tracing::warn!(
        bucket = &*policy.name,
        network = &*client.network(),
        mailbox = charge.logged_mailbox().as_deref(),
        route,
        shadow = (policy.mode == Mode::Shadow).then_some(true),
        wait = RetryAfter::from_wait(wait).seconds(),
        request_id = %attempt.request_id(),
        "{}",
        bucket.log_sentence(),
    );
}
