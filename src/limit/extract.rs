//! How a handler obtains an [`Admission`]: by taking [`Limited`] as a parameter. The order is the contract's: decode,
//! charge the path, read the fields, charge the mailbox. Not JSON spends nothing; a faulty field spends the path alone.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, FromRequestParts, MatchedPath, Request};
use http::{Extensions, request::Parts};

use super::{Admission, Attempt, Bucket, Charge, ClientIp, Limiter, MailScope, Verdict};
use crate::{
    error::ApiError,
    extract::{Describe, FromFields, Query, Rule, json},
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
        visit.charge(&limiter, &[Charge::auth_email(M::SCOPE, body.mailbox())]).await?;
        Ok(Self(Admission::granted(), body))
    }
}

impl<S> FromRequestParts<S> for Admitted<PerPath>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let visit = Visit::noted_in(&parts.extensions)?;
        visit.charge(&Limiter::from_ref(state), &[Charge::auth(visit.route(), visit.client())]).await?;
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

/// Who asks for what, as the corridor and the router noted it.
#[derive(Debug)]
pub struct Visit {
    route: MatchedPath,
    client: ClientIp,
    attempt: Attempt,
}

impl Visit {
    /// Reads the notes of a request.
    ///
    /// # Errors
    /// 500 when the request did not walk the corridor, which is a defect.
    pub fn of(request: &Request) -> Result<Self, ApiError> {
        let extensions = request.extensions();
        Self::noted_in(extensions)
    }

    pub(crate) fn noted_in(extensions: &Extensions) -> Result<Self, ApiError> {
        let noted = || ApiError::internal("a request reached an extractor without having walked the corridor");
        Ok(Self {
            route: extensions.get().cloned().ok_or_else(noted)?,
            client: extensions.get().cloned().ok_or_else(noted)?,
            attempt: extensions.get().cloned().ok_or_else(noted)?,
        })
    }

    /// Charges a mailbox alone, for a route that a session guards; `email` in its canonical form.
    ///
    /// # Errors
    /// 429 when the mailbox has had enough.
    pub async fn admit<M: Scope>(&self, limiter: &Limiter, email: &str) -> Result<Admission<Mailbox<M>>, ApiError> {
        self.charge(limiter, &[Charge::auth_email(M::SCOPE, email)]).await?;
        Ok(Admission::granted())
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
    let visit = Visit::of(&request)?;
    let decoded = json::decode(request).await?;
    visit.charge(limiter, &[Charge::auth(visit.route(), &visit.client)]).await?;
    Ok((visit, json::read(decoded)?))
}
