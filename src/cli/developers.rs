//! `labs-auth invites …` and `labs-auth keys …`: what an operator does for developers. They act on the database alone;
//! a running service sees the change with its next request.

use std::time::Duration;

use clap::Subcommand;
use uuid::Uuid;

use super::{open, table};
use crate::{
    account::Email,
    clock::{Clock, Timestamp},
    config::Variables,
    developer::{
        api_key::{self, Listed},
        invite::{self, Invite},
    },
    secret::Entropy,
    store::{Database, Fault},
};

/// What can be done with invitations.
#[derive(Debug, Subcommand)]
pub(super) enum Invites {
    /// Make an invitation and print its code, once
    Create {
        /// How many developers may use it
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        uses: u32,
        /// For how many days it is valid
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
        /// Whom or what it is for
        #[arg(long)]
        note: Option<String>,
    },
    /// List every invitation
    List,
    /// Take an invitation back
    Revoke {
        /// The id that `list` shows
        id: Uuid,
    },
}

/// What can be done with API keys.
#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// List API keys
    List {
        /// Only those of this address
        #[arg(long)]
        email: Option<String>,
    },
    /// Revoke an API key at once
    Revoke {
        /// The id that `list` shows
        id: Uuid,
    },
}

pub(super) async fn invites(variables: &Variables, command: Invites) -> Result<(), Vec<String>> {
    let db = open::database(variables).await?;
    let outcome = act_on_invites(&db, command).await;
    db.close().await;
    outcome
}

async fn act_on_invites(db: &Database, command: Invites) -> Result<(), Vec<String>> {
    let clock = Clock::system();
    match command {
        Invites::Create { uses, days, note } => {
            let lifetime = Duration::from_hours(u64::from(days) * 24);
            let wanted = invite::Wanted { note: note.as_deref(), max_uses: uses, lifetime };
            let code = invite::create(db, &clock, &Entropy::system(), &wanted).await.map_err(failed)?;
            println!("{}", code.reveal());
        }
        Invites::List => {
            let now = clock.now();
            let found = invite::list(db).await.map_err(failed)?;
            let rows: Vec<_> = found.iter().map(|invite| invite_row(invite, now)).collect();
            table::print(["ID", "CODE", "STATE", "USES", "EXPIRES", "NOTE"], &rows);
        }
        Invites::Revoke { id } => {
            if !invite::revoke(db, id, clock.now()).await.map_err(failed)? {
                return Err(vec![format!("there is no invitation {id} to revoke")]);
            }
            println!("Invitation {id} is revoked. Sign-up stays by invitation until it would have expired.");
        }
    }
    Ok(())
}

pub(super) async fn keys(variables: &Variables, command: Keys) -> Result<(), Vec<String>> {
    let db = open::existing(variables).await?;
    let outcome = act_on_keys(&db, command).await;
    db.close().await;
    outcome
}

async fn act_on_keys(db: &Database, command: Keys) -> Result<(), Vec<String>> {
    let now = Clock::system().now();
    match command {
        Keys::List { email } => {
            let email = email.as_deref().map(Email::parse).transpose();
            let email = email.map_err(|why| vec![format!("--email is not an address: {why}")])?;
            let found = api_key::list_all(db, email.as_ref().map(Email::as_str)).await.map_err(failed)?;
            let rows: Vec<_> = found.iter().map(|key| key_row(key, now)).collect();
            table::print(["ID", "PREFIX", "STATE", "OWNER", "CREATED", "EXPIRES", "LAST USED", "NAME"], &rows);
        }
        Keys::Revoke { id } => {
            if !api_key::revoke_any(db, id, now).await.map_err(failed)? {
                return Err(vec![format!("there is no API key {id} to revoke")]);
            }
            println!("API key {id} is revoked.");
        }
    }
    Ok(())
}

fn invite_row(invite: &Invite, now: Timestamp) -> [String; 6] {
    let used_up = invite.uses >= invite.max_uses;
    let state = if used_up { "used up" } else { state(invite.revoked_at, Some(invite.expires_at), now) };
    [
        invite.id.to_string(),
        format!("{}…", invite.prefix),
        state.to_owned(),
        format!("{}/{}", invite.uses, invite.max_uses),
        minute(invite.expires_at),
        invite.note.clone().unwrap_or_default(),
    ]
}

fn key_row(key: &Listed, now: Timestamp) -> [String; 8] {
    [
        key.id.to_string(),
        format!("{}…", key.prefix),
        state(key.revoked_at, key.expires_at, now).to_owned(),
        key.email.clone(),
        minute(key.created_at),
        key.expires_at.map_or_else(|| String::from("never"), minute),
        key.last_used_at.map_or_else(|| String::from("never"), minute),
        key.name.clone(),
    ]
}

fn state(revoked: Option<Timestamp>, expires: Option<Timestamp>, now: Timestamp) -> &'static str {
    match (revoked, expires) {
        (Some(_), _) => "revoked",
        (None, Some(end)) if end <= now => "expired",
        (None, _) => "active",
    }
}

/// `2026-09-12 10:00`, UTC.
fn minute(moment: Timestamp) -> String {
    moment.to_rfc3339().chars().take(16).map(|sign| if sign == 'T' { ' ' } else { sign }).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "its shape is that of `map_err`")]
fn failed(fault: Fault) -> Vec<String> {
    vec![format!("the database failed: {}", fault.for_log())]
}
