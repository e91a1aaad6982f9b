//! The fair queue: one client's crowd waits for its own turn and passes nobody else's.

use futures_util::FutureExt;
use labs_auth::limit::{Turn, Turns};

fn now(turns: &Turns, client: &str) -> Option<Turn> {
    turns.wait(client).now_or_never().flatten()
}

#[tokio::test]
async fn at_most_four_of_one_client_run_and_a_stranger_passes_its_others() {
    let turns = Turns::new(8, 4, 100);
    let mut running: Vec<Turn> = (0..4).map(|_| now(&turns, "office").unwrap()).collect();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            tokio::spawn({
                let turns = turns.clone();
                async move { turns.wait("office").await }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(turns.waiting(), 3);
    let stranger = now(&turns, "stranger").expect("the stranger had to wait");
    // One of the office ends: the next of the office is called.
    running.pop();
    tokio::task::yield_now().await;
    assert_eq!(turns.waiting(), 2);
    drop((running, stranger));
    for task in waiting {
        assert!(task.await.unwrap().is_some(), "somebody of the office was refused");
    }
}

#[tokio::test]
async fn whoever_gives_up_leaves_no_turn_behind() {
    let turns = Turns::new(1, 4, 100);
    let held = now(&turns, "a").unwrap();
    assert!(now(&turns, "b").is_none());
    drop(held);
    assert!(now(&turns, "c").is_some());
    assert!(now(&turns, "d").is_some());
}

#[tokio::test]
async fn only_a_full_queue_refuses() {
    let turns = Turns::new(1, 4, 2);
    let held = now(&turns, "a").unwrap();
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            tokio::spawn({
                let turns = turns.clone();
                async move { turns.wait("b").await }
            })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(turns.wait("c").await.is_none());
    drop(held);
    for task in tasks {
        assert!(task.await.unwrap().is_some());
    }
}

#[tokio::test]
async fn nobody_in_particular_is_bounded_by_the_slots_alone() {
    let turns = Turns::new(6, 4, 100);
    let all: Vec<_> = (0..6).map(|_| now(&turns, "").unwrap()).collect();
    assert!(now(&turns, "").is_none());
    drop(all);
}

#[tokio::test]
async fn waiting_counts_those_who_wait_and_nobody_else() {
    let turns = Turns::new(1, 1, 100);
    assert_eq!(turns.waiting(), 0);
    let held = now(&turns, "a").unwrap();
    let mut patient = Box::pin(turns.wait("b"));
    assert!(patient.as_mut().now_or_never().is_none());
    assert_eq!(turns.waiting(), 1);
    // Whoever gave up is still in the queue, and counts no more.
    assert!(now(&turns, "c").is_none());
    assert_eq!(turns.waiting(), 1);
    drop(held);
    assert!(patient.await.is_some());
    assert_eq!(turns.waiting(), 0);
}

#[tokio::test]
async fn a_client_without_a_running_turn_is_forgotten() {
    let turns = Turns::new(2, 1, 100);
    for _ in 0..3 {
        let held = now(&turns, "a").unwrap();
        assert!(now(&turns, "a").is_none(), "two of one client ran");
        drop(held);
    }
}
