//! Sessions, as a client sees them.

mod bearer;
mod dev_login;
mod device;
mod keys;
mod lifetime;
mod logout;
mod overview;
mod refresh;
mod ws_ticket;
