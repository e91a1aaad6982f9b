//! A mail server for tests, on a real socket: it keeps what it is given and can be told to behave badly at any moment.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use smtp_proto::{
    Error, Request,
    request::receiver::{DataReceiver, RequestReceiver},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

/// How the server treats its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Takes everything.
    Obliging,
    /// Takes everything, each answer after a while.
    Slow(Duration),
    /// Accepts the connection and never says a word.
    Silent,
    /// Takes everything and never answers the message itself.
    SilentAfterMessage,
    /// Answers 451 to every command.
    Busy,
    /// Greets with 554.
    Closed,
    /// Refuses every recipient with this line.
    Refusing(&'static str),
}

/// What the server offers on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Clear,
    StartTls,
    Tls,
}

/// A message as it was handed over.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) message: Vec<u8>,
    pub(crate) encrypted: bool,
}

#[derive(Default)]
struct Notes {
    connections: usize,
    commands: BTreeMap<&'static str, usize>,
    received: Vec<Received>,
}

struct Shared {
    manner: Mutex<Manner>,
    notes: Mutex<Notes>,
    wire: Wire,
    acceptor: TlsAcceptor,
}

/// The server. It ends when it is dropped.
pub(crate) struct SmtpServer {
    address: SocketAddr,
    certificate: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl SmtpServer {
    pub(crate) async fn start(wire: Wire, manner: Manner) -> Self {
        Self::start_as("127.0.0.1", wire, manner).await
    }

    /// A server whose certificate carries `name`.
    pub(crate) async fn start_as(name: &str, wire: Wire, manner: Manner) -> Self {
        let pair = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.signing_key.serialize_der()));
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![pair.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            manner: Mutex::new(manner),
            notes: Mutex::default(),
            wire,
            acceptor: TlsAcceptor::from(Arc::new(tls)),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, certificate: pair.cert.pem(), shared, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate to trust, in PEM.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.certificate.clone().into_bytes()
    }

    pub(crate) fn behave(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.notes.lock().unwrap().received.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.notes.lock().unwrap().connections
    }

    /// How often a command came.
    pub(crate) fn heard(&self, command: &str) -> usize {
        self.shared.notes.lock().unwrap().commands.get(command).copied().unwrap_or(0)
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.notes.lock().unwrap().connections += 1;
        tokio::spawn(receive(stream, Arc::clone(&shared)));
    }
}

async fn receive(stream: TcpStream, shared: Arc<Shared>) {
    if shared.wire == Wire::Tls {
        let Ok(stream) = shared.acceptor.accept(stream).await else { return };
        Conversation::new(stream, &shared, true).hold(true).await;
        return;
    }
    let Some(stream) = Conversation::new(stream, &shared, false).hold(true).await else { return };
    let Ok(stream) = shared.acceptor.accept(stream).await else { return };
    Conversation::new(stream, &shared, true).hold(false).await;
}

struct Conversation<'a, S> {
    stream: S,
    shared: &'a Shared,
    encrypted: bool,
    from: String,
    to: Vec<String>,
}

enum Next {
    Command,
    Data,
    Tls,
    End,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Conversation<'a, S> {
    fn new(stream: S, shared: &'a Shared, encrypted: bool) -> Self {
        Self { stream, shared, encrypted, from: String::new(), to: Vec::new() }
    }

    /// Speaks until the client leaves; gives the stream back when the client asked for TLS.
    async fn hold(mut self, greet: bool) -> Option<S> {
        if greet && !self.greet().await {
            return None;
        }
        let mut requests = RequestReceiver::default();
        let mut message: Option<(DataReceiver, Vec<u8>)> = None;
        let mut chunk = vec![0; 4096];
        loop {
            let count = self.stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
            let mut bytes = chunk[..count].iter();
            loop {
                if let Some((receiver, body)) = &mut message {
                    if !receiver.ingest(&mut bytes, body) {
                        break;
                    }
                    let body = std::mem::take(body);
                    message = None;
                    self.keep(body).await;
                    continue;
                }
                let request = match requests.ingest(&mut bytes) {
                    Ok(request) => request.into_owned(),
                    Err(Error::NeedsMoreData { .. }) => break,
                    Err(_) => {
                        self.say("500 5.5.2 not understood").await;
                        continue;
                    }
                };
                match self.answer(request).await {
                    Next::Command => {}
                    Next::Data => message = Some((DataReceiver::new(), Vec::new())),
                    Next::Tls => return Some(self.stream),
                    Next::End => return None,
                }
            }
        }
    }

    fn manner(&self) -> Manner {
        *self.shared.manner.lock().unwrap()
    }

    async fn greet(&mut self) -> bool {
        match self.manner() {
            Manner::Silent => std::future::pending().await,
            Manner::Closed => {
                self.say("554 5.3.2 no service here").await;
                false
            }
            _ => {
                self.say("220 mail.test ESMTP").await;
                true
            }
        }
    }

    async fn answer(&mut self, request: Request<String>) -> Next {
        *self.shared.notes.lock().unwrap().commands.entry(request.name()).or_default() += 1;
        match (self.manner(), request) {
            (Manner::Silent, _) => std::future::pending().await,
            (Manner::Busy, _) => self.say("451 4.3.0 come back later").await,
            (_, Request::Ehlo { .. }) => {
                let offer = self.shared.wire == Wire::StartTls && !self.encrypted;
                self.say(if offer { "250-mail.test\r\n250 STARTTLS" } else { "250-mail.test\r\n250 AUTH PLAIN" }).await;
            }
            (_, Request::StartTls) => {
                self.say("220 2.0.0 go ahead").await;
                return Next::Tls;
            }
            (_, Request::Auth { .. }) => self.say("235 2.7.0 welcome").await,
            (_, Request::Mail { from }) => {
                self.from = from.address;
                self.to.clear();
                self.say("250 2.1.0 ok").await;
            }
            (Manner::Refusing(line), Request::Rcpt { .. }) => self.say(line).await,
            (_, Request::Rcpt { to }) => {
                self.to.push(to.address);
                self.say("250 2.1.5 ok").await;
            }
            (_, Request::Data) => {
                self.say("354 go ahead").await;
                return Next::Data;
            }
            (_, Request::Quit) => {
                self.say("221 2.0.0 bye").await;
                return Next::End;
            }
            (_, Request::Noop { .. } | Request::Rset) => self.say("250 2.0.0 ok").await,
            _ => self.say("502 5.5.1 not here").await,
        }
        Next::Command
    }

    async fn keep(&mut self, message: Vec<u8>) {
        if self.manner() == Manner::SilentAfterMessage {
            std::future::pending::<()>().await;
        }
        let received =
            Received { from: self.from.clone(), to: std::mem::take(&mut self.to), message, encrypted: self.encrypted };
        self.shared.notes.lock().unwrap().received.push(received);
        self.say("250 2.0.0 kept").await;
    }

    async fn say(&mut self, line: &str) {
        if let Manner::Slow(pause) = self.manner() {
            tokio::time::sleep(pause).await;
        }
        // A client that left does not hear it.
        let _gone = self.stream.write_all(format!("{line}\r\n").as_bytes()).await;
        let _gone = self.stream.flush().await;
    }
}
