//! The embedded store: exact waits, room that runs out, and a clock that breaks.

use std::{
    collections::HashSet,
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    task::{Context, Waker},
    time::Duration,
};

use labs_auth::{
    clock::{Clock, TimeSource},
    limit::{
        Backend, Charge, ClientIp, Limiter, MailScope, Prefixes, Quotas, RedisState, Verdict,
        algorithm::{Algorithm, Rule},
        memory::Memory,
    },
};

use super::world::{Hand, LOGIN, Log, admitted, hit, host};

const RULE: Rule = Rule::new(Algorithm::Fixed, 30, 60_000_000);

/// Slots in which one key may stand: the least that a table has.
const SET: usize = 16;

/// Bits, places and words that are alike in two charges make them no less two.
#[tokio::test]
async fn what_redis_counts_apart_memory_counts_apart() {
    let limiter = Limiter::new(Quotas::default(), None, Hand::default().clock());
    let all_bits = Prefixes { ipv6: 128, ..Prefixes::default() };
    let of = |address: &str| ClientIp::from_address(address.parse().unwrap(), all_bits);
    let (four, six) = (of("7.7.7.7"), of("::7.7.7.7"));
    let wide = ClientIp::from_address("::".parse().unwrap(), Prefixes { ipv6: 64, ..all_bits });
    let charges = [
        Charge::auth("/a", &four),
        Charge::auth("/b", &four),
        Charge::auth("/a", &six),
        Charge::auth("/a", &of("::")),
        Charge::auth("/a", &wide),
        Charge::auth("/a", &of("0.0.0.0")),
        Charge::auth("/a", &ClientIp::local()),
        Charge::auth("/a", &ClientIp::unknown()),
        Charge::ip(&four),
        Charge::public_ip(&four),
        Charge::signup_ip(&four),
        Charge::auth_email(MailScope::Leave, "a@b.ch"),
        Charge::auth_email(MailScope::Leave, "c@b.ch"),
        Charge::auth_email(MailScope::MagicLink, "a@b.ch"),
        Charge::signup_email("a@b.ch"),
    ];
    let keys: HashSet<String> = charges.iter().map(Charge::key).collect();
    assert_eq!(keys.len(), charges.len());
    for charge in &charges {
        assert_eq!(admitted(&limiter, charge, &four, 1).await, 1, "{}", charge.key());
    }
    for charge in &charges {
        let quota = usize::try_from(charge.bucket().quota(limiter.quotas())).unwrap();
        assert_eq!(admitted(&limiter, charge, &four, quota).await, quota - 1, "{}", charge.key());
    }
}

#[tokio::test]
async fn a_wait_is_exactly_the_rest_of_the_window() {
    // case 167
    let hand = Hand::default();
    let limiter = Limiter::new(Quotas::default(), None, hand.clock());
    let charge = Charge::auth(LOGIN, &host(7));
    assert_eq!(admitted(&limiter, &charge, &host(7), 30).await, 30);
    let mut passed = 0;
    for (at, header) in [(1_000, 59), (30_000, 30), (59_900, 1), (59_950, 1), (59_999, 1)] {
        hand.advance(Duration::from_millis(at - passed));
        passed = at;
        let Verdict::Refused(refusal) = hit(&limiter, std::slice::from_ref(&charge), &host(7)).await else {
            panic!("admitted after {at} ms");
        };
        assert_eq!(refusal.wait(), Duration::from_millis(60_000 - at));
        assert_eq!(refusal.retry_after().seconds(), header);
    }
    hand.advance(Duration::from_millis(1));
    assert_eq!(admitted(&limiter, &charge, &host(7), 31).await, 30);
}

#[tokio::test]
async fn without_redis_the_backend_is_memory_and_redis_disabled() {
    let limiter = Limiter::new(Quotas::default(), None, Hand::default().clock());
    limiter.begin().await;
    assert_eq!((limiter.backend(), limiter.redis_state()), (Backend::Memory, RedisState::Disabled));
}

