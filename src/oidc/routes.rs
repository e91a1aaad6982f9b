//! `infomaniak/start` and `infomaniak/callback`: navigations of a browser, answered by redirects.

use std::sync::Arc;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};

use super::{
    Oidc,
    callback::{Failure, Landed},
    cookie,
    extract::{Back, Destination},
};
use crate::{
    error::ApiError,
    limit::extract::{Admitted, PerPath},
};

/// `GET /api/auth/infomaniak/start`
pub(crate) async fn start(
    State(oidc): State<Arc<Oidc>>,
    _: Admitted<PerPath>,
    Destination(redirect_to): Destination,
) -> Result<Response, ApiError> {
    let begun = oidc.begin(redirect_to).await?;
    let mut response = redirect(&begun.authorize)?;
    response.headers_mut().append(header::SET_COOKIE, cookie::set(&begun.browser, oidc.sessions.cookie.secure));
    Ok(response)
}

/// `GET /api/auth/infomaniak/callback`
pub(crate) async fn callback(
    State(oidc): State<Arc<Oidc>>,
    _: Admitted<PerPath>,
    back: Back,
) -> Result<Response, ApiError> {
    let outcome = oidc.finish(back.said, back.browser.as_ref()).await;
    // A return that was not this browser's own must not end the sign-in that is.
    let spent = !matches!(outcome, Err(Failure::StateInvalid));
    let mut response = match outcome {
        Ok(landed) => redirect(&landing(&oidc, &landed))?,
        Err(failure) => redirect(&refused(&oidc, &failure))?,
    };
    if spent {
        response.headers_mut().append(header::SET_COOKIE, cookie::clear(oidc.sessions.cookie.secure));
    }
    Ok(response)
}

fn landing(oidc: &Oidc, landed: &Landed) -> String {
    let mut location = oidc.frontend.link("/magic-link", &landed.ticket);
    if let Some(path) = &landed.redirect_to {
        location.extend(["&redirect_to=", &encoded(path)]);
    }
    location
}

fn refused(oidc: &Oidc, failure: &Failure) -> String {
    let (word, code) = failure.told();
    match failure {
        Failure::Failed(_) | Failure::Store(_) => {
            tracing::error!(cause = failure.cause(), "Sign-in with Infomaniak failed: {word}");
        }
        Failure::Provider(_) => {
            tracing::warn!(cause = failure.cause(), "Sign-in with Infomaniak failed: {word}");
        }
        _ => tracing::info!("Sign-in with Infomaniak refused: {word}"),
    }
    format!("{}?error={word}&error_code={}", oidc.frontend.page("/login"), code.wire())
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn redirect(location: &str) -> Result<Response, ApiError> {
    let location = HeaderValue::try_from(location).map_err(ApiError::internal)?;
    let headers = [(header::LOCATION, location), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((StatusCode::FOUND, headers).into_response())
}
