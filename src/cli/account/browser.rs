//! Opening the person's browser, where there is one. The printed address always works too.

use std::process::{Command, Stdio};

use openidconnect::url::Url;

const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Hands the address to the desktop; `false` when there is nothing to hand it to.
pub(super) fn open(page: &Url) -> bool {
    Command::new(OPENER)
        .arg(page.as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .is_ok()
}
