//! The mail cellar, from the letterbox to a real socket.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails where it stands")]

mod courier;
mod desk;
mod folder;
mod letters;
mod names;
mod run;
mod settings;
mod wire;
