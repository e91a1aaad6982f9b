//! What the measurements read: processor time, resident memory, and the scripts that Redis ran.

use std::{fs, time::Duration};

use redis::{InfoDict, aio::MultiplexedConnection, cmd};

use crate::Outcome;

/// Resident memory of this process in bytes.
pub(crate) fn resident() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}

/// Processor time of this thread: what others do on the machine is not in it.
pub(crate) fn processor() -> Outcome<Duration> {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = statistics.split_whitespace().next().ok_or("no schedstat")?;
    Ok(Duration::from_nanos(nanos.parse()?))
}

/// How many commands clients have sent to decide: script calls.
pub(crate) async fn script_calls(redis: &mut MultiplexedConnection) -> Outcome<u64> {
    let info: InfoDict = cmd("INFO").arg("commandstats").query_async(redis).await?;
    let mut calls = 0;
    for name in ["cmdstat_evalsha", "cmdstat_eval"] {
        let line: String = info.get(name).unwrap_or_default();
        let count = line.split(',').find_map(|field| field.strip_prefix("calls="));
        calls += count.map_or(Ok(0), str::parse::<u64>)?;
    }
    Ok(calls)
}
