//! `request-magic-link` and `verify-magic-link`: what they read and what they answer.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;

use super::{MagicLinks, ask::Wish, redeem::Proof};
use crate::{
    error::ApiError,
    extract::{Field, Fields, FromFields, Problem, field},
    limit::{
        MailScope,
        extract::{Addressed, Limited, Mailbox, PerPath, Scope},
    },
    public_url::InnerPath,
    secret::Plain,
    session::{TokenResponse, Visitor, routes::PresentedToken},
    ticket::Code,
};

/// Mailbox scope of `request-magic-link`.
#[derive(Debug)]
pub struct MagicLinkMail;

impl Scope for MagicLinkMail {
    const SCOPE: MailScope = MailScope::MagicLink;
}

impl FromFields for Wish {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let email = fields.required(&["email"]);
        let wanted: Option<Whatever> = fields.optional(&["redirect_to"]);
        let redirect_to = wanted.and_then(|it| it.0.as_str().and_then(InnerPath::parse)).map(InnerPath::into_string);
        Some(Self { email: email?, redirect_to })
    }
}

/// A field that is never faulty: what it cannot be is dropped without a word.
struct Whatever(Value);

impl Field for Whatever {
    fn read(value: &Value) -> Result<Self, Problem> {
        Ok(Self(value.clone()))
    }
}

impl Addressed for Wish {
    fn mailbox(&self) -> &str {
        self.email.as_str()
    }
}

#[derive(Debug, Serialize)]
struct Asked {
    message: &'static str,
    handle: String,
}

/// `POST /api/auth/request-magic-link`
pub(crate) async fn ask(
    State(links): State<Arc<MagicLinks>>,
    visitor: Visitor,
    Limited(admission, wish): Limited<Mailbox<MagicLinkMail>, Wish>,
) -> Result<impl IntoResponse, ApiError> {
    let handle = links.ask(&admission, &wish, &visitor).await?;
    let message = "If an account exists for this address, we have sent a sign-in link.";
    let answer = Asked { message, handle: handle.reveal().to_owned() };
    Ok((StatusCode::ACCEPTED, [(http::header::CACHE_CONTROL, "no-store")], Json(answer)))
}

impl FromFields for Proof {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let handle: Option<PresentedToken> = fields.optional(&["handle"]);
        let code: Option<TypedCode> = fields.optional(&["code"]);
        let verifier: Option<Verifier> = fields.optional(&["code_verifier"]);
        match (handle, code) {
            (Some(handle), Some(code)) => Some(Self::Code { handle: handle.0, code: code.0 }),
            (Some(_), None) => {
                fields.required::<TypedCode>(&["code"]);
                None
            }
            // Not a word of a token that nobody meant to send.
            (None, Some(_)) if !fields.has("token") => {
                fields.required::<PresentedToken>(&["handle"]);
                None
            }
            (None, _) => {
                let token: PresentedToken = fields.required(&["token"])?;
                Some(Self::Token { token: token.0, verifier: verifier.map(|it| it.0) })
            }
        }
    }
}

/// A code as somebody typed it.
struct TypedCode(Code);

impl Field for TypedCode {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 1, 512)?;
        Ok(Self(Code::typed(text)))
    }
}

/// A PKCE verifier (RFC 7636, 4.1).
struct Verifier(Plain);

impl Field for Verifier {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 43, 128)?;
        field::unreserved(text)?;
        Ok(Self(Plain::presented(text.to_owned())))
    }
}

/// `POST /api/auth/verify-magic-link`
pub(crate) async fn redeem(
    State(links): State<Arc<MagicLinks>>,
    visitor: Visitor,
    Limited(_, proof): Limited<PerPath, Proof>,
) -> Result<TokenResponse, ApiError> {
    let redeemed = links.redeem(&proof, &visitor).await?;
    Ok(TokenResponse::new(&links.sessions, &redeemed.opened).leading_to(redeemed.redirect_to))
}
