//! The hall: the only place where the parts are joined, started and stopped.

mod doors;
pub mod listen;
mod metrics;
pub mod plan;
mod policies;
pub mod router;
mod shutdown;
mod state;
mod sweep;

use std::{sync::Arc, time::Duration};

use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::doors::Doors;
pub use self::{plan::Planned, shutdown::stop_signal, state::AppState};
use crate::{
    account::{Holdings, PasswordProof},
    address,
    clock::Clock,
    config::{Environment, LimitSettings, SecretSettings, Settings},
    developer::api_key::{self, ApiKeys},
    extract::ServiceKeys,
    health::{self, Health},
    limit::{self, Limiter},
    mail::{self, Courier},
    middleware::{Corridor, House, cors::Cors, host::Hosts, request_id::RequestIds, volumetric::Volumetric},
    oidc, passkey,
    password::{Hashing, Passwords, Turns},
    secret::{Entropy, Seal},
    session::{self, Devices, Keys, Sessions, Signer, SocketTickets, cookie},
    store::Database,
    ticket::Tickets,
};

/// Derives the key with which the limiter's keys are digested.
const KEY_LABEL: &str = "rate-limit-keys";

/// Longest that background work may take to end once the requests are drained. Together with the drain deadline it
/// stays below the 30 s after which an operator's supervisor kills the process.
const BACKGROUND_DEADLINE: Duration = Duration::from_secs(4);

/// The joined service, not yet listening.
#[derive(Debug)]
pub struct App {
    pub house: House,
    pub routes: Vec<Planned>,
    pub db: Database,
    pub courier: Arc<Courier>,
    pub limiter: Limiter,
    pub passwords: Arc<Passwords>,
    clock: Clock,
    metrics: Option<metrics::Door>,
}

/// The limiter that the settings describe, on memory until it begins.
pub fn limiter(limits: &LimitSettings, secrets: &SecretSettings, clock: Clock) -> Limiter {
    let setup = limit::Setup {
        source: limits.source.clone(),
        policies: limits.policies.clone(),
        redis: limits.redis.clone(),
        memory_mb: limits.memory_mb,
        key: limits.hash_keys.then(|| secrets.current.derive(KEY_LABEL)),
    };
    Limiter::with(setup, clock)
}

/// A sentence for each policy of the file that stands where it would count nobody.
pub fn misplaced(limiter: &Limiter, routes: &[Planned]) -> Vec<String> {
    policies::faults(&limiter.policies(), routes)
}

async fn open_database(url: &str) -> Result<Database, String> {
    let opened = Database::open(url).await;
    opened.map_err(|fault| format!("the database cannot be opened: {}", fault.for_log()))
}

#[expect(clippy::needless_pass_by_value, reason = "handed to map_err")]
fn joined(faults: Vec<String>) -> String {
    faults.join("; ")
}

fn refuse_misplaced(limiter: &Limiter, routes: &[Planned]) -> Result<(), String> {
    let faults = misplaced(limiter, routes);
    if faults.is_empty() { Ok(()) } else { Err(format!("RATE_LIMIT_POLICIES {}", joined(faults))) }
}

