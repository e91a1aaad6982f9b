//! The shared store: one multiplexed connection, one script call per decision, whatever the number of buckets.
//! It refuses to retry (except once, with the script loaded), to reconnect and to wait; `backend` and `probe` do.

use std::{fmt, sync::LazyLock, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue, IntoConnectionInfo,
    Pipeline, RedisConnectionInfo, RedisError, Script, ServerErrorKind, TlsCertificates, aio::MultiplexedConnection,
    cmd,
};
use tokio::time::timeout;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{I64, U32, U64},
};

use super::{
    algorithm::{Algorithm, Outcome, Rule},
    backend::Lease,
    cluster::Cluster,
    fault::Fault,
    memory::Seen,
};

/// Longest that connecting may take, name resolution, TLS and login included.
pub(super) const CONNECT: Duration = Duration::from_millis(250);

/// Longest that one sentinel is asked; another one is asked within the same time to connect.
const SENTINEL: Duration = Duration::from_millis(80);

/// Most calls in flight on the connection; the next one is decided by memory.
pub(super) const IN_FLIGHT: usize = 512;

/// The key of the probe's write: inside `rate_limit:`, so that an ACL for the limiter's keys covers it.
const CANARY: &str = "rate_limit:canary";

static DECIDE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("decide.lua")));

static SLOTS: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("slots.lua")));

/// What the script is asked about a bucket, as `ASK` in `decide.lua` unpacks it.
#[derive(Immutable, IntoBytes, Unaligned)]
#[repr(C)]
struct Ask {
    quota: U32,
    window: U64,
    burst: U32,
    cost: U32,
    goes_on: u8,
    /// With a zero behind it.
    algorithm: [u8; "sliding-epoch\0".len()],
}

impl Ask {
    fn of(hit: &Hit<'_>) -> Self {
        let Hit { rule, cost, goes_on, .. } = *hit;
        let (quota, window, burst) = (rule.quota.into(), rule.window.into(), rule.burst.into());
        let mut ask = Self { quota, window, burst, cost: cost.into(), goes_on: goes_on.into(), algorithm: [0; _] };
        let name = rule.algorithm.name().as_bytes();
        ask.algorithm[..name.len()].copy_from_slice(name);
        ask
    }
}

/// What it answers, as `ANSWER` packs it.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Answer {
    admitted: i8,
    remaining: I64,
    rest: I64,
    state: [I64; 3],
}

/// Where Redis is, and how to log in. It never prints itself.
#[derive(Clone)]
pub struct RedisAddress {
    client: Client,
    found: Found,
}

/// How the primary is found.
#[derive(Clone)]
enum Found {
    /// It is where the address says.
    There,
    /// The address names one node of a cluster.
    InCluster,
    /// These know the primary of this name; the address carries the login alone.
    BySentinels(Vec<Client>, String),
}

impl RedisAddress {
    /// Reads `REDIS_URL`: `redis://` or `rediss://`, user and password percent-encoded.
    ///
    /// # Errors
    /// A sentence for the operator, without the URL: it may hold a password.
    pub fn from_url(url: &str) -> Result<Self, String> {
        if !url.starts_with("redis://") && !url.starts_with("rediss://") {
            return Err(String::from("must start with redis:// or rediss://"));
        }
        if url.contains('#') {
            return Err(String::from("must not carry a fragment: the server's certificate is always checked"));
        }
        let info = url.into_connection_info().map_err(|_| {
            String::from(
                "is not a Redis URL: redis://user:password@host:port/db, with user and password percent-encoded",
            )
        })?;
        Self::open(info)
    }

