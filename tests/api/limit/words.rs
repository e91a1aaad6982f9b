//! What each bucket is called, counts, and says: the words of the contract, by which clients and operators know it.

use std::time::Duration;

use labs_auth::{
    error::{ApiError, ErrorCode, RetryAfter},
    limit::{
        Attempt, Because, Bucket, Charge, ClientIp, Hit, Limiter, MailScope, Quotas, Refusal, Setup, Verdict, headers,
    },
};
use uuid::Uuid;

use super::world::{Hand, client, hit, host, somebody};

const SLOW_DOWN: &str = "Too many requests. Please slow down.";
const ATTEMPTS: &str = "Too many authentication attempts. Please try again later.";
const THIS_EMAIL: &str = "Too many requests for this email. Please try again later.";
const SIGNUPS: &str = "Too many signup attempts. Please try again later.";

const FOR_IP: &str = "Rate limit exceeded for IP";
const FOR_AUTH: &str = "Auth rate limit exceeded";
const FOR_SIGNUP: &str = "Signup rate limit exceeded";

#[test]
fn every_bucket_has_the_words_and_numbers_of_the_contract() {
    use Bucket::{Account, Auth, AuthEmail, Device, Ip, PublicIp, SignupEmail, SignupIp};
    const MINUTE: u64 = 60;
    const HOUR: u64 = 3600;
    let quotas = Quotas::default();
    let mail = AuthEmail(MailScope::Leave);
    for (bucket, name, quota, window, sentence, logged) in [
        (Ip, "ip", 1000, MINUTE, SLOW_DOWN, FOR_IP),
        (PublicIp, "public-ip", 240, MINUTE, SLOW_DOWN, FOR_IP),
        (Auth, "auth", 30, MINUTE, ATTEMPTS, FOR_AUTH),
        (mail, "auth-email", 10, MINUTE, THIS_EMAIL, FOR_AUTH),
        (SignupIp, "signup-ip", 5, HOUR, SIGNUPS, FOR_SIGNUP),
        (SignupEmail, "signup-email", 3, HOUR, SIGNUPS, FOR_SIGNUP),
        (Account, "account", 100, HOUR, ATTEMPTS, FOR_AUTH),
        (Device, "device", 10, MINUTE, ATTEMPTS, FOR_AUTH),
    ] {
        assert_eq!(bucket.name(), name);
        assert_eq!((bucket.quota(&quotas), bucket.window()), (quota, Duration::from_secs(window)), "{name}");
        assert_eq!((bucket.sentence(), bucket.log_sentence()), (sentence, logged), "{name}");
    }
    let settings = Bucket::ALL.iter().filter_map(|bucket| bucket.setting()).collect::<Vec<_>>();
    let expected = [
        "RATE_LIMIT_IP_PER_MINUTE",
        "RATE_LIMIT_PUBLIC_IP_PER_MINUTE",
        "PRIMA_SIGNUP_MAX_PER_IP_PER_HOUR",
        "PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR",
    ];
    assert_eq!(settings, expected);
    let that = |holds: fn(Bucket) -> bool| Bucket::ALL.iter().copied().filter(|it| holds(*it)).collect::<Vec<_>>();
    let mails = MailScope::ALL.iter().map(|scope| AuthEmail(*scope));
    assert_eq!(that(Bucket::is_volumetric), [Ip, PublicIp]);
    assert_eq!(
        that(Bucket::is_mailbox),
        [SignupEmail].into_iter().chain(mails.clone()).chain([Account]).collect::<Vec<_>>()
    );
    assert_eq!(that(Bucket::logs_mailbox), mails.chain([Account]).collect::<Vec<_>>());
}

