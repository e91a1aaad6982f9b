//! How a handler obtains an [`Admission`]: by taking [`Limited`] as a parameter. The order is the contract's: decode,
//! charge the path, read the fields, charge the mailbox. Not JSON spends nothing; a faulty field spends the path alone.
//! A sign-up comes through [`Gated`], whose gate and hourly buckets stand before the fields are read.

use std::{future::Future, marker::PhantomData, sync::Arc};

use axum::extract::{FromRef, FromRequest, FromRequestParts, MatchedPath, Request};
use http::{Extensions, Method, request::Parts};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Admission, Attempt, Bucket, Charge, Limiter, MailScope, Verdict, Who};
use crate::{
    error::ApiError,
    extract::{
        Describe, FromFields, Query, Rule,
        json::{self, Decoded},
    },
};

/// Marks an admission by the bucket of path and address.
#[derive(Debug)]
pub struct PerPath;

/// Marks an admission by the path's bucket and the mailbox's.
#[derive(Debug)]
pub struct Mailbox<S>(PhantomData<S>);

/// Marks an admission by the path's bucket and a developer's hourly ones.
#[derive(Debug)]
pub struct HourlySignup;

/// A mailbox scope as a type.
pub trait Scope: Send + 'static {
    const SCOPE: MailScope;
}

/// A body that names the mailbox to be charged.
pub trait Addressed {
    /// The address in its canonical form.
    fn mailbox(&self) -> &str;
}

/// A body, and the proof that it was charged for.
#[derive(Debug)]
pub struct Limited<B, T>(pub Admission<B>, pub T);

/// The proof alone, on a route that reads no body. Whatever was sent stays unread.
#[derive(Debug)]
pub struct Admitted<B>(pub Admission<B>);

/// A query string, and the proof that it was charged for before it was looked at.
#[derive(Debug)]
pub struct LimitedQuery<B, T>(pub Admission<B>, pub T);

impl<S, T> FromRequest<S> for Limited<PerPath, T>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    T: FromFields,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (_, body) = charge_path(request, &Limiter::from_ref(state)).await?;
        Ok(Self(Admission::granted(), body))
    }
}

impl<S, M, T> FromRequest<S> for Limited<Mailbox<M>, T>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    M: Scope,
    T: FromFields + Addressed,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let limiter = Limiter::from_ref(state);
        let (visit, body) = charge_path::<T>(request, &limiter).await?;
        let admission = visit.admit(&limiter, body.mailbox()).await?;
        Ok(Self(admission, body))
    }
}

impl<S> FromRequestParts<S> for Admitted<PerPath>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let visit = Visit::noted_in(&parts.extensions, &parts.method)?;
        visit.charge_path(&Limiter::from_ref(state)).await?;
        Ok(Self(Admission::granted()))
    }
}

impl<S, T> FromRequestParts<S> for LimitedQuery<PerPath, T>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    T: FromFields,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Admitted(admission) = Admitted::from_request_parts(parts, state).await?;
        let Query(query) = Query::from_request_parts(parts, state).await?;
        Ok(Self(admission, query))
    }
}

impl Describe for Admitted<PerPath> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Bucket(Bucket::Auth));
    }
}

impl<T> Describe for LimitedQuery<PerPath, T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Bucket(Bucket::Auth), Rule::Query]);
    }
}

impl<T> Describe for Limited<PerPath, T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Body, Rule::Bucket(Bucket::Auth)]);
    }
}

impl<M: Scope, T> Describe for Limited<Mailbox<M>, T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Body, Rule::Bucket(Bucket::Auth), Rule::Bucket(Bucket::AuthEmail(M::SCOPE))]);
    }
}

/// The policy file's budgets of a request's route. The corridor puts the limiter beside a request when there are any.
#[derive(Debug)]
pub struct RoutePolicies {
    limiter: Limiter,
    route: String,
    template: MatchedPath,
    attempt: Attempt,
}

