//! `ws-ticket` and `ws-ticket/redeem`: what they read and what they answer.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::header;
use serde::Serialize;

use super::SocketTickets;
use crate::{
    error::ApiError,
    extract::{Fields, FromFields, ServiceKey, json::JsonBody},
    session::{CurrentSession, routes::PresentedToken},
    ticket::Purpose,
};

#[derive(Debug, Serialize)]
struct Issued {
    ticket: String,
    expires_in: u64,
}

/// `POST /api/auth/ws-ticket`
pub(crate) async fn issue(
    State(sockets): State<Arc<SocketTickets>>,
    CurrentSession(caller): CurrentSession,
) -> Result<impl IntoResponse, ApiError> {
    let ticket = sockets.issue(&caller).await?;
    let answer = Issued { ticket: ticket.reveal().to_owned(), expires_in: Purpose::WsTicket.lifetime().as_secs() };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(answer)))
}

#[derive(Debug)]
pub(crate) struct TicketBody {
    ticket: PresentedToken,
}

impl FromFields for TicketBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { ticket: fields.required(&["ticket"])? })
    }
}

/// `POST /api/auth/ws-ticket/redeem`
pub(crate) async fn redeem(
    State(sockets): State<Arc<SocketTickets>>,
    _: ServiceKey,
    JsonBody(body): JsonBody<TicketBody>,
) -> Result<impl IntoResponse, ApiError> {
    let holder = sockets.redeem(&body.ticket.0).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(holder)))
}
