//! What the tests bring along: the world around the service.

pub(crate) mod smtp;