    /// Puts an address together from `REDIS_HOST`, `REDIS_PORT`, `REDIS_DB` and `REDIS_PASSWORD`.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn from_parts(host: &str, port: u16, db: u32, password: Option<&str>) -> Result<Self, String> {
        let info = ConnectionAddr::Tcp(host.to_owned(), port).into_connection_info().map_err(unusable)?;
        let mut login = RedisConnectionInfo::default().set_db(db.into());
        if let Some(password) = password {
            login = login.set_password(password);
        }
        Self::open(info.set_redis_settings(login))
    }

    /// The same address, whose certificate is checked against this authority (PEM) alone.
    ///
    /// # Errors
    /// A sentence for the operator, when it is not a certificate.
    pub fn trusting(self, authority: Vec<u8>) -> Result<Self, String> {
        let certificates = TlsCertificates { client_tls: None, root_cert: Some(authority) };
        let client = Client::build_with_tls(self.client.get_connection_info().clone(), certificates);
        let found = self.found;
        client.map(|client| Self { client, found }).map_err(|_| String::from("is not a certificate in PEM"))
    }

    /// The same address as one node of a cluster (`REDIS_CLUSTER`).
    #[must_use]
    pub fn in_cluster(self) -> Self {
        Self { found: Found::InCluster, ..self }
    }

    /// A primary that sentinels know: `REDIS_SENTINELS` (`host:port`), `REDIS_SENTINEL_MASTER`, and the login of its own.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub fn from_sentinels(sentinels: &[String], name: &str, db: u32, password: Option<&str>) -> Result<Self, String> {
        let sentinel = |text: &String| {
            let (host, port) =
                text.rsplit_once(':').ok_or_else(|| format!("holds {text:?}, which is not HOST:PORT"))?;
            let port: u16 = port.parse().map_err(|_| format!("holds {text:?}, which is not HOST:PORT"))?;
            Ok::<_, String>(Self::from_parts(host, port, 0, None)?.client)
        };
        let sentinels = sentinels.iter().map(sentinel).collect::<Result<Vec<_>, _>>()?;
        let login = Self::from_parts("localhost", 6379, db, password)?;
        Ok(Self { found: Found::BySentinels(sentinels, name.to_owned()), ..login })
    }

    fn open(info: ConnectionInfo) -> Result<Self, String> {
        let settings = info.tcp_settings().clone().set_nodelay(true);
        let client = Client::open(info.set_tcp_settings(settings)).map_err(unusable)?;
        Ok(Self { client, found: Found::There })
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisAddress(…)")
    }
}

fn unusable(_: RedisError) -> String {
    String::from("is not an address that Redis can be reached at")
}

/// One hit to charge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'a> {
    pub(super) key: &'a str,
    pub(super) rule: Rule,
    pub(super) cost: u32,
    /// Whether the buckets behind it are asked although it refuses.
    pub(super) goes_on: bool,
}

/// The open connection. Clones share it.
#[derive(Clone)]
pub(super) enum Wire {
    One(MultiplexedConnection),
    Many(Cluster),
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire(…)")
    }
}

async fn open(client: &Client) -> Result<MultiplexedConnection, RedisError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None)
        .set_pipeline_buffer_size(IN_FLIGHT);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Asks the sentinels, one after the other, where the primary is now.
async fn ask_sentinels(sentinels: &[Client], name: &str, login: &Client) -> Result<Client, Fault> {
    let mut last = Fault::NotListening;
    for sentinel in sentinels {
        let asking = async {
            let mut connection = open(sentinel).await?;
            let ask = cmd("SENTINEL").arg("get-master-addr-by-name").arg(name).to_owned();
            ask.query_async::<Option<(String, u16)>>(&mut connection).await
        };
        match timeout(SENTINEL, asking).await {
            Ok(Ok(Some((host, port)))) => {
                let info = ConnectionAddr::Tcp(host, port).into_connection_info()?;
                let known = login.get_connection_info();
                let info = info.set_redis_settings(known.redis_settings().clone());
                return Ok(Client::open(info.set_tcp_settings(known.tcp_settings().clone()))?);
            }
            Ok(Ok(None)) => last = Fault::Code("MASTERDOWN"),
            Ok(Err(error)) => last = error.into(),
            Err(_) => last = Fault::Timeout,
        }
    }
    Err(last)
}

impl Wire {
    /// Connects and logs in.
    pub(super) async fn connect(address: &RedisAddress) -> Result<Self, Fault> {
        let connecting = async {
            match &address.found {
                Found::There => Ok(Self::One(open(&address.client).await?)),
                Found::InCluster => Ok(Self::Many(Cluster::connect(&address.client, open).await?)),
                Found::BySentinels(sentinels, name) => {
                    let primary = ask_sentinels(sentinels, name, &address.client).await?;
                    Ok(Self::One(open(&primary).await?))
                }
            }
        };
        timeout(CONNECT, connecting).await.unwrap_or(Err(Fault::Timeout))
    }

    /// The connection to whoever holds a key.
    fn holder(&self, key: &str) -> Result<MultiplexedConnection, Fault> {
        match self {
            Self::One(connection) => Ok(connection.clone()),
            Self::Many(cluster) => cluster.node(key).cloned(),
        }
    }

    /// The connections to everybody who holds keys.
    pub(super) fn holders(&self) -> Vec<MultiplexedConnection> {
        match self {
            Self::One(connection) => vec![connection.clone()],
            Self::Many(cluster) => cluster.nodes().to_vec(),
        }
    }

    /// Asks everybody for a sign of life.
    pub(super) async fn ping(&self) -> Result<(), Fault> {
        for mut holder in self.holders() {
            cmd("PING").query_async::<()>(&mut holder).await?;
        }
        Ok(())
    }

    /// Writes what a decision writes, to a key of its own. It also loads the script, before the first request needs it.
    pub(super) async fn write_canary(&self) -> Result<(), Fault> {
        let rule = Rule::new(Algorithm::Fixed, u32::MAX, 1_000_000);
        self.decide(&[Hit { key: CANARY, rule, cost: 1, goes_on: false }]).await.map(|_| ())
    }

