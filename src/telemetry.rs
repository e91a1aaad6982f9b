//! Logs: JSON, one object a line, or readable lines on a terminal. Panics go to the log like everything else.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::{EnvFilter, fmt::format::FmtSpan};

use crate::config::Variables;

/// The variables of this page, which are read before any other.
pub const VARIABLES: [&str; 2] = ["LOG_FORMAT", "LOG_LEVEL"];

/// Starts logging to standard error.
///
/// # Errors
/// A sentence for the operator when a variable is not understood.
pub fn start(variables: &Variables) -> Result<(), String> {
    let directives = variables.get("LOG_LEVEL").unwrap_or("info");
    let filter =
        EnvFilter::try_new(directives).map_err(|_| String::from("LOG_LEVEL is not a level or a list of directives"))?;
    let json = match variables.get("LOG_FORMAT") {
        None => !stderr().is_terminal(),
        Some("json") => true,
        Some("pretty") => false,
        Some(_) => return Err(String::from("LOG_FORMAT must be json or pretty")),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_span_events(FmtSpan::NONE).with_writer(stderr);
    if json {
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).init();
    } else {
        builder.with_target(false).with_ansi(stderr().is_terminal()).init();
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let words = panic.payload_as_str().unwrap_or("(no message)");
        tracing::error!(place, "panicked: {words}");
    }));
    Ok(())
}
