//! Sessions, as a client sees them.

mod bearer;
mod dev_login;
mod logout;
mod refresh;
mod ws_ticket;
