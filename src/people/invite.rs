//! Inviting somebody: an account without a password, and a mailed link to set one. The workspace comes at acceptance,
//! when the mailbox is proved. The running service delivers the mail.

use super::{People, Refusal, bring::Role, store};
use crate::{
    account::{self, Email, FullName, Locale, NewAccount, WorkspaceName},
    audit::Act,
    mail::{Delivery, Letter, Post},
    public_url::PublicUrl,
    store::{Tx, retrying},
    ticket::{INVITATION_LIFETIME, Purpose, Tickets},
};

/// Whom to invite, as what.
#[derive(Clone, Debug)]
pub struct Invitation {
    pub email: Email,
    pub full_name: Option<FullName>,
    pub locale: Locale,
    pub workspace_name: Option<WorkspaceName>,
    pub role: Role,
}

/// What an invitation needs beside the database.
#[derive(Clone, Debug)]
pub struct Invitations {
    pub people: People,
    pub tickets: Tickets,
    pub post: Post,
    pub frontend: PublicUrl,
}

impl Invitations {
    /// Invites somebody. An address that was never confirmed may be invited again; a password that waits behind it is
    /// removed, since nobody knows who chose it.
    ///
    /// # Errors
    /// The address has a confirmed or a disabled account, or five live links; a fault of the database.
    pub async fn invite(&self, invitation: &Invitation) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.people.db.begin().await?;
            self.write(&mut tx, invitation).await?;
            Ok::<_, Refusal>(tx.commit().await?)
        })
        .await?;
        self.post.wake();
        Ok(())
    }

    async fn write(&self, tx: &mut Tx, invitation: &Invitation) -> Result<(), Refusal> {
        let new = NewAccount {
            id: self.people.entropy.uuid(),
            email: invitation.email.as_str(),
            full_name: invitation.full_name.as_ref().map(|name| name.0.as_str()),
            locale: invitation.locale.name(),
            password_hash: None,
            workspace_name: invitation.workspace_name.as_ref().map(|name| name.0.as_str()),
            now: self.people.clock.now(),
        };
        let account = match account::insert_unverified(tx, &new).await? {
            Some(fresh) => fresh,
            None => super::state::held(tx, &invitation.email).await?,
        };
        if account.is_verified() {
            return Err(Refusal::AlreadyHere);
        }
        if !account.is_active {
            return Err(Refusal::Disabled);
        }
        account::clear_password(tx, account.id).await?;
        store::set_role(tx, account.id, invitation.role.name()).await?;
        let issued =
            self.tickets.issue_mailed_for(tx, Purpose::SetPassword, Some(account.id), INVITATION_LIFETIME).await?;
        if !issued.live {
            return Err(Refusal::EnoughLinks);
        }
        self.people.record(tx, Act::AccountInvited, Some(account.id), None).await?;
        let link = self.frontend.link("/set-password", &issued.secret);
        let letter = Letter::SetPassword { link, valid_for: INVITATION_LIFETIME };
        Ok(self.post.enqueue(tx, account.recipient(), &letter, Delivery::Send).await?)
    }
}
