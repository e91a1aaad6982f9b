//! Who is counted, end to end: two requests are of one network when they spend one budget.

use std::net::IpAddr;

use serde_json::json;

use crate::world::{Ask, PASSWORD, Verbs, World, somewhere_v4};

const LOGIN: &str = "/api/auth/login";

/// A login that is not meant to work, without a word about where it comes from.
fn probe(world: &World) -> Ask {
    world.anonymous().post(LOGIN, json!({})).without("x-forwarded-for")
}

/// Whether `ask` spends the budget of this network's requests.
async fn is_counted_as(world: &World, ask: Ask, network: &str) -> bool {
    let address: IpAddr = network.parse().unwrap();
    let before = world.anonymous_at(address).post(LOGIN, json!({})).await.remaining();
    ask.await.is(422);
    let after = world.anonymous_at(address).post(LOGIN, json!({})).await.remaining();
    before - after == 2
}

#[tokio::test]
async fn the_known_answers_for_one_proxy() {
    // limits 1
    let world = World::on_memory().await;
    let behind = |list: &str| probe(&world).peer([10, 0, 0, 5]).forwarded(list);
    for (list, network) in [
        ("198.51.100.9, 203.0.113.7", "203.0.113.7"),
        ("not-an-ip", "10.0.0.5"),
        ("198.51.100.5, 203.0.113.5, 10.0.0.1", "10.0.0.1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:abcd:12::1", "2001:db8:abcd:12::5"),
        ("2001:db8:abcd:12:ffff::9", "2001:db8:abcd:12::5"),
        ("64:ff9b::203.0.113.8", "203.0.113.8"),
        ("2002:cb00:7109::1", "203.0.113.9"),
        (" 203.0.113.7\t", "203.0.113.7"),
    ] {
        assert!(is_counted_as(&world, behind(list), network).await, "{list} is not {network}");
    }
    assert!(is_counted_as(&world, probe(&world).peer([10, 0, 0, 5]), "10.0.0.5").await);
    assert!(!is_counted_as(&world, behind("2001:db8:abcd:13::1"), "2001:db8:abcd:12::5").await);
}

#[tokio::test]
async fn the_known_answers_for_two_proxies_and_for_none() {
    let two = World::plan().on_memory().set("TRUSTED_PROXY_COUNT", "2").build().await;
    let ask = probe(&two).peer([10, 0, 0, 5]).forwarded("198.51.100.9, 203.0.113.7");
    // The probe itself stands behind two proxies: a list of one is clamped to its only entry.
    assert!(is_counted_as(&two, ask, "198.51.100.9").await);
    let none = World::plan().on_memory().set("TRUSTED_PROXY_COUNT", "0").build().await;
    let start = probe(&none).peer([10, 0, 0, 5]).await.remaining();
    let spoofed = probe(&none).peer([10, 0, 0, 5]).forwarded("203.0.113.7").await.remaining();
    assert_eq!(spoofed, start - 1);
}

#[tokio::test]
async fn nobody_but_a_trusted_proxy_is_believed() {
    let world = World::on_memory().await;
    let stranger = || probe(&world).peer([203, 0, 113, 50]);
    let start = stranger().await.remaining();
    for (spent, header) in
        ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip"].into_iter().enumerate()
    {
        let reply = stranger().header(header, "1.2.3.4").await;
        assert_eq!(reply.remaining(), start - 1 - spent as u64, "{header} was believed");
    }
    // Nor are the other headers believed from a proxy.
    let proxy = || probe(&world).peer([10, 0, 0, 6]);
    let start = proxy().await.remaining();
    for (spent, header) in ["forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip"].into_iter().enumerate() {
        assert_eq!(proxy().header(header, "1.2.3.4").await.remaining(), start - 1 - spent as u64, "{header}");
    }
}

#[tokio::test]
async fn the_proxys_entry_counts_whatever_stands_left_of_it() {
    // cases 141, 143, 153
    let world = World::on_memory().await;
    let long = vec!["192.0.2.1"; 500].join(", ");
    for number in 1..=10 {
        probe(&world).forwarded(&format!("198.51.100.{number}, 203.0.113.7")).await.is(422);
        let lines = probe(&world).header("x-forwarded-for", format!("198.51.100.{number}"));
        lines.header("x-forwarded-for", "203.0.113.7").await.is(422);
        probe(&world).forwarded(&format!("{long}, 203.0.113.7")).await.is(422);
    }
    probe(&world).forwarded("198.51.100.99, 203.0.113.7").await.is_rate_limited();
}

#[tokio::test]
async fn an_entry_that_is_no_address_counts_as_the_proxy_itself() {
    // cases 145, 147
    let world = World::on_memory().await;
    let oversized = "1.1.1.1,".repeat(1100);
    let entries = [
        "",
        ",",
        "unknown",
        "_hidden",
        "203.0.113.007",
        "0x7f.1",
        "203.0.113.7:443",
        "[2001:db8::1]",
        "[2001:db8::1]:443",
        "fe80::1%eth0",
        "203.0.113",
        "203.0.113.7.",
        "203.0.113.7, ",
        &oversized,
    ];
    let start = probe(&world).await.remaining();
    for (spent, entry) in entries.into_iter().enumerate() {
        assert_eq!(probe(&world).forwarded(entry).await.is(422).remaining(), start - 1 - spent as u64, "{entry}");
    }
    assert_eq!(probe(&world).header("x-forwarded-for", b"\xff\xfe").await.remaining(), start - 15);
}

#[tokio::test]
async fn one_ipv6_network_has_one_budget_in_every_spelling_and_two_have_two() {
    // cases 151, 163
    let world = World::on_memory().await;
    for spelling in ["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "2001:0db8::0001"].into_iter().cycle().take(30) {
        probe(&world).forwarded(spelling).await.is(422);
    }
    probe(&world).forwarded("2001:db8::ffff:1").await.is_rate_limited();
    probe(&world).forwarded("2001:db8:0:1::1").await.is(422);
}

#[tokio::test]
async fn one_address_has_thirty_tries_and_its_neighbour_thirty_of_its_own() {
    let world = World::new().await;
    let (one, other) = (world.anonymous_at(somewhere_v4()), world.anonymous_at(somewhere_v4()));
    for _ in 0..30 {
        one.post(LOGIN, json!({})).await.is(422);
    }
    one.post(LOGIN, json!({})).await.is_rate_limited();
    other.post(LOGIN, json!({})).await.is(422);
    // Every route has a budget of its own.
    one.post("/api/auth/register", json!({})).await.is(422);
}

#[tokio::test]
async fn the_log_line_of_a_session_shows_the_address_and_not_the_network() {
    let world = World::new().await;
    let email = world.member().await;
    world.anonymous().login(&email, PASSWORD).forwarded("2001:db8:abcd:12::77").await.is(200);
    assert_eq!(world.db_session_addresses(&email).await, ["2001:db8:abcd:12::77"]);
}
