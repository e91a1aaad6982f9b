//! Redeeming what signs somebody in: a mailed link, the code beside it, or the ticket of a hand-off. Whatever is wrong
//! with it, the answer is one and the same.

use serde::Deserialize;

use super::{MagicLinks, Particulars, Refusal};
use crate::{
    account::{self, Account, NewAccount},
    error::ApiError,
    secret::{Hashed, Plain, equal},
    session::{Opened, SignedInBy, Visitor},
    store::{Tx, retrying},
    ticket::{self, Claimed, Code, Purpose, Tickets},
};

/// What somebody signs in with.
#[derive(Debug)]
pub enum Proof {
    /// The secret of a link or a hand-off; a command-line hand-off also needs the verifier.
    Token { token: Plain, verifier: Option<Plain> },
    /// The code of a mail, with the handle that its request was answered with.
    Code { handle: Plain, code: Code },
}

/// An opened session, and where the person wanted to go.
#[derive(Debug)]
pub struct Redeemed {
    pub opened: Opened,
    pub redirect_to: Option<String>,
}

/// What the ticket of a command-line hand-off carries (written by `cli_login`).
#[derive(Debug, Deserialize)]
struct HandOff {
    challenge: String,
    name: Option<String>,
    session: uuid::Uuid,
}

impl MagicLinks {
    /// Redeems a proof and opens a session.
    ///
    /// # Errors
    /// A bad proof; a disabled account; an absent part.
    pub async fn redeem(&self, proof: &Proof, visitor: &Visitor) -> Result<Redeemed, Refusal> {
        match proof {
            Proof::Token { token, verifier } => {
                let hash = token.hash();
                retrying(|| self.claim(&hash, verifier.as_ref(), visitor)).await
            }
            Proof::Code { handle, code } => {
                let hash = Tickets::try_code(&self.db, handle, code).await?.ok_or(Refusal::LinkInvalid)?;
                retrying(|| self.claim(&hash, None, visitor)).await
            }
        }
    }

    async fn claim(&self, hash: &Hashed, verifier: Option<&Plain>, visitor: &Visitor) -> Result<Redeemed, Refusal> {
        let mut tx = self.db.begin().await?;
        hold(&mut tx, hash).await?;
        let ticket = ticket::claim_sign_in(&mut tx, hash, self.clock.now()).await?.ok_or(Refusal::LinkInvalid)?;
        let redeemed = if ticket.purpose == Purpose::Cli.name() {
            let hand_off: HandOff = particulars(&ticket)?;
            if !verifier.is_some_and(|it| equal(it.pkce_challenge().as_bytes(), hand_off.challenge.as_bytes())) {
                // The guess costs the ticket.
                tx.commit().await?;
                return Err(Refusal::LinkInvalid);
            }
            self.hand_over(&mut tx, &ticket, hand_off, visitor).await?
        } else {
            let by = if ticket.purpose == Purpose::MagicLink.name() {
                SignedInBy::MagicLink
            } else {
                SignedInBy::Infomaniak
            };
            let Particulars { redirect_to } = particulars(&ticket)?;
            let account = self.holder(&mut tx, &ticket, by).await?;
            let opened = self.sessions.open(&mut tx, &account, by, visitor).await?;
            Redeemed { opened, redirect_to }
        };
        tx.commit().await?;
        Ok(redeemed)
    }

    /// The account that a mailed link or an identity provider vouches for. A mailed link proves the mailbox.
    async fn holder(&self, tx: &mut Tx, ticket: &Claimed, by: SignedInBy) -> Result<Account, Refusal> {
        let account = match (ticket.user_id, &ticket.mailbox) {
            (Some(id), _) => account::find_in(tx, id).await?.ok_or(Refusal::LinkInvalid)?,
            (None, Some(mailbox)) => self.welcome(tx, mailbox).await?,
            (None, None) => return Err(ApiError::internal("a sign-in ticket names nobody").into()),
        };
        if !account.is_active {
            return Err(Refusal::Disabled);
        }
        if by != SignedInBy::MagicLink {
            return Ok(account);
        }
        let account = self.sessions.prove_mailbox(tx, &account).await?.ok_or(Refusal::LinkInvalid)?;
        ticket::delete_others(tx, account.id, Purpose::MagicLink).await?;
        ticket::delete_mailed_to(tx, &account.email, Purpose::MagicLink).await?;
        Ok(account)
    }

    /// The account of a newcomer: a new one, or the one that was registered since the link was mailed.
    async fn welcome(&self, tx: &mut Tx, mailbox: &str) -> Result<Account, Refusal> {
        let new = NewAccount {
            id: self.entropy.uuid(),
            email: mailbox,
            full_name: None,
            locale: crate::account::Locale::default().name(),
            password_hash: None,
            workspace_name: None,
            now: self.clock.now(),
        };
        if let Some(fresh) = account::insert_unverified(tx, &new).await? {
            return Ok(fresh);
        }
        account::find_for_update(tx, mailbox).await?.ok_or(Refusal::LinkInvalid)
    }

    /// Opens a command-line client's own session, while the one that approved it is live.
    async fn hand_over(
        &self,
        tx: &mut Tx,
        ticket: &Claimed,
        hand_off: HandOff,
        visitor: &Visitor,
    ) -> Result<Redeemed, Refusal> {
        let id = ticket.user_id.ok_or(Refusal::LinkInvalid)?;
        if !self.sessions.is_live(tx, hand_off.session).await? {
            return Err(Refusal::LinkInvalid);
        }
        let account = account::find_in(tx, id).await?.ok_or(Refusal::LinkInvalid)?;
        if !account.is_active {
            return Err(Refusal::Disabled);
        }
        let labelled = Visitor { label: hand_off.name, ..visitor.clone() };
        let opened = self.sessions.open(tx, &account, SignedInBy::Cli, &labelled).await?;
        Ok(Redeemed { opened, redirect_to: None })
    }
}

/// Holds the person, or the mailbox of a newcomer, before the ticket: whoever uses one link deletes the others, so two
/// links of one mailbox would wait for each other. The order is that of asking for a link: account, then mailbox.
async fn hold(tx: &mut Tx, hash: &Hashed) -> Result<(), Refusal> {
    match ticket::find_holder(tx, hash).await? {
        Some((Some(id), _)) => {
            account::lock(tx, id).await?;
        }
        Some((None, Some(mailbox))) => {
            account::find_for_update(tx, &mailbox).await?;
            ticket::take_turn(tx, &mailbox).await?;
        }
        Some((None, None)) | None => {}
    }
    Ok(())
}

fn particulars<T: for<'a> Deserialize<'a>>(ticket: &Claimed) -> Result<T, Refusal> {
    let text = ticket.particulars.as_deref().unwrap_or("{}");
    serde_json::from_str(text).map_err(|error| ApiError::internal(error).into())
}
