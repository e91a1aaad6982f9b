//! Proving the mailbox by the mailed link: account, workspace and first key come into being in one transaction. It opens
//! no session, and the key is never shown again.

use super::{
    Developers, Refusal,
    api_key::{self, ApiKey, Key, NewKey},
    invite,
    store::{self, Pending},
};
use crate::{
    account::{self, Account, NewAccount},
    audit::{self, Act, Event},
    error::ApiError,
    limit::ClientIp,
    secret::Plain,
    store::{Timestamp, Tx, retrying},
    ticket::{self, Purpose},
};

/// The name of the key that a sign-up ends with.
const FIRST_KEY: &str = "Default";

/// A developer whose mailbox is proved, and the first key.
#[derive(Debug)]
pub struct Equipped {
    pub account: Account,
    pub row: ApiKey,
    pub key: Key,
}

impl Developers {
    /// Redeems a sign-up.
    ///
    /// # Errors
    /// A bad link, a disabled account, an account with a key, a spent invitation, an absent part.
    pub async fn verify(&self, token: &Plain, client: &ClientIp) -> Result<Equipped, Refusal> {
        let equipped = retrying(|| self.redeem(token, client)).await?;
        tracing::info!(user = %equipped.account.id, key = %equipped.row.id, "Developer verified, first key issued");
        Ok(equipped)
    }

    async fn redeem(&self, token: &Plain, client: &ClientIp) -> Result<Equipped, Refusal> {
        let now = self.clock.now();
        let hash = token.hash();
        let mut tx = self.db.begin().await?;
        let pending = store::find_live(&mut tx, &hash, now).await?.ok_or(Refusal::LinkInvalid)?;
        // The person's row is taken first and the ticket second, by every redemption: two links of one mailbox cannot
        // wait for each other.
        let account = self.hold_account(&mut tx, &pending, now).await?;
        if !ticket::claim_unowned(&mut tx, &hash, Purpose::PrimaSignup, now).await? {
            return Err(Refusal::LinkInvalid);
        }
        if !account.is_active {
            return Err(Refusal::Disabled);
        }
        if store::has_live_key(&mut tx, &pending.email, now).await? {
            // The link is used up all the same: nothing is left that it could be good for.
            let event = Event::by(Act::DeveloperVerified, client, now).on(account.id).refused("has a key");
            audit::record(&mut tx, &event).await?;
            tx.commit().await?;
            return Err(Refusal::HasKey);
        }
        if let Some(id) = pending.invite_id
            && !invite::count_use(&mut tx, id).await?
        {
            return Err(Refusal::InviteSpent);
        }
        let account = self.prove(&mut tx, account, &pending, now).await?;
        let workspace = account.default_workspace_id;
        let workspace = workspace.ok_or_else(|| lost("a proved account has no workspace"))?;
        let key = Key::mint(&self.entropy);
        let new = NewKey {
            id: self.entropy.uuid(),
            user_id: account.id,
            workspace_id: workspace,
            name: FIRST_KEY,
            scopes: &[],
            now,
            expires_at: None,
        };
        let row = api_key::insert(&mut tx, &key, &new).await?;
        store::insert_developer(&mut tx, account.id, &pending, now).await?;
        store::delete_others(&mut tx, &pending.email).await?;
        audit::record(&mut tx, &Event::by(Act::DeveloperVerified, client, now).on(account.id)).await?;
        let name = row.id.to_string();
        let event = Event::by(Act::ApiKeyIssued, client, now).on(account.id).detail(&name);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(Equipped { account, row, key })
    }

    /// The account of the address, made when there is none, its row held until the transaction ends.
    async fn hold_account(&self, tx: &mut Tx, pending: &Pending, now: Timestamp) -> Result<Account, Refusal> {
        if let Some(known) = account::find_for_update(tx, &pending.email).await? {
            return Ok(known);
        }
        let new = NewAccount {
            id: self.entropy.uuid(),
            email: &pending.email,
            full_name: pending.name.as_deref(),
            locale: &pending.locale,
            password_hash: None,
            workspace_name: pending.company.as_deref(),
            now,
        };
        if let Some(fresh) = account::insert_unverified(tx, &new).await? {
            return Ok(fresh);
        }
        // Somebody else inserted it between the two statements.
        account::find_for_update(tx, &pending.email)
            .await?
            .ok_or_else(|| lost("an address was taken and free in one transaction"))
    }

    /// Marks the mailbox as proved. Whoever registered the address before without proving it keeps neither password
    /// nor session.
    async fn prove(
        &self,
        tx: &mut Tx,
        account: Account,
        pending: &Pending,
        now: Timestamp,
    ) -> Result<Account, Refusal> {
        if !account.is_verified() {
            account::clear_password(tx, account.id).await?;
            self.sessions.revoke_all(tx, account.id).await?;
        }
        if let (None, Some(name)) = (&account.full_name, &pending.name) {
            let named = Account { full_name: Some(name.clone()), ..account.clone() };
            account::update_profile(tx, &named).await?;
        }
        let gone = || lost("the account vanished while its mailbox was proved");
        let account = account::mark_verified(tx, account.id, now).await?.ok_or_else(gone)?;
        account::workspace::create_personal(tx, &account, &self.entropy, now).await?;
        account::find_in(tx, account.id).await?.ok_or_else(gone)
    }
}

fn lost(what: &'static str) -> Refusal {
    Refusal::Failed(ApiError::internal(what))
}
