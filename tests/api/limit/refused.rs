//! The refusals that a process remembers: they spare Redis, and are never believed for longer than a second.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use labs_auth::limit::{
    Bucket, Charge, ClientIp, Verdict,
    algorithm::{Algorithm, Rule},
    policy::Policy,
};
use redis::{AsyncTypedCommands, cmd};

use super::{
    server::Server,
    world::{LOGIN, admitted, connection, hit, on_redis, somebody, steadily, until},
};

#[tokio::test]
async fn a_flood_of_refused_requests_costs_redis_one_command_per_client_and_second() {
    let Some(server) = Server::start(&[]).await else { return };
    let (limiter, mut redis) = (on_redis(&server.url()).await, connection(&server.url()).await);
    let clients: Vec<_> = (0..20).map(|_| somebody()).collect();
    for client in &clients {
        admitted(&limiter, &Charge::auth(LOGIN, client), client, 31).await;
    }
    let started = std::time::Instant::now();
    cmd("CONFIG").arg("RESETSTAT").exec_async(&mut redis).await.unwrap();
    // All at once, and long enough that a second ends among them.
    let mut asked = 0;
    while asked < 4000 || started.elapsed() < Duration::from_millis(2500) {
        for client in &clients {
            let charge = [Charge::auth(LOGIN, client)];
            let verdicts = join_all((0..16).map(|_| hit(&limiter, &charge, client))).await;
            assert!(verdicts.iter().all(|verdict| *verdict != Verdict::Admitted));
            asked += verdicts.len();
        }
    }
    let seconds = started.elapsed().as_secs() + 1;
    let stats: String = cmd("INFO").arg("commandstats").query_async(&mut redis).await.unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let calls: u64 = line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap());
    assert!(calls <= 20 * seconds, "{calls} calls in {seconds} s for {asked} refused requests");
}

#[tokio::test]
async fn a_reset_made_elsewhere_is_seen_within_a_second_and_waits_shrink_meanwhile() {
    steadily(async |limiter, mut redis| {
        let client = somebody();
        let charge = Charge::auth(LOGIN, &client);
        admitted(&limiter, &charge, &client, 31).await;
        let wait = async || match hit(&limiter, std::slice::from_ref(&charge), &client).await {
            Verdict::Refused(refusal) => refusal.wait(),
            Verdict::Admitted => Duration::ZERO,
        };
        let first = wait().await;
        let second = wait().await;
        assert!(first > Duration::from_secs(30), "not what is left of a minute: {first:?}");
        assert!(second < first && first.saturating_sub(second) < Duration::from_secs(1), "{first:?}, {second:?}");
        redis.del(charge.key()).await.unwrap();
        let reset = std::time::Instant::now();
        assert!(wait().await > Duration::ZERO, "not remembered at all");
        until("the reset is seen", async || wait().await.is_zero()).await;
        assert!(reset.elapsed() < Duration::from_millis(1500), "{:?}", reset.elapsed());
        for _ in 0..5 {
            assert!(wait().await.is_zero(), "the old refusal came back");
        }
    })
    .await;
}

#[tokio::test]
async fn what_stands_before_a_remembered_refusal_is_still_charged() {
    steadily(async |limiter, mut redis| {
        let client = somebody();
        let (ip, auth) = (Charge::ip(&client), Charge::auth(LOGIN, &client));
        admitted(&limiter, &auth, &client, 31).await;
        for _ in 0..5 {
            assert_ne!(hit(&limiter, &[ip, auth], &client).await, Verdict::Admitted);
        }
        assert_eq!(redis.get(ip.key()).await.unwrap().as_deref(), Some("5"));
    })
    .await;
}

#[tokio::test]
async fn a_remembered_refusal_of_a_dear_hit_says_nothing_of_a_cheap_one() {
    steadily(async |limiter, _| {
        let client = somebody();
        let base = Arc::clone(limiter.policies().of(Bucket::Ip).unwrap());
        // A unit comes back each second.
        let rule = Rule::new(Algorithm::Gcra, 60, 60_000_000);
        let wait = async |cost| {
            let policy = Arc::new(Policy { rule, cost, ..Policy::clone(&base) });
            match hit(&limiter, &[Charge::named(&policy, &client.network())], &client).await {
                Verdict::Refused(refusal) => refusal.wait(),
                Verdict::Admitted => Duration::ZERO,
            }
        };
        assert_eq!(wait(60).await, Duration::ZERO);
        let (dear, cheap) = (wait(30).await, wait(1).await);
        assert!(dear > Duration::from_secs(20) && cheap <= Duration::from_secs(1), "{dear:?}, {cheap:?}");
    })
    .await;
}

#[tokio::test]
async fn a_remembered_refusal_is_its_own_clients_alone() {
    steadily(async |limiter, _| {
        let base = Arc::clone(limiter.policies().of(Bucket::Ip).unwrap());
        let rule = Rule::new(Algorithm::Fixed, 1, 60_000_000);
        let policy = Arc::new(Policy { rule, ..Policy::clone(&base) });
        let ask = async |client| hit(&limiter, &[Charge::named(&policy, &ClientIp::network(client))], client).await;
        // So many that some share a set of the memory.
        let (refused, strangers): (Vec<_>, Vec<_>) = (0..500).map(|_| (somebody(), somebody())).unzip();
        for client in &refused {
            assert_eq!(ask(client).await, Verdict::Admitted);
            assert_ne!(ask(client).await, Verdict::Admitted);
        }
        for client in &strangers {
            assert_eq!(ask(client).await, Verdict::Admitted);
        }
        // And they made nobody else welcome.
        for client in &refused {
            assert_ne!(ask(client).await, Verdict::Admitted);
        }
    })
    .await;
}
