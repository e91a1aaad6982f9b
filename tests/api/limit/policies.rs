//! The policies: what a file may say, how its faults are told, and what each field does.

use std::{path::PathBuf, time::Duration};

use labs_auth::{
    clock::Clock,
    limit::{
        Attempt, Bucket, Charge, Hit, Limiter, MailScope, Prefixes, Quotas, RedisAddress, Setup, Verdict, Who,
        algorithm::{Algorithm, Rule},
        headers,
        policy::{Fail, Hooks, Mode, OnLimit, Over, Policies, Policy, PolicySource, Profile, Whom},
    },
};
use tempfile::NamedTempFile;
use uuid::Uuid;

use super::world::{Hand, LOGIN, Log, admitted, client, hit, host, mailbox};

fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn source(path: PathBuf) -> PolicySource {
    let hooks = Hooks::default().with("lenient", Lenient);
    PolicySource { path: Some(path), hooks, ..PolicySource::default() }
}

fn load(text: &str) -> Result<Policies, Vec<String>> {
    let file = file(text);
    source(file.path().to_owned()).load()
}

fn limiter_of(source: PolicySource, redis: Option<RedisAddress>, clock: Clock) -> Limiter {
    let policies = source.load().unwrap();
    Limiter::with(Setup { source, policies, redis, memory_mb: 1, key: None }, clock)
}

fn limiter(text: &str, clock: Clock) -> Limiter {
    let file = file(text);
    limiter_of(source(file.path().to_owned()), None, clock)
}

struct Lenient;

impl OnLimit for Lenient {
    fn admits(&self, over: &Over<'_>) -> bool {
        assert!(over.wait > Duration::ZERO);
        over.route == LOGIN
    }
}

#[test]
fn every_fault_of_a_file_is_told_with_its_line_and_field() {
    let faults = load(
        r#"
[buckets.auth]
quota = 0
window = "5 minutes"
[buckets.nobody]
quota = 1
[networks]
always = ["10.0.0.1/8", "here"]
[[policy]]
name = "Spaced out"
routes = ["POST /a", "LOOK /b"]
window = "1.5s"
burst = 3
algorithm = "log"
fail = "sideways"
sort = 1
[[policy]]
name = "free"
routes = ["GET /c"]
quota = 4000000000
window = "60s"
[[policy]]
name = "dear"
quota = 5
window = "60s"
cost = 6
[extra]
"#,
    )
    .unwrap_err();
    for expected in [
        "line 3: buckets.auth.quota must be from 1 to 4294967295",
        "line 4: buckets.auth.window must be a whole number with its unit: 500ms, 60s, 5m, 1h or 2d",
        "line 5: buckets.nobody is no bucket",
        "line 8: networks.always holds \"10.0.0.1/8\", whose host part is not zero: 10.0.0.0/8 is meant",
        "line 8: networks.always holds \"here\", which is no network",
        "line 9: policy.quota is missing",
        "line 10: policy.name must be 1 to 64 of a-z, 0-9, '-', '_' and '.'",
        "line 11: policy.routes holds \"LOOK /b\", which is not METHOD /path, as POST /api/auth/login",
        "line 12: policy.window must be a whole number with its unit: 500ms, 60s, 5m, 1h or 2d",
        "line 13: policy.burst means nothing to log",
        "line 15: policy.fail must be memory, open or closed",
        "line 16: policy.sort is not known",
        "line 20: policy.quota times the window is too large to be counted exactly",
        "line 26: policy.cost is more than the 5 that are ever admitted",
        "line 27: extra is not known",
    ] {
        assert!(faults.iter().any(|fault| fault == expected), "{expected}\nnot in {faults:#?}");
    }
    assert_eq!(faults.len(), 15, "{faults:#?}");
}

