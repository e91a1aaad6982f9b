//! The commands of the binary.

pub mod audit;
mod dev;
mod developers;
mod serve;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{
    config::{Settings, Variables},
    store::Database,
    telemetry,
};

/// The authentication backend of Labs.
#[derive(Debug, Parser)]
#[command(name = "labs-auth", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service with the settings of the environment (the default)
    Serve,
    /// Run everything embedded in ./data, with nothing to configure
    Dev,
    /// Bring the database's schema up to date and exit
    Migrate,
    /// Invitations to sign up as a developer
    #[command(subcommand)]
    Invites(developers::Invites),
    /// Developers' API keys
    #[command(subcommand)]
    Keys(developers::Keys),
    /// Show what happened to accounts, oldest first
    Audit(audit::Wanted),
}

/// Runs the command that the arguments name.
pub fn run(arguments: Arguments) -> ExitCode {
    let mut variables = Variables::of_process();
    if let Err(fault) = telemetry::start(&variables) {
        return refuse(&[fault]);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&[format!("the runtime cannot be started: {error}")]),
    };
    let outcome = runtime.block_on(async {
        match arguments.command.unwrap_or(Command::Serve) {
            Command::Serve => serve::run(read(&variables)?).await,
            Command::Dev => dev::run(&mut variables).await,
            Command::Migrate => migrate(&variables).await,
            Command::Invites(command) => developers::invites(&variables, command).await,
            Command::Keys(command) => developers::keys(&variables, command).await,
            Command::Audit(wanted) => audit::run(&wanted, &variables).await,
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(faults) => refuse(&faults),
    }
}

/// Every setting, or every fault.
fn read(variables: &Variables) -> Result<Settings, Vec<String>> {
    Settings::read(variables).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

async fn migrate(variables: &Variables) -> Result<(), Vec<String>> {
    let db = open(variables).await?;
    println!("The {} schema is up to date.", db.backend());
    db.close().await;
    Ok(())
}

/// The open database of a command that needs no other setting, its schema up to date.
async fn open(variables: &Variables) -> Result<Database, Vec<String>> {
    Database::open(database_url(variables))
        .await
        .map_err(|fault| vec![format!("the database cannot be opened: {}", fault.for_log())])
}

/// The database of a command that needs no other setting.
fn database_url(variables: &Variables) -> &str {
    variables.get("DATABASE_URL").unwrap_or("sqlite://data/labs-auth.db")
}

#[expect(clippy::print_stderr, reason = "the operator reads this, with or without logs")]
fn refuse(faults: &[String]) -> ExitCode {
    eprintln!("labs-auth cannot start:");
    for fault in faults {
        eprintln!("  {fault}");
    }
    ExitCode::FAILURE
}
