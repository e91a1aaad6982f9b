//! Requests to the provider: no redirects, a bounded time, a bounded size, encrypted unless both ends are this machine.

use std::{future::Future, pin::Pin, time::Duration};

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse, http, reqwest, url::Host, url::Url};

/// Largest answer that is read, in bytes. Discovery documents and key sets have a few thousand.
const ANSWER_MAX: usize = 256 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("the address is not encrypted")]
    NotEncrypted,
    #[error("the answer is larger than {ANSWER_MAX} bytes")]
    TooLarge,
    #[error("the request cannot be made: {0}")]
    Impossible(#[from] http::Error),
    #[error("the request failed: {0:?}")]
    Failed(#[from] reqwest::Error),
}

/// A client for one provider.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    client: reqwest::Client,
    /// The provider runs on this machine, for a test.
    local: bool,
}

impl Wire {
    pub(super) fn new(local: bool, patience: Duration) -> Result<Self, String> {
        let builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(patience)
            .connect_timeout(patience)
            .user_agent(concat!("labs-auth/", env!("CARGO_PKG_VERSION")));
        let builder = if local { builder.no_proxy() } else { builder };
        let client =
            builder.build().map_err(|error| format!("the identity provider's client cannot be made: {error}"))?;
        Ok(Self { client, local })
    }

    /// Whether an address may be asked, or a browser be sent there.
    pub(super) fn trusts(&self, url: &Url) -> bool {
        url.scheme() == "https" || (self.local && is_plain_loopback(url))
    }

    /// Asks with an access token. The provider chose its characters, so it need not be one that a header can carry.
    pub(super) async fn get(&self, endpoint: &str, access: &str) -> Result<HttpResponse, WireError> {
        let request = http::Request::get(endpoint)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::AUTHORIZATION, format!("Bearer {access}"))
            .body(Vec::new())?;
        self.fetch(request).await
    }

    /// Sends a request of the protocol library.
    pub(super) async fn fetch(&self, request: HttpRequest) -> Result<HttpResponse, WireError> {
        let request = reqwest::Request::try_from(request)?;
        if !self.trusts(request.url()) {
            return Err(WireError::NotEncrypted);
        }
        let mut answer = self.client.execute(request).await?;
        let mut response = http::Response::new(Vec::new());
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        while let Some(piece) = answer.chunk().await? {
            if response.body().len() + piece.len() > ANSWER_MAX {
                return Err(WireError::TooLarge);
            }
            response.body_mut().extend_from_slice(&piece);
        }
        Ok(response)
    }
}

impl<'a> AsyncHttpClient<'a> for Wire {
    type Error = WireError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, WireError>> + Send + 'a>>;

    fn call(&'a self, request: HttpRequest) -> Self::Future {
        Box::pin(self.fetch(request))
    }
}

/// `http` to this very machine.
pub(super) fn is_plain_loopback(url: &Url) -> bool {
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && local
}
