//! The embedded migrations, run at every start under a lock: PostgreSQL's own advisory lock, a lock file beside SQLite's database.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use sqlx::{PgPool, SqlitePool, migrate::Migrator};

use super::Fault;

static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");
static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");

pub(super) async fn postgres(pool: &PgPool) -> Result<(), Fault> {
    POSTGRES.run(pool).await.map_err(|error| Fault::defect(format!("migration failed: {error}")))
}

pub(super) async fn sqlite(writer: &SqlitePool) -> Result<(), Fault> {
    SQLITE.run(writer).await.map_err(|error| Fault::defect(format!("migration failed: {error}")))
}

/// Waits for the lock beside the database file; it is released when the value is dropped.
pub(super) async fn lock(database: &Path) -> Result<File, Fault> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let wait = move || {
        let file = File::create(&path)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    };
    tokio::task::spawn_blocking(wait)
        .await
        .map_err(|error| Fault::defect(error.to_string()))?
        .map_err(|error| Fault::unreachable(format!("cannot lock the database for migration: {error}")))
}
