//! Where mails go, read from `MAIL_URL`. It refuses what would send links or passwords in clear over a network
//! unasked, and its sentences never repeat the URL, which may hold a password.

use std::{fmt, net::IpAddr, path::PathBuf};

use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// Ports of the three ways in: implicit TLS, submission with STARTTLS, a relay on this machine.
const SMTPS_PORT: u16 = 465;
const SUBMISSION_PORT: u16 = 587;
const LOCAL_PORT: u16 = 25;

/// A parsed `MAIL_URL`.
#[derive(Clone, PartialEq, Eq)]
pub struct TransportAddress(Target);

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Target {
    Folder(PathBuf),
    Server(Server),
}

/// A mail server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) wire: Wire,
    pub(super) sign_in: Option<(String, String)>,
}

/// How the connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// TLS from the first byte.
    Tls,
    /// Plain greeting, then TLS or nothing.
    StartTls,
    /// No protection: a server on this machine, or the operator's explicit word.
    Clear,
}

impl TransportAddress {
    /// Reads `file://folder`, `smtps://host` or `smtp://host[?tls=required|none]`.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(folder) = text.strip_prefix("file://") {
            if folder.is_empty() {
                return Err(String::from("names no folder after file://"));
            }
            return Ok(Self(Target::Folder(PathBuf::from(folder))));
        }
        let url = Url::parse(text).map_err(|_| schemes())?;
        match url.scheme() {
            "smtp" | "smtps" => server(&url).map(Target::Server).map(Self),
            _ => Err(schemes()),
        }
    }

    /// The transport's name, as the health route shows it.
    pub const fn name(&self) -> &'static str {
        match self.0 {
            Target::Folder(_) => "file",
            Target::Server(_) => "smtp",
        }
    }

    pub(super) const fn target(&self) -> &Target {
        &self.0
    }
}

/// Prints neither host nor password.
impl fmt::Debug for TransportAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransportAddress({})", self.name())
    }
}

fn schemes() -> String {
    String::from("must start with smtps://, smtp:// or file://")
}

fn server(url: &Url) -> Result<Server, String> {
    if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
        return Err(String::from("must not have a path after the host"));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or("names no host")?;
    // smtp is no special scheme to the URL standard, so an IPv4 address arrives as a domain.
    let host = match url.host() {
        Some(Host::Ipv6(address)) => address.to_string(),
        _ => host.to_owned(),
    };
    let local = is_loopback(&host);
    let wire = wire(url, local)?;
    let sign_in = match (decoded(url.username())?, url.password()) {
        (user, None) if user.is_empty() => None,
        (user, Some(password)) if !user.is_empty() => Some((user, decoded(password)?)),
        _ => return Err(String::from("must give both a user and a password, or neither")),
    };
    if sign_in.is_some() && wire == Wire::Clear && !local {
        return Err(String::from("would send the password in clear: remove ?tls=none"));
    }
    let usual = match wire {
        Wire::Tls => SMTPS_PORT,
        Wire::StartTls => SUBMISSION_PORT,
        Wire::Clear => LOCAL_PORT,
    };
    Ok(Server { host, port: url.port().unwrap_or(usual), wire, sign_in })
}

fn wire(url: &Url, local: bool) -> Result<Wire, String> {
    let mut wish = None;
    for (name, value) in url.query_pairs() {
        if name != "tls" {
            return Err(String::from("has a parameter that is not known; there is only tls"));
        }
        wish = Some(value.into_owned());
    }
    match (url.scheme(), wish.as_deref()) {
        ("smtps", None | Some("required")) => Ok(Wire::Tls),
        ("smtps", Some(_)) => Err(String::from("smtps:// always uses TLS; remove ?tls")),
        (_, Some("none")) => Ok(Wire::Clear),
        (_, None) if local => Ok(Wire::Clear),
        (_, None | Some("required")) => Ok(Wire::StartTls),
        (_, Some(_)) => Err(String::from("tls must be required or none: anything between can be stripped on the way")),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn decoded(text: &str) -> Result<String, String> {
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| String::from("has a user or password that is not UTF-8 after percent-decoding"))
}