#[test]
fn a_flood_of_new_keys_flushes_no_running_refusal() {
    let memory = Memory::with_size(Hand::default().clock(), SET, 0);
    for _ in 0..30 {
        assert!(memory.hit("refused", RULE, 1).admitted);
    }
    for fresh in 0..2000 {
        assert!(memory.hit(&format!("fresh {fresh}"), RULE, 1).admitted, "refused for lack of a slot");
    }
    assert!(!memory.hit("refused", RULE, 1).admitted);
    assert_eq!(memory.len(), 16);
    assert_eq!(memory.evicted(), 1985);
}

#[test]
fn a_table_full_of_refusals_still_refuses_nobody_new() {
    let memory = Memory::with_size(Hand::default().clock(), SET, 0);
    for client in 0..SET {
        for _ in 0..31 {
            memory.hit(&format!("refused {client}"), RULE, 1);
        }
    }
    assert!(memory.hit("fresh", RULE, 1).admitted);
    assert_eq!(memory.len(), SET);
}

#[test]
fn the_busier_entry_outlives_the_fresher_one() {
    let memory = Memory::with_size(Hand::default().clock(), SET, 0);
    let hits = |key: &str, times| (0..times).map(|_| memory.hit(key, RULE, 1).remaining).last();
    hits("busy", 20);
    for client in 1..SET {
        hits(&format!("fresh {client}"), 2);
    }
    hits("new", 1);
    assert_eq!(hits("busy", 1), Some(9));
    assert_eq!(memory.evicted(), 1);
}

#[test]
fn how_much_of_its_own_budget_an_entry_has_used_is_what_counts() {
    let memory = Memory::with_size(Hand::default().clock(), SET, 0);
    let (large, small) = (Rule { quota: 1000, burst: 1000, ..RULE }, Rule { quota: 10, burst: 10, ..RULE });
    memory.hit("two fifths of much", large, 400);
    for client in 1..=SET {
        memory.hit(&format!("a tenth of little {client}"), small, 1);
    }
    assert_eq!(memory.evicted(), 1);
    assert_eq!(memory.hit("two fifths of much", large, 1).remaining, 599);

    let memory = Memory::with_size(Hand::default().clock(), SET, 0);
    memory.hit("a fifth of much", large, 200);
    for client in 1..=SET {
        memory.hit(&format!("half of little {client}"), small, 5);
    }
    assert_eq!(memory.evicted(), 1);
    assert_eq!(memory.hit("half of little 1", small, 1).remaining, 4);
}

#[test]
fn ended_entries_make_room_first() {
    let hand = Hand::default();
    let memory = Memory::with_size(hand.clock(), SET, 0);
    for _ in 0..30 {
        memory.hit("ended", RULE, 1);
    }
    hand.advance(Duration::from_secs(59));
    for client in 1..SET {
        memory.hit(&format!("running {client}"), RULE, 1);
    }
    hand.advance(Duration::from_secs(1));
    memory.hit("new", RULE, 1);
    assert_eq!(memory.hit("running 1", RULE, 1).remaining, 28);
    assert_eq!(memory.evicted(), 0);
}

#[test]
fn five_thousand_refusals_outlive_a_hundred_times_the_capacity_in_fresh_keys() {
    // 640 KiB.
    let (slots, rule) = (20_480, Rule::new(Algorithm::Gcra, 2, 60_000_000));
    let memory = Memory::with_size(Hand::default().clock(), slots, 0);
    for client in 0..5000 {
        for _ in 0..3 {
            memory.hit(&format!("refused {client}"), rule, 1);
        }
    }
    let lost =
        |memory: &Memory| (0..5000).filter(|client| memory.hit(&format!("refused {client}"), rule, 1).admitted).count();
    assert_eq!(memory.evicted(), 0);
    let mut key = String::new();
    for fresh in 0..100 * slots {
        key.clear();
        let _ = std::fmt::Write::write_fmt(&mut key, format_args!("fresh {fresh}"));
        assert!(memory.hit(&key, rule, 1).admitted);
    }
    assert_eq!(lost(&memory), 0);
    assert_eq!(memory.len(), slots);
}

