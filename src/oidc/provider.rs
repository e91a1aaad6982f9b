//! The provider: what it says about itself, and what it says about a person. Everything is checked; nothing that it says
//! in prose is kept.

use std::{fmt, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, IssuerUrl, Nonce,
    OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, SignatureVerificationError,
    TokenResponse,
    core::{CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreJwsSigningAlgorithm, CoreProviderMetadata},
    reqwest::StatusCode,
    url::Url,
};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{
    Secrets,
    wire::{self, Wire},
};
use crate::{clock::Clock, public_url::not_a_url};

/// How long the provider's description and keys are kept.
const DESCRIPTION_KEPT: Duration = Duration::from_hours(1);

/// Soonest that an unknown key makes us fetch the description again, so that forged tokens cannot make us a hammer.
const DESCRIPTION_YOUNG: Duration = Duration::from_mins(1);

/// What an operator says about the provider.
#[derive(Clone)]
pub struct Registration {
    /// Exactly as the provider writes it, a trailing slash included.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: String,
    /// Where the provider sends people back to.
    pub redirect_uri: String,
}

impl Registration {
    /// Checks an issuer from the configuration and keeps it letter by letter.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse_issuer(text: &str) -> Result<String, String> {
        let url = Url::parse(text).map_err(|error| not_a_url(&error))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(String::from("must have no query or fragment"));
        }
        if url.scheme() == "https" || wire::is_plain_loopback(&url) {
            Ok(text.to_owned())
        } else {
            Err(String::from("must start with https:// (http:// is accepted for this machine alone)"))
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({})", self.issuer)
    }
}

/// The provider of this deployment.
#[derive(Debug)]
pub struct Provider {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: ClientSecret,
    redirect_uri: RedirectUrl,
    wire: Wire,
    clock: Clock,
    known: Mutex<Option<Known>>,
}

/// What the provider said about itself, and when.
#[derive(Clone, Debug)]
struct Known {
    description: Arc<CoreProviderMetadata>,
    since: Duration,
}

/// The provider lied, stalled or refused; the text is for the log.
#[derive(Debug)]
pub struct Unusable(pub String);

/// What the provider says about a person, under its signature.
#[derive(Debug)]
pub(super) struct Person {
    pub subject: String,
    pub email: Option<String>,
    /// `None` when the provider does not say.
    pub email_verified: Option<bool>,
    pub name: Option<Value>,
    pub locale: Option<String>,
}

impl Provider {
    /// # Errors
    /// A sentence for the operator.
    pub fn new(registration: Registration, clock: Clock, patience: Duration) -> Result<Self, String> {
        let issuer = IssuerUrl::new(registration.issuer).map_err(|error| error.to_string())?;
        let redirect_uri = RedirectUrl::new(registration.redirect_uri).map_err(|error| error.to_string())?;
        Ok(Self {
            wire: Wire::new(wire::is_plain_loopback(issuer.url()), patience)?,
            issuer,
            client_id: ClientId::new(registration.client_id),
            client_secret: ClientSecret::new(registration.client_secret),
            redirect_uri,
            clock,
            known: Mutex::new(None),
        })
    }

