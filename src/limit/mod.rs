//! The cellar where it is written how often somebody came: budgets per network, route and mailbox, kept in Redis
//! and, whenever Redis is away, in memory. It fails open: no fault in here ever refuses or delays a request.
//!
//! A caller builds [`Charge`]s, asks [`Limiter::decide`] once for all of them, and gets a [`Verdict`]. The request's
//! [`Attempt`] carries what one request may spend on Redis, and the tally that [`headers`] renders.

mod admission;
pub mod algorithm;
mod attempt;
mod backend;
mod bucket;
mod charge;
mod client;
mod cluster;
mod decision;
pub mod desk;
pub mod extract;
mod fault;
pub mod headers;
mod hit;
mod journal;
mod limiter;
pub mod memory;
mod metrics;
pub mod policy;
mod probe;
mod redis;
mod refused;
mod report;
pub mod slots;
mod striped;
mod table;
mod turns;
mod verdict;

pub use self::{
    admission::Admission,
    attempt::Attempt,
    backend::{Backend, RedisState},
    bucket::{Bucket, MailScope, PolicyId, Quotas},
    charge::Charge,
    client::{AddressText, ClientIp, Prefixes},
    hit::{Hit, Who},
    limiter::{Limiter, Setup},
    redis::RedisAddress,
    turns::{Turn, Turns},
    verdict::{Because, Refusal, Verdict},
};
