//! The limiter and the client's address: one contract on two stores, and what happens when one of them goes away.
//!
//! Redis halves run when `TEST_REDIS_URL` is set; without it they say that they were skipped.

mod answers;
mod client_ip;
mod contract;
mod desk;
mod devices;
mod fake;
mod headers;
mod journal;
mod keys;
mod log;
mod memory;
mod outage;
mod placed;
mod policies;
mod properties;
mod redis;
mod refused;
mod server;
mod slots;
mod topology;
mod turns;
mod tutorial;
mod twin;
mod warm;
mod window;
mod words;
pub(crate) mod world;
