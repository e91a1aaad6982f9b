//! `users disable`, `enable`, `promote`, `delete` and `invite`.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    process::ExitCode,
};

use clap::{Args, ValueEnum};

use super::{Failure, RoleName, address, told};
use crate::{
    account::{Email, FullName, Locale, WorkspaceName},
    cli::open,
    config::Variables,
    extract::Field,
    people::{People, bring::Role, invite::Invitation},
    ticket::INVITATION_LIFETIME,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Promote {
    /// The account's address
    #[arg(value_parser = address)]
    email: Email,
    /// The role; `user` takes the rights back
    #[arg(long, default_value = "admin")]
    role: RoleName,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Delete {
    /// The account's address
    #[arg(value_parser = address)]
    email: Email,
    /// Ask no question
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Invite {
    /// Whom to invite
    #[arg(value_parser = address)]
    email: Email,
    /// The person's name
    #[arg(long, value_parser = field::<FullName>)]
    name: Option<FullName>,
    /// The language of the mail
    #[arg(long, default_value = "de")]
    locale: LocaleName,
    /// What the personal workspace is called
    #[arg(long, value_parser = field::<WorkspaceName>)]
    workspace: Option<WorkspaceName>,
    /// The role
    #[arg(long, default_value = "user")]
    role: RoleName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LocaleName {
    De,
    En,
    Fr,
    It,
}

impl From<LocaleName> for Locale {
    fn from(name: LocaleName) -> Self {
        match name {
            LocaleName::De => Self::De,
            LocaleName::En => Self::En,
            LocaleName::Fr => Self::Fr,
            LocaleName::It => Self::It,
        }
    }
}

fn field<T: Field>(text: &str) -> Result<T, String> {
    T::read(&text.into()).map_err(|problem| problem.msg.into_owned())
}

pub(super) async fn disable(email: &Email, people: &People) -> Result<ExitCode, Failure> {
    people.disable(email).await.map_err(|refusal| told(&refusal))?;
    println!("{email} is disabled; every session has ended.");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn enable(email: &Email, people: &People) -> Result<ExitCode, Failure> {
    people.enable(email).await.map_err(|refusal| told(&refusal))?;
    println!("{email} is enabled.");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn promote(promote: &Promote, people: &People) -> Result<ExitCode, Failure> {
    let role = Role::from(promote.role);
    people.promote(&promote.email, role).await.map_err(|refusal| told(&refusal))?;
    println!("{} has the role {}.", promote.email, role.name());
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn delete(delete: &Delete, people: &People) -> Result<ExitCode, Failure> {
    let email = &delete.email;
    people.show(email).await.map_err(|refusal| told(&refusal))?;
    if !delete.yes && !confirmed(email)? {
        println!("Nothing was deleted.");
        return Ok(ExitCode::FAILURE);
    }
    people.delete(email).await.map_err(|refusal| told(&refusal))?;
    println!("{email} is deleted.");
    Ok(ExitCode::SUCCESS)
}

/// Whether the person at the terminal types the address once more.
fn confirmed(email: &Email) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(vec![String::from("nobody is there to confirm it; --yes deletes without a question")]);
    }
    let told = |error: io::Error| vec![error.to_string()];
    print!("This cannot be undone. Type {email} to delete the account: ");
    io::stdout().flush().map_err(told)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(told)?;
    Ok(answer.trim().eq_ignore_ascii_case(email.as_str()))
}

pub(super) async fn invite(invite: Invite, variables: &mut Variables) -> Result<ExitCode, Failure> {
    let invitations = open::invitations(variables).await?;
    let invitation = Invitation {
        email: invite.email,
        full_name: invite.name,
        locale: invite.locale.into(),
        workspace_name: invite.workspace,
        role: invite.role.into(),
    };
    let outcome = invitations.invite(&invitation).await;
    invitations.people.db.close().await;
    outcome.map_err(|refusal| told(&refusal))?;
    let days = INVITATION_LIFETIME.as_secs() / (24 * 60 * 60);
    println!("A link to choose a password, valid for {days} days, waits for the running service to mail it.");
    Ok(ExitCode::SUCCESS)
}
