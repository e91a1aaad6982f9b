//! A thread that writes the log. Whoever has a line to write leaves it and goes on: a line costs its writer no call to the
//! system, and a busy service writes many at once. A line waits for a millisecond at most, and no line is dropped: when the
//! log cannot be written as fast as it grows, whoever writes waits.

use std::{
    fmt,
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use tracing_subscriber::fmt::MakeWriter;

/// Bytes that may wait to be written.
const WAITING_MAX: usize = 1024 * 1024;

/// Between two writes.
const PAUSE: Duration = Duration::from_millis(1);

/// Where lines are left.
#[derive(Clone)]
pub struct Pen(Arc<Desk>);

/// Ends the thread when it is dropped, once everything is written.
#[derive(Debug)]
#[must_use = "what was not written yet is lost without it"]
pub struct LastLine {
    pen: Pen,
    writing: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Desk {
    sheet: Mutex<Sheet>,
    filled: Condvar,
    taken: Condvar,
}

#[derive(Default)]
struct Sheet {
    lines: Vec<u8>,
    /// Whether the thread waits for a line.
    waits: bool,
    ended: bool,
}

impl Pen {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn writing_to(paper: impl Write + Send + 'static) -> io::Result<(Self, LastLine)> {
        let pen = Self(Arc::default());
        let of_thread = pen.clone();
        let writing = thread::Builder::new().name(String::from("log")).spawn(move || of_thread.write_on(paper))?;
        Ok((pen.clone(), LastLine { pen, writing: Some(writing) }))
    }

    fn write_on(&self, mut paper: impl Write) {
        let mut lines = Vec::new();
        while self.take(&mut lines) {
            // There is nowhere to say that the log cannot be written.
            let _ = paper.write_all(&lines);
            lines.clear();
            thread::sleep(PAUSE);
        }
    }

    /// Waits for lines and swaps them with the empty sheet; `false` when there will be none.
    fn take(&self, lines: &mut Vec<u8>) -> bool {
        let mut sheet = self.sheet();
        while sheet.lines.is_empty() && !sheet.ended {
            sheet.waits = true;
            sheet = self.0.filled.wait(sheet).unwrap_or_else(PoisonError::into_inner);
        }
        sheet.waits = false;
        mem::swap(&mut sheet.lines, lines);
        if lines.len() >= WAITING_MAX {
            self.0.taken.notify_all();
        }
        !lines.is_empty()
    }

    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        self.0.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for &Pen {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut sheet = self.sheet();
        while sheet.lines.len() >= WAITING_MAX && !sheet.ended {
            sheet = self.0.taken.wait(sheet).unwrap_or_else(PoisonError::into_inner);
        }
        sheet.lines.extend_from_slice(line);
        if mem::take(&mut sheet.waits) {
            self.0.filled.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Pen {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> &'a Self {
        self
    }
}

impl Drop for LastLine {
    fn drop(&mut self) {
        self.pen.sheet().ended = true;
        self.pen.0.filled.notify_one();
        if let Some(writing) = self.writing.take() {
            // It ends by itself; a panic in it has been told.
            let _ = writing.join();
        }
    }
}

impl fmt::Debug for Pen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pen")
    }
}
