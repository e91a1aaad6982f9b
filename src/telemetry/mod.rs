//! Logs: JSON, one object a line, or readable lines on a terminal. Panics go to the log like everything else.

pub mod json;
pub mod pen;

use std::io::{IsTerminal, stderr};

use tracing_subscriber::{EnvFilter, util::SubscriberInitExt};

pub use self::pen::{LastLine, Pen};
use crate::{clock::Clock, config::Variables};

/// The variables of this page, which are read before any other.
pub const VARIABLES: [&str; 2] = ["LOG_FORMAT", "LOG_LEVEL"];

/// Starts logging to standard error. What is answered must live as long as there is something to log.
///
/// # Errors
/// A sentence for the operator when a variable is not understood.
pub fn start(variables: &Variables) -> Result<Option<LastLine>, String> {
    let directives = variables.get("LOG_LEVEL").unwrap_or("info");
    let filter =
        EnvFilter::try_new(directives).map_err(|_| String::from("LOG_LEVEL is not a level or a list of directives"))?;
    let json = match variables.get("LOG_FORMAT") {
        None => !stderr().is_terminal(),
        Some("json") => true,
        Some("pretty") => false,
        Some(_) => return Err(String::from("LOG_FORMAT must be json or pretty")),
    };
    let last_line = if json {
        let (pen, last_line) =
            Pen::writing_to(stderr()).map_err(|error| format!("the log cannot be started: {error}"))?;
        json::subscriber(filter, Clock::system(), pen).init();
        Some(last_line)
    } else {
        let ansi = stderr().is_terminal();
        let readable = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
        readable.with_target(false).with_ansi(ansi).init();
        None
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let words = panic.payload_as_str().unwrap_or("(no message)");
        tracing::error!(place, "panicked: {words}");
    }));
    Ok(last_line)
}
