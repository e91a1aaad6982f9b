//! The database: PostgreSQL or SQLite, from one SQL text. Rooms write their statements with the `query!` macro in
//! their own `store.rs`; nothing outside this module knows which database is open, and nothing builds SQL from strings.

mod bulk;
mod fault;
mod migrate;
mod postgres;
mod query;
mod sqlite;
mod timestamp;

use std::{fmt, future::Future, time::Duration};

pub use sqlx::{FromRow, types::Json};

pub use self::fault::Fault;
pub(crate) use self::{
    bulk::{ROWS, insert_many},
    query::{bounded, query},
};
pub use crate::clock::Timestamp;

/// How often a statement that lost a race (serialisation failure, deadlock) is tried in all.
const ATTEMPTS: u32 = 5;

/// How long [`Database::ping`] waits for an answer.
pub const PING_DEADLINE: Duration = Duration::from_secs(1);

/// The open database.
#[derive(Clone)]
pub enum Database {
    Postgres(sqlx::PgPool),
    Sqlite(sqlite::Pools),
}

/// An open transaction; dropping it rolls back.
pub enum Tx {
    Postgres(sqlx::Transaction<'static, sqlx::Postgres>),
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
}

impl Database {
    /// Opens the database that `url` names (`postgres://…` or `sqlite://…`) and brings its schema up to date under a lock.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] when it does not answer, [`Fault::Defect`] when the URL or the schema is not usable.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            postgres::open(url).await.map(Self::Postgres)
        } else if url.starts_with("sqlite:") {
            sqlite::open(url).await.map(Self::Sqlite)
        } else {
            Err(Fault::defect("DATABASE_URL must start with postgres:// or sqlite://"))
        }
    }

    /// Opens the database that `url` names, unless there is none: a file that is not there would be made.
    ///
    /// # Errors
    /// As [`Self::open`], and [`Fault::Defect`] when there is no such file.
    pub async fn open_existing(url: &str) -> Result<Self, Fault> {
        if url.starts_with("sqlite:")
            && let Some(path) = sqlite::missing(url)?
        {
            return Err(Fault::defect(format!("there is no {}; `labs-auth migrate` makes it", path.display())));
        }
        Self::open(url).await
    }

    /// Opens a transaction. On SQLite it holds the one writer from the start, so that it cannot fail half-way for a lock.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] when no connection is to be had in time.
    pub async fn begin(&self) -> Result<Tx, Fault> {
        match self {
            Self::Postgres(pool) => postgres::begin(pool).await.map(Tx::Postgres),
            // Boxed, for it is large, and every use case holds it: a request that never gets here would carry the bytes along.
            Self::Sqlite(pools) => Box::pin(bounded(pools.writer.begin_with("BEGIN IMMEDIATE"))).await.map(Tx::Sqlite),
        }
    }

    /// Asks the database for an answer, within [`PING_DEADLINE`].
    ///
    /// # Errors
    /// [`Fault::Unreachable`] when none comes.
    pub async fn ping(&self) -> Result<(), Fault> {
        let ask = async { query!(read self, one<(i64,)>, "SELECT CAST(1 AS bigint)") };
        match tokio::time::timeout(PING_DEADLINE, ask).await {
            Ok(answer) => answer.map(|_| ()),
            Err(_) => Err(Fault::unreachable("no answer to a ping within its deadline")),
        }
    }

    /// The name of the backend, as `/health/detailed` shows it.
    pub const fn backend(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Sqlite(_) => "sqlite",
        }
    }

    /// Closes every connection, waiting for those in use.
    pub async fn close(&self) {
        match self {
            Self::Postgres(pool) => pool.close().await,
            Self::Sqlite(pools) => {
                pools.readers.close().await;
                pools.writer.close().await;
            }
        }
    }
}

impl Tx {
    /// Makes everything that was done in this transaction visible.
    ///
    /// # Errors
    /// [`Fault::Contended`] when another transaction won; nothing was done then.
    pub async fn commit(self) -> Result<(), Fault> {
        match self {
            Self::Postgres(tx) => bounded(tx.commit()).await,
            Self::Sqlite(tx) => bounded(tx.commit()).await,
        }
    }
}

/// Runs `attempt` again while it loses races against other transactions.
///
/// # Errors
/// What the last attempt said.
pub async fn retrying<T, E, Next, Run>(mut attempt: Next) -> Result<T, E>
where
    Next: FnMut() -> Run,
    Run: Future<Output = Result<T, E>>,
    E: Contention,
{
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_contention() => tokio::task::yield_now().await,
            outcome => return outcome,
        }
    }
    attempt().await
}

/// An error that may say "another transaction won, try again".
pub trait Contention {
    /// Whether trying the whole transaction again may succeed.
    fn is_contention(&self) -> bool;
}

impl Contention for Fault {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Contended(_))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.backend())
    }
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tx")
    }
}
