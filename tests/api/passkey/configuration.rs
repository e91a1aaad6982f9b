//! `WEBAUTHN_RPS`: a list that contradicts itself does not start, and says why, all at once.

use labs_auth::config::{Settings, Variables};
use serde_json::{Value, json};

/// What a house needs beside passkeys.
const REST: [(&str, &str); 5] = [
    ("SECRET_KEY", "a secret key of more than thirty-two bytes"),
    ("MAIL_URL", "file:///tmp/unused"),
    ("MAIL_FROM", "Labs <auth@labs.example>"),
    ("FRONTEND_URL", "https://labs.example"),
    ("API_BASE_URL", "https://auth.labs.example"),
];

fn read(environment: &str, rps: &str, cors: &str) -> Result<Settings, Vec<String>> {
    let mut variables = Variables::default();
    for (name, value) in REST {
        variables.set(name, value);
    }
    variables.set("ENVIRONMENT", environment);
    variables.set("WEBAUTHN_RPS", rps);
    variables.set("CORS_ORIGINS", cors);
    Settings::read(&variables).map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn faults(list: &Value, cors: &str) -> Vec<String> {
    let faults = read("production", &list.to_string(), cors).unwrap_err();
    assert!(faults.iter().all(|fault| fault.starts_with("WEBAUTHN_RPS ")), "{faults:#?}");
    faults
}

fn party(rp_id: &str, origins: &[&str]) -> Value {
    json!({"rp_id": rp_id, "rp_name": "Labs", "origins": origins})
}

#[test]
fn a_sound_list_is_taken() {
    let list = json!([
        {"rp_id": "labs.example", "rp_name": "Labs", "origins": ["https://labs.example", "https://a.labs.example:8443",
         "android:apk-key-hash:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"], "related_origins": ["https://labs.test"]},
        party("xn--bcher-kva.example", &["https://xn--bcher-kva.example"]),
    ]);
    let cors = "https://labs.example,https://a.labs.example:8443,https://labs.test,https://xn--bcher-kva.example";
    let settings = read("production", &list.to_string(), cors).unwrap();
    assert_eq!(settings.passkeys.parties.for_origin(None).unwrap().id(), "labs.example");
    assert_eq!(settings.passkeys.parties.for_origin(Some("https://labs.test")).unwrap().id(), "labs.example");
    assert!(settings.passkeys.parties.for_origin(Some("https://evil.example")).is_none());
    assert!(!settings.passkeys.check_discloses);
    assert_eq!(settings.warnings, Vec::<String>::new());
    assert!(read("production", "[]", "").unwrap().passkeys.parties.for_origin(None).is_none());
}

#[test]
fn every_fault_is_told_at_once() {
    let list = json!([
        party("labs.example", &["https://labs.example", "https://evil.example", "http://labs.example"]),
        party("labs.example", &["https://labs.example"]),
        {"rp_id": "Prima.example", "rp_name": "Prima", "origins": ["https://prima.example"]},
        {"rp_id": "third.example", "origins": []},
        {"rp_id": "fourth.example", "rp_name": " ", "origins": []},
        7,
    ]);
    let cors = "https://labs.example,https://prima.example";
    let faults = faults(&list, cors);
    for part in [
        "has a faulty entry 4: missing field `rp_name`",
        "has a faulty entry 6",
        "holds the rp_id \"labs.example\" twice",
        "holds the origin \"https://labs.example\" twice",
        "holds \"https://evil.example\", whose host is neither \"labs.example\" nor below it",
        "holds \"http://labs.example\": passkeys need https",
        "holds the rp_id \"Prima.example\", which is not a lower-case domain name",
        "names no origins for \"fourth.example\"",
        "needs an rp_name of 1 to 64 characters for \"fourth.example\"",
    ] {
        assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:#?}");
    }
}

#[test]
fn faults_of_other_variables_are_told_beside_them() {
    let list = json!([party("labs.example", &["https://labs.example"])]).to_string();
    let faults = read("staging", &list, "https://other.example").unwrap_err();
    assert!(faults.iter().any(|fault| fault.starts_with("ENVIRONMENT ")), "{faults:?}");
    let missing = "WEBAUTHN_RPS holds \"https://labs.example\", which is missing in CORS_ORIGINS";
    assert!(faults.iter().any(|fault| fault == missing), "{faults:?}");
}

#[test]
fn what_is_no_list_is_refused() {
    for text in ["{", "{}", "7", "\"labs.example\"", "[1]", "[{}]", r#"[{"rp_id":1,"rp_name":"x","origins":[]}]"#] {
        let faults = read("production", text, "").unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("WEBAUTHN_RPS "), "{faults:?}");
    }
    let typo = json!([{"rp_id": "a.example", "rp_name": "A", "origins": ["https://a.example"], "related": []}]);
    assert!(faults(&typo, "https://a.example")[0].contains("unknown field `related`"));
}

