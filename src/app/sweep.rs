//! Removes rows that nobody can use any more: expired tickets, ended sessions, mails that were given up long ago.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, developer::api_key, mail::Courier, passkey, session, store::Database, ticket};

/// How often.
const EVERY: Duration = Duration::from_mins(10);

/// How long an ended session stays, for its owner to see and for support to explain.
const SESSION_KEPT: Duration = Duration::from_hours(7 * 24);

/// How long a dead API key stays, for an operator to see.
const KEY_KEPT: Duration = Duration::from_hours(90 * 24);

pub(super) async fn run(db: Database, courier: Arc<Courier>, clock: Clock, ending: CancellationToken) {
    while ending.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
        let now = clock.now();
        let outcomes = [
            ("tickets", ticket::sweep(&db, now).await),
            ("passkey ceremonies", passkey::sweep(&db, now).await),
            ("sessions", session::sweep(&db, now - SESSION_KEPT).await),
            ("API keys", api_key::sweep(&db, now - KEY_KEPT).await),
            ("mails", courier.sweep().await),
        ];
        for (what, outcome) in outcomes {
            match outcome {
                Ok(rows) => tracing::debug!(rows, "Swept {what}"),
                Err(fault) => tracing::warn!(cause = fault.for_log(), "Could not sweep {what}"),
            }
        }
    }
}
