//! A post office for one test: a database, a clock that is moved by hand, a letterbox and its courier.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use labs_auth::{
    clock::{Clock, TimeSource},
    mail::{
        Courier, Delivery, Language, Letter, MailSettings, Patience, Post, Recipient, SEAL_LABEL, Sender,
        TransportAddress, open,
    },
    secret::{Entropy, Seal, SecretKey},
    store::Database,
};
use mail_parser::{Message, MessageParser};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;

use crate::world::smtp::{Manner, SmtpServer, Wire};

pub(crate) const SECRET: &str = "a secret key of more than thirty-two bytes";

/// 2026-01-02 03:04:05 UTC.
const START: i64 = 1_767_323_045_000_000;

/// A clock that stands until it is moved.
#[derive(Clone)]
pub(crate) struct Hands(Arc<AtomicI64>);

impl Hands {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl TimeSource for Hands {
    fn wall_micros(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.wall_micros() - START).unwrap()
    }
}

/// Where a test's database lives.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) url: String,
    folder: Arc<TempDir>,
    schema: Option<(String, String)>,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/test.db", folder.path().display());
        Self { url, folder: Arc::new(folder), schema: None }
    }

    /// A schema of its own, when `TEST_DATABASE_URL` names a server.
    pub(crate) async fn postgres() -> Option<Self> {
        let base = std::env::var("TEST_DATABASE_URL").ok()?;
        let schema = format!("t_{}", Entropy::system().uuid().simple());
        let mut connection = PgConnection::connect(&base).await.unwrap();
        sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&mut connection).await.unwrap();
        let joint = if base.contains('?') { '&' } else { '?' };
        let url = format!("{base}{joint}options[search_path]={schema}");
        Some(Self { url, folder: Arc::new(tempfile::tempdir().unwrap()), schema: Some((base, schema)) })
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    async fn leave(&self) {
        if let Some((base, schema)) = &self.schema {
            let mut connection = PgConnection::connect(base).await.unwrap();
            sqlx::query(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).execute(&mut connection).await.unwrap();
        }
    }

    /// The outbox, as an operator would see it.
    pub(crate) async fn outbox(&self) -> Vec<Row> {
        const ROWS: &str = "SELECT recipient, kind, sealed, state, attempts, last_error FROM mail_outbox";
        if self.schema.is_some() {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            sqlx::query_as(ROWS).fetch_all(&mut connection).await.unwrap()
        } else {
            let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
            sqlx::query_as(ROWS).fetch_all(&mut connection).await.unwrap()
        }
    }
}

#[derive(Debug, sqlx::FromRow)]
pub(crate) struct Row {
    pub(crate) recipient: String,
    pub(crate) kind: String,
    pub(crate) sealed: Vec<u8>,
    pub(crate) state: String,
    pub(crate) attempts: i64,
    pub(crate) last_error: Option<String>,
}

/// Runs a behaviour and tidies up after it, whatever it did.
pub(crate) async fn within<Run: Future<Output = ()> + Send + 'static>(place: Place, behaviour: fn(Place) -> Run) {
    let outcome = tokio::spawn(behaviour(place.clone())).await;
    place.leave().await;
    if let Err(error) = outcome {
        resume_unwind(error.into_panic());
    }
}

/// One behaviour, on each database.
macro_rules! on_each_store {
    ($($behaviour:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $behaviour() {
                crate::mail::desk::within(crate::mail::desk::Place::sqlite(), super::$behaviour).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $behaviour() {
                if let Some(place) = crate::mail::desk::Place::postgres().await {
                    crate::mail::desk::within(place, super::$behaviour).await;
                }
            })*
        }
    };
}
pub(crate) use on_each_store;

/// The post office.
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) hands: Hands,
    pub(crate) db: Database,
    pub(crate) post: Post,
    pub(crate) courier: Arc<Courier>,
}

pub(crate) fn settings(transport: &str) -> MailSettings {
    let transport = TransportAddress::parse(transport).unwrap();
    let from = Sender::parse("Labs <auth@labs.example>").unwrap();
    let patience = patience(Duration::from_secs(5));
    MailSettings { patience, ..MailSettings::new(transport, from) }
}