#[test]
fn every_word_of_a_field_is_read_as_what_it_says() {
    let auth = |line: &str| {
        let policies = load(&format!("[buckets.auth]\n{line}")).unwrap();
        Policy::clone(policies.of(Bucket::Auth).unwrap())
    };
    for (word, span) in [
        ("500ms", Duration::from_millis(500)),
        ("61s", Duration::from_secs(61)),
        ("5m", Duration::from_mins(5)),
        ("1h", Duration::from_hours(1)),
        ("2d", Duration::from_hours(48)),
    ] {
        assert_eq!(auth(&format!("window = {word:?}")).rule.span(), span, "{word}");
    }
    for (word, fail) in [("memory", Fail::Memory), ("open", Fail::Open), ("closed", Fail::Closed)] {
        assert_eq!(auth(&format!("fail = {word:?}")).fail, fail);
    }
    for (word, mode) in [("enforce", Mode::Enforce), ("shadow", Mode::Shadow), ("off", Mode::Off)] {
        assert_eq!(auth(&format!("mode = {word:?}")).mode, mode);
    }
    for algorithm in Algorithm::ALL {
        assert_eq!(auth(&format!("algorithm = {:?}", algorithm.name())).rule.algorithm, algorithm);
    }
    for (word, whom) in [
        ("ip", Whom::Ip(None)),
        ("ip/24,48", Whom::Ip(Some(Prefixes { ipv4: 24, ipv6: 48 }))),
        ("user", Whom::User),
        ("api_key", Whom::ApiKey),
        ("mailbox", Whom::Mailbox),
    ] {
        let policies =
            load(&format!("[[policy]]\nname = \"n-1_x.y\"\nquota = 1\nwindow = \"1s\"\nkey = {word:?}")).unwrap();
        assert_eq!(policies.named("n-1_x.y").unwrap().whom, whom);
    }
}

#[test]
fn what_only_a_policy_has_is_unknown_to_a_bucket() {
    for (field, value) in [("key", "\"user\""), ("name", "\"n\""), ("routes", "[\"GET /a\"]")] {
        let faults = load(&format!("[buckets.auth]\n{field} = {value}")).unwrap_err();
        assert_eq!(faults, [format!("line 2: buckets.auth.{field} is not known")]);
    }
}

#[test]
fn a_bucket_of_several_kinds_is_changed_in_each_of_them() {
    let policies = load("[buckets.auth-email]\nquota = 2").unwrap();
    for scope in MailScope::ALL {
        let bucket = Bucket::AuthEmail(*scope);
        let policy = policies.of(bucket).unwrap();
        assert_eq!((policy.bucket, policy.rule.quota), (bucket, 2));
    }
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let faults = load("[buckets.auth]\nquota = \n").unwrap_err();
    assert!(faults[0].starts_with("line 2: "), "{faults:?}");
}

#[test]
fn one_name_has_one_quota_and_window() {
    let two = |quota| {
        load(&format!(
            "[[policy]]\nname = \"a\"\nroutes = [\"GET /x\"]\nquota = 5\nwindow = \"60s\"\n\
             [[policy]]\nname = \"a\"\nroutes = [\"GET /y\"]\nquota = {quota}\nwindow = \"60s\"\ncost = 2\n"
        ))
    };
    assert!(two(5).is_ok());
    assert_eq!(two(6).unwrap_err(), ["line 6: policy.name \"a\" has another quota, window or key elsewhere"]);
    let taken = load("[[policy]]\nname = \"auth\"\nquota = 5\nwindow = \"60s\"\n").unwrap_err();
    assert_eq!(taken, ["line 1: policy.name \"auth\" is the name of a bucket"]);
}

#[test]
fn a_quota_set_by_variable_and_by_file_is_refused() {
    let file = file("[buckets.ip]\nquota = 5\n");
    let set = PolicySource { quotas_set: vec!["RATE_LIMIT_IP_PER_MINUTE"], ..source(file.path().to_owned()) };
    let told = ["line 2: buckets.ip.quota is set by RATE_LIMIT_IP_PER_MINUTE already"];
    assert_eq!(set.load().unwrap_err(), told);
    assert!(source(file.path().to_owned()).load().is_ok());
}

