//! Opening what a command needs and nothing more: the database, or the database and the letterbox. Where `dev` has been
//! at home and nothing else is set, its defaults count.

use std::{fmt, path::Path};

use super::dev;
use crate::{
    clock::Clock,
    config::{DataSettings, PostSettings, Variables},
    mail,
    people::{People, invite::Invitations},
    secret::{Entropy, Seal},
    store::{Database, Fault},
    ticket::Tickets,
};

/// The database of `DATABASE_URL`, its schema up to date.
pub(super) async fn database(variables: &Variables) -> Result<Database, Vec<String>> {
    let settings = DataSettings::read(variables).map_err(|faults| lines(&faults))?;
    open(&settings.database_url).await
}

/// The same, for who acts on what is there: a misspelt address makes no empty file.
pub(super) async fn existing(variables: &Variables) -> Result<Database, Vec<String>> {
    let settings = DataSettings::read(variables).map_err(|faults| lines(&faults))?;
    Database::open_existing(&settings.database_url).await.map_err(|fault| cannot_open(&fault))
}

/// The accounts of a database.
pub(super) fn people(db: Database) -> People {
    People { db, clock: Clock::system(), entropy: Entropy::system() }
}

/// The accounts, and a letterbox whose mails the running service delivers.
pub(super) async fn invitations(variables: &mut Variables) -> Result<Invitations, Vec<String>> {
    if variables.get("SECRET_KEY").is_none()
        && let Some(key) = dev::kept_key(Path::new(dev::FOLDER)).map_err(|error| vec![error.to_string()])?
    {
        dev::set_defaults(variables, &key);
    }
    let settings = PostSettings::read(variables).map_err(|faults| lines(&faults))?;
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let db = open(&settings.database_url).await?;
    let secrets = &settings.secrets;
    let seal = Seal::new(mail::SEAL_LABEL, &secrets.current, secrets.previous.as_ref());
    let (post, _courier) =
        mail::open(&settings.mail, db.clone(), seal, clock.clone(), entropy.clone()).map_err(|fault| vec![fault])?;
    Ok(Invitations {
        tickets: Tickets::new(clock.clone(), entropy.clone()),
        people: People { db, clock, entropy },
        post,
        frontend: settings.frontend,
    })
}

async fn open(url: &str) -> Result<Database, Vec<String>> {
    Database::open(url).await.map_err(|fault| cannot_open(&fault))
}

fn cannot_open(fault: &Fault) -> Vec<String> {
    vec![format!("the database cannot be opened: {}", fault.for_log())]
}

fn lines(faults: &[impl fmt::Display]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}
