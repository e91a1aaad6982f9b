//! The fair queue: one client's crowd waits for its own turn and passes nobody else's.

use futures_util::{FutureExt, future::join_all};
use labs_auth::limit::{Turn, Turns};

use crate::world::{PASSWORD, Verbs, World, somewhere};

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

#[tokio::test(flavor = "multi_thread")]
async fn thirty_parallel_logins_of_one_office_are_thirty_times_200() {
    let world = World::on_memory().await;
    let (email, office) = (world.member().await, somewhere());
    let logins = (0..30).map(|_| {
        let (world, email) = (world.clone(), email.clone());
        tokio::spawn(async move { world.anonymous_at(office).login(&email, PASSWORD).await })
    });
    for reply in join_all(logins).await {
        reply.unwrap().is(200);
    }
}