#[test]
fn each_profile_counts_as_the_contract_says() {
    let counts = |profile, bucket| {
        let policies = Policies::of_profile(profile, &Quotas::default());
        let policy = policies.of(bucket).unwrap();
        (policy.rule.algorithm, policy.mode)
    };
    for bucket in [Bucket::Ip, Bucket::PublicIp, Bucket::Auth, Bucket::AuthEmail(MailScope::Leave), Bucket::SignupIp] {
        assert_eq!(counts(Profile::Reference, bucket), (Algorithm::Fixed, Mode::Enforce));
    }
    assert_eq!(counts(Profile::Reference, Bucket::Account).1, Mode::Off);
    assert_eq!(counts(Profile::Strict, Bucket::Ip), (Algorithm::Sliding, Mode::Enforce));
    for bucket in [Bucket::Auth, Bucket::AuthEmail(MailScope::Leave), Bucket::SignupEmail, Bucket::Account] {
        assert_eq!(counts(Profile::Strict, bucket), (Algorithm::Log, Mode::Enforce));
    }
    // A quota that the profile's algorithm cannot keep is told, not clamped.
    let quotas = Quotas { signup_ip_per_hour: 5000, ..Quotas::default() };
    let told = PolicySource { profile: Profile::Strict, quotas, ..PolicySource::default() }.load().unwrap_err();
    assert_eq!(told, ["signup-ip: quota must be at most 1000 with log, which keeps every hit"]);
}

#[tokio::test]
async fn a_file_changes_quota_window_algorithm_and_cost_of_a_bucket() {
    let hand = Hand::default();
    let limiter =
        limiter("[buckets.auth]\nquota = 10\nwindow = \"10s\"\nalgorithm = \"gcra\"\ncost = 2\n", hand.clock());
    let charge = Charge::auth(LOGIN, &host(7));
    assert_eq!(admitted(&limiter, &charge, &host(7), 9).await, 5);
    hand.advance(Duration::from_secs(2));
    assert_eq!(admitted(&limiter, &charge, &host(7), 9).await, 1);
    assert_eq!(admitted(&limiter, &Charge::ip(&host(7)), &host(7), 50).await, 50);
}

#[tokio::test]
async fn shadow_counts_logs_and_admits_and_off_does_nothing() {
    let (log, _listening) = Log::listen();
    let shadow = limiter("[buckets.auth]\nquota = 3\nmode = \"shadow\"\n", Hand::default().clock());
    let (charge, mail) = (Charge::auth(LOGIN, &host(7)), Charge::auth_email(MailScope::MagicLink, mailbox()));
    assert_eq!(admitted(&shadow, &charge, &host(7), 9).await, 9);
    assert_eq!(log.lines_with("shadow=true").len(), 1);
    // What stands behind a shadow is asked.
    for expected in [10, 0] {
        let mut passed = 0;
        for _ in 0..10 {
            passed += usize::from(hit(&shadow, &[charge, mail], &host(7)).await == Verdict::Admitted);
        }
        assert_eq!(passed, expected);
    }
    let off = limiter("[buckets.auth]\nmode = \"off\"\n", Hand::default().clock());
    assert_eq!(admitted(&off, &charge, &host(7), 99).await, 99);
    assert_eq!(off.held(), 0);
}

#[tokio::test]
async fn some_networks_are_counted_nowhere_and_some_are_shut_out() {
    let text = "[networks]\nalways = [\"203.0.113.0/28\"]\nnever = [\"2001:db8::/32\", \"203.0.113.9\"]\n";
    let limiter = limiter(text, Hand::default().clock());
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &host(7)), &host(7), 99).await, 99);
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &host(77)), &host(77), 99).await, 30);
    assert!(limiter.shuts_out(&host(7)).is_none());
    assert!(limiter.shuts_out(&host(9)).is_some());
    assert!(limiter.shuts_out(&client([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1])).is_some());
}

#[tokio::test]
async fn a_hook_may_admit_what_is_over_the_limit_uncounted() {
    let limiter = limiter("[buckets.auth]\nquota = 3\non_limit = \"lenient\"\n", Hand::default().clock());
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &host(7)), &host(7), 9).await, 9);
    let attempt = Attempt::new(Uuid::new_v4(), host(7));
    let elsewhere = limiter.decide(&[Charge::auth(LOGIN, &host(7))], &host(7), "/elsewhere", &attempt).await;
    assert_ne!(elsewhere, Verdict::Admitted);
    assert!(load("[buckets.auth]\non_limit = \"unheard-of\"\n").is_err());
}

