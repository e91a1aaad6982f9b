//! The accept loop over hyper: bounded headers, bounded header time, and a drain with a deadline. `axum::serve` keeps
//! half-sent requests open, so it would neither close idle connections nor stop in time.

use std::{io, os::unix::fs::FileTypeExt, path::PathBuf, sync::Arc, time::Duration};

use axum::response::Response;
use http::StatusCode;
use hyper::{ext::ReasonPhrase, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    config::ListenAddress,
    middleware::{House, client_ip::Peer},
};

/// Longest wait for a request's head; also how long an idle connection is kept. A proxy in front keeps its own for less.
const HEADER_DEADLINE: Duration = Duration::from_secs(30);

/// Largest head of a request in bytes. The number of header lines is bounded by the library: 100, then 431.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Most bytes of a connection that wait in memory.
const BUFFER_MAX: usize = 64 * 1024;

/// How long open requests may take to finish after the stop signal, half-sent ones included.
const DRAIN_DEADLINE: Duration = Duration::from_secs(25);

/// Pause after a failed accept: out of file handles, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound socket.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Binds the address. A socket file that a dead process left behind is replaced; any other file is not.
    ///
    /// # Errors
    /// When the address is taken or not ours to bind.
    pub async fn bind(address: &ListenAddress) -> io::Result<Self> {
        match address {
            ListenAddress::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
            ListenAddress::Unix(path) => {
                let path = PathBuf::from(path);
                let is_socket = std::fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_socket());
                if is_socket && tokio::net::UnixStream::connect(&path).await.is_err() {
                    std::fs::remove_file(&path)?;
                }
                Ok(Self::Unix(UnixListener::bind(&path)?, path))
            }
        }
    }

    /// Where it listens, for people.
    pub fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| String::from("?"), |address| address.to_string())
            }
            Self::Unix(_, path) => format!("unix:{}", path.display()),
        }
    }

    /// Accepts and serves until `stop`, then drains.
    pub async fn serve(self, house: House, stop: CancellationToken) {
        let mut connections = Connections { house, graceful: GracefulShutdown::new(), tasks: JoinSet::new() };
        while let Some(accepted) = stop.run_until_cancelled(self.accept()).await {
            match accepted {
                Ok(Accepted::Tcp(stream, peer)) => connections.open(stream, peer),
                Ok(Accepted::Unix(stream)) => connections.open(stream, Peer::Local),
                Err(error) => {
                    tracing::warn!(%error, "A connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
            while connections.tasks.try_join_next().is_some() {}
        }
        if let Self::Unix(_, path) = &self {
            // The next process replaces a file that stays behind.
            let _ = std::fs::remove_file(path);
        }
        drop(self);
        connections.drain().await;
    }

    async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Answers are small and complete: waiting to fill a packet would only delay them.
                stream.set_nodelay(true)?;
                Ok(Accepted::Tcp(stream, Peer::Address(address.ip())))
            }
            Self::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Accepted::Unix(stream)),
        }
    }
}

enum Accepted {
    Tcp(tokio::net::TcpStream, Peer),
    Unix(tokio::net::UnixStream),
}

struct Connections {
    house: House,
    graceful: GracefulShutdown,
    tasks: JoinSet<()>,
}

impl Connections {
    fn open<I>(&mut self, stream: I, peer: Peer)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let house = Arc::new(self.house.clone());
        let service = tower::service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(peer);
            let answer = Arc::clone(&house).answer(request);
            async move { answer.await.map(phrased) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_DEADLINE)
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(BUFFER_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let watched = self.graceful.watch(connection);
        self.tasks.spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(%error, "A connection ended early");
            }
        });
    }

    async fn drain(mut self) {
        let drained = tokio::time::timeout(DRAIN_DEADLINE, self.graceful.shutdown()).await;
        if drained.is_err() {
            while self.tasks.try_join_next().is_some() {}
            tracing::warn!(open = self.tasks.len(), "Some connections did not finish in time and are closed");
        }
        self.tasks.shutdown().await;
    }
}

/// A 429 leaves with a phrase of its own on the status line. The customary "Too Many Requests" reads like the sentences of
/// the bodies, and whoever searches an answer for those, as the acceptance checks do, would find it twice.
fn phrased(mut response: Response) -> Response {
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        response.extensions_mut().insert(ReasonPhrase::from_static(b"Rate Limited"));
    }
    response
}
