//! Redis Cluster as far as a limiter needs it: which node holds a key, and a connection to each. The topology is read when
//! connecting; a key that has moved ends the connection, and the probe connects anew. It refuses to follow redirections.

use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError, Value, aio::MultiplexedConnection, cmd,
};

use super::fault::Fault;

/// Slots of a cluster, fixed by its protocol.
const SLOTS: u16 = 16_384;

/// The nodes that hold keys.
#[derive(Clone)]
pub(super) struct Cluster {
    nodes: Vec<MultiplexedConnection>,
    /// First slot, last slot, and which node holds them.
    ranges: Vec<(u16, u16, usize)>,
}

impl Cluster {
    /// Reads the topology from a node and connects to all that hold slots.
    pub(super) async fn connect(
        seed: &Client,
        connect: impl AsyncFn(&Client) -> Result<MultiplexedConnection, RedisError>,
    ) -> Result<Self, Fault> {
        let mut first = connect(seed).await?;
        let answer: Value = cmd("CLUSTER").arg("SLOTS").query_async(&mut first).await?;
        let held = read(&answer).ok_or(Fault::Protocol)?;
        if held.is_empty() {
            return Err(Fault::Code("CLUSTERDOWN"));
        }
        let (mut cluster, mut known) = (Self { nodes: Vec::new(), ranges: Vec::new() }, Vec::new());
        for (start, end, address) in held {
            let node = if let Some(node) = known.iter().position(|other| *other == address) {
                node
            } else {
                let info = at(seed.get_connection_info(), &address)?;
                cluster.nodes.push(connect(&Client::open(info)?).await?);
                known.push(address);
                known.len() - 1
            };
            cluster.ranges.push((start, end, node));
        }
        Ok(cluster)
    }

    /// The node that holds a key.
    pub(super) fn node(&self, key: &str) -> Result<&MultiplexedConnection, Fault> {
        let slot = slot(key);
        let range = self.ranges.iter().find(|(start, end, _)| (*start..=*end).contains(&slot));
        let node = range.and_then(|(_, _, node)| self.nodes.get(*node));
        node.ok_or(Fault::Code("CLUSTERDOWN"))
    }

    /// Every node that holds keys.
    pub(super) fn nodes(&self) -> &[MultiplexedConnection] {
        &self.nodes
    }
}

/// A node's address with everything else as for the seed.
fn at(seed: &ConnectionInfo, (host, port): &(String, u16)) -> Result<ConnectionInfo, RedisError> {
    let address = match seed.addr().clone() {
        ConnectionAddr::TcpTls { host: seed, insecure, tls_params, .. } => {
            let host = if host.is_empty() { seed } else { host.clone() };
            ConnectionAddr::TcpTls { host, port: *port, insecure, tls_params }
        }
        ConnectionAddr::Tcp(seed, _) if host.is_empty() => ConnectionAddr::Tcp(seed, *port),
        _ => ConnectionAddr::Tcp(host.clone(), *port),
    };
    let info = address.into_connection_info()?;
    Ok(info.set_redis_settings(seed.redis_settings().clone()).set_tcp_settings(seed.tcp_settings().clone()))
}

/// First slot, last slot and the primary's address.
type Range = (u16, u16, (String, u16));

/// First slot, last slot and the primary's address of each range.
fn read(answer: &Value) -> Option<Vec<Range>> {
    let Value::Array(ranges) = answer else { return None };
    ranges.iter().map(range).collect()
}

fn range(value: &Value) -> Option<Range> {
    let Value::Array(fields) = value else { return None };
    let [Value::Int(start), Value::Int(end), Value::Array(primary), ..] = fields.as_slice() else { return None };
    let host = match primary.first()? {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok()?,
        // A node that does not know how it is reached: like the seed.
        Value::Nil => String::new(),
        _ => return None,
    };
    let Value::Int(port) = primary.get(1)? else { return None };
    Some((u16::try_from(*start).ok()?, u16::try_from(*end).ok()?, (host, u16::try_from(*port).ok()?)))
}

/// The slot of a key: CRC-16 (XMODEM) of what stands between its first braces, or of all of it.
fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let counted = tag.filter(|tag| !tag.is_empty()).unwrap_or(key);
    let mut crc: u16 = 0;
    for byte in counted.bytes() {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
        }
    }
    crc % SLOTS
}