#[tokio::test]
async fn each_fail_direction_holds_while_redis_is_away() {
    let nowhere = || Some(RedisAddress::from_parts("127.0.0.1", 1, 0, None).unwrap());
    let text =
        "[buckets.ip]\nfail = \"open\"\n[buckets.auth]\nfail = \"closed\"\n[buckets.signup-ip]\nfail = \"memory\"\n";
    let file = file(text);
    let limiter = limiter_of(source(file.path().to_owned()), nowhere(), Clock::system());
    limiter.begin().await;
    assert_eq!(admitted(&limiter, &Charge::ip(&host(7)), &host(7), 1100).await, 1100);
    assert_eq!(admitted(&limiter, &Charge::signup_ip(&host(7)), &host(7), 9).await, 5);
    let Verdict::Refused(refusal) = hit(&limiter, &[Charge::auth(LOGIN, &host(7))], &host(7)).await else {
        panic!("admitted")
    };
    let error = labs_auth::error::ApiError::from(refusal);
    assert_eq!((error.code().wire(), error.wait().unwrap().seconds()), ("SYS_002", 2));
    // Without any Redis nothing is away.
    let alone = limiter_of(source(file.path().to_owned()), None, Clock::system());
    assert_eq!(admitted(&alone, &Charge::auth(LOGIN, &host(7)), &host(7), 31).await, 30);
}

#[tokio::test]
async fn while_redis_is_away_a_refusal_spends_nothing_behind_it_and_a_shadow_refuses_nobody() {
    let away = |text: &str| {
        let (file, nowhere) = (file(text), RedisAddress::from_parts("127.0.0.1", 1, 0, None).unwrap());
        limiter_of(source(file.path().to_owned()), Some(nowhere), Hand::default().clock())
    };
    let (client, mail) = (host(7), mailbox());
    let charges = [Charge::auth(LOGIN, &client), Charge::auth_email(MailScope::Leave, mail)];

    let limiter = away("[buckets.auth]\nquota = 1");
    assert_eq!(hit(&limiter, &charges, &client).await, Verdict::Admitted);
    assert_eq!(limiter.decided_by_memory(), 1, "one decision, whatever the number of buckets");
    assert!(matches!(hit(&limiter, &charges, &client).await, Verdict::Refused(_)));
    assert_eq!(limiter.decided_by_memory(), 2);
    assert_eq!(admitted(&limiter, &charges[1], &client, 11).await, 9);

    let limiter = away("[[policy]]\nname = \"socket\"\nquota = 1\nwindow = \"60s\"\nfail = \"closed\"");
    let unheard = limiter.hit("socket", "anna", None, &Attempt::new(Uuid::nil(), host(1))).await;
    assert_eq!((unheard, unheard.close_code()), (Hit::Unavailable(Duration::from_secs(2)), Some(1013)));

    for fail in ["memory", "open", "closed"] {
        let limiter = away(&format!("[buckets.auth]\nquota = 1\nmode = \"shadow\"\nfail = {fail:?}"));
        for _ in 0..3 {
            assert_eq!(hit(&limiter, &charges, &client).await, Verdict::Admitted, "{fail}");
        }
        assert_eq!(admitted(&limiter, &charges[1], &client, 11).await, 7, "{fail}");
    }
}

const EXPORT: &str = r#"
[[policy]]
name = "export"
routes = ["POST /a"]
quota = 5
window = "500ms"
[[policy]]
name = "export"
routes = ["POST /b"]
quota = 5
window = "500ms"
cost = 3
[[policy]]
routes = ["POST /c", "POST /d"]
quota = 2
window = "60s"
burst = 4
key = "ip/24,48"
[[policy]]
name = "mail"
routes = ["POST /a"]
quota = 1
window = "1h"
key = "mailbox"
headers = false
"#;

#[tokio::test]
async fn routes_with_one_name_share_a_budget_and_others_have_their_own() {
    let limiter = limiter(EXPORT, Hand::default().clock());
    assert!(limiter.has_routes());
    let policies = limiter.policies();
    let at_the_door = |with_network| policies.charges("POST /c", &host(7), Who::default(), with_network).len();
    assert_eq!((at_the_door(true), at_the_door(false)), (1, 0), "addresses are charged at the route's door alone");
    let charge = async |route: &str, last: u8| {
        let charges = policies.charges(route, &host(last), Who::default(), true);
        hit(&limiter, &charges, &host(last)).await == Verdict::Admitted
    };
    assert!(charge("POST /a", 7).await && charge("POST /a", 7).await);
    assert!(charge("POST /b", 7).await && !charge("POST /b", 7).await);
    assert!(charge("POST /b", 8).await, "another client's budget");
    for route in ["POST /c", "POST /d"] {
        for last in 1..=4 {
            assert!(charge(route, last).await);
        }
        assert!(!charge(route, 5).await, "one /24, one budget");
    }
    assert!(charge("GET /nowhere", 7).await);
}

