//! The house rules that a compiler does not check: who may use whom, which crate is known where, and how a file looks.
//! It reads `src` and names the line that breaks a rule.

use std::{fmt::Write, fs, path::Path};

use crate::world::files_below;

/// Longest file, in lines.
const LONGEST: usize = 400;

/// Names that say nothing.
const EMPTY_NAMES: [&str; 9] = ["utils", "helpers", "common", "manager", "service", "misc", "types", "core", "base"];

/// What no line of code may hold, outside strings and comments.
const FORBIDDEN: [&str; 10] =
    [".unwrap()", ".expect(", "todo!", "unimplemented!", "dbg!", "#[allow", "#![allow", "unsafe ", "::*;", "::*}"];

/// Where each crate, and each thing that only one place may ask the system for, is known: names on the left, on the
/// right folders (with a slash at the end), files, and names of files that count in every folder (with a slash in front).
const KNOWN_IN: [(&[&str], &[&str]); 12] = [
    (
        &["axum", "http", "tower", "tower_http", "http_body", "http_body_util"],
        &[
            "app/",
            "middleware/",
            "error/",
            "extract/",
            "screens/",
            "/routes.rs",
            "/extract.rs",
            "/cookie.rs",
            // Speaks HTTP to the identity provider on the protocol library's behalf.
            "oidc/wire.rs",
            // Renders the budget's header fields, which are the limiter's own contract.
            "limit/headers.rs",
            // Holds a slot until the last byte of a body.
            "limit/slots/held.rs",
        ],
    ),
    (&["sqlx"], &["store/", "/store.rs"]),
    (&["redis"], &["limit/"]),
    (&["lettre"], &["mail/", "account/email.rs"]),
    (&["argon2", "bcrypt", "pbkdf2", "scrypt"], &["password/hashing.rs", "password/hashing/"]),
    (&["webauthn_rs", "webauthn_rs_core", "webauthn_rs_proto"], &["passkey/"]),
    // The command line speaks through the same HTTP client.
    (&["openidconnect"], &["oidc/", "cli/account/"]),
    (&["jsonwebtoken"], &["session/"]),
    (&["hyper", "hyper_util"], &["app/"]),
    (&["SystemTime", "Instant", "UNIX_EPOCH"], &["clock.rs"]),
    (&["SystemRandom", "rand", "getrandom", "new_v4", "now_utc", "OsRng"], &["secret.rs"]),
    (
        &["ConnectInfo", "SocketAddr", "local_addr", "peer_addr"],
        &["app/listen.rs", "middleware/client_ip.rs", "cli/account/loopback.rs"],
    ),
];

/// The storeys of the house, from the roof to the ground. A module uses what stands below it, never what stands beside
/// it or above, except as [`NEIGHBOURS`] says.
const STOREYS: [&[&str]; 8] = [
    &["cli"],
    &["app"],
    &["middleware"],
    &[
        "health",
        "password",
        "address",
        "people",
        "profile",
        "magic_link",
        "passkey",
        "oidc",
        "cli_login",
        "developer",
        "screens",
        // These two are rooms that others may use, so they stand at the bottom of the storey.
        "session",
        "account",
    ],
    &["extract", "error"],
    &["audit", "limit", "ticket", "mail"],
    &["store"],
    &["clock", "secret", "public_url", "config", "telemetry"],
];

/// Rooms that use other rooms, and cellars that use what stands beside or above them, each with its reason.
const NEIGHBOURS: [(&str, &str); 19] = [
    // Rooms whose use cases end in a session of an account.
    ("password", "session account"),
    ("magic_link", "session account"),
    ("passkey", "session account"),
    ("oidc", "session account"),
    ("cli_login", "session account"),
    ("developer", "session account"),
    ("profile", "session account"),
    ("address", "session account"),
    // Who disables an account ends its sessions.
    ("people", "session account"),
    ("session", "account"),
    // A body's fault is an error of the house, and an error shows faults of a body.
    ("extract", "error"),
    // The admission is an extractor: it decodes, charges, and validates in one order.
    ("limit/extract.rs", "extract error"),
    // An event says from which network it came.
    ("audit", "limit::ClientIp"),
    // One wait, two renderings: the header and the limiter's log line say the same seconds.
    ("limit", "error::RetryAfter"),
    // A refusal is one error of the house wherever it is met.
    ("limit/verdict.rs", "error"),
    ("limit/slots/mod.rs", "error"),
    // Ground that stands on ground: a public address carries a secret in its link, logs start from variables.
    ("public_url", "secret"),
    ("telemetry", "clock config::Variables"),
    // The settings are filled into the types of the parts that they set.
    (
        "config",
        "developer extract::ServiceKeys limit mail middleware::client_ip oidc passkey password public_url secret session",
    ),
];

