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
        // A host and perhaps a port (RFC 9110, 7.2); an authority may also name a user, which no `Host` does.
        let plain =
            |host: &Authority| !host.as_str().contains('@') && !host.host().is_empty() && has_port_or_none(host);
        let Some(host) = Authority::try_from(value.as_bytes()).ok().filter(plain) else { return false };
        if request.uri().authority().is_some_and(|target| !target.as_str().eq_ignore_ascii_case(host.as_str())) {
            return false;
        }
        self.allowed.is_empty() || is_health(request.uri().path()) || self.allows(host.host())
    }

    fn allows(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.allowed.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
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
