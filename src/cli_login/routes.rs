//! `cli-login`: the page, and the form that it posts.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::{CliLogins, approve::Decision, extract::Browser, page, wish::Wish};
use crate::{
    error::ApiError,
    extract::{Field, Fields, Form, FromFields, Problem, Query, field},
    limit::extract::{Admitted, PerPath},
    secret::Plain,
    session::cookie,
};

/// The path of the page, to which a person comes back after signing in.
const PATH: &str = "/api/auth/cli-login";

/// `GET /api/auth/cli-login`
pub(crate) async fn show(
    State(logins): State<Arc<CliLogins>>,
    _: Admitted<PerPath>,
    headers: HeaderMap,
    Query(wish): Query<Wish>,
) -> Result<Response, ApiError> {
    let person = match cookie::presented(&headers) {
        Some(token) => logins.sessions.recognise(&token).await?,
        None => None,
    };
    let Some(person) = person else {
        let next = format!("{PATH}?{}", wish.query());
        let next = percent_encoding::utf8_percent_encode(&next, percent_encoding::NON_ALPHANUMERIC);
        return redirect(StatusCode::FOUND, &format!("{}?next={next}", logins.frontend.page("/login")));
    };
    let nonce = Plain::mint(&logins.entropy);
    let csrf = logins.csrf.token(person.session_id, &wish, logins.clock.now());
    let html = page::render(&person.account, &wish, &csrf, nonce.reveal());
    let policy = HeaderValue::try_from(page::policy(nonce.reveal(), wish.port)).map_err(ApiError::internal)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, html).into_response())
}

/// The page's form.
#[derive(Debug)]
pub(crate) struct Answer {
    wish: Wish,
    decision: Decision,
    csrf: String,
}

impl FromFields for Answer {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let wish = Wish::from_fields(fields);
        let decision = fields.required(&["decision"]);
        // Absent is as wrong as false, and told alike.
        let csrf = fields.optional::<Csrf>(&["csrf"]).map(|csrf| csrf.0).unwrap_or_default();
        Some(Self { wish: wish?, decision: decision?, csrf })
    }
}

impl Field for Decision {
    fn read(value: &Value) -> Result<Self, Problem> {
        match field::text(value)? {
            "allow" => Ok(Self::Allow),
            "deny" => Ok(Self::Deny),
            _ => Err(Problem::not_one_of("Input should be 'allow' or 'deny'")),
        }
    }
}

struct Csrf(String);

impl Field for Csrf {
    fn read(value: &Value) -> Result<Self, Problem> {
        field::text(value).map(|text| Self(text.to_owned()))
    }
}

/// `POST /api/auth/cli-login`
pub(crate) async fn answer(
    State(logins): State<Arc<CliLogins>>,
    _: Admitted<PerPath>,
    Browser(person): Browser,
    Form(answer): Form<Answer>,
) -> Result<Response, ApiError> {
    let target = logins.decide(&person, &answer.wish, answer.decision, &answer.csrf).await?;
    redirect(StatusCode::SEE_OTHER, &target)
}

fn redirect(status: StatusCode, location: &str) -> Result<Response, ApiError> {
    let location = HeaderValue::try_from(location).map_err(ApiError::internal)?;
    let headers = [(header::LOCATION, location), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((status, headers).into_response())
}
