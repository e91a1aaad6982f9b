//! `POST /api/auth/verify-magic-link` with the code beside the link.

use serde_json::json;

use crate::world::World;

/// Another code of the same shape.
fn other(code: &str) -> String {
    let last = if code.ends_with('7') { '8' } else { '7' };
    format!("{}{last}", &code[..code.len() - 1])
}

#[tokio::test]
async fn a_code_signs_in_where_it_was_asked_for_and_ends_the_link() {
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    let anna = world.holder_of(world.redeem(json!({"handle": asked.handle, "code": asked.code})).await.is(200));
    assert_eq!(anna.email, email);
    world.redeem_token(&asked.token).await.is_error(400, "AUTH_006");
    world.redeem(json!({"handle": asked.handle, "code": asked.code})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_link_ends_its_code() {
    let world = World::new().await;
    let asked = world.asked(&world.member().await).await;
    world.redeem_token(&asked.token).await.is(200);
    world.redeem(json!({"handle": asked.handle, "code": asked.code})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_code_is_read_as_people_type_it() {
    let world = World::new().await;
    let forms: [fn(&str) -> String; 5] = [
        |code| code.to_lowercase(),
        |code| code.replace('-', ""),
        |code| format!("  {} ", code.replace('-', " - ")),
        |code| code.replace('0', "o").replace('1', "l"),
        |code| code.replace('0', "O").replace('1', "I"),
    ];
    for form in forms {
        let asked = world.asked(&world.member().await).await;
        world.redeem(json!({"handle": asked.handle, "code": form(&asked.code)})).await.is(200);
    }
}

#[tokio::test]
async fn five_wrong_codes_end_the_handle_and_not_the_link() {
    let world = World::new().await;
    let asked = world.asked(&world.member().await).await;
    let wrong = json!({"handle": asked.handle, "code": other(&asked.code)});
    let first = world.redeem(wrong.clone()).await;
    first.is_error(400, "AUTH_006");
    for _ in 0..4 {
        world.redeem(wrong.clone()).await.tells_no_more_than(&first);
    }
    let right = json!({"handle": asked.handle, "code": asked.code});
    world.redeem(right).await.tells_no_more_than(&first);
    world.redeem_token(&asked.token).await.is(200);
}

#[tokio::test]
async fn the_fifth_try_may_still_be_the_right_one() {
    let world = World::new().await;
    let asked = world.asked(&world.member().await).await;
    for _ in 0..4 {
        let wrong = json!({"handle": asked.handle, "code": other(&asked.code)});
        world.redeem(wrong).await.is_error(400, "AUTH_006");
    }
    world.redeem(json!({"handle": asked.handle, "code": asked.code})).await.is(200);
}

#[tokio::test]
async fn a_code_is_worth_nothing_with_another_handle() {
    let world = World::new().await;
    let (hers, his) = (world.asked(&world.member().await).await, world.asked(&world.member().await).await);
    world.redeem(json!({"handle": his.handle, "code": hers.code})).await.is_error(400, "AUTH_006");
    world.redeem(json!({"handle": "x", "code": hers.code})).await.is_error(400, "AUTH_006");
    // A token is no handle and no code.
    world.redeem(json!({"handle": hers.token, "code": hers.code})).await.is_error(400, "AUTH_006");
    world.redeem_token(&hers.handle).await.is_error(400, "AUTH_006");
    world.redeem_token(&hers.code).await.is_error(400, "AUTH_006");
    world.redeem(json!({"handle": hers.handle, "code": hers.code})).await.is(200);
}

#[tokio::test]
async fn the_handle_of_an_unknown_mailbox_is_refused_like_a_known_ones() {
    let world = World::new().await;
    let asked = world.asked(&world.member().await).await;
    let unknown = world.wish(&world.mailbox()).await.is(202).field("handle");
    let known = world.redeem(json!({"handle": asked.handle, "code": other(&asked.code)})).await;
    known.is_error(400, "AUTH_006");
    for _ in 0..6 {
        let reply = world.redeem(json!({"handle": unknown, "code": other(&asked.code)})).await;
        reply.tells_no_more_than(&known);
    }
}
