//! The keys, letter for letter: workers of the original count under the same ones. And the policy's literals.

use std::collections::HashSet;

use labs_auth::limit::{Bucket, Charge, ClientIp, MailScope, Quotas};

use super::world::{LOGIN, client, host};

#[test]
fn every_key_is_spelt_as_the_contract_spells_it() {
    let someone = host(7);
    let expected = [
        (Charge::ip(&someone), "rate_limit:ip:203.0.113.7"),
        (Charge::public_ip(&someone), "rate_limit:public_ip:203.0.113.7"),
        (Charge::auth(LOGIN, &someone), "rate_limit:auth:/api/auth/login:203.0.113.7"),
        (Charge::signup_ip(&someone), "rate_limit:prima_signup:ip:203.0.113.7"),
        (Charge::signup_email("a@b.ch"), "rate_limit:prima_signup:email:a@b.ch"),
        (Charge::auth_email(MailScope::MagicLink, "a@b.ch"), "rate_limit:auth_email:magic-link:a@b.ch"),
        (Charge::auth_email(MailScope::PasswordReset, "a@b.ch"), "rate_limit:auth_email:password-reset:a@b.ch"),
        (Charge::auth_email(MailScope::Verification, "a@b.ch"), "rate_limit:auth_email:verification:a@b.ch"),
        (Charge::auth_email(MailScope::Registration, "a@b.ch"), "rate_limit:auth_email:registration:a@b.ch"),
        (Charge::auth_email(MailScope::ChangeEmail, "a@b.ch"), "rate_limit:auth_email:change-email:a@b.ch"),
        (Charge::auth_email(MailScope::Leave, "a@b.ch"), "rate_limit:auth_email:leave:a@b.ch"),
        (Charge::account("a@b.ch"), "rate_limit:account:a@b.ch"),
        (Charge::device("d1"), "rate_limit:device:d1"),
    ];
    for (charge, key) in &expected {
        assert_eq!(charge.key(), *key);
    }
    let buckets: HashSet<Bucket> = expected.iter().map(|(charge, _)| charge.bucket()).collect();
    assert_eq!(buckets, Bucket::ALL.iter().copied().collect());
}

#[test]
fn an_ipv6_client_is_counted_by_its_network() {
    let charge = Charge::ip(&client([0x2001, 0xdb8, 0xabcd, 0x12, 0, 0, 0, 1]));
    assert_eq!(charge.key(), "rate_limit:ip:2001:db8:abcd:12::/64");
    assert_eq!(Charge::ip(&ClientIp::unknown()).key(), "rate_limit:ip:unknown");
    assert_eq!(Charge::ip(&ClientIp::local()).key(), "rate_limit:ip:local");
}

#[test]
fn quotas_and_windows_are_the_contracts() {
    let quotas = Quotas::default();
    let of = |bucket: Bucket| (bucket.name(), bucket.quota(&quotas), bucket.window().as_secs());
    assert_eq!(of(Bucket::Ip), ("ip", 1000, 60));
    assert_eq!(of(Bucket::PublicIp), ("public-ip", 240, 60));
    assert_eq!(of(Bucket::Auth), ("auth", 30, 60));
    assert_eq!(of(Bucket::AuthEmail(MailScope::Leave)), ("auth-email", 10, 60));
    assert_eq!(of(Bucket::SignupIp), ("signup-ip", 5, 3600));
    assert_eq!(of(Bucket::SignupEmail), ("signup-email", 3, 3600));
    assert_eq!(of(Bucket::Account), ("account", 100, 3600));
    assert_eq!(of(Bucket::Device), ("device", 10, 60));
}

#[test]
fn a_charge_prints_no_mailbox() {
    assert_eq!(format!("{:?}", Charge::signup_email("a@b.ch")), "Charge(signup-email)");
}
