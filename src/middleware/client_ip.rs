//! Who the client is: the socket's peer, or what a trusted proxy says about it in `X-Forwarded-For`.
//! It refuses every other forwarding header, and believes nobody who is not in `TRUSTED_PROXIES`.

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net};

use crate::limit::{ClientIp, Prefixes};

/// The only forwarding header that is read.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Longest `X-Forwarded-For` that is looked at, all lines together, in bytes.
const LONGEST_HEADER: usize = 8 * 1024;

/// Who is trusted when `TRUSTED_PROXIES` is not set: loopback, RFC 1918, unique-local and link-local.
pub const DEFAULT_PROXIES: &str =
    "127.0.0.0/8, ::1/128, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7, fe80::/10";

/// How many hops are trusted when `TRUSTED_PROXY_COUNT` is not set.
pub const DEFAULT_COUNT: usize = 1;

/// The other end of a connection, as the listener saw it. It travels in the request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// An address, without port and zone.
    Address(IpAddr),
    /// A Unix socket.
    Local,
    /// No connection at all: a request made inside the process.
    None,
}

/// The proxies whose word is taken, and how many of them stand in a row.
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    unix: bool,
    count: usize,
    rejected: Rejected,
}

impl PartialEq for TrustedProxies {
    /// Whether both trust the same; what they have seen does not matter.
    fn eq(&self, other: &Self) -> bool {
        (&self.networks, self.unix, self.count) == (&other.networks, other.unix, other.count)
    }
}

impl Eq for TrustedProxies {}

/// How many `X-Forwarded-For` headers were not believed, and why. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Rejected(Arc<[AtomicU64; 3]>);

/// Why, in the order of the counts: from nobody trusted; longer than is looked at; not an address at its place.
const REASONS: [&str; 3] = ["untrusted_peer", "too_long", "not_an_address"];

impl Rejected {
    fn note(&self, reason: usize) {
        if let Some(count) = self.0.get(reason) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Each reason with its count.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        REASONS.into_iter().zip(self.0.iter().map(|count| count.load(Relaxed))).collect()
    }
}

impl Default for TrustedProxies {
    fn default() -> Self {
        Self::parse(DEFAULT_PROXIES, DEFAULT_COUNT).unwrap_or(Self {
            networks: Vec::new(),
            unix: false,
            count: 0,
            rejected: Rejected::default(),
        })
    }
}

impl TrustedProxies {
    /// Reads `TRUSTED_PROXIES`: networks, single addresses and the word `unix`, separated by commas.
    ///
    /// # Errors
    /// A sentence for the operator, when an entry is none of these or trusts the whole internet.
    pub fn parse(list: &str, count: usize) -> Result<Self, String> {
        let mut trusted = Self { networks: Vec::new(), unix: false, count, rejected: Rejected::default() };
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            if entry == "unix" {
                trusted.unix = true;
            } else {
                trusted.networks.push(parse_network(entry)?);
            }
        }
        Ok(trusted)
    }

    /// The default networks, with another number of hops.
    pub fn default_with(count: usize) -> Self {
        Self { count, ..Self::default() }
    }

    /// Reads `TRUSTED_PROXY_COUNT`.
    ///
    /// # Errors
    /// A sentence for the operator, when it is not a small whole number.
    pub fn parse_count(text: &str) -> Result<usize, String> {
        match text.trim().parse::<u8>() {
            Ok(count) => Ok(count.into()),
            Err(_) => Err(String::from("must be the number of proxies in front of the service, 0 to 255")),
        }
    }

    /// The client of a request from `peer` with these headers.
    pub fn infer(&self, peer: &Peer, headers: &HeaderMap, prefixes: Prefixes) -> ClientIp {
        if self.trusts(peer) {
            if let Some(address) = self.forwarded(headers) {
                return ClientIp::from_address(address, prefixes);
            }
        } else if headers.contains_key(FORWARDED_FOR) {
            self.rejected.note(0);
        }
        match *peer {
            Peer::Address(address) => ClientIp::from_address(address, prefixes),
            Peer::Local => ClientIp::local(),
            Peer::None => ClientIp::unknown(),
        }
    }

    fn trusts(&self, peer: &Peer) -> bool {
        match peer {
            Peer::Address(address) => {
                let address = address.to_canonical();
                self.networks.iter().any(|network| network.contains(&address))
            }
            Peer::Local => self.unix,
            Peer::None => false,
        }
    }

    /// The entry that the outermost trusted hop wrote. Entries further left are the client's own words, so a
    /// broken entry is never skipped in their favour.
    fn forwarded(&self, headers: &HeaderMap) -> Option<IpAddr> {
        if self.count == 0 {
            return None;
        }
        let Some(joined) = join(headers) else {
            if headers.contains_key(FORWARDED_FOR) {
                self.rejected.note(1);
            }
            return None;
        };
        // From the right: as many hops as are trusted, or as there are.
        let entry = joined.rsplit(|byte| *byte == b',').take(self.count).last()?;
        let address = literal(entry.trim_ascii());
        if address.is_none() {
            self.rejected.note(2);
        }
        address
    }

    /// How many headers were not believed.
    pub const fn rejected(&self) -> &Rejected {
        &self.rejected
    }
}

