//! Measurements without a network between: what one decision costs on memory, how many bytes a tracked client takes,
//! and how many Redis commands a flood of refused requests costs. They print Markdown tables.

use std::{
    env,
    future::Future,
    hint::black_box,
    pin::pin,
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use labs_auth::{
    clock::Clock,
    limit::{
        Attempt, Backend, Charge, ClientIp, Limiter, Prefixes, Quotas, RedisAddress, Verdict,
        algorithm::{Algorithm, Rule},
        memory::Memory,
    },
};
use tokio::{task::JoinSet, time::interval};
use uuid::Uuid;

use crate::{
    Outcome,
    counts::{processor, resident, script_calls},
};

/// Decisions in one measurement, and measurements of which the middle one counts.
const DECISIONS: u32 = 400_000;
const ROUNDS: usize = 7;

const MINUTE: u64 = 60_000_000;

/// A quota that no measurement reaches.
const NEVER_REACHED: u32 = 100_000_000;

/// Bytes of the memory whose clients are weighed.
const ROOM: usize = 32 << 20;

/// Of the flood.
const FLOODERS: u32 = 1000;
const FLOOD: u32 = 1_000_000;
const AT_ONCE: u32 = 64;

/// Prints the two tables of memory.
pub(crate) fn micro() -> Outcome {
    println!("| One decision on memory | ns of processor time |\n|---|---:|");
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        println!("| `{name}`, admitted, a new client each | {:.0} |", median(|| fresh_clients(algorithm))?);
        if algorithm != Algorithm::Log {
            println!("| `{name}`, admitted, one client | {:.0} |", median(|| one_client(algorithm, NEVER_REACHED))?);
        }
        println!("| `{name}`, refused, one client | {:.0} |", median(|| one_client(algorithm, 1))?);
    }
    let quotas = |quota| Quotas { ip_per_minute: quota, public_ip_per_minute: quota, ..Quotas::default() };
    for (what, quota) in [("admitted", u32::MAX), ("refused", 1)] {
        let limiter = Limiter::new(quotas(quota), None, Clock::system());
        for buckets in 1..=2 {
            let nanos = median(|| whole_decision(&limiter, 7, buckets))?;
            println!("| all that a request pays the limiter, {buckets} × `fixed`, {what} | {nanos:.0} |");
        }
        let nanos = median(|| beside_another(&limiter))?;
        println!("| the same, 2 × `fixed`, {what}, while a second thread does so for another client | {nanos:.0} |");
    }
    println!("\n| A tracked client | Bytes, key included | At most |\n|---|---:|---:|");
    println!("| all but `log` | {} | 32 |", alone("gcra", 30)?);
    for quota in [10, 30, 100] {
        println!("| `log` with a quota of {quota} | {} | {} |", alone("log", quota)?, 24 + 4 * quota);
    }
    Ok(())
}

/// Nanoseconds for each of [`DECISIONS`]: the median of a few measurements.
fn median(mut measure: impl FnMut() -> Outcome<Duration>) -> Outcome<f64> {
    let mut spans = (0..ROUNDS).map(|_| measure()).collect::<Outcome<Vec<Duration>>>()?;
    spans.sort();
    Ok(spans[ROUNDS / 2].as_secs_f64() * 1e9 / f64::from(DECISIONS))
}

/// One client's hits, after a first one that is admitted.
fn one_client(algorithm: Algorithm, quota: u32) -> Outcome<Duration> {
    let memory = Memory::with_size(Clock::system(), 1 << 16, 1 << 20);
    let rule = Rule::new(algorithm, quota, MINUTE);
    memory.hit("rate_limit:ip:203.0.113.7", rule, 1);
    let start = processor()?;
    for _ in 0..DECISIONS {
        black_box(memory.hit(black_box("rate_limit:ip:203.0.113.7"), rule, 1));
    }
    Ok(processor()?.saturating_sub(start))
}

/// First hits of clients, with room for all of them.
fn fresh_clients(algorithm: Algorithm) -> Outcome<Duration> {
    let memory = Memory::with_size(Clock::system(), 1 << 20, 64 << 20);
    let rule = Rule::new(algorithm, 10, MINUTE);
    let keys: Vec<String> = (0..DECISIONS).map(|number| format!("rate_limit:ip:{number}")).collect();
    let start = processor()?;
    for key in &keys {
        black_box(memory.hit(key, rule, 1));
    }
    Ok(processor()?.saturating_sub(start))
}

/// What a request pays: its account, its charges, and the decision over them with metrics and header notes.
fn whole_decision(limiter: &Limiter, number: u32, buckets: usize) -> Outcome<Duration> {
    let client = client(number);
    let start = processor()?;
    for _ in 0..DECISIONS {
        let attempt = Attempt::new(Uuid::nil(), client.clone());
        let charges = [Charge::ip(&client), Charge::public_ip(&client)];
        let decision = pin!(limiter.decide(&charges[..buckets], &client, "/", &attempt));
        // On memory nothing is waited for: the first look has the answer.
        if black_box(decision.poll(&mut Context::from_waker(Waker::noop()))).is_pending() {
            return Err("memory made a request wait".into());
        }
    }
    Ok(processor()?.saturating_sub(start))
}

