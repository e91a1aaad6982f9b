//! Passwords, from registration to reset, as a client sees them.

mod breach;
mod change;
mod enumeration;
mod forgot;
mod hashes;
pub(crate) mod imported;
mod login;
pub(crate) mod races;
mod register;
mod reset;
mod set;
mod verify;

pub(crate) use self::races::{at_once, connected, count};
