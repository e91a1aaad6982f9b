//! Access tokens: what they claim, how they are signed and judged. Time is judged by the house's clock, not the library's.

use std::{fmt, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
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
    accepted: Vec<(String, DecodingKey)>,
    public: KeySet,
}

impl Signer {
    /// A signer with the keys that the operator chose.
    ///
    /// # Errors
    /// When the library refuses a key.
    pub fn new(issuer: String, keys: &TokenKeys) -> Result<Self, String> {
        signature::install();
        let public = keys.public();
        match keys {
            TokenKeys::Shared { current, previous } => {
                let refused = |error: jsonwebtoken::errors::Error| error.to_string();
                let mut accepted = Vec::new();
                for secret in [Some(current), previous.as_ref()].into_iter().flatten() {
                    let bytes = key::shared(secret);
                    accepted.push((key::shared_id(&bytes), DecodingKey::from_secret(&bytes).map_err(refused)?));
                }
                let bytes = key::shared(current);
                let signing = EncodingKey::from_secret(&bytes).map_err(refused)?;
                let key_id = key::shared_id(&bytes);
                Ok(Self { issuer, algorithm: Algorithm::HS256, key_id, signing, accepted, public })
            }
            TokenKeys::Pair { current, previous } => {
                let accepted = [Some(current), previous.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(|pair| (pair.id(), DecodingKey::from_ed_der(pair.public())))
                    .collect();
                let signing = EncodingKey::from_ed_der(current.pkcs8());
                Ok(Self { issuer, algorithm: Algorithm::EdDSA, key_id: current.id(), signing, accepted, public })
            }
        }
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
        let header = Header { kid: Some(self.key_id.clone()), ..Header::new(self.algorithm) };
        encode(&header, &claims, &self.signing).map_err(|error| error.to_string())
    }

    /// Reads a token and checks all that can be checked without the database.
    ///
    /// # Errors
    /// [`TokenError::Expired`] for a genuine token past its time, [`TokenError::Invalid`] for anything else.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Claims, TokenError> {
        let invalid = |_| TokenError::Invalid;
        let header = decode_header(token).map_err(invalid)?;
        let kid = header.kid.ok_or(TokenError::Invalid)?;
        let (_, key) = self.accepted.iter().find(|(id, _)| *id == kid).ok_or(TokenError::Invalid)?;
        let mut rules = Validation::new(self.algorithm);
        rules.set_audience(&[AUDIENCE]);
        rules.set_issuer(&[&self.issuer]);
        rules.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        rules.validate_exp = false;
        let claims = decode::<Claims>(token, key, &rules).map_err(invalid)?.claims;
        let leeway = i64::try_from(LEEWAY.as_secs()).unwrap_or(0);
        let latest_start = now.seconds().saturating_add(leeway);
        if claims.r#type != TYPE || claims.iat > latest_start || claims.nbf.is_some_and(|start| start > latest_start) {
            return Err(TokenError::Invalid);
        }
        if claims.exp.saturating_add(leeway) <= now.seconds() {
            return Err(TokenError::Expired);
        }
        Ok(claims)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.key_id)
    }
}
