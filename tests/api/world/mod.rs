//! The world around the service: a house of its own for each test, with a clock that is moved by hand, a folder full of
//! mails, and people who ask. It reads no settings from the process; only `TEST_DATABASE_URL` and `TEST_REDIS_URL`,
//! which say on what the same tests run. Helpers that touch the database directly carry `db_` in their name.

pub(crate) mod ask;
pub(crate) mod clock;
mod database;
mod facts;
mod invariants;
pub(crate) mod letters;
pub(crate) mod personas;
pub(crate) mod provider;
pub(crate) mod raw;
pub(crate) mod reply;
pub(crate) mod smtp;
pub(crate) mod soft_passkey;
pub(crate) mod wire;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use labs_auth::{
    app::{App, Planned, listen::Listener},
    clock::{Clock, Timestamp},
    config::{ListenAddress, Settings, Variables},
    secret::{Entropy, RandomSource},
};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::facts::Facts;
pub(crate) use self::{
    ask::Ask,
    clock::Hands,
    database::Place,
    letters::{Mail, token_of},
    personas::{Anonymous, SignedIn, Verbs},
    reply::Reply,
};

/// The password of every person who brings no other.
pub(crate) const PASSWORD: &str = "Correct-Horse-9!";

/// The origin whose pages may act with credentials.
pub(crate) const PAGE: &str = "https://app.labs.example";

/// Where mailed links lead.
pub(crate) const FRONTEND: &str = "https://labs.example";

/// The name under which requests ask.
pub(crate) const HOST: &str = "auth.labs.example";

/// What every house is told, unless the test says otherwise.
const DEFAULTS: [(&str, &str); 7] = [
    ("SECRET_KEY", "a secret key of more than thirty-two bytes"),
    ("MAIL_FROM", "Labs <auth@labs.example>"),
    ("FRONTEND_URL", FRONTEND),
    ("API_BASE_URL", "https://auth.labs.example"),
    ("CORS_ORIGINS", "https://app.labs.example,https://admin.labs.example:8443"),
    ("ENVIRONMENT", "production"),
    ("ALLOWED_HOSTS", ""),
];

/// One house, its clock, its database and its mails. Clones are the same house.
#[derive(Clone)]
pub(crate) struct World(Arc<Premises>);

struct Premises {
    app: App,
    hands: Hands,
    facts: Facts,
    /// The part after the `@` of everybody's mailbox: nobody in another test has it.
    domain: String,
    /// Files of mails in the order in which they were first seen.
    seen: Mutex<Vec<String>>,
    place: Place,
    folder: TempDir,
}

/// A world under construction.
pub(crate) struct Plans {
    variables: Vec<(String, String)>,
    entropy: Entropy,
    on_memory: bool,
    patience: Option<Duration>,
}

impl Plans {
    /// Sets a variable; an empty value unsets it.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Counts in memory whatever `TEST_REDIS_URL` says: for tests that move the clock past a window, or that name the
    /// very addresses of the contract, which other tests name too.
    pub(crate) fn on_memory(mut self) -> Self {
        self.on_memory = true;
        self
    }

    /// Gives the identity provider only so much time.
    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Takes chance from here.
    pub(crate) fn chance(mut self, source: impl RandomSource) -> Self {
        self.entropy = Entropy::from_source(source);
        self
    }

    /// Opens the house.
    pub(crate) async fn build(self) -> World {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::fresh(folder.path()).await;
        let mut variables = Variables::default();
        for (name, value) in DEFAULTS {
            variables.set(name, value);
        }
        variables.set("DATABASE_URL", place.url());
        variables.set("MAIL_URL", format!("file://{}", folder.path().join("mails").display()));
        if let Ok(url) = std::env::var("TEST_REDIS_URL")
            && !self.on_memory
        {
            variables.set("REDIS_URL", url);
        }
        for (name, value) in &self.variables {
            variables.set(name, value.as_str());
        }
        let mut settings = Settings::read(&variables).unwrap();
        if let Some(patience) = self.patience {
            settings.infomaniak.patience = patience;
        }
        let facts = Facts::of(&settings);
        let hands = Hands::new();
        let app = App::build(settings, hands.clock(), self.entropy).await.unwrap();
        let facts = facts.with_routes(&app.routes);
        let domain = format!("{:08x}.labs.example", random() >> 96);
        World(Arc::new(Premises { app, hands, facts, domain, seen: Mutex::default(), place, folder }))
    }
}

impl World {
    /// A house as it stands in production.
    pub(crate) async fn new() -> Self {
        Self::plan().build().await
    }

    /// A house with these variables beside the defaults.
    pub(crate) async fn with(variables: &[(&str, &str)]) -> Self {
        variables.iter().fold(Self::plan(), |plans, (name, value)| plans.set(name, value)).build().await
    }

    /// A house that counts in memory, whatever else the tests run on.
    pub(crate) async fn on_memory() -> Self {
        Self::plan().on_memory().build().await
    }

    pub(crate) fn plan() -> Plans {
        Plans { variables: Vec::new(), entropy: Entropy::system(), on_memory: false, patience: None }
    }

    /// The joined service.
    pub(crate) fn app(&self) -> &App {
        &self.0.app
    }

