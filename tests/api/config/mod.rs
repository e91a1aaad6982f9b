//! Settings: all faults at once, each by its name, and a list of all of them that is kept up to date.

use std::{collections::BTreeSet, fs, path::Path};

use labs_auth::{
    config::{Settings, Variables},
    telemetry,
};

/// Settings that let the service start, with these beside them. An empty value unsets.
fn variables(changed: &[(&str, &str)]) -> Variables {
    let mut variables = Variables::default();
    for (name, value) in [
        ("SECRET_KEY", "a secret key of more than thirty-two bytes"),
        ("MAIL_URL", "file:///tmp/mails"),
        ("MAIL_FROM", "auth@labs.example"),
        ("FRONTEND_URL", "https://labs.example"),
        ("API_BASE_URL", "https://auth.labs.example"),
    ] {
        variables.set(name, value);
    }
    for (name, value) in changed {
        variables.set(name, *value);
    }
    variables
}

/// The names of the faulty variables.
fn faults(changed: &[(&str, &str)]) -> Vec<&'static str> {
    Settings::read(&variables(changed))
        .map_or_else(|faults| faults.iter().map(|fault| fault.name).collect(), |_| vec![])
}

#[test]
fn every_missing_setting_is_named_at_once() {
    let faults = Settings::read(&Variables::default()).unwrap_err();
    let names: BTreeSet<&str> = faults.iter().map(|fault| fault.name).collect();
    assert_eq!(names, BTreeSet::from(["SECRET_KEY", "MAIL_URL", "MAIL_FROM", "FRONTEND_URL", "API_BASE_URL"]));
    assert_eq!(faults.len(), names.len());
    assert!(Settings::read(&variables(&[])).is_ok());
}

#[test]
fn a_wildcard_origin_refuses_the_start_and_names_the_setting() {
    // case 131
    for origins in ["*", "https://a.example,*", "https://*.labs.example"] {
        assert_eq!(faults(&[("CORS_ORIGINS", origins)]), ["CORS_ORIGINS"]);
    }
    for origin in ["labs.example", "https://labs.example/path", "ftp://labs.example", "null", "https://labs.example?x"]
    {
        assert_eq!(faults(&[("CORS_ORIGINS", origin)]), ["CORS_ORIGINS"], "{origin}");
    }
    assert!(faults(&[("CORS_ORIGINS", "https://a.example, http://localhost:3000")]).is_empty());
}

#[test]
fn no_setting_that_cannot_be_read_is_guessed() {
    for (name, value) in [
        ("SECRET_KEY", "short"),
        ("SECRET_KEY_PREVIOUS", "short"),
        ("ENVIRONMENT", "staging"),
        ("LISTEN_ADDR", "8020"),
        ("DATABASE_URL", "mysql://x"),
        ("MAIL_URL", "http://x"),
        ("MAIL_FROM", "nobody"),
        ("FRONTEND_URL", "labs.example"),
        ("API_BASE_URL", "ftp://x"),
        ("TRUSTED_PROXIES", "0.0.0.0/0"),
        ("TRUSTED_PROXIES", "::/0"),
        ("TRUSTED_PROXIES", "proxy.internal"),
        ("TRUSTED_PROXY_COUNT", "-1"),
        ("TRUSTED_PROXY_COUNT", "1.5"),
        ("RATE_LIMIT_ENABLED", "maybe"),
        ("RATE_LIMIT_IP_PER_MINUTE", "0"),
        ("RATE_LIMIT_IPV6_PREFIX", "32"),
        ("RATE_LIMIT_IPV4_PREFIX", "33"),
        ("REDIS_URL", "http://x"),
        ("REDIS_PORT", "70000"),
        ("ACCESS_TOKEN_EXPIRE_MINUTES", "0"),
        ("REFRESH_TOKEN_EXPIRE_DAYS", "soon"),
        ("REGISTRATION_ENABLED", "si"),
        ("PUBLIC_CORS_PREFIXES", "api/scribe"),
    ] {
        assert_eq!(faults(&[(name, value)]), [name], "{name}={value}");
    }
}

#[test]
fn no_fault_repeats_a_secret() {
    for (name, value) in [
        ("SECRET_KEY", "hush-hush"),
        ("MAIL_URL", "smtp://user:hush-hush@[x"),
        ("REDIS_URL", "redis://:hush-hush@[x"),
        ("DATABASE_URL", "mysql://user:hush-hush@x"),
    ] {
        let faults = Settings::read(&variables(&[(name, value)])).unwrap_err();
        assert!(faults.iter().all(|fault| !fault.to_string().contains("hush-hush")), "{faults:?}");
    }
    let read = Settings::read(&variables(&[("MAIL_URL", "smtps://user:hush-hush@mail.example")])).unwrap();
    assert!(!format!("{read:?}").contains("hush-hush"));
    assert!(!format!("{read:?}").contains("a secret key"));
}

#[test]
fn what_nothing_reads_is_warned_about() {
    let warnings = |changed: &[(&str, &str)]| Settings::read(&variables(changed)).unwrap().warnings;
    assert!(warnings(&[]).is_empty());
    for name in ["RATE_LIMIT_PER_MINUTE", "RATE_LIMIT_PER_HOUR", "WEB_CONCURRENCY", "WORKERS"] {
        let warnings = warnings(&[(name, "5")]);
        assert!(warnings.len() == 1 && warnings[0].contains(name), "{warnings:?}");
    }
    assert_eq!(warnings(&[("RATE_LIMIT_ENABLED", "false")]).len(), 1);
    assert!(warnings(&[("RATE_LIMIT_ENABLED", "false"), ("ENVIRONMENT", "development")]).is_empty());
}

/// The names in a file of variables. An example is commented out, its name in capitals at the start of the line.
fn names_in(text: &str) -> BTreeSet<String> {
    let is_name = |name: &str| {
        name.starts_with(|it: char| it.is_ascii_uppercase())
            && name.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_')
    };
    let lines = text.lines().map(|line| line.trim_start_matches(['#', ' ']));
    lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.to_owned())
        .filter(|name| is_name(name))
        .collect()
}

#[test]
fn the_example_file_names_every_setting_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".env.example");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let written = names_in(&text);
    let read: BTreeSet<String> =
        Settings::variable_names().into_iter().chain(telemetry::VARIABLES).map(str::to_owned).collect();
    let missing: Vec<&String> = read.difference(&written).collect();
    let stale: Vec<&String> = written.difference(&read).collect();
    assert!(missing.is_empty(), "not in .env.example: {missing:?}");
    assert!(stale.is_empty(), "in .env.example, and nothing reads it: {stale:?}");
}
