//! How a handler obtains an [`Admission`]: by taking [`Limited`] as a parameter. The order is the contract's: decode,
//! charge the path, read the fields, charge the mailbox. Not JSON spends nothing; a faulty field spends the path alone.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, MatchedPath, Request};
use http::{Extensions, Method};

use super::{Admission, Attempt, Bucket, Charge, ClientIp, Limiter, MailScope, Verdict, Who};
use crate::{
    error::ApiError,
    extract::{Describe, FromFields, Rule, json},
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
        let policies = RoutePolicies::of(request.extensions(), request.method());
        let (visit, body) = charge_path::<T>(request, &limiter).await?;
        visit.charge(&limiter, Charge::auth_email(M::SCOPE, body.mailbox())).await?;
        if let Some(policies) = policies {
            policies.charge(Who { mailbox: Some(body.mailbox()), ..Who::default() }, false).await?;
        }
        Ok(Self(Admission::granted(), body))
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
struct Visit {
    route: MatchedPath,
    client: ClientIp,
    attempt: Attempt,
}

impl Visit {
    fn of(request: &Request) -> Result<Self, ApiError> {
        let extensions = request.extensions();
        let noted = || ApiError::internal("a request reached an extractor without having walked the corridor");
        Ok(Self {
            route: extensions.get().cloned().ok_or_else(noted)?,
            client: extensions.get().cloned().ok_or_else(noted)?,
            attempt: extensions.get().cloned().ok_or_else(noted)?,
        })
    }

    async fn charge(&self, limiter: &Limiter, charge: Charge) -> Result<(), ApiError> {
        match limiter.decide(&[charge], &self.client, self.route.as_str(), &self.attempt).await {
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