#[tokio::test]
async fn a_named_budget_shows_its_own_name_and_no_window_of_half_a_second() {
    let limiter = limiter(EXPORT, Hand::default().clock());
    let attempt = Attempt::new(Uuid::new_v4(), host(7));
    let who = Who { mailbox: Some("a@b.ch"), ..Who::default() };
    let policies = limiter.policies();
    let charges = policies.charges("POST /a", &host(7), who, true);
    assert_eq!(charges.len(), 2);
    limiter.decide(&charges, &host(7), "/a", &attempt).await;
    let mut map = http::HeaderMap::new();
    headers::write(&attempt, Hand::default().clock().now(), false, &mut map);
    assert_eq!(map["ratelimit-policy"], "\"export\";q=5");
    assert_eq!(map["ratelimit"], "\"export\";r=4;t=1");
}

#[tokio::test]
async fn a_hit_that_is_no_request_is_counted_and_names_its_close_code() {
    let hand = Hand::default();
    let limiter = limiter(EXPORT, hand.clock());
    let attempt = Attempt::new(Uuid::new_v4(), host(7));
    for _ in 0..5 {
        assert_eq!(limiter.hit("export", "socket 1", None, &attempt).await, Hit::Admitted);
    }
    let over = limiter.hit("export", "socket 1", None, &attempt).await;
    assert_eq!((over, over.close_code()), (Hit::Over(Duration::from_millis(100)), Some(1008)));
    assert_eq!(limiter.hit("export", "socket 2", Some(5), &attempt).await, Hit::Admitted);
    hand.advance(Duration::from_millis(100));
    assert_eq!(limiter.hit("export", "socket 1", None, &attempt).await, Hit::Admitted);
    assert_eq!(Hit::Unavailable(Duration::from_secs(1)).close_code(), Some(1013));
}

#[tokio::test]
async fn a_budget_of_networks_is_the_same_one_when_a_network_is_named() {
    let limiter = limiter(EXPORT, Hand::default().clock());
    let (client, attempt) = (host(7), Attempt::new(Uuid::new_v4(), host(7)));
    let policies = limiter.policies();
    let charges = policies.charges("POST /a", &client, Who::default(), true);
    assert_eq!(admitted(&limiter, &charges[0], &client, 3).await, 3);
    for _ in 0..2 {
        assert_eq!(limiter.hit("export", &client.network(), None, &attempt).await, Hit::Admitted);
    }
    assert_ne!(hit(&limiter, &charges, &client).await, Verdict::Admitted);
    assert_ne!(limiter.hit("export", &client.network(), None, &attempt).await, Hit::Admitted);
    assert_eq!(limiter.hit("export", &host(8).network(), None, &attempt).await, Hit::Admitted);
}

#[tokio::test]
async fn names_that_run_on_into_whom_they_count_are_two_budgets() {
    let budget = |name: &str, path: &str| {
        format!("[[policy]]\nname = \"{name}\"\nroutes = [\"GET {path}\"]\nquota = 1\nwindow = \"60s\"\n")
    };
    let limiter = limiter(&(budget("x", "/a") + &budget("xy", "/b")), Hand::default().clock());
    let attempt = Attempt::new(Uuid::new_v4(), host(7));
    assert_eq!(limiter.hit("x", "yz", None, &attempt).await, Hit::Admitted);
    assert_eq!(limiter.hit("xy", "z", None, &attempt).await, Hit::Admitted);
    assert_ne!(limiter.hit("x", "yz", None, &attempt).await, Hit::Admitted);
}

