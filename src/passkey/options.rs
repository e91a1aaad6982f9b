//! What a page hands to the browser: the W3C options as JSON, without a wrapper and without extensions. The library's
//! own answer is cut down to these members, so that its taste cannot change the contract.

use serde::Serialize;
use uuid::Uuid;
use webauthn_rs::prelude::{CreationChallengeResponse, RequestChallengeResponse};

use super::{ceremony::LIFETIME, credential::encode, relying_party::RelyingParty, store::Row};
use crate::account::Account;

/// The answer of every `begin`.
#[derive(Debug, Serialize)]
pub struct Begun<O> {
    pub challenge_id: Uuid,
    pub options: O,
    pub expires_in: u64,
}

impl<O> Begun<O> {
    pub(super) const fn new(challenge_id: Uuid, options: O) -> Self {
        Self { challenge_id, options, expires_in: LIFETIME.as_secs() }
    }
}

/// A passkey that is asked for, or one that must not be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Descriptor {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    transports: Option<Vec<String>>,
}

impl Descriptor {
    pub(super) fn new(id: &[u8], transports: Option<&str>) -> Self {
        Self { kind: "public-key", id: encode(id), transports: transports.map(words) }
    }

    pub(super) fn of(row: &Row) -> Self {
        Self::new(&row.credential_id, row.transports.as_deref())
    }
}

/// A list as it rests in one column.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// `PublicKeyCredentialRequestOptionsJSON`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions {
    challenge: String,
    rp_id: String,
    timeout: u64,
    user_verification: &'static str,
    allow_credentials: Vec<Descriptor>,
}

impl RequestOptions {
    pub(super) fn new(asked: &RequestChallengeResponse, party: &RelyingParty, allow: Vec<Descriptor>) -> Self {
        Self {
            challenge: encode(&asked.public_key.challenge),
            rp_id: party.id().to_owned(),
            timeout: milliseconds(),
            user_verification: "required",
            allow_credentials: allow,
        }
    }
}

/// `PublicKeyCredentialCreationOptionsJSON`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions {
    rp: Site,
    user: Person,
    challenge: String,
    pub_key_cred_params: Vec<Algorithm>,
    timeout: u64,
    exclude_credentials: Vec<Descriptor>,
    authenticator_selection: Selection,
    attestation: &'static str,
}

#[derive(Debug, Serialize)]
struct Site {
    id: String,
    name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Person {
    id: String,
    name: String,
    display_name: String,
}

#[derive(Debug, Serialize)]
struct Algorithm {
    #[serde(rename = "type")]
    kind: &'static str,
    alg: i64,
}

/// Without a resident key a device could not offer the passkey by itself. The library asks for none and does not look
/// at the answer in that respect, so saying otherwise here is safe.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Selection {
    resident_key: &'static str,
    require_resident_key: bool,
    user_verification: &'static str,
}

impl CreationOptions {
    pub(super) fn new(
        asked: &CreationChallengeResponse,
        party: &RelyingParty,
        account: &Account,
        exclude: Vec<Descriptor>,
    ) -> Self {
        let asked = &asked.public_key;
        Self {
            rp: Site { id: party.id().to_owned(), name: party.name().to_owned() },
            user: Person {
                id: encode(account.id.as_bytes()),
                name: account.email.clone(),
                display_name: display_name(account).to_owned(),
            },
            challenge: encode(&asked.challenge),
            pub_key_cred_params: asked
                .pub_key_cred_params
                .iter()
                .map(|offer| Algorithm { kind: "public-key", alg: offer.alg })
                .collect(),
            timeout: milliseconds(),
            exclude_credentials: exclude,
            authenticator_selection: Selection {
                resident_key: "required",
                require_resident_key: true,
                user_verification: "required",
            },
            attestation: "none",
        }
    }
}

/// What a device shows: the person's name, or the address where there is none.
pub(super) fn display_name(account: &Account) -> &str {
    account.full_name.as_deref().unwrap_or(&account.email)
}

fn milliseconds() -> u64 {
    LIFETIME.as_secs() * 1000
}
