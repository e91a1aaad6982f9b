//! `users list` and `users show`.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::{Failure, RoleName, address, told};
use crate::{
    account::{Account, Email, User},
    clock::Timestamp,
    people::{People, look::Filter},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    /// Only accounts with this role
    #[arg(long)]
    role: Option<RoleName>,
    /// Only disabled accounts
    #[arg(long)]
    disabled: bool,
    /// Only accounts whose address was never confirmed
    #[arg(long)]
    unverified: bool,
    /// Only addresses that come after this one, to go on where a list ended
    #[arg(long, default_value = "")]
    after: String,
    /// How many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Show {
    /// The account's address
    #[arg(value_parser = address)]
    email: Email,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn list(list: &List, people: &People) -> Result<ExitCode, Failure> {
    let filter = Filter {
        after: list.after.trim().to_lowercase(),
        role: list.role.map(Into::into),
        active: list.disabled.then_some(false),
        verified: list.unverified.then_some(false),
        limit: list.limit,
    };
    let accounts = people.list(&filter).await.map_err(|fault| vec![fault.for_log().to_owned()])?;
    for account in &accounts {
        if list.json {
            println!("{}", json(&account.view())?);
        } else {
            println!(
                "{:<40} {:<6} {:<22} {}",
                account.email,
                account.role,
                state(account),
                account.created_at.to_rfc3339()
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn show(show: &Show, people: &People) -> Result<ExitCode, Failure> {
    let (account, sessions) = people.show(&show.email).await.map_err(|refusal| told(&refusal))?;
    if show.json {
        let email_verified_at = account.email_verified_at;
        println!("{}", json(&Shown { account: account.view(), email_verified_at, sessions })?);
        return Ok(ExitCode::SUCCESS);
    }
    let moment = |time: Option<Timestamp>| time.map_or_else(|| String::from("never"), Timestamp::to_rfc3339);
    let rows = [
        ("id", account.id.to_string()),
        ("email", account.email.clone()),
        ("name", account.full_name.clone().unwrap_or_default()),
        ("role", account.role.clone()),
        ("locale", account.locale.clone()),
        ("state", state(&account)),
        ("password", if account.password_hash.is_some() { "set" } else { "none" }.to_owned()),
        ("sessions", sessions.to_string()),
        ("created", account.created_at.to_rfc3339()),
        ("confirmed", moment(account.email_verified_at)),
        ("last login", moment(account.last_login_at)),
    ];
    for (name, value) in rows {
        println!("{name:<11} {value}");
    }
    Ok(ExitCode::SUCCESS)
}

fn state(account: &Account) -> String {
    let active = if account.is_active { "active" } else { "disabled" };
    let confirmed = if account.is_verified() { "confirmed" } else { "unconfirmed" };
    format!("{active}, {confirmed}")
}

/// One account, as `users show --json` writes it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    account: User,
    email_verified_at: Option<Timestamp>,
    /// That live.
    sessions: i64,
}

fn json(shown: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(shown).map_err(|error| vec![error.to_string()])
}
