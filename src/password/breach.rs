//! Passwords that were found in breaches: a sorted file of SHA-1 hashes as Have I Been Pwned publishes it, one
//! `HASH:COUNT` a line, searched where it lies. Nothing is loaded, and nobody is asked over the network.

use std::{cmp::Ordering, fmt, fs::File, io, os::unix::fs::FileExt, path::Path, sync::Arc};

use ring::digest;

/// Hexadecimal digits of a SHA-1.
const DIGITS: usize = 40;

/// Longest line: the hash, a colon, a count of up to twenty digits, and both line ends. Twice that finds a whole line.
const WINDOW: usize = 128;

/// Places at which the order is looked at when the list is opened. It finds a list sorted by count, not one wrong line.
const SAMPLES: u64 = 256;

/// A list on disk.
#[derive(Clone)]
pub struct BreachList(Arc<Inner>);

struct Inner {
    file: File,
    length: u64,
}

/// One line: where it starts, where the next one starts, its hash in upper case.
struct Line {
    start: u64,
    next: u64,
    hash: [u8; DIGITS],
}

impl BreachList {
    /// Opens a list and looks at its form and order at sampled places.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let told = |error: io::Error| format!("cannot be read: {error}");
        let file = File::open(path).map_err(told)?;
        let metadata = file.metadata().map_err(told)?;
        if !metadata.is_file() || metadata.len() == 0 {
            return Err(String::from("must name a file that is not empty"));
        }
        let inner = Inner { file, length: metadata.len() };
        inner.sample().map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => error.to_string(),
            _ => told(error),
        })?;
        Ok(Self(Arc::new(inner)))
    }

    /// Whether the list holds a password.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub async fn holds(&self, password: &str) -> io::Result<bool> {
        let hash = sha1(password);
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || inner.holds(&hash)).await.map_err(io::Error::other)?
    }
}

impl fmt::Debug for BreachList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BreachList({} bytes)", self.0.length)
    }
}

impl Inner {
    /// A binary search over bytes: the middle falls into some line, and that line is compared.
    fn holds(&self, wanted: &[u8; DIGITS]) -> io::Result<bool> {
        let (mut low, mut high) = (0, self.length);
        while low < high {
            let line = self.line_at(low + (high - low) / 2)?;
            match line.hash.cmp(wanted) {
                Ordering::Equal => return Ok(true),
                Ordering::Less => low = line.next,
                Ordering::Greater => high = line.start,
            }
        }
        Ok(false)
    }

    /// The line that the byte at `offset` belongs to.
    fn line_at(&self, offset: u64) -> io::Result<Line> {
        let from = offset.saturating_sub(WINDOW as u64);
        let mut window = [0; 2 * WINDOW];
        let read = self.fill(from, &mut window)?;
        let window = &window[..read];
        let at = usize::try_from(offset - from).map_err(io::Error::other)?;
        let start = match window[..at].iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if from == 0 => 0,
            None => return Err(malformed(offset)),
        };
        let length = match window[start..].iter().position(|byte| *byte == b'\n') {
            Some(length) => length,
            None if from + read as u64 == self.length => read - start,
            None => return Err(malformed(offset)),
        };
        let text = window[start..start + length].trim_ascii_end();
        let (hash, count) = text.split_at_checked(DIGITS).ok_or_else(|| malformed(offset))?;
        let counted = count.is_empty() || (count[0] == b':' && count[1..].iter().all(u8::is_ascii_digit));
        let mut hash: [u8; DIGITS] = hash.try_into().map_err(io::Error::other)?;
        if !counted || !hash.iter().all(u8::is_ascii_hexdigit) {
            return Err(malformed(offset));
        }
        hash.make_ascii_uppercase();
        let next = (from + (start + length + 1) as u64).min(self.length);
        Ok(Line { start: from + start as u64, next, hash })
    }

    fn fill(&self, from: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], from + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn sample(&self) -> io::Result<()> {
        let mut before: Option<Line> = None;
        for sample in 0..=SAMPLES {
            let offset = u128::from(self.length - 1) * u128::from(sample) / u128::from(SAMPLES);
            let line = self.line_at(u64::try_from(offset).map_err(io::Error::other)?)?;
            let sorted = before.as_ref().is_none_or(|before| before.start == line.start || before.hash < line.hash);
            if !sorted {
                let text =
                    format!("is not sorted by hash near byte {}: take the list that is ordered by hash", line.start);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            before = Some(line);
        }
        Ok(())
    }
}

fn malformed(offset: u64) -> io::Error {
    let text = format!("holds a line that is not SHA1:COUNT near byte {offset}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn sha1(password: &str) -> [u8; DIGITS] {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    let mut text = [0; DIGITS];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest.as_ref()) {
        pair[0] = HEX[usize::from(byte >> 4)];
        pair[1] = HEX[usize::from(byte & 15)];
    }
    text
}
