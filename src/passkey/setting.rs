//! `WEBAUTHN_RPS`: a JSON list of relying parties. Every fault is told at once; a list that contradicts itself or the
//! CORS origins does not start.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use webauthn_rs::prelude::Url;

use super::relying_party::{RelyingParties, RelyingParty};

/// How the origin of an Android app starts; what follows is the hash of its signing certificate.
const ANDROID: &str = "android:apk-key-hash:";

/// What the list has to agree with.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Whether `http` on `localhost` is admitted.
    pub development: bool,
    /// The origins whose pages may read answers.
    pub cors_origins: &'a [String],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rp_id: String,
    rp_name: String,
    origins: Vec<String>,
    #[serde(default)]
    related_origins: Vec<String>,
}

/// Reads the list.
///
/// # Errors
/// Every fault, each as the end of a sentence that starts with the variable's name.
pub fn parse(text: &str, around: Surroundings<'_>) -> Result<RelyingParties, Vec<String>> {
    let list: Vec<Value> = serde_json::from_str(text)
        .map_err(|error| vec![format!("must be a JSON list of relying parties ({error})")])?;
    let mut faults = Vec::new();
    let mut entries = Vec::new();
    for (place, value) in (1..).zip(list) {
        match serde_json::from_value::<Entry>(value) {
            Ok(entry) => entries.push(entry),
            Err(error) => faults.push(format!("has a faulty entry {place}: {error}")),
        }
    }
    repeated(&entries, &mut faults);
    let mut parties = Vec::new();
    for entry in entries {
        let before = faults.len();
        let web = check(&entry, around, &mut faults);
        if faults.len() > before {
            continue;
        }
        let Some(web) = web else {
            faults.push(format!("names no web origin for {:?}", entry.rp_id));
            continue;
        };
        match RelyingParty::new(entry.rp_id, entry.rp_name, entry.origins, entry.related_origins, &web) {
            Ok(party) => parties.push(party),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(RelyingParties::new(parties)) } else { Err(faults) }
}

/// An id or an origin that stands twice would make it a matter of order where a passkey belongs.
fn repeated(entries: &[Entry], faults: &mut Vec<String>) {
    let mut ids = BTreeMap::new();
    let mut origins = BTreeMap::new();
    for entry in entries {
        *ids.entry(entry.rp_id.as_str()).or_insert(0_usize) += 1;
        for origin in entry.origins.iter().chain(&entry.related_origins) {
            *origins.entry(origin.as_str()).or_insert(0_usize) += 1;
        }
    }
    faults.extend(ids.iter().filter(|(_, count)| **count > 1).map(|(id, _)| format!("holds the rp_id {id:?} twice")));
    let twice = origins.iter().filter(|(_, count)| **count > 1);
    faults
        .extend(twice.map(|(origin, _)| format!("holds the origin {origin:?} twice: it can belong to one site only")));
}

/// Notes what is wrong with one entry, and returns a web origin of its own.
fn check(entry: &Entry, around: Surroundings<'_>, faults: &mut Vec<String>) -> Option<Url> {
    if !is_domain(&entry.rp_id) {
        faults.push(format!("holds the rp_id {:?}, which is not a lower-case domain name", entry.rp_id));
        return None;
    }
    let name = entry.rp_name.trim();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        faults.push(format!("needs an rp_name of 1 to 64 characters for {:?}", entry.rp_id));
    }
    let mut web = None;
    for origin in &entry.origins {
        if origin.strip_prefix(ANDROID).is_some_and(is_certificate_hash) {
            continue;
        }
        match own_origin(origin, &entry.rp_id, around) {
            Ok(url) => web = web.or(Some(url)),
            Err(fault) => faults.push(fault),
        }
    }
    if entry.origins.is_empty() {
        faults.push(format!("names no origins for {:?}", entry.rp_id));
    }
    faults.extend(entry.related_origins.iter().filter_map(|origin| related_origin(origin, &entry.rp_id, around).err()));
    web
}

fn own_origin(origin: &str, rp_id: &str, around: Surroundings<'_>) -> Result<Url, String> {
    let (url, host) = exact(origin)?;
    let local = host == "localhost" || host.ends_with(".localhost");
    if url.scheme() != "https" && !(local && around.development) {
        return Err(format!("holds {origin:?}: passkeys need https (http on localhost in development only)"));
    }
    if !is_within(&host, rp_id) {
        return Err(format!("holds {origin:?}, whose host is neither {rp_id:?} nor below it"));
    }
    allowed(origin, around)?;
    Ok(url)
}

fn related_origin(origin: &str, rp_id: &str, around: Surroundings<'_>) -> Result<(), String> {
    let (url, host) = exact(origin)?;
    if url.scheme() != "https" {
        return Err(format!("holds the related origin {origin:?}, which is not https"));
    }
    if is_within(&host, rp_id) {
        return Err(format!(
            "holds the related origin {origin:?}, which belongs in origins: it is {rp_id:?} or below it"
        ));
    }
    allowed(origin, around)
}

fn allowed(origin: &str, around: Surroundings<'_>) -> Result<(), String> {
    if around.cors_origins.iter().any(|allowed| allowed == origin) {
        Ok(())
    } else {
        Err(format!("holds {origin:?}, which is missing in CORS_ORIGINS"))
    }
}

/// An origin spelled as browsers send it, with its host.
fn exact(origin: &str) -> Result<(Url, String), String> {
    let broken = || format!("holds {origin:?}, which is not an origin as browsers send it (scheme://host[:port])");
    let url = Url::parse(origin).map_err(|_| broken())?;
    let host = url.domain().ok_or_else(broken)?.to_owned();
    if matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == origin {
        Ok((url, host))
    } else {
        Err(broken())
    }
}

fn is_within(host: &str, rp_id: &str) -> bool {
    host.strip_suffix(rp_id).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// A name as the browser hashes it. A single label is a whole top-level domain, `localhost` aside.
fn is_domain(id: &str) -> bool {
    let whole = Url::parse(&format!("https://{id}/")).is_ok_and(|url| url.domain() == Some(id));
    whole && !id.ends_with('.') && (id.contains('.') || id == "localhost")
}

/// SHA-256 in base64url without padding.
fn is_certificate_hash(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
