//! The records of `log`: how many fit, which makes way, and what Redis's answers add to them.

use std::time::Duration;

use labs_auth::limit::{
    algorithm::{Algorithm, Outcome, Rule},
    memory::{Memory, Reading, Seen},
};

use proptest::{
    collection::vec,
    prelude::{prop_assert_eq, proptest},
};

use tokio::runtime::Builder;

use super::world::Hand;

const SECOND: u64 = 1_000_000;

/// Bytes of one shard: 2100 words of 32 bits.
const SHARD: usize = 8400;

/// A quota of which 30 records of 5 + 65 words fill a shard to the last word.
const EXACT: u32 = 65;
const FIT: usize = 30;

const fn log(quota: u32) -> Rule {
    Rule::new(Algorithm::Log, quota, 60 * SECOND)
}

/// A memory whose journal is one shard.
fn one_shard(hand: &Hand) -> Memory {
    Memory::with_size(hand.clock(), 16, SHARD)
}

fn hits(memory: &Memory, key: &str, rule: Rule, times: u32) -> u32 {
    (0..times).filter(|_| memory.hit(key, rule, 1).admitted).map(|_| 1).sum()
}

#[test]
fn records_fill_a_shard_to_its_last_word() {
    let memory = one_shard(&Hand::default());
    for client in 0..FIT {
        memory.hit(&format!("client {client}"), log(EXACT), 1);
    }
    assert_eq!((memory.len(), memory.evicted(), memory.journal_bytes()), (FIT, 0, SHARD));
    memory.hit("one more", log(EXACT), 1);
    assert_eq!((memory.len(), memory.evicted(), memory.journal_bytes()), (FIT, 1, SHARD));
}

#[test]
fn the_record_nearest_to_fresh_makes_way() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    // The second has as few hits as the first, and ends later; the others have more.
    memory.hit("first", log(EXACT), 1);
    hand.advance(Duration::from_secs(1));
    memory.hit("second", log(EXACT), 1);
    for client in 2..FIT {
        hits(&memory, &format!("client {client}"), log(EXACT), 2);
    }
    hits(&memory, "new", log(EXACT), 3);
    assert_eq!(memory.evicted(), 1);
    assert_eq!(memory.hit("second", log(EXACT), 1).remaining, EXACT - 2);
    assert_eq!(memory.hit("client 29", log(EXACT), 1).remaining, EXACT - 3);
    assert_eq!(memory.hit("first", log(EXACT), 1).remaining, EXACT - 1, "it was given up");
}

#[test]
fn an_ended_record_makes_way_first_and_is_no_eviction() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    hits(&memory, "ended", log(EXACT), 5);
    hand.advance(Duration::from_secs(59));
    for client in 1..FIT {
        memory.hit(&format!("client {client}"), log(EXACT), 1);
    }
    hand.advance(Duration::from_secs(1));
    memory.hit("new", log(EXACT), 1);
    assert_eq!((memory.len(), memory.evicted()), (FIT, 0));
    assert_eq!(memory.hit("client 1", log(EXACT), 1).remaining, EXACT - 2);
}

#[test]
fn a_new_quota_takes_its_room_from_the_one_that_holds_most() {
    let memory = one_shard(&Hand::default());
    // 16 words of one quota, 2030 of the other, 54 left: a third quota of 150 needs 155, two records of the other.
    hits(&memory, "small", log(11), 11);
    for client in 0..29 {
        hits(&memory, &format!("client {client}"), log(EXACT), 1);
    }
    assert_eq!(hits(&memory, "large", log(150), 151), 150);
    assert_eq!((memory.len(), memory.evicted()), (1 + 27 + 1, 2));
    assert!(!memory.hit("small", log(11), 1).admitted);
}

#[test]
fn two_quotas_keep_to_records_of_their_own() {
    let memory = one_shard(&Hand::default());
    assert_eq!(hits(&memory, "two", log(2), 3), 2);
    assert_eq!(hits(&memory, "five", log(5), 6), 5);
    assert_eq!(hits(&memory, "two as well", log(2), 3), 2);
    assert_eq!(memory.journal_bytes(), 4 * (2 * (5 + 2) + (5 + 5)));
}

#[test]
fn a_raised_quota_has_room_for_its_hits_and_keeps_the_old_ones() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    for _ in 0..3 {
        hand.advance(Duration::from_secs(10));
        assert_eq!(hits(&memory, "k", log(3), 1), 1);
    }
    assert!(memory.hit("k", log(3), 1).first_refusal);
    assert_eq!(hits(&memory, "k", log(8), 6), 5);
    assert_eq!((memory.len(), memory.journal_bytes()), (1, 4 * (5 + 8)));
    assert!(!memory.hit("k", log(8), 1).first_refusal, "it was told before the quota was raised");
    // Each of the old ones leaves when it would have.
    for (passed, room) in [(40, 1), (10, 1), (9, 0), (1, 6)] {
        hand.advance(Duration::from_secs(passed));
        assert_eq!(hits(&memory, "k", log(8), 8), room, "{passed}");
    }
}

#[test]
fn a_key_that_is_forgotten_begins_anew_and_alone() {
    let memory = one_shard(&Hand::default());
    for key in ["one", "two", "three"] {
        assert_eq!(hits(&memory, key, log(2), 3), 2);
    }
    memory.forget("one");
    memory.forget("unknown");
    assert_eq!(memory.len(), 2);
    assert_eq!(hits(&memory, "one", log(2), 3), 2);
    assert_eq!(hits(&memory, "two", log(2), 1) + hits(&memory, "three", log(2), 1), 0);
}

