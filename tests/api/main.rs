//! The whole service, asked from outside. The folders mirror `src`.

mod mail;
mod world;
