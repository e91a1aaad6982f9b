//! The whole service, asked from outside. The folders mirror `src`.

// `cfg(test)` always holds here; it carries the tests' leave to unwrap (clippy.toml) into functions that are no tests.
#[cfg(test)]
mod limit;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod world;
