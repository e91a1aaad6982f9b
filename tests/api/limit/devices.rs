//! Known devices: whoever signed in from a browser before is not shut out by what strangers spent.

use crate::world::{Ask, PASSWORD, Verbs, World, somewhere};

fn mark(cookies: &[&str]) -> String {
    let cookie = cookies.iter().find_map(|cookie| cookie.strip_prefix("labs_device=")).expect("no device cookie");
    format!("labs_device={}", cookie.split(';').next().unwrap())
}

fn login(world: &World, address: std::net::IpAddr, email: &str, cookie: Option<&str>) -> Ask {
    let ask = world.anonymous_at(address).login(email, PASSWORD);
    match cookie {
        Some(cookie) => ask.header("cookie", cookie),
        None => ask,
    }
}

async fn strict() -> World {
    World::plan().on_memory().set("RATE_LIMIT_PROFILE", "strict").build().await
}

#[tokio::test]
async fn an_exhausted_address_does_not_lock_out_a_device_that_the_account_knows() {
    let world = strict().await;
    let (email, other) = (world.member().await, world.member().await);
    let (office, home) = (somewhere(), somewhere());
    let cookie = mark(&login(&world, home, &email, None).await.is(200).cookies());
    for _ in 0..30 {
        world.anonymous_at(office).login("nobody@labs.example", "x").await;
    }
    login(&world, office, &email, None).await.is_rate_limited();
    login(&world, office, &other, Some(&cookie)).await.is_rate_limited();
    login(&world, office, &email, Some("labs_device=AAAAAAAAAAAAAAAAAAAAAA.AAAA")).await.is_rate_limited();
    for _ in 0..10 {
        login(&world, office, &email, Some(&cookie)).await.is(200);
    }
    login(&world, office, &email, Some(&cookie)).await.is_error(429, "RATE_001");
    // The device's budget never refuses what the path admits.
    login(&world, somewhere(), &email, Some(&cookie)).await.is(200);
}

#[tokio::test]
async fn an_exhausted_account_refuses_strangers_everywhere_and_its_owner_nowhere() {
    let world = strict().await;
    let email = world.member().await;
    let cookie = mark(&login(&world, somewhere(), &email, None).await.is(200).cookies());
    let mut refused = None;
    for _ in 0..5 {
        let address = somewhere();
        for _ in 0..25 {
            let reply = world.anonymous_at(address).login(&email, "Wrong-Horse-9!").await;
            if reply.status == 429 {
                refused = Some(reply);
            }
        }
    }
    let refused = refused.expect("a hundred attempts refused nobody");
    refused.is_error(429, "RATE_001");
    // The account's numbers are not a stranger's business.
    assert_eq!(refused.header("ratelimit"), None);
    login(&world, somewhere(), &email, None).await.is_error(429, "RATE_001");
    login(&world, somewhere(), &email, Some(&cookie)).await.is(200);
}

#[tokio::test]
async fn the_reference_knows_neither_accounts_nor_devices() {
    let world = World::on_memory().await;
    let email = world.member().await;
    let office = somewhere();
    let cookie = mark(&login(&world, office, &email, None).await.is(200).cookies());
    for _ in 0..29 {
        login(&world, office, &email, Some(&cookie)).await.is(200);
    }
    login(&world, office, &email, Some(&cookie)).await.is_rate_limited();
}
