//! Bringing people along from another backend, many at a time. Who is here already stays as they are, so a file may be
//! brought twice; a batch is stored whole or not at all.

use std::collections::HashSet;

use uuid::Uuid;

use super::{People, store};
use crate::{
    account::{self, workspace},
    audit::Act,
    store::{Fault, Timestamp, Tx, retrying},
};

/// How many people one transaction brings. Beside a running service an import holds SQLite's one writer for so long, some
/// tenths of a second, and others wait up to four; many more would not make it faster.
pub const BATCH: usize = 5000;

/// How often a free slug is looked for before the database is taken to be broken.
const SLUG_ATTEMPTS: u32 = 5;

/// Somebody who comes from another backend, each field checked.
#[derive(Clone, Debug)]
pub struct Newcomer {
    pub email: account::Email,
    pub full_name: Option<account::FullName>,
    pub locale: account::Locale,
    pub role: Role,
    /// A hash whose form and cost were judged, as the other backend stored it.
    pub password_hash: Option<String>,
    pub workspace_name: Option<account::WorkspaceName>,
    pub email_verified: bool,
    pub is_active: bool,
    pub created_at: Option<Timestamp>,
}

/// What an account may do in the house.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    User,
    Admin,
}

impl Role {
    /// The name on the wire and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }
}

/// Whether what is brought is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Yes,
    /// Everything is done and then undone.
    DryRun,
}

pub(super) struct Row<'a> {
    pub id: Uuid,
    pub workspace: Option<Uuid>,
    pub verified_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub from: &'a Newcomer,
}

pub(super) struct Home {
    pub id: Uuid,
    pub name: String,
    pub slug: String,
    pub owner: Uuid,
    pub created_at: Timestamp,
}

impl People {
    /// Stores those who are not here yet and returns how many they were.
    ///
    /// # Errors
    /// A fault of the database; nobody of the batch is stored then.
    pub async fn bring(&self, batch: &[Newcomer], keep: Keep) -> Result<usize, Fault> {
        if batch.is_empty() {
            return Ok(0);
        }
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let brought = self.store_batch(&mut tx, batch).await?;
            if keep == Keep::Yes {
                tx.commit().await?;
            }
            Ok(brought)
        })
        .await
    }

    async fn store_batch(&self, tx: &mut Tx, batch: &[Newcomer]) -> Result<usize, Fault> {
        let now = self.clock.now();
        let ids = self.sorted_ids(batch.len());
        let workspaces = self.sorted_ids(batch.len());
        let rows: Vec<Row<'_>> = batch
            .iter()
            .zip(ids.into_iter().zip(workspaces))
            .map(|(from, (id, workspace))| {
                let created_at = from.created_at.unwrap_or(now);
                Row {
                    id,
                    workspace: from.email_verified.then_some(workspace),
                    verified_at: from.email_verified.then_some(created_at),
                    created_at,
                    from,
                }
            })
            .collect();
        let stored: HashSet<Uuid> = store::insert_people(tx, &rows).await?.into_iter().collect();
        let homes = rows.iter().filter(|row| stored.contains(&row.id)).filter_map(|row| {
            let name = workspace::personal_name(
                row.from.workspace_name.as_ref().map(|name| name.0.as_str()),
                row.from.full_name.as_ref().map(|name| name.0.as_str()),
                row.from.email.as_str(),
            );
            let slug = workspace::slug(name, None);
            Some(Home { id: row.workspace?, name: name.to_owned(), slug, owner: row.id, created_at: now })
        });
        self.store_homes(tx, homes.collect()).await?;
        if !stored.is_empty() {
            let many = format!("{} accounts", stored.len());
            self.record(tx, Act::AccountsImported, None, Some(&many)).await?;
        }
        Ok(stored.len())
    }

    /// As many ids of chance as are needed, in their order: neighbours in an index are then written one after the other.
    fn sorted_ids(&self, count: usize) -> Vec<Uuid> {
        let mut ids: Vec<Uuid> = (0..count).map(|_| self.entropy.uuid()).collect();
        ids.sort_unstable();
        ids
    }

    /// A personal workspace for everybody whose mailbox is proved. Whose slug is taken gets one with a number; within the
    /// batch that is seen without asking.
    async fn store_homes(&self, tx: &mut Tx, mut homes: Vec<Home>) -> Result<(), Fault> {
        let mut taken = HashSet::new();
        for home in &mut homes {
            if home.slug.is_empty() || !taken.insert(home.slug.clone()) {
                home.slug = workspace::slug(&home.name, Some(&self.entropy));
            }
        }
        let mut open = homes;
        for _ in 0..SLUG_ATTEMPTS {
            if open.is_empty() {
                return Ok(());
            }
            let stored: HashSet<Uuid> = store::insert_homes(tx, &open).await?.into_iter().collect();
            let (done, mut left): (Vec<_>, Vec<_>) = open.into_iter().partition(|home| stored.contains(&home.id));
            if !done.is_empty() {
                store::insert_owners(tx, &done).await?;
            }
            for home in &mut left {
                home.slug = workspace::slug(&home.name, Some(&self.entropy));
            }
            open = left;
        }
        if open.is_empty() { Ok(()) } else { Err(Fault::Defect(String::from("no free slug for a workspace"))) }
    }
}