#[tokio::test]
async fn a_reload_takes_effect_at_once_keeps_the_counts_and_refuses_a_broken_file() {
    let (log, _listening) = Log::listen();
    let file = file("[buckets.auth]\nquota = 5\n");
    let limiter = limiter_of(source(file.path().to_owned()), None, Hand::default().clock());
    let charge = Charge::auth(LOGIN, &host(7));
    assert_eq!(admitted(&limiter, &charge, &host(7), 9).await, 5);
    std::fs::write(file.path(), "[buckets.auth]\nquota = 8\n").unwrap();
    limiter.reload(|_| Vec::new());
    assert_eq!(admitted(&limiter, &charge, &host(7), 9).await, 3);
    std::fs::write(file.path(), "[buckets.auth]\nquota = eight\n").unwrap();
    limiter.reload(|_| Vec::new());
    assert_eq!(log.lines_with("Rate limit policies refused, the old ones stay: line 2").len(), 1);
    std::fs::write(file.path(), "[buckets.auth]\nquota = 99\n").unwrap();
    limiter.reload(|_| vec![String::from("found elsewhere")]);
    assert_eq!(admitted(&limiter, &charge, &host(7), 9).await, 0);
}

#[tokio::test]
async fn digested_keys_name_nobody_and_count_the_same() {
    let setup = Setup { key: Some([7; 32]), ..Setup::reference(Quotas::default(), None) };
    let limiter = Limiter::with(setup, Hand::default().clock());
    let charge = Charge::auth_email(MailScope::MagicLink, "a@b.ch");
    assert_eq!(admitted(&limiter, &charge, &host(7), 12).await, 10);
    let key = limiter.stored_key(&charge).unwrap();
    assert!(key.starts_with("rate_limit:auth_email:") && !key.contains("b.ch") && !key.contains("magic"), "{key}");
    // Redis holds it from one release to the next: keyed BLAKE3 of both parts, each behind its length.
    assert_eq!(key, "rate_limit:auth_email:a77d4ea60d438e43d482a3406c2a92b1");
    assert_ne!(key, limiter.stored_key(&Charge::auth_email(MailScope::Leave, "a@b.ch")).unwrap());
}

#[test]
fn a_profile_has_a_name_and_gives_log_its_share_of_the_memory() {
    assert_eq!(Profile::parse("reference"), Ok(Profile::Reference));
    assert_eq!(Profile::parse("strict"), Ok(Profile::Strict));
    assert_eq!(Profile::parse("Strict"), Err(String::from("must be reference or strict")));
    assert_eq!((Profile::Reference.journal_percent(), Profile::Strict.journal_percent()), (12, 50));
}

#[test]
fn policies_are_found_by_bucket_route_and_name() {
    let text = "[[policy]]\nname = \"a\"\nroutes = [\"GET /api/a\"]\nquota = 2\nwindow = \"1s\"\n";
    let with = load(text).unwrap();
    let without = load("").unwrap();
    assert_eq!((with.has_routes(), without.has_routes()), (true, false));
    assert_eq!(with.routes().collect::<Vec<_>>(), ["GET /api/a"]);
    assert_eq!(without.routes().count(), 0);
    assert_eq!(with.on_route("GET /api/a").len(), 1);
    assert!(with.on_route("GET /api/b").is_empty());
    assert_eq!(with.named("a").map(|policy| policy.rule.quota), Some(2));
    assert!(with.named("b").is_none());
    assert_eq!(with.all().count(), Bucket::ALL.len() + 1);
    for bucket in Bucket::ALL {
        assert_eq!(without.of(*bucket).map(|policy| policy.bucket), Some(*bucket));
    }
}

