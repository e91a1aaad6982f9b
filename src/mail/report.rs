//! What the health route tells about mail. It comes from the last attempts and the outbox, never from a connection
//! made for the question, and names no host, no mailbox and no cause.

use std::sync::{Mutex, PoisonError};

/// Whether the last attempts found a working transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MailState {
    #[default]
    Healthy,
    Failing,
}

impl MailState {
    /// The word for the health route.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Failing => "failing",
        }
    }
}

/// The mail part of the detailed health answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailReport {
    pub transport: &'static str,
    pub state: MailState,
    /// Mails that wait for delivery.
    pub queued: u64,
    /// Mails that were given up and kept.
    pub dead: u64,
    /// Age of the oldest waiting mail.
    pub oldest_seconds: u64,
}

/// The courier's memory between reports.
#[derive(Debug)]
pub(super) struct Outlook(Mutex<MailReport>);

impl Outlook {
    pub(super) const fn new(transport: &'static str) -> Self {
        Self(Mutex::new(MailReport { transport, state: MailState::Healthy, queued: 0, dead: 0, oldest_seconds: 0 }))
    }

    /// Notes how the last attempt went; returns whether that is news.
    pub(super) fn note(&self, state: MailState) -> bool {
        let mut report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut report.state, state) != state
    }

    /// Notes fresh figures.
    pub(super) fn count(&self, queued: u64, dead: u64, oldest_seconds: u64) {
        let mut report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *report = MailReport { queued, dead, oldest_seconds, ..*report };
    }

    pub(super) fn report(&self) -> MailReport {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
