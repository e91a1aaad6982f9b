//! What an authenticator answered, read member by member from `PublicKeyCredential.toJSON()`. Unknown members are
//! ignored, padding is tolerated, and only what is verified later is handed on.

use base64::{
    Engine,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use validator::ValidateNonControlCharacter;
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

use super::{Refusal, relying_party::RelyingParty};
use crate::extract::{Field, Fields, FromFields, Problem, field};

/// Longest credential id (W3C Web Authentication 3, 7.1).
const CREDENTIAL_ID_MAX: usize = 1023;

/// How an authenticator may be reached, as far as browsers know a word for it.
const TRANSPORTS: [&str; 6] = ["ble", "hybrid", "internal", "nfc", "smart-card", "usb"];

/// Some browsers and libraries pad, and a stray last bit is not worth a refusal.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Binary data in base64url.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base64Url(pub(super) Vec<u8>);

impl Field for Base64Url {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        let bytes = TOLERANT.decode(text).map_err(|_| Problem::value("Value error, base64url is expected"))?;
        if bytes.is_empty() { Err(Problem::value("Value error, the value is empty")) } else { Ok(Self(bytes)) }
    }
}

/// A user handle. Browsers send null, nothing or an empty text where the authenticator named nobody.
#[derive(Debug)]
struct UserHandle(Option<Vec<u8>>);

impl Field for UserHandle {
    fn read(value: &Value) -> Result<Self, Problem> {
        match value {
            Value::String(text) if text.is_empty() => Ok(Self(None)),
            value => Base64Url::read(value).map(|handle| Self(Some(handle.0))),
        }
    }
}

/// `type`, which has one value.
#[derive(Debug)]
struct PublicKeyType;

impl Field for PublicKeyType {
    fn read(value: &Value) -> Result<Self, Problem> {
        match field::text(value)? {
            "public-key" => Ok(Self),
            _ => Err(Problem::not_one_of("Input should be 'public-key'")),
        }
    }
}

