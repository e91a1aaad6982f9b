//! One value of the policy file at a time: what it must be, said in the operator's words.

use std::time::Duration;

use ipnet::IpNet;
use toml::de::DeValue;

use super::{Fail, Mode, Whom};
use crate::limit::{Prefixes, algorithm::Algorithm};

type Read<T> = Result<T, String>;

pub(super) fn text<'a>(value: &'a DeValue<'_>) -> Read<&'a str> {
    value.as_str().ok_or_else(|| String::from("must be a text"))
}

pub(super) fn flag(value: &DeValue<'_>) -> Read<bool> {
    value.as_bool().ok_or_else(|| String::from("must be true or false"))
}

/// A whole number from 1 to the largest that is counted.
pub(super) fn count(value: &DeValue<'_>) -> Read<u32> {
    let whole = value.as_integer().and_then(|it| i128::from_str_radix(&it.as_str().replace('_', ""), it.radix()).ok());
    let whole = whole.ok_or_else(|| String::from("must be a whole number"))?;
    match u32::try_from(whole) {
        Ok(0) | Err(_) => Err(format!("must be from 1 to {}", u32::MAX)),
        Ok(number) => Ok(number),
    }
}

/// `500ms`, `60s`, `5m`, `1h`, `2d`, in microseconds.
pub(super) fn window(value: &DeValue<'_>) -> Read<u64> {
    let problem = || String::from("must be a whole number with its unit: 500ms, 60s, 5m, 1h or 2d");
    let text = text(value).map_err(|_| problem())?;
    let split = text.find(|sign: char| !sign.is_ascii_digit()).ok_or_else(problem)?;
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        "d" => Duration::from_hours(24),
        _ => return Err(problem()),
    };
    let number: u64 = number.parse().map_err(|_| problem())?;
    let micros = u64::try_from(unit.as_micros()).ok().and_then(|unit| unit.checked_mul(number));
    micros.ok_or_else(|| String::from("is too long to be counted"))
}

pub(super) fn algorithm(value: &DeValue<'_>) -> Read<Algorithm> {
    Algorithm::named(text(value)?).ok_or_else(|| {
        let names: Vec<&str> = Algorithm::ALL.into_iter().map(Algorithm::name).collect();
        format!("must be one of {}", names.join(", "))
    })
}

pub(super) fn fail(value: &DeValue<'_>) -> Read<Fail> {
    match text(value)? {
        "memory" => Ok(Fail::Memory),
        "open" => Ok(Fail::Open),
        "closed" => Ok(Fail::Closed),
        _ => Err(String::from("must be memory, open or closed")),
    }
}

pub(super) fn mode(value: &DeValue<'_>) -> Read<Mode> {
    match text(value)? {
        "enforce" => Ok(Mode::Enforce),
        "shadow" => Ok(Mode::Shadow),
        "off" => Ok(Mode::Off),
        _ => Err(String::from("must be enforce, shadow or off")),
    }
}

pub(super) fn whom(value: &DeValue<'_>) -> Read<Whom> {
    let problem = || String::from("must be ip, ip/24,48, user, api_key or mailbox");
    match text(value)? {
        "ip" => Ok(Whom::Ip(None)),
        "user" => Ok(Whom::User),
        "api_key" => Ok(Whom::ApiKey),
        "mailbox" => Ok(Whom::Mailbox),
        other => {
            let (v4, v6) = other.strip_prefix("ip/").and_then(|it| it.split_once(',')).ok_or_else(problem)?;
            let prefix = |text: &str, most: u8| {
                text.trim().parse::<u8>().ok().filter(|bits| (1..=most).contains(bits)).ok_or_else(problem)
            };
            Ok(Whom::Ip(Some(Prefixes { ipv4: prefix(v4, 32)?, ipv6: prefix(v6, 128)? })))
        }
    }
}

pub(super) fn network(value: &DeValue<'_>) -> Read<IpNet> {
    let text = text(value)?;
    let parsed = text.parse::<IpNet>().or_else(|_| text.parse().map(|address: std::net::IpAddr| address.into()));
    match parsed {
        Ok(network) if network.trunc() == network => Ok(network),
        Ok(network) => Err(format!("holds {text:?}, whose host part is not zero: {} is meant", network.trunc())),
        Err(_) => Err(format!("holds {text:?}, which is no network")),
    }
}

/// `METHOD /template`
pub(super) fn route(value: &DeValue<'_>) -> Read<Box<str>> {
    let text = text(value)?;
    let problem = || format!("holds {text:?}, which is not METHOD /path, as POST /api/auth/login");
    let (method, path) = text.split_once(' ').ok_or_else(problem)?;
    let known = matches!(method, "GET" | "POST" | "PATCH" | "DELETE");
    if known && path.starts_with('/') { Ok(text.into()) } else { Err(problem()) }
}

/// What can stand between quotes in a header and needs no escape in a key.
pub(super) fn name(value: &DeValue<'_>) -> Read<Box<str>> {
    let text = text(value)?;
    let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || matches!(sign, '-' | '_' | '.');
    if (1..=64).contains(&text.len()) && text.chars().all(fits) {
        Ok(text.into())
    } else {
        Err(String::from("must be 1 to 64 of a-z, 0-9, '-', '_' and '.'"))
    }
}
