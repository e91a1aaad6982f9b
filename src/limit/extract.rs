//! How a handler obtains an [`Admission`]: by taking [`Limited`] as a parameter. The order is the contract's: decode,
//! charge the path, read the fields, charge the mailbox. Not JSON spends nothing; a faulty field spends the path alone.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, FromRequestParts, MatchedPath, Request};
use http::{Extensions, Method, request::Parts};

use super::{Admission, Attempt, Bucket, Charge, ClientIp, Limiter, MailScope, Verdict, Who};
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
        visit.charge(&Limiter::from_ref(state), Charge::auth(visit.route.as_str(), &visit.client)).await?;
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
    client: ClientIp,
    attempt: Attempt,
}

impl RoutePolicies {
    /// The budgets of the matched route; `None` when no policy names any route.
    pub fn of(extensions: &Extensions, method: &Method) -> Option<Self> {
        let limiter = extensions.get::<Limiter>()?.clone();
        let template: MatchedPath = extensions.get().cloned()?;
        let route = format!("{method} {}", template.as_str());
        Some(Self { limiter, route, template, client: extensions.get().cloned()?, attempt: extensions.get().cloned()? })
    }

    /// Charges the budgets that count what is known now: addresses at the route's door, the rest where it is found out.
    ///
    /// # Errors
    /// The refusal.
    pub async fn charge(&self, who: Who<'_>, with_network: bool) -> Result<(), ApiError> {
        let charges = self.limiter.charges_of_route(&self.route, &self.client, who, with_network);
        match self.limiter.decide(&charges, &self.client, self.template.as_str(), &self.attempt).await {
            Verdict::Admitted => Ok(()),
            Verdict::Refused(refusal) => Err(refusal.into()),
        }
    }
}

/// Who asks for what, as the corridor and the router noted it.
#[derive(Debug)]
pub struct Visit {
    route: MatchedPath,
    client: ClientIp,
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

    fn noted_in(extensions: &Extensions, method: &Method) -> Result<Self, ApiError> {
        let noted = || ApiError::internal("a request reached an extractor without having walked the corridor");
        Ok(Self {
            route: extensions.get().cloned().ok_or_else(noted)?,
            client: extensions.get().cloned().ok_or_else(noted)?,
            attempt: extensions.get().cloned().ok_or_else(noted)?,
            policies: RoutePolicies::of(extensions, method),
        })
    }

    /// Charges a mailbox alone, for a route that a session guards; `email` in its canonical form.
    ///
    /// # Errors
    /// 429 when the mailbox has had enough.
    pub async fn admit<M: Scope>(&self, limiter: &Limiter, email: &str) -> Result<Admission<Mailbox<M>>, ApiError> {
        self.charge(limiter, Charge::auth_email(M::SCOPE, email)).await?;
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
        let by_path = self.ask(limiter, Charge::auth(self.route.as_str(), &self.client)).await;
        if let Verdict::Refused(refusal) = by_path {
            self.let_in(limiter, device).await.ok_or(refusal)?;
        }
        let body: T = json::read(body)?;
        if device.is_none() {
            self.charge(limiter, Charge::account(body.mailbox())).await?;
        }
        Ok((Admission::granted(), body))
    }

    /// Whether a known device's own budget lets a refused sign-in pass.
    async fn let_in(&self, limiter: &Limiter, device: Option<&str>) -> Option<()> {
        let charge = Charge::device(device?);
        // A budget that is off knows nobody.
        limiter.stored_key(&charge)?;
        matches!(self.ask(limiter, charge).await, Verdict::Admitted).then_some(())
    }

    async fn ask(&self, limiter: &Limiter, charge: Charge) -> Verdict {
        limiter.decide(&[charge], &self.client, self.route.as_str(), &self.attempt).await
    }

    async fn charge(&self, limiter: &Limiter, charge: Charge) -> Result<(), ApiError> {
        match self.ask(limiter, charge).await {
            Verdict::Admitted => Ok(()),
            Verdict::Refused(refusal) => Err(refusal.into()),
        }
    }
}

async fn charge_path<T: FromFields>(request: Request, limiter: &Limiter) -> Result<(Visit, T), ApiError> {
    let visit = Visit::of(&request)?;
    let decoded = json::decode(request).await?;
    visit.charge(limiter, Charge::auth(visit.route.as_str(), &visit.client)).await?;
    Ok((visit, json::read(decoded)?))
}
