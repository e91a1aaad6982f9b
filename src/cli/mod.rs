//! The commands of the binary.

mod account;
pub mod audit;
mod dev;
mod serve;

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
    /// Sign in to a labs-auth server through the browser, and keep the tokens
    Login {
        /// Address of the server, such as `https://auth.example.org`
        #[arg(long)]
        server: String,
        /// What this computer is called in the list of sessions (default: its host name)
        #[arg(long)]
        name: Option<String>,
        /// Only print the address
        #[arg(long)]
        no_browser: bool,
    },
    /// Say who is signed in, according to the server
    Whoami,
    /// End the session at the server and forget the tokens
    Logout,
    /// Show what happened to accounts, oldest first
    Audit(audit::Wanted),
}

/// Runs the command that the arguments name.
pub fn run(arguments: Arguments) -> ExitCode {
    if let Some(outcome) = as_client(&arguments) {
        return outcome;
    }
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
            // Answered before any setting was read.
            Command::Login { .. } | Command::Whoami | Command::Logout => Ok(()),
            Command::Audit(wanted) => audit::run(&wanted, &variables).await,
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(faults) => refuse(&faults),
    }
}

/// The commands of a client, which need no setting of the service and no log.
fn as_client(arguments: &Arguments) -> Option<ExitCode> {
    let command = arguments.command.as_ref()?;
    if !matches!(command, Command::Login { .. } | Command::Whoami | Command::Logout) {
        return None;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Some(refuse(&[format!("the runtime cannot be started: {error}")])),
    };
    let outcome = runtime.block_on(async {
        match command {
            Command::Login { server, name, no_browser } => account::login(server, name.clone(), !no_browser).await,
            Command::Whoami => account::whoami().await,
            Command::Logout => account::logout().await,
            Command::Serve | Command::Dev | Command::Migrate | Command::Audit(_) => Ok(()),
        }
    });
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => complain(&fault),
    })
}

#[expect(clippy::print_stderr, reason = "the person at the terminal reads this")]
fn complain(fault: &str) -> ExitCode {
    eprintln!("labs-auth: {fault}");
    ExitCode::FAILURE
}

/// Every setting, or every fault.
fn read(variables: &Variables) -> Result<Settings, Vec<String>> {
    Settings::read(variables).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

async fn migrate(variables: &Variables) -> Result<(), Vec<String>> {
    let db = Database::open(database_url(variables))
        .await
        .map_err(|fault| vec![format!("migration failed: {}", fault.for_log())])?;
    println!("The {} schema is up to date.", db.backend());
    db.close().await;
    Ok(())
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
