//! Networks that are counted nowhere, and networks that are served nothing.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::limit::ClientIp;

/// Both lists. A client in both is never admitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    pub(super) always: Vec<IpNet>,
    pub(super) never: Vec<IpNet>,
}

impl Networks {
    /// Whether a client is counted nowhere.
    pub fn always(&self, client: &ClientIp) -> bool {
        !self.always.is_empty() && contains(&self.always, client.ip()) && !self.never(client)
    }

    /// Whether a client is served nothing.
    pub fn never(&self, client: &ClientIp) -> bool {
        !self.never.is_empty() && contains(&self.never, client.ip())
    }
}

fn contains(networks: &[IpNet], address: Option<IpAddr>) -> bool {
    address.is_some_and(|address| networks.iter().any(|network| network.contains(&address)))
}
