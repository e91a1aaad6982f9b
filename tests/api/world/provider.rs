//! A small identity provider on the loopback interface. It keeps the protocol, checks what a client must send, and
//! lies, stalls or stutters in exactly the way a test asks for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use ring::{
    digest, hmac,
    rand::SystemRandom,
    rsa::{KeyPair, PublicKeyComponents},
    signature::RSA_PKCS1_SHA256,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use super::clock;

pub(crate) const CLIENT_ID: &str = "labs-client";
pub(crate) const CLIENT_SECRET: &str = "a client secret of the provider";

/// Made for these tests, with `openssl genpkey`; nothing else knows it.
static KEY: &[u8] = include_bytes!("provider_key.der");

/// How a token is signed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Signature {
    /// As it should be.
    Rs256,
    /// With the client's secret, which the client would accept were it careless.
    Hs256,
    /// Not at all.
    None,
    /// With the right key, for another message.
    Spoiled,
}

/// Where the provider goes silent or mad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    Discovery,
    Keys,
    Token,
    Userinfo,
}

/// How a route misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Madness {
    /// It accepts the request and says nothing.
    Silent,
    /// It answers, and the body never ends.
    Endless,
    /// It answers with what is not JSON.
    Malformed,
    /// It answers 500.
    Failing,
    /// It sends the client elsewhere.
    Redirecting,
}

/// What the provider will say. Every field is a test's to change.
pub(crate) struct Manners {
    /// Claims of the ID token beside those of the protocol.
    pub(crate) claims: Value,
    /// What userinfo says; `sub` included.
    pub(crate) userinfo: Value,
    /// The issuer in the discovery document.
    pub(crate) issuer: String,
    /// Claims of the protocol that a test replaces, or removes by `null`.
    pub(crate) protocol: Value,
    pub(crate) signature: Signature,
    /// The name of the key, in the key set and in the tokens made from now on.
    pub(crate) key_id: String,
    pub(crate) mad: HashMap<Route, Madness>,
    /// Whether the token answer carries an ID token.
    pub(crate) without_id_token: bool,
    pub(crate) access_token: String,
    /// How often each route was asked.
    pub(crate) asked: HashMap<Route, u32>,
}

/// What a code stands for.
struct Grant {
    nonce: String,
    challenge: String,
}

#[derive(Clone)]
pub(crate) struct IdentityProvider {
    pub(crate) address: String,
    manners: Arc<Mutex<Manners>>,
    grants: Arc<Mutex<HashMap<String, Grant>>>,
    _tasks: Arc<JoinSet<()>>,
}

