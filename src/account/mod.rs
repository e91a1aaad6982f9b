//! Who a person is: the account, its address and its workspaces. It knows nothing of how a person proves to be it.

pub mod email;
pub mod extract;
pub mod field;
pub mod holding;
pub mod password;
mod store;
pub mod workspace;

use std::fmt;

use serde::Serialize;
use uuid::Uuid;

pub use self::{
    email::Email,
    extract::AskedWorkspace,
    field::{AvatarUrl, FullName, Locale, WorkspaceName},
    holding::{Held, Holding, Holdings},
    password::{CurrentPassword, PasswordProof},
    store::{
        NewAccount, change_email, clear_password, delete, find, find_beside, find_by_email, find_first_admin,
        find_for_update, find_in, insert_unverified, lock, mark_verified, promote, remove_unproved, set_password,
        still_holds, touch_login, touch_login_with, update_profile,
    },
    workspace::Workspace,
};
use crate::{
    mail,
    store::{FromRow, Timestamp},
};

/// A person's account, as it rests in the database.
#[derive(Clone, FromRow)]
pub struct Account {
    pub id: Uuid,
    pub email: String,
    pub full_name: Option<String>,
    pub avatar_url: Option<String>,
    pub role: String,
    pub locale: String,
    pub is_active: bool,
    pub email_verified_at: Option<Timestamp>,
    pub password_hash: Option<String>,
    pub pending_workspace_name: Option<String>,
    pub default_workspace_id: Option<Uuid>,
    pub created_at: Timestamp,
    pub last_login_at: Option<Timestamp>,
}

impl Account {
    /// Whether the mailbox has been proved.
    pub const fn is_verified(&self) -> bool {
        self.email_verified_at.is_some()
    }

    /// The account as its owner sees it.
    pub fn view(&self) -> User {
        User {
            id: self.id,
            email: self.email.clone(),
            full_name: self.full_name.clone(),
            avatar_url: self.avatar_url.clone(),
            role: self.role.clone(),
            locale: self.locale.clone(),
            is_active: self.is_active,
            email_verified: self.is_verified(),
            has_password: self.password_hash.is_some(),
            default_workspace_id: self.default_workspace_id,
            created_at: self.created_at,
            last_login_at: self.last_login_at,
        }
    }

    /// Whom a mail to this account addresses.
    pub fn recipient(&self) -> mail::Recipient<'_> {
        mail::Recipient {
            email: &self.email,
            name: self.full_name.as_deref(),
            language: Locale::from_stored(&self.locale).language(),
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({})", self.id)
    }
}

/// An account on the wire.
#[derive(Clone, Debug, Serialize)]
pub struct User {
    pub id: Uuid,
    pub email: String,
    pub full_name: Option<String>,
    pub avatar_url: Option<String>,
    pub role: String,
    pub locale: String,
    pub is_active: bool,
    pub email_verified: bool,
    pub has_password: bool,
    pub default_workspace_id: Option<Uuid>,
    pub created_at: Timestamp,
    pub last_login_at: Option<Timestamp>,
}
