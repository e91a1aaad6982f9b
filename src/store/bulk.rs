//! Many rows by few statements, for imports. The text before and after the rows is literal; between them stand
//! placeholders alone, as many as there are values.

use super::{Database, Fault, query};

/// Rows of one statement. All full statements of a table share one text, so the database reads and plans it once; the
/// eleven values of an account make 5,500, below the 32,766 that SQLite takes. One round trip for so many costs nothing.
pub(crate) const ROWS: usize = 500;

impl Database {
    /// Makes ready for a long import in this process. SQLite keeps what it touches in memory (64 MiB at most) instead of
    /// reading index pages again and again, and moves its log into the database less often; PostgreSQL needs nothing.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn expect_much(&self) -> Result<(), Fault> {
        if matches!(self, Self::Sqlite(_)) {
            query!(write self, execute, "PRAGMA cache_size = -65536")?;
            // In pages of 4 KiB, 64 MiB; closing the database moves the rest.
            query!(write self, execute, "PRAGMA wal_autocheckpoint = 16384")?;
        }
        Ok(())
    }
}

/// `insert_many!(tx, Row, "INSERT INTO t (a, b)", rows, |row| [row.a, row.b], "ON CONFLICT DO NOTHING RETURNING id")`:
/// the rows that the tail returns.
macro_rules! insert_many {
    ($tx:expr, $out:ty, $head:literal, $rows:expr, |$row:ident| [$($bind:expr),* $(,)?], $tail:literal) => {
        match $tx {
            $crate::store::Tx::Postgres(tx) => {
                $crate::store::insert_many!(@run Postgres, tx, $out, $head, $rows, |$row| [$($bind),*], $tail)
            }
            $crate::store::Tx::Sqlite(tx) => {
                $crate::store::insert_many!(@run Sqlite, tx, $out, $head, $rows, |$row| [$($bind),*], $tail)
            }
        }
    };
    (@run $kind:ident, $tx:ident, $out:ty, $head:literal, $rows:expr, |$row:ident| [$($bind:expr),*], $tail:literal) => {{
        let mut returned: Vec<$out> = Vec::new();
        for rows in $rows.chunks($crate::store::ROWS) {
            let mut statement = sqlx::QueryBuilder::<sqlx::$kind>::new(concat!($head, " "));
            statement.push_values(rows, |mut values, $row| {
                $(values.push_bind($bind);)*
            });
            statement.push(concat!(" ", $tail));
            let some = $crate::store::bounded(statement.build_query_as::<$out>().fetch_all(&mut **$tx)).await?;
            returned.extend(some);
        }
        Ok::<_, $crate::store::Fault>(returned)
    }};
}
pub(crate) use insert_many;