    /// Every route, as the plan lists it.
    pub(crate) fn routes(&self) -> &[Planned] {
        &self.0.app.routes
    }

    /// The address of its database, for a second house on the same rows.
    pub(crate) fn database_url(&self) -> &str {
        self.0.place.url()
    }

    /// Opens every connection to PostgreSQL beforehand, one after the other. Its handshake takes 4,096 hashes, a sixth of
    /// a second of a core in a debug build: ten at once, as a flood begins, outlast on a busy machine what a request waits.
    pub(crate) async fn warm(&self) {
        let db = &self.app().db;
        if db.backend() == "postgres" {
            let mut held = Vec::new();
            for _ in 0..10 {
                held.push(db.begin().await.unwrap());
            }
        }
    }

    /// The moment it is here.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.hands.clock().now()
    }

    /// Its clock, for a part that is built beside the house.
    pub(crate) fn clock(&self) -> Clock {
        self.0.hands.clock()
    }

    /// Lets time pass.
    pub(crate) fn advance(&self, by: Duration) {
        self.0.hands.advance(by);
    }

    /// A mailbox that nobody else has.
    pub(crate) fn mailbox(&self) -> String {
        format!("{:08x}@{}", random() >> 96, self.0.domain)
    }

    /// A mailbox of this world with a name of the test's choosing.
    pub(crate) fn mailbox_of(&self, name: &str) -> String {
        format!("{name}@{}", self.0.domain)
    }

    /// Starts the real listener on a free port; it stops when the server is dropped.
    pub(crate) async fn serve(&self) -> Server {
        let listener = Listener::bind(&ListenAddress::Tcp(String::from("127.0.0.1:0"))).await.unwrap();
        let address = listener.address().parse().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(listener.serve(self.app().house.clone(), stop.clone()));
        Server { _world: self.clone(), address, _stop: stop.drop_guard() }
    }

    /// Where the database is, for a command of the binary.
    pub(crate) fn db_url(&self) -> String {
        self.0.place.url().to_owned()
    }

    /// Runs a statement in which `$1` is a mailbox, and says how many rows it touched.
    pub(crate) async fn db_execute(&self, sql: &'static str, email: &str) -> u64 {
        self.0.place.execute(sql, email).await
    }

    /// Reads one number by a statement in which `$1` is a mailbox.
    pub(crate) async fn db_number(&self, sql: &'static str, email: &str) -> i64 {
        self.0.place.number(sql, email).await
    }

    /// Reads a column of texts by a statement in which `$1` is a mailbox.
    pub(crate) async fn db_texts(&self, sql: &'static str, email: &str) -> Vec<String> {
        self.0.place.texts(sql, email).await
    }

    /// Every value of every table as text: table, column, value.
    pub(crate) async fn db_dump(&self) -> Vec<(String, String, String)> {
        self.0.place.dump().await
    }

    /// How many accounts have this mailbox.
    pub(crate) async fn db_accounts_of(&self, email: &str) -> i64 {
        self.db_number("SELECT count(*) FROM users WHERE email = $1", email).await
    }

    /// How many sessions of this mailbox's account are open.
    pub(crate) async fn db_open_sessions_of(&self, email: &str) -> i64 {
        let sql = "SELECT count(*) FROM sessions s JOIN users u ON u.id = s.user_id
                   WHERE u.email = $1 AND s.revoked_at IS NULL";
        self.db_number(sql, email).await
    }

    /// From where this mailbox's account signed in.
    pub(crate) async fn db_session_addresses(&self, email: &str) -> Vec<String> {
        let sql = "SELECT s.ip_address FROM sessions s JOIN users u ON u.id = s.user_id
                   WHERE u.email = $1 ORDER BY s.created_at";
        self.db_texts(sql, email).await
    }

    /// Disables the account.
    pub(crate) async fn db_disable(&self, email: &str) {
        assert_eq!(1, self.db_execute("UPDATE users SET is_active = FALSE WHERE email = $1", email).await);
    }

    /// Takes the account's password away, as an invited person or one who signs in by link has none.
    pub(crate) async fn db_forget_password(&self, email: &str) {
        assert_eq!(1, self.db_execute("UPDATE users SET password_hash = NULL WHERE email = $1", email).await);
    }

    fn mails_folder(&self) -> std::path::PathBuf {
        self.0.folder.path().join("mails")
    }

    fn facts(&self) -> &Facts {
        &self.0.facts
    }
}

/// The real listener in front of a world's house.
pub(crate) struct Server {
    /// Its database and its folder live as long as it serves.
    _world: World,
    pub(crate) address: SocketAddr,
    _stop: DropGuard,
}

/// Chance for names and addresses that no other test uses.
pub(crate) fn random() -> u128 {
    Entropy::system().uuid().as_u128()
}

/// A client whose network nobody else uses.
pub(crate) fn somewhere() -> IpAddr {
    IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | (random() >> 96) << 64 | 1))
}

/// An IPv4 client that nobody else uses. Outside every reserved block, so that it is no proxy of ours.
pub(crate) fn somewhere_v4() -> IpAddr {
    let bits = u32::try_from(random() >> 96).unwrap();
    IpAddr::V4(Ipv4Addr::from_bits(24 << 24 | (bits & 0x03ff_ffff)))
}

/// Every file below `folder`, relative to it.
pub(crate) fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}