/// The same patience for every step, and four times that for a mail.
pub(crate) fn patience(limit: Duration) -> Patience {
    Patience { connect: limit, command: limit, message: limit, mail: 4 * limit, parting: 10 * limit }
}

impl Desk {
    pub(crate) async fn at(place: Place, settings: &MailSettings) -> Self {
        Self::with(place, settings, Hands::new(), SECRET).await
    }

    /// A second office on the same outbox and clock, as another process would be.
    pub(crate) async fn beside(&self, settings: &MailSettings, secret: &str) -> Self {
        Self::with(self.place.clone(), settings, self.hands.clone(), secret).await
    }

    async fn with(place: Place, settings: &MailSettings, hands: Hands, secret: &str) -> Self {
        let db = Database::open(&place.url).await.unwrap();
        let seal = Seal::new(SEAL_LABEL, &SecretKey::parse(secret).unwrap(), None);
        let clock = Clock::from_source(hands.clone());
        let (post, courier) = open(settings, db.clone(), seal, clock, Entropy::system()).unwrap();
        Self { place, hands, db, post, courier: Arc::new(courier) }
    }

    pub(crate) async fn enqueue(&self, to: Recipient<'_>, letter: &Letter, delivery: Delivery) {
        let mut tx = self.db.begin().await.unwrap();
        self.post.enqueue(&mut tx, to, letter, delivery).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// A mail to Anna, as most tests need one.
    pub(crate) async fn enqueue_one(&self) {
        self.enqueue(anna(), &verify_email(), Delivery::Send).await;
    }
}

pub(crate) fn anna() -> Recipient<'static> {
    Recipient { email: "anna@x.example", name: Some("Anna"), language: Language::German }
}

pub(crate) fn verify_email() -> Letter {
    Letter::VerifyEmail { link: LINK.to_owned() }
}

pub(crate) const LINK: &str =
    "https://app.labs.example/verify-email?token=AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE&next=%2Fhome&x=3D";

pub(crate) fn server_url(server: &SmtpServer) -> String {
    format!("smtp://{}", server.address())
}

/// A desk and an obliging server: letters as their readers get them.
pub(crate) struct Correspondence {
    server: SmtpServer,
    desk: Desk,
}

impl Correspondence {
    pub(crate) async fn from(sender: &str) -> Self {
        let server = SmtpServer::start(Wire::Clear, Manner::Obliging).await;
        let settings = MailSettings { from: Sender::parse(sender).unwrap(), ..settings(&server_url(&server)) };
        let desk = Desk::at(Place::sqlite(), &settings).await;
        Self { server, desk }
    }

    /// Sends one letter and reads what arrived.
    pub(crate) async fn send(&self, to: Recipient<'_>, letter: &Letter) -> Arrived {
        let before = self.server.received().len();
        self.desk.enqueue(to, letter, Delivery::Send).await;
        assert_eq!(self.desk.courier.deliver_due().await.unwrap(), 1);
        let mut received = self.server.received();
        assert_eq!(received.len(), before + 1, "exactly one message");
        let received = received.remove(before);
        Arrived { to: received.to, raw: received.message }
    }
}

/// One letter in a correspondence of its own.
pub(crate) async fn letter_as_received(from: &str, to: Recipient<'_>, letter: &Letter) -> Arrived {
    Correspondence::from(from).await.send(to, letter).await
}

/// A message on the other side.
pub(crate) struct Arrived {
    pub(crate) to: Vec<String>,
    pub(crate) raw: Vec<u8>,
}

impl Arrived {
    pub(crate) fn parsed(&self) -> Message<'_> {
        MessageParser::default().parse(&self.raw).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        self.parsed().body_text(0).unwrap().replace("\r\n", "\n")
    }

    pub(crate) fn html(&self) -> String {
        self.parsed().body_html(0).unwrap().replace("\r\n", "\n")
    }

    /// The lines of the header section, folded ones unfolded never.
    pub(crate) fn header_lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.raw.clone()).unwrap();
        text.split("\r\n\r\n").next().unwrap().split("\r\n").map(str::to_owned).collect()
    }

    pub(crate) fn count(&self, header: &str) -> usize {
        let start = format!("{}:", header.to_lowercase());
        self.header_lines().iter().filter(|line| line.to_lowercase().starts_with(&start)).count()
    }
}
