//! Joins the parts of the mail cellar: one letterbox for the rooms, one courier for the background.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{compose::Composer, courier::Courier, post::Post, settings::MailSettings, transport::Transport};
use crate::{
    clock::Clock,
    secret::{Entropy, Seal},
    store::Database,
};

/// The label of the [`Seal`] that guards the outbox.
pub const SEAL_LABEL: &str = "mail outbox";

/// Opens the post and its courier. Connects nowhere.
///
/// # Errors
/// A sentence for the operator, when TLS or the templates cannot be set up.
pub fn open(
    settings: &MailSettings,
    db: Database,
    seal: Seal,
    clock: Clock,
    entropy: Entropy,
) -> Result<(Post, Courier), String> {
    let bell = Arc::new(Notify::new());
    let transport = Transport::new(settings)?;
    let composer = Arc::new(Composer::new(settings.from.clone(), clock.clone(), entropy.clone())?);
    let courier = Courier::new(settings, transport, db, seal.clone(), clock.clone(), Arc::clone(&bell));
    Ok((Post { composer, seal, clock, entropy, bell }, courier))
}