#[test]
fn a_table_grows_to_its_size_and_loses_nobody_on_the_way() {
    for (sets, most) in [(1, 1), (127, 127), (128, 128), (300, 300), (1003, 1000)] {
        let memory = Memory::with_size(Hand::default().clock(), sets * SET, 0);
        let hits = |client: usize| 1 + u32::try_from(client % 7).unwrap();
        // So few that no set of a table in full use would overflow.
        let clients = sets * SET / 4;
        for client in 0..clients {
            assert_eq!(memory.hit(&client.to_string(), RULE, hits(client)).remaining, 30 - hits(client));
        }
        assert_eq!((memory.len(), memory.evicted()), (clients, 0), "{sets} sets");
        for client in 0..clients {
            assert_eq!(
                memory.hit(&client.to_string(), RULE, 1).remaining,
                29 - hits(client),
                "{client} of {sets} sets"
            );
        }
        memory.forget("0");
        assert_eq!((memory.len(), memory.hit("0", RULE, 1).remaining), (clients - 1, 29), "{sets} sets");
        for stranger in 0..8 * sets * SET {
            memory.hit(&format!("stranger {stranger}"), RULE, 1);
        }
        assert_eq!(memory.len(), most * SET, "{sets} sets");
    }
}

#[test]
fn the_first_refusal_of_a_window_is_told_and_no_other() {
    let hand = Hand::default();
    let memory = Memory::with_size(hand.clock(), SET, 0);
    let told = |algorithm, millis| {
        hand.advance(Duration::from_millis(millis));
        memory.hit(&format!("{algorithm:?}"), Rule::new(algorithm, 1, 1_500_000), 1).first_refusal
    };
    let told = |algorithm, [one, two, three]: [u64; 3]| [one, two, three].map(|millis| told(algorithm, millis));
    assert_eq!(told(Algorithm::Fixed, [0, 100, 1399]), [false, true, false]);
    // The next window is its own, though it begins within the second in which the last one ended.
    assert_eq!(told(Algorithm::Fixed, [1, 100, 100]), [false, true, false]);
    // What has no windows tells once in the time of one, rounded up to whole seconds.
    assert_eq!(told(Algorithm::Gcra, [0, 100, 1399]), [false, true, false]);
    assert_eq!(told(Algorithm::Gcra, [1, 100, 1300]), [false, false, true]);
}

#[test]
fn what_is_forgotten_begins_anew_and_what_is_held_is_counted() {
    let memory = Memory::with_size(Hand::default().clock(), SET, 64 * 1024);
    assert!(memory.is_empty());
    let log = Rule::new(Algorithm::Log, 2, 60_000_000);
    for rule in [RULE, log] {
        for key in ["one", "two"] {
            assert!(memory.hit(key, rule, rule.quota).admitted);
            assert!(!memory.hit(key, rule, 1).admitted);
        }
    }
    assert!(!memory.is_empty());
    assert_eq!(memory.len(), 4);
    memory.forget("one");
    assert_eq!(memory.len(), 2);
    for rule in [RULE, log] {
        assert!(memory.hit("one", rule, rule.quota).admitted);
        assert!(!memory.hit("two", rule, 1).admitted);
    }
}

#[test]
fn what_table_and_journal_gave_up_is_counted_together() {
    let memory = Memory::with_size(Hand::default().clock(), SET, 8 * 1024);
    for client in 0..SET + 2 {
        memory.hit(&format!("client {client}"), RULE, 1);
    }
    assert_eq!(memory.evicted(), 2);
    // Two records of the largest quota fill the journal.
    for client in 0..2 + 3 {
        memory.hit(&format!("client {client}"), Rule::new(Algorithm::Log, 1000, 60_000_000), 1);
    }
    assert_eq!(memory.evicted(), 2 + 3);
}

#[test]
fn a_log_takes_24_bytes_and_4_for_each_hit_of_its_quota_but_one() {
    let rule = Rule::new(Algorithm::Log, 30, 60_000_000);
    let memory = Memory::with_size(Hand::default().clock(), SET, 1024 * 1024);
    for client in 0..1000 {
        for _ in 0..31 {
            memory.hit(&format!("client {client}"), rule, 1);
        }
    }
    assert_eq!(memory.evicted(), 0);
    assert_eq!(memory.journal_bytes(), 1000 * (24 + 4 * 29));
    for client in 0..100_000 {
        assert!(memory.hit(&format!("fresh {client}"), rule, 1).admitted, "refused for lack of room");
    }
    assert!(memory.journal_bytes() <= 1024 * 1024, "{}", memory.journal_bytes());
    for client in 0..1000 {
        assert!(!memory.hit(&format!("client {client}"), rule, 1).admitted);
    }
}