#[test]
fn every_kind_of_mail_has_its_part_of_the_key() {
    let names = MailScope::ALL.iter().map(|scope| scope.name()).collect::<Vec<_>>();
    assert_eq!(names, ["magic-link", "password-reset", "verification", "registration", "change-email", "leave"]);
    let key = Charge::auth_email(MailScope::Leave, "anna@example.com");
    assert_eq!(key.key(), "rate_limit:auth_email:leave:anna@example.com");
    assert_eq!(Charge::signup_email("anna@example.com").key(), "rate_limit:prima_signup:email:anna@example.com");
    assert_eq!(Charge::account("anna@example.com").key(), "rate_limit:account:anna@example.com");
    assert_eq!(Charge::device("id").key(), "rate_limit:device:id");
}

async fn refusal_of(limiter: &Limiter, charge: Charge<'_>, client: &ClientIp, times: u32) -> Refusal {
    let charges = [charge];
    for _ in 0..times {
        assert_eq!(hit(limiter, &charges, client).await, Verdict::Admitted);
    }
    match hit(limiter, &charges, client).await {
        Verdict::Refused(refusal) => refusal,
        Verdict::Admitted => panic!("one too many was admitted"),
    }
}

#[tokio::test]
async fn a_refusal_becomes_an_error_with_its_own_sentence_shape_and_wait() {
    let limiter = Limiter::new(Quotas { ip_per_minute: 2, ..Quotas::default() }, None, Hand::default().clock());
    let client = somebody();
    let flood = refusal_of(&limiter, Charge::ip(&client), &client, 2).await;
    let credential = refusal_of(&limiter, Charge::auth("/login", &client), &client, 30).await;
    for (refusal, bucket, sentence, is_flood) in
        [(flood, Bucket::Ip, SLOW_DOWN, true), (credential, Bucket::Auth, ATTEMPTS, false)]
    {
        assert_eq!((refusal.bucket(), refusal.because()), (bucket, Because::Spent));
        assert_eq!(refusal.wait(), Duration::from_mins(1));
        let error = ApiError::from(refusal);
        assert_eq!((error.code(), error.is_flood()), (ErrorCode::RateLimited, is_flood));
        assert_eq!(error.wait().map(RetryAfter::seconds), Some(60));
        assert!(is_flood || error.sentence() == sentence);
    }
}

#[tokio::test]
async fn the_numbers_of_a_limiter_say_what_it_did() {
    let quotas = Quotas { ip_per_minute: 2, ..Quotas::default() };
    let limiter = Limiter::new(quotas, None, Hand::default().clock());
    assert_eq!((limiter.held(), limiter.evicted(), limiter.panics(), limiter.decided_by_memory()), (0, 0, 0, 0));
    assert_eq!((limiter.has_redis(), limiter.has_routes(), *limiter.quotas()), (false, false, quotas));
    let client = somebody();
    refusal_of(&limiter, Charge::ip(&client), &client, 2).await;
    assert_eq!((limiter.held(), limiter.decided_by_memory()), (1, 0), "no Redis is configured");
    let text = limiter.metrics(&[("too_long", 4)]);
    for line in [
        "labs_auth_rate_limit_decisions_total{policy=\"ip\",outcome=\"admitted\",store=\"memory\"} 2",
        "labs_auth_rate_limit_decisions_total{policy=\"ip\",outcome=\"refused\",store=\"memory\"} 1",
        "labs_auth_rate_limit_on_redis 0",
        "labs_auth_rate_limit_redis_ping_micros 0",
        "labs_auth_rate_limit_entries 1",
        "labs_auth_rate_limit_live_evictions 0",
        "labs_auth_rate_limit_panics 0",
        "labs_auth_rate_limit_forwarded_rejected{reason=\"too_long\"} 4",
    ] {
        assert!(text.lines().any(|told| told == line), "{line} is not in\n{text}");
    }
    assert_eq!(limiter.stored_key(&Charge::ip(&client)), Some(format!("rate_limit:ip:{}", client.network())));
    assert_eq!(limiter.stored_key(&Charge::account("anna@example.com")), None, "its policy is off");
    let attempt = Attempt::new(Uuid::max(), client);
    assert_eq!((attempt.request_id(), attempt.client()), (Uuid::max(), &client));
    assert_eq!(limiter.hit("nothing of this name", "anna", None, &attempt).await, Hit::Admitted);
}

