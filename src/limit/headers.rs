//! What every counted answer tells of its budget: the IETF draft's `RateLimit` fields (revision 11) and the older
//! `X-RateLimit-*`. It refuses to show a mailbox's numbers, and leaves `Retry-After` to the error that carries it.

use std::{cell::RefCell, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Attempt, Bucket, algorithm::Rule, attempt::Applied};
use crate::clock::Timestamp;

/// `Access-Control-Expose-Headers`: what a browser's script may read.
pub const EXPOSED: &str = "X-Total-Count, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, \
                           X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

/// How many fields are written, at most.
const FIELDS: usize = 5;

/// Room for one item of a field.
const ITEM: usize = 48;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STANDING: HeaderName = HeaderName::from_static("ratelimit");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Writes the fields of the buckets that this request met; none when it met none.
pub fn write(attempt: &Attempt, now: Timestamp, refused: bool, headers: &mut HeaderMap) {
    attempt.tell(|tally| {
        if tally.is_empty() {
            return;
        }
        headers.reserve(FIELDS);
        let mut text = String::with_capacity(ITEM * tally.len());
        if let [only] = tally {
            headers.insert(POLICY, told(only, |told| &told.policy));
        } else {
            push_policies(&mut text, tally);
            insert(headers, POLICY, &text);
        }
        // A refusal by a mailbox with numbers beside it would say which bucket it was that still had room.
        if refused && tally.iter().any(|applied| applied.refused && applied.bucket.is_mailbox()) {
            return;
        }
        if let Some(tightest) = tightest(tally) {
            text.clear();
            push_standing(&mut text, tightest);
            insert(headers, STANDING, &text);
            write_numbers(tightest, now, headers);
        }
    });
}

/// `"auth";r=29;t=60`.
fn push_standing(text: &mut String, applied: &Applied) {
    push_name(text, applied);
    push(text, ";r=", applied.remaining.into());
    push(text, ";t=", whole_seconds(applied.rest));
}

fn write_numbers(applied: &Applied, now: Timestamp, headers: &mut HeaderMap) {
    headers.insert(LIMIT, told(applied, |told| &told.limit));
    headers.insert(REMAINING, HeaderValue::from(applied.remaining));
    headers.insert(RESET, HeaderValue::from(reset(now, applied.rest)));
}

/// What is told of a bucket whoever asks.
struct Told {
    bucket: Bucket,
    rule: Rule,
    policy: HeaderValue,
    limit: HeaderValue,
}

impl Told {
    fn of(applied: &Applied) -> Self {
        let mut text = String::new();
        push_policies(&mut text, std::slice::from_ref(applied));
        // Names and routes hold nothing that a header may not.
        let policy = HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""));
        Self { bucket: applied.bucket, rule: applied.rule, policy, limit: HeaderValue::from(applied.rule.capacity()) }
    }
}

/// Rules that a thread remembers the words of.
const REMEMBERED: usize = 16;

/// A part of what this thread has told of a bucket before: it changes with the operator's file alone.
fn told(applied: &Applied, part: fn(&Told) -> &HeaderValue) -> HeaderValue {
    thread_local! {
        static BEFORE: RefCell<Vec<Told>> = const { RefCell::new(Vec::new()) };
    }
    BEFORE.with_borrow_mut(|before| {
        let same = before.iter().position(|told| (told.bucket, told.rule) == (applied.bucket, applied.rule));
        let place = same.unwrap_or_else(|| {
            if before.len() == REMEMBERED {
                before.clear();
            }
            before.push(Told::of(applied));
            before.len() - 1
        });
        part(&before[place]).clone()
    })
}

/// `"auth";q=30;w=60` of each; a window that is not whole seconds is not told.
fn push_policies(list: &mut String, tally: &[Applied]) {
    for applied in tally {
        if !list.is_empty() {
            list.push_str(", ");
        }
        let (quota, window) = (applied.rule.quota, applied.rule.span());
        push_name(list, applied);
        push(list, ";q=", quota.into());
        if window.subsec_nanos() == 0 {
            push(list, ";w=", window.as_secs());
        }
    }
}

fn push_name(text: &mut String, applied: &Applied) {
    text.push('"');
    text.push_str(applied.name());
    text.push('"');
}

fn push(text: &mut String, parameter: &str, value: u64) {
    text.push_str(parameter);
    text.push_str(itoa::Buffer::new().format(value));
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // Copied at its length: a text that has room left would be allocated anew, or a second time.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
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
