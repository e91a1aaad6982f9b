//! How a sign-in is let through: charged like any anonymous route, except that a browser which the account knows is not
//! shut out by what strangers spent. The mark is checked without a look into the database.

use axum::extract::{FromRef, FromRequest, Request};
use serde_json::Value;

use super::{Sessions, cookie};
use crate::{
    account::Email,
    error::ApiError,
    extract::{
        Describe, FromFields, Rule,
        json::{self, Decoded},
    },
    limit::{
        Admission, Bucket, Limiter,
        extract::{Addressed, PerPath, Visit},
    },
};

/// The body of a sign-in, and the proof that it was charged for.
#[derive(Debug)]
pub struct LimitedSignIn<T>(pub Admission<PerPath>, pub T);

impl<S, T> FromRequest<S> for LimitedSignIn<T>
where
    S: Send + Sync,
    Limiter: FromRef<S>,
    Sessions: FromRef<S>,
    T: FromFields + Addressed,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (limiter, sessions) = (Limiter::from_ref(state), Sessions::from_ref(state));
        let visit = Visit::of(&request)?;
        let mark = cookie::presented_device(request.headers());
        let decoded = json::decode(request).await?;
        let named = mailbox(&decoded);
        let known = mark.as_ref().zip(named.as_ref());
        let device = known.and_then(|(mark, email)| sessions.devices.recognise(mark, email.as_str()));
        let (admission, body) = visit.admit_sign_in(&limiter, decoded, device).await?;
        Ok(Self(admission, body))
    }
}

impl<T> Describe for LimitedSignIn<T> {
    fn describe(rules: &mut Vec<Rule>) {
        rules.extend([Rule::Body, Rule::Bucket(Bucket::Auth)]);
    }
}

/// The address that a body names, before its fields are judged.
fn mailbox(decoded: &Decoded) -> Option<Email> {
    let Decoded::Json(Value::Object(fields)) = decoded else { return None };
    fields.get("email")?.as_str().and_then(|text| Email::parse(text).ok())
}