impl RoutePolicies {
    /// The budgets of the matched route; `None` when no policy names any route.
    pub fn of(extensions: &Extensions, method: &Method) -> Option<Self> {
        let limiter = extensions.get::<Limiter>()?.clone();
        let template: MatchedPath = extensions.get().cloned()?;
        let route = format!("{method} {}", template.as_str());
        Some(Self { limiter, route, template, attempt: extensions.get().cloned()? })
    }

    /// Charges the budgets that count what is known now: addresses at the route's door, the rest where it is found out.
    ///
    /// # Errors
    /// The refusal.
    pub async fn charge(&self, who: Who<'_>, with_network: bool) -> Result<(), ApiError> {
        let policies = self.limiter.policies();
        let charges = policies.charges(&self.route, self.attempt.client(), who, with_network);
        match self.limiter.decide(&charges, self.attempt.client(), self.template.as_str(), &self.attempt).await {
            Verdict::Admitted => Ok(()),
            Verdict::Refused(refusal) => Err(refusal.into()),
        }
    }
}

/// The budget of an API key that a handler finds out about, for routes that are told a key by somebody else.
#[derive(Debug)]
#[must_use = "a key that is not charged has no limit"]
pub struct ApiKeyBudget(Option<RoutePolicies>);

impl ApiKeyBudget {
    /// Charges the key, which is named by its id.
    ///
    /// # Errors
    /// The refusal.
    pub async fn charge(self, key_id: Uuid) -> Result<(), ApiError> {
        let Some(policies) = self.0 else { return Ok(()) };
        let key = key_id.to_string();
        policies.charge(Who { api_key: Some(&key), ..Who::default() }, false).await
    }
}

impl<S: Sync> FromRequestParts<S> for ApiKeyBudget {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self(RoutePolicies::of(&parts.extensions, &parts.method)))
    }
}

impl Describe for ApiKeyBudget {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::ApiKey);
    }
}

/// Who is let in to sign up. It stands before the hourly buckets, so that a refusal spends neither.
pub trait Gate: Send + Sync {
    /// What the gate found out, for the use case.
    type Pass: Send;

    /// The mailbox to charge, in its canonical form; `None` when the body names none.
    fn mailbox(body: &Map<String, Value>) -> Option<String>;

    /// Judges the decoded, not yet validated body.
    fn judge(&self, body: &Map<String, Value>) -> impl Future<Output = Result<Self::Pass, ApiError>> + Send;
}

/// A body that passed a gate and the hourly buckets, what the gate found out, and the proof that it was charged for.
#[derive(Debug)]
pub struct Gated<G: Gate, T>(pub Admission<HourlySignup>, pub G::Pass, pub T);

impl<S, G, T> FromRequest<S> for Gated<G, T>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    G: Gate,
    Arc<G>: FromRef<S>,
    T: FromFields,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let limiter = Limiter::from_ref(state);
        let visit = Visit::of(&request)?;
        let decoded = json::decode(request).await?;
        visit.charge_path(&limiter).await?;
        let nothing = Map::new();
        let fields = if let Decoded::Json(Value::Object(fields)) = &decoded { fields } else { &nothing };
        let pass = Arc::<G>::from_ref(state).judge(fields).await?;
        let mut charges = vec![Charge::signup_ip(visit.attempt.client())];
        let mailbox = G::mailbox(fields);
        charges.extend(mailbox.as_deref().map(Charge::signup_email));
        visit.charge(&limiter, &charges).await?;
        Ok(Self(Admission::granted(), pass, json::read(decoded)?))
    }
}

impl<G: Gate, T> Describe for Gated<G, T> {
    fn describe(rules: &mut Vec<Rule>) {
        let buckets = [Bucket::Auth, Bucket::SignupIp, Bucket::SignupEmail].map(Rule::Bucket);
        rules.push(Rule::Body);
        rules.extend(buckets);
    }
}

/// Who asks for what, as the corridor and the router noted it.
#[derive(Debug)]
pub struct Visit {
    route: MatchedPath,
    attempt: Attempt,
    policies: Option<RoutePolicies>,
}

