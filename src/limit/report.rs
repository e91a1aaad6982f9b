//! What the operator reads of a refusal: one line per key and window, the mailbox only as a fingerprint.

use std::time::Duration;

use super::{Attempt, Charge, ClientIp};
use crate::error::RetryAfter;

/// Logs a refusal. The caller asks for it once per key and window.
pub(super) fn refusal(charge: &Charge, wait: Duration, client: &ClientIp, route: &str, attempt: &Attempt) {
    let bucket = charge.bucket();
    tracing::warn!(
        bucket = bucket.name(),
        network = client.network(),
        mailbox = charge.logged_mailbox().as_deref(),
        route,
        wait = RetryAfter::from_wait(wait).seconds(),
        request_id = %attempt.request_id(),
        "{}",
        bucket.log_sentence(),
    );
}