#[test]
fn an_id_is_a_domain_and_an_origin_is_spelled_as_browsers_send_it() {
    for id in [
        "",
        "com",
        "203.0.113.7",
        "[::1]",
        "labs.example.",
        "labs.example:443",
        "https://labs.example",
        "bücher.example",
        "a b.example",
    ] {
        let list = json!([party(id, &["https://labs.example"])]);
        assert!(faults(&list, "https://labs.example")[0].contains("rp_id"), "{id}");
    }
    for origin in [
        "https://labs.example/",
        "https://LABS.example",
        "labs.example",
        "https://labs.example:443",
        "https://labs.example/x",
        "https://user@labs.example",
        "ftp://labs.example",
        "https://*.labs.example",
        "https://203.0.113.7",
        "android:apk-key-hash:short",
        "android:apk-key-hash:",
        "",
    ] {
        let list = json!([party("labs.example", &["https://labs.example", origin])]);
        assert!(!faults(&list, "https://labs.example").is_empty(), "{origin}");
    }
    let below = json!([party("labs.example", &["https://evillabs.example"])]);
    assert!(faults(&below, "https://evillabs.example")[0].contains("neither"), "a suffix is not a subdomain");
    let app = json!([party("labs.example", &["android:apk-key-hash:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"])]);
    assert!(faults(&app, "")[0].contains("names no web origin"));
}

#[test]
fn plain_http_is_for_localhost_in_development() {
    let list =
        json!([party("localhost", &["http://localhost:3000"]), party("a.localhost", &["http://a.localhost:3000"])]);
    let cors = "http://localhost:3000,http://a.localhost:3000,http://labs.example";
    assert!(read("development", &list.to_string(), cors).is_ok());
    assert_eq!(read("production", &list.to_string(), cors).unwrap_err().len(), 2);
    let public = json!([party("labs.example", &["http://labs.example"])]).to_string();
    assert_eq!(read("development", &public, cors).unwrap_err().len(), 1);
}

#[test]
fn a_related_origin_is_another_domain_over_https() {
    for (origin, part) in [
        ("http://labs.test", "not https"),
        ("https://shop.labs.example", "belongs in origins"),
        ("https://labs.example:444", "belongs in origins"),
        ("https://labs.test", "missing in CORS_ORIGINS"),
        ("android:apk-key-hash:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", "not an origin"),
    ] {
        let mut entry = party("labs.example", &["https://labs.example"]);
        entry["related_origins"] = json!([origin]);
        let faults = faults(&json!([entry]), "https://labs.example");
        assert!(faults.len() == 1 && faults[0].contains(part), "{origin}: {faults:?}");
    }
    let mut first = party("labs.example", &["https://labs.example"]);
    first["related_origins"] = json!(["https://prima.example"]);
    let list = json!([first, party("prima.example", &["https://prima.example"])]);
    assert!(faults(&list, "https://labs.example,https://prima.example")[0].contains("twice"));
}

#[test]
fn more_differently_named_sites_than_browsers_read_are_warned_of() {
    let related = |names: &[&str]| {
        let origins: Vec<String> = names.iter().map(|name| format!("https://{name}")).collect();
        let mut entry = party("labs.example", &["https://labs.example"]);
        entry["related_origins"] = json!(origins);
        let cors = format!("https://labs.example,{}", origins.join(","));
        read("production", &json!([entry]).to_string(), &cors).unwrap().warnings
    };
    // One name under many endings counts once.
    let few = ["labs.ch", "labs.de", "www.labs.fr", "labs.co.uk", "a.test", "b.test", "c.com.au", "d.test"];
    assert_eq!(related(&few), Vec::<String>::new());
    let many = ["a.test", "b.test", "c.test", "d.test", "e.test"];
    assert_eq!(related(&many).len(), 1);
    assert!(related(&many)[0].contains("WEBAUTHN_RPS") && related(&many)[0].contains("labs.example"));
}
