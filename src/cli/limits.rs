//! `labs-auth limits …` and `labs-auth doctor`: what is counted, what the next request would meet, and whether the service
//! would stand. They act on Redis; what processes count in their own memory nobody else can read.

use std::{fmt::Write, net::IpAddr, process::ExitCode};

use clap::{Args, Subcommand};

use crate::{
    account::Email,
    app::{self, router},
    clock::Clock,
    config::Settings,
    error::RetryAfter,
    extract::Rule,
    limit::{
        Bucket, Charge, ClientIp, Limiter, MailScope, Who,
        desk::{Desk, Forecast},
        policy::{Mode, Policies},
    },
    middleware::volumetric::Volumetric,
    store::Database,
};

/// The exit code that says: not in Redis.
const ON_MEMORY: u8 = 2;

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Wanted {
    /// List the keys that stand in Redis
    List {
        /// Only these, as in auth:*; * and ? stand for anything
        #[arg(long, default_value = "*")]
        pattern: String,
    },
    /// Show what stands under a key
    Show { key: String },
    /// Delete a key, or every key of a client or of a mailbox
    Reset(Whose),
    /// Tell which buckets a request would meet, and what it would get
    Explain(Asked),
}

/// Whose budgets are reset.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Whose {
    key: Option<String>,
    /// Every budget of this address's network
    #[arg(long)]
    ip: Option<IpAddr>,
    /// Every budget of this mailbox
    #[arg(long)]
    email: Option<String>,
}

/// The request that is explained.
#[derive(Debug, Args)]
pub(super) struct Asked {
    #[arg(long)]
    ip: IpAddr,
    #[arg(long)]
    path: String,
    #[arg(long, default_value = "POST")]
    method: String,
    #[arg(long)]
    email: Option<String>,
}

