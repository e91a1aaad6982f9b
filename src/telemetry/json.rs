//! An event as one line of JSON: `timestamp`, `level`, `message`, the event's own fields, `target`, and the `span` that it
//! happened in. Every request writes such a line, so it is put together as text and handed over at once: the library's
//! own formatter, which builds values first, was a fifth of a request's work.

use std::fmt::{self, Debug, Write};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    field::{MakeVisitor, VisitFmt, VisitOutput},
    fmt::{FmtContext, FormatEvent, FormattedFields, MakeWriter, format::Writer},
    registry::LookupSpan,
};

use crate::clock::Clock;

/// A subscriber that writes lines of JSON.
pub fn subscriber<W>(filter: EnvFilter, clock: Clock, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = Lines { clock };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .fmt_fields(Members)
        .event_format(lines)
        .with_writer(writer)
        .finish()
}

/// Room for a line of the usual length.
const LINE: usize = 512;

/// Writes events.
#[derive(Clone, Debug)]
struct Lines {
    clock: Clock,
}

impl<S> FormatEvent<S, Members> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, Members>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::with_capacity(LINE);
        let metadata = event.metadata();
        text.push_str("{\"timestamp\":\"");
        text.push_str(&self.clock.now().to_rfc3339_micros());
        text.push_str("\",\"level\":\"");
        text.push_str(metadata.level().as_str());
        text.push('"');
        // The message first, as people read it; it is a field like the others, and stands somewhere among them.
        let mut visitor = MembersVisitor::new(&mut text);
        visitor.wanted = Wanted::Message;
        event.record(&mut visitor);
        visitor.wanted = Wanted::Others;
        event.record(&mut visitor);
        visitor.finish()?;
        text.push_str(",\"target\":\"");
        text.push_str(metadata.target());
        text.push('"');
        if let Some(span) = context.lookup_current() {
            text.push_str(",\"span\":{\"name\":\"");
            text.push_str(span.name());
            text.push('"');
            if let Some(members) = span.extensions().get::<FormattedFields<Members>>() {
                text.push_str(members);
            }
            text.push('}');
        }
        text.push_str("}\n");
        line.write_str(&text)
    }
}

/// Writes fields as members of an object, each with a comma before it.
#[derive(Clone, Copy, Debug)]
struct Members;

impl<'a> MakeVisitor<Writer<'a>> for Members {
    type Visitor = MembersVisitor<Writer<'a>>;

    fn make_visitor(&self, line: Writer<'a>) -> Self::Visitor {
        MembersVisitor::new(line)
    }
}

/// Which fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Message,
    Others,
}

struct MembersVisitor<W> {
    line: W,
    wanted: Wanted,
    outcome: fmt::Result,
}

impl<W: Write> MembersVisitor<W> {
    const fn new(line: W) -> Self {
        Self { line, wanted: Wanted::All, outcome: Ok(()) }
    }

    fn member(&mut self, field: &Field, value: impl FnOnce(&mut W) -> fmt::Result) {
        let is_message = field.name() == "message";
        let passed_over = match self.wanted {
            Wanted::All => false,
            Wanted::Message => !is_message,
            Wanted::Others => is_message,
        };
        if passed_over || self.outcome.is_err() {
            return;
        }
        self.outcome = name(&mut self.line, field.name()).and_then(|()| value(&mut self.line));
    }
}

/// A field's name, as it stands in the source.
fn name(line: &mut impl Write, name: &str) -> fmt::Result {
    line.write_str(",\"")?;
    line.write_str(name.strip_prefix("r#").unwrap_or(name))?;
    line.write_str("\":")
}

fn quoted<W: Write>(line: &mut W, write: impl FnOnce(&mut Escaped<'_, W>) -> fmt::Result) -> fmt::Result {
    line.write_str("\"")?;
    write(&mut Escaped(line))?;
    line.write_str("\"")
}

impl<W: Write> Visit for MembersVisitor<W> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.member(field, |line| quoted(line, |text| text.write_str(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.member(field, |line| quoted(line, |text| write!(text, "{value:?}")));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.member(field, |line| line.write_str(itoa::Buffer::new().format(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.member(field, |line| line.write_str(itoa::Buffer::new().format(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field, |line| line.write_str(if value { "true" } else { "false" }));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let mut number = zmij::Buffer::new();
        // JSON has no other numbers than the finite ones.
        self.member(field, |line| line.write_str(if value.is_finite() { number.format_finite(value) } else { "null" }));
    }
}

impl<W: Write> VisitOutput<fmt::Result> for MembersVisitor<W> {
    fn finish(self) -> fmt::Result {
        self.outcome
    }
}

impl<W: Write> VisitFmt for MembersVisitor<W> {
    fn writer(&mut self) -> &mut dyn Write {
        &mut self.line
    }
}

const fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Text inside a string of JSON (RFC 8259, section 7).
struct Escaped<'a, W>(&'a mut W);

impl<W: Write> Write for Escaped<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Nearly every text is plain, and a look at all of it is cheaper than one at each byte.
        if !text.bytes().fold(false, |found, byte| found | is_special(byte)) {
            return self.0.write_str(text);
        }
        let mut rest = text;
        while let Some(at) = rest.bytes().position(is_special) {
            // What is escaped is one byte, so that both cuts lie between characters.
            let (plain, special) = rest.split_at(at);
            let (special, after) = special.split_at(1);
            self.0.write_str(plain)?;
            match special {
                "\"" => self.0.write_str("\\\"")?,
                "\\" => self.0.write_str("\\\\")?,
                "\n" => self.0.write_str("\\n")?,
                "\r" => self.0.write_str("\\r")?,
                "\t" => self.0.write_str("\\t")?,
                control => write!(self.0, "\\u{:04x}", control.as_bytes()[0])?,
            }
            rest = after;
        }
        self.0.write_str(rest)
    }
}
