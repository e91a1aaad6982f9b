//! `users import FILE`: reads on a thread of its own, stores in batches, reports each line that cannot be used. The file
//! is never in memory as a whole; its addresses are, to find one that stands in it twice.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;

use super::{Failure, line};
use crate::{
    clock::{Clock, Timestamp},
    people::{
        People,
        bring::{BATCH, Keep, Newcomer},
    },
};

/// Longest line that is read, in bytes.
const LINE_MAX: u64 = 64 * 1024;

/// The exit code when some lines were refused and the others stored.
const SOME_REFUSED: u8 = 2;

#[derive(Debug, Args)]
pub(in crate::cli) struct Import {
    /// One JSON object a line; `-` reads standard input
    file: PathBuf,
    /// Check every line and store nothing
    #[arg(long)]
    dry_run: bool,
}

/// What was read since the last batch.
#[derive(Default)]
struct Batch {
    people: Vec<Newcomer>,
    refused: Vec<(u64, String)>,
    lines: u64,
    bytes: u64,
}

#[derive(Default)]
struct Sums {
    lines: u64,
    brought: usize,
    usable: usize,
    refused: usize,
}

pub(super) async fn run(import: &Import, people: &People) -> Result<ExitCode, Failure> {
    let (input, size) = open(&import.file)?;
    people.db.expect_much().await.map_err(|fault| vec![fault.for_log().to_owned()])?;
    let keep = if import.dry_run { Keep::DryRun } else { Keep::Yes };
    let (sender, mut batches) = mpsc::channel(2);
    let clock = Clock::system();
    let reading = tokio::task::spawn_blocking(move || read(input, clock.now(), &sender));
    let bar = bar(size);
    let mut sums = Sums::default();
    while let Some(batch) = batches.recv().await {
        for (line, reason) in &batch.refused {
            bar.suspend(|| complain(*line, reason));
        }
        let brought = people.bring(&batch.people, keep).await.map_err(|fault| {
            let done = sums.lines;
            vec![format!("stopped after line {done}, all before it is stored; run it again: {}", fault.for_log())]
        })?;
        sums.lines += batch.lines;
        sums.brought += brought;
        sums.usable += batch.people.len();
        sums.refused += batch.refused.len();
        bar.inc(batch.bytes);
    }
    bar.finish_and_clear();
    reading
        .await
        .map_err(|error| vec![error.to_string()])?
        .map_err(|error| vec![format!("{} cannot be read to its end: {error}", import.file.display())])?;
    Ok(report(&sums, keep))
}

fn open(path: &Path) -> Result<(Box<dyn Read + Send>, u64), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin()), 0));
    }
    let told = |error: io::Error| vec![format!("{} cannot be read: {error}", path.display())];
    let file = File::open(path).map_err(told)?;
    let size = file.metadata().map_err(told)?.len();
    Ok((Box::new(file), size))
}

/// Reads to the end, or until nobody listens any more.
fn read(input: Box<dyn Read + Send>, now: Timestamp, batches: &mpsc::Sender<Batch>) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, input);
    let mut known = HashSet::new();
    let mut batch = Batch::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let taken = input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? as u64;
        if taken == 0 {
            break;
        }
        number += 1;
        batch.lines += 1;
        batch.bytes += taken;
        if taken == LINE_MAX && !line.ends_with(b"\n") {
            batch.bytes += input.skip_until(b'\n')? as u64;
            batch.refused.push((number, format!("the line is longer than {LINE_MAX} bytes")));
            continue;
        }
        let text = line.trim_ascii();
        let text = if number == 1 { text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text) } else { text };
        if text.is_empty() {
            continue;
        }
        match line::read(text, now) {
            Ok(newcomer) if known.insert(newcomer.email.as_str().to_owned()) => batch.people.push(newcomer),
            Ok(_) => batch.refused.push((number, String::from("the address stands on an earlier line"))),
            Err(reason) => batch.refused.push((number, reason)),
        }
        if batch.people.len() + batch.refused.len() >= BATCH
            && batches.blocking_send(std::mem::take(&mut batch)).is_err()
        {
            return Ok(());
        }
    }
    // Nobody listens only when storing failed, which is reported there.
    let _ = batches.blocking_send(batch);
    Ok(())
}

/// A bar on a terminal, nothing elsewhere.
fn bar(size: u64) -> ProgressBar {
    let bar = if size == 0 { ProgressBar::new_spinner() } else { ProgressBar::new(size) };
    if size > 0
        && let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {elapsed} ({eta} left)")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn report(sums: &Sums, keep: Keep) -> ExitCode {
    let here = sums.usable - sums.brought;
    let (brought, lines, refused) = (sums.brought, sums.usable + sums.refused, sums.refused);
    match keep {
        Keep::Yes => println!("{lines} lines: {brought} brought, {here} here already, {refused} refused."),
        Keep::DryRun => {
            println!(
                "{lines} lines: {brought} would be brought, {here} are here already, {refused} refused. Nothing was stored."
            );
        }
    }
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(SOME_REFUSED) }
}

#[expect(clippy::print_stderr, reason = "the report of refused lines stands apart from the summary")]
fn complain(line: u64, reason: &str) {
    eprintln!("line {line}: {reason}");
}
