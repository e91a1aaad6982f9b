//! What every counted answer tells of its budget: the IETF draft's `RateLimit` fields (revision 11) and the older
//! `X-RateLimit-*`. It refuses to show a mailbox's numbers, and leaves `Retry-After` to the error that carries it.

use std::{cell::RefCell, ops::Range, slice};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Attempt, Bucket, algorithm::Rule, attempt::Applied};
use crate::clock::Timestamp;

/// `Access-Control-Expose-Headers`: what a browser's script may read.
pub const EXPOSED: &str = "X-Total-Count, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, \
                           X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

/// How many fields are written, at most.
const FIELDS: usize = 5;

/// Room for the texts of one answer; longer ones take what they need.
const ROOM: usize = 96;

/// Microseconds.
const SECOND: u64 = 1_000_000;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STANDING: HeaderName = HeaderName::from_static("ratelimit");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Writes the fields of the buckets that this request met; none when it met none.
pub fn write(attempt: &Attempt, now: Timestamp, refused: bool, headers: &mut HeaderMap) {
    attempt.tell(|tally| {
        let Some(first) = tally.first() else { return };
        // A refusal by a mailbox with numbers beside it would say which bucket it was that still had room.
        let hidden = refused && tally.iter().any(|applied| applied.refused && applied.bucket.is_mailbox());
        let shown = tightest(tally).filter(|_| !hidden);
        let (policy, limit) = told(shown.unwrap_or(first));
        headers.reserve(FIELDS);
        if tally.len() == 1 {
            headers.insert(POLICY, policy);
        } else {
            insert(headers, POLICY, &policies(tally));
        }
        if let Some(shown) = shown {
            headers.insert(LIMIT, limit);
            write_numbers(shown, now, headers);
        }
    });
}

/// `"auth";r=29;t=60`, and the numbers of the older fields, put together in one text.
fn write_numbers(applied: &Applied, now: Timestamp, headers: &mut HeaderMap) {
    let wait = u64::try_from(applied.rest.as_micros()).unwrap_or(u64::MAX);
    let mut text = String::with_capacity(ROOM);
    push_name(&mut text, applied);
    let remaining = push(&mut text, ";r=", applied.remaining.into());
    push(&mut text, ";t=", wait.div_ceil(SECOND));
    insert(headers, STANDING, &text);
    insert(headers, REMAINING, &text[remaining]);
    // The Unix second in which the window has ended for sure.
    let end = u64::try_from((now + applied.rest).micros()).unwrap_or(0);
    let reset = push(&mut text, "", end.div_ceil(SECOND));
    insert(headers, RESET, &text[reset]);
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
        let policy = value(&policies(slice::from_ref(applied)));
        Self { bucket: applied.bucket, rule: applied.rule, policy, limit: HeaderValue::from(applied.rule.capacity()) }
    }
}

/// Rules that a thread remembers the words of.
const REMEMBERED: usize = 16;

/// The policy and the limit of a bucket, which this thread may have told before: they change with the operator's file
/// alone.
fn told(applied: &Applied) -> (HeaderValue, HeaderValue) {
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
        let told = &before[place];
        (told.policy.clone(), told.limit.clone())
    })
}

/// `"auth";q=30;w=60` of each; a window that is not whole seconds is not told.
fn policies(tally: &[Applied]) -> String {
    let mut list = String::new();
    for applied in tally {
        if !list.is_empty() {
            list.push_str(", ");
        }
        let (quota, window) = (applied.rule.quota, applied.rule.span());
        push_name(&mut list, applied);
        push(&mut list, ";q=", quota.into());
        if window.subsec_nanos() == 0 {
            push(&mut list, ";w=", window.as_secs());
        }
    }
    list
}

fn push_name(text: &mut String, applied: &Applied) {
    text.push('"');
    text.push_str(applied.name());
    text.push('"');
}

/// Appends a parameter; tells where its number stands.
fn push(text: &mut String, parameter: &str, number: u64) -> Range<usize> {
    text.push_str(parameter);
    let start = text.len();
    text.push_str(itoa::Buffer::new().format(number));
    start..text.len()
}

// Kept in one place: a copy of it for each field would cost more to load than to call.
#[inline(never)]
fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    headers.insert(name, value(text));
}

/// Names, routes and numbers hold nothing that a header may not.
fn value(text: &str) -> HeaderValue {
    // Copied at its length: a text that has room left would be allocated anew.
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Fewest remaining, then longest wait.
fn tightest(tally: &[Applied]) -> Option<&Applied> {
    let shown = tally.iter().filter(|applied| !applied.bucket.is_mailbox());
    shown.min_by(|one, other| one.remaining.cmp(&other.remaining).then(other.rest.cmp(&one.rest)))
}
