//! Policies beside the routes that are served.

use labs_auth::{
    app::{self, router},
    clock::Clock,
    config::Environment,
    limit::{Limiter, Setup, policy::PolicySource},
};

fn limiter(text: &str) -> Limiter {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let source = PolicySource { path: Some(file.path().to_owned()), ..PolicySource::default() };
    let policies = source.load().unwrap();
    Limiter::with(Setup { source, policies, redis: None, memory_mb: 1, key: None }, Clock::system())
}

#[test]
fn a_policy_that_would_count_nobody_is_told() {
    let policy = |route: &str, key: &str| {
        format!("[[policy]]\nroutes = [\"{route}\"]\nquota = 3\nwindow = \"60s\"\nkey = \"{key}\"\n")
    };
    let routes = router::planned(Environment::Production, true);
    let told = |route, key| app::misplaced(&limiter(&policy(route, key)), &routes);
    for (route, key) in
        [("GET /api/prima/v1/keys", "api_key"), ("POST /api/auth/login", "user"), ("POST /api/auth/login", "mailbox")]
    {
        assert_eq!(told(route, key), [format!("policy.key counts by {key}, which {route:?} does not know")]);
    }
    assert_eq!(
        told("GET /api/auth/nowhere", "ip"),
        ["policy.routes names \"GET /api/auth/nowhere\", which is not served"]
    );
    for (route, key) in [
        ("GET /api/auth/me", "api_key"),
        ("POST /api/prima/v1/keys/introspect", "api_key"),
        ("GET /api/prima/v1/keys", "user"),
        ("POST /api/auth/forgot-password", "mailbox"),
        ("POST /api/auth/login", "ip/24,48"),
    ] {
        assert!(told(route, key).is_empty(), "{route} {key}");
    }
}
