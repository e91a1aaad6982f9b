//! What stands in Redis: values and TTLs that redis-cli can read, what heals, and how one logs in.

use labs_auth::limit::{Charge, MailScope, RedisAddress, Verdict};
use redis::{AsyncTypedCommands, aio::MultiplexedConnection, cmd};

use super::{
    server::Server,
    world::{LOGIN, admitted, connection, hit, mailbox, on_redis, shared_url, somebody, steadily},
};

async fn pttl(redis: &mut MultiplexedConnection, charge: &Charge<'_>) -> i64 {
    cmd("PTTL").arg(charge.key()).query_async(redis).await.unwrap()
}

#[tokio::test]
async fn the_value_is_the_count_and_the_ttl_the_rest() {
    steadily(async |limiter, mut redis| {
        let client = somebody();
        let charge = Charge::auth(LOGIN, &client);
        admitted(&limiter, &charge, &client, 3).await;
        assert_eq!(redis.get(charge.key()).await.unwrap().as_deref(), Some("3"));
        assert!((50_000..=60_000).contains(&pttl(&mut redis, &charge).await));
    })
    .await;
}

#[tokio::test]
async fn a_key_without_ttl_is_re_armed_to_a_whole_window() {
    // case 189
    steadily(async |limiter, mut redis| {
        let client = somebody();
        let charge = Charge::auth(LOGIN, &client);
        redis.set(charge.key(), 500).await.unwrap();
        let Verdict::Refused(refusal) = hit(&limiter, std::slice::from_ref(&charge), &client).await else {
            panic!("admitted")
        };
        assert_eq!(refusal.retry_after().seconds(), 60);
        assert!((50_000..=60_000).contains(&pttl(&mut redis, &charge).await));

        redis.set(charge.key(), 4).await.unwrap();
        limiter.forget();
        assert_eq!(admitted(&limiter, &charge, &client, 31).await, 26);
        assert!((50_000..=60_000).contains(&pttl(&mut redis, &charge).await));
    })
    .await;
}

#[tokio::test]
async fn a_ttl_beyond_the_window_is_cut_to_it() {
    steadily(async |limiter, mut redis| {
        let client = somebody();
        let charge = Charge::auth(LOGIN, &client);
        redis.set_ex(charge.key(), 500, 86_400).await.unwrap();
        assert_eq!(admitted(&limiter, &charge, &client, 1).await, 0);
        assert!((50_000..=60_000).contains(&pttl(&mut redis, &charge).await));
    })
    .await;
}

#[tokio::test]
async fn a_foreign_value_is_replaced() {
    steadily(async |limiter, mut redis| {
        let client = somebody();
        let charge = Charge::auth(LOGIN, &client);
        redis.lpush(charge.key(), "x").await.unwrap();
        assert_eq!(admitted(&limiter, &charge, &client, 31).await, 30);
        for text in ["words", "-5", "007", "1.5", ""] {
            redis.set(charge.key(), text).await.unwrap();
            limiter.forget();
            assert_eq!(admitted(&limiter, &charge, &client, 31).await, 30, "{text:?}");
        }
        assert_eq!(limiter.decided_by_memory(), 0);
    })
    .await;
}

#[tokio::test]
async fn two_processes_share_one_budget() {
    steadily(async |one, _| {
        let (other, client) = (on_redis(&shared_url().unwrap()).await, somebody());
        let charge = Charge::auth(LOGIN, &client);
        assert_eq!(admitted(&one, &charge, &client, 20).await, 20);
        assert_eq!(admitted(&other, &charge, &client, 20).await, 10);
        assert_eq!(admitted(&one, &charge, &client, 1).await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_decision_is_one_command_and_a_lost_script_is_loaded_again() {
    let Some(server) = Server::start(&[]).await else { return };
    let (limiter, mut redis, client) = (on_redis(&server.url()).await, connection(&server.url()).await, somebody());
    let charges =
        [Charge::ip(&client), Charge::auth(LOGIN, &client), Charge::auth_email(MailScope::MagicLink, mailbox())];
    cmd("CONFIG").arg("RESETSTAT").exec_async(&mut redis).await.unwrap();
    for _ in 0..5 {
        assert_eq!(hit(&limiter, &charges, &client).await, Verdict::Admitted);
    }
    assert_eq!(calls(&mut redis, "evalsha").await, 5);

    cmd("SCRIPT").arg("FLUSH").exec_async(&mut redis).await.unwrap();
    assert_eq!(admitted(&limiter, &charges[1], &client, 30).await, 25);
    // One to find out, 25 admitted, one refused; this process answers the rest by itself.
    assert_eq!(calls(&mut redis, "evalsha").await, 5 + 1 + 25 + 1);
    assert_eq!(limiter.decided_by_memory(), 0);
}

async fn calls(redis: &mut MultiplexedConnection, command: &str) -> u64 {
    let stats: String = cmd("INFO").arg("commandstats").query_async(redis).await.unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.and_then(|line| line.split(',').next()).map_or(0, |number| number.parse().unwrap())
}

#[tokio::test]
async fn user_and_password_are_percent_decoded() {
    // case 191
    let Some(server) = Server::start(&[]).await else { return };
    let mut redis = connection(&server.url()).await;
    let user = ["SETUSER", "svc", "on", ">p@ss/w:rd", "~rate_limit:*", "+@all", "-@dangerous"];
    cmd("ACL").arg(&user).exec_async(&mut redis).await.unwrap();
    let client = somebody();
    let limiter = on_redis(&format!("redis://svc:p%40ss%2Fw%3Ard@127.0.0.1:{}", server.port())).await;
    let charge = Charge::auth(LOGIN, &client);
    assert_eq!(admitted(&limiter, &charge, &client, 31).await, 30);
    assert_eq!(redis.get(charge.key()).await.unwrap().as_deref(), Some("30"));
}

#[tokio::test]
async fn tls_is_spoken_with_the_named_authority() {
    // case 191
    if shared_url().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert_path, key_path) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert_path, key.cert.pem()).unwrap();
    std::fs::write(&key_path, key.signing_key.serialize_pem()).unwrap();
    let (cert_path, key_path) = (cert_path.to_str().unwrap(), key_path.to_str().unwrap());
    let tls_port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let options = [
        "--tls-port",
        &tls_port,
        "--tls-cert-file",
        cert_path,
        "--tls-key-file",
        key_path,
        "--tls-ca-cert-file",
        cert_path,
        "--tls-auth-clients",
        "no",
    ];
    let Some(_server) = Server::start(&options).await else { return };
    let address = RedisAddress::from_url(&format!("rediss://localhost:{tls_port}")).unwrap();
    let trusting = address.clone().trusting(key.cert.pem().into_bytes()).unwrap();
    assert_eq!(super::world::reaches(address).await, "memory");
    assert_eq!(super::world::reaches(trusting).await, "redis");
}

#[test]
fn an_address_that_cannot_be_read_is_refused_without_repeating_it() {
    for url in [
        "http://h:6379",
        "redis://h:notaport",
        "h:6379",
        "redis://u:hunter2@h:99999",
        "redis://h/hunter2",
        "rediss://h/#insecure",
        "",
    ] {
        let refused = RedisAddress::from_url(url).unwrap_err();
        assert!(!refused.contains("hunter2"), "{refused}");
    }
    let shown = format!("{:?}", RedisAddress::from_url("redis://u:hunter2@h:6379").unwrap());
    assert!(!shown.contains("hunter2"));
    assert!(RedisAddress::from_parts("localhost", 6379, 3, Some("hunter2")).is_ok());
}