#[tokio::test]
async fn a_sweep_drops_records_that_have_ended_and_their_room() {
    let hand = Hand::default();
    let memory = Memory::with_size(hand.clock(), 16, 4 * SHARD);
    for client in 0..60 {
        memory.hit(&format!("old {client}"), log(EXACT), 1);
    }
    hand.advance(Duration::from_secs(30));
    hits(&memory, "young", log(5), 5);
    memory.sweep().await;
    assert_eq!(memory.len(), 61, "nothing has ended yet");
    hand.advance(Duration::from_micros(30 * SECOND - 1));
    memory.sweep().await;
    assert_eq!(memory.len(), 61, "one microsecond is left");
    hand.advance(Duration::from_micros(1));
    memory.sweep().await;
    assert_eq!((memory.len(), memory.journal_bytes()), (1, 4 * (5 + 5)));
    assert!(!memory.hit("young", log(5), 1).admitted);
    hand.advance(Duration::from_mins(1));
    memory.sweep().await;
    assert_eq!((memory.len(), memory.journal_bytes(), memory.evicted()), (0, 0, 0));
}

#[test]
fn the_first_refusal_of_a_window_is_told_and_no_other() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    let told = || memory.hit("k", log(1), 1).first_refusal;
    assert_eq!([told(), told(), told()], [false, true, false]);
    hand.advance(Duration::from_mins(1));
    assert_eq!([told(), told(), told()], [false, true, false]);
}

/// What Redis answers about a hit.
const fn seen(admitted: bool, remaining: u32, rest: u64) -> Seen {
    Seen { outcome: Outcome { admitted, remaining, rest, fresh: rest }, state: [0; 3], now: 0 }
}

#[test]
fn what_redis_admitted_elsewhere_is_missing_here_and_entered_now() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    hits(&memory, "k", log(5), 1);
    hand.advance(Duration::from_secs(10));
    hits(&memory, "k", log(5), 1);
    hand.advance(Duration::from_secs(10));
    // Four are spent, two of them are known.
    let reading = memory.keep_warm("k", log(5), &seen(true, 1, 40 * SECOND));
    assert_eq!((reading.admitted, reading.remaining, reading.rest), (true, 1, Duration::from_secs(40)));
    let reading = memory.hit("k", log(5), 1);
    assert_eq!((reading.admitted, reading.remaining), (true, 0));
    let wait = |memory: &Memory| memory.hit("k", log(5), 1).rest;
    assert_eq!(wait(&memory), Duration::from_secs(40));
    // The own two leave when they would have; what was entered stays its whole window.
    hand.advance(Duration::from_secs(40));
    assert_eq!(hits(&memory, "k", log(5), 2), 1);
    hand.advance(Duration::from_secs(10));
    assert_eq!(hits(&memory, "k", log(5), 2), 1);
    hand.advance(Duration::from_secs(10));
    assert_eq!(hits(&memory, "k", log(5), 4), 3);
}

#[test]
fn a_refusal_of_redis_is_a_refusal_here_for_exactly_as_long() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    hand.advance(Duration::from_secs(100));
    let reading = memory.keep_warm("k", log(5), &seen(false, 0, 10 * SECOND));
    assert!(!reading.admitted && reading.first_refusal);
    assert!(!memory.keep_warm("k", log(5), &seen(false, 0, 10 * SECOND)).first_refusal);
    hand.advance(Duration::from_micros(10 * SECOND - 1));
    assert!(!memory.hit("k", log(5), 1).admitted);
    hand.advance(Duration::from_micros(1));
    assert_eq!(hits(&memory, "k", log(5), 6), 5);
}

#[test]
fn an_answer_of_redis_that_knows_less_takes_nothing_away() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    hits(&memory, "k", log(5), 4);
    // An answer that was overtaken by others.
    memory.keep_warm("k", log(5), &seen(true, 3, 60 * SECOND));
    assert_eq!(memory.hit("k", log(5), 1).remaining, 0);
    assert_eq!((memory.len(), memory.journal_bytes()), (1, 4 * (5 + 5)));
}

#[tokio::test]
async fn a_record_of_redis_lives_as_long_as_its_longest_claim() {
    let hand = Hand::default();
    let memory = one_shard(&hand);
    let outcome = Outcome { admitted: false, remaining: 0, rest: 20 * SECOND, fresh: 5 * SECOND };
    memory.keep_warm("k", log(5), &Seen { outcome, state: [0; 3], now: 0 });
    hand.advance(Duration::from_secs(19));
    memory.sweep().await;
    assert_eq!(memory.len(), 1);
    hand.advance(Duration::from_secs(1));
    memory.sweep().await;
    assert_eq!(memory.len(), 0);
}

proptest! {
    /// Records move when others come and go, within their quota and beside it.
    #[test]
    fn a_neighbour_of_any_quota_changes_no_answer(
        steps in vec((0_usize..24, 0_u64..8 * SECOND, 0_u8..8), 1..200),
    ) {
        let hand = Hand::default();
        let together = one_shard(&hand);
        let alone: Vec<Memory> = (0..24).map(|_| one_shard(&hand)).collect();
        let runtime = Builder::new_current_thread().build().unwrap();
        for (client, passed, act) in steps {
            hand.advance(Duration::from_micros(passed));
            let (key, rule) = (format!("client {client}"), log([2, 7, 30][client % 3]));
            match act {
                0 => [&together, &alone[client]].into_iter().for_each(|memory| memory.forget(&key)),
                1 => runtime.block_on(together.sweep()),
                _ => {
                    let [ours, own] = [&together, &alone[client]].map(|memory| memory.hit(&key, rule, 1));
                    // Of a record that ended, nobody remembers whom it had told.
                    prop_assert_eq!(ours, Reading { first_refusal: ours.first_refusal, ..own });
                }
            }
        }
        prop_assert_eq!(together.evicted(), 0);
    }
}