/// One file of `src`, and the same with comments, strings and characters blanked out.
struct Source {
    path: String,
    text: String,
    code: String,
}

impl Source {
    fn line_at(&self, offset: usize) -> usize {
        self.code[..offset].matches('\n').count() + 1
    }

    /// The module at the top of the tree that the file belongs to.
    fn top(&self) -> &str {
        self.path.split('/').next().unwrap().trim_end_matches(".rs")
    }
}

#[derive(Default)]
struct Findings(String);

impl Findings {
    fn add(&mut self, source: &Source, line: usize, what: &str) {
        writeln!(self.0, "src/{}:{line}: {what}", source.path).unwrap();
    }

    #[track_caller]
    fn none(self) {
        assert!(self.0.is_empty(), "\n{}", self.0);
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_below(&root).into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let sources: Vec<Source> = files
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            let path = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            Source { path, code: code_of(&text), text }
        })
        .collect();
    assert!(sources.len() > 50, "src was not found");
    sources
}

/// The text with everything blanked out that is no code. Offsets and lines stay.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
            b'"' => string_length(rest),
            b'\'' => character_length(rest),
            _ => 0,
        };
        if length == 0 {
            code.push(bytes[at]);
            at += 1;
        } else {
            code.extend(bytes[at..at + length].iter().map(|it| if *it == b'\n' { b'\n' } else { b' ' }));
            at += length;
        }
    }
    String::from_utf8(code).unwrap()
}

fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal, or 0 for a lifetime.
fn character_length(rest: &str) -> usize {
    let mut signs = rest.char_indices().skip(1);
    match (signs.next(), signs.next()) {
        (Some((_, '\\')), Some(_)) => rest[3..].find('\'').map_or(0, |end| end + 4),
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 0,
    }
}

/// Where `word` stands as a whole word.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_');
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !part(before) && !part(bytes.get(at + word.len()))
    })
}

#[test]
fn every_file_opens_with_what_it_is_for_and_stays_short() {
    let mut findings = Findings::default();
    for source in sources() {
        if !source.text.starts_with("//! ") {
            findings.add(&source, 1, "does not open with what it is for");
        }
        let lines = source.text.lines().count();
        if lines > LONGEST {
            findings.add(&source, lines, "is longer than a file may be");
        }
    }
    findings.none();
}

#[test]
fn nothing_gives_up_where_it_should_answer() {
    let mut findings = Findings::default();
    for source in sources() {
        for forbidden in FORBIDDEN {
            // The only place that may give up before anybody is served.
            if source.path == "main.rs" && matches!(forbidden, ".unwrap()" | ".expect(") {
                continue;
            }
            for (at, _) in source.code.match_indices(forbidden) {
                findings.add(&source, source.line_at(at), &format!("holds {forbidden}"));
            }
        }
    }
    findings.none();
}

#[test]
fn every_name_says_something() {
    let mut findings = Findings::default();
    for source in sources() {
        for step in source.path.trim_end_matches(".rs").split('/') {
            if EMPTY_NAMES.contains(&step) {
                findings.add(&source, 1, "bears an empty name");
            }
        }
        for keyword in ["struct", "enum", "trait", "type", "mod"] {
            for at in words(&source.code, keyword) {
                let name = source.code[at + keyword.len()..].trim_start();
                let name: String = name.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
                let lower = name.to_lowercase();
                if EMPTY_NAMES.iter().any(|empty| lower == *empty || lower == empty.trim_end_matches('s')) {
                    findings.add(&source, source.line_at(at), &format!("{name} is an empty name"));
                }
            }
        }
    }
    findings.none();
}

