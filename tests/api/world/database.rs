//! Where a world's rows live: a SQLite file in its folder, or a schema of its own when `TEST_DATABASE_URL` names a
//! PostgreSQL server. It looks in through connections of its own, never through the service's.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

pub(crate) enum Place {
    Sqlite { url: String },
    Postgres { url: String, base: String, schema: String },
}

impl Place {
    pub(crate) async fn fresh(folder: &Path) -> Self {
        let Ok(base) = std::env::var("TEST_DATABASE_URL") else {
            return Self::Sqlite { url: format!("sqlite://{}", folder.join("test.db").display()) };
        };
        let schema = format!("t_{:032x}", super::random());
        run(&base, format!("CREATE SCHEMA {schema}")).await;
        let joint = if base.contains('?') { '&' } else { '?' };
        Self::Postgres { url: format!("{base}{joint}options[search_path]={schema}"), base, schema }
    }

    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Sqlite { url } | Self::Postgres { url, .. } => url,
        }
    }

    pub(super) async fn execute(&self, sql: &'static str, email: &str) -> u64 {
        match self {
            Self::Sqlite { url } => {
                let mut connection = SqliteConnection::connect(url).await.unwrap();
                sqlx::query(sql).bind(email).execute(&mut connection).await.unwrap().rows_affected()
            }
            Self::Postgres { url, .. } => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                sqlx::query(sql).bind(email).execute(&mut connection).await.unwrap().rows_affected()
            }
        }
    }

    pub(crate) async fn number(&self, sql: &'static str, email: &str) -> i64 {
        match self {
            Self::Sqlite { url } => {
                let mut connection = SqliteConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).bind(email).fetch_one(&mut connection).await.unwrap()
            }
            Self::Postgres { url, .. } => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).bind(email).fetch_one(&mut connection).await.unwrap()
            }
        }
    }

    pub(super) async fn texts(&self, sql: &'static str, email: &str) -> Vec<String> {
        match self {
            Self::Sqlite { url } => {
                let mut connection = SqliteConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).bind(email).fetch_all(&mut connection).await.unwrap()
            }
            Self::Postgres { url, .. } => {
                let mut connection = PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).bind(email).fetch_all(&mut connection).await.unwrap()
            }
        }
    }
}

impl Place {
    /// Every value of every table as text, bytes in hexadecimal: table, column, value.
    pub(super) async fn dump(&self) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        match self {
            Self::Sqlite { url } => {
                let mut connection = SqliteConnection::connect(url).await.unwrap();
                let sql = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
                let columns: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&mut connection).await.unwrap();
                for (table, column) in columns {
                    let sql = AssertSqlSafe(format!("SELECT quote(\"{column}\") FROM \"{table}\""));
                    let values: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
                    found.extend(values.into_iter().map(|value| (table.clone(), column.clone(), value)));
                }
            }
            Self::Postgres { base, schema, .. } => {
                let mut connection = PgConnection::connect(base).await.unwrap();
                let sql = "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = $1";
                let columns: Vec<(String, String)> =
                    sqlx::query_as(sql).bind(schema).fetch_all(&mut connection).await.unwrap();
                for (table, column) in columns {
                    let sql = format!("SELECT coalesce(\"{column}\"::text, 'NULL') FROM {schema}.\"{table}\"");
                    let values: Vec<String> =
                        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
                    found.extend(values.into_iter().map(|value| (table.clone(), column.clone(), value)));
                }
            }
        }
        found
    }
}

impl Drop for Place {
    /// Drops the schema from a thread of its own: a test's runtime may be ending. It stands still meanwhile, so a
    /// rollback that is on its way never arrives: whoever still holds a row is shown out first.
    fn drop(&mut self) {
        let Self::Postgres { base, schema, .. } = self else { return };
        let base = base.clone();
        let show_out = format!(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{schema}' AND l.pid <> pg_backend_pid()"
        );
        let statement = format!("DROP SCHEMA {schema} CASCADE");
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                run(&base, show_out).await;
                run(&base, statement).await;
            });
        });
        // A failing test must show its own panic, not this one.
        assert!(dropped.join().is_ok() || std::thread::panicking(), "the schema of a test could not be dropped");
    }
}

async fn run(base: &str, statement: String) {
    let mut connection = PgConnection::connect(base).await.unwrap();
    sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
}
