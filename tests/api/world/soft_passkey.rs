//! A virtual authenticator with the browser around it: P-256 keys, resident, with everything in hand that a test wants to
//! get wrong. It reads the options by the types that the field shares, and answers as `toJSON()` does.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ciborium::Value as Cbor;
use ring::{
    digest,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use webauthn_rs_proto::{PublicKeyCredentialCreationOptions, PublicKeyCredentialRequestOptions};

/// Somebody is there.
pub(crate) const PRESENT: u8 = 0x01;
/// It is the owner.
pub(crate) const VERIFIED: u8 = 0x04;
/// The key may be copied.
pub(crate) const BACKUP_ELIGIBLE: u8 = 0x08;
/// The key has been copied.
pub(crate) const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;

/// The model that these authenticators claim to be.
pub(crate) const AAGUID: &str = "fbfc3007-154e-4ecc-8c0b-6e020557d7bd";

/// How a passkey is made.
#[derive(Clone)]
pub(crate) struct Maker {
    pub(crate) origin: String,
    pub(crate) flags: u8,
    /// What the authenticator counts up to when it makes the key.
    pub(crate) counter: u32,
    pub(crate) id: Vec<u8>,
    pub(crate) transports: Option<Value>,
    pub(crate) extensions: Option<Value>,
}

impl Maker {
    /// A synchronised passkey of a page of this origin.
    pub(crate) fn on(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            flags: PRESENT | VERIFIED | BACKUP_ELIGIBLE | BACKED_UP,
            counter: 0,
            id: random(32),
            transports: Some(json!(["internal", "hybrid"])),
            extensions: Some(json!({"credProps": {"rk": true}})),
        }
    }

    /// Makes a passkey as these options of the house ask, and what the page sends back.
    #[track_caller]
    pub(crate) fn make(&self, options: &Value) -> (SoftPasskey, Value) {
        let asked: PublicKeyCredentialCreationOptions = serde_json::from_value(options.clone()).unwrap();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).unwrap();
        let passkey = SoftPasskey {
            key: document.as_ref().to_vec(),
            id: self.id.clone(),
            rp_id: asked.rp.id,
            user_handle: asked.user.id,
            origin: self.origin.clone(),
            flags: self.flags,
            counter: self.counter,
            step: u32::from(self.counter > 0),
        };
        let client_data = client_data("webauthn.create", &asked.challenge, &self.origin);
        let mut data = passkey.authenticator_data(self.flags | ATTESTED);
        data.extend_from_slice(uuid::Uuid::parse_str(AAGUID).unwrap().as_bytes());
        data.extend_from_slice(&u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend_from_slice(&self.id);
        data.extend_from_slice(&passkey.cose_key());
        let object = cbor(&Cbor::Map(vec![
            (Cbor::from("fmt"), Cbor::from("none")),
            (Cbor::from("attStmt"), Cbor::Map(Vec::new())),
            (Cbor::from("authData"), Cbor::Bytes(data)),
        ]));
        let mut answer = json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "response": {"attestationObject": encode(object), "clientDataJSON": encode(client_data)},
        });
        if let Some(transports) = &self.transports {
            answer["response"]["transports"] = transports.clone();
        }
        if let Some(extensions) = &self.extensions {
            answer["clientExtensionResults"] = extensions.clone();
        }
        (passkey, answer)
    }
}

/// A passkey, with whatever it is about to say in the open. A clone is a copy of the key.
#[derive(Clone)]
pub(crate) struct SoftPasskey {
    key: Vec<u8>,
    pub(crate) id: Vec<u8>,
    pub(crate) rp_id: String,
    pub(crate) user_handle: Vec<u8>,
    pub(crate) origin: String,
    pub(crate) flags: u8,
    pub(crate) counter: u32,
    /// What each use adds to the counter.
    pub(crate) step: u32,
}

impl SoftPasskey {
    /// The credential id as it travels.
    pub(crate) fn name(&self) -> String {
        encode(&self.id)
    }

    /// The same key, used on a page of this origin.
    pub(crate) fn at(&self, origin: &str) -> Self {
        Self { origin: origin.to_owned(), ..self.clone() }
    }

    /// Answers a request of the house.
    #[track_caller]
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        let asked: PublicKeyCredentialRequestOptions = serde_json::from_value(options.clone()).unwrap();
        self.counter += self.step;
        let client_data = client_data("webauthn.get", &asked.challenge, &self.origin);
        self.answer(&client_data)
    }

    /// Signs whatever the browser claims to have noted.
    pub(crate) fn answer(&self, client_data: &[u8]) -> Value {
        let data = self.authenticator_data(self.flags);
        let signed = [&data, digest::digest(&digest::SHA256, client_data).as_ref()].concat();
        let signature = self.pair().sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "id": self.name(),
            "rawId": self.name(),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "authenticatorData": encode(&data),
                "clientDataJSON": encode(client_data),
                "signature": encode(signature),
                "userHandle": encode(&self.user_handle),
            },
        })
    }

    fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let mut data = digest::digest(&digest::SHA256, self.rp_id.as_bytes()).as_ref().to_vec();
        data.push(flags);
        data.extend_from_slice(&self.counter.to_be_bytes());
        data
    }

    fn cose_key(&self) -> Vec<u8> {
        let pair = self.pair();
        let point = pair.public_key().as_ref();
        let entry = |key: i64, value: Cbor| (Cbor::from(key), value);
        cbor(&Cbor::Map(vec![
            entry(1, Cbor::from(2)),
            entry(3, Cbor::from(-7)),
            entry(-1, Cbor::from(1)),
            entry(-2, Cbor::Bytes(point[1..33].to_vec())),
            entry(-3, Cbor::Bytes(point[33..65].to_vec())),
        ]))
    }

    fn pair(&self) -> EcdsaKeyPair {
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &self.key, &SystemRandom::new()).unwrap()
    }
}

/// What a browser notes about a page.
pub(crate) fn client_data(kind: &str, challenge: &[u8], origin: &str) -> Vec<u8> {
    let noted = json!({"type": kind, "challenge": encode(challenge), "origin": origin, "crossOrigin": false});
    serde_json::to_vec(&noted).unwrap()
}

/// Base64url without padding.
pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes behind base64url.
#[track_caller]
pub(crate) fn decode(value: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(value.as_str().unwrap()).unwrap()
}

fn cbor(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

fn random(length: usize) -> Vec<u8> {
    std::iter::repeat_with(|| super::random().to_be_bytes()).flatten().take(length).collect()
}
