//! At most so many at a time: never exceeded, never leaked, shared by processes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use http_body::Body;
use http_body_util::{BodyExt, Full};
use labs_auth::{
    clock::Clock,
    limit::{
        Backend, Limiter, Quotas, RedisAddress, Setup,
        slots::{Slot, SlotPolicy, Slots},
    },
};
use redis::{AsyncTypedCommands, cmd};

use super::{
    server::Server,
    world::{connection, on_redis, until},
};

fn alone(policy: SlotPolicy) -> Slots {
    Slots::new(policy, Limiter::new(Quotas::default(), None, Clock::system())).unwrap()
}

#[tokio::test]
async fn one_more_than_the_limit_is_refused_with_the_status_that_fits() {
    let shared = alone(SlotPolicy::new("reports", 2));
    let held = [shared.take("").await.unwrap(), shared.take("").await.unwrap()];
    let refused = shared.take("").await.unwrap_err();
    assert_eq!((refused.code().wire(), refused.wait().unwrap().seconds()), ("SYS_002", 1));
    drop(held);
    shared.take("").await.unwrap();

    let each = alone(SlotPolicy { per_client: true, ..SlotPolicy::new("uploads", 1) });
    let _one = each.take("203.0.113.7").await.unwrap();
    let refused = each.take("203.0.113.7").await.unwrap_err();
    assert_eq!(refused.code().wire(), "RATE_001");
    assert_eq!(refused.sentence(), "Too many requests at once. Please try again later.");
    each.take("203.0.113.8").await.unwrap();
}

#[tokio::test]
async fn leases_lie_under_names_that_say_whose_they_are_or_hide_it() {
    let Some(server) = Server::start(&[]).await else { return };
    let mut redis = connection(&server.url()).await;
    let digest = &blake3::keyed_hash(&[7; 32], b"203.0.113.7").to_hex()[..32];
    for (key, names) in [
        (None, [String::from("rate_limit:slots:uploads"), String::from("rate_limit:slots:uploads:203.0.113.7")]),
        (Some([7; 32]), [String::from("rate_limit:slots:uploads"), format!("rate_limit:slots:uploads:{digest}")]),
    ] {
        let redis_address = RedisAddress::from_url(&server.url()).unwrap();
        let setup = Setup { key, ..Setup::reference(Quotas::default(), Some(redis_address)) };
        let limiter = Limiter::with(setup, Clock::system());
        until("redis", async || {
            limiter.begin().await;
            limiter.backend() == Backend::Redis
        })
        .await;
        let slots = |per_client| {
            let policy = SlotPolicy { per_client, ..SlotPolicy::new("uploads", 2) };
            Slots::new(policy, limiter.clone()).unwrap()
        };
        let _held = [slots(false).take("").await.unwrap(), slots(true).take("203.0.113.7").await.unwrap()];
        let mut held = redis.keys("rate_limit:slots:*").await.unwrap();
        held.sort();
        assert_eq!(held, names);
        cmd("FLUSHALL").exec_async(&mut redis).await.unwrap();
    }
}

#[tokio::test]
async fn a_crowd_of_strangers_takes_no_slot_from_the_count_of_whoever_holds_one() {
    let each = alone(SlotPolicy { per_client: true, ..SlotPolicy::new("uploads", 1) });
    let _held = each.take("holder").await.unwrap();
    for stranger in 0..3000 {
        each.take(&format!("stranger {stranger}")).await.unwrap();
    }
    assert!(each.take("holder").await.is_err(), "the count of the held slot was let go");
}

#[tokio::test]
async fn a_body_that_holds_a_slot_is_as_long_as_it_was() {
    let slots = alone(SlotPolicy::new("reports", 1));
    let mut held = slots.take("").await.unwrap().with(Full::new(bytes::Bytes::from("abc")));
    assert_eq!((held.size_hint().exact(), held.is_end_stream()), (Some(3), false));
    assert_eq!(held.frame().await.unwrap().unwrap().into_data().unwrap(), "abc");
    assert_eq!((held.size_hint().exact(), held.is_end_stream()), (Some(0), true));
}

#[test]
fn impossible_numbers_are_refused() {
    let limiter = || Limiter::new(Quotas::default(), None, Clock::system());
    for (limit, ttl) in [(0, 60), (10_001, 60), (1, 0)] {
        let policy = SlotPolicy { ttl: Duration::from_secs(ttl), ..SlotPolicy::new("x", limit) };
        assert!(Slots::new(policy, limiter()).is_err(), "{limit}, {ttl}");
    }
}

