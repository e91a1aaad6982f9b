//! The mail cellar, from the letterbox to a real socket.

mod courier;
mod desk;
mod folder;
mod letters;
mod names;
mod run;
mod settings;
mod tokens;
mod wire;
