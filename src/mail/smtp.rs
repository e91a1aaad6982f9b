//! A mail server, spoken to step by step: every step has its deadline, and the step that failed decides what a refusal
//! means. lettre's own pool is not used: it takes back connections whose conversation was cut short by a deadline, and
//! the next mail would then be answered with the last one's reply.

use std::{
    error::Error as _,
    future::Future,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use lettre::{
    Address,
    transport::smtp::{
        Error,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, Certificate, TlsParameters},
        commands::{Data, Mail, Noop, Rcpt},
        extension::ClientId,
    },
};

use super::{
    address::{Server, Wire},
    failure::Failure,
    settings::{MailSettings, Patience},
};

/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Replies to `RCPT` that say the mailbox does not exist or takes no mail (RFC 5321, 4.2.3).
const NO_SUCH_MAILBOX: [u16; 3] = [550, 551, 553];

pub(super) struct Smtp {
    server: Server,
    tls: Option<TlsParameters>,
    sign_in: Option<Credentials>,
    hello: ClientId,
    from: Address,
    patience: Patience,
    /// Connections between two mails of one round, each with no reply outstanding.
    open: Mutex<Vec<AsyncSmtpConnection>>,
}

impl Smtp {
    pub(super) fn new(server: Server, settings: &MailSettings) -> Result<Self, String> {
        let tls = match server.wire {
            Wire::Clear => None,
            Wire::Tls | Wire::StartTls => Some(tls(&server.host, settings.authorities.as_deref())?),
        };
        let sign_in = server.sign_in.clone().map(|(user, password)| Credentials::new(user, password));
        let from = settings.from.mailbox().email.clone();
        let hello = ClientId::Domain(from.domain().to_owned());
        Ok(Self { server, tls, sign_in, hello, from, patience: settings.patience, open: Mutex::default() })
    }

    /// Sends one message. A connection is kept for the next mail only when every reply was read.
    pub(super) async fn send(&self, to: Address, message: &[u8]) -> Result<(), Failure> {
        let mut connection = match self.kept().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let patience = self.patience;
        let from = Mail::new(Some(self.from.clone()), Vec::new());
        step("MAIL FROM", patience.command, connection.command(from)).await?;
        let refusal = |error: &Error| if is_final(error) { Failure::refused } else { Failure::postponed };
        match tokio::time::timeout(patience.command, connection.command(Rcpt::new(to, Vec::new()))).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                farewell(connection).await;
                return Err(refusal(&error)("RCPT TO", &error.to_string()));
            }
            Err(_) => return Err(late("RCPT TO")),
        }
        step("DATA", patience.command, connection.command(Data)).await?;
        step("message", patience.message, connection.message(message)).await?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(())
    }

    /// Says goodbye on every kept connection.
    pub(super) async fn hang_up(&self) {
        let kept = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        futures_util::future::join_all(kept.into_iter().map(farewell)).await;
    }

    /// A kept connection that still answers.
    async fn kept(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let mut connection = self.open.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if step("NOOP", self.patience.command, connection.command(Noop)).await.is_ok() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Failure> {
        let patience = self.patience.connect;
        let implicit = self.tls.clone().filter(|_| self.server.wire == Wire::Tls);
        let address = (self.server.host.as_str(), self.server.port);
        let dial = AsyncSmtpConnection::connect_tokio1(address, Some(patience), &self.hello, implicit, None);
        let mut connection = step("connection", patience, dial).await?;
        if let (Wire::StartTls, Some(tls)) = (self.server.wire, &self.tls) {
            if !connection.can_starttls() {
                farewell(connection).await;
                return Err(Failure::postponed("STARTTLS", "the server does not offer it, and it is required"));
            }
            step("STARTTLS", patience, connection.starttls(tls.clone(), &self.hello)).await?;
        }
        if let Some(sign_in) = &self.sign_in {
            step("AUTH", patience, connection.auth(&[Mechanism::Plain, Mechanism::Login], sign_in)).await?;
        }
        Ok(connection)
    }
}

/// One step of the conversation, within its deadline.
async fn step<T>(name: &str, patience: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    match tokio::time::timeout(patience, work).await {
        Ok(outcome) => outcome.map_err(|error| Failure::postponed(name, &error.to_string())),
        Err(_) => Err(late(name)),
    }
}

fn late(name: &str) -> Failure {
    Failure::postponed(name, "no answer in time")
}

/// Whether a refused recipient stays refused. `5.7.x` speaks of our standing with the server (relaying denied, sign-in
/// wanted, blocked), not of the mailbox: the operator can mend that, so the mail waits.
fn is_final(error: &Error) -> bool {
    let told = error.source().map(ToString::to_string).unwrap_or_default();
    error.status().is_some_and(|code| NO_SUCH_MAILBOX.contains(&code.into())) && !told.starts_with("5.7.")
}

async fn farewell(mut connection: AsyncSmtpConnection) {
    // A server that does not say goodbye in time loses nothing: the connection is dropped either way.
    let _late = tokio::time::timeout(FAREWELL, connection.quit()).await;
}

fn tls(host: &str, authorities: Option<&[u8]>) -> Result<TlsParameters, String> {
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(pem) = authorities {
        let certificate = Certificate::from_pem(pem).map_err(|_| "the mail server's authorities are not PEM")?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().map_err(|error| format!("TLS for the mail server cannot be set up: {error}"))
}
