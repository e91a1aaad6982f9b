//! How a handler obtains an [`Admission`]: by taking [`Limited`] as a parameter. The order is the contract's: decode,
//! charge the path, read the fields, charge the mailbox. Not JSON spends nothing; a faulty field spends the path alone.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, FromRequestParts, MatchedPath, Request};
use http::{Extensions, request::Parts};

use super::{Admission, Attempt, Bucket, Charge, ClientIp, Limiter, MailScope, Verdict};
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
        let (visit, body) = charge_path::<T>(request, &limiter).await?;
        visit.charge(&limiter, &[Charge::auth_email(M::SCOPE, body.mailbox())]).await?;
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

/// The proof that the path was charged for, on a route without a JSON body. It stands in front of what reads the
/// query, so that a faulty query is charged for too.
#[derive(Debug)]
pub struct Charged(pub Admission<PerPath>);

impl<S> FromRequestParts<S> for Charged
where
    S: Send + Sync,
    Limiter: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let visit = Visit::of(&parts.extensions)?;
        visit.charge(&Limiter::from_ref(state), &[Charge::auth(visit.route(), &visit.client)]).await?;
        Ok(Self(Admission::granted()))
    }
}

impl Describe for Charged {
    fn describe(rules: &mut Vec<Rule>) {
        rules.push(Rule::Bucket(Bucket::Auth));
    }
}

/// Who asks for what, as the corridor and the router noted it.
pub(crate) struct Visit {
    route: MatchedPath,
    client: ClientIp,
    attempt: Attempt,
}

impl Visit {
    /// Reads what was noted.
    pub(crate) fn of(extensions: &Extensions) -> Result<Self, ApiError> {
        let noted = || ApiError::internal("a request reached an extractor without having walked the corridor");
        Ok(Self {
            route: extensions.get().cloned().ok_or_else(noted)?,
            client: extensions.get().cloned().ok_or_else(noted)?,
            attempt: extensions.get().cloned().ok_or_else(noted)?,
        })
    }

    /// The matched template.
    pub(crate) fn route(&self) -> &str {
        self.route.as_str()
    }

    /// Whose request it is.
    pub(crate) const fn client(&self) -> &ClientIp {
        &self.client
    }

    /// Charges in order until one bucket refuses.
    pub(crate) async fn charge(&self, limiter: &Limiter, charges: &[Charge]) -> Result<(), ApiError> {
        match limiter.decide(charges, &self.client, self.route(), &self.attempt).await {
            Verdict::Admitted => Ok(()),
            Verdict::Refused(refusal) => Err(ApiError::rate_limited(refusal.sentence(), refusal.retry_after())),
        }
    }
}

async fn charge_path<T: FromFields>(request: Request, limiter: &Limiter) -> Result<(Visit, T), ApiError> {
    let visit = Visit::of(request.extensions())?;
    let decoded = json::decode(request).await?;
    visit.charge(limiter, &[Charge::auth(visit.route(), &visit.client)]).await?;
    Ok((visit, json::read(decoded)?))
}
