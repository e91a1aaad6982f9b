//! A real cluster of three nodes, and a real failover by a sentinel.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
};

use labs_auth::{
    clock::Clock,
    limit::{Backend, Charge, Limiter, MailScope, Quotas, RedisAddress, Verdict, desk::Desk},
};
use redis::{AsyncTypedCommands, cmd};
use tempfile::TempDir;

use super::world::{LOGIN, admitted, connection, hit, host, mailbox, run, shared_url, somebody, until};

/// Processes and their folder, gone when dropped.
struct Servers {
    children: Vec<Child>,
    ports: Vec<u16>,
    dir: TempDir,
}

impl Servers {
    fn new() -> Self {
        Self { children: Vec::new(), ports: Vec::new(), dir: tempfile::tempdir().unwrap() }
    }

    async fn start(&mut self, extra: &[&str]) -> u16 {
        let port = free_port();
        let folder = self.dir.path().join(port.to_string());
        std::fs::create_dir(&folder).unwrap();
        let port_text = port.to_string();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port_text, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]).args(extra);
        self.children.push(command.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        self.ports.push(port);
        listening(port).await;
        port
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A port below 55,536: a node of a cluster also listens 10,000 above.
fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        if port < 55_000 {
            return port;
        }
    }
}

async fn listening(port: u16) {
    until("a server listens", async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
}

async fn limiter_on(address: RedisAddress) -> Limiter {
    let limiter = Limiter::new(Quotas::default(), Some(address), Clock::system());
    for _ in 0..20 {
        limiter.begin().await;
        if limiter.backend() == Backend::Redis {
            return limiter;
        }
    }
    panic!("never came to stand on Redis");
}

#[tokio::test]
async fn a_cluster_of_three_nodes_decides_bucket_by_bucket() {
    if shared_url().is_none() {
        return;
    }
    let mut servers = Servers::new();
    for _ in 0..3 {
        servers.start(&["--cluster-enabled", "yes"]).await;
    }
    let nodes: Vec<String> = servers.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let made = Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(&nodes)
        .args(["--cluster-replicas", "0", "--cluster-yes"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let url = format!("redis://{}", nodes[0]);
    let mut first = connection(&url).await;
    until("the cluster stands", async || {
        let info: String = cmd("CLUSTER").arg("INFO").query_async(&mut first).await.unwrap();
        info.contains("cluster_state:ok")
    })
    .await;

    let address = RedisAddress::from_url(&url).unwrap().in_cluster();
    let limiter = limiter_on(address.clone()).await;
    for round in 0..20 {
        let (client, mail) = (somebody(), mailbox());
        let (ip, auth) = (Charge::ip(&client), Charge::auth(LOGIN, &client));
        let all = [ip, auth, Charge::auth_email(MailScope::MagicLink, mail)];
        for _ in 0..10 {
            assert_eq!(hit(&limiter, &all, &client).await, Verdict::Admitted, "round {round}");
        }
        // What stands before the refusal is spent, in order.
        assert_ne!(hit(&limiter, &all, &client).await, Verdict::Admitted);
        assert_eq!(admitted(&limiter, &auth, &client, 30).await, 19);
    }
    assert_eq!(limiter.decided_by_memory(), 0);
    let mut held = Vec::new();
    for node in &nodes {
        let keys: u64 = cmd("DBSIZE").query_async(&mut connection(&format!("redis://{node}")).await).await.unwrap();
        held.push(keys);
    }
    assert!(held.iter().all(|keys| *keys > 5), "one node holds nearly everything: {held:?}");
    // A mailbox with braces in it is counted where Redis looks for it.
    let mut braces = Vec::new();
    for number in 0..8 {
        for mail in [format!("a{{{number}}}c@labs.example"), format!("a{{}}{number}@labs.example")] {
            let charge = Charge::auth_email(MailScope::Leave, &mail);
            assert_eq!(admitted(&limiter, &charge, &host(7), 11).await, 10, "{mail}");
            braces.push(charge.key().clone());
        }
    }
    assert_eq!(limiter.decided_by_memory(), 0);
    let desk = Desk::open(&address).await.unwrap();
    assert_eq!(desk.list("auth:*").await.unwrap().len(), 20);
    assert_eq!(desk.reset(&braces).await.unwrap(), 16);
    // Nodes that do not know how they are reached are reached as the first one was.
    for node in &nodes {
        let mut node = connection(&format!("redis://{node}")).await;
        let mut set = cmd("CONFIG");
        set.arg("SET").arg("cluster-preferred-endpoint-type").arg("unknown-endpoint");
        set.query_async::<()>(&mut node).await.unwrap();
    }
    let limiter = limiter_on(address).await;
    for _ in 0..20 {
        let client = somebody();
        assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &client), &client, 31).await, 30);
    }
    assert_eq!(limiter.decided_by_memory(), 0);
}

#[tokio::test]
async fn a_failover_by_sentinel_is_followed_and_the_counts_come_along() {
    if shared_url().is_none() {
        return;
    }
    let mut servers = Servers::new();
    let primary = servers.start(&[]).await;
    let primary_text = primary.to_string();
    let replica = servers.start(&["--replicaof", "127.0.0.1", &primary_text]).await;
    let sentinel = free_port();
    let file = servers.dir.path().join("sentinel.conf");
    let text = format!(
        "port {sentinel}\nbind 127.0.0.1\nsentinel monitor labs 127.0.0.1 {primary} 1\n\
         sentinel down-after-milliseconds labs 300\nsentinel failover-timeout labs 3000\n"
    );
    std::fs::write(&file, text).unwrap();
    let child = Command::new("redis-server").arg(&file).arg("--sentinel").stdout(Stdio::null()).spawn().unwrap();
    servers.children.push(child);
    listening(sentinel).await;
    let mut watch = connection(&format!("redis://127.0.0.1:{sentinel}")).await;
    until("the sentinel knows the replica", async || {
        let replicas: Vec<redis::Value> =
            cmd("SENTINEL").arg("replicas").arg("labs").query_async(&mut watch).await.unwrap();
        replicas.len() == 1
    })
    .await;

    // The first sentinel of the list is gone; the next one is asked.
    let sentinels = [String::from("127.0.0.1:1"), format!("127.0.0.1:{sentinel}")];
    let limiter = limiter_on(RedisAddress::from_sentinels(&sentinels, "labs", 0, None).unwrap()).await;
    let _watching = run(&limiter);
    let (client, charge) = (somebody(), Charge::auth(LOGIN, &host(7)));
    assert_eq!(admitted(&limiter, &charge, &client, 20).await, 20);
    let mut copy = connection(&format!("redis://127.0.0.1:{replica}")).await;
    until("the replica has the count", async || copy.get(charge.key()).await.unwrap().as_deref() == Some("20")).await;

    servers.children[0].kill().unwrap();
    until("the process noticed", async || limiter.backend() == Backend::Memory).await;
    assert_eq!(admitted(&limiter, &charge, &client, 1).await, 1, "memory was kept warm");
    until("the replica was promoted and found", async || limiter.backend() == Backend::Redis).await;
    assert_eq!(admitted(&limiter, &charge, &client, 20).await, 10);
    // The promoted server has shown out whoever was connected to the replica.
    let mut promoted = connection(&format!("redis://127.0.0.1:{replica}")).await;
    assert_eq!(promoted.get(charge.key()).await.unwrap().as_deref(), Some("30"));
}
