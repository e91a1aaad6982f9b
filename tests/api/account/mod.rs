//! Accounts: addresses above all.

mod email;
