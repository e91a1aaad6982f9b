//! Opening PostgreSQL.

use std::{str::FromStr, time::Duration};

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{Fault, migrate};

/// Connections per process. Statements are short; more would only queue inside the server.
const CONNECTIONS: u32 = 10;

/// Longest wait for a connection, below the statement's own deadline.
const ACQUIRE_DEADLINE: Duration = Duration::from_secs(3);

/// An idle connection is given back to the server after this long.
const IDLE: Duration = Duration::from_mins(5);

pub(super) async fn open(url: &str) -> Result<PgPool, Fault> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|_| Fault::defect("DATABASE_URL is not a valid PostgreSQL address"))?
        .application_name("labs-auth");
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(ACQUIRE_DEADLINE)
        .idle_timeout(IDLE)
        .connect_with(options)
        .await?;
    migrate::postgres(&pool).await?;
    Ok(pool)
}
