//! The commands of the binary.

mod account;
pub mod audit;
mod dev;
mod developers;
mod limits;
mod open;
mod serve;
mod table;
pub mod users;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{
    config::{Settings, Variables},
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
    /// Look at accounts, change them, bring them along from another backend
    #[command(subcommand)]
    Users(users::Command),
    /// Invitations to sign up as a developer
    #[command(subcommand)]
    Invites(developers::Invites),
    /// Developers' API keys
    #[command(subcommand)]
    Keys(developers::Keys),
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
    /// Show and reset what the limiter has counted in Redis
    #[command(subcommand)]
    Limits(limits::Wanted),
    /// Check settings, policies and what the service stands on
    Doctor,
}

/// Runs the command that the arguments name.
pub fn run(arguments: Arguments) -> ExitCode {
    if let Some(outcome) = as_client(&arguments) {
        return outcome;
    }
    let mut variables = Variables::of_process();
    // Dropped last, when nothing is left to log.
    let _last_line = match telemetry::start(&variables) {
        Ok(last_line) => last_line,
        Err(fault) => return refuse(&[fault]),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&[format!("the runtime cannot be started: {error}")]),
    };
    let command = arguments.command.unwrap_or(Command::Serve);
    let starts = matches!(command, Command::Serve | Command::Dev);
    let outcome = runtime.block_on(async {
        match command {
            Command::Serve => serve::run(read(&variables)?).await.map(done),
            Command::Dev => dev::run(&mut variables).await.map(done),
            Command::Migrate => migrate(&variables).await.map(done),
            Command::Users(command) => users::run(command, &mut variables).await,
            Command::Audit(wanted) => audit::run(&wanted, &variables).await.map(done),
            Command::Limits(wanted) => limits::run(&wanted, &read(&variables)?).await,
            Command::Doctor => limits::doctor(read(&variables)?).await,
            Command::Invites(command) => developers::invites(&variables, command).await.map(done),
            Command::Keys(command) => developers::keys(&variables, command).await.map(done),
            // Answered before any setting was read.
            Command::Login { .. } | Command::Whoami | Command::Logout => Ok(ExitCode::SUCCESS),
        }
    });
    match outcome {
        Ok(code) => code,
        Err(faults) if starts => refuse(&faults),
        Err(faults) => complain("labs-auth:", &faults),
    }
}

const fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
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
            _ => Ok(()),
        }
    });
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => complain("labs-auth:", &[fault]),
    })
}

/// Every setting, or every fault.
fn read(variables: &Variables) -> Result<Settings, Vec<String>> {
    Settings::read(variables).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

async fn migrate(variables: &Variables) -> Result<(), Vec<String>> {
    let db = open::database(variables).await?;
    println!("The {} schema is up to date.", db.backend());
    db.close().await;
    Ok(())
}

fn refuse(faults: &[String]) -> ExitCode {
    complain("labs-auth cannot start:", faults)
}

#[expect(clippy::print_stderr, reason = "the operator reads this, with or without logs")]
fn complain(heading: &str, faults: &[String]) -> ExitCode {
    eprintln!("{heading}");
    for fault in faults {
        eprintln!("  {fault}");
    }
    ExitCode::FAILURE
}
