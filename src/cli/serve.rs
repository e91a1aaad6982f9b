//! `labs-auth serve`: the service as an operator runs it.

use crate::{
    app::{App, listen::Listener, stop_signal},
    clock::Clock,
    config::Settings,
    secret::Entropy,
};

pub(super) async fn run(settings: Settings) -> Result<(), Vec<String>> {
    let one = |fault: String| vec![fault];
    let stop = stop_signal().map_err(|error| one(format!("signals cannot be listened to: {error}")))?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let listen = settings.server.listen.clone();
    let app = App::build(settings, Clock::system(), Entropy::system()).await.map_err(one)?;
    let listener =
        Listener::bind(&listen).await.map_err(|error| one(format!("LISTEN_ADDR cannot be bound: {error}")))?;
    tracing::info!("Listening on {}", listener.address());
    app.serve(listener, stop).await;
    Ok(())
}