/// The transports that are known by name; what a future browser adds is left out.
#[derive(Debug)]
struct Transports(Vec<&'static str>);

impl Field for Transports {
    fn read(value: &Value) -> Result<Self, Problem> {
        let Value::Array(items) = value else {
            return Err(Problem::new("list_type", "Input should be a valid list"));
        };
        let named = |known: &&&str| items.iter().any(|item| item.as_str() == Some(**known));
        Ok(Self(TRANSPORTS.iter().filter(named).copied().collect()))
    }
}

/// The name that a person gives to a passkey: 1 to 64 characters after trimming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyName(pub String);

impl Field for PasskeyName {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?.trim();
        field::length(text, 1, 64)?;
        if !text.validate_non_control_character() {
            return Err(Problem::value("Value error, control characters are not allowed"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The members that both kinds of credential have, read from the object around `response`.
fn credential_id(fields: &mut Fields) -> Option<Vec<u8>> {
    let id = fields.required::<Base64Url>(&["id"]);
    let raw_id = fields.required::<Base64Url>(&["rawId"]);
    let kind = fields.required::<PublicKeyType>(&["type"]);
    let (id, raw_id) = (id?, raw_id?);
    kind?;
    if id != raw_id {
        fields.refuse("id", Problem::value("Value error, id and rawId differ"));
        return None;
    }
    if raw_id.0.len() > CREDENTIAL_ID_MAX {
        fields.refuse("rawId", Problem::value("Value error, the credential id is too long"));
        return None;
    }
    Some(raw_id.0)
}

/// What a signed-in authenticator sends: the answer to `navigator.credentials.get`.
#[derive(Debug)]
pub struct Assertion {
    pub credential_id: Vec<u8>,
    authenticator_data: Vec<u8>,
    client_data: Vec<u8>,
    signature: Vec<u8>,
    pub user_handle: Option<Vec<u8>>,
}

/// An assertion that names its user.
#[derive(Debug)]
pub struct NamedAssertion(pub Assertion);

#[derive(Debug)]
struct AssertionResponse {
    authenticator_data: Base64Url,
    client_data: Base64Url,
    signature: Base64Url,
    user_handle: Option<Vec<u8>>,
}

impl FromFields for AssertionResponse {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let authenticator_data = fields.required(&["authenticatorData"]);
        let client_data = fields.required(&["clientDataJSON"]);
        let signature = fields.required(&["signature"]);
        let user_handle = fields.optional::<UserHandle>(&["userHandle"]).and_then(|handle| handle.0);
        Some(Self {
            authenticator_data: authenticator_data?,
            client_data: client_data?,
            signature: signature?,
            user_handle,
        })
    }
}

/// The same members, with the handle that only a discoverable passkey is sure to send.
#[derive(Debug)]
struct NamedResponse(AssertionResponse);

impl FromFields for NamedResponse {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let handle = fields.required::<Base64Url>(&["userHandle"]);
        let response = AssertionResponse::from_fields(fields);
        Some(Self(AssertionResponse { user_handle: Some(handle?.0), ..response? }))
    }
}

impl Assertion {
    fn assemble(credential_id: Vec<u8>, response: AssertionResponse) -> Self {
        Self {
            credential_id,
            authenticator_data: response.authenticator_data.0,
            client_data: response.client_data.0,
            signature: response.signature.0,
            user_handle: response.user_handle,
        }
    }

    /// Whether the authenticator says that its key may be copied (bit 3 of the flags behind the hash of the id).
    pub(super) fn claims_backup(&self) -> bool {
        self.authenticator_data.get(32).is_some_and(|flags| flags & 0x08 != 0)
    }

    /// Whether the page's origin, as the browser noted it, belongs to the relying party.
    pub(super) fn comes_from(&self, party: &RelyingParty) -> bool {
        comes_from(&self.client_data, party)
    }

    /// The library's form. Client extensions are left out: none was asked for, none is believed.
    pub(super) fn for_library(&self) -> Result<PublicKeyCredential, Refusal> {
        let handle = self.user_handle.as_deref().map(encode);
        convert(&serde_json::json!({
            "id": encode(&self.credential_id),
            "rawId": encode(&self.credential_id),
            "type": "public-key",
            "response": {
                "authenticatorData": encode(&self.authenticator_data),
                "clientDataJSON": encode(&self.client_data),
                "signature": encode(&self.signature),
                "userHandle": handle,
            },
        }))
    }
}

impl FromFields for Assertion {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let id = credential_id(fields);
        let response = fields.object::<AssertionResponse>(&["response"]);
        Some(Self::assemble(id?, response?))
    }
}

impl FromFields for NamedAssertion {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let id = credential_id(fields);
        let response = fields.object::<NamedResponse>(&["response"]);
        Some(Self(Assertion::assemble(id?, response?.0)))
    }
}

/// What a new passkey sends: the answer to `navigator.credentials.create`.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "the W3C's own name")]
pub struct Attestation {
    pub credential_id: Vec<u8>,
    pub(super) attestation_object: Vec<u8>,
    client_data: Vec<u8>,
    /// Known names, sorted; `None` when the browser said nothing.
    pub transports: Option<Vec<&'static str>>,
}

#[derive(Debug)]
struct AttestationResponse {
    attestation_object: Base64Url,
    client_data: Base64Url,
    transports: Option<Transports>,
}

impl FromFields for AttestationResponse {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let attestation_object = fields.required(&["attestationObject"]);
        let client_data = fields.required(&["clientDataJSON"]);
        let transports = fields.optional(&["transports"]);
        Some(Self { attestation_object: attestation_object?, client_data: client_data?, transports })
    }
}

impl FromFields for Attestation {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let id = credential_id(fields);
        let response = fields.object::<AttestationResponse>(&["response"]);
        let (credential_id, response) = (id?, response?);
        Some(Self {
            credential_id,
            attestation_object: response.attestation_object.0,
            client_data: response.client_data.0,
            transports: response.transports.map(|known| known.0),
        })
    }
}

impl Attestation {
    /// Whether the page's origin, as the browser noted it, belongs to the relying party.
    pub(super) fn comes_from(&self, party: &RelyingParty) -> bool {
        comes_from(&self.client_data, party)
    }

    /// The library's form.
    pub(super) fn for_library(&self) -> Result<RegisterPublicKeyCredential, Refusal> {
        convert(&serde_json::json!({
            "id": encode(&self.credential_id),
            "rawId": encode(&self.credential_id),
            "type": "public-key",
            "response": {
                "attestationObject": encode(&self.attestation_object),
                "clientDataJSON": encode(&self.client_data),
            },
        }))
    }
}

/// What the browser noted about the page.
#[derive(Deserialize)]
struct ClientData {
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

/// The library compares parsed addresses; this compares what the browser wrote. A page inside a foreign page is refused:
/// whoever frames it could make a person confirm what it does not see.
fn comes_from(client_data: &[u8], party: &RelyingParty) -> bool {
    serde_json::from_slice::<ClientData>(client_data)
        .is_ok_and(|noted| party.accepts(&noted.origin) && !noted.cross_origin)
}

/// Base64url as browsers write it.
pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn convert<T: DeserializeOwned>(members: &(impl Serialize + Sync)) -> Result<T, Refusal> {
    serde_json::to_value(members).and_then(serde_json::from_value).map_err(Refusal::defect)
}