impl IdentityProvider {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let manners = Manners {
            claims: json!({"sub": "10042", "email": "nobody@x.example", "email_verified": true, "name": "Anna Muster"}),
            userinfo: json!({"sub": "10042"}),
            issuer: address.clone(),
            protocol: json!({}),
            signature: Signature::Rs256,
            key_id: String::from("first"),
            mad: HashMap::new(),
            without_id_token: false,
            access_token: String::from("an-access-token-of-the-provider"),
            asked: HashMap::new(),
        };
        let manners = Arc::new(Mutex::new(manners));
        let grants = Arc::new(Mutex::new(HashMap::new()));
        let mut tasks = JoinSet::new();
        let desk = Self {
            address: address.clone(),
            manners: Arc::clone(&manners),
            grants: Arc::clone(&grants),
            _tasks: Arc::new(JoinSet::new()),
        };
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let desk = desk.clone();
                connections.spawn(async move {
                    let service = hyper::service::service_fn(move |request| {
                        let desk = desk.clone();
                        async move { Ok::<_, std::convert::Infallible>(desk.answer(request).await) }
                    });
                    // A client that gives up is what some tests are about.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(hyper_util::rt::TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, manners, grants, _tasks: Arc::new(tasks) }
    }

    /// The variables of a house that knows this provider.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("INFOMANIAK_CLIENT_ID", CLIENT_ID.to_owned()),
            ("INFOMANIAK_CLIENT_SECRET", CLIENT_SECRET.to_owned()),
            ("INFOMANIAK_ISSUER", self.address.clone()),
        ]
    }

    pub(crate) fn manners(&self) -> MutexGuard<'_, Manners> {
        self.manners.lock().unwrap()
    }

    /// How often a route was asked.
    pub(crate) fn asked(&self, route: Route) -> u32 {
        self.manners().asked.get(&route).copied().unwrap_or(0)
    }

    /// The person has agreed: a code for an authorization request.
    pub(crate) fn grant(&self, nonce: &str, challenge: &str) -> String {
        let code = format!("code-{:032x}", super::random());
        let grant = Grant { nonce: nonce.to_owned(), challenge: challenge.to_owned() };
        self.grants.lock().unwrap().insert(code.clone(), grant);
        code
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Answer> {
        let route = match request.uri().path() {
            "/.well-known/openid-configuration" => Route::Discovery,
            "/oauth2/jwks" => Route::Keys,
            "/token" => Route::Token,
            "/oauth2/userinfo" => Route::Userinfo,
            _ => return status(404),
        };
        let mad = {
            let mut manners = self.manners();
            *manners.asked.entry(route).or_default() += 1;
            manners.mad.get(&route).copied()
        };
        match mad {
            Some(Madness::Silent) => std::future::pending().await,
            Some(Madness::Endless) => Response::new(Answer::Endless),
            Some(Madness::Malformed) => Response::new(Answer::once("{\"issuer\": ")),
            Some(Madness::Failing) => status(500),
            Some(Madness::Redirecting) => {
                let mut response = status(302);
                response.headers_mut().insert("location", "http://127.0.0.1:9/elsewhere".parse().unwrap());
                response
            }
            None => match route {
                Route::Discovery => self.discovery(),
                Route::Keys => self.keys(),
                Route::Token => self.token(request).await,
                Route::Userinfo => self.userinfo(&request),
            },
        }
    }

    fn discovery(&self) -> Response<Answer> {
        let at = |path: &str| format!("{}{path}", self.address);
        say(&json!({
            "issuer": self.manners().issuer,
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "userinfo_endpoint": at("/oauth2/userinfo"),
            "jwks_uri": at("/oauth2/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "HS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        }))
    }

    fn keys(&self) -> Response<Answer> {
        let key = ring::rsa::KeyPair::from_pkcs8(KEY).unwrap();
        let parts: PublicKeyComponents<Vec<u8>> = PublicKeyComponents::from(key.public());
        let (n, e) = (URL_SAFE_NO_PAD.encode(parts.n), URL_SAFE_NO_PAD.encode(parts.e));
        let kid = &self.manners().key_id;
        say(&json!({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n, "e": e}]}))
    }

    /// Refuses whatever a careful provider would refuse.
    async fn token(&self, request: Request<Incoming>) -> Response<Answer> {
        let form = request.into_body().collect().await.unwrap().to_bytes();
        let form: HashMap<String, String> = url::form_urlencoded::parse(&form).into_owned().collect();
        let field = |name: &str| form.get(name).cloned().unwrap_or_default();
        let refuse = |why: &str| {
            let mut response = say(&json!({"error": "invalid_grant", "error_description": why}));
            *response.status_mut() = http::StatusCode::BAD_REQUEST;
            response
        };
        if field("client_id") != CLIENT_ID || field("client_secret") != CLIENT_SECRET {
            return refuse("client");
        }
        if field("redirect_uri") != "https://auth.labs.example/api/auth/infomaniak/callback" {
            return refuse("redirect_uri");
        }
        let Some(grant) = self.grants.lock().unwrap().remove(&field("code")) else { return refuse("code") };
        let verifier = field("code_verifier");
        let challenge = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()));
        if challenge != grant.challenge || verifier.len() != 64 || field("grant_type") != "authorization_code" {
            return refuse("code_verifier");
        }
        let manners = self.manners();
        let mut answer =
            json!({"access_token": manners.access_token, "token_type": "Bearer", "expires_in": 600, "scope": "openid"});
        if !manners.without_id_token {
            answer["id_token"] = self.id_token(&manners, &grant.nonce).into();
        }
        say(&answer)
    }

    fn id_token(&self, manners: &Manners, nonce: &str) -> String {
        let now = clock::START / 1_000_000;
        let mut claims = json!({
            "iss": self.address, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce,
        });
        for part in [&manners.claims, &manners.protocol] {
            for (name, value) in part.as_object().unwrap() {
                claims[name] = value.clone();
            }
        }
        let claims: serde_json::Map<String, Value> =
            claims.as_object().unwrap().clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
        let algorithm = match manners.signature {
            Signature::Rs256 | Signature::Spoiled => "RS256",
            Signature::Hs256 => "HS256",
            Signature::None => "none",
        };
        let head = json!({"alg": algorithm, "typ": "JWT", "kid": manners.key_id});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encode(&head), encode(&Value::Object(claims)));
        let signature = match manners.signature {
            Signature::Rs256 => rs256(message.as_bytes()),
            Signature::Spoiled => rs256(b"another message"),
            Signature::Hs256 => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, CLIENT_SECRET.as_bytes());
                hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
            }
            Signature::None => Vec::new(),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn userinfo(&self, request: &Request<Incoming>) -> Response<Answer> {
        let manners = self.manners();
        let right = format!("Bearer {}", manners.access_token);
        let sent = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        if sent == Some(&right) { say(&manners.userinfo) } else { status(401) }
    }
}

fn rs256(message: &[u8]) -> Vec<u8> {
    let key: KeyPair = KeyPair::from_pkcs8(KEY).unwrap();
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
    signature
}

/// A body: whole, or without an end.
enum Answer {
    Once(Full<Bytes>),
    Endless,
}

impl Answer {
    fn once(text: impl Into<Bytes>) -> Self {
        Self::Once(Full::new(text.into()))
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Once(body) => std::pin::Pin::new(body).poll_frame(context),
            Self::Endless => {
                std::task::Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(&[b' '; 8192])))))
            }
        }
    }
}

fn say(value: &Value) -> Response<Answer> {
    let mut response = Response::new(Answer::once(value.to_string()));
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    response
}

fn status(code: u16) -> Response<Answer> {
    let mut response = Response::new(Answer::once(""));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}
