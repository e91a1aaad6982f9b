//! The store's contract, asked through the accounts that rest in it: on SQLite, and on PostgreSQL when
//! `TEST_DATABASE_URL` names one.

use std::collections::HashSet;

use futures_util::{FutureExt, future::join_all};
use labs_auth::{
    account::{self, NewAccount},
    clock::Timestamp,
    secret::Entropy,
    store::{Database, Fault},
};

use crate::world::Place;

/// A database that nobody has opened yet.
struct Vacant {
    place: Place,
    _folder: tempfile::TempDir,
}

async fn vacant() -> Vacant {
    let folder = tempfile::tempdir().unwrap();
    Vacant { place: Place::fresh(folder.path()).await, _folder: folder }
}

fn somebody(email: &str) -> NewAccount<'_> {
    NewAccount {
        id: Entropy::system().uuid(),
        email,
        full_name: Some("Ännchen \u{1f511}"),
        locale: "it",
        password_hash: None,
        workspace_name: None,
        now: Timestamp::from_micros(1_796_000_000_123_456),
    }
}

#[tokio::test]
async fn thirteen_processes_that_start_at_once_migrate_a_fresh_database_once() {
    let vacant = vacant().await;
    let opened = join_all((0..13).map(|_| Database::open(vacant.place.url()))).await;
    for db in opened {
        db.unwrap().ping().await.unwrap();
    }
    let steps = vacant.place.number("SELECT count(*) FROM _sqlx_migrations WHERE description <> $1", "").await;
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres")).unwrap().count();
    assert_eq!(files, usize::try_from(steps).unwrap());
}

#[tokio::test]
async fn what_is_written_comes_back_to_the_microsecond_and_the_letter() {
    let vacant = vacant().await;
    let db = Database::open(vacant.place.url()).await.unwrap();
    let new = somebody("round.trip@labs.example");
    let mut tx = db.begin().await.unwrap();
    account::insert_unverified(&mut tx, &new).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let found = account::find(&db, new.id).await.unwrap().unwrap();
    assert_eq!(new.now, found.created_at);
    assert_eq!(new.full_name, found.full_name.as_deref());
    assert_eq!((new.email, new.locale), (found.email.as_str(), found.locale.as_str()));
    assert!(found.is_active && found.email_verified_at.is_none() && found.password_hash.is_none());
}

#[tokio::test]
async fn nobody_sees_a_transaction_before_it_ends_and_a_dropped_one_never() {
    let vacant = vacant().await;
    let db = Database::open(vacant.place.url()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    account::insert_unverified(&mut tx, &somebody("dropped@labs.example")).await.unwrap().unwrap();
    assert!(account::find_by_email(&db, "dropped@labs.example").await.unwrap().is_none());
    drop(tx);
    assert!(account::find_by_email(&db, "dropped@labs.example").await.unwrap().is_none());
    let mut tx = db.begin().await.unwrap();
    let again = account::insert_unverified(&mut tx, &somebody("dropped@labs.example")).await.unwrap();
    assert!(again.is_some(), "the address is free again");
}

#[tokio::test]
async fn a_taken_address_is_an_answer_and_not_a_fault() {
    let vacant = vacant().await;
    let db = Database::open(vacant.place.url()).await.unwrap();
    let mut tx = db.begin().await.unwrap();
    assert!(account::insert_unverified(&mut tx, &somebody("taken@labs.example")).await.unwrap().is_some());
    assert!(account::insert_unverified(&mut tx, &somebody("taken@labs.example")).await.unwrap().is_none());
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_told_apart_from_an_address_that_is_none() {
    let absent = Database::open("postgres://nobody@127.0.0.1:1/nothing").await.unwrap_err();
    assert!(matches!(absent, Fault::Unreachable(_)), "{absent:?}");
    let locked = Database::open("sqlite:///proc/nowhere/labs.db").await.unwrap_err();
    assert!(matches!(locked, Fault::Unreachable(_)), "{locked:?}");
    let foreign = Database::open("mysql://127.0.0.1/labs").await.unwrap_err();
    assert!(matches!(foreign, Fault::Defect(_)), "{foreign:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_but_its_owner_reads_the_database_file() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private.db");
    let db = Database::open(&format!("sqlite://{}", path.display())).await.unwrap();
    db.close().await;
    assert_eq!(0o600, std::fs::metadata(path).unwrap().permissions().mode() & 0o777);
}

#[tokio::test]
async fn a_transaction_that_nobody_waited_for_is_left_to_nobody() {
    let vacant = vacant().await;
    let db = Database::open(vacant.place.url()).await.unwrap();
    // As when clients leave while theirs is being opened; a few may be open at the first look, and end by being dropped.
    for _ in 0..40 {
        drop(db.begin().now_or_never());
        tokio::task::yield_now().await;
    }
    if let Database::Postgres(pool) = &db {
        // Where a transaction is open, every statement belongs to it.
        for _ in 0..40 {
            let mut connection = pool.acquire().await.unwrap();
            let mut ids = HashSet::new();
            for _ in 0..2 {
                let id = sqlx::query_scalar::<_, String>("SELECT CAST(pg_current_xact_id() AS text)");
                assert!(ids.insert(id.fetch_one(&mut *connection).await.unwrap()), "a transaction is open");
            }
        }
    }
    let mut tx = db.begin().await.unwrap();
    account::insert_unverified(&mut tx, &somebody("after@labs.example")).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    assert_eq!(vacant.place.number("SELECT count(*) FROM users WHERE email = $1", "after@labs.example").await, 1);
}