#[test]
fn a_log_whose_quota_changes_keeps_its_hits() {
    let log = |quota| Rule::new(Algorithm::Log, quota, 60_000_000);
    let memory = Memory::with_size(Hand::default().clock(), SET, 64 * 1024);
    for _ in 0..30 {
        memory.hit("k", log(30), 1);
    }
    assert_eq!(memory.hit("k", log(40), 1).remaining, 9);
    assert!(!memory.hit("k", log(10), 1).admitted);
    assert_eq!(memory.len(), 1);
}

#[tokio::test]
async fn a_sweep_drops_what_has_ended_and_nothing_else() {
    // case 169
    let hand = Hand::default();
    let memory = Memory::new(hand.clock(), 16, 12);
    for old in 0..20_000 {
        memory.hit(&format!("old {old}"), RULE, 1);
    }
    hand.advance(Duration::from_secs(30));
    memory.hit("young", RULE, 1);
    hand.advance(Duration::from_secs(30));
    memory.sweep().await;
    assert_eq!(memory.len(), 1);
    assert_eq!(memory.hit("young", RULE, 1).remaining, 28);
}

#[tokio::test]
async fn a_table_counts_the_seconds_of_eight_years_and_a_half() {
    let hand = Hand::default();
    let memory = Memory::with_size(hand.clock(), SET, 0);
    hand.advance(Duration::from_secs((1 << 28) - 10));
    assert!(memory.hit("k", RULE, 30).admitted);
    memory.sweep().await;
    assert!(!memory.hit("k", RULE, 1).admitted);
}

#[test]
fn a_sweep_lets_requests_through_after_every_lock() {
    let looks = Arc::new(AtomicU64::new(0));
    let memory = Memory::with_size(Clock::from_source(Counting(looks.clone())), 1024 * SET, 0);
    let mut sweep = pin!(memory.sweep());
    let (mut turns, mut seen) = (0, looks.load(SeqCst));
    loop {
        let ready = sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        turns += 1;
        let now = looks.load(SeqCst);
        assert!(now - seen <= 1, "{} locks in one turn", now - seen);
        seen = now;
        if ready {
            break;
        }
    }
    assert!((129..256).contains(&turns), "{turns}");
    assert!(seen > 128, "{seen}");
}

/// Counts how often it is looked at: once for each lock that a sweep takes.
struct Counting(Arc<AtomicU64>);

impl TimeSource for Counting {
    fn wall_micros(&self) -> i64 {
        0
    }

    fn monotonic_micros(&self) -> u64 {
        self.0.fetch_add(1, SeqCst)
    }
}

#[test]
fn two_hundred_thousand_clients_fit() {
    // case 169
    let memory = Memory::new(Hand::default().clock(), 16, 12);
    for client in 0..200_000 {
        memory.hit(&format!("rate_limit:auth:/api/auth/login:{client}"), RULE, 1);
    }
    // Sets fill unevenly; what little is lost was one hit old.
    assert!(memory.evicted() < 200, "{}", memory.evicted());
}

struct Breaking(Arc<AtomicBool>);

impl TimeSource for Breaking {
    fn wall_micros(&self) -> i64 {
        0
    }

    fn monotonic_micros(&self) -> u64 {
        assert!(!self.0.load(SeqCst), "the clock broke");
        0
    }
}

#[tokio::test]
async fn a_panic_inside_the_limiter_admits_and_is_told() {
    let (log, _listening) = Log::listen();
    let broken = Arc::new(AtomicBool::new(false));
    let limiter = Limiter::new(Quotas::default(), None, Clock::from_source(Breaking(broken.clone())));
    let charge = Charge::auth(LOGIN, &host(7));
    assert_eq!(admitted(&limiter, &charge, &host(7), 30).await, 30);
    broken.store(true, SeqCst);
    assert_eq!(admitted(&limiter, &charge, &host(7), 2).await, 2);
    assert_eq!(log.lines_with("Rate limiter error, request admitted").len(), 2);
    assert_eq!(limiter.panics(), 2);
    // The lock that the panic went through serves on, and no count is lost.
    broken.store(false, SeqCst);
    assert_eq!(admitted(&limiter, &charge, &host(7), 1).await, 0);
}
