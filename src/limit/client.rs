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

impl Default for Prefixes {
    /// One IPv4 address; one /64, the least that a provider hands to one subscriber (RFC 6177).
    fn default() -> Self {
        Self { ipv4: 32, ipv6: 64 }
    }
}

/// The client of a request: what the log and the sessions show, and what the limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIp {
    origin: Origin,
    counted: Network,
}

/// An address or a network as it is written, beside the heap: there is room for an IPv6 address and its prefix.
pub type AddressText = ArrayString<{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127".len() }>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Address(IpAddr),
    Local,
    Unknown,
}

/// What is counted. It is written down only where somebody reads it: the memory of the limits does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// The first address, and how many leading bits the others share with it.
    Block(IpAddr, u8),
    Local,
    Unknown,
}

impl ClientIp {
    /// A client with an address. An IPv4 address in IPv6 clothes (`::ffff:0:0/96`) is the IPv4 address.
    pub fn from_address(address: IpAddr, prefixes: Prefixes) -> Self {
        let address = address.to_canonical();
        Self { origin: Origin::Address(address), counted: Network::of(counted(address), prefixes) }
    }

    /// A client on the other end of a Unix socket, with no proxy in between that says more.
    pub const fn local() -> Self {
        Self { origin: Origin::Local, counted: Network::Local }
    }

    /// A client of whom nothing is known.
    pub const fn unknown() -> Self {
        Self { origin: Origin::Unknown, counted: Network::Unknown }
    }

    /// What is counted.
    pub(super) const fn counted(&self) -> Network {
        self.counted
    }

    /// The same, with other prefixes.
    pub(super) fn counted_by(&self, prefixes: Prefixes) -> Network {
        self.ip().map_or(self.counted, |address| Network::of(counted(address), prefixes))
    }

    /// What is counted: `203.0.113.7`, `2001:db8:abcd:12::/64`, `local` or `unknown`.
    pub fn network(&self) -> AddressText {
        self.counted.text()
    }

    /// The full address, for the log and the sessions.
    pub fn address(&self) -> AddressText {
        match self.origin {
            Origin::Address(address) => render(address),
            Origin::Local | Origin::Unknown => self.network(),
        }
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
        f.write_str(&self.address())
    }
}

impl Network {
    fn of(address: IpAddr, prefixes: Prefixes) -> Self {
        match address {
            IpAddr::V4(v4) => {
                let kept = u32::MAX.checked_shl(32_u32.saturating_sub(prefixes.ipv4.into())).unwrap_or(0);
                Self::Block(Ipv4Addr::from_bits(v4.to_bits() & kept).into(), prefixes.ipv4)
            }
            IpAddr::V6(v6) => {
                let kept = u128::MAX.checked_shl(128_u32.saturating_sub(prefixes.ipv6.into())).unwrap_or(0);
                Self::Block(Ipv6Addr::from_bits(v6.to_bits() & kept).into(), prefixes.ipv6)
            }
        }
    }

    /// As it is written: an address that is counted by all its bits stands alone.
    pub(super) fn text(self) -> AddressText {
        match self {
            Self::Block(first, prefix) if prefix < if first.is_ipv4() { 32 } else { 128 } => {
                text(format_args!("{first}/{prefix}"))
            }
            Self::Block(address, _) => render(address),
            Self::Local => text(format_args!("local")),
            Self::Unknown => text(format_args!("unknown")),
        }
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
fn render(address: IpAddr) -> AddressText {
    let IpAddr::V4(v4) = address else { return text(format_args!("{address}")) };
    let mut text = AddressText::new();
    for (place, octet) in v4.octets().into_iter().enumerate() {
        if place > 0 {
            text.push('.');
        }
        text.push_str(itoa::Buffer::new().format(octet));
    }
    text
}

fn text(words: fmt::Arguments<'_>) -> AddressText {
    let mut text = AddressText::new();
    // There is room for every address.
    let _ = text.write_fmt(words);
    text
}