/// The same of two buckets, while another thread's decisions touch what all of them share.
fn beside_another(limiter: &Limiter) -> Outcome<Duration> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                black_box(whole_decision(limiter, 8, 2).is_ok());
            }
        });
        let span = whole_decision(limiter, 7, 2);
        done.store(true, Relaxed);
        span
    })
}

/// [`bytes`] in a process of its own, whose memory nothing else has used.
fn alone(algorithm: &str, quota: u32) -> Outcome<String> {
    let output = Command::new(env::current_exe()?).args(["bytes", algorithm, &quota.to_string()]).output()?;
    if output.status.success() {
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    } else {
        Err("no bytes".into())
    }
}

/// Prints what the process grows by for each client that it holds, when more have come than there is room for and each
/// has spent its quota.
pub(crate) fn bytes(algorithm: &str, quota: u32) -> Outcome {
    let algorithm = Algorithm::named(algorithm).ok_or("no such algorithm")?;
    let (slots, journal) = if algorithm == Algorithm::Log { (0, ROOM) } else { (ROOM / 32, 0) };
    let least = if algorithm == Algorithm::Log { 24 + 4 * quota } else { 32 };
    let rule = Rule::new(algorithm, quota, 60 * MINUTE);
    let fill = |memory: &Memory, clients: u32| {
        for number in 0..clients {
            let key = format!("rate_limit:ip:{number}");
            for _ in 0..quota {
                memory.hit(&key, rule, 1);
            }
        }
    };
    // The pages of the code are nobody's memory.
    fill(&Memory::with_size(Clock::system(), 1, 1), 1000);
    let before = resident()?;
    let memory = Memory::with_size(Clock::system(), slots, journal);
    fill(&memory, 2 * u32::try_from(ROOM)? / least);
    let grown = u32::try_from(resident()?.saturating_sub(before))?;
    println!("{:.1}", f64::from(grown) / f64::from(u32::try_from(memory.len())?.max(1)));
    Ok(())
}

fn client(number: u32) -> ClientIp {
    let [_, b, c, d] = number.to_be_bytes();
    ClientIp::from_address([24, b, c, d].into(), Prefixes::default())
}

/// A million requests of a thousand clients whose budgets are spent, as fast as they are decided. It fails when they
/// cost more than one command for each client and second.
#[tokio::main]
pub(crate) async fn flood(redis: &str) -> Outcome {
    let quotas = Quotas { ip_per_minute: 1, ..Quotas::default() };
    let limiter = Limiter::new(quotas, Some(RedisAddress::from_url(redis)?), Clock::system());
    limiter.begin().await;
    if limiter.backend() != Backend::Redis {
        return Err("Redis does not answer".into());
    }
    let mut redis = redis::Client::open(redis)?.get_multiplexed_async_connection().await?;
    // The budgets are spent, and every client has been refused once.
    for number in 0..FLOODERS * 2 {
        ask(&limiter, number % FLOODERS).await;
    }
    let before = script_calls(&mut redis).await?;
    let start = Instant::now();
    let mut floods = JoinSet::new();
    for part in 0..AT_ONCE {
        let limiter = limiter.clone();
        floods.spawn(async move {
            let mut refused = 0;
            // A breath after each thousand, or the flood would be over before a second has passed.
            let mut breath = interval(Duration::from_millis(320));
            for number in 0..FLOOD / AT_ONCE {
                if number % 1000 == 0 {
                    breath.tick().await;
                }
                refused += u32::from(ask(&limiter, (number + part * 17) % FLOODERS).await);
            }
            refused
        });
    }
    let mut refused = 0;
    while let Some(part) = floods.join_next().await {
        refused += part?;
    }
    let took = start.elapsed();
    let calls = script_calls(&mut redis).await? - before;
    let allowed = f64::from(FLOODERS) * took.as_secs_f64().ceil();
    println!("| Refused requests | Clients | Seconds | Redis commands | At most |\n|---:|---:|---:|---:|---:|");
    println!("| {refused} | {FLOODERS} | {:.1} | {calls} | {allowed:.0} |", took.as_secs_f64());
    if refused != FLOOD {
        return Err(format!("{} of {FLOOD} were admitted", FLOOD - refused).into());
    }
    if f64::from(u32::try_from(calls)?) > allowed {
        return Err("a flood of refused requests costs more than one command for each client and second".into());
    }
    Ok(())
}

/// Whether a hit of this client is refused.
async fn ask(limiter: &Limiter, number: u32) -> bool {
    let client = client(number);
    let verdict = limiter.decide(&[Charge::ip(&client)], &client, "/", &Attempt::new(Uuid::nil(), client)).await;
    matches!(verdict, Verdict::Refused(_))
}
