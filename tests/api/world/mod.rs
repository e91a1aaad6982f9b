//! What the tests bring along: the world around the service.

pub mod smtp;
