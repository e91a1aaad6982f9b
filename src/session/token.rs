//! Access tokens: what they claim, how they are signed and judged. Time is judged by the house's clock, not the library's.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    genuine::Genuine,
    key::{self, KeySet, TokenKeys},
    signature,
};
use crate::clock::Timestamp;

/// How far another machine's clock may differ.
const LEEWAY: Duration = Duration::from_mins(1);

/// Audience of every access token.
const AUDIENCE: &str = "labs";

/// What distinguishes an access token from anything else signed with the same key.
const TYPE: &str = "access";

/// What an access token says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub aud: String,
    pub sub: Uuid,
    pub sid: Uuid,
    pub wid: Option<Uuid>,
    pub r#type: String,
    pub iat: i64,
    pub exp: i64,
    pub jti: Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    Expired,
    Invalid,
}

/// Signs with the current key and accepts the previous one too, so that keys rotate without signing anybody out.
pub struct Signer {
    issuer: String,
    /// The one algorithm that signs and the one that is accepted.
    algorithm: Algorithm,
    key_id: String,
    signing: EncodingKey,
    accepted: Vec<Accepted>,
    /// What the library checks of every token.
    rules: Validation,
    genuine: Genuine,
    public: KeySet,
}

/// A key whose tokens are accepted.
struct Accepted {
    id: String,
    /// The first part of a token that we sign with it: most tokens are ours, and need not be read to know their key.
    head: String,
    key: DecodingKey,
}

impl Accepted {
    fn new(algorithm: Algorithm, id: String, key: DecodingKey) -> Result<Self, String> {
        let header = serde_json::to_vec(&header(algorithm, &id)).map_err(|error| error.to_string())?;
        Ok(Self { head: URL_SAFE_NO_PAD.encode(header), id, key })
    }
}

fn header(algorithm: Algorithm, key_id: &str) -> Header {
    Header { kid: Some(key_id.to_owned()), ..Header::new(algorithm) }
}

fn rules(algorithm: Algorithm, issuer: &str) -> Validation {
    let mut rules = Validation::new(algorithm);
    rules.set_audience(&[AUDIENCE]);
    rules.set_issuer(&[issuer]);
    rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
    rules.validate_exp = false;
    rules
}

impl Signer {
    /// A signer with the keys that the operator chose.
    ///
    /// # Errors
    /// When the library refuses a key.
    pub fn new(issuer: String, keys: &TokenKeys) -> Result<Self, String> {
        signature::install();
        let refused = |error: jsonwebtoken::errors::Error| error.to_string();
        let (algorithm, key_id, signing, accepted) = match keys {
            TokenKeys::Shared { current, previous } => {
                let mut accepted = Vec::new();
                for secret in [Some(current), previous.as_ref()].into_iter().flatten() {
                    let bytes = key::shared(secret);
                    accepted.push((key::shared_id(&bytes), DecodingKey::from_secret(&bytes).map_err(refused)?));
                }
                let bytes = key::shared(current);
                let signing = EncodingKey::from_secret(&bytes).map_err(refused)?;
                (Algorithm::HS256, key::shared_id(&bytes), signing, accepted)
            }
            TokenKeys::Pair { current, previous } => {
                let accepted = [Some(current), previous.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(|pair| (pair.id(), DecodingKey::from_ed_der(pair.public())))
                    .collect();
                let signing = EncodingKey::from_ed_der(current.pkcs8());
                (Algorithm::EdDSA, current.id(), signing, accepted)
            }
        };
        let accepted =
            accepted.into_iter().map(|(id, key)| Accepted::new(algorithm, id, key)).collect::<Result<_, _>>();
        Ok(Self {
            rules: rules(algorithm, &issuer),
            genuine: Genuine::default(),
            issuer,
            algorithm,
            key_id,
            signing,
            accepted: accepted?,
            public: keys.public(),
        })
    }

    /// The keys by which others may check tokens.
    pub const fn public(&self) -> &KeySet {
        &self.public
    }

    /// Signs a token for a session.
    ///
    /// # Errors
    /// When the library cannot sign, which is a defect.
    pub fn sign(
        &self,
        person: Uuid,
        session: Uuid,
        workspace: Option<Uuid>,
        jti: Uuid,
        now: Timestamp,
        life: Duration,
    ) -> Result<String, String> {
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: AUDIENCE.to_owned(),
            sub: person,
            sid: session,
            wid: workspace,
            r#type: TYPE.to_owned(),
            iat: now.seconds(),
            exp: (now + life).seconds(),
            jti,
            nbf: None,
        };
        encode(&header(self.algorithm, &self.key_id), &claims, &self.signing).map_err(|error| error.to_string())
    }

    /// Reads a token and checks all that can be checked without the database.
    ///
    /// # Errors
    /// [`TokenError::Expired`] for a genuine token past its time, [`TokenError::Invalid`] for anything else.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Arc<Claims>, TokenError> {
        let claims = self.genuine.claims(token, || self.check(token))?;
        let leeway = i64::try_from(LEEWAY.as_secs()).unwrap_or(0);
        let latest_start = now.seconds().saturating_add(leeway);
        if claims.iat > latest_start || claims.nbf.is_some_and(|start| start > latest_start) {
            return Err(TokenError::Invalid);
        }
        if claims.exp.saturating_add(leeway) <= now.seconds() {
            return Err(TokenError::Expired);
        }
        Ok(claims)
    }

    /// What stays true of a token whatever the time: who signed it, and that it is an access token for us.
    fn check(&self, token: &str) -> Result<Claims, TokenError> {
        let key = self.key_of(token).ok_or(TokenError::Invalid)?;
        let claims = decode::<Claims>(token, key, &self.rules).map_err(|_| TokenError::Invalid)?.claims;
        if claims.r#type == TYPE { Ok(claims) } else { Err(TokenError::Invalid) }
    }

    /// The key that a token names in its header, when it is one of ours.
    fn key_of(&self, token: &str) -> Option<&DecodingKey> {
        let (head, _) = token.split_once('.')?;
        let known = self.accepted.iter().find(|it| it.head == head).or_else(|| {
            // Whatever else a header says, the library reads it again and judges it.
            let id = decode_header(token).ok()?.kid?;
            self.accepted.iter().find(|it| it.id == id)
        });
        known.map(|it| &it.key)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.key_id)
    }
}
