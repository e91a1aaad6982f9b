//! What a server says, when it says it, and what is made of that: a Redis played by hand, and no Redis at all.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use labs_auth::{
    clock::Clock,
    limit::{
        Backend, Charge, ClientIp, Limiter, MailScope, Quotas, RedisAddress, RedisState, Setup, Verdict,
        policy::PolicySource,
    },
};
use tokio::{net::TcpListener, time::timeout};

use super::{
    fake::{ADMITS, Answer, Fake, Heard, NO_TIME, REFUSES},
    world::{Hand, LOGIN, Log, admitted, hit, host, mailbox, run, somebody, until},
};

const SHADOW: &str = "[buckets.auth]\nmode = \"shadow\"\n";

/// A limiter on the fake, with the policies of a file's text, once it stands on Redis.
async fn on(address: RedisAddress, text: &str, clock: Clock) -> Limiter {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let source = PolicySource { path: Some(file.path().to_owned()), ..PolicySource::default() };
    let policies = source.load().unwrap();
    let limiter = Limiter::with(Setup { source, policies, redis: Some(address), memory_mb: 1, key: None }, clock);
    until("redis", async || {
        limiter.begin().await;
        limiter.backend() == Backend::Redis
    })
    .await;
    limiter
}

fn address(fake: &Fake) -> RedisAddress {
    RedisAddress::from_url(&fake.url()).unwrap()
}

/// Whether a decision asks about a login.
fn asks_about_login(heard: &Heard) -> bool {
    heard.keys().iter().any(|key| key.starts_with("rate_limit:auth:"))
}

/// A server that answers decisions about a login with these numbers for the first bucket, and for no other.
async fn answers_login(first: [i64; 6]) -> Fake {
    let answer = [&first[..], &NO_TIME].concat();
    Fake::start(move |heard| asks_about_login(heard).then(|| Answer::decides(&answer))).await
}

/// Runs a test up to three times until it passes: a stall of this machine moves a request to memory, and proves nothing.
async fn patiently(test: impl AsyncFn()) {
    for round in 1.. {
        match AssertUnwindSafe(test()).catch_unwind().await {
            Ok(()) => return,
            Err(failure) if round == 3 => resume_unwind(failure),
            Err(_) => println!("once more"),
        }
    }
}

/// A login, and behind it the mailbox that it is for.
fn login_and_mailbox() -> [Charge<'static>; 2] {
    [Charge::auth(LOGIN, &host(7)), Charge::auth_email(MailScope::Leave, mailbox())]
}

#[tokio::test]
async fn the_latency_told_is_that_of_the_last_ping() {
    // The clock goes on with each PING alone, by so many milliseconds.
    let (hand, pace) = (Hand::default(), Arc::new(AtomicU64::new(7)));
    let (passing, millis) = (hand.clone(), Arc::clone(&pace));
    let fake = Fake::start(move |heard| {
        if heard.is("PING") {
            passing.advance(Duration::from_millis(millis.load(SeqCst)));
        }
        None
    })
    .await;
    let limiter = on(address(&fake), "", hand.clock()).await;
    let latency = || match limiter.redis_state() {
        RedisState::Healthy { latency, .. } => latency,
        other => panic!("{other:?}"),
    };
    assert!(latency() >= Duration::from_millis(7), "{:?}", latency());
    pace.store(1, SeqCst);
    let _running = run(&limiter);
    until("the next PING is told", async || latency() == Duration::from_millis(1)).await;
}

#[tokio::test]
async fn one_unanswered_ping_is_forgiven_and_a_second_in_a_row_is_not() {
    let silent = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&silent);
    let fake = Fake::start(move |heard| (heard.is("PING") && is_silent.load(SeqCst)).then_some(Answer::Silence)).await;
    let limiter = on(address(&fake), "", Clock::system()).await;
    let in_use = fake.heard().last().unwrap().connection;
    fake.forget();
    silent.store(true, SeqCst);
    let _running = run(&limiter);
    until("memory", async || limiter.backend() == Backend::Memory).await;
    let unanswered = || fake.heard().iter().filter(|heard| heard.is("PING") && heard.connection == in_use).count();
    until("both PINGs were heard", async || unanswered() == 2).await;
}

