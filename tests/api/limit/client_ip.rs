//! Who the client is, by peer and `X-Forwarded-For`.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderValue};
use labs_auth::{
    limit::{ClientIp, Prefixes},
    middleware::client_ip::{DEFAULT_PROXIES, Peer, TrustedProxies},
};
use proptest::prelude::{any, prop, prop_assert_eq, prop_oneof, proptest};

const PROXY: &str = "10.0.0.5";

fn peer(address: &str) -> Peer {
    Peer::Address(address.parse().unwrap())
}

fn lines(values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append("x-forwarded-for", HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

fn trusting(count: usize) -> TrustedProxies {
    TrustedProxies::parse(DEFAULT_PROXIES, count).unwrap()
}

fn infer(count: usize, from: &str, values: &[&str]) -> ClientIp {
    trusting(count).infer(&peer(from), &lines(values), Prefixes::default())
}

fn network(count: usize, from: &str, values: &[&str]) -> String {
    infer(count, from, values).network().to_string()
}

#[test]
fn the_known_answers_of_the_contract_hold() {
    let two = "198.51.100.9, 203.0.113.7";
    assert_eq!(network(1, PROXY, &[two]), "203.0.113.7");
    assert_eq!(network(1, PROXY, &["not-an-ip"]), PROXY);
    assert_eq!(network(1, PROXY, &[]), PROXY);
    assert_eq!(network(2, PROXY, &[two]), "198.51.100.9");
    assert_eq!(network(0, PROXY, &[two]), PROXY);
    assert_eq!(network(1, PROXY, &["198.51.100.5, 203.0.113.5, 10.0.0.1"]), "10.0.0.1");
    assert_eq!(network(1, PROXY, &["::ffff:203.0.113.7"]), "203.0.113.7");
    assert_eq!(network(1, PROXY, &["2001:db8:abcd:12::1"]), "2001:db8:abcd:12::/64");
    assert_eq!(network(1, PROXY, &["2001:db8:abcd:12:ffff::9"]), "2001:db8:abcd:12::/64");
    assert_eq!(network(1, PROXY, &["2001:db8:abcd:13::1"]), "2001:db8:abcd:13::/64");
    assert_eq!(network(1, "203.0.113.50", &["1.2.3.4"]), "203.0.113.50");
}

#[test]
fn a_count_beyond_the_list_takes_its_first_entry() {
    assert_eq!(network(9, PROXY, &["198.51.100.9, 203.0.113.7"]), "198.51.100.9");
}

#[test]
fn rotating_the_leftmost_entry_changes_nobody() {
    // case 141
    for last in 1..=31 {
        assert_eq!(network(1, PROXY, &[&format!("198.51.100.{last}, 203.0.113.7")]), "203.0.113.7");
    }
}

#[test]
fn header_lines_join_in_order() {
    // case 143
    assert_eq!(network(1, PROXY, &["198.51.100.3", "203.0.113.7"]), "203.0.113.7");
    assert_eq!(network(2, PROXY, &["198.51.100.3", "203.0.113.7"]), "198.51.100.3");
}

#[test]
fn what_is_not_a_literal_is_the_peer() {
    // cases 145, 147
    let broken = [
        "203.0.113.7:4711",
        "[2001:db8::1]",
        "[2001:db8::1]:443",
        "fe80::1%eth0",
        "",
        ",",
        "unknown",
        "_hidden",
        "203.0.113.007",
        "0x7f.1",
        "127.1",
        "203.0.113",
        "203.0.113.7 x",
        "\u{e9}",
        "198.51.100.9,",
        "198.51.100.9, unknown",
    ];
    for value in broken {
        assert_eq!(network(1, PROXY, &[value]), PROXY, "{value:?}");
    }
}

#[test]
fn spellings_of_one_address_are_one_client() {
    // case 151
    for spelling in ["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "2001:0db8::0001", " 2001:db8::1\t"] {
        assert_eq!(network(1, PROXY, &[spelling]), "2001:db8::/64");
        assert_eq!(&*infer(1, PROXY, &[spelling]).address(), "2001:db8::1");
    }
}

#[test]
fn different_networks_are_different_clients() {
    // case 163
    assert_ne!(network(1, PROXY, &["2001:db8:1::1"]), network(1, PROXY, &["2001:db8:2::1"]));
}

#[test]
fn a_long_chain_is_read_from_its_right_end() {
    // case 153
    let chain = format!("{}203.0.113.7", "198.51.100.9,".repeat(499));
    assert_eq!(network(1, PROXY, &[&chain]), "203.0.113.7");
}

#[test]
fn a_header_over_eight_kibibytes_is_not_read() {
    let tail = "203.0.113.7";
    let fits = format!("{}{tail}", ",".repeat(8192 - tail.len()));
    assert_eq!(network(1, PROXY, &[&fits]), tail);
    assert_eq!(network(1, PROXY, &[&format!(",{fits}")]), PROXY);
    assert_eq!(network(1, PROXY, &[&fits[..5000], &fits[5000..], tail]), PROXY);
}

#[test]
fn only_one_header_is_read() {
    let mut headers = HeaderMap::new();
    for name in ["forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip"] {
        headers.insert(name, HeaderValue::from_static("198.51.100.9"));
    }
    let client = trusting(1).infer(&peer(PROXY), &headers, Prefixes::default());
    assert_eq!(&*client.network(), PROXY);
}

#[test]
fn a_mapped_peer_is_the_ipv4_peer() {
    assert_eq!(network(1, "::ffff:10.0.0.5", &["203.0.113.7"]), "203.0.113.7");
    assert_eq!(&*infer(1, "::ffff:203.0.113.50", &["1.2.3.4"]).address(), "203.0.113.50");
}

#[test]
fn an_ipv4_host_behind_a_translator_is_counted_by_its_ipv4_address() {
    let nat64 = infer(1, PROXY, &["64:ff9b::cb00:7107"]);
    assert_eq!((&*nat64.network(), &*nat64.address()), ("203.0.113.7", "64:ff9b::cb00:7107"));
    assert_eq!(network(1, PROXY, &["2002:cb00:7107:1234::9"]), "203.0.113.7");
}

#[test]
fn prefixes_are_the_operators() {
    let wide = Prefixes { ipv4: 24, ipv6: 48 };
    let seen = |value| trusting(1).infer(&peer(PROXY), &lines(&[value]), wide).network().to_string();
    assert_eq!(seen("203.0.113.7"), "203.0.113.0/24");
    assert_eq!(seen("2001:db8:abcd:12::1"), "2001:db8:abcd::/48");
    let single = Prefixes { ipv4: 32, ipv6: 128 };
    assert_eq!(&*ClientIp::from_address("2001:db8::1".parse().unwrap(), single).network(), "2001:db8::1");
}

#[test]
fn what_is_read_by_hand_is_read_as_the_standard_parser_reads_it() {
    let octets = [
        "", "0", "00", "01", "1", "7", "9", "10", "25", "26", "99", "100", "199", "249", "255", "256", "259", "260",
        "999", "1000",
    ];
    let of = |place: usize, octet: &str| {
        let mut four = ["1", "2", "3", "4"];
        four[place] = octet;
        four.join(".")
    };
    let one_odd = (0..4).flat_map(|place| octets.map(|octet| of(place, octet)));
    let shapes =
        ["1", "1.2", "1.2.3", "1.2.3.4.", ".1.2.3.4", "1.2.3.4.5", "1..3.4", "1.2.3.4 5", "9.8.7.6", "255.255.255.255"];
    for text in one_odd.chain(shapes.map(str::to_owned)) {
        let expected = text.parse::<IpAddr>().map_or_else(|_| PROXY.to_owned(), |address| address.to_string());
        assert_eq!(network(1, PROXY, &[&text]), expected, "{text}");
    }
}

#[test]
fn a_unix_peer_is_trusted_only_by_name() {
    let headers = lines(&["203.0.113.7"]);
    let infer = |list| {
        let proxies = TrustedProxies::parse(list, 1).unwrap();
        proxies.infer(&Peer::Local, &headers, Prefixes::default()).network().to_string()
    };
    assert_eq!(infer("10.0.0.0/8"), "local");
    assert_eq!(infer("10.0.0.0/8, unix"), "203.0.113.7");
    assert_eq!(trusting(1).infer(&Peer::None, &headers, Prefixes::default()), ClientIp::unknown());
}

#[test]
fn trusting_the_whole_internet_is_refused() {
    for list in ["0.0.0.0/0", "10.0.0.0/8, ::/0", "::ffff:0:0/96", "203.0.113.7/0"] {
        assert!(TrustedProxies::parse(list, 1).is_err(), "{list}");
    }
    for list in ["10.0.0.0/33", "proxy.example", "10.0.0.1-10.0.0.9", "10.0.0.0/8 192.168.0.0/16"] {
        assert!(TrustedProxies::parse(list, 1).is_err(), "{list}");
    }
    assert!(TrustedProxies::parse("", 1).is_ok());
    assert_eq!(TrustedProxies::parse("10.0.0.5", 1), TrustedProxies::parse("10.0.0.5/32", 1));
    assert_eq!(TrustedProxies::parse_count("2"), Ok(2));
    for text in ["", "-1", "many", "1.0", "300"] {
        assert!(TrustedProxies::parse_count(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn every_address_that_a_proxy_writes_is_understood(address in any::<IpAddr>(), junk in "[ -~]{0,40}") {
        let client = infer(1, PROXY, &[&format!("{junk},{address}")]);
        prop_assert_eq!(&client, &ClientIp::from_address(address, Prefixes::default()));
        prop_assert_eq!(client.address().to_string(), address.to_canonical().to_string());
    }

    #[test]
    fn an_untrusted_peer_is_itself_whatever_it_writes(values in prop::collection::vec("[ -~]{0,60}", 0..4)) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        prop_assert_eq!(network(1, "203.0.113.50", &values), "203.0.113.50");
    }

    #[test]
    fn words_of_a_trusted_peer_are_an_address_or_nothing(
        entry in prop_oneof![
            "[0-9a-fx:.%\\[\\] ]{0,24}",
            "[0-9]{1,4}(\\.[0-9]{0,4}){2,4}",
            "(0|[1-9][0-9]?|1[0-9]{2}|2[0-5][0-9])(\\.(0|[1-9][0-9]?|1[0-9]{2}|2[0-6][0-9])){3}",
        ],
    ) {
        let expected = entry.trim().parse::<IpAddr>().map_or_else(|_| PROXY.to_owned(), |a| a.to_canonical().to_string());
        let client = infer(1, PROXY, &[&entry]);
        prop_assert_eq!(client.address().to_string(), expected);
    }

    #[test]
    fn neighbours_in_one_network_share_it(bits in any::<u128>(), low in any::<u64>()) {
        let one = IpAddr::V6(Ipv6Addr::from_bits(bits));
        let other = IpAddr::V6(Ipv6Addr::from_bits(bits >> 64 << 64 | u128::from(low)));
        let (one, other) = (
            ClientIp::from_address(one, Prefixes::default()),
            ClientIp::from_address(other, Prefixes::default()),
        );
        if bits >> 96 != 0 {
            prop_assert_eq!(one.network(), other.network());
        }
    }
}

#[test]
fn headers_that_are_not_believed_are_counted_by_their_reason() {
    let trusted = trusting(1);
    let ask = |from: &str, values: &[&str]| {
        trusted.infer(&peer(from), &lines(values), Prefixes::default());
    };
    let counts = || trusted.rejected().counts();
    let told =
        |untrusted, long, broken| vec![("untrusted_peer", untrusted), ("too_long", long), ("not_an_address", broken)];
    ask(PROXY, &[]);
    ask("203.0.113.50", &[]);
    ask(PROXY, &["203.0.113.7"]);
    assert_eq!(counts(), told(0, 0, 0));
    ask("203.0.113.50", &["1.2.3.4"]);
    assert_eq!(counts(), told(1, 0, 0));
    ask(PROXY, &[&"1.2.3.4,".repeat(1100)]);
    ask(PROXY, &[&"1.2.3.4,".repeat(1100)]);
    assert_eq!(counts(), told(1, 2, 0));
    for _ in 0..3 {
        ask(PROXY, &["not-an-ip"]);
    }
    assert_eq!(counts(), told(1, 2, 3));
}

#[test]
fn the_longest_header_that_is_read_has_eight_kibibytes_over_all_its_lines() {
    let entry = "203.0.113.7";
    let line = |length: usize| format!("{},{entry}", "x".repeat(length - entry.len() - 1));
    assert_eq!(network(1, PROXY, &[&line(8192)]), entry);
    assert_eq!(network(1, PROXY, &[&line(8193)]), PROXY);
    // The comma between two lines counts.
    let (first, second) = ("x".repeat(4096), line(4095));
    assert_eq!(network(1, PROXY, &[&first, &second]), entry);
    assert_eq!(network(1, PROXY, &[&first, &line(4096)]), PROXY);
}

#[test]
fn whoever_trusts_the_same_is_equal_whatever_it_has_seen() {
    let (one, other) = (trusting(1), trusting(1));
    one.infer(&peer("203.0.113.50"), &lines(&["1.2.3.4"]), Prefixes::default());
    assert_eq!(one, other);
    assert_eq!(TrustedProxies::default_with(1), one);
    assert_ne!(trusting(2), one);
    assert_ne!(TrustedProxies::default_with(3), TrustedProxies::default());
    assert_ne!(TrustedProxies::parse("10.0.0.0/8", 1).unwrap(), one);
    assert_ne!(TrustedProxies::parse(&format!("{DEFAULT_PROXIES},unix"), 1).unwrap(), one);
}

#[test]
fn an_address_and_its_network_are_told_apart_by_the_prefixes() {
    let of = |text: &str, ipv4, ipv6| ClientIp::from_address(text.parse().unwrap(), Prefixes { ipv4, ipv6 });
    let told = |client: &ClientIp| (client.address().to_string(), client.network().to_string(), client.to_string());
    let both = |address: &str, network: &str| (address.to_owned(), network.to_owned(), address.to_owned());
    assert_eq!(told(&of("203.0.113.7", 32, 64)), both("203.0.113.7", "203.0.113.7"));
    assert_eq!(told(&of("203.0.113.7", 24, 128)), both("203.0.113.7", "203.0.113.0/24"));
    assert_eq!(told(&of("2001:db8::7", 24, 128)), both("2001:db8::7", "2001:db8::7"));
    assert_eq!(told(&of("2001:db8:0:1::7", 32, 48)), both("2001:db8:0:1::7", "2001:db8::/48"));
    assert_eq!(told(&of("64:ff9b::cb00:7107", 32, 128)), both("64:ff9b::cb00:7107", "203.0.113.7"));
    assert_eq!(told(&ClientIp::local()), both("local", "local"));
    assert_eq!(told(&ClientIp::unknown()), both("unknown", "unknown"));
    assert_eq!(of("203.0.113.7", 24, 64).ip(), Some("203.0.113.7".parse().unwrap()));
    assert_eq!((ClientIp::local().ip(), ClientIp::unknown().ip()), (None, None));
}
