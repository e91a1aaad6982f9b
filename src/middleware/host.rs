//! For whom we answer. A missing or repeated `Host` is refused, and so is an absolute target that names another
//! authority. The health routes answer under any name: probes ask by address.

use axum::extract::Request;
use http::{header, uri::Authority};

/// The names that are served.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Lower case, without ports; empty: any name.
    pub allowed: Vec<String>,
}

impl Hosts {
    pub(super) fn serves(&self, request: &Request) -> bool {
        let mut values = request.headers().get_all(header::HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((host, name)) = value.to_str().ok().and_then(read) else { return false };
        if request.uri().authority().is_some_and(|target| !target.as_str().eq_ignore_ascii_case(host)) {
            return false;
        }
        self.allowed.is_empty() || is_health(request.uri().path()) || self.allows(name)
    }

    fn allows(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.allowed.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

/// A host and perhaps a port (RFC 9110, 7.2), and the host alone. Nearly every one is a name of letters and digits, which
/// needs no parser; all others are left to the library's.
fn read(host: &str) -> Option<(&str, &str)> {
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let is_port = || port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    if !name.is_empty() && name.bytes().all(is_plain) && is_port() {
        return Some((host, name));
    }
    let authority: Authority = host.parse().ok()?;
    // An authority may also name a user, which no `Host` does.
    if host.contains('@') || authority.host().is_empty() || !has_port_or_none(&authority) {
        return None;
    }
    let name = host.get(..authority.host().len())?;
    Some((host, name))
}

/// What follows the name is a port of the network, or nothing (RFC 3986, 3.2.3 allows the bare colon).
fn has_port_or_none(host: &Authority) -> bool {
    match host.as_str().strip_prefix(host.host()).unwrap_or_default() {
        "" | ":" => true,
        port => host.port_u16().is_some() && port.trim_start_matches(':').bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// The four health paths, exactly.
pub(super) fn is_health(path: &str) -> bool {
    matches!(path.strip_prefix("/api").unwrap_or(path), "/health" | "/health/detailed")
}