#[tokio::test]
async fn processes_that_lost_redis_look_for_it_after_up_to_a_quarter_less_than_the_pause_and_not_in_step() {
    const PROCESSES: usize = 40;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let limiters: Vec<_> = (0..PROCESSES)
        .map(|_| {
            let redis = Some(RedisAddress::from_url(&url).unwrap());
            Limiter::with(Setup { memory_mb: 1, ..Setup::reference(Quotas::default(), redis) }, Clock::system())
        })
        .collect();
    let started = Instant::now();
    let _running: Vec<_> = limiters.iter().map(run).collect();
    let mut pauses = Vec::new();
    while pauses.len() < PROCESSES {
        // Whoever comes is sent away, and comes again only after a longer pause.
        timeout(Duration::from_secs(10), listener.accept()).await.expect("nobody looks for Redis").unwrap();
        pauses.push(started.elapsed());
    }
    // The first pause is a quarter of a second.
    assert!(pauses[0] >= Duration::from_micros(187_500), "too early: {pauses:?}");
    assert!(pauses[PROCESSES / 2] < Duration::from_millis(1500), "too late: {pauses:?}");
    // That none of them waits longer than this has a chance of one in 270 million.
    assert!(pauses[PROCESSES - 1] >= Duration::from_micros(227_500), "in step: {pauses:?}");
}

