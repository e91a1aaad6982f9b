//! `labs-auth audit`: reads the table of security events. It changes nothing, and shows no address.

use std::{
    io::{self, Write},
    time::Duration,
};

use clap::Args;
use time::{Date, OffsetDateTime, format_description::well_known::Iso8601, format_description::well_known::Rfc3339};
use uuid::Uuid;

use crate::{
    account::{self, Email},
    audit::{self, Entry, Filter},
    clock::{Clock, Timestamp},
    config::Variables,
    secret::fingerprint,
    store::{Database, Fault},
};

/// Entries that are read at once.
const PAGE: i64 = 1000;

/// Which events to show.
#[derive(Debug, Args)]
pub struct Wanted {
    /// Only events of this account: its address or its id. An address also finds attempts from before the account existed
    #[arg(long, value_name = "EMAIL|ID")]
    user: Option<String>,
    /// Only events since then: 90m, 24h, 7d, a date (2026-01-31) or a moment (2026-01-31T08:00:00Z)
    #[arg(long, value_name = "24h|DATE")]
    since: Option<String>,
}

pub(super) async fn run(wanted: &Wanted, variables: &Variables) -> Result<(), Vec<String>> {
    let one = |fault: String| vec![fault];
    let since = match &wanted.since {
        Some(text) => since(text, Clock::system().now()).ok_or_else(|| {
            one(format!("--since {text:?} is neither a span such as 24h nor a date such as 2026-01-31"))
        })?,
        None => Timestamp::from_micros(0),
    };
    let failed = |fault: Fault| one(format!("the events cannot be read: {}", fault.for_log()));
    let db = super::open::existing(variables).await?;
    let (user, mailbox) = match &wanted.user {
        Some(text) => person(&db, text).await?,
        None => (None, None),
    };
    let mut filter = Filter { user, mailbox, since, after: 0, limit: PAGE };
    loop {
        let entries = audit::find(&db, &filter).await.map_err(failed)?;
        // A reader that has seen enough (`| head`) is no fault.
        if print(&entries).is_err() {
            break;
        }
        match entries.last() {
            Some(last) if i64::try_from(entries.len()) == Ok(PAGE) => filter.after = last.id,
            _ => break,
        }
    }
    db.close().await;
    Ok(())
}

/// The account's id and the address's fingerprint. An id or address that nobody has any more is looked for all the same.
async fn person(db: &Database, text: &str) -> Result<(Option<Uuid>, Option<String>), Vec<String>> {
    if let Ok(id) = Uuid::try_parse(text) {
        return Ok((Some(id), None));
    }
    let email =
        Email::parse(text).map_err(|why| vec![format!("--user {text:?} is neither an id nor an address: {why}")])?;
    let account = account::find_by_email(db, email.as_str())
        .await
        .map_err(|fault| vec![format!("the account cannot be looked up: {}", fault.for_log())])?;
    Ok((account.map(|account| account.id), Some(fingerprint(email.as_str()))))
}

/// The moment that `text` names, seen from `now`.
pub fn since(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some((number, unit)) = text.split_at_checked(text.len().saturating_sub(1))
        && let Ok(number) = number.parse::<u64>()
    {
        let seconds = match unit {
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            _ => return None,
        };
        return Some(now - Duration::from_secs(number.checked_mul(seconds)?));
    }
    if let Ok(moment) = OffsetDateTime::parse(text, &Rfc3339) {
        return Some(Timestamp::from_date_time(moment));
    }
    let date = Date::parse(text, &Iso8601::DATE).ok()?;
    Some(Timestamp::from_date_time(date.midnight().assume_utc()))
}

fn print(entries: &[Entry]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for entry in entries {
        let id = |id: Option<Uuid>| id.map_or_else(|| String::from("-"), |id| id.to_string());
        let who = entry.mailbox.as_ref().map_or_else(|| id(entry.user_id), |mailbox| format!("mailbox:{mailbox}"));
        writeln!(
            out,
            "{}  {:<20} {:<8} {:<36} session {:<36} from {}{}",
            entry.at.to_rfc3339_millis(),
            entry.act,
            entry.outcome,
            who,
            id(entry.session_id),
            entry.network,
            entry.detail.as_ref().map_or_else(String::new, |detail| format!("  ({detail})")),
        )?;
    }
    out.flush()
}