#[test]
fn rules_are_possible_up_to_their_bounds_and_no_further() {
    const DAY: u64 = 24 * 3600 * 1_000_000;
    const LOG_WINDOW: u64 = 4_294_967_000;
    let fault = |algorithm, quota, window| Rule::new(algorithm, quota, window).fault().map(|(field, _)| field);
    for algorithm in [Algorithm::Fixed, Algorithm::Sliding, Algorithm::Gcra, Algorithm::Bucket] {
        assert_eq!(fault(algorithm, 1, 400 * DAY), None);
        assert_eq!(fault(algorithm, 1, 400 * DAY + 1000), Some("window"));
    }
    for algorithm in Algorithm::ALL {
        assert_eq!(fault(algorithm, 1, 1000), None);
        assert_eq!(fault(algorithm, 1, 0), Some("window"));
        assert_eq!(fault(algorithm, 1, 999), Some("window"));
        assert_eq!(fault(algorithm, 1, 1001), Some("window"));
        assert_eq!(fault(algorithm, 0, 1000), Some("quota"));
        assert_eq!(Rule { burst: 0, ..Rule::new(algorithm, 1, 1000) }.fault().map(|(field, _)| field), Some("burst"));
    }
    assert_eq!((fault(Algorithm::Log, 1000, LOG_WINDOW), fault(Algorithm::Log, 1001, 1000)), (None, Some("quota")));
    assert_eq!(fault(Algorithm::Log, 1, LOG_WINDOW + 1000), Some("window"));
    // What a double holds exactly: 2^53 is 9,007,199,254,740,992.
    for algorithm in [Algorithm::Sliding, Algorithm::SlidingEpoch, Algorithm::Gcra, Algorithm::Bucket] {
        assert_eq!(fault(algorithm, 9_007_199, 1_000_000_000), None);
        assert_eq!(fault(algorithm, 9_007_200, 1_000_000_000), Some("quota"));
        let burst = |burst| Rule { burst, ..Rule::new(algorithm, 1, 1_000_000_000) }.fault().map(|(field, _)| field);
        assert_eq!((burst(9_007_199), burst(9_007_200)), (None, Some("quota")));
    }
    assert_eq!(fault(Algorithm::Fixed, u32::MAX, 400 * DAY), None);
}

#[tokio::test]
async fn a_hit_may_cost_more_or_less_than_its_policy_says() {
    let text = "[[policy]]\nname = \"files\"\nquota = 10\nwindow = \"60s\"\ncost = 3\nalgorithm = \"fixed\"\n";
    let limiter = limiter(text, Hand::default().clock());
    let ask = async |cost| limiter.hit("files", "anna", cost, &Attempt::new(Uuid::nil(), host(1))).await;
    let over = Hit::Over(Duration::from_mins(1));
    for (cost, met) in [
        (Some(4), Hit::Admitted),
        (None, Hit::Admitted),
        (Some(4), over),
        (Some(3), Hit::Admitted),
        // Nothing costs nothing.
        (Some(0), over),
        (Some(1), over),
    ] {
        assert_eq!(ask(cost).await, met, "for {cost:?}");
    }
    assert_eq!((over.close_code(), Hit::Admitted.close_code()), (Some(1008), None));
    assert_eq!(Hit::Unavailable(Duration::ZERO).close_code(), Some(1013));
}

#[tokio::test]
async fn a_name_is_one_budget_on_every_route_and_at_every_reading_and_another_name_is_another() {
    let entry = |name, route| {
        format!(
            "[[policy]]\nname = \"{name}\"\nroutes = [\"{route}\"]\nquota = 3\nwindow = \"60s\"\nalgorithm = \"fixed\"\n"
        )
    };
    let text = [entry("one", "GET /a"), entry("two", "GET /a"), entry("one", "GET /b")].concat();
    let bucket = |policies: &Policies, route: &str, place: usize| policies.on_route(route)[place].bucket;
    let policies = load(&text).unwrap();
    let (one, two) = (bucket(&policies, "GET /a", 0), bucket(&policies, "GET /a", 1));
    assert_ne!(one, two);
    // By its name it is the budget of its routes.
    assert_eq!(policies.named("one").map(|policy| policy.bucket), Some(one));
    assert_eq!(policies.named("two").map(|policy| policy.bucket), Some(two));
    assert_eq!(bucket(&policies, "GET /b", 0), one);
    let again = load(&text).unwrap();
    assert_eq!((bucket(&again, "GET /a", 0), bucket(&again, "GET /a", 1)), (one, two));
    // Whoever meets both is told of both.
    let (limiter, client) = (limiter(&text, Hand::default().clock()), host(1));
    let charges = again.charges("GET /a", &client, Who::default(), true);
    let attempt = Attempt::new(Uuid::nil(), host(1));
    assert_eq!(limiter.decide(&charges, &client, "/a", &attempt).await, Verdict::Admitted);
    let mut told = http::HeaderMap::new();
    headers::write(&attempt, Hand::default().clock().now(), false, &mut told);
    assert_eq!(told["ratelimit-policy"], "\"one\";q=3;w=60, \"two\";q=3;w=60");
}
