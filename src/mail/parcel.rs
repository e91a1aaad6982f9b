//! A composed message ready for the post: what rests sealed in the outbox. It refuses to print itself.

use serde::{Deserialize, Serialize};

/// A message and where it goes. The envelope is sealed with it, so that a changed row cannot redirect a link.
#[derive(Serialize, Deserialize)]
pub(super) struct Parcel {
    /// The one recipient, domain in ASCII.
    pub(super) to: String,
    /// The subject in clear, for `dev`'s announcement.
    pub(super) subject: String,
    /// The link behind the button, for the same.
    pub(super) link: Option<String>,
    /// The whole message: headers and parts, in ASCII.
    pub(super) message: String,
}
