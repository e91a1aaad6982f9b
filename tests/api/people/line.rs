//! The lines of an import: what they may hold, and why one is refused.

use labs_auth::{
    cli::users::line::read,
    clock::Timestamp,
    people::bring::{Newcomer, Role},
};

/// 2026-01-02 03:04:05 UTC.
const NOW: Timestamp = Timestamp::from_micros(1_767_323_045_000_000);

fn line(text: &str) -> Result<Newcomer, String> {
    read(text.as_bytes(), NOW)
}

#[test]
fn an_address_is_enough_and_every_other_field_has_a_default() {
    let least = line(r#"{"email": " Anna@B\u00fccher.example "}"#).unwrap();
    assert_eq!(least.email.as_str(), "anna@xn--bcher-kva.example");
    assert_eq!((least.role, least.email_verified, least.is_active), (Role::User, false, true));
    assert!(least.password_hash.is_none() && least.created_at.is_none() && least.full_name.is_none());
    let most = line(
        r#"{"email":"a@b.ch","password_hash":"$2y$05$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW",
            "full_name":" Anna ","locale":"it","email_verified":true,"is_active":false,"role":"admin",
            "created_at":"2020-02-29T23:30:00.25+01:00","workspace_name":"W"}"#,
    )
    .unwrap();
    assert_eq!(most.full_name.unwrap().0, "Anna");
    assert_eq!((most.role, most.email_verified, most.is_active), (Role::Admin, true, false));
    assert_eq!(most.created_at.unwrap().to_rfc3339(), "2020-02-29T22:30:00.25Z");
    assert!(line(r#"{"email":"a@b.ch","password_hash":null,"created_at":null,"role":null}"#).is_ok());
}

#[test]
fn a_line_that_cannot_be_used_says_why_and_repeats_nothing() {
    let cases = [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "email: Field required"),
        (r#"{"email":"marker"}"#, "email: value is not a valid email address"),
        (r#"{"email":"a@b.ch","password_hash":"marker-in-clear"}"#, "password_hash: the hash has no form"),
        (r#"{"email":"a@b.ch","password_hash":""}"#, "password_hash: the hash has no form"),
        (
            r#"{"email":"a@b.ch","password_hash":"$2b$31$abcdefghijklmnopqrstuusoXmohw0gN.mVy56A6vZPMaemS/sxVW"}"#,
            "password_hash: the bcrypt hash costs more",
        ),
        (r#"{"email":"a@b.ch","role":"marker"}"#, "role: Input should be"),
        (r#"{"email":"a@b.ch","locale":"marker"}"#, "locale: Input should be"),
        (r#"{"email":"a@b.ch","email_verified":"true"}"#, "email_verified: Input should be"),
        (r#"{"email":"a@b.ch","is_active":1}"#, "is_active: Input should be"),
        (r#"{"email":"a@b.ch","created_at":"marker"}"#, "created_at: Input should be a moment"),
        (r#"{"email":"a@b.ch","created_at":"2026-01-02T03:04:06Z"}"#, "created_at: the moment lies in the future"),
        (r#"{"email":"a@b.ch","full_name":"a\u0000marker"}"#, "full_name: "),
        (r#"{"email":"a@b.ch","marker":1}"#, "a field has a name that is not one of"),
        (r#"{"email":"a@b.ch","role":"x","locale":"y"}"#, "locale: Input should be"),
    ];
    for (text, why) in cases {
        let reason = line(text).unwrap_err();
        assert!(reason.contains(why), "{text}: {reason}");
        assert!(!reason.contains("marker"), "{text}: {reason}");
    }
    assert!(read(b"{\"email\":\"a\xff@b.ch\"}", NOW).is_err());
}
