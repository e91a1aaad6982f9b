//! What a key looks like, and how a typing error is told.

use labs_auth::{developer::api_key::Key, secret::Entropy};
use proptest::prelude::*;

#[test]
fn a_key_has_58_characters_of_which_the_last_six_check_the_rest() {
    let key = Key::mint(&Entropy::system());
    let text = key.reveal();
    assert_eq!(text.len(), 58);
    assert!(text.starts_with("sk-prima-"));
    assert_eq!(key.prefix(), &text[..13]);
    assert!(Key::parse(text).is_some());
    let mut check = 0_u64;
    for digit in text[52..].bytes() {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'Z' => digit - b'A' + 10,
            b'a'..=b'z' => digit - b'a' + 36,
            _ => panic!("{digit} is no digit of base62"),
        };
        check = check * 62 + u64::from(value);
    }
    assert_eq!(check, u64::from(crc32fast::hash(&text.as_bytes()[..52])));
}

#[test]
fn a_known_key_keeps_its_checksum() {
    // CRC-32 of 52 fixed characters, worked out by another program.
    let text = format!("sk-prima-{}{}", "A".repeat(43), KNOWN_CHECK);
    assert!(Key::parse(&text).is_some());
}

/// base62 of zlib.crc32(b"sk-prima-" + b"A" * 43).
const KNOWN_CHECK: &str = "0cjJYN";

#[test]
fn a_key_prints_nothing_of_itself() {
    let key = Key::mint(&Entropy::system());
    assert_eq!(format!("{key:?}"), "Key(…)");
}

proptest! {
    #[test]
    fn one_wrong_character_anywhere_makes_it_no_key(at in 0_usize..58, other in "[ -~]") {
        let key = Key::mint(&Entropy::system());
        let text = key.reveal();
        let typo = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        prop_assert_eq!(Key::parse(&typo).is_some(), typo == text);
    }

    #[test]
    fn nothing_else_is_a_key(text in "(sk-prima-)?\\PC{0,60}") {
        prop_assert!(Key::parse(&text).is_none());
    }
}
