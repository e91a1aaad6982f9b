//! The whole service, asked from outside. The folders mirror `src`.

// `cfg(test)` always holds here; it carries the tests' leave to unwrap (clippy.toml) into functions that are no tests.
#[cfg(test)]
mod account;
#[cfg(test)]
mod address;
#[cfg(test)]
mod app;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod cli_login;
#[cfg(test)]
mod config;
#[cfg(test)]
mod developer;
#[cfg(test)]
mod extract;
#[cfg(test)]
mod health;
#[cfg(test)]
mod house;
#[cfg(test)]
mod limit;
#[cfg(test)]
mod magic_link;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod middleware;
#[cfg(test)]
mod oidc;
#[cfg(test)]
mod passkey;
#[cfg(test)]
mod password;
#[cfg(test)]
mod people;
#[cfg(test)]
mod profile;
#[cfg(test)]
mod ratchet;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod session;
#[cfg(test)]
mod store;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod ticket;
#[cfg(test)]
mod world;
