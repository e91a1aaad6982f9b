//! labs-auth, in the order in which a request meets its parts.

pub mod error;
pub mod mail;
pub mod store;

pub mod clock;
pub mod secret;
