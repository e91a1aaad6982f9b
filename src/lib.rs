//! labs-auth, in the order in which a request meets its parts.

pub mod error;
pub mod limit;
pub mod middleware;
pub mod store;

pub mod clock;
pub mod secret;
