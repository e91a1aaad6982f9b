//! What every counted answer tells of its budget: the IETF draft's `RateLimit` fields (revision 11) and the older
//! `X-RateLimit-*`. It refuses to show a mailbox's numbers, and leaves `Retry-After` to the error that carries it.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Attempt, attempt::Applied};
use crate::clock::Timestamp;

/// `Access-Control-Expose-Headers`: what a browser's script may read.
pub const EXPOSED: &str = "X-Total-Count, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, \
                           X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STANDING: HeaderName = HeaderName::from_static("ratelimit");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Writes the fields of the buckets that this request met; none when it met none.
pub fn write(attempt: &Attempt, now: Timestamp, refused: bool, headers: &mut HeaderMap) {
    let tally = attempt.tally();
    let policies: Vec<String> = tally.iter().map(policy).collect();
    if let Ok(value) = HeaderValue::try_from(policies.join(", "))
        && !policies.is_empty()
    {
        headers.insert(POLICY, value);
    }
    // A refusal by a mailbox with numbers beside it would say which bucket it was that still had room.
    if refused && tally.iter().any(|applied| applied.refused && applied.bucket.is_mailbox()) {
        return;
    }
    if let Some(tightest) = tightest(&tally) {
        write_standing(tightest, now, headers);
    }
}

fn write_standing(applied: &Applied, now: Timestamp, headers: &mut HeaderMap) {
    let remaining = applied.remaining;
    let standing = format!("\"{}\";r={remaining};t={}", applied.policy.name, whole_seconds(applied.rest));
    if let Ok(value) = HeaderValue::try_from(standing) {
        headers.insert(STANDING, value);
    }
    headers.insert(LIMIT, HeaderValue::from(applied.policy.rule.capacity()));
    headers.insert(REMAINING, HeaderValue::from(remaining));
    headers.insert(RESET, HeaderValue::from(reset(now, applied.rest)));
}

/// `"auth";q=30;w=60`; a window that is not whole seconds is not told.
fn policy(applied: &Applied) -> String {
    let (name, rule) = (&applied.policy.name, applied.policy.rule);
    let (quota, window) = (rule.quota, rule.span());
    if window.subsec_nanos() == 0 {
        format!("\"{name}\";q={quota};w={}", window.as_secs())
    } else {
        format!("\"{name}\";q={quota}")
    }
}

/// Fewest remaining, then longest wait.
fn tightest(tally: &[Applied]) -> Option<&Applied> {
    let shown = tally.iter().filter(|applied| !applied.bucket.is_mailbox());
    shown.min_by(|one, other| one.remaining.cmp(&other.remaining).then(other.rest.cmp(&one.rest)))
}

const fn whole_seconds(rest: Duration) -> u64 {
    rest.as_secs() + if rest.subsec_nanos() > 0 { 1 } else { 0 }
}

/// The Unix second in which the window has ended for sure.
fn reset(now: Timestamp, rest: Duration) -> i64 {
    let end = now + rest;
    end.seconds() + i64::from(end.micros().rem_euclid(1_000_000) > 0)
}
