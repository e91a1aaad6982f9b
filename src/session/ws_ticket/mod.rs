//! Tickets for sockets. A browser cannot put a bearer token into a socket's handshake, and a token in an address ends
//! in logs; so a page asks for a ticket of one minute and one use, and the socket server redeems it here.

pub mod routes;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Proven, Sessions};
use crate::{
    account,
    error::{ApiError, ErrorCode},
    secret::Plain,
    store::{Contention, Fault, Timestamp, retrying},
    ticket::{self, Purpose, Tickets},
};

/// What the use cases of socket tickets need.
#[derive(Clone, Debug)]
pub struct SocketTickets {
    pub sessions: Sessions,
    pub tickets: Tickets,
}

/// What a ticket carries.
#[derive(Debug, Serialize, Deserialize)]
struct Particulars {
    sid: Uuid,
    wid: Option<Uuid>,
}

/// Who stands behind a ticket, for the socket server.
#[derive(Debug, Serialize)]
pub struct Holder {
    sub: Uuid,
    sid: Uuid,
    wid: Option<Uuid>,
    email: String,
    /// When the session ends, unless it is extended or ended before.
    expires_at: Timestamp,
}

enum Refusal {
    TicketInvalid,
    Store(Fault),
    Failed(ApiError),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::TicketInvalid => Self::new(ErrorCode::LinkInvalid),
            Refusal::Store(fault) => fault.into(),
            Refusal::Failed(error) => error,
        }
    }
}

impl Contention for Refusal {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Store(fault) if fault.is_contention())
    }
}

impl SocketTickets {
    /// Issues a ticket for a live session.
    ///
    /// # Errors
    /// An absent part.
    pub async fn issue(&self, caller: &Proven) -> Result<Plain, ApiError> {
        let particulars = Particulars { sid: caller.session_id, wid: caller.workspace_id };
        let particulars = serde_json::to_string(&particulars).map_err(ApiError::internal)?;
        let ticket = retrying(async || {
            let mut tx = self.sessions.db.begin().await?;
            let ticket = self.tickets.issue(&mut tx, Purpose::WsTicket, Some(caller.account.id), &particulars).await?;
            tx.commit().await?;
            Ok::<_, Fault>(ticket)
        })
        .await?;
        Ok(ticket)
    }

    /// Redeems a ticket: of any number of parallel attempts exactly one succeeds.
    ///
    /// # Errors
    /// A bad ticket, or one of a session that has ended; an absent part.
    pub async fn redeem(&self, presented: &Plain) -> Result<Holder, ApiError> {
        retrying(|| self.claim(presented)).await.map_err(Refusal::into)
    }

    async fn claim(&self, presented: &Plain) -> Result<Holder, Refusal> {
        let now = self.sessions.clock.now();
        let mut tx = self.sessions.db.begin().await?;
        let claimed = ticket::claim_whole(&mut tx, &presented.hash(), Purpose::WsTicket, now).await?;
        let ticket = claimed.ok_or(Refusal::TicketInvalid)?;
        let Particulars { sid, wid } = serde_json::from_str(ticket.particulars.as_deref().unwrap_or(""))
            .map_err(|error| Refusal::Failed(ApiError::internal(error)))?;
        let expires_at = self.sessions.end_if_live(&mut tx, sid).await?;
        let account = match ticket.user_id {
            Some(id) => account::find_in(&mut tx, id).await?.filter(|account| account.is_active),
            None => None,
        };
        tx.commit().await?;
        match (expires_at, account) {
            (Some(expires_at), Some(account)) => {
                Ok(Holder { sub: account.id, sid, wid, email: account.email, expires_at })
            }
            _ => Err(Refusal::TicketInvalid),
        }
    }
}
