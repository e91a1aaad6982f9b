//! Signing in by passkey, with or without naming an address first. An unknown passkey, a wrong signature, a wrong page
//! and a copied key are one answer; only a valid assertion hears that its account is unconfirmed or disabled.

use uuid::Uuid;
use webauthn_rs::prelude::{AuthenticationResult, Credential, DiscoverableAuthentication, Passkey, WebauthnError};

use super::{
    Passkeys, Refusal,
    ceremony::{Ceremony, Purpose, Taken},
    credential::{Assertion, NamedAssertion},
    decoy,
    options::{Begun, Descriptor, RequestOptions},
    relying_party::RelyingParty,
    store::{self, Row, Use},
};
use crate::{
    account::{self, Account, Email},
    audit::{self, Act, Event},
    session::{Opened, SignedInBy, Visitor},
    store::retrying,
};

/// A sign-in, and what the browser may remember of it.
#[derive(Debug)]
pub struct SignedIn {
    pub opened: Opened,
    pub device: String,
}

impl Passkeys {
    /// Asks for one of an address's passkeys. An address without any gets made-up ones, at the same cost.
    ///
    /// # Errors
    /// A page without a relying party, an absent part.
    pub async fn begin_login(&self, origin: Option<&str>, email: &Email) -> Result<Begun<RequestOptions>, Refusal> {
        let party = self.party(origin)?;
        let held = store::find_by_email(&self.db, email.as_str(), party.id()).await?;
        let decoys = self.decoys.list(party.id(), email.as_str());
        let user_id = held.first().map(|row| row.user_id);
        let allow = if held.is_empty() { decoys } else { held.iter().map(Descriptor::of).collect() };
        self.begin(Ceremony::Login, party, user_id, allow).await
    }

    /// Asks for any passkey that the device has for this site.
    ///
    /// # Errors
    /// A page without a relying party, an absent part.
    pub async fn begin_discoverable(&self, origin: Option<&str>) -> Result<Begun<RequestOptions>, Refusal> {
        let party = self.party(origin)?;
        self.begin(Ceremony::Discoverable, party, None, Vec::new()).await
    }

    /// Both kinds keep the library's state without passkeys: the completion judges by the row as it is then, so that a
    /// passkey removed in between is not accepted and the counter is the newest.
    async fn begin(
        &self,
        ceremony: Ceremony,
        party: &RelyingParty,
        user_id: Option<Uuid>,
        allow: Vec<Descriptor>,
    ) -> Result<Begun<RequestOptions>, Refusal> {
        let (asked, state) = party.library().start_discoverable_authentication().map_err(Refusal::defect)?;
        let id = self.open(ceremony, party, Purpose { user_id, name: None }, &state).await?;
        Ok(Begun::new(id, RequestOptions::new(&asked, party, allow)))
    }

    /// Ends a sign-in that named an address.
    ///
    /// # Errors
    /// A dead ceremony, an assertion that proves nothing, an unconfirmed or disabled account, an absent part.
    pub async fn complete_login(
        &self,
        challenge: Uuid,
        assertion: &Assertion,
        visitor: &Visitor,
    ) -> Result<SignedIn, Refusal> {
        let taken = self.take(challenge, Ceremony::Login).await?;
        let expected = taken.user_id;
        self.complete(taken, assertion, expected, visitor).await
    }

    /// Ends a sign-in in which the passkey says whose it is.
    ///
    /// # Errors
    /// A dead ceremony, an assertion that proves nothing, an unconfirmed or disabled account, an absent part.
    pub async fn complete_discoverable(
        &self,
        challenge: Uuid,
        NamedAssertion(assertion): &NamedAssertion,
        visitor: &Visitor,
    ) -> Result<SignedIn, Refusal> {
        let taken = self.take(challenge, Ceremony::Discoverable).await?;
        let named = assertion.user_handle.as_deref().and_then(|handle| Uuid::from_slice(handle).ok());
        self.complete(taken, assertion, named, visitor).await
    }

