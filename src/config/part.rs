//! The settings of commands that need only some: the others may be absent, or wrong.

use super::{ConfigFault, DEFAULT_DATABASE, Reader, SecretSettings, Variables, database_url, mail, secrets};
use crate::{mail::MailSettings, public_url::PublicUrl};

/// Where the data is.
#[derive(Clone, Debug)]
pub struct DataSettings {
    pub database_url: String,
}

/// What mailing somebody from the command line needs.
#[derive(Clone, Debug)]
pub struct PostSettings {
    pub database_url: String,
    pub secrets: SecretSettings,
    pub mail: MailSettings,
    pub frontend: PublicUrl,
}

impl DataSettings {
    /// Reads `DATABASE_URL` alone.
    ///
    /// # Errors
    /// Its fault.
    pub fn read(variables: &Variables) -> Result<Self, Vec<ConfigFault>> {
        whole(variables, |reader| {
            Some(Self { database_url: reader.parsed_or("DATABASE_URL", DEFAULT_DATABASE.to_owned(), database_url) })
        })
    }
}

impl PostSettings {
    /// Reads the data's place, the secrets, the mail settings and `FRONTEND_URL`.
    ///
    /// # Errors
    /// All faults at once.
    pub fn read(variables: &Variables) -> Result<Self, Vec<ConfigFault>> {
        whole(variables, |reader| {
            let database_url = reader.parsed_or("DATABASE_URL", DEFAULT_DATABASE.to_owned(), database_url);
            let secrets = secrets(reader);
            let mail = mail(reader);
            let frontend = reader.required("FRONTEND_URL", PublicUrl::parse);
            Some(Self { database_url, secrets: secrets?, mail: mail?, frontend: frontend? })
        })
    }
}

fn whole<T>(variables: &Variables, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Result<T, Vec<ConfigFault>> {
    let mut reader = Reader::new(variables);
    let settings = read(&mut reader);
    let faults = reader.into_faults();
    settings.filter(|_| faults.is_empty()).ok_or(faults)
}
