//! The corridor: what every request passes on its way to a room, outermost first.

pub mod client_ip;
