//! People who ask: somebody nobody knows, and somebody who has signed in. They share one set of verbs.

use std::net::IpAddr;

use http::Method;
use serde_json::{Value, json};

use super::{Ask, PASSWORD, Reply, World, letters::token_of, somewhere};

/// What every person can do.
pub(crate) trait Verbs {
    /// Begins a request that carries who is asking.
    fn ask(&self, method: Method, path: &str) -> Ask;

    fn get(&self, path: &str) -> Ask {
        self.ask(Method::GET, path)
    }

    fn post(&self, path: &str, body: Value) -> Ask {
        self.ask(Method::POST, path).json(&body)
    }

    fn patch(&self, path: &str, body: Value) -> Ask {
        self.ask(Method::PATCH, path).json(&body)
    }

    fn delete(&self, path: &str) -> Ask {
        self.ask(Method::DELETE, path)
    }

    /// Posts bytes under any content type, or none.
    fn raw(&self, path: &str, content_type: Option<&str>, bytes: impl Into<Vec<u8>>) -> Ask {
        let ask = self.ask(Method::POST, path).bytes(bytes);
        match content_type {
            Some(content_type) => ask.only("content-type", content_type),
            None => ask,
        }
    }

    /// Tries to sign in.
    fn login(&self, email: &str, password: &str) -> Ask {
        self.post("/api/auth/login", json!({"email": email, "password": password}))
    }
}

/// Somebody at an address of their own, with nothing to show.
#[derive(Clone)]
pub(crate) struct Anonymous {
    world: World,
    pub(crate) address: IpAddr,
}

/// A person with a live session.
#[derive(Clone)]
pub(crate) struct SignedIn {
    world: World,
    pub(crate) address: IpAddr,
    pub(crate) email: String,
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl Verbs for Anonymous {
    fn ask(&self, method: Method, path: &str) -> Ask {
        Ask::new(&self.world, method, path, self.address)
    }
}

impl Verbs for SignedIn {
    fn ask(&self, method: Method, path: &str) -> Ask {
        let ask = Ask::new(&self.world, method, path, self.address);
        ask.only("authorization", format!("Bearer {}", self.access))
    }
}

impl SignedIn {
    /// Exchanges a refresh token of this or any session, from here.
    pub(crate) fn refresh_with(&self, token: &str) -> Ask {
        let ask = Ask::new(&self.world, Method::POST, "/api/auth/refresh", self.address);
        ask.json(&json!({"refresh_token": token}))
    }

    /// Whether the session still answers.
    pub(crate) async fn is_signed_in(&self) -> bool {
        let reply = self.get("/api/auth/me").await;
        if reply.status != 200 {
            reply.is_error(401, "AUTH_004");
        }
        reply.status == 200
    }
}

impl World {
    /// Somebody new, at an address that nobody else has.
    pub(crate) fn anonymous(&self) -> Anonymous {
        Anonymous { world: self.clone(), address: somewhere() }
    }

    /// Somebody at this address.
    pub(crate) fn anonymous_at(&self, address: impl Into<IpAddr>) -> Anonymous {
        Anonymous { world: self.clone(), address: address.into() }
    }

    /// Registers a mailbox; its owner has not confirmed it.
    pub(crate) async fn register(&self, email: &str, password: &str) -> Reply {
        self.anonymous().post("/api/auth/register", json!({"email": email, "password": password})).await
    }

    /// A new mailbox, registered and not confirmed.
    pub(crate) async fn unconfirmed(&self) -> String {
        let email = self.mailbox();
        self.register(&email, PASSWORD).await.is(201);
        email
    }

    /// Registers a mailbox and confirms it.
    pub(crate) async fn member_at(&self, email: &str, password: &str) {
        // Mails go to the address in its canonical form.
        let email = self.register(email, password).await.is(201).field("email");
        let token = token_of(&self.link_to(&email, "/verify-email").await);
        self.anonymous().post("/api/auth/verify-email", json!({"token": token})).await.is(200);
    }

    /// A new mailbox whose owner has confirmed it.
    pub(crate) async fn member(&self) -> String {
        let email = self.mailbox();
        self.member_at(&email, PASSWORD).await;
        email
    }

    /// Signs a member in.
    pub(crate) async fn sign_in(&self, email: &str, password: &str) -> SignedIn {
        let anonymous = self.anonymous();
        let reply = anonymous.login(email, password).await;
        reply.is(200);
        self.holder_of(&reply)
    }

    /// A new member who has signed in.
    pub(crate) async fn signed_in(&self) -> SignedIn {
        let email = self.member().await;
        self.sign_in(&email, PASSWORD).await
    }

    /// Whoever was just given these tokens.
    pub(crate) fn holder_of(&self, reply: &Reply) -> SignedIn {
        SignedIn {
            world: self.clone(),
            address: somewhere(),
            email: reply.json()["user"]["email"].as_str().unwrap().to_owned(),
            access: reply.field("access_token"),
            refresh: reply.field("refresh_token"),
        }
    }

    /// A token of this purpose, fresh from a member's mailbox: `/reset-password`, `/set-password` or `/verify-email`.
    pub(crate) async fn mailed_token(&self, email: &str, page: &str) -> String {
        token_of(&self.link_to(email, page).await)
    }
}
