//! A request under construction. Awaiting it sends it into the house, in-process, and checks the answer by the rules
//! that hold for every answer.

use std::{
    future::{Future, IntoFuture},
    net::{IpAddr, Ipv4Addr},
    pin::Pin,
};

use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use labs_auth::middleware::client_ip::Peer;
use serde_json::Value;
use tower::ServiceExt;

use super::{HOST, Reply, World, invariants};

/// A request on its way.
#[derive(Clone)]
pub(crate) struct Ask {
    world: World,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    peer: Peer,
}

const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

impl Ask {
    pub(super) fn new(world: &World, method: Method, path: &str, client: IpAddr) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(HOST));
        headers.insert(FORWARDED, HeaderValue::try_from(client.to_string()).unwrap());
        Self {
            world: world.clone(),
            method,
            path: path.to_owned(),
            headers,
            body: Vec::new(),
            peer: Peer::Address(Ipv4Addr::LOCALHOST.into()),
        }
    }

    /// Adds a header line.
    pub(crate) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
        self.headers.append(HeaderName::from_static(name), value);
        self
    }

    /// Sets a header line in place of those that are there.
    pub(crate) fn only(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.remove(name);
        self.header(name, value)
    }

    /// Removes a header.
    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Asks from a page of this origin.
    pub(crate) fn origin(self, origin: &str) -> Self {
        self.only("origin", origin)
    }

    /// Asks through proxies that say this.
    pub(crate) fn forwarded(self, list: &str) -> Self {
        self.only("x-forwarded-for", list)
    }

    /// Asks over a connection from this address.
    pub(crate) fn peer(mut self, address: impl Into<IpAddr>) -> Self {
        self.peer = Peer::Address(address.into());
        self
    }

    /// Sends these bytes.
    pub(crate) fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = bytes.into();
        self
    }

    /// Sends JSON.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.only("content-type", "application/json").bytes(serde_json::to_vec(body).unwrap())
    }

    /// The path as it is routed: without query, and without the authority of an absolute target.
    pub(super) fn plain_path(&self) -> String {
        self.path.parse::<Uri>().unwrap().path().to_owned()
    }

    /// Passwords and tokens in this request.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        for value in self.headers.get_all(header::AUTHORIZATION).iter().chain(self.headers.get_all(header::COOKIE)) {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            found.extend(text.split([' ', ';', '=', ',']).map(str::to_owned));
            found.retain(|part| !matches!(part.as_str(), "labs_refresh" | "labs_oidc" | "labs_device"));
        }
        if let Ok(Value::Object(fields)) = serde_json::from_slice(&self.body) {
            const NAMES: [&str; 11] = [
                "password",
                "new_password",
                "current_password",
                "token",
                "refresh_token",
                "code",
                "code_verifier",
                "handle",
                "ticket",
                "key",
                "invite_code",
            ];
            let secrets = fields.into_iter().filter(|(name, _)| NAMES.contains(&name.as_str()));
            found.extend(secrets.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
        }
        found
    }

    async fn send(self) -> Reply {
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.path.parse().unwrap();
        *request.headers_mut() = self.headers.clone();
        request.extensions_mut().insert(self.peer);
        self.world.facts().remember(self.secrets());
        let response = match self.world.app().house.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let reply = Reply::new(format!("{} {}", self.method, self.path), parts.status, parts.headers, body.to_vec());
        invariants::check(self.world.facts(), &self, &reply);
        reply
    }
}

impl IntoFuture for Ask {
    type Output = Reply;
    type IntoFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
