//! The tokens on disk: one file in the person's configuration folder that nobody else may read.

use std::{
    fmt, fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{Outcome, remote::SignedIn};
use crate::clock::Timestamp;

/// How long before its end an access token is renewed.
const MARGIN: Duration = Duration::from_secs(30);

/// What is kept about a sign-in.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    pub server: String,
    pub email: String,
    pub access_token: String,
    pub refresh_token: String,
    /// Unix seconds.
    expires_at: i64,
}

impl Kept {
    pub(super) fn new(server: &str, signed_in: SignedIn, now: Timestamp) -> Self {
        Self {
            server: server.to_owned(),
            email: signed_in.user.email,
            access_token: signed_in.access_token,
            refresh_token: signed_in.refresh_token,
            expires_at: (now + Duration::from_secs(signed_in.expires_in)).seconds(),
        }
    }

    /// Whether the access token has ended or is about to.
    pub(super) fn is_stale(&self, now: Timestamp) -> bool {
        (now + MARGIN).seconds() >= self.expires_at
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({})", self.server)
    }
}

/// Where it is kept.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// `$XDG_CONFIG_HOME/labs-auth`, or `~/.config/labs-auth`.
    pub(super) fn of_process() -> Outcome<Self> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_CONFIG_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".config")))
            .map(|config| Self(config.join("labs-auth")))
            .ok_or_else(|| String::from("neither XDG_CONFIG_HOME nor HOME names a folder for the tokens"))
    }

    fn file(&self) -> PathBuf {
        self.0.join("session.json")
    }

    pub(super) fn read(&self) -> Outcome<Option<Kept>> {
        match fs::read(self.file()) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|_| format!("{} is not readable; sign in again", self.file().display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{} cannot be read: {error}", self.file().display())),
        }
    }

    /// Replaces the file whole: a reader sees the old tokens or the new ones, never half of them.
    pub(super) fn write(&self, kept: &Kept) -> Outcome<()> {
        let text = serde_json::to_vec_pretty(kept).map_err(|error| error.to_string())?;
        self.replace(&text).map_err(|error| format!("{} cannot be written: {error}", self.file().display()))
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let fresh = self.0.join(format!("session.json.{}", std::process::id()));
        // A file of a process that died half-way is not ours to trust: it is made anew, with its mode.
        let _ = fs::remove_file(&fresh);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&fresh, self.file())
    }

    pub(super) fn remove(&self) -> Outcome<()> {
        match fs::remove_file(self.file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("{} cannot be removed: {error}", self.file().display()))
            }
            _ => Ok(()),
        }
    }
}