#[tokio::test]
async fn whoever_waits_is_served_in_order_and_no_longer_than_the_wait() {
    let slots = alone(SlotPolicy { wait: Duration::from_secs(10), ..SlotPolicy::new("reports", 1) });
    let held = slots.take("").await.unwrap();
    let (order, mut tasks) = (Arc::new(std::sync::Mutex::new(Vec::new())), Vec::new());
    for number in 0..3 {
        let (slots, order) = (slots.clone(), order.clone());
        tasks.push(tokio::spawn(async move {
            let slot = slots.take("").await.unwrap();
            order.lock().unwrap().push(number);
            drop(slot);
        }));
        tokio::task::yield_now().await;
    }
    drop(held);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2]);

    let hasty = alone(SlotPolicy { wait: Duration::from_millis(30), ..SlotPolicy::new("hasty", 1) });
    let _held = hasty.take("").await.unwrap();
    let (first, second) = tokio::join!(hasty.take(""), hasty.take(""));
    assert!(first.is_err() && second.is_err());
}

#[tokio::test]
async fn a_slot_is_held_until_the_last_byte_or_the_body_is_dropped() {
    let slots = alone(SlotPolicy::new("downloads", 1));
    let body = slots.take("").await.unwrap().with(Full::new(bytes::Bytes::from_static(b"all of it")));
    assert!(slots.take("").await.is_err());
    assert_eq!(body.collect().await.unwrap().to_bytes(), "all of it");
    let gone = slots.take("").await.unwrap().with(Full::new(bytes::Bytes::from_static(b"unread")));
    assert!(slots.take("").await.is_err());
    drop(gone);
    slots.take("").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_parallel_takers_in_two_processes_never_exceed_the_limit() {
    let Some(server) = Server::start(&[]).await else { return };
    let policy = SlotPolicy { wait: Duration::from_secs(20), ..SlotPolicy::new("hashes", 3) };
    let mut processes = Vec::new();
    for _ in 0..2 {
        processes.push(Slots::new(policy.clone(), on_redis(&server.url()).await).unwrap());
    }
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks = (0..50).map(|number| {
        let (slots, inside, most) = (processes[number % 2].clone(), inside.clone(), most.clone());
        tokio::spawn(async move {
            let slot = slots.take("").await.unwrap();
            most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, SeqCst);
            drop(slot);
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert!(most.load(SeqCst) <= 3, "{most:?} at once");
    let mut redis = connection(&server.url()).await;
    until("all are given back", async || !redis.exists("rate_limit:slots:hashes").await.unwrap()).await;
}

#[tokio::test]
async fn the_slots_of_a_dead_process_are_free_after_their_ttl_and_a_living_one_keeps_its_own() {
    let Some(server) = Server::start(&[]).await else { return };
    let policy = SlotPolicy { ttl: Duration::from_secs(1), ..SlotPolicy::new("reports", 2) };
    let slots = Slots::new(policy.clone(), on_redis(&server.url()).await).unwrap();
    let other = Slots::new(policy, on_redis(&server.url()).await).unwrap();
    let _living: Slot = slots.take("").await.unwrap();
    // What a killed process leaves behind: a lease that nobody renews.
    let mut redis = connection(&server.url()).await;
    let time: (i64, i64) = cmd("TIME").query_async(&mut redis).await.unwrap();
    redis.zadd("rate_limit:slots:reports", "dead", time.0 * 1000 + time.1 / 1000 + 1000).await.unwrap();
    assert!(other.take("").await.is_err());
    until("the dead one's slot is free", async || other.take("").await.is_ok()).await;
    // The living one's has outlived several of its own leases by now, or soon will.
    let started = std::time::Instant::now();
    until("two more leases have passed", async || started.elapsed() > Duration::from_secs(2)).await;
    let _second = other.take("").await.unwrap();
    assert!(other.take("").await.is_err(), "the living one's slot was given away");
}

#[tokio::test]
async fn without_redis_a_closed_limit_refuses_and_another_counts_its_own() {
    let nowhere = || Some(RedisAddress::from_parts("127.0.0.1", 1, 0, None).unwrap());
    let limiter = Limiter::new(Quotas::default(), nowhere(), Clock::system());
    let closed = Slots::new(SlotPolicy { closed: true, ..SlotPolicy::new("a", 2) }, limiter.clone()).unwrap();
    assert_eq!(closed.take("").await.unwrap_err().code().wire(), "SYS_002");
    let open = Slots::new(SlotPolicy::new("b", 1), limiter).unwrap();
    let _held = open.take("").await.unwrap();
    assert!(open.take("").await.is_err());
}
