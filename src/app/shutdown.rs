//! When to stop: SIGTERM from a supervisor, SIGINT from a terminal.

use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first of the two signals.
///
/// # Errors
/// When the signals cannot be listened to.
pub fn stop_signal() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};

    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!("{name} received, draining");
        stopped.cancel();
    });
    Ok(stop)
}