impl App {
    /// Opens the database and joins every part.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub async fn build(settings: Settings, clock: Clock, entropy: Entropy) -> Result<Self, String> {
        let started = clock.monotonic();
        let db = open_database(&settings.database_url).await?;
        let secrets = &settings.secrets;
        let seal = Seal::new(mail::SEAL_LABEL, &secrets.current, secrets.previous.as_ref());
        let (post, courier) = mail::open(&settings.mail, db.clone(), seal, clock.clone(), entropy.clone())?;
        let courier = Arc::new(courier);
        let limits = settings.limits.clone();
        let limiter = limiter(&limits, secrets, clock.clone());
        limiter.begin().await;
        let signer = Signer::new(settings.links.api_base.to_string(), &secrets.token_keys)?;
        let production = settings.environment == Environment::Production;
        let sessions = Sessions::new(session::Parts {
            db: db.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            signer: Arc::new(signer),
            lifetimes: settings.accounts.lifetimes,
            cookie: cookie::Policy { secure: production, origins: settings.cors.origins.clone() },
            devices: Devices::new(&secrets.current, secrets.previous.as_ref()),
            post: post.clone(),
        });
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // One more than there are cores: while one ends and the next begins, no core waits for work.
        let hashing = Hashing::new(cores + 1, entropy.clone())?;
        let tickets = Tickets::new(clock.clone(), entropy.clone());
        let proof = PasswordProof::new(hashing.clone());
        let passwords = Arc::new(Passwords {
            db: db.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            tickets: tickets.clone(),
            post: post.clone(),
            hashing,
            turns: Turns::default(),
            sign_ins: Turns::default(),
            sessions: sessions.clone(),
            policy: settings.accounts.policy.clone(),
            neighbour_key: secrets.current.derive("login neighbour"),
            frontend: settings.links.frontend.clone(),
            registration_open: settings.accounts.registration_open,
        });
        let ways = Doors {
            settings: &settings,
            db: &db,
            clock: &clock,
            entropy: &entropy,
            tickets: &tickets,
            sessions: &sessions,
        };
        let api_keys = ApiKeys { db: db.clone(), clock: clock.clone(), entropy: entropy.clone() };
        let state = AppState::new(state::Rooms {
            limiter: limiter.clone(),
            service_keys: settings.service_keys.clone(),
            socket_tickets: Arc::new(SocketTickets { sessions: sessions.clone(), tickets: tickets.clone() }),
            magic_links: Arc::new(ways.magic_links(post.clone())),
            oidc: Arc::new(ways.oidc()?),
            cli_logins: Arc::new(ways.cli_logins()),
            passwords: Arc::clone(&passwords),
            passkeys: Arc::new(ways.passkeys(post.clone())),
            profiles: Arc::new(ways.profiles(post.clone(), proof.clone(), holdings(&db))),
            addresses: Arc::new(ways.addresses(post.clone(), proof)),
            developers: Arc::new(ways.developers(post)),
            signup_gate: Arc::new(ways.signup_gate()),
            sessions: Arc::new(sessions.clone()),
            keys: Arc::new(Keys::new(api_keys.clone())),
            api_keys: Arc::new(api_keys),
            health: Arc::new(Health::new(health::Parts {
                db: db.clone(),
                limiter: limiter.clone(),
                courier: courier.clone(),
                clock: clock.clone(),
                environment: settings.environment.name(),
                started,
                latest: Mutex::new(None),
            })),
        });
        let (rooms, routes) = router::build(state, settings.environment, settings.server.screens).map_err(joined)?;
        refuse_misplaced(&limiter, &routes)?;
        let metrics = metrics::Door::open(settings.server.metrics.as_deref(), limits.proxies.rejected()).await?;
        let corridor = Corridor {
            clock: clock.clone(),
            ids: RequestIds::default(),
            limiter: limiter.clone(),
            volumetric: volumetric(limits.volumetric, settings.service_keys),
            proxies: limits.proxies,
            prefixes: limits.prefixes,
            cors: Cors { origins: settings.cors.origins, public_prefixes: settings.cors.public_prefixes },
            hosts: Hosts { allowed: settings.server.allowed_hosts },
            strict_transport: production,
        };
        let house = House::new(corridor, rooms);
        Ok(Self { house, routes, db, courier, limiter, passwords, clock, metrics })
    }

    /// Serves until `stop`, then drains: requests first, then the mail in hand, then the pools.
    pub async fn serve(self, listener: listen::Listener, stop: CancellationToken) {
        let background = TaskTracker::new();
        let ending = CancellationToken::new();
        let (limiter, courier) = (self.limiter.clone(), self.courier.clone());
        background.spawn({
            let ending = ending.clone();
            async move { limiter.run(ending).await }
        });
        background.spawn({
            let ending = ending.clone();
            async move { courier.run(ending).await }
        });
        background.spawn(sweep::run(self.db.clone(), self.courier.clone(), self.clock.clone(), ending.clone()));
        background.spawn(policies::reload_on_hangup(self.limiter.clone(), self.routes.clone(), ending.clone()));
        if let Some(door) = self.metrics {
            background.spawn(door.run(self.limiter.clone(), ending.clone()));
        }
        background.close();

        listener.serve(self.house, stop).await;

        // What the last requests queued is sent now rather than after the next start.
        ending.cancel();
        let finish = async {
            background.wait().await;
            if let Err(fault) = self.courier.deliver_due().await {
                tracing::warn!(cause = fault.for_log(), "The last mails stay queued");
            }
        };
        if tokio::time::timeout(BACKGROUND_DEADLINE, finish).await.is_err() {
            tracing::warn!("Background work did not end in time; what it had leased is retried by the next process");
        }
        if tokio::time::timeout(Duration::from_secs(1), self.db.close()).await.is_err() {
            tracing::warn!("The database pool did not close in time");
        }
        tracing::info!("Stopped");
    }
}

fn volumetric(enabled: bool, siblings: ServiceKeys) -> Volumetric {
    Volumetric { enabled, public_prefixes: crate::config::PUBLIC_PREFIXES.map(str::to_owned).to_vec(), siblings }
}

/// What every room holds about a person, for the export: a room that stores something of its own adds a line here.
fn holdings(db: &Database) -> Holdings {
    Holdings::default()
        .with(session::overview::Everything(db.clone()))
        .with(address::Wishes(db.clone()))
        .with(passkey::Everything(db.clone()))
        .with(oidc::Everything(db.clone()))
        .with(api_key::Everything(db.clone()))
}
