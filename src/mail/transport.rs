//! The ways out of the house, as the courier sees them: a folder or a mail server.

use lettre::Address;

use super::{
    address::Target, failure::Failure, folder::Folder, parcel::Parcel, settings::MailSettings, smtp::Smtp, store::Held,
};

pub(super) enum Transport {
    Folder(Folder),
    Smtp(Box<Smtp>),
}

impl Transport {
    pub(super) fn new(settings: &MailSettings) -> Result<Self, String> {
        match settings.transport.target() {
            Target::Folder(path) => Ok(Self::Folder(Folder::new(path.clone()))),
            Target::Server(server) => Smtp::new(server.clone(), settings).map(Box::new).map(Self::Smtp),
        }
    }

    /// Hands one message over.
    pub(super) async fn deliver(&self, mail: &Held, parcel: &Parcel) -> Result<(), Failure> {
        match self {
            Self::Folder(folder) => folder.write(mail, parcel).await,
            Self::Smtp(smtp) => {
                let to: Address =
                    parcel.to.parse().map_err(|_| Failure::refused("envelope", "the recipient is not an address"))?;
                smtp.send(to, parcel.message.as_bytes()).await
            }
        }
    }

    /// Closes what was kept open between mails.
    pub(super) async fn rest(&self) {
        match self {
            Self::Folder(_) => {}
            Self::Smtp(smtp) => smtp.hang_up().await,
        }
    }
}
