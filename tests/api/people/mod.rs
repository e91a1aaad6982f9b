//! What an operator does with accounts, as the people themselves notice it.

mod bring;
mod invite;
mod line;
mod state;
