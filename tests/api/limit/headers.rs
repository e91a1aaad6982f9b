//! What an answer tells of its budget, letter for letter.

use std::time::Duration;

use http::HeaderMap;
use labs_auth::{
    clock::Timestamp,
    limit::{
        Attempt, Charge, Limiter, MailScope, Quotas, Verdict,
        headers::{EXPOSED, write},
    },
};
use uuid::Uuid;

use super::world::{Hand, LOGIN, admitted, host};

/// 250 ms into a second, so that every rounding shows.
const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_250_000);

fn written(attempt: &Attempt, refused: bool) -> Vec<String> {
    let mut headers = HeaderMap::new();
    write(attempt, NOW, refused, &mut headers);
    let mut lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort();
    lines
}

async fn decide(limiter: &Limiter, charges: &[Charge<'_>]) -> (Attempt, Verdict) {
    let attempt = Attempt::new(Uuid::new_v4(), host(7));
    let verdict = limiter.decide(charges, attempt.client(), LOGIN, &attempt).await;
    (attempt, verdict)
}

fn limiter(hand: &Hand) -> Limiter {
    Limiter::new(Quotas::default(), None, hand.clock())
}

#[tokio::test]
async fn an_admitted_request_is_told_its_tightest_bucket() {
    let limiter = limiter(&Hand::default());
    let (attempt, _) = decide(&limiter, &[Charge::ip(&host(7)), Charge::auth(LOGIN, &host(7))]).await;
    assert_eq!(
        written(&attempt, false),
        [
            "ratelimit-policy: \"ip\";q=1000;w=60, \"auth\";q=30;w=60",
            "ratelimit: \"auth\";r=29;t=60",
            "x-ratelimit-limit: 30",
            "x-ratelimit-remaining: 29",
            "x-ratelimit-reset: 1700000061",
        ]
    );
}

#[tokio::test]
async fn the_rest_of_a_window_is_rounded_up() {
    let hand = Hand::default();
    let limiter = limiter(&hand);
    let auth = Charge::auth(LOGIN, &host(7));
    assert_eq!(admitted(&limiter, &auth, &host(7), 30).await, 30);
    for (passed, t, reset) in [(1, 60, 1_700_000_061), (10_750, 50, 1_700_000_050), (59_999, 1, 1_700_000_001)] {
        let hand_now = Duration::from_millis(passed);
        let limiter_at = hand.clock().monotonic();
        hand.advance(hand_now.saturating_sub(limiter_at));
        let (attempt, verdict) = decide(&limiter, std::slice::from_ref(&auth)).await;
        let Verdict::Refused(refusal) = verdict else { panic!("admitted") };
        assert_eq!(refusal.retry_after().seconds(), t);
        let lines = written(&attempt, true);
        assert!(lines.contains(&format!("ratelimit: \"auth\";r=0;t={t}")), "{lines:?}");
        assert!(lines.contains(&format!("x-ratelimit-reset: {reset}")), "{lines:?}");
    }
}

#[tokio::test]
async fn of_two_equally_tight_buckets_the_longer_wait_is_told() {
    let hand = Hand::default();
    let quotas = Quotas { ip_per_minute: 30, ..Quotas::default() };
    let limiter = Limiter::new(quotas, None, hand.clock());
    decide(&limiter, &[Charge::ip(&host(7))]).await;
    hand.advance(Duration::from_secs(5));
    let (attempt, _) = decide(&limiter, &[Charge::auth(LOGIN, &host(7))]).await;
    limiter.decide(&[Charge::ip(&host(8))], &host(8), LOGIN, &attempt).await;
    let mut headers = HeaderMap::new();
    write(&attempt, NOW, false, &mut headers);
    assert_eq!(headers["ratelimit"], "\"auth\";r=29;t=60");
}

#[tokio::test]
async fn a_mailbox_never_shows_its_numbers() {
    let limiter = limiter(&Hand::default());
    let mail = Charge::auth_email(MailScope::MagicLink, "a@b.ch");
    let (attempt, _) = decide(&limiter, &[Charge::auth(LOGIN, &host(7)), mail]).await;
    assert_eq!(
        written(&attempt, false),
        [
            "ratelimit-policy: \"auth\";q=30;w=60, \"auth-email\";q=10;w=60",
            "ratelimit: \"auth\";r=29;t=60",
            "x-ratelimit-limit: 30",
            "x-ratelimit-remaining: 29",
            "x-ratelimit-reset: 1700000061",
        ]
    );
    assert_eq!(admitted(&limiter, &mail, &host(7), 10).await, 9);
    let (attempt, verdict) = decide(&limiter, &[Charge::auth(LOGIN, &host(7)), mail]).await;
    assert!(matches!(verdict, Verdict::Refused(_)));
    assert_eq!(written(&attempt, true), ["ratelimit-policy: \"auth\";q=30;w=60, \"auth-email\";q=10;w=60"]);
}

#[tokio::test]
async fn an_uncounted_answer_tells_nothing() {
    assert!(written(&Attempt::new(Uuid::new_v4(), host(7)), false).is_empty());
}

#[test]
fn browsers_may_read_every_field() {
    assert_eq!(
        EXPOSED,
        "X-Total-Count, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, \
         X-RateLimit-Remaining, X-RateLimit-Reset"
    );
}
