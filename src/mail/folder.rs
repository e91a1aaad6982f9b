//! Mails as files, one `.eml` each, for development: written beside and renamed, so that nobody reads half a mail.
//! Only their owner may read them; they hold working links.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{failure::Failure, parcel::Parcel, store::Held};

pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Writes the message; a mail that is delivered twice lands in the same file.
    pub(super) async fn write(&self, mail: &Held, parcel: &Parcel) -> Result<(), Failure> {
        let folder = self.0.clone();
        // Sorts by time; the mail's id makes it unique. Colons are not for file names.
        let moment = mail.created_at.to_rfc3339_millis().replace(':', "-");
        let path = folder.join(format!("{moment}-{}-{}.eml", mail.kind, mail.id));
        let message = parcel.message.clone();
        let target = path.clone();
        tokio::task::spawn_blocking(move || place(&folder, &target, message.as_bytes()))
            .await
            .map_err(|error| Failure::postponed("file", &error.to_string()))?
            .map_err(|error| Failure::postponed("file", &error.to_string()))?;
        tracing::info!(kind = mail.kind, path = %path.display(), "mail {} written to {}", mail.id, path.display());
        Ok(())
    }
}

fn place(folder: &Path, target: &Path, message: &[u8]) -> io::Result<()> {
    make_folder(folder)?;
    let draft = target.with_extension("part");
    let mut file = create(&draft)?;
    file.write_all(message)?;
    file.sync_all()?;
    fs::rename(&draft, target)
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}