    /// The issuer, exactly as configured.
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Where a browser is sent to sign in.
    ///
    /// # Errors
    /// When the provider's description is not to be had.
    pub(super) async fn authorize_url(&self, state: &str, secrets: &Secrets) -> Result<String, Unusable> {
        let description = self.description(DESCRIPTION_KEPT).await?;
        let (state, nonce) = (CsrfToken::new(state.to_owned()), Nonce::new(secrets.nonce.clone()));
        let verifier = PkceCodeVerifier::new(secrets.verifier.clone());
        let (url, _, _) = self
            .client(&description)
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, || state, || nonce)
            .add_scope(Scope::new(String::from("profile")))
            .add_scope(Scope::new(String::from("email")))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        // Form encoding writes a blank as a plus; in an address every reader understands %20.
        Ok(url.as_str().replace('+', "%20"))
    }

    /// Exchanges a code for what the provider says about the person.
    ///
    /// # Errors
    /// When the code is refused, or anything about the answer is wrong.
    pub(super) async fn identify(&self, code: String, secrets: &Secrets) -> Result<Person, Unusable> {
        let description = self.description(DESCRIPTION_KEPT).await?;
        let client = self.client(&description);
        let answer = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| unusable("no token endpoint", &error))?
            .set_pkce_verifier(PkceCodeVerifier::new(secrets.verifier.clone()))
            .request_async(&self.wire)
            .await
            .map_err(|error| unusable("the code was refused", &error))?;
        let token = answer.id_token().ok_or_else(|| Unusable(String::from("no ID token")))?;
        self.verify(token, &secrets.nonce, description).await?;
        let claims = payload(token).ok_or_else(|| Unusable(String::from("the ID token is not readable")))?;
        let person = Person::from_claims(&claims)?;
        if person.is_complete() {
            return Ok(person);
        }
        let description = self.description(DESCRIPTION_KEPT).await?;
        let Some(endpoint) = description.userinfo_endpoint() else { return Ok(person) };
        let more = self.userinfo(endpoint.as_str(), answer.access_token().secret()).await?;
        person.completed_by(Person::from_claims(&more)?)
    }

    /// Checks signature, issuer, audience, expiry and nonce of an ID token.
    async fn verify(
        &self,
        token: &CoreIdToken,
        nonce: &str,
        description: Arc<CoreProviderMetadata>,
    ) -> Result<(), Unusable> {
        match self.check(token, nonce, &description) {
            Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                // The provider may have changed its keys since its description was read.
                let description = self.description(DESCRIPTION_YOUNG).await?;
                self.check(token, nonce, &description)
            }
            outcome => outcome,
        }
        .map_err(|error| unusable("the ID token is invalid", &error))
    }

    fn check(
        &self,
        token: &CoreIdToken,
        nonce: &str,
        description: &CoreProviderMetadata,
    ) -> Result<(), ClaimsVerificationError> {
        let now = chrono::DateTime::from_timestamp(self.clock.now().seconds(), 0).unwrap_or_default();
        let client = self.client(description);
        let verifier = client
            .id_token_verifier()
            .set_allowed_algs([CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256])
            .set_time_fn(move || now);
        token.claims(&verifier, &Nonce::new(nonce.to_owned())).map(|_| ())
    }

    async fn userinfo(&self, endpoint: &str, access: &str) -> Result<Value, Unusable> {
        let answer = self.wire.get(endpoint, access).await.map_err(|error| unusable("no userinfo", &error))?;
        if answer.status() != StatusCode::OK {
            return Err(Unusable(format!("userinfo answered {}", answer.status())));
        }
        serde_json::from_slice(answer.body()).map_err(|error| unusable("userinfo is not JSON", &error))
    }

    fn client(
        &self,
        description: &CoreProviderMetadata,
    ) -> CoreClient<
        openidconnect::EndpointSet,
        openidconnect::EndpointNotSet,
        openidconnect::EndpointNotSet,
        openidconnect::EndpointNotSet,
        openidconnect::EndpointMaybeSet,
        openidconnect::EndpointMaybeSet,
    > {
        CoreClient::from_provider_metadata(
            description.clone(),
            self.client_id.clone(),
            Some(self.client_secret.clone()),
        )
        .set_redirect_uri(self.redirect_uri.clone())
        .set_auth_type(AuthType::RequestBody)
    }

    /// What the provider says about itself, no older than `age`. One request asks; the others wait for its answer.
    async fn description(&self, age: Duration) -> Result<Arc<CoreProviderMetadata>, Unusable> {
        let mut known = self.known.lock().await;
        let now = self.clock.monotonic();
        if let Some(known) = known.as_ref().filter(|known| now.saturating_sub(known.since) < age) {
            return Ok(Arc::clone(&known.description));
        }
        let description = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.wire)
            .await
            .map_err(|error| unusable("no usable description", &error))?;
        if !self.wire.trusts(description.authorization_endpoint().url()) {
            return Err(Unusable(String::from("the authorization endpoint is not encrypted")));
        }
        let description = Arc::new(description);
        *known = Some(Known { description: Arc::clone(&description), since: now });
        Ok(description)
    }
}

impl Person {
    fn from_claims(claims: &Value) -> Result<Self, Unusable> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let subject = text("sub").filter(|subject| !subject.is_empty() && subject.len() <= 255);
        Ok(Self {
            subject: subject.ok_or_else(|| Unusable(String::from("no usable subject")))?,
            email: text("email").filter(|email| !email.is_empty()),
            // Only the JSON boolean counts; the word "true" is not it.
            email_verified: claims.get("email_verified").map(|value| *value == Value::Bool(true)),
            name: claims.get("name").filter(|name| name.is_string()).cloned(),
            locale: text("locale"),
        })
    }

    const fn is_complete(&self) -> bool {
        self.email.is_some() && self.email_verified.is_some() && self.name.is_some()
    }

    /// Fills in what is missing. What the ID token says stands; its address is never joined with another's verification.
    fn completed_by(self, more: Self) -> Result<Self, Unusable> {
        if self.subject != more.subject {
            return Err(Unusable(String::from("userinfo speaks of another subject")));
        }
        let (email, email_verified) = match self.email {
            None => (more.email, more.email_verified),
            Some(email) if more.email.as_ref() == Some(&email) => {
                (Some(email), self.email_verified.or(more.email_verified))
            }
            Some(email) => (Some(email), self.email_verified),
        };
        Ok(Self { email, email_verified, name: self.name.or(more.name), locale: self.locale.or(more.locale), ..self })
    }
}

/// The claims of a token whose signature was checked.
fn payload(token: &CoreIdToken) -> Option<Value> {
    let text = token.to_string();
    let body = URL_SAFE_NO_PAD.decode(text.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A failure and its causes, without the bodies that the provider sent.
fn unusable(what: &str, error: &dyn std::error::Error) -> Unusable {
    let mut text = format!("{what}: {error}");
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text.truncate(text.floor_char_boundary(500));
    Unusable(text)
}
