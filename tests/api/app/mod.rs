//! The hall: the listener and what it refuses before a request exists.

mod listen;
