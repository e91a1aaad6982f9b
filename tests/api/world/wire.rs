//! A wire that can be cut: a small TCP proxy in front of a database, a Redis or a mail server. Cut, connections end and
//! new ones are refused; stalled, they stay open and nothing comes through.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_util::sync::{CancellationToken, DropGuard};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Whole,
    Stalled,
    Cut,
}

/// A wire to `upstream`; it is gone when dropped.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    state: watch::Sender<State>,
    _end: DropGuard,
}

impl Wire {
    pub(crate) async fn to(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, watched) = watch::channel(State::Whole);
        let end = CancellationToken::new();
        let accept = async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                tokio::spawn(connection(near, upstream, watched.clone()));
            }
        };
        let cancelled = end.clone();
        tokio::spawn(async move { cancelled.run_until_cancelled(accept).await });
        Self { address, state, _end: end.drop_guard() }
    }

    /// Ends every connection and refuses new ones.
    pub(crate) fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Keeps connections open and lets nothing through.
    pub(crate) fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// Lets everything through again.
    pub(crate) fn restore(&self) {
        self.state.send_replace(State::Whole);
    }
}

async fn connection(near: TcpStream, upstream: SocketAddr, mut state: watch::Receiver<State>) {
    if *state.borrow() == State::Cut {
        return;
    }
    let Ok(far) = TcpStream::connect(upstream).await else { return };
    let (near_in, near_out) = near.into_split();
    let (far_in, far_out) = far.into_split();
    let (there, back) = (carry(near_in, far_out, state.clone()), carry(far_in, near_out, state.clone()));
    tokio::select! {
        () = there => {}
        () = back => {}
        _ = state.wait_for(|state| *state == State::Cut) => {}
    }
}

async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut state: watch::Receiver<State>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let whole = state.wait_for(|state| *state == State::Whole).await.is_ok();
        if !whole || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
