//! Opening PostgreSQL.

use std::{str::FromStr, time::Duration};

use sqlx::{
    Connection, PgConnection, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tracing::Instrument;

use super::{Fault, bounded, migrate};

/// Connections per process. Statements are short; more would only queue inside the server.
const CONNECTIONS: u32 = 10;

/// Longest wait for a connection, below the statement's own deadline.
const ACQUIRE_DEADLINE: Duration = Duration::from_secs(3);

/// An idle connection is given back to the server after this long.
const IDLE: Duration = Duration::from_mins(5);

/// A connection that was used so lately is handed out unasked: a ping is a round trip more for each statement.
const TRUSTED: Duration = Duration::from_secs(1);

/// The isolation that the statements of the house are written for: a claim by UPDATE waits for the row and then sees what
/// the winner left. A server whose default is stricter would answer parallel claims with serialisation failures instead.
const ISOLATION: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";

pub(super) async fn open(url: &str) -> Result<PgPool, Fault> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|_| Fault::defect("DATABASE_URL is not a valid PostgreSQL address"))?
        .application_name("labs-auth");
    let opening = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(ACQUIRE_DEADLINE)
        .idle_timeout(IDLE)
        .test_before_acquire(false)
        .before_acquire(|connection, known| {
            Box::pin(async move {
                if known.idle_for > TRUSTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::query(ISOLATION).execute(connection).await.map(|_| ()) })
        })
        .connect_with(options.clone());
    let pool = match opening.await {
        Ok(pool) => pool,
        Err(error) => return Err(cause(&options, error).await.into()),
    };
    migrate::postgres(&pool).await?;
    Ok(pool)
}

/// Opens a transaction in a task of its own. A request may end while its BEGIN is on the way, for its client leaves or its
/// time is over; the library would give the connection back with that transaction open, and whoever has it next would
/// write into it and never commit. The task sees it through, and rolls back what nobody waits for any more.
pub(super) async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, Fault> {
    let pool = pool.clone();
    let opening = tokio::spawn(async move { pool.begin().await }.in_current_span());
    bounded(async { opening.await.unwrap_or(Err(sqlx::Error::WorkerCrashed)) }).await
}

/// Why a pool could not be opened. It tries until its time is over and forgets why it failed; a single attempt tells.
async fn cause(options: &PgConnectOptions, error: sqlx::Error) -> sqlx::Error {
    match tokio::time::timeout(ACQUIRE_DEADLINE, PgConnection::connect_with(options)).await {
        Ok(Err(cause)) => cause,
        _ => error,
    }
}