#[test]
fn every_crate_is_known_only_where_it_belongs() {
    let mut findings = Findings::default();
    for source in sources() {
        for (names, places) in KNOWN_IN {
            let inside = places.iter().any(|place| match place.strip_prefix('/') {
                Some(file) => source.path.ends_with(place) || source.path == file,
                None if place.ends_with('/') => source.path.starts_with(place),
                None => source.path == *place,
            });
            if inside {
                continue;
            }
            for name in names {
                let is_type = name.starts_with(char::is_uppercase) || name.contains("new_v4");
                for at in words(&source.code, name) {
                    let before = source.code[..at].trim_end();
                    let names_it = is_type || source.code[at + name.len()..].starts_with("::");
                    // A path that goes on from somewhere else, such as `super::redis::`, names a module of ours.
                    if names_it && (is_type || !before.ends_with("::")) && !is_runtime_time(&source.code, at) {
                        findings.add(&source, source.line_at(at), &format!("knows {name}"));
                    }
                }
            }
        }
    }
    findings.none();
}

/// The runtime's timers are nobody's clock: whoever waits uses them.
fn is_runtime_time(code: &str, at: usize) -> bool {
    code[..at].ends_with("tokio::time::")
}

#[test]
fn imports_point_down() {
    let mut findings = Findings::default();
    for source in sources() {
        if matches!(source.path.as_str(), "main.rs" | "lib.rs") {
            continue;
        }
        for (offset, used) in uses(&source.code) {
            if !may_use(&source, &used) {
                findings.add(&source, source.line_at(offset), &format!("uses {used}, which does not stand below it"));
            }
        }
    }
    findings.none();
}

#[test]
fn no_exception_to_the_order_stands_idle() {
    let sources = sources();
    for (who, whom) in NEIGHBOURS {
        let mine: Vec<&Source> = sources.iter().filter(|source| source.top() == who || source.path == who).collect();
        for wanted in whom.split(' ').filter(|_| !mine.is_empty()) {
            let is_used = mine.iter().any(|source| uses(&source.code).iter().any(|(_, used)| used.starts_with(wanted)));
            assert!(is_used, "{who} does not use {wanted}: the exception may go");
        }
    }
}

fn may_use(source: &Source, used: &str) -> bool {
    let (mine, theirs) = (source.top(), used.split("::").next().unwrap());
    let excepted = NEIGHBOURS.iter().filter(|(who, _)| *who == mine || *who == source.path).any(|(_, whom)| {
        whom.split(' ').any(|whom| used == whom || used.strip_prefix(whom).is_some_and(|rest| rest.starts_with("::")))
    });
    if mine == theirs || excepted {
        return true;
    }
    // Settings are read where the parts are joined, and nowhere else.
    if theirs == "config" && !matches!(mine, "cli" | "app") {
        return false;
    }
    let storey = |name: &str| STOREYS.iter().position(|storey| storey.contains(&name));
    match (storey(mine), storey(theirs)) {
        (Some(mine), Some(theirs)) => mine < theirs,
        // A module that stands on no storey is entered above before it is used.
        _ => false,
    }
}

/// Every path that starts at the crate's root, with its offset. Groups are taken apart.
fn uses(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` in a macro names the same modules.
        let start = at + "crate::".len();
        path_from(code, start, "", &mut found);
    }
    found
}

fn path_from(code: &str, start: usize, before: &str, found: &mut Vec<(usize, String)>) -> usize {
    let bytes = code.as_bytes();
    let mut at = start;
    while bytes[at].is_ascii_whitespace() {
        at += 1;
    }
    if bytes[at] == b'{' {
        at += 1;
        loop {
            while bytes[at].is_ascii_whitespace() || bytes[at] == b',' {
                at += 1;
            }
            if bytes[at] == b'}' {
                return at + 1;
            }
            at = path_from(code, at, before, found);
        }
    }
    let from = at;
    while bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_' {
        at += 1;
    }
    let path = if before.is_empty() { code[from..at].to_owned() } else { format!("{before}::{}", &code[from..at]) };
    if code[at..].starts_with("::") && !code[at..].starts_with("::<") {
        return path_from(code, at + 2, &path, found);
    }
    found.push((from, path));
    if let Some(renamed) = code[at..].strip_prefix(" as ") {
        let end = renamed.find([',', ';', '}']).unwrap_or(0);
        at += " as ".len() + end;
    }
    at.max(start + 1)
}
