//! `POST /api/auth/change-email`, `confirm-email` and `undo-email`.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use serde::Serialize;

use super::{Addresses, ask::Wanted};
use crate::{
    error::ApiError,
    extract::{Fields, FromFields},
    limit::{
        MailScope,
        extract::{Addressed, Limited, Mailbox, PerPath, Scope},
    },
    session::{
        LimitedSession, Visitor,
        routes::{Message, PresentedToken},
    },
};

/// Mailbox scope of `change-email`, charged on the new address.
#[derive(Debug)]
pub struct ChangeMail;

impl Scope for ChangeMail {
    const SCOPE: MailScope = MailScope::ChangeEmail;
}

impl FromFields for Wanted {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let new_email = fields.required(&["new_email"]);
        let current_password = fields.optional(&["current_password"]);
        Some(Self { new_email: new_email?, current_password })
    }
}

impl Addressed for Wanted {
    fn mailbox(&self) -> &str {
        self.new_email.as_str()
    }
}

/// `POST /api/auth/change-email`
pub(crate) async fn ask(
    State(addresses): State<Arc<Addresses>>,
    visitor: Visitor,
    LimitedSession(caller, admission, wanted): LimitedSession<Mailbox<ChangeMail>, Wanted>,
) -> Result<impl IntoResponse, ApiError> {
    addresses.ask(&admission, &caller, &wanted, &visitor.client).await?;
    let sentence = "If the address can be used, we have sent a link to confirm it.";
    Ok((StatusCode::ACCEPTED, Json(Message::new(sentence))))
}

#[derive(Debug)]
pub(crate) struct LinkBody {
    token: PresentedToken,
}

impl FromFields for LinkBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { token: fields.required(&["token"])? })
    }
}

#[derive(Debug, Serialize)]
struct Settled {
    message: &'static str,
    email: String,
}

/// `POST /api/auth/confirm-email`
pub(crate) async fn confirm(
    State(addresses): State<Arc<Addresses>>,
    visitor: Visitor,
    Limited(_, body): Limited<PerPath, LinkBody>,
) -> Result<impl IntoResponse, ApiError> {
    let account = addresses.confirm(&body.token.0, &visitor.client).await?;
    Ok(Json(Settled { message: "Email address changed.", email: account.email }))
}

/// `POST /api/auth/undo-email`
pub(crate) async fn undo(
    State(addresses): State<Arc<Addresses>>,
    visitor: Visitor,
    Limited(_, body): Limited<PerPath, LinkBody>,
) -> Result<impl IntoResponse, ApiError> {
    let account = addresses.undo(&body.token.0, &visitor.client).await?;
    let message = "Your former address stays. All sessions have ended; choose a new password by the link we have sent.";
    Ok(Json(Settled { message, email: account.email }))
}
