//! A slot that is held, alone or with the body of an answer: until the last byte is sent or the client is gone.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use tokio::task::JoinHandle;

use super::{Own, Parts};

/// A held slot. Dropping it gives it back.
pub struct Slot {
    parts: Arc<Parts>,
    own: Option<Own>,
    leased: Option<(String, String)>,
    renewal: Option<JoinHandle<()>>,
}

impl Slot {
    pub(super) fn new(parts: Arc<Parts>, own: Own, leased: Option<(String, String)>) -> Self {
        let renewal = leased.clone().map(|(key, token)| {
            let parts = Arc::clone(&parts);
            tokio::spawn(async move {
                let every = parts.policy.ttl / 3;
                loop {
                    tokio::time::sleep(every).await;
                    if parts.limiter.lease(&parts.lease(&key, "renew", &token)).await == Some(false) {
                        tracing::warn!(slots = parts.policy.name, "A slot ran out while it was held");
                        return;
                    }
                }
            })
        });
        Self { parts, own: Some(own), leased, renewal }
    }

    /// Holds the slot until the body has ended or is dropped.
    pub fn with<B>(self, body: B) -> Held<B> {
        Held { body, slot: Some(self) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        let own = self.own.take();
        let Some((key, token)) = self.leased.take() else { return };
        let parts = Arc::clone(&self.parts);
        // Given back to Redis first, so that whoever is called here finds it free there.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                parts.limiter.lease(&parts.lease(&key, "release", &token)).await;
                drop(own);
            });
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", self.parts.policy.name)
    }
}

/// A body that holds a slot.
#[derive(Debug)]
pub struct Held<B> {
    body: B,
    slot: Option<Slot>,
}

impl<B: Body + Unpin> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.slot = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
