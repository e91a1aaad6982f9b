//! What the limiter's tests stand on: a clock moved by hand, clients nobody else uses, a log that can be read, and
//! the shared Redis server.

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::FutureExt;
use labs_auth::{
    clock::{Clock, TimeSource},
    limit::{Attempt, Backend, Charge, ClientIp, Limiter, Prefixes, Quotas, RedisAddress, Verdict},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Time that stands still until it is moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hand(Arc<AtomicI64>);

impl Hand {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), SeqCst);
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::from_source(self.clone())
    }
}

impl TimeSource for Hand {
    fn wall_micros(&self) -> i64 {
        1_700_000_000_000_000 + self.0.load(SeqCst)
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.0.load(SeqCst)).unwrap()
    }
}

/// A client whose network no other test counts.
pub(crate) fn somebody() -> ClientIp {
    let bits = 0x2001_0db8 << 96 | (Uuid::new_v4().as_u128() >> 32);
    client(IpAddr::V6(Ipv6Addr::from_bits(bits)))
}

pub(crate) fn client(address: impl Into<IpAddr>) -> ClientIp {
    ClientIp::from_address(address.into(), Prefixes::default())
}

pub(crate) fn host(last: u8) -> ClientIp {
    client(Ipv4Addr::new(203, 0, 113, last))
}

pub(crate) fn mailbox() -> &'static str {
    format!("{}@labs.example", Uuid::new_v4().simple()).leak()
}

pub(crate) const LOGIN: &str = "/api/auth/login";

/// The limiter on one store, and the means to let a window pass there.
pub(crate) struct Store {
    pub(crate) limiter: Limiter,
    passing: Passing,
}

enum Passing {
    Hand(Hand),
    Redis(::redis::aio::MultiplexedConnection),
}

impl Store {
    pub(crate) fn memory() -> Self {
        let hand = Hand::default();
        Self { limiter: Limiter::new(Quotas::default(), None, hand.clock()), passing: Passing::Hand(hand) }
    }

    /// On the shared server.
    pub(crate) fn redis(limiter: Limiter, connection: ::redis::aio::MultiplexedConnection) -> Self {
        Self { limiter, passing: Passing::Redis(connection) }
    }

    /// Lets the charge's window come to its end.
    pub(crate) async fn pass_window(&mut self, charge: &Charge<'_>) {
        match &mut self.passing {
            Passing::Hand(hand) => hand.advance(charge.bucket().window()),
            Passing::Redis(connection) => {
                let expire = ::redis::cmd("PEXPIRE").arg(charge.key()).arg(0).to_owned();
                expire.query_async::<()>(connection).await.unwrap();
                // Otherwise this process would go on refusing by itself for up to a second.
                self.limiter.forget();
            }
        }
    }

    /// How long after a passed window the next one is told apart from it.
    pub(crate) fn settling(&self) -> Duration {
        match self.passing {
            Passing::Hand(_) => Duration::ZERO,
            Passing::Redis(_) => Duration::from_millis(150),
        }
    }

    pub(crate) async fn hit(&self, charges: &[Charge<'_>], client: &ClientIp) -> Verdict {
        hit(&self.limiter, charges, client).await
    }
}

/// One request with an attempt of its own.
pub(crate) async fn hit(limiter: &Limiter, charges: &[Charge<'_>], client: &ClientIp) -> Verdict {
    limiter.decide(charges, client, LOGIN, &Attempt::new(Uuid::new_v4(), *client)).await
}

/// How many of `times` requests are admitted, one after the other.
pub(crate) async fn admitted(limiter: &Limiter, charge: &Charge<'_>, client: &ClientIp, times: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..times {
        admitted += usize::from(hit(limiter, std::slice::from_ref(charge), client).await == Verdict::Admitted);
    }
    admitted
}

/// The shared server's URL. Says so when a test is skipped for want of it.
pub(crate) fn shared_url() -> Option<String> {
    let url = std::env::var("TEST_REDIS_URL").ok();
    if url.is_none() {
        println!("skipped: TEST_REDIS_URL is not set");
    }
    url
}

/// A limiter that decides on the server at `url`; a busy machine gets more than one try.
pub(crate) async fn on_redis(url: &str) -> Limiter {
    let limiter = Limiter::new(Quotas::default(), Some(RedisAddress::from_url(url).unwrap()), Clock::system());
    for _ in 0..20 {
        limiter.begin().await;
        if limiter.backend() == Backend::Redis {
            return limiter;
        }
    }
    panic!("no limiter came to stand on Redis");
}

/// The store on which a limiter with this address comes to stand.
pub(crate) async fn reaches(address: RedisAddress) -> &'static str {
    let limiter = Limiter::new(Quotas::default(), Some(address), Clock::system());
    for _ in 0..5 {
        limiter.begin().await;
    }
    limiter.backend().name()
}

/// Runs a test on the shared server, once more when a stall of this machine moved a request to memory: that is the
/// contract, but such a round proves nothing about Redis.
pub(crate) async fn steadily<F: Future<Output = ()>>(
    mut test: impl FnMut(Limiter, ::redis::aio::MultiplexedConnection) -> F,
) {
    let Some(url) = shared_url() else { return };
    for _ in 0..10 {
        let limiter = on_redis(&url).await;
        let connection = connection(&url).await;
        match AssertUnwindSafe(test(limiter.clone(), connection)).catch_unwind().await {
            Ok(()) => return,
            Err(failure) if limiter.decided_by_memory() == 0 => resume_unwind(failure),
            Err(_) => println!("a request was decided by memory: once more"),
        }
    }
    panic!("no round ran on Redis alone");
}

pub(crate) async fn connection(url: &str) -> ::redis::aio::MultiplexedConnection {
    let config = ::redis::AsyncConnectionConfig::new().set_response_timeout(Some(Duration::from_secs(10)));
    ::redis::Client::open(url).unwrap().get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

/// Runs the limiter's background work until dropped.
pub(crate) fn run(limiter: &Limiter) -> impl Drop + use<> {
    let cancel = CancellationToken::new();
    let (limiter, token) = (limiter.clone(), cancel.clone());
    tokio::spawn(async move { limiter.run(token).await });
    cancel.drop_guard()
}

/// Waits for a change that other tasks or processes make, ten seconds at most.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never happened: {what}");
}

/// Lets a test hear what its thread logs, whatever the others do. While there is one subscriber alone, `tracing` asks only
/// the thread that comes to a line first whether anybody listens, and remembers a no for all; a second one, deaf, undoes it.
pub(crate) fn second_subscriber() {
    static SECOND: LazyLock<tracing::Dispatch> = LazyLock::new(|| {
        let deaf = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::OFF);
        tracing::Dispatch::new(deaf.finish())
    });
    LazyLock::force(&SECOND);
}

/// What this thread logs from now on.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        Self::listen_to(tracing::Level::INFO)
    }

    /// Hears everything down to this level.
    pub(crate) fn listen_to(level: tracing::Level) -> (Self, tracing::subscriber::DefaultGuard) {
        second_subscriber();
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(level)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn lines_with(&self, text: &str) -> Vec<String> {
        let text_so_far = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text_so_far.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
