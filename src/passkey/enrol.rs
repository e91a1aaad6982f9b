//! Adding a passkey to the caller's account. User verification is required: the passkey will be the only factor.

use uuid::Uuid;
use webauthn_rs::prelude::{
    AttestationFormat, AttestationMetadata, Credential, ParsedAttestation, ParsedAttestationData, Passkey,
    PasskeyRegistration,
};

use super::{
    PASSKEYS_MAX, PasskeyView, Passkeys, Refusal,
    ceremony::{Ceremony, Purpose},
    credential::{Attestation, PasskeyName},
    options::{Begun, CreationOptions, Descriptor, display_name},
    relying_party::RelyingParty,
    store::{self, Row},
};
use crate::{
    account::Account,
    audit::{self, Act, Event},
    limit::ClientIp,
    mail::{Delivery, Letter},
    session::Proven,
    store::retrying,
};

/// What a passkey is called when its owner gives it no name.
const DEFAULT_NAME: &str = "Passkey";

/// Where the model of the authenticator stands in its data: behind the hash of the id (32), flags (1) and counter (4).
const AAGUID: std::ops::Range<usize> = 37..53;

/// A new passkey, and what the browser may remember of it.
#[derive(Debug)]
pub struct Enrolled {
    pub passkey: PasskeyView,
    pub device: String,
}

impl Passkeys {
    /// Asks for a new passkey on the calling page's site.
    ///
    /// # Errors
    /// A page without a relying party, ten passkeys already, an absent part.
    pub async fn begin_enrolment(
        &self,
        origin: Option<&str>,
        account: &Account,
        name: Option<&PasskeyName>,
    ) -> Result<Begun<CreationOptions>, Refusal> {
        let party = self.party(origin)?;
        let held = store::find_by_user(&self.db, account.id).await?;
        if held.len() >= PASSKEYS_MAX {
            return Err(Refusal::Full);
        }
        // What is excluded is the browser's business; the database has the last word on a key that is known.
        let (asked, state) = party
            .library()
            .start_passkey_registration(account.id, &account.email, display_name(account), None)
            .map_err(Refusal::defect)?;
        let purpose = Purpose { user_id: Some(account.id), name: name.map(|name| name.0.as_str()) };
        let id = self.open(Ceremony::Registration, party, purpose, &state).await?;
        let exclude = held.iter().filter(|row| row.rp_id == party.id()).map(Descriptor::of).collect();
        Ok(Begun::new(id, CreationOptions::new(&asked, party, account, exclude)))
    }

    /// Checks the new passkey, keeps it and tells its owner by mail.
    ///
    /// # Errors
    /// A dead ceremony, a passkey that is not what was asked for or is known, ten already, an absent part.
    pub async fn complete_enrolment(
        &self,
        caller: &Proven,
        client: &ClientIp,
        challenge: Uuid,
        attestation: &Attestation,
        name: Option<&PasskeyName>,
    ) -> Result<Enrolled, Refusal> {
        let account = &caller.account;
        let taken = self.take::<PasskeyRegistration>(challenge, Ceremony::Registration).await?;
        if taken.user_id != Some(account.id) {
            return Err(Refusal::Expired);
        }
        let credential = verify(taken.party, &taken.state, attestation)?;
        let name = name.map(|name| name.0.clone()).or(taken.name).unwrap_or_else(|| DEFAULT_NAME.to_owned());
        let row = Row {
            id: self.entropy.uuid(),
            user_id: account.id,
            rp_id: taken.party.id().to_owned(),
            credential_id: attestation.credential_id.clone(),
            counter: credential.counter.into(),
            backup_eligible: credential.backup_eligible,
            backup_state: credential.backup_state,
            transports: attestation.transports.as_ref().map(|known| known.join(" ")),
            aaguid: aaguid(&attestation.attestation_object)
                .ok_or_else(|| Refusal::unusable("the attestation object names no authenticator"))?,
            passkey: serde_json::to_string(&Passkey::from(credential)).map_err(Refusal::defect)?,
            name,
            created_at: self.clock.now(),
            last_used_at: None,
        };
        retrying(|| self.keep(caller, client, &row)).await?;
        self.post.wake();
        Ok(Enrolled { device: self.devices.tag(account.id, &row.rp_id), passkey: row.into() })
    }

    async fn keep(&self, caller: &Proven, client: &ClientIp, row: &Row) -> Result<(), Refusal> {
        let account = &caller.account;
        let mut tx = self.db.begin().await?;
        let held = store::count_locked(&mut tx, account.id).await?;
        if usize::try_from(held).is_ok_and(|held| held >= PASSKEYS_MAX) {
            return Err(Refusal::Full);
        }
        if !store::insert(&mut tx, row).await? {
            return Err(Refusal::Known);
        }
        let event = Event::by(Act::PasskeyAdded, client, row.created_at).detail(&row.rp_id);
        audit::record(&mut tx, &event.on(account.id).within(caller.session_id)).await?;
        let letter = Letter::PasskeyAdded { site: row.rp_id.clone() };
        self.post.enqueue(&mut tx, account.recipient(), &letter, Delivery::Send).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// Asks the library. A statement about the make of the authenticator was not asked for and is not kept.
fn verify(party: &RelyingParty, state: &PasskeyRegistration, attestation: &Attestation) -> Result<Credential, Refusal> {
    if !attestation.comes_from(party) {
        return Err(Refusal::unusable("the page is none of the relying party's"));
    }
    let made =
        party.library().finish_passkey_registration(&attestation.for_library()?, state).map_err(Refusal::unusable)?;
    let mut credential = Credential::from(made);
    if credential.cred_id.as_slice() != attestation.credential_id {
        return Err(Refusal::unusable("the credential id is not the attested one"));
    }
    credential.attestation =
        ParsedAttestation { data: ParsedAttestationData::None, metadata: AttestationMetadata::None };
    credential.attestation_format = AttestationFormat::None;
    Ok(credential)
}

/// The model of the authenticator, which the library keeps for attested passkeys only.
fn aaguid(attestation_object: &[u8]) -> Option<Uuid> {
    let object: ciborium::Value = ciborium::from_reader(attestation_object).ok()?;
    let members = object.as_map()?;
    let (_, data) = members.iter().find(|(name, _)| name.as_text() == Some("authData"))?;
    Uuid::from_slice(data.as_bytes()?.get(AAGUID)?).ok()
}