    /// Ends a sign-in, and notes one that was refused whether or not it concerned anybody: both cost the same.
    async fn complete(
        &self,
        taken: Taken<'_, DiscoverableAuthentication>,
        assertion: &Assertion,
        expected: Option<Uuid>,
        visitor: &Visitor,
    ) -> Result<SignedIn, Refusal> {
        let outcome = self.judge(taken, assertion, expected, visitor).await;
        let why = match &outcome {
            Err(Refusal::Refused(_)) => "wrong passkey",
            Err(Refusal::Disabled) => "account disabled",
            Err(Refusal::Unconfirmed) => "address unconfirmed",
            Ok(_) | Err(_) => return outcome,
        };
        let event = Event::by(Act::SignIn, &visitor.client, self.clock.now()).refused(why);
        let event = expected.map_or(event.clone(), |user| event.on(user));
        let mut tx = self.db.begin().await?;
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        outcome
    }

    async fn judge(
        &self,
        taken: Taken<'_, DiscoverableAuthentication>,
        assertion: &Assertion,
        expected: Option<Uuid>,
        visitor: &Visitor,
    ) -> Result<SignedIn, Refusal> {
        let party = taken.party;
        let held = store::find_credential(&self.db, &assertion.credential_id, party.id()).await?;
        if !assertion.comes_from(party) {
            return Err(Refusal::refused("the page is none of the relying party's"));
        }
        let own = held.filter(|row| {
            let handle = assertion.user_handle.as_deref();
            Some(row.user_id) == expected && handle.is_none_or(|handle| handle == row.user_id.as_bytes())
        });
        // A made-up passkey is asked like a real one, or the time would tell them apart.
        let credential = match &own {
            Some(row) => current(row, assertion)?,
            None => decoy::stand_in(&assertion.credential_id),
        };
        let answer = assertion.for_library()?;
        let proof = party.library().finish_discoverable_authentication_v2(&answer, taken.state, &credential);
        let Some(row) = own else {
            return Err(Refusal::refused("the person has no such passkey on this relying party"));
        };
        let proof = proof.map_err(|error| {
            if matches!(error, WebauthnError::CredentialPossibleCompromise) {
                suspect(&row);
            }
            Refusal::refused(error)
        })?;
        let opened = retrying(|| self.enter(&row, &proof, visitor)).await?;
        Ok(SignedIn { device: self.devices.tag(row.user_id, party.id()), opened })
    }

    /// Notes the use and opens the session. A use is noted even where the account may not come in: the proof was given.
    async fn enter(&self, row: &Row, proof: &AuthenticationResult, visitor: &Visitor) -> Result<Opened, Refusal> {
        let mut tx = self.db.begin().await?;
        let seen = Use {
            counter: proof.counter().into(),
            backup_eligible: row.backup_eligible || proof.backup_eligible(),
            backup_state: proof.backup_state(),
            now: self.clock.now(),
        };
        if !store::note_use(&mut tx, row.id, &seen).await? {
            suspect(row);
            return Err(Refusal::refused("the passkey is gone, or was used at the same time with the same counter"));
        }
        let account = account::find_in(&mut tx, row.user_id).await?;
        let account = account.ok_or_else(|| Refusal::refused("the account is gone"))?;
        if let Some(refusal) = standing(&account) {
            tx.commit().await?;
            return Err(refusal);
        }
        let opened = self.sessions.open(&mut tx, &account, SignedInBy::Passkey, visitor).await?;
        tx.commit().await?;
        Ok(opened)
    }
}

/// The passkey as it rests in the database now.
fn current(row: &Row, assertion: &Assertion) -> Result<Credential, Refusal> {
    let stored: Passkey = serde_json::from_str(&row.passkey).map_err(Refusal::defect)?;
    let mut credential = Credential::from(stored);
    credential.counter = u32::try_from(row.counter).map_err(Refusal::defect)?;
    // A key may become copyable by an update of its device; the claim is signed, and what is no longer so is refused.
    credential.backup_eligible = row.backup_eligible || assertion.claims_backup();
    credential.backup_state = row.backup_state;
    Ok(credential)
}

/// What keeps an account out although its passkey is right.
fn standing(account: &Account) -> Option<Refusal> {
    if !account.is_active {
        Some(Refusal::Disabled)
    } else if account.is_verified() {
        None
    } else {
        Some(Refusal::Unconfirmed)
    }
}

fn suspect(row: &Row) {
    tracing::warn!(passkey = %row.id, user = %row.user_id, "A passkey's counter did not grow: its key may have been copied");
}
