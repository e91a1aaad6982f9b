//! Developers: signing up, proving the mailbox, keys and their check. Every error of the prefix has the gateway's shape;
//! the rules about answers see to that, the tests here name codes and fields.

mod audit;
mod dump;
mod format;
mod gate;
mod introspect;
mod keys;
mod limits;
mod signup;
mod verify;

use serde_json::{Value, json};

use crate::world::{Reply, SignedIn, Verbs, World, token_of};

const ACCOUNTS: &str = "/api/prima/v1/accounts";
const VERIFY: &str = "/api/prima/v1/accounts/verify";
const KEYS: &str = "/api/prima/v1/keys";
const INTROSPECT: &str = "/api/prima/v1/keys/introspect";

/// The key of a sibling service.
const SIBLING: &str = "a-service-key-of-at-least-32-bytes-for-tests";

/// Signs an address up, from a client that nobody else is.
async fn sign_up(world: &World, email: &str) -> Reply {
    world.anonymous().post(ACCOUNTS, json!({"email": email})).await
}

/// The token in the newest sign-up mail of a mailbox.
async fn signup_token(world: &World, email: &str) -> String {
    token_of(&world.link_to(email, "/developers/verify").await)
}

async fn verify(world: &World, token: &str) -> Reply {
    world.anonymous().post(VERIFY, json!({"token": token})).await
}

/// Signs a mailbox up and proves it; answers with the first key.
async fn equip(world: &World, email: &str) -> String {
    sign_up(world, email).await.is(202);
    let token = signup_token(world, email).await;
    let reply = verify(world, &token).await;
    reply.is(201).json()["api_key"]["key"].as_str().unwrap().to_owned()
}

/// Makes a key as its owner.
async fn make(owner: &SignedIn, body: Value) -> Value {
    owner.post(KEYS, body).await.is(201).json()
}

/// A text member of an object.
fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_else(|| panic!("no text at {name}: {object}"))
}

/// What `GET /me` says to the bearer of a key.
async fn me(world: &World, key: &str) -> Reply {
    world.anonymous().get("/api/auth/me").header("authorization", format!("Bearer {key}")).await
}

trait Gateway {
    /// The gateway's object must name this field.
    fn names(&self, param: Option<&str>) -> &Self;
    /// The refusal must be the one of the hourly sign-up buckets.
    fn is_signup_limited(&self) -> &Self;
}

impl Gateway for Reply {
    #[track_caller]
    fn names(&self, param: Option<&str>) -> &Self {
        assert_eq!(self.json()["error"]["param"].as_str(), param, "{self:?}");
        self
    }

    #[track_caller]
    fn is_signup_limited(&self) -> &Self {
        self.is_error(429, "RATE_001");
        let error = &self.json()["error"];
        assert_eq!(error["message"], "Too many signup attempts. Please try again later.", "{self:?}");
        assert_eq!(error["type"], "rate_limit_error", "{self:?}");
        assert!((1..=3600).contains(&self.wait()), "{self:?}");
        self
    }
}
