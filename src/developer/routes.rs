//! The sign-up routes: what they read and what they answer.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::{StatusCode, header};
use serde::Serialize;
use uuid::Uuid;

use super::{Developers, field::InviteCode, gate::SignupGate, signup::Signup, verify::Equipped};
use crate::{
    clock::Timestamp,
    error::ApiError,
    extract::{Fields, FromFields},
    limit::extract::{Gated, Limited, PerPath},
    session::{Visitor, routes::PresentedToken},
    ticket::Purpose,
};

impl FromFields for Signup {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let email = fields.required(&["email"]);
        let name = fields.optional(&["name"]);
        let company = fields.optional(&["company"]);
        fields.optional::<InviteCode>(&["invite_code"]);
        let accept_terms = fields.optional(&["accept_terms"]);
        let locale = fields.optional(&["locale"]).unwrap_or_default();
        Some(Self { email: email?, name, company, accept_terms, locale })
    }
}

#[derive(Debug, Serialize)]
struct SignedUp {
    object: &'static str,
    status: &'static str,
    email: String,
    message: &'static str,
    expires_in: u64,
}

/// `POST /api/prima/v1/accounts`
pub(crate) async fn sign_up(
    State(developers): State<Arc<Developers>>,
    visitor: Visitor,
    Gated(admission, pass, wanted): Gated<SignupGate, Signup>,
) -> Result<impl IntoResponse, ApiError> {
    developers.sign_up(&admission, &pass, &wanted, &visitor.client).await?;
    let answer = SignedUp {
        object: "account",
        status: "pending_verification",
        email: wanted.email.as_str().to_owned(),
        message: "Check your inbox to confirm your email address.",
        expires_in: Purpose::PrimaSignup.lifetime().as_secs(),
    };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

#[derive(Debug)]
pub(crate) struct VerifyBody {
    token: PresentedToken,
}

impl FromFields for VerifyBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { token: fields.required(&["token"])? })
    }
}

#[derive(Debug, Serialize)]
struct Verified {
    object: &'static str,
    id: Uuid,
    email: String,
    status: &'static str,
    workspace_id: Uuid,
    api_key: FirstKey,
    message: &'static str,
}

#[derive(Serialize)]
struct FirstKey {
    object: &'static str,
    id: Uuid,
    name: String,
    key: String,
    prefix: String,
    created_at: Timestamp,
}

impl std::fmt::Debug for FirstKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FirstKey({})", self.id)
    }
}

/// `POST /api/prima/v1/accounts/verify`
pub(crate) async fn verify(
    State(developers): State<Arc<Developers>>,
    visitor: Visitor,
    Limited(_, body): Limited<PerPath, VerifyBody>,
) -> Result<impl IntoResponse, ApiError> {
    let Equipped { account, row, key } = developers.verify(&body.token.0, &visitor.client).await?;
    let answer = Verified {
        object: "account",
        id: account.id,
        email: account.email,
        status: "active",
        workspace_id: row.workspace_id,
        api_key: FirstKey {
            object: "api_key",
            id: row.id,
            name: row.name,
            key: key.reveal().to_owned(),
            prefix: row.prefix,
            created_at: row.created_at,
        },
        message: "Store this key now. It is shown only once.",
    };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(answer)))
}
