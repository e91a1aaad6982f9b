//! Opening SQLite: one writer, several readers, write-ahead log. The readers open after the migrations, read-only.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Fault, migrate};

/// Readers beside the one writer.
const READERS: u32 = 4;

/// Longest wait for the writer or a reader.
const ACQUIRE_DEADLINE: Duration = Duration::from_secs(4);

/// Longest wait inside SQLite for another process's lock.
const BUSY: Duration = Duration::from_secs(4);

/// The two pools of a SQLite database.
#[derive(Clone, Debug)]
pub struct Pools {
    pub(crate) writer: SqlitePool,
    pub(crate) readers: SqlitePool,
}

/// The file that opening this address would have to make; `None` when it is there.
pub(super) fn missing(url: &str) -> Result<Option<PathBuf>, Fault> {
    let path = address(url)?.get_filename().to_owned();
    Ok(if path.exists() { None } else { Some(path) })
}

fn address(url: &str) -> Result<SqliteConnectOptions, Fault> {
    SqliteConnectOptions::from_str(url).map_err(|_| Fault::defect("DATABASE_URL is not a valid SQLite address"))
}

pub(super) async fn open(url: &str) -> Result<Pools, Fault> {
    let options = address(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(BUSY);
    let path = options.get_filename().to_owned();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| Fault::unreachable(format!("cannot make the folder of the database: {error}")))?;
    }
    let _lock = migrate::lock(&path).await?;
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_DEADLINE)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options.clone())
        .await?;
    keep_private(&path)?;
    migrate::sqlite(&writer).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(ACQUIRE_DEADLINE)
        .test_before_acquire(false)
        .connect_with(options.create_if_missing(false).read_only(true))
        .await?;
    Ok(Pools { writer, readers })
}

/// The database holds hashes and addresses: nobody but its owner reads the file.
#[cfg(unix)]
fn keep_private(path: &Path) -> Result<(), Fault> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| Fault::unreachable(format!("cannot restrict the database file: {error}")))
}

#[cfg(not(unix))]
fn keep_private(_path: &Path) -> Result<(), Fault> {
    Ok(())
}
