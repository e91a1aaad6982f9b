//! What a signed-in person sees and changes about itself, takes along, and how it leaves. It may use `session` and
//! `account`; nothing else uses it.

pub mod export;
pub mod leave;
pub mod routes;
mod store;

use uuid::Uuid;

use crate::{
    account::{self, Account, AvatarUrl, FullName, Holdings, Locale, PasswordProof, Workspace},
    clock::Clock,
    error::ApiError,
    extract::Change,
    mail::Post,
    secret::Entropy,
    store::{Database, Fault, retrying},
};

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct Profiles {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub post: Post,
    pub proof: PasswordProof,
    /// What every room holds about a person.
    pub holdings: Holdings,
}

/// A partial update of a profile.
#[derive(Debug)]
pub struct ProfileChange {
    pub full_name: Change<FullName>,
    pub avatar_url: Change<AvatarUrl>,
    pub locale: Option<Locale>,
    pub default_workspace_id: Option<Uuid>,
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum ProfileError {
    /// The workspace is unknown or somebody else's.
    NoSuchWorkspace,
    /// The account vanished meanwhile.
    Gone,
    WrongPassword,
    NoPassword,
    /// Wrong, expired, used up, or never asked for.
    WrongCode,
    Store(Fault),
    Failed(ApiError),
}

impl From<Fault> for ProfileError {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl From<ApiError> for ProfileError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl crate::store::Contention for ProfileError {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Store(fault) if fault.is_contention())
    }
}

impl Profiles {
    /// The workspace a request works in: the one it asks for, else the token's, else the default.
    ///
    /// # Errors
    /// [`ProfileError::NoSuchWorkspace`] when the one it asks for is not the caller's.
    pub async fn workspace(
        &self,
        account: &Account,
        asked: Option<Uuid>,
        of_token: Option<Uuid>,
    ) -> Result<Option<Workspace>, ProfileError> {
        if let Some(id) = asked {
            let found = Workspace::of_member(&self.db, account.id, id).await?;
            return found.map(Some).ok_or(ProfileError::NoSuchWorkspace);
        }
        for id in [of_token, account.default_workspace_id].into_iter().flatten() {
            if let Some(found) = Workspace::of_member(&self.db, account.id, id).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Changes the fields that are mentioned and returns the account as it is then.
    ///
    /// # Errors
    /// [`ProfileError::NoSuchWorkspace`] when the new default is not the caller's.
    pub async fn change(&self, account: &Account, change: &ProfileChange) -> Result<Account, ProfileError> {
        if let Some(id) = change.default_workspace_id
            && Workspace::of_member(&self.db, account.id, id).await?.is_none()
        {
            return Err(ProfileError::NoSuchWorkspace);
        }
        retrying(async || {
            let mut tx = self.db.begin().await?;
            // By id: the address may just have become another one.
            let mut changed = account::lock(&mut tx, account.id).await?.ok_or(ProfileError::Gone)?;
            apply(&change.full_name, |name| name.0.clone(), &mut changed.full_name);
            apply(&change.avatar_url, |url| url.0.clone(), &mut changed.avatar_url);
            if let Some(locale) = change.locale {
                locale.name().clone_into(&mut changed.locale);
            }
            changed.default_workspace_id = change.default_workspace_id.or(changed.default_workspace_id);
            account::update_profile(&mut tx, &changed).await?;
            tx.commit().await?;
            Ok(changed)
        })
        .await
    }
}

fn apply<T>(change: &Change<T>, text: impl FnOnce(&T) -> String, field: &mut Option<String>) {
    match change {
        Change::Keep => {}
        Change::Clear => *field = None,
        Change::Set(value) => *field = Some(text(value)),
    }
}
