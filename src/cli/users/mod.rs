//! `labs-auth users`: what an operator does with accounts. Addresses are printed, since the operator asks for them;
//! hashes and links never are.

mod act;
mod import;
pub mod line;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};

use super::open;
use crate::{
    account::Email,
    config::Variables,
    people::{Refusal, bring::Role},
};

/// Look at accounts and change them
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bring people along from another backend: one JSON object a line (see docs/users.md)
    Import(import::Import),
    /// List accounts in the order of their addresses
    List(show::List),
    /// Show one account
    Show(show::Show),
    /// Shut an account: every session and every mailed link ends
    Disable(One),
    /// Open an account again
    Enable(One),
    /// Give an account a role
    Promote(act::Promote),
    /// Delete an account and what belongs to it alone
    Delete(act::Delete),
    /// Mail somebody a link, valid for 7 days, to choose a password
    Invite(act::Invite),
}

/// One account.
#[derive(Debug, Args)]
pub(super) struct One {
    /// The account's address
    #[arg(value_parser = address)]
    email: Email,
}

/// A role on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleName {
    User,
    Admin,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::User => Self::User,
            RoleName::Admin => Self::Admin,
        }
    }
}

fn address(text: &str) -> Result<Email, &'static str> {
    Email::parse(text)
}

/// Why a command ends without success.
pub(super) type Failure = Vec<String>;

pub(super) async fn run(command: Command, variables: &mut Variables) -> Result<ExitCode, Failure> {
    if let Command::Invite(invite) = command {
        return act::invite(invite, variables).await;
    }
    let db = match &command {
        // Whoever moves in may come before the service.
        Command::Import(_) => open::database(variables).await?,
        _ => open::existing(variables).await?,
    };
    let people = open::people(db);
    let outcome = match command {
        Command::Import(import) => import::run(&import, &people).await,
        Command::List(list) => show::list(&list, &people).await,
        Command::Show(show) => show::show(&show, &people).await,
        Command::Disable(one) => act::disable(&one.email, &people).await,
        Command::Enable(one) => act::enable(&one.email, &people).await,
        Command::Promote(promote) => act::promote(&promote, &people).await,
        Command::Delete(delete) => act::delete(&delete, &people).await,
        Command::Invite(_) => Ok(ExitCode::SUCCESS),
    };
    people.db.close().await;
    outcome
}

fn told(refusal: &Refusal) -> Failure {
    vec![refusal.sentence()]
}
