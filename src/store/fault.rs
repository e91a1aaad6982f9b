//! What can go wrong with the database, in three kinds that callers treat differently.

use std::{error::Error, fmt};

/// A failure of the database. It has no `Display`: its text is for the log, never for a client.
#[derive(Clone)]
pub enum Fault {
    /// It does not answer, or not in time. Waiting may help.
    Unreachable(String),
    /// Another transaction won. Trying the whole transaction again may succeed.
    Contended(String),
    /// The statement or the data is wrong: a defect of ours.
    Defect(String),
}

impl Fault {
    pub(crate) fn unreachable(text: impl Into<String>) -> Self {
        Self::Unreachable(text.into())
    }

    pub(crate) fn defect(text: impl Into<String>) -> Self {
        Self::Defect(text.into())
    }

    /// The text for a log line.
    pub fn for_log(&self) -> &str {
        match self {
            Self::Unreachable(text) | Self::Contended(text) | Self::Defect(text) => text,
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.for_log())
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        let text = chain(&error);
        match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::BeginFailed
            | sqlx::Error::WorkerCrashed => Self::Unreachable(text),
            sqlx::Error::Database(database) => match database.code().as_deref() {
                Some(code) if is_contention(code) => Self::Contended(text),
                Some(code) if is_absence(code) => Self::Unreachable(text),
                _ => Self::Defect(text),
            },
            _ => Self::Defect(text),
        }
    }
}

/// PostgreSQL: serialisation failure, deadlock, and a unique value that another transaction took after this one had
/// looked (every statement that may meet a taken value looks first or says ON CONFLICT, so the next attempt sees it).
/// SQLite: `SQLITE_BUSY` and its snapshot form; its one writer cannot be overtaken.
fn is_contention(code: &str) -> bool {
    matches!(code, "40001" | "40P01" | "23505" | "5" | "261" | "517")
}

/// PostgreSQL: connection exceptions, resources exhausted, operator intervention, a standby's read-only refusal.
/// SQLite: input/output error, full disk, cannot open, read-only file.
fn is_absence(code: &str) -> bool {
    let postgres = code.len() == 5 && ["08", "53", "57"].iter().any(|class| code.starts_with(class));
    postgres || matches!(code, "25006" | "8" | "10" | "13" | "14")
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let line = source.to_string();
        if !text.contains(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        next = source.source();
    }
    text
}
