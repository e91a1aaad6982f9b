//! Which keys sign and which are believed: one kind at a time, and the one before while keys rotate.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use labs_auth::{
    config::{Settings, Variables},
    secret::SecretKey,
    session::{PrivateKey, Signer, TokenKeys},
};
use ring::{hmac, signature};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{SignedIn, Verbs, World};

const ME: &str = "/api/auth/me";
const JWKS: &str = "/.well-known/jwks.json";
const ISSUER: &str = "https://auth.labs.example";
const SECRET: &str = "a secret key of more than thirty-two bytes";

/// The key pair of RFC 8037, appendix A, and its thumbprint from the same place.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
const THUMBPRINT: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
const PUBLIC_X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/// Another pair: the secret key of RFC 8032, 7.1, test 2, in PKCS#8.
const OTHER_PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n-----END PRIVATE KEY-----\n";

fn segment(token: &str, number: usize) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(number).unwrap()).unwrap()).unwrap()
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Anna's claims, signed by these keys.
fn signed_by(keys: &TokenKeys, world: &World, anna: &SignedIn) -> String {
    let claims = segment(&anna.access, 1);
    let id = |name: &str| claims[name].as_str().unwrap().parse::<Uuid>().unwrap();
    let signer = Signer::new(ISSUER.to_owned(), keys).unwrap();
    signer.sign(id("sub"), id("sid"), None, Uuid::new_v4(), world.now(), std::time::Duration::from_mins(30)).unwrap()
}

fn shared() -> TokenKeys {
    TokenKeys::Shared { current: SecretKey::parse(SECRET).unwrap(), previous: None }
}

fn pair(pem: &str) -> TokenKeys {
    TokenKeys::Pair { current: PrivateKey::from_pem(pem).unwrap(), previous: None }
}

async fn is_believed(world: &World, token: &str) -> bool {
    let reply = world.anonymous().get(ME).header("authorization", format!("Bearer {token}")).await;
    if reply.status != 200 {
        reply.is_error(401, "AUTH_004");
    }
    reply.status == 200
}

#[tokio::test]
async fn with_a_key_pair_anybody_can_check_a_token_by_the_published_key() {
    let world = World::with(&[("JWT_PRIVATE_KEY", PEM)]).await;
    let anna = world.signed_in().await;
    let header = segment(&anna.access, 0);
    assert_eq!((&header["alg"], &header["kid"]), (&json!("EdDSA"), &json!(THUMBPRINT)));
    assert!(anna.is_signed_in().await);
    let published = world.anonymous().get(JWKS).await;
    assert_eq!(published.is(200).header("cache-control"), Some("public, max-age=300"));
    let key = json!({"kty": "OKP", "crv": "Ed25519", "x": PUBLIC_X, "use": "sig", "alg": "EdDSA", "kid": THUMBPRINT});
    assert_eq!(published.json(), json!({"keys": [key]}));
    let public = signature::UnparsedPublicKey::new(&signature::ED25519, URL_SAFE_NO_PAD.decode(PUBLIC_X).unwrap());
    let (message, signed) = anna.access.rsplit_once('.').unwrap();
    public.verify(message.as_bytes(), &URL_SAFE_NO_PAD.decode(signed).unwrap()).unwrap();
}

#[tokio::test]
async fn with_a_secret_alone_no_key_is_published() {
    let world = World::new().await;
    assert_eq!(world.anonymous().get(JWKS).await.is(200).json(), json!({"keys": []}));
}

#[tokio::test]
async fn no_token_is_believed_under_the_other_algorithm() {
    let world = World::with(&[("JWT_PRIVATE_KEY", PEM)]).await;
    let anna = world.signed_in().await;
    assert!(is_believed(&world, &signed_by(&pair(PEM), &world, &anna)).await);
    // The very secret of this service, but not its algorithm.
    assert!(!is_believed(&world, &signed_by(&shared(), &world, &anna)).await);
    // And the reverse.
    let plain = World::new().await;
    let bea = plain.signed_in().await;
    assert!(is_believed(&plain, &signed_by(&shared(), &plain, &bea)).await);
    assert!(!is_believed(&plain, &signed_by(&pair(PEM), &plain, &bea)).await);
}

#[tokio::test]
async fn no_forged_header_changes_what_is_believed() {
    let world = World::with(&[("JWT_PRIVATE_KEY", PEM)]).await;
    let anna = world.signed_in().await;
    let (message, signed) = anna.access.rsplit_once('.').unwrap();
    let payload = message.split_once('.').unwrap().1;
    let with_header = |header: Value| format!("{}.{payload}", encoded(&header));
    // The public key, raw and as a document, is no secret: HMAC with it proves nothing.
    let raw = URL_SAFE_NO_PAD.decode(PUBLIC_X).unwrap();
    let document = world.anonymous().get(JWKS).await.json().to_string();
    for secret in [raw.as_slice(), PUBLIC_X.as_bytes(), document.as_bytes(), PEM.as_bytes(), b""] {
        for kid in [json!(THUMBPRINT), Value::Null] {
            let message = with_header(json!({"alg": "HS256", "typ": "JWT", "kid": kid}));
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
            assert!(!is_believed(&world, &format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag))).await);
        }
    }
    for alg in ["none", "None", "NONE", "nOnE", "HS384", "ES256", "RS256", "Ed25519"] {
        for kid in [json!(THUMBPRINT), Value::Null] {
            let message = with_header(json!({"alg": alg, "typ": "JWT", "kid": kid}));
            assert!(!is_believed(&world, &format!("{message}.")).await, "{alg}");
            assert!(!is_believed(&world, &format!("{message}.{signed}")).await, "{alg}");
        }
    }
}

