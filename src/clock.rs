//! Time, handed in. The only file that reads the system's clocks; everything else asks a [`Clock`].
//! It refuses to sleep: whoever waits uses the runtime's timers.

use std::{
    fmt,
    ops::{Add, Sub},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::{Serialize, Serializer};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Something that tells time. The real one is [`Clock::system`]; tests bring one they can move.
pub trait TimeSource: Send + Sync + 'static {
    /// Microseconds since the Unix epoch.
    fn wall_micros(&self) -> i64;
    /// Microseconds since an arbitrary start; never runs backwards.
    fn monotonic_micros(&self) -> u64;
}

/// The clock that every part is handed.
#[derive(Clone)]
pub struct Clock(Arc<dyn TimeSource>);

impl Clock {
    /// The machine's own clocks.
    pub fn system() -> Self {
        Self(Arc::new(System { start: Instant::now() }))
    }

    /// A clock that asks `source`.
    pub fn from_source(source: impl TimeSource) -> Self {
        Self(Arc::new(source))
    }

    /// The moment it is, by the calendar.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.0.wall_micros())
    }

    /// The time since this clock's start; never runs backwards.
    pub fn monotonic(&self) -> Duration {
        Duration::from_micros(self.monotonic_micros())
    }

    /// The same in whole microseconds, in which the limiter counts.
    pub fn monotonic_micros(&self) -> u64 {
        self.0.monotonic_micros()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

struct System {
    start: Instant,
}

impl TimeSource for System {
    fn wall_micros(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// A moment in UTC, in whole microseconds: the precision that both databases keep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `micros` microseconds after the Unix epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(MICROS_PER_SECOND)
    }

    /// How long `earlier` lies before this moment; zero when it does not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// RFC 3339 in UTC with exactly three decimals, as error bodies carry it.
    pub fn to_rfc3339_millis(self) -> String {
        self.with_decimals(3)
    }

    /// The same with six decimals, as the log carries it.
    pub fn to_rfc3339_micros(self) -> String {
        self.with_decimals(6)
    }

    /// Every error body and every line of the log has such a text; so its digits are put into their places by hand.
    fn with_decimals(self, decimals: usize) -> String {
        let moment = OffsetDateTime::from_unix_timestamp(self.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = moment.to_calendar_date();
        let (hour, minute, second) = moment.to_hms();
        let micros = u32::try_from(self.0.rem_euclid(MICROS_PER_SECOND)).unwrap_or(0);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        put(&mut text[..4], year.unsigned_abs());
        for (place, part) in [(5, month.into()), (8, day), (11, hour), (14, minute), (17, second)] {
            put(&mut text[place..place + 2], part.into());
        }
        put(&mut text[20..26], micros);
        text[20 + decimals] = b'Z';
        // Digits and signs are text.
        str::from_utf8(&text[..=20 + decimals]).unwrap_or_default().to_owned()
    }

    /// RFC 3339 in UTC, with as many decimals as needed.
    pub fn to_rfc3339(self) -> String {
        self.to_date_time().format(&Rfc3339).unwrap_or_else(|_| String::from("1970-01-01T00:00:00Z"))
    }

    /// The same moment as the calendar library's type.
    pub fn to_date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// The moment of a calendar value, cut to microseconds.
    pub fn from_date_time(moment: OffsetDateTime) -> Self {
        Self(i64::try_from(moment.unix_timestamp_nanos().div_euclid(1000)).unwrap_or(i64::MAX))
    }
}

/// Puts a number's last digits into these places.
fn put(places: &mut [u8], mut number: u32) {
    for place in places.iter_mut().rev() {
        *place += u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(later.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(earlier.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}