#[test]
fn what_many_threads_count_adds_up() {
    let limiter = Limiter::new(Quotas { ip_per_minute: 1, ..Quotas::default() }, None, Hand::default().clock());
    std::thread::scope(|scope| {
        for number in 0..40 {
            let (limiter, client) = (&limiter, host(number));
            scope.spawn(move || {
                for _ in 0..100 {
                    let attempt = Attempt::new(Uuid::nil(), client);
                    assert!(limiter.decide_now(&[Charge::ip(&client)], &client, "/", &attempt).is_some());
                }
            });
        }
    });
    let text = limiter.metrics(&[]);
    for (outcome, count) in [("admitted", 40), ("refused", 40 * 99)] {
        let line = format!("decisions_total{{policy=\"ip\",outcome=\"{outcome}\",store=\"memory\"}} {count}\n");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn the_reset_is_the_second_in_which_the_window_has_ended_for_sure() {
    let hand = Hand::default();
    let limiter = Limiter::new(Quotas::default(), None, hand.clock());
    // The hand's clock begins with a whole second, and so does the first client's window.
    for (client, passed, reset) in [(1, 0, 60), (1, 999_999, 60), (1, 58_000_001, 60), (2, 0, 119), (3, 1, 120)] {
        hand.advance(Duration::from_micros(passed));
        let client = host(client);
        let attempt = Attempt::new(Uuid::nil(), client);
        limiter.decide(&[Charge::ip(&client)], &client, "/", &attempt).await;
        let mut fields = http::HeaderMap::new();
        headers::write(&attempt, hand.clock().now(), false, &mut fields);
        assert_eq!(fields["x-ratelimit-reset"], (1_700_000_000 + reset).to_string(), "{client}, {passed}");
        assert_eq!(fields["ratelimit-policy"], "\"ip\";q=1000;w=60");
    }
}

#[tokio::test]
async fn every_answer_tells_of_its_own_bucket_and_quota_whatever_was_told_before() {
    let (hand, client) = (Hand::default(), host(7));
    let quotas = |quota| Quotas { ip_per_minute: quota, ..Quotas::default() };
    let limiters: Vec<_> = (1..=20).map(|quota| (quota, Limiter::new(quotas(quota), None, hand.clock()))).collect();
    for (quota, limiter) in limiters.iter().chain(&limiters) {
        for (charge, name, quota) in [(Charge::ip(&client), "ip", *quota), (Charge::auth("/", &client), "auth", 30)] {
            let attempt = Attempt::new(Uuid::nil(), client);
            limiter.decide(&[charge], &client, "/", &attempt).await;
            let mut fields = http::HeaderMap::new();
            headers::write(&attempt, hand.clock().now(), false, &mut fields);
            assert_eq!(fields["ratelimit-policy"], format!("\"{name}\";q={quota};w=60"));
            assert_eq!(fields["x-ratelimit-limit"], quota.to_string());
        }
    }
}

#[tokio::test]
async fn a_full_memory_says_what_it_gave_up() {
    let setup = Setup { memory_mb: 1, ..Setup::reference(Quotas::default(), None) };
    let limiter = Limiter::with(setup, Hand::default().clock());
    for number in 0..40_000_u32 {
        let client = client(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number));
        assert_eq!(hit(&limiter, &[Charge::ip(&client)], &client).await, Verdict::Admitted);
    }
    let (held, evicted) = (limiter.held() as u64, limiter.evicted());
    assert_eq!(held + evicted, 40_000);
    assert!(evicted > 0);
    let numbers = limiter.metrics(&[]);
    for line in
        [format!("labs_auth_rate_limit_entries {held}"), format!("labs_auth_rate_limit_live_evictions {evicted}")]
    {
        assert!(numbers.lines().any(|told| told == line), "{line} is not in\n{numbers}");
    }
}
