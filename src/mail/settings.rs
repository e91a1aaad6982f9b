//! What the operator decides about mail. It reads no environment: the texts are handed in.

use std::{fmt, str::FromStr, time::Duration};

use lettre::{Address, message::Mailbox};

use super::address::TransportAddress;

/// Everything that [`open`](super::open) needs to know.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// Where mails go.
    pub transport: TransportAddress,
    /// Who they are from.
    pub from: Sender,
    /// Whether each delivered mail's subject and link are printed to standard output. Only `dev` asks for it.
    pub announce_links: bool,
    /// How long a mail server may take.
    pub patience: Patience,
    /// Certificate authorities (PEM) to trust beside the public ones, for a mail server inside the house.
    pub authorities: Option<Vec<u8>>,
}

impl MailSettings {
    /// The usual settings for this transport and this sender.
    pub fn new(transport: TransportAddress, from: Sender) -> Self {
        Self { transport, from, announce_links: false, patience: Patience::default(), authorities: None }
    }
}

/// How long the steps of a delivery may take. The sum never matters: `mail` bounds the whole.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Connecting, greeting, TLS and sign-in, each.
    pub connect: Duration,
    /// The answer to one command.
    pub command: Duration,
    /// Handing over the message and the answer to it; filters think here.
    pub message: Duration,
    /// One mail, from connecting to the last answer.
    pub mail: Duration,
    /// All that is still under way once the process is to end.
    pub parting: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            command: Duration::from_secs(15),
            message: Duration::from_secs(40),
            mail: Duration::from_mins(1),
            parting: Duration::from_secs(10),
        }
    }
}

/// The sender of every mail, from `MAIL_FROM`.
#[derive(Clone)]
pub struct Sender(Mailbox);

impl Sender {
    /// Reads `Labs <auth@labs.example>` or a bare address.
    ///
    /// # Errors
    /// A sentence for the operator when it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault = || String::from("must be one address, like `Labs <auth@labs.example>` or `auth@labs.example`");
        if text.chars().any(char::is_control) {
            return Err(fault());
        }
        let mailbox = Mailbox::from_str(text.trim()).map_err(|_| fault())?;
        let email = ascii_address(mailbox.email.as_ref()).ok_or_else(fault)?;
        let name = mailbox.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        Ok(Self(Mailbox::new(name, email)))
    }

    pub(super) const fn mailbox(&self) -> &Mailbox {
        &self.0
    }

    /// What the letters call this service: the sender's name, or `Labs`.
    pub(super) fn product(&self) -> &str {
        self.0.name.as_deref().unwrap_or("Labs")
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({})", self.0)
    }
}

/// The address with its domain in ASCII, as the wire wants it; `None` when it is no address that every server takes.
pub(super) fn ascii_address(text: &str) -> Option<Address> {
    let (user, domain) = text.rsplit_once('@')?;
    let domain = idna::domain_to_ascii(domain).ok()?;
    Address::new(user, domain).ok().filter(|address| {
        let address: &str = address.as_ref();
        address.is_ascii() && !address.bytes().any(|byte| byte.is_ascii_control() || byte == b' ')
    })
}
