//! The ear on the loopback interface: it takes one answer that carries our own state, and ignores everything else that
//! a browser or another program sends.

use std::time::Duration;

use openidconnect::url::Url;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::Outcome;
use crate::secret::{Plain, equal};

/// How long a person may take: the lifetime of the page's form.
const PATIENCE: Duration = Duration::from_mins(10);

/// How long one connection may take to say what it wants.
const HEAD_DEADLINE: Duration = Duration::from_secs(5);

/// Connections that are heard at once: browsers open some on suspicion and say nothing on them.
const HEARINGS_MAX: usize = 32;

/// Largest request that is read.
const HEAD_MAX: usize = 8 * 1024;

/// What a request meant.
#[derive(Debug)]
enum Heard {
    Code(Plain),
    Declined,
    Nothing,
}

/// A bound port on 127.0.0.1.
#[derive(Debug)]
pub(super) struct Ear {
    listener: TcpListener,
    port: u16,
}

impl Ear {
    pub(super) async fn open() -> Outcome<Self> {
        let deaf = |error: std::io::Error| format!("no port on 127.0.0.1 can be opened: {error}");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(deaf)?;
        let port = listener.local_addr().map_err(deaf)?.port();
        Ok(Self { listener, port })
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the browser's answer to `state`.
    pub(super) async fn wait(self, state: &Plain) -> Outcome<Plain> {
        let listen = async {
            let mut hearings = JoinSet::new();
            loop {
                tokio::select! {
                    knock = self.listener.accept(), if hearings.len() < HEARINGS_MAX => {
                        if let Ok((stream, _)) = knock {
                            hearings.spawn(tokio::time::timeout(HEAD_DEADLINE, hear(stream, state.clone())));
                        }
                    }
                    Some(heard) = hearings.join_next() => match heard {
                        Ok(Ok(Ok(Heard::Code(code)))) => return Ok(code),
                        Ok(Ok(Ok(Heard::Declined))) => {
                            return Err(String::from("you cancelled the sign-in in the browser"));
                        }
                        Ok(Ok(Ok(Heard::Nothing) | Err(_)) | Err(_)) | Err(_) => {}
                    },
                }
            }
        };
        tokio::time::timeout(PATIENCE, listen)
            .await
            .unwrap_or_else(|_| Err(String::from("the browser did not answer within ten minutes")))
    }
}

async fn hear(mut stream: TcpStream, state: Plain) -> std::io::Result<Heard> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_MAX {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let meant = understand(&head, &state);
    let (status, words) = match &meant {
        Heard::Code(_) => ("200 OK", "You are signed in. You can close this window and go back to the terminal."),
        Heard::Declined => ("200 OK", "The sign-in was cancelled. You can close this window."),
        Heard::Nothing => ("404 Not Found", "There is nothing here."),
    };
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>labs-auth</title><p>{words}</p></html>"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(meant)
}

/// What a request says, when it is `GET /callback` with our own state.
fn understand(head: &[u8], state: &Plain) -> Heard {
    let line = String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    let target = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or("");
    let Ok(url) = Url::parse("http://127.0.0.1").and_then(|base| base.join(target)) else { return Heard::Nothing };
    let value = |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
    let ours = value("state").is_some_and(|said| equal(said.as_bytes(), state.reveal().as_bytes()));
    if url.path() != "/callback" || !ours {
        return Heard::Nothing;
    }
    match (value("code"), value("error")) {
        (Some(code), None) => Heard::Code(Plain::presented(code)),
        (_, Some(_)) => Heard::Declined,
        (None, None) => Heard::Nothing,
    }
}
