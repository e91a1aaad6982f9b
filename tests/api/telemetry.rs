//! The log's own form: one event, one line of JSON that any parser reads, and a thread that loses none of them.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

use labs_auth::{
    clock::{Clock, Timestamp},
    telemetry::{Pen, json},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;

/// Paper that can be read.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What is logged meanwhile, line by line.
fn logged(events: impl FnOnce()) -> Vec<Value> {
    crate::limit::world::second_subscriber();
    let paper = Paper::default();
    let (pen, last_line) = Pen::writing_to(paper.clone()).unwrap();
    let subscriber = json::subscriber(EnvFilter::new("info"), Clock::system(), pen);
    tracing::subscriber::with_default(subscriber, events);
    drop(last_line);
    paper.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_event_is_a_line_with_its_message_its_fields_and_its_span() {
    let lines = logged(|| {
        tracing::debug!("too small to be told");
        let span = tracing::info_span!("request", id = %"a \"quoted\" id");
        let _inside = span.enter();
        let (route, cause) = ("/api/auth/login", "line one\nline two\t\\ \u{1} ü");
        tracing::info!(
            count = -3_i64,
            size = 7_u64,
            millis = 0.25,
            gone = f64::NAN,
            done = true,
            route,
            cause,
            "{} up",
            2
        );
        tracing::error!(list = ?[1, 2], r#type = "x");
    });
    let [first, second] = &lines[..] else { panic!("{lines:?}") };
    let stamp = first["timestamp"].as_str().unwrap();
    assert_eq!((stamp.len(), &stamp[4..5], &stamp[10..11], &stamp[26..]), (27, "-", "T", "Z"), "{stamp}");
    let expected = json!({
        "timestamp": stamp, "level": "INFO", "message": "2 up", "count": -3, "size": 7, "millis": 0.25, "gone": null,
        "done": true, "route": "/api/auth/login", "cause": "line one\nline two\t\\ \u{1} ü", "target": "api::telemetry",
        "span": {"name": "request", "id": "a \"quoted\" id"},
    });
    assert_eq!(*first, expected);
    assert_eq!((&second["level"], &second["list"], &second["type"]), (&json!("ERROR"), &json!("[1, 2]"), &json!("x")));
}

proptest! {
    #[test]
    fn any_text_comes_back_as_it_was(text in any::<String>()) {
        let lines = logged(|| tracing::info!(text, "said"));
        prop_assert_eq!(&lines[0]["text"], &json!(text));
    }
}

#[test]
fn moments_are_written_as_the_calendar_has_them() {
    for (micros, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1_795_996_799_123_456, "2026-11-29T23:59:59.123456Z"),
    ] {
        assert_eq!(Timestamp::from_micros(micros).to_rfc3339_micros(), text);
        assert_eq!(Timestamp::from_micros(micros).to_rfc3339_millis(), format!("{}Z", &text[..23]));
    }
}

/// Paper that takes nothing before it is told to.
struct Shut(Receiver<()>, Paper);

impl Write for Shut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // When nobody will ever open it, it is open.
        let _ = self.0.recv();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn many_threads_lose_no_line_and_mix_none() {
    let paper = Paper::default();
    let (pen, last_line) = Pen::writing_to(paper.clone()).unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let pen = &pen;
            scope.spawn(move || {
                for number in 0..2000 {
                    let mut pen = pen;
                    pen.write_all(format!("{writer} {number}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    drop(last_line);
    let text = paper.text();
    for writer in 0..4 {
        let own: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&format!("{writer} "))).collect();
        let expected: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
        assert_eq!(own, expected, "of writer {writer}");
    }
    assert_eq!(text.lines().count(), 8000);
}

#[test]
fn a_log_that_cannot_be_written_holds_writers_back_and_loses_nothing() {
    const LINE: usize = 64 * 1024;
    let paper = Paper::default();
    let (open, gate) = channel();
    let (pen, last_line) = Pen::writing_to(Shut(gate, paper.clone())).unwrap();
    let written = Arc::new(Mutex::new(0));
    let writer = thread::spawn({
        let (mut line, written) = (vec![b'x'; LINE - 1], Arc::clone(&written));
        line.push(b'\n');
        move || {
            for _ in 0..64 {
                (&pen).write_all(&line).unwrap();
                *written.lock().unwrap() += 1;
            }
        }
    });
    // More than a mebibyte in the thread's hands and another one waiting is not taken.
    thread::sleep(Duration::from_millis(300));
    let before = *written.lock().unwrap();
    assert!((16..=33).contains(&before), "{before} lines of 64 KiB were taken");
    drop(open);
    writer.join().unwrap();
    drop(last_line);
    assert_eq!(paper.0.lock().unwrap().len(), 64 * LINE);
}
