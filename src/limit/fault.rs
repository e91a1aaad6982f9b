//! What can go wrong with Redis, told by the error's code, in words that are fit for a log.
//! It refuses to repeat what a server wrote: only codes from a closed list are shown.

use redis::{ErrorKind, RedisError};

/// Codes by which a server says that it cannot decide now.
const CODES: &[&str] = &[
    "READONLY",
    "LOADING",
    "OOM",
    "MISCONF",
    "CLUSTERDOWN",
    "NOAUTH",
    "WRONGPASS",
    "NOPERM",
    "MASTERDOWN",
    "BUSY",
    "NOREPLICAS",
    "NOSCRIPT",
    "MOVED",
    "ASK",
    "WRONGTYPE",
    "UNKILLABLE",
];

/// A failure of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No answer in time.
    Timeout,
    /// Nobody listens there.
    NotListening,
    /// The connection is gone.
    Lost,
    /// Any other trouble with the network, TLS included.
    Io,
    /// An answer that is not one.
    Protocol,
    /// The server's own word.
    Code(&'static str),
}

impl Fault {
    /// The class, as the log names it.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::NotListening => "connection refused",
            Self::Lost => "connection lost",
            Self::Io => "IO",
            Self::Protocol => "protocol",
            Self::Code(code) => code,
        }
    }

    /// Whether the connection is of no more use: gone, out of step, or held by a server that is a replica now or
    /// has handed the key on, so that only a new look at the address can find who holds it.
    pub(super) const fn ends_connection(self) -> bool {
        match self {
            Self::NotListening | Self::Lost | Self::Io | Self::Protocol => true,
            Self::Timeout => false,
            Self::Code(code) => matches!(code.as_bytes(), b"READONLY" | b"MOVED" | b"ASK"),
        }
    }
}

impl From<RedisError> for Fault {
    fn from(error: RedisError) -> Self {
        if error.is_timeout() {
            return Self::Timeout;
        }
        if error.is_connection_refusal() {
            return Self::NotListening;
        }
        if error.is_connection_dropped() {
            return Self::Lost;
        }
        match error.kind() {
            ErrorKind::AuthenticationFailed => Self::Code("WRONGPASS"),
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Self::Protocol,
            ErrorKind::Server(_) | ErrorKind::Extension => Self::Code(code(&error)),
            _ => Self::Io,
        }
    }
}

fn code(error: &RedisError) -> &'static str {
    let listed = |text: &str| CODES.iter().copied().find(|code| *code == text);
    if let Some(code) = error.code().and_then(listed) {
        return code;
    }
    // Redis 6 wraps a script's error into ERR, and a refused SELECT loses its code.
    let detail = error.detail().unwrap_or_default();
    if detail.contains("Authentication required") {
        return "NOAUTH";
    }
    CODES.iter().copied().find(|code| detail.contains(&format!("-{code} "))).unwrap_or("ERR")
}
