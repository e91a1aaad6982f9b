//! `labs-auth dev`: everything embedded, one command, nothing to configure. A variable that is set wins over its default.

use std::{fs, io, path::Path};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{
    account::{self, NewAccount},
    app::{App, listen::Listener, stop_signal},
    clock::Clock,
    config::Variables,
    secret::Entropy,
    store::Fault,
};

/// Where `dev` is at home.
pub(super) const FOLDER: &str = "data";
const ADMIN: &str = "admin@labs.localhost";

pub(super) async fn run(variables: &mut Variables) -> Result<(), Vec<String>> {
    let one = |fault: String| vec![fault];
    let entropy = Entropy::system();
    let key =
        secret_key(Path::new(FOLDER), &entropy).map_err(|error| one(format!("./{FOLDER} cannot be used: {error}")))?;
    let home = set_defaults(variables, &key);
    let mut settings = super::read(variables)?;
    settings.mail.announce_links = true;
    let listen = settings.server.listen.clone();
    let stop = stop_signal().map_err(|error| one(format!("signals cannot be listened to: {error}")))?;
    let app = App::build(settings, Clock::system(), entropy.clone()).await.map_err(one)?;
    seed_admin(&app, &entropy).await.map_err(|fault| one(fault.for_log().to_owned()))?;
    let listener =
        Listener::bind(&listen).await.map_err(|error| one(format!("LISTEN_ADDR cannot be bound: {error}")))?;
    greet(&home);
    app.serve(listener, stop).await;
    Ok(())
}

/// Passkeys for the pages on `localhost` that may read answers; none where there are no such pages.
fn local_relying_party(variables: &Variables) -> Option<String> {
    let listed = variables.get("CORS_ORIGINS").unwrap_or("").split(',').map(str::trim);
    let local = |origin: &&str| origin.strip_prefix("http://localhost").is_some_and(|rest| rest.starts_with(':'));
    let origins: Vec<&str> = listed.filter(local).collect();
    if origins.is_empty() {
        return None;
    }
    serde_json::to_string(&[serde_json::json!({"rp_id": "localhost", "rp_name": "Labs", "origins": origins})]).ok()
}

/// Sets what `dev` brings along, where nothing else is set, and returns the address it is reached by.
pub(super) fn set_defaults(variables: &mut Variables, key: &str) -> String {
    let port = variables.get("LISTEN_ADDR").and_then(|it| it.rsplit_once(':')).map_or("8020", |(_, port)| port);
    let home = format!("http://localhost:{port}");
    let origins = format!("{home},http://localhost:3000,http://localhost:5173");
    for (name, value) in [
        ("SECRET_KEY", key),
        ("ENVIRONMENT", "development"),
        ("HOSTED_SCREENS", "true"),
        ("DATABASE_URL", "sqlite://data/labs-auth.db"),
        ("MAIL_URL", "file://data/mail"),
        ("MAIL_FROM", "Labs <labs@labs.localhost>"),
        ("FRONTEND_URL", &home),
        ("API_BASE_URL", &home),
        ("CORS_ORIGINS", &origins),
    ] {
        variables.set_default(name, value);
    }
    if let Some(list) = local_relying_party(variables) {
        variables.set_default("WEBAUTHN_RPS", list);
    }
    home
}

/// The key that an earlier `dev` left in this folder.
pub(super) fn kept_key(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(folder.join("secret.key")) {
        Ok(key) => Ok(Some(key.trim().to_owned()).filter(|key| !key.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The key of this folder, made at the first start.
fn secret_key(folder: &Path, entropy: &Entropy) -> io::Result<String> {
    fs::create_dir_all(folder)?;
    if let Some(key) = kept_key(folder)? {
        return Ok(key);
    }
    let key = URL_SAFE_NO_PAD.encode(entropy.bytes::<48>());
    write_private(&folder.join("secret.key"), &key)?;
    Ok(key)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

/// The account that `dev-login` signs in.
async fn seed_admin(app: &App, entropy: &Entropy) -> Result<(), Fault> {
    let now = Clock::system().now();
    let mut tx = app.db.begin().await?;
    let admin = NewAccount {
        id: entropy.uuid(),
        email: ADMIN,
        full_name: Some("Labs Admin"),
        locale: "en",
        password_hash: None,
        workspace_name: None,
        now,
    };
    if let Some(account) = account::insert_unverified(&mut tx, &admin).await? {
        account::promote(&mut tx, account.id).await?;
        if let Some(account) = account::mark_verified(&mut tx, account.id, now).await? {
            account::workspace::create_personal(&mut tx, &account, entropy, now).await?;
        }
    }
    tx.commit().await
}

fn greet(home: &str) {
    println!(
        "
  labs-auth, development mode

    Screens      {home}/login, /register, …
    API          {home}/api/auth
    Health       {home}/health/detailed
    Mails        ./{FOLDER}/mail (their links are printed here)
    Database     ./{FOLDER}/labs-auth.db
    Passkeys     on {home}, http://localhost:3000 and :5173, unless WEBAUTHN_RPS says otherwise
    Admin        {ADMIN}, signed in by: curl -X POST {home}/api/auth/dev-login

  Stop with Ctrl-C.
"
    );
}