#[tokio::test]
async fn a_token_names_its_key_and_an_unknown_name_opens_nothing() {
    let world = World::with(&[("JWT_PRIVATE_KEY", PEM)]).await;
    let anna = world.signed_in().await;
    let payload = anna.access.split('.').nth(1).unwrap().to_owned();
    let der = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    let key = signature::Ed25519KeyPair::from_seed_unchecked(&der).unwrap();
    let genuine = |header: Value| {
        let message = format!("{}.{payload}", encoded(&header));
        let signed = URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes()));
        format!("{message}.{signed}")
    };
    // Signed by the right key each time: the header alone decides.
    assert!(is_believed(&world, &genuine(json!({"alg": "EdDSA", "kid": THUMBPRINT}))).await);
    assert!(!is_believed(&world, &genuine(json!({"alg": "EdDSA"}))).await);
    for kid in ["", "x", "../../dev/null", "kprk_qmxvwayva9wwbf6iuo3vvzz7txhctwxbygrs4k"] {
        assert!(!is_believed(&world, &genuine(json!({"alg": "EdDSA", "kid": kid}))).await, "{kid}");
    }
    assert!(!is_believed(&world, &genuine(json!({"alg": "EdDSA", "kid": 7}))).await);
    // A key that the token brings along is not looked at.
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": PUBLIC_X});
    assert!(!is_believed(&world, &genuine(json!({"alg": "EdDSA", "kid": "mine", "jwk": jwk}))).await);
    // Somebody else's pair under our name.
    let foreign = signed_by(&pair(OTHER_PEM), &world, &anna);
    assert!(!is_believed(&world, &foreign).await);
}

#[tokio::test]
async fn key_pairs_rotate_without_signing_anybody_out() {
    let world = World::with(&[("JWT_PRIVATE_KEY", PEM)]).await;
    let anna = world.signed_in().await;
    let rows = ("DATABASE_URL", world.database_url());
    let next = World::with(&[rows, ("JWT_PRIVATE_KEY", OTHER_PEM), ("JWT_PRIVATE_KEY_PREVIOUS", PEM)]).await;
    assert!(is_believed(&next, &anna.access).await);
    let published = next.anonymous().get(JWKS).await;
    let published = published.json();
    let keys: Vec<&Value> = published["keys"].as_array().unwrap().iter().map(|key| &key["kid"]).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[1], THUMBPRINT);
    // New tokens are signed by the new key.
    let refreshed = next.anonymous().post("/api/auth/refresh", json!({"refresh_token": anna.refresh})).await;
    let renewed = next.holder_of(refreshed.is(200));
    assert_eq!(&segment(&renewed.access, 0)["kid"], keys[0]);
    let forgotten = World::with(&[rows, ("JWT_PRIVATE_KEY", OTHER_PEM)]).await;
    assert!(!is_believed(&forgotten, &anna.access).await);
    assert!(is_believed(&forgotten, &renewed.access).await);
}

#[tokio::test]
async fn changing_the_algorithm_asks_for_a_refresh_and_no_more() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let moved = World::with(&[("DATABASE_URL", world.database_url()), ("JWT_PRIVATE_KEY", PEM)]).await;
    assert!(!is_believed(&moved, &anna.access).await);
    let refreshed = moved.anonymous().post("/api/auth/refresh", json!({"refresh_token": anna.refresh})).await;
    assert!(is_believed(&moved, &moved.holder_of(refreshed.is(200)).access).await);
}

#[test]
fn a_key_may_stand_in_the_variable_or_in_a_file_and_a_bad_one_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token.pem");
    std::fs::write(&path, PEM).unwrap();
    let faults = |pairs: &[(&str, &str)]| -> Vec<String> {
        let mut variables = Variables::default();
        for (name, value) in pairs {
            variables.set(name, *value);
        }
        let faults = Settings::read(&variables).unwrap_err();
        faults.iter().map(ToString::to_string).filter(|fault| fault.starts_with("JWT_")).collect()
    };
    for good in [PEM, &PEM.replace('\n', "\\n"), path.to_str().unwrap()] {
        assert_eq!(faults(&[("JWT_PRIVATE_KEY", good)]), Vec::<String>::new());
    }
    let public = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----";
    for bad in [public, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "/nowhere/token.pem"] {
        let faults = faults(&[("JWT_PRIVATE_KEY", bad)]);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(!faults[0].contains("MCow"), "{faults:?}");
    }
    assert_eq!(
        faults(&[("JWT_PRIVATE_KEY_PREVIOUS", PEM)]),
        ["JWT_PRIVATE_KEY_PREVIOUS needs JWT_PRIVATE_KEY beside it"]
    );
}