#[tokio::test]
async fn an_answer_ends_with_the_first_refusal_that_counts() {
    patiently(async || {
        let fake = answers_login(REFUSES).await;
        let limiter = on(address(&fake), "", Clock::system()).await;
        fake.forget();
        assert_ne!(hit(&limiter, &login_and_mailbox(), &host(7)).await, Verdict::Admitted);
        assert_eq!((limiter.backend(), limiter.decided_by_memory()), (Backend::Redis, 0));
        assert_eq!(fake.heard().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn every_end_and_store_has_a_number_of_its_own() {
    patiently(async || {
        let gone = Arc::new(AtomicBool::new(false));
        let is_gone = Arc::clone(&gone);
        let fake = Fake::start(move |heard| {
            if is_gone.load(SeqCst) {
                return Some(Answer::HangsUp);
            }
            asks_about_login(heard).then(|| Answer::decides(&[&REFUSES[..], &NO_TIME].concat()))
        })
        .await;
        let limiter = on(address(&fake), "", Clock::system()).await;
        let login = |client: &ClientIp| Charge::auth(LOGIN, client);
        for _ in 0..3 {
            assert_ne!(hit(&limiter, &[login(&host(7))], &host(7)).await, Verdict::Admitted);
        }
        gone.store(true, SeqCst);
        assert_eq!(admitted(&limiter, &login(&host(8)), &host(8), 31).await, 30);
        let text = limiter.metrics(&[]);
        for (outcome, store, count) in
            [("refused", "redis", 1), ("refused", "process", 2), ("admitted", "memory", 30), ("refused", "memory", 1)]
        {
            let labels = format!("{{policy=\"auth\",outcome=\"{outcome}\",store=\"{store}\"}}");
            let line = format!("decisions_total{labels} {count}\n");
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
        assert!(text.contains("redis_seconds_count 1\n"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_ends_too_early_is_none() {
    patiently(async || {
        for (text, first) in [("", ADMITS), (SHADOW, ADMITS), (SHADOW, REFUSES)] {
            let (log, _listening) = Log::listen();
            let fake = answers_login(first).await;
            let limiter = on(address(&fake), text, Clock::system()).await;
            assert_eq!(hit(&limiter, &login_and_mailbox(), &host(7)).await, Verdict::Admitted);
            assert_eq!((limiter.backend(), limiter.decided_by_memory()), (Backend::Memory, 1), "{text:?}, {first:?}");
            assert_eq!(log.lines_with("Redis unavailable (protocol)").len(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn only_a_lost_script_is_loaded_again() {
    patiently(async || {
        for (code, commands) in [("OOM", &["EVALSHA"][..]), ("NOSCRIPT", &["EVALSHA", "SCRIPT", "EVALSHA"])] {
            let refusal = format!("-{code} whatever\r\n");
            let fake =
                Fake::start(move |heard| asks_about_login(heard).then(|| Answer::Says(refusal.clone().into_bytes())))
                    .await;
            let limiter = on(address(&fake), "", Clock::system()).await;
            fake.forget();
            assert_eq!(hit(&limiter, &login_and_mailbox(), &host(7)).await, Verdict::Admitted);
            assert_eq!((limiter.backend(), limiter.decided_by_memory()), (Backend::Redis, 1));
            let heard: Vec<_> = fake.heard().into_iter().map(|heard| heard.words[0].clone()).collect();
            assert_eq!(heard, commands);
        }
    })
    .await;
}

#[tokio::test]
async fn on_a_cluster_a_refusal_spends_nothing_behind_it_unless_it_is_a_shadow() {
    patiently(async || {
        for (text, asked) in [("", 2), (SHADOW, 3)] {
            let fake = answers_login(REFUSES).await;
            let limiter = on(address(&fake).in_cluster(), text, Clock::system()).await;
            fake.forget();
            let [auth, mail] = login_and_mailbox();
            let charges = [Charge::ip(&host(7)), auth, mail];
            assert_eq!(hit(&limiter, &charges, &host(7)).await == Verdict::Admitted, asked == 3);
            let keys: Vec<_> = fake.heard().iter().flat_map(|heard| heard.keys().to_vec()).collect();
            assert_eq!(keys, charges[..asked].iter().map(Charge::key).collect::<Vec<_>>());
            assert_eq!(limiter.decided_by_memory(), 0);
        }
    })
    .await;
}

#[tokio::test]
async fn what_redis_told_of_two_windows_outlives_the_first_in_a_memory_full_of_strangers() {
    const SERVERS_TIME: i64 = 1_800_000_000_000_000;
    patiently(async || {
        let (hand, gone) = (Hand::default(), Arc::new(AtomicBool::new(false)));
        let is_gone = Arc::clone(&gone);
        // The window begins with the hit that spends all of it.
        let spent = [1, 0, 60_000_000, SERVERS_TIME, 30, 0, SERVERS_TIME];
        let fake = Fake::start(move |heard| {
            if is_gone.load(SeqCst) {
                return Some(Answer::HangsUp);
            }
            asks_about_login(heard).then(|| Answer::decides(&spent))
        })
        .await;
        let limiter = on(address(&fake), "[buckets.auth]\nalgorithm = \"sliding\"\n", hand.clock()).await;
        let clients: Vec<_> = (0..10).map(|_| somebody()).collect();
        for client in &clients {
            assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, client), client, 1).await, 1);
        }
        assert_eq!((limiter.backend(), limiter.decided_by_memory()), (Backend::Redis, 0));
        gone.store(true, SeqCst);
        assert_eq!(admitted(&limiter, &Charge::ip(&host(7)), &host(7), 1).await, 1);
        assert_eq!(limiter.backend(), Backend::Memory);
        hand.advance(Duration::from_secs(90));
        // One mebibyte has room for fewer than half of these.
        for _ in 0..66_000 {
            let stranger = somebody();
            assert_eq!(admitted(&limiter, &Charge::ip(&stranger), &stranger, 1).await, 1);
        }
        assert!(limiter.evicted() > 30_000, "{}", limiter.evicted());
        for client in &clients {
            // Half of what the window before admitted still counts.
            assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, client), client, 31).await, 15);
        }
    })
    .await;
}