impl Visit {
    /// Reads the notes of a request.
    ///
    /// # Errors
    /// 500 when the request did not walk the corridor, which is a defect.
    pub fn of(request: &Request) -> Result<Self, ApiError> {
        Self::noted_in(request.extensions(), request.method())
    }

    /// The same, for an extractor that leaves the body to others.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn noted_in(extensions: &Extensions, method: &Method) -> Result<Self, ApiError> {
        Ok(Self {
            route: noted(extensions)?,
            attempt: noted(extensions)?,
            policies: RoutePolicies::of(extensions, method),
        })
    }

    /// Charges a mailbox alone, for a route that a session guards; `email` in its canonical form.
    ///
    /// # Errors
    /// 429 when the mailbox has had enough.
    pub async fn admit<M: Scope>(&self, limiter: &Limiter, email: &str) -> Result<Admission<Mailbox<M>>, ApiError> {
        self.charge(limiter, &[Charge::auth_email(M::SCOPE, email)]).await?;
        if let Some(policies) = &self.policies {
            policies.charge(Who { mailbox: Some(email), ..Who::default() }, false).await?;
        }
        Ok(Admission::granted())
    }

    /// Charges a sign-in: the path, then the account that the body names. A browser that the account knows does not
    /// count against the account, and what the path refuses it may still do within a budget of its own, so that nobody
    /// can lock an owner out by spending an address or an account. `device` finds the id of a known browser.
    ///
    /// # Errors
    /// 429 when the path, or the account, has had enough; 422 for faulty fields.
    pub async fn admit_sign_in<T: FromFields + Addressed>(
        &self,
        limiter: &Limiter,
        body: Decoded,
        device: Option<&str>,
    ) -> Result<(Admission<PerPath>, T), ApiError> {
        let by_path = self.ask(limiter, &[Charge::auth(self.route.as_str(), self.attempt.client())]).await;
        if let Verdict::Refused(refusal) = by_path {
            self.let_in(limiter, device).await.ok_or(refusal)?;
        }
        let body: T = json::read(body)?;
        if device.is_none() {
            self.charge(limiter, &[Charge::account(body.mailbox())]).await?;
        }
        Ok((Admission::granted(), body))
    }

    /// Whether a known device's own budget lets a refused sign-in pass.
    async fn let_in(&self, limiter: &Limiter, device: Option<&str>) -> Option<()> {
        let charge = Charge::device(device?);
        // A budget that is off knows nobody.
        limiter.stored_key(&charge)?;
        matches!(self.ask(limiter, &[charge]).await, Verdict::Admitted).then_some(())
    }

    async fn ask(&self, limiter: &Limiter, charges: &[Charge<'_>]) -> Verdict {
        limiter.decide(charges, self.attempt.client(), self.route.as_str(), &self.attempt).await
    }

    /// Charges the bucket of path and address.
    ///
    /// # Errors
    /// 429 when the address has had enough of this path.
    pub async fn charge_path(&self, limiter: &Limiter) -> Result<(), ApiError> {
        self.charge(limiter, &[Charge::auth(self.route.as_str(), self.attempt.client())]).await
    }

    /// Charges in order until one bucket refuses.
    async fn charge(&self, limiter: &Limiter, charges: &[Charge<'_>]) -> Result<(), ApiError> {
        match self.ask(limiter, charges).await {
            Verdict::Admitted => Ok(()),
            Verdict::Refused(refusal) => Err(refusal.into()),
        }
    }
}

/// What the corridor or the router noted about a request.
///
/// # Errors
/// 500 when the request did not walk the corridor, which is a defect.
pub fn noted<T: Clone + Send + Sync + 'static>(extensions: &Extensions) -> Result<T, ApiError> {
    let defect = || ApiError::internal("a request reached an extractor without having walked the corridor");
    extensions.get().cloned().ok_or_else(defect)
}

async fn charge_path<T: FromFields>(request: Request, limiter: &Limiter) -> Result<(Visit, T), ApiError> {
    let visit = Visit::of(&request)?;
    let decoded = json::decode(request).await?;
    visit.charge_path(limiter).await?;
    Ok((visit, json::read(decoded)?))
}
