//! The one macro through which statements run, on whichever database is open.
//!
//! Heads: `read db`, `write db`, `in tx`. Ends: `execute` (rows affected), `one<Row>`, `optional<Row>`, `all<Row>`.
//! `Row` is a `FromRow` type or a tuple. Placeholders are `$1, $2, …`.

use std::{future::Future, time::Duration};

use super::Fault;

/// Longest that one statement may take before its request is told that the database is absent.
/// Below the contract's five seconds, acquiring a connection included.
const STATEMENT_DEADLINE: Duration = Duration::from_millis(4500);

/// Waits for a statement, within [`STATEMENT_DEADLINE`].
pub(crate) async fn bounded<T>(statement: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, Fault> {
    match tokio::time::timeout(STATEMENT_DEADLINE, statement).await {
        Ok(outcome) => outcome.map_err(Fault::from),
        Err(_) => Err(Fault::unreachable("a statement did not finish within its deadline")),
    }
}

macro_rules! query {
    (read $db:expr, $($rest:tt)*) => {
        match $db {
            $crate::store::Database::Postgres(pool) => $crate::store::query!(@run Postgres, pool, $($rest)*),
            $crate::store::Database::Sqlite(pools) => $crate::store::query!(@run Sqlite, &pools.readers, $($rest)*),
        }
    };
    (write $db:expr, $($rest:tt)*) => {
        match $db {
            $crate::store::Database::Postgres(pool) => $crate::store::query!(@run Postgres, pool, $($rest)*),
            $crate::store::Database::Sqlite(pools) => $crate::store::query!(@run Sqlite, &pools.writer, $($rest)*),
        }
    };
    (in $tx:expr, $($rest:tt)*) => {
        match $tx {
            $crate::store::Tx::Postgres(tx) => $crate::store::query!(@run Postgres, &mut **tx, $($rest)*),
            $crate::store::Tx::Sqlite(tx) => $crate::store::query!(@run Sqlite, &mut **tx, $($rest)*),
        }
    };
    (@run $kind:ident, $on:expr, execute, $sql:literal $(, $bind:expr)* $(,)?) => {
        $crate::store::bounded(sqlx::query::<sqlx::$kind>($sql)$(.bind($bind))*.execute($on))
            .await
            .map(|done| done.rows_affected())
    };
    (@run $kind:ident, $on:expr, one<$row:ty>, $sql:literal $(, $bind:expr)* $(,)?) => {
        $crate::store::bounded(sqlx::query_as::<sqlx::$kind, $row>($sql)$(.bind($bind))*.fetch_one($on)).await
    };
    (@run $kind:ident, $on:expr, optional<$row:ty>, $sql:literal $(, $bind:expr)* $(,)?) => {
        $crate::store::bounded(sqlx::query_as::<sqlx::$kind, $row>($sql)$(.bind($bind))*.fetch_optional($on)).await
    };
    (@run $kind:ident, $on:expr, all<$row:ty>, $sql:literal $(, $bind:expr)* $(,)?) => {
        $crate::store::bounded(sqlx::query_as::<sqlx::$kind, $row>($sql)$(.bind($bind))*.fetch_all($on)).await
    };
}
pub(crate) use query;