/// An address as the standard parser takes it: no port, bracket, zone, or leading zero in IPv4.
fn literal(entry: &[u8]) -> Option<IpAddr> {
    quad(entry).map(IpAddr::V4).or_else(|| str::from_utf8(entry).ok()?.parse().ok())
}

/// Four octets, which nearly all addresses are, read by hand: every request is read so.
fn quad(entry: &[u8]) -> Option<Ipv4Addr> {
    let (mut bits, mut octet, mut octets) = (0, None, 1);
    for byte in entry {
        octet = match (byte, octet) {
            (b'0'..=b'9', None) => Some(u32::from(byte - b'0')),
            // Behind a zero nothing follows.
            (b'0'..=b'9', Some(begun @ 1..=25)) => Some(begun * 10 + u32::from(byte - b'0')),
            (b'.', Some(whole @ 0..=255)) if octets < 4 => {
                (bits, octets) = (bits << 8 | whole, octets + 1);
                None
            }
            _ => return None,
        };
    }
    let last = octet.filter(|last| octets == 4 && *last <= 255)?;
    Some(Ipv4Addr::from_bits(bits << 8 | last))
}

/// All lines of the header as one list (RFC 9110, 5.3), or `None` when there is none or it is too long.
fn join(headers: &HeaderMap) -> Option<Cow<'_, [u8]>> {
    let mut lines = headers.get_all(FORWARDED_FOR).iter().map(http::HeaderValue::as_bytes);
    let mut joined = Cow::Borrowed(lines.next()?);
    for line in lines {
        let list = joined.to_mut();
        list.push(b',');
        list.extend_from_slice(line);
    }
    (joined.len() <= LONGEST_HEADER).then_some(joined)
}

fn parse_network(entry: &str) -> Result<IpNet, String> {
    let network = match (entry.parse::<IpNet>(), entry.parse::<IpAddr>()) {
        (Ok(network), _) => network.trunc(),
        (_, Ok(address)) => IpNet::from(address),
        _ => return Err(format!("\"{entry}\" is neither a network such as 10.0.0.0/8, nor an address, nor unix")),
    };
    let network = unwrap_mapped(network);
    if network.prefix_len() == 0 {
        return Err(format!("\"{entry}\" would let every client choose its own address; name the proxies' networks"));
    }
    Ok(network)
}

/// A network of v4-mapped addresses as the IPv4 network it is: peers are compared unwrapped.
fn unwrap_mapped(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else {
        return network;
    };
    v6.addr()
        .to_ipv4_mapped()
        .zip(v6.prefix_len().checked_sub(96))
        .and_then(|(address, prefix)| Ipv4Net::new(address, prefix).ok())
        .map_or(network, IpNet::V4)
}
