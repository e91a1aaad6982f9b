//! labs-auth, in the order in which a request meets its parts.
//!
//! A request comes in at `main`, is received in the hall ([`app`]), walks the corridor ([`middleware`]), enters one room,
//! and the room fetches what it needs from the cellar. Imports point down this list only.

pub mod cli;

// The hall and the corridor.
pub mod app;
pub mod middleware;

// The rooms.
pub mod address;
pub mod cli_login;
pub mod developer;
pub mod health;
pub mod magic_link;
pub mod oidc;
pub mod passkey;
pub mod password;
pub mod people;
pub mod profile;
pub mod screens;

pub mod session;

pub mod account;

// How we listen and how we say no.
pub mod error;
pub mod extract;

// The cellar.
pub mod audit;
pub mod limit;
pub mod mail;
pub mod store;
pub mod ticket;

// The ground.
pub mod clock;
pub mod config;
pub mod public_url;
pub mod secret;
pub mod telemetry;
