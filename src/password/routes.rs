//! The password routes: what they read and what they answer.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use serde::Serialize;

use super::{Passwords, field::NewPassword, login::Credentials, register::Registration};
use crate::{
    account::{CurrentPassword, Email, FullName},
    error::ApiError,
    extract::{Fields, FromFields, json::JsonBody},
    limit::{
        MailScope,
        extract::{Addressed, Limited, Mailbox, PerPath, Scope},
    },
    session::{
        CurrentSession, LimitedSignIn, TokenResponse, Visitor,
        routes::{Message, PresentedToken},
    },
};

/// Mailbox scope of `register`.
#[derive(Debug)]
pub struct RegistrationMail;

/// Mailbox scope of `resend-verification`.
#[derive(Debug)]
pub struct VerificationMail;

/// Mailbox scope of `forgot-password`.
#[derive(Debug)]
pub struct ResetMail;

impl Scope for RegistrationMail {
    const SCOPE: MailScope = MailScope::Registration;
}

impl Scope for VerificationMail {
    const SCOPE: MailScope = MailScope::Verification;
}

impl Scope for ResetMail {
    const SCOPE: MailScope = MailScope::PasswordReset;
}

impl FromFields for Registration {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let email = fields.required(&["email"]);
        let password = fields.required(&["password"]);
        let full_name = fields.optional(&["full_name", "name"]);
        let workspace_name = fields.optional(&["workspace_name"]);
        let locale = fields.optional(&["locale"]).unwrap_or_default();
        Some(Self { email: email?, password: password?, full_name, workspace_name, locale })
    }
}

impl Addressed for Registration {
    fn mailbox(&self) -> &str {
        self.email.as_str()
    }
}

#[derive(Debug, Serialize)]
struct Registered {
    message: &'static str,
    email: String,
    verification_required: bool,
}

/// `POST /api/auth/register`
pub(crate) async fn register(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    Limited(admission, wanted): Limited<Mailbox<RegistrationMail>, Registration>,
) -> Result<impl IntoResponse, ApiError> {
    passwords.register(&admission, &wanted, &visitor.client).await?;
    let answer = Registered {
        message: "Check your inbox to confirm your email address.",
        email: wanted.email.as_str().to_owned(),
        verification_required: true,
    };
    Ok((StatusCode::CREATED, Json(answer)))
}

impl FromFields for Credentials {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let email = fields.required(&["email"]);
        let password = fields.required(&["password"]);
        Some(Self { email: email?, password: password? })
    }
}

impl Addressed for Credentials {
    fn mailbox(&self) -> &str {
        self.email.as_str()
    }
}

/// `POST /api/auth/login`
pub(crate) async fn login(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    LimitedSignIn(_, credentials): LimitedSignIn<Credentials>,
) -> Result<TokenResponse, ApiError> {
    let opened = passwords.login(&credentials, &visitor).await?;
    Ok(TokenResponse::new(&passwords.sessions, &opened))
}

/// A body that names a mailbox and nothing else.
#[derive(Debug)]
pub(crate) struct MailboxBody {
    email: Email,
}

impl FromFields for MailboxBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { email: fields.required(&["email"])? })
    }
}

impl Addressed for MailboxBody {
    fn mailbox(&self) -> &str {
        self.email.as_str()
    }
}

/// `POST /api/auth/forgot-password`
pub(crate) async fn forgot(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    Limited(admission, body): Limited<Mailbox<ResetMail>, MailboxBody>,
) -> Result<impl IntoResponse, ApiError> {
    passwords.forgot(&admission, &body.email, &visitor.client).await?;
    let sentence = "If an account exists for this address, we have sent a link.";
    Ok((StatusCode::ACCEPTED, Json(Message::new(sentence))))
}

/// `POST /api/auth/resend-verification`
pub(crate) async fn resend_verification(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    Limited(admission, body): Limited<Mailbox<VerificationMail>, MailboxBody>,
) -> Result<impl IntoResponse, ApiError> {
    passwords.resend_verification(&admission, &body.email, &visitor.client).await?;
    let sentence = "If the address still needs confirming, we have sent a link.";
    Ok((StatusCode::ACCEPTED, Json(Message::new(sentence))))
}

/// A body that presents a token and nothing else.
#[derive(Debug)]
pub(crate) struct TokenBody {
    token: PresentedToken,
}

impl FromFields for TokenBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { token: fields.required(&["token"])? })
    }
}

#[derive(Debug, Serialize)]
struct Confirmed {
    message: &'static str,
    email: String,
    email_verified: bool,
}

/// `POST /api/auth/verify-email`
pub(crate) async fn verify_email(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    Limited(_, body): Limited<PerPath, TokenBody>,
) -> Result<impl IntoResponse, ApiError> {
    let email = passwords.verify_email(&body.token.0, &visitor.client).await?;
    let message = "Email address confirmed. You can now sign in.";
    Ok(Json(Confirmed { message, email, email_verified: true }))
}

#[derive(Debug)]
pub(crate) struct ResetBody {
    token: PresentedToken,
    password: NewPassword,
}

impl FromFields for ResetBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let token = fields.required(&["token"]);
        let password = fields.required(&["new_password", "password"]);
        Some(Self { token: token?, password: password? })
    }
}

/// `POST /api/auth/reset-password`
pub(crate) async fn reset(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    Limited(_, body): Limited<PerPath, ResetBody>,
) -> Result<impl IntoResponse, ApiError> {
    passwords.reset(&body.token.0, &body.password, &visitor.client).await?;
    Ok(Json(Message::new("Password changed. You can now sign in.")))
}

#[derive(Debug)]
pub(crate) struct SetBody {
    token: PresentedToken,
    password: NewPassword,
    full_name: Option<FullName>,
}

impl FromFields for SetBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let token = fields.required(&["token"]);
        let password = fields.required(&["password", "new_password"]);
        let full_name = fields.optional(&["full_name", "name"]);
        Some(Self { token: token?, password: password?, full_name })
    }
}

/// `POST /api/auth/set-password`
pub(crate) async fn set(
    State(passwords): State<Arc<Passwords>>,
    visitor: Visitor,
    Limited(_, body): Limited<PerPath, SetBody>,
) -> Result<TokenResponse, ApiError> {
    let opened = passwords.set(&body.token.0, &body.password, body.full_name.as_ref(), &visitor).await?;
    Ok(TokenResponse::new(&passwords.sessions, &opened))
}

#[derive(Debug)]
pub(crate) struct ChangeBody {
    current: CurrentPassword,
    new: NewPassword,
}

impl FromFields for ChangeBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let current = fields.required(&["current_password"]);
        let new = fields.required(&["new_password"]);
        Some(Self { current: current?, new: new? })
    }
}

/// `POST /api/auth/change-password`
pub(crate) async fn change(
    State(passwords): State<Arc<Passwords>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    JsonBody(body): JsonBody<ChangeBody>,
) -> Result<impl IntoResponse, ApiError> {
    passwords.change(&caller, &body.current, &body.new, &visitor.client).await?;
    Ok(Json(Message::new("Password changed.")))
}
