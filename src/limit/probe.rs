//! The watch over Redis: a PING each second while it is in use, a probe with growing pauses while it is not.
//! It runs beside the requests and refuses to hold any of them.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::time::{sleep, timeout};

use super::{
    backend::{Link, Switch},
    fault::Fault,
    redis::{RedisAddress, Wire},
};

/// Between two PINGs.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Unanswered PINGs that switch to memory: an idle process notices too.
const MISSES: u32 = 2;

/// Longest that a sign of life may take.
const DEADLINE: Duration = Duration::from_millis(250);

/// The probe's first pause, and the time between its two successes.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Tries once to begin on Redis, at the start of the process.
pub(super) async fn begin(switch: &Switch, address: &RedisAddress) {
    let begun = timeout(DEADLINE, async {
        let wire = Wire::connect(address).await?;
        let latency = trial(switch, &wire).await?;
        Ok((wire, latency))
    });
    match begun.await.unwrap_or(Err(Fault::Timeout)) {
        Ok((wire, latency)) => switch.return_to(wire, latency),
        Err(fault) => switch.announce_absence(fault),
    }
}

/// Watches for ever.
pub(super) async fn watch(switch: &Switch, address: &RedisAddress) {
    loop {
        match switch.link() {
            Some(link) => heartbeat(switch, &link).await,
            None => probe(switch, address).await,
        }
    }
}

/// Returns when Redis is no longer in use.
async fn heartbeat(switch: &Switch, link: &Arc<Link>) {
    let mut misses = 0;
    loop {
        tokio::select! {
            () = link.gone.cancelled() => return,
            () = sleep(HEARTBEAT) => {}
        }
        let elapsed = switch.stopwatch();
        match timeout(DEADLINE, link.wire.ping()).await.unwrap_or(Err(Fault::Timeout)) {
            Ok(()) => {
                misses = 0;
                link.note_latency(elapsed());
            }
            Err(fault) => {
                misses += 1;
                if misses >= MISSES || fault.ends_connection() {
                    switch.fall_back(link, fault);
                    return;
                }
            }
        }
    }
}

/// Returns when Redis is in use again. Every probe connects anew, so that it finds a primary that has moved.
async fn probe(switch: &Switch, address: &RedisAddress) {
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(jittered(pause)).await;
        match two_successes(switch, address).await {
            Ok((wire, latency)) => {
                switch.return_to(wire, latency);
                return;
            }
            Err(fault) => switch.announce_absence(fault),
        }
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

async fn two_successes(switch: &Switch, address: &RedisAddress) -> Result<(Wire, Duration), Fault> {
    let wire = Wire::connect(address).await?;
    trial(switch, &wire).await?;
    sleep(FIRST_PAUSE).await;
    let latency = trial(switch, &wire).await?;
    Ok((wire, latency))
}

/// A PING and a write; answers with the time that the PING took.
async fn trial(switch: &Switch, wire: &Wire) -> Result<Duration, Fault> {
    let both = async {
        let elapsed = switch.stopwatch();
        wire.ping().await?;
        let latency = elapsed();
        wire.write_canary().await?;
        Ok(latency)
    };
    timeout(DEADLINE, both).await.unwrap_or(Err(Fault::Timeout))
}

/// Up to a quarter less than `pause`, so that many processes do not return in step. Needs no secret chance: the seed of a
/// hasher is enough.
fn jittered(pause: Duration) -> Duration {
    let percent = u32::try_from(RandomState::new().hash_one(0_u8) % 26).unwrap_or(0);
    pause.saturating_mul(75 + percent) / 100
}
