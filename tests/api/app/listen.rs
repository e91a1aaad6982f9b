//! Bytes on a real connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::{PAGE, Reply, Server, World, raw::read_to_end};

async fn served() -> Server {
    World::new().await.serve().await
}

fn only(replies: Vec<Reply>) -> Reply {
    let [reply] = <[Reply; 1]>::try_from(replies).unwrap_or_else(|replies| panic!("not one answer: {replies:?}"));
    reply
}

const END: &str = "Connection: close\r\n\r\n";

#[tokio::test]
async fn the_listener_serves_what_the_house_answers() {
    let server = served().await;
    let reply = only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\n{END}")).await);
    assert_eq!(reply.is(200).json()["status"], "healthy");
    // case 273: of a HEAD nothing but the head arrives, whatever the answer.
    let head = only(server.send(format!("HEAD /health HTTP/1.1\r\nHost: x\r\n{END}")).await);
    assert_eq!((head.is(200).body.len(), head.header("content-length")), (0, Some("20")));
    let head = only(server.send(format!("HEAD /api/auth/me HTTP/1.1\r\nHost: x\r\n{END}")).await);
    assert_eq!((head.is(405).body.len(), head.header("allow")), (0, Some("GET, PATCH, DELETE")));
}

#[tokio::test]
async fn a_missing_or_repeated_host_is_refused_in_the_shape_of_the_house() {
    let server = served().await;
    for hosts in ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nHost: b\r\n", "Host: a b\r\n", "Host: \r\n"] {
        let reply = only(server.send(format!("GET /api/auth/me HTTP/1.1\r\n{hosts}Origin: {PAGE}\r\n{END}")).await);
        reply.is_error(400, "VAL_006");
        assert_eq!(reply.field("request_id"), reply.header("x-request-id").unwrap());
        assert_eq!(reply.header("access-control-allow-origin"), Some(PAGE));
    }
    let absolute = format!("GET http://evil.example/api/auth/me HTTP/1.1\r\nHost: a\r\n{END}");
    only(server.send(absolute).await).is_error(400, "VAL_006");
}

#[tokio::test]
async fn a_hundred_and_fifty_headers_are_too_many_and_the_next_connection_is_fine() {
    // case 283
    let server = served().await;
    let many = |count: usize| "X-Any: y\r\n".repeat(count);
    let reply = only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\n{}{END}", many(150))).await);
    reply.is(431);
    only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\n{}{END}", many(90))).await).is(200);
    // The server counts what it has read when it looks, so the bound is 64 KiB to within one read.
    let long = "v".repeat(256 * 1024);
    only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n{END}")).await).is(431);
    only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\n{END}")).await).is(200);
}

#[tokio::test]
async fn chunks_that_are_none_are_told_at_once_and_not_as_a_body_that_is_late() {
    let server = served().await;
    let head =
        "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    for chunks in ["zz\r\nnull\r\n0\r\n\r\n", "2\r\n{}x\r\n0\r\n\r\n", "2;\n\r\n{}\r\n0\r\n\r\n"] {
        let reply = only(server.send(format!("{head}{END}{chunks}")).await);
        reply.has_fault("value_error", "body");
    }
}

#[tokio::test]
async fn a_message_with_two_lengths_smuggles_nothing() {
    // case 287
    let server = served().await;
    let smuggled = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    let request = format!(
        "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\
         Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
    );
    let replies = server.send(request).await;
    assert!(replies.len() <= 1, "the hidden request was run: {replies:?}");
    assert!(replies.iter().all(|reply| reply.status.is_client_error()), "{replies:?}");
}

#[tokio::test]
async fn lengths_that_nobody_can_mean_are_refused() {
    let server = served().await;
    for lengths in [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: x\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
    ] {
        let request = format!("POST /api/auth/login HTTP/1.1\r\nHost: x\r\n{lengths}{END}{{}}");
        let replies = server.send(request).await;
        assert!(replies.len() <= 1 && replies.iter().all(|reply| reply.status.is_client_error()), "{replies:?}");
    }
    only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\n{END}")).await).is(200);
}

#[tokio::test]
async fn a_body_of_three_megabytes_is_refused_so_that_the_client_can_read_it() {
    // case 279
    let server = served().await;
    let mut stream = server.connect().await;
    let length = 3 * 1024 * 1024;
    let head = format!(
        "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nOrigin: {PAGE}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A client that sends everything before it reads must be able to.
    stream.write_all(&vec![b' '; length]).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    let reply = only(crate::world::raw::replies(&answer));
    reply.is_error(413, "VAL_003");
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(reply.header("access-control-allow-origin"), Some(PAGE));
    only(server.send(format!("GET /health HTTP/1.1\r\nHost: x\r\n{END}")).await).is(200);
}

#[tokio::test]
async fn dot_segments_are_no_way_around() {
    // case 289
    let server = served().await;
    for path in ["/api/health/../auth/login", "/api/auth/webauthn/%2e%2e/login", "/api/auth/../auth/login"] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n{END}{{}}"
        );
        only(server.send(request).await).is_error(404, "RES_001");
    }
}

#[tokio::test]
async fn noise_closes_its_own_connection_and_no_other() {
    let server = served().await;
    let mut patient = server.connect().await;
    patient.write_all(b"GET /health HTTP/1.1\r\n").await.unwrap();
    for noise in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n",
    ] {
        let replies = server.send(noise).await;
        assert!(replies.iter().all(|reply| reply.status.is_client_error()), "{replies:?}");
    }
    patient.write_all(format!("Host: x\r\n{END}").as_bytes()).await.unwrap();
    only(crate::world::raw::replies(&read_to_end(&mut patient).await)).is(200);
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let server = served().await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4096];
        let length = stream.read(&mut answer).await.unwrap();
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }
}

#[tokio::test]
async fn the_peer_of_a_real_connection_is_the_client_when_nobody_stands_between() {
    let world = World::plan().on_memory().set("TRUSTED_PROXY_COUNT", "0").build().await;
    let server = world.serve().await;
    let request = |client: &str| {
        format!(
            "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {client}\r\nContent-Type: application/json\r\n\
             Content-Length: 2\r\n{END}{{}}"
        )
    };
    for left in (27..30).rev() {
        let reply = only(server.send(request(&format!("203.0.113.{left}"))).await);
        assert_eq!(reply.is_error(422, "VAL_001").remaining(), left);
    }
}