pub(super) async fn run(wanted: &Wanted, settings: &Settings) -> Result<ExitCode, Vec<String>> {
    let limiter = app::limiter(&settings.limits, &settings.secrets, Clock::system());
    let desk = match &settings.limits.redis {
        None => Err("none is configured"),
        Some(address) => Desk::open(address).await,
    };
    let desk = match desk {
        Ok(desk) => desk,
        Err(class) => {
            println!("{}", on_memory(&limiter, class));
            return Ok(ExitCode::from(ON_MEMORY));
        }
    };
    let failed = |class: &'static str| vec![format!("Redis failed: {class}")];
    match wanted {
        Wanted::List { pattern } => {
            for key in desk.list(pattern).await.map_err(failed)? {
                println!("{key}");
            }
        }
        Wanted::Show { key } => match desk.show(key).await.map_err(failed)? {
            Some(held) => println!("{}  {}  for {} ms", held.key, held.value, held.ttl),
            None => println!("Nothing stands under {key}."),
        },
        Wanted::Reset(whose) => {
            let keys = keys_of(whose, &desk, &limiter, settings).await?;
            let count = desk.reset(&keys).await.map_err(failed)?;
            println!("{count} reset. Every process sees it within a second.");
        }
        Wanted::Explain(asked) => {
            let email = asked.email.as_deref().map(read_email).transpose()?;
            let policies = limiter.policies();
            let charges = charges(asked, email.as_ref().map(Email::as_str), settings, &policies);
            if charges.is_empty() {
                println!("No bucket applies.");
            }
            for forecast in desk.explain(&limiter, &charges).await.map_err(failed)? {
                println!("{}", sentence(&forecast));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says who counts, and how long it takes until everything counted there has ended by itself.
fn on_memory(limiter: &Limiter, class: &str) -> String {
    let policies = limiter.policies();
    let longest = policies.all().filter(|policy| policy.mode != Mode::Off).map(|policy| policy.rule.span()).max();
    let wait = RetryAfter::from_wait(longest.unwrap_or_default()).seconds();
    format!("Redis: {class}. The processes decide from their own memory; what they count ends within {wait} s.")
}

async fn keys_of(
    whose: &Whose,
    desk: &Desk,
    limiter: &Limiter,
    settings: &Settings,
) -> Result<Vec<String>, Vec<String>> {
    if let Some(key) = &whose.key {
        return Ok(vec![key.clone()]);
    }
    let (client, email) = (whose.ip.map(|ip| ClientIp::from_address(ip, settings.limits.prefixes)), &whose.email);
    let email = email.as_deref().map(read_email).transpose()?;
    let mut keys = Vec::new();
    if settings.limits.hash_keys {
        // Digests cannot be searched: every key that these buckets could have is asked for.
        let routes = router::planned(settings.environment, settings.server.screens);
        let mut charges = Vec::new();
        if let Some(client) = &client {
            charges.extend([Charge::ip(client), Charge::public_ip(client), Charge::signup_ip(client)]);
            charges.extend(routes.iter().map(|route| Charge::auth(route.path, client)));
        }
        if let Some(email) = &email {
            charges.extend([Charge::signup_email(email.as_str()), Charge::account(email.as_str())]);
            charges.extend(MailScope::ALL.iter().map(|scope| Charge::auth_email(*scope, email.as_str())));
        }
        keys.extend(charges.iter().filter_map(|charge| limiter.stored_key(charge)));
        return Ok(keys);
    }
    let network = client.as_ref().map(ClientIp::network);
    let who = network.as_deref().or(email.as_ref().map(Email::as_str)).unwrap_or_default();
    for key in desk.list("*").await.map_err(|class| vec![format!("Redis failed: {class}")])? {
        let plain = key.split_once('#').map_or(key.as_str(), |(plain, _)| plain);
        if plain.strip_suffix(who).is_some_and(|front| front.ends_with(':')) {
            keys.push(key);
        }
    }
    Ok(keys)
}

fn read_email(text: &str) -> Result<Email, Vec<String>> {
    Email::parse(text).map_err(|problem| vec![format!("--email: {problem}")])
}

/// What the request would spend, in its order.
fn charges<'a>(
    asked: &Asked,
    mailbox: Option<&'a str>,
    settings: &Settings,
    policies: &'a Policies,
) -> Vec<Charge<'a>> {
    let client = ClientIp::from_address(asked.ip, settings.limits.prefixes);
    let volumetric = Volumetric {
        enabled: settings.limits.volumetric,
        public_prefixes: crate::config::PUBLIC_PREFIXES.map(str::to_owned).to_vec(),
        siblings: settings.service_keys.clone(),
    };
    let mut charges = volumetric.charges(&asked.path, &client).into_vec();
    let routes = router::planned(settings.environment, settings.server.screens);
    let method = asked.method.to_ascii_uppercase();
    let Some(route) = routes.iter().find(|route| route.path == asked.path && route.verb.name() == method) else {
        return charges;
    };
    let who = Who { mailbox, ..Who::default() };
    charges.extend(policies.charges(&format!("{method} {}", route.path), &client, who, true));
    for rule in &route.rules {
        let Rule::Bucket(bucket) = rule else { continue };
        let charge = match bucket {
            Bucket::Auth => Some(Charge::auth(route.path, &client)),
            Bucket::AuthEmail(scope) => mailbox.map(|mailbox| Charge::auth_email(*scope, mailbox)),
            Bucket::SignupIp => Some(Charge::signup_ip(&client)),
            Bucket::SignupEmail => mailbox.map(Charge::signup_email),
            Bucket::Account => mailbox.map(Charge::account),
            Bucket::Ip | Bucket::PublicIp | Bucket::Device | Bucket::Named(_) => None,
        };
        charges.extend(charge);
    }
    charges
}

fn sentence(forecast: &Forecast) -> String {
    let Forecast { policy, key, rule, outcome } = forecast;
    let rest = std::time::Duration::from_micros(outcome.rest);
    let mut text = format!("{policy}  {} in {:?}, {}  {key}: ", rule.quota, rule.span(), rule.algorithm.name());
    let done = if outcome.admitted {
        write!(text, "admitted, {} would remain", outcome.remaining)
    } else {
        write!(text, "refused for {rest:?} (Retry-After: {})", RetryAfter::from_wait(rest).seconds())
    };
    debug_assert!(done.is_ok(), "writing to a text cannot fail");
    text
}

/// Checks what the service would stand on. The settings and the policies were read to get here.
pub(super) async fn doctor(settings: Settings) -> Result<ExitCode, Vec<String>> {
    let mut faults = Vec::new();
    for warning in &settings.warnings {
        println!("warning   {warning}");
    }
    println!("settings  read");
    let limiter = app::limiter(&settings.limits, &settings.secrets, Clock::system());
    let misplaced = app::misplaced(&limiter, &router::planned(settings.environment, settings.server.screens));
    println!("policies  {} read", limiter.policies().all().count());
    faults.extend(misplaced);
    match Database::open(&settings.database_url).await {
        Ok(db) => {
            println!("database  {} reached", db.backend());
            db.close().await;
        }
        Err(fault) => faults.push(format!("database: {}", fault.for_log())),
    }
    match &settings.limits.redis {
        None => println!("redis     none is configured, each process counts in its own memory"),
        Some(address) => match Desk::open(address).await {
            Ok(desk) => match desk.list("*").await {
                Ok(keys) => println!("redis     reached, {} keys", keys.len()),
                Err(class) => faults.push(format!("redis: {class}")),
            },
            Err(class) => faults.push(format!("redis: {class}")),
        },
    }
    if faults.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(faults) }
}
