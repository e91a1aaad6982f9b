//! The hall: the only place where the parts are joined, started and stopped.

mod doors;
pub mod listen;
pub mod plan;
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
    address::{self, Addresses},
    clock::Clock,
    config::{Environment, Settings},
    health::{self, Health},
    limit::Limiter,
    mail::{self, Courier},
    middleware::{Corridor, House, cors::Cors, host::Hosts, volumetric::Volumetric},
    oidc, passkey,
    password::{Hashing, Passwords, change::Turns},
    profile::Profiles,
    secret::{Entropy, Seal},
    session::{self, Devices, Sessions, Signer, SocketTickets, cookie},
    store::Database,
    ticket::Tickets,
};

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
    pub passwords: Passwords,
    clock: Clock,
}

impl App {
    /// Opens the database and joins every part.
    ///
    /// # Errors
    /// A sentence for the operator.
    pub async fn build(settings: Settings, clock: Clock, entropy: Entropy) -> Result<Self, String> {
        let started = clock.monotonic();
        let db = Database::open(&settings.database_url)
            .await
            .map_err(|fault| format!("the database cannot be opened: {}", fault.for_log()))?;
        let secrets = &settings.secrets;
        let seal = Seal::new(mail::SEAL_LABEL, &secrets.current, secrets.previous.as_ref());
        let (post, courier) = mail::open(&settings.mail, db.clone(), seal, clock.clone(), entropy.clone())?;
        let courier = Arc::new(courier);
        let limits = settings.limits.clone();
        let limiter = Limiter::new(limits.quotas, limits.redis, clock.clone());
        limiter.begin().await;
        let signer = Signer::new(settings.links.api_base.to_string(), &secrets.current, secrets.previous.as_ref())?;
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
        let hashing = Hashing::new(cores, entropy.clone())?;
        let tickets = Tickets::new(clock.clone(), entropy.clone());
        let proof = PasswordProof::new(hashing.clone());
        let passwords = Passwords {
            db: db.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            tickets: tickets.clone(),
            post: post.clone(),
            hashing,
            turns: Turns::default(),
            sessions: sessions.clone(),
            frontend: settings.links.frontend.clone(),
            registration_open: settings.accounts.registration_open,
        };
        let doors = Doors {
            settings: &settings,
            db: &db,
            clock: &clock,
            entropy: &entropy,
            tickets: &tickets,
            sessions: &sessions,
        };
        let (magic_links, oidc, cli_logins) = (doors.magic_links(post.clone()), doors.oidc()?, doors.cli_logins());
        let passkeys = doors.passkeys(post.clone());
        let state = AppState {
            limiter: limiter.clone(),
            socket_tickets: SocketTickets { sessions: sessions.clone(), tickets: tickets.clone() },
            magic_links,
            oidc,
            cli_logins,
            service_keys: settings.service_keys,
            passwords: passwords.clone(),
            passkeys,
            profiles: Profiles {
                db: db.clone(),
                clock: clock.clone(),
                entropy: entropy.clone(),
                post: post.clone(),
                proof: proof.clone(),
                holdings: holdings(&db),
            },
            addresses: Addresses {
                db: db.clone(),
                clock: clock.clone(),
                tickets,
                post,
                sessions: sessions.clone(),
                proof,
                frontend: settings.links.frontend,
            },
            sessions,
            health: Health::new(health::Parts {
                db: db.clone(),
                limiter: limiter.clone(),
                courier: courier.clone(),
                clock: clock.clone(),
                environment: settings.environment.name(),
                started,
                latest: Mutex::new(None),
            }),
        };
        let (rooms, routes) =
            router::build(state, settings.environment, settings.server.screens).map_err(|faults| faults.join("; "))?;
        let corridor = Corridor {
            clock: clock.clone(),
            entropy,
            limiter: limiter.clone(),
            quotas: limits.quotas,
            proxies: limits.proxies,
            prefixes: limits.prefixes,
            volumetric: Volumetric {
                enabled: limits.volumetric,
                public_prefixes: crate::config::PUBLIC_PREFIXES.map(str::to_owned).to_vec(),
            },
            cors: Cors { origins: settings.cors.origins, public_prefixes: settings.cors.public_prefixes },
            hosts: Hosts { allowed: settings.server.allowed_hosts },
            strict_transport: production,
        };
        Ok(Self { house: House::new(corridor, rooms), routes, db, courier, limiter, passwords, clock })
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

/// What every room holds about a person, for the export: a room that stores something of its own adds a line here.
fn holdings(db: &Database) -> Holdings {
    Holdings::default()
        .with(session::overview::Everything(db.clone()))
        .with(address::Wishes(db.clone()))
        .with(passkey::Everything(db.clone()))
        .with(oidc::Everything(db.clone()))
}
