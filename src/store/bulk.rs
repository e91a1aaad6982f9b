//! Many rows by one statement, for imports. The text before and after the rows is literal; between them stand
//! placeholders alone, as many as there are values.

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
        let mut statement = sqlx::QueryBuilder::<sqlx::$kind>::new(concat!($head, " "));
        statement.push_values($rows, |mut values, $row| {
            $(values.push_bind($bind);)*
        });
        statement.push(concat!(" ", $tail));
        $crate::store::bounded(statement.build_query_as::<$out>().fetch_all(&mut **$tx)).await
    }};
}
pub(crate) use insert_many;
