//! Sessions, as a client sees them.

mod bearer;
mod dev_login;
mod keys;
mod logout;
mod refresh;