    /// Runs one command of the operator's, where `key` is held.
    pub(super) async fn run<T: FromRedisValue>(&self, key: &str, command: &Cmd) -> Result<T, Fault> {
        Ok(command.query_async(&mut self.holder(key)?).await?)
    }

    /// Runs several.
    pub(super) async fn pipe<T: FromRedisValue>(&self, key: &str, commands: &Pipeline) -> Result<T, Fault> {
        Ok(commands.query_async(&mut self.holder(key)?).await?)
    }

    /// One step with a lease.
    pub(super) async fn lease(&self, lease: &Lease<'_>) -> Result<bool, Fault> {
        let Lease { key, step, token, limit, ttl } = *lease;
        let mut call = SLOTS.key(key);
        call.arg(step).arg(token).arg(limit).arg(ttl);
        Ok(call.invoke_async::<i64>(&mut self.holder(key)?).await? == 1)
    }

    /// Charges the hits in order until one is refused; answers for those that were asked. One call, except on a cluster,
    /// where each bucket may be held elsewhere.
    pub(super) async fn decide(&self, hits: &[Hit<'_>]) -> Result<Vec<Seen>, Fault> {
        let cluster = match self {
            Self::One(connection) => return decide_at(&mut connection.clone(), hits).await,
            Self::Many(cluster) => cluster,
        };
        let mut all = Vec::with_capacity(hits.len());
        for hit in hits {
            let seen = decide_at(&mut cluster.node(hit.key)?.clone(), &[*hit]).await?;
            let ends = seen.iter().any(|seen| !seen.outcome.admitted) && !hit.goes_on;
            all.extend(seen);
            if ends {
                break;
            }
        }
        Ok(all)
    }
}

async fn decide_at(holder: &mut MultiplexedConnection, hits: &[Hit<'_>]) -> Result<Vec<Seen>, Fault> {
    let answer = match call(holder, hits).await {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            DECIDE.prepare_invoke().load_async(holder).await?;
            call(holder, hits).await?
        }
        other => other?,
    };
    read(hits, &answer).ok_or(Fault::Protocol)
}

async fn call(holder: &mut MultiplexedConnection, hits: &[Hit<'_>]) -> Result<Vec<u8>, RedisError> {
    // The command's name, the script's, the number of keys, and two for each hit.
    let words = 3 + 2 * hits.len();
    let mut call = Cmd::with_capacity(words, words * size_of::<Ask>());
    call.arg("EVALSHA").arg(DECIDE.get_hash()).arg(hits.len());
    for hit in hits {
        call.arg(hit.key);
    }
    for hit in hits {
        call.arg(Ask::of(hit).as_bytes());
    }
    call.query_async(holder).await
}

/// The script's bytes as what was seen; `None` when they are not what `decide.lua` says.
fn read(hits: &[Hit<'_>], answer: &[u8]) -> Option<Vec<Seen>> {
    let (answers, now) = answer.split_last_chunk()?;
    let now = u64::try_from(i64::from_be_bytes(*now)).ok()?;
    let answers = <[Answer]>::ref_from_bytes(answers).ok()?;
    let mut seen = Vec::with_capacity(hits.len());
    for (hit, answer) in hits.iter().zip(answers) {
        let number = |packed: I64| u64::try_from(packed.get()).ok();
        let [at, one, two] = answer.state;
        let state = [number(at)?, number(one)?, number(two)?];
        let remaining = u32::try_from(answer.remaining.get()).ok()?;
        let rest = number(answer.rest)?.max(1);
        let admitted = answer.admitted == 1;
        let outcome = Outcome { admitted, remaining, rest, fresh: fresh(hit.rule, rest, state, now) };
        seen.push(Seen { outcome, state, now });
    }
    let ended = seen.last().zip(hits.get(seen.len().wrapping_sub(1)));
    let complete = seen.len() == hits.len() || ended.is_some_and(|(last, hit)| !last.outcome.admitted && !hit.goes_on);
    complete.then_some(seen)
}

/// When the state says no more than no state, in microseconds from now.
fn fresh(rule: Rule, rest: u64, [at, counted, _]: [u64; 3], now: u64) -> u64 {
    let until = match rule.algorithm {
        Algorithm::Fixed => return rest,
        Algorithm::Log => at.saturating_add(rule.window),
        Algorithm::Sliding | Algorithm::SlidingEpoch => at.saturating_add(2 * rule.window),
        Algorithm::Gcra => at.saturating_add(1),
        Algorithm::Bucket => at.saturating_add(counted.div_ceil(u64::from(rule.quota.max(1)))),
    };
    until.saturating_sub(now).max(1)
}
