//! Who is counted: the client's address, and the network it is counted under.
//! It refuses to look at sockets and headers; `middleware/client_ip.rs` does, once per request.

use std::{
    fmt::{self, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use arrayvec::ArrayString;

/// How many leading bits of an address make one counted client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefixes {
    /// Of an IPv4 address, at most 32 (`RATE_LIMIT_IPV4_PREFIX`).
    pub ipv4: u8,
    /// Of an IPv6 address, 48 to 128 (`RATE_LIMIT_IPV6_PREFIX`).
    pub ipv6: u8,
}

impl Prefixes {
    /// Whether an address is its own network.
    const fn keep_all_of(self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => self.ipv4 >= 32,
            IpAddr::V6(_) => self.ipv6 >= 128,
        }
    }
}

impl Default for Prefixes {
    /// One IPv4 address; one /64, the least that a provider hands to one subscriber (RFC 6177).
    fn default() -> Self {
        Self { ipv4: 32, ipv6: 64 }
    }
}

/// The client of a request: what the log and the sessions show, and what the limits count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIp {
    origin: Origin,
    /// The full address, and what is counted.
    address: Text,
    network: Text,
}

/// Every request's address is written once: beside the heap, with room for an IPv6 address and its prefix.
type Text = ArrayString<{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127".len() }>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Address(IpAddr),
    Local,
    Unknown,
}

impl ClientIp {
    /// A client with an address. An IPv4 address in IPv6 clothes (`::ffff:0:0/96`) is the IPv4 address.
    pub fn from_address(address: IpAddr, prefixes: Prefixes) -> Self {
        let address = address.to_canonical();
        let text = render(address);
        let counted = counted(address);
        let network = match counted {
            _ if counted == address && prefixes.keep_all_of(address) => text,
            IpAddr::V4(v4) => render_v4(v4, prefixes.ipv4),
            IpAddr::V6(v6) => render_v6(v6, prefixes.ipv6),
        };
        Self { origin: Origin::Address(address), address: text, network }
    }

    /// A client on the other end of a Unix socket, with no proxy in between that says more.
    pub fn local() -> Self {
        Self::nameless(Origin::Local, "local")
    }

    /// A client of whom nothing is known.
    pub fn unknown() -> Self {
        Self::nameless(Origin::Unknown, "unknown")
    }

    fn nameless(origin: Origin, word: &str) -> Self {
        let word = text(format_args!("{word}"));
        Self { origin, address: word, network: word }
    }

    /// The same client, counted by other prefixes.
    #[must_use]
    pub fn counted_by(&self, prefixes: Prefixes) -> Self {
        self.ip().map_or_else(|| self.clone(), |address| Self::from_address(address, prefixes))
    }

    /// What is counted: `203.0.113.7`, `2001:db8:abcd:12::/64`, `local` or `unknown`.
    pub fn network(&self) -> &str {
        &self.network
    }

    /// The full address, for the log and the sessions.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The full address as a value, when there is one.
    pub const fn ip(&self) -> Option<IpAddr> {
        match self.origin {
            Origin::Address(address) => Some(address),
            Origin::Local | Origin::Unknown => None,
        }
    }
}

impl fmt::Display for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

/// The address by which a client is counted: behind a NAT64 gateway or a 6to4 router it is the IPv4 address
/// inside, or one IPv4 host would own as many budgets as there are gateways.
fn counted(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    match v6.segments() {
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        _ => address,
    }
}

/// Most addresses are of four octets: these are put together by hand.
fn render(address: IpAddr) -> Text {
    let IpAddr::V4(v4) = address else { return text(format_args!("{address}")) };
    let mut text = Text::new();
    for (place, octet) in v4.octets().into_iter().enumerate() {
        if place > 0 {
            text.push('.');
        }
        text.push_str(itoa::Buffer::new().format(octet));
    }
    text
}

fn render_v4(address: Ipv4Addr, prefix: u8) -> Text {
    let kept = u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into())).unwrap_or(0);
    let network = Ipv4Addr::from_bits(address.to_bits() & kept);
    if prefix >= 32 { render(network.into()) } else { text(format_args!("{network}/{prefix}")) }
}

fn render_v6(address: Ipv6Addr, prefix: u8) -> Text {
    let kept = u128::MAX.checked_shl(128_u32.saturating_sub(prefix.into())).unwrap_or(0);
    let network = Ipv6Addr::from_bits(address.to_bits() & kept);
    if prefix >= 128 { render(network.into()) } else { text(format_args!("{network}/{prefix}")) }
}

fn text(words: fmt::Arguments<'_>) -> Text {
    let mut text = Text::new();
    // There is room for every address.
    let _ = text.write_fmt(words);
    text
}
