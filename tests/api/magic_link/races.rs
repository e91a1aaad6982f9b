//! Fifty at once: one link and its code are one ticket.

use serde_json::json;

use crate::{
    password::{at_once, connected, count},
    world::World,
};

#[tokio::test(flavor = "multi_thread")]
async fn fifty_redemptions_of_one_link_open_one_session() {
    // case 073
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    let replies = at_once((0..50).map(|_| world.redeem(json!({"token": asked.token})))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_open_sessions_of(&email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_redemptions_of_one_code_open_one_session() {
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    let proof = json!({"handle": asked.handle, "code": asked.code});
    let replies = at_once((0..50).map(|_| world.redeem(proof.clone()))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_open_sessions_of(&email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_and_its_code_at_once_open_one_session() {
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    let proofs = [json!({"token": asked.token}), json!({"handle": asked.handle, "code": asked.code})];
    let replies = at_once((0..10).map(|number| world.redeem(proofs[number % 2].clone()))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 9), "{replies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_wrong_codes_at_once_are_five_tries() {
    let world = World::new().await;
    let asked = world.asked(&world.member().await).await;
    let last = if asked.code.ends_with('7') { '8' } else { '7' };
    let wrong = json!({"handle": asked.handle, "code": format!("{}{last}", &asked.code[..8])});
    let replies = at_once((0..50).map(|_| world.redeem(wrong.clone()))).await;
    assert_eq!(count(&replies, 400), 50, "{replies:?}");
    assert_eq!(world.db_number("SELECT max(attempts) FROM ticket_codes WHERE $1 = $1", "").await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_redeem_one_link_once() {
    let world = World::new().await;
    let other = World::with(&[("DATABASE_URL", world.database_url())]).await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    connected(|| (0..10).flat_map(|_| [&world, &other]).map(|it| it.redeem(json!({"token": "x"}))).collect()).await;
    let asks = (0..50).map(|number| {
        let place = if number % 2 == 0 { &world } else { &other };
        place.redeem(json!({"token": asked.token}))
    });
    let replies = at_once(asks).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_open_sessions_of(&email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_newcomers_links_of_one_mailbox_make_one_account() {
    let world = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true")]).await;
    let email = world.mailbox();
    let (first, second) = (world.asked(&email).await, world.asked(&email).await);
    let asks = (0..50)
        .map(|number| world.redeem(json!({"token": if number % 2 == 0 { &first.token } else { &second.token }})));
    let replies = at_once(asks).await;
    // Using one link ends the other.
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_accounts_of(&email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_requests_leave_a_newcomer_five_links() {
    let world = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true")]).await;
    let other = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true"), ("DATABASE_URL", world.database_url())]).await;
    connected(|| (0..10).flat_map(|_| [&world, &other]).map(|it| it.redeem(json!({"token": "x"}))).collect()).await;
    // Ten a minute is what one mailbox may be asked for.
    for email in [world.mailbox(), world.mailbox()] {
        let asks = (0..10).map(|number| if number % 2 == 0 { world.wish(&email) } else { other.wish(&email) });
        let replies = at_once(asks).await;
        assert_eq!(count(&replies, 202), 10, "{replies:?}");
        let live = "SELECT count(*) FROM tickets WHERE mailbox = $1 AND purpose = 'magic_link' AND used_at IS NULL";
        assert_eq!(world.db_number(live, &email).await, 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailbox_without_a_turn_is_an_outage_and_no_way_round_the_limit() {
    let world = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true")]).await;
    assert_eq!(world.db_execute("DELETE FROM mailbox_turns WHERE $1 = $1", "").await, 1024);
    let email = world.mailbox();
    world.wish(&email).await.is_error(500, "SYS_001");
    assert_eq!(world.db_number("SELECT count(*) FROM tickets WHERE mailbox = $1", &email).await, 0);
}
