//! Bytes on a real connection, for what no well-behaved client sends.

use std::io;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{Reply, Server};

impl Server {
    /// Opens a connection.
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes over a fresh connection and reads until the server closes it.
    pub(crate) async fn send(&self, bytes: impl AsRef<[u8]>) -> Vec<Reply> {
        let mut stream = self.connect().await;
        // The server may answer and close before it has taken everything.
        let _ = stream.write_all(bytes.as_ref()).await;
        let answer = read_to_end(&mut stream).await;
        replies(&answer)
    }
}

/// Everything until the other side closes; a reset ends it too.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer).await {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
    }
    answer
}

/// The answers in a stream of bytes, each with a known length.
pub(crate) fn replies(mut bytes: &[u8]) -> Vec<Reply> {
    let mut found = Vec::new();
    while let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines.map(|line| line.split_once(": ").unwrap()) {
            headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let length: usize = headers.get("content-length").map_or(0, |it| it.to_str().unwrap().parse().unwrap());
        // The answer to a HEAD names the length of a body that does not follow.
        let length = length.min(bytes.len() - end - 4);
        let body = bytes[end + 4..][..length].to_vec();
        bytes = &bytes[end + 4 + length..];
        found.push(Reply::new(
            String::from("raw bytes"),
            StatusCode::from_bytes(status.as_bytes()).unwrap(),
            headers,
            body,
        ));
    }
    found
}
