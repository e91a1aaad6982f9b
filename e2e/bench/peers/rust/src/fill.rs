//! Sends one request from each of so many clients, and says how many were answered and how many refused. `wrk` measures
//! for a time and not for a number of clients, so it cannot do this.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::Outcome;

/// Requests on their way on one connection.
const PIPELINED: u32 = 8;

/// Clients `24.0.0.0` and the `count` addresses from the `first` on.
#[tokio::main]
pub(crate) async fn fill(address: &str, first: u32, count: u32, connections: u32) -> Outcome {
    let mut senders = JoinSet::new();
    for number in 0..connections {
        let (from, to) = (share(count, number, connections), share(count, number + 1, connections));
        senders.spawn(send(address.to_owned(), first + from, first + to));
    }
    let mut refused = 0;
    while let Some(sent) = senders.join_next().await {
        refused += sent??;
    }
    println!("FILLED {count} {refused}");
    Ok(())
}

/// Where the part of a connection begins.
fn share(count: u32, number: u32, connections: u32) -> u32 {
    u32::try_from(u64::from(count) * u64::from(number) / u64::from(connections)).unwrap_or(count)
}

async fn send(address: String, from: u32, to: u32) -> Outcome<u32> {
    let mut stream = TcpStream::connect(&address).await?;
    stream.set_nodelay(true)?;
    let (mut buffer, mut refused, mut next) = (Vec::new(), 0, from);
    while next < to {
        let batch = PIPELINED.min(to - next);
        let text: Vec<String> = (next..next + batch).map(request).collect();
        stream.write_all(text.concat().as_bytes()).await?;
        for _ in 0..batch {
            refused += u32::from(receive(&mut stream, &mut buffer).await? != 200);
        }
        next += batch;
    }
    Ok(refused)
}

fn request(client: u32) -> String {
    let [_, b, c, d] = client.to_be_bytes();
    format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 24.{b}.{c}.{d}\r\n\r\n")
}

/// Reads one answer, whose length a header tells, and returns its status.
async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Outcome<u16> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
            let status = head.get(9..12).ok_or("no status")?.parse()?;
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.ok_or("an answer without a length")?.trim().parse()?;
            if buffer.len() >= end + 4 + length {
                buffer.drain(..end + 4 + length);
                return Ok(status);
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server hung up".into());
        }
    }
}
