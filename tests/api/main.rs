//! The whole service, asked from outside. The folders mirror `src`.

mod limit;
mod mail;
mod world;
