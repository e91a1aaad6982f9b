//! Workspaces: where a person's work belongs. Everybody gets a personal one when the mailbox is first proved.

use serde::Serialize;
use uuid::Uuid;

use super::{Account, store};
use crate::{
    secret::Entropy,
    store::{Database, Fault, FromRow, Timestamp, Tx},
};

/// How many slugs are tried before the database is taken to be broken.
const SLUG_ATTEMPTS: u32 = 5;

/// A workspace as one of its members sees it.
#[derive(Clone, Debug, Serialize, FromRow)]
pub struct Workspace {
    pub id: Uuid,
    pub name: String,
    pub slug: String,
    pub role: String,
    pub is_default: bool,
    pub created_at: Timestamp,
}

impl Workspace {
    /// The workspace `id`, when `user` is a member of it.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn of_member(db: &Database, user: Uuid, id: Uuid) -> Result<Option<Self>, Fault> {
        store::find_workspace(db, user, id).await
    }

    /// Every workspace that `user` is a member of, the default first, then by name.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn all_of(db: &Database, user: Uuid) -> Result<Vec<Self>, Fault> {
        store::list_workspaces(db, user).await
    }
}

/// Makes the personal workspace of an account that has none, and makes it the default.
///
/// # Errors
/// A fault of the database.
pub async fn create_personal(tx: &mut Tx, account: &Account, entropy: &Entropy, now: Timestamp) -> Result<(), Fault> {
    if account.default_workspace_id.is_some() {
        return Ok(());
    }
    let name = personal_name(account.pending_workspace_name.as_deref(), account.full_name.as_deref(), &account.email);
    let plain = slug(name, None);
    let id = entropy.uuid();
    for attempt in 0..SLUG_ATTEMPTS {
        let slug = if attempt == 0 && !plain.is_empty() { plain.clone() } else { slug(name, Some(entropy)) };
        if store::insert_workspace(tx, id, name, &slug, now).await? {
            store::insert_member(tx, id, account.id, "owner", now).await?;
            return store::set_default_workspace(tx, account.id, id).await;
        }
    }
    Err(Fault::Defect(String::from("no free slug for a workspace")))
}

/// What a personal workspace is called: as wished, else after the person, else after the mailbox.
pub fn personal_name<'a>(wished: Option<&'a str>, person: Option<&'a str>, email: &'a str) -> &'a str {
    wished.or(person).unwrap_or_else(|| email.split('@').next().unwrap_or_default())
}

/// Lower-case ASCII words with hyphens; German umlauts are spelled out. May be empty, unless a number is added to it.
pub fn slug(name: &str, number: Option<&Entropy>) -> String {
    let mut slug = String::new();
    for letter in name.to_lowercase().chars() {
        match letter {
            'a'..='z' | '0'..='9' => slug.push(letter),
            'ä' => slug.push_str("ae"),
            'ö' => slug.push_str("oe"),
            'ü' => slug.push_str("ue"),
            'ß' => slug.push_str("ss"),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(48);
    let slug = slug.trim_end_matches('-');
    let Some(entropy) = number else { return slug.to_owned() };
    let number = u32::from_be_bytes(entropy.bytes());
    let slug = if slug.is_empty() { "workspace" } else { slug };
    format!("{slug}-{number:08x}")
}
