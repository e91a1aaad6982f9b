//! A Redis played by hand: it hears every command, and answers what a test wants it to.

use std::{
    io,
    sync::{Arc, Mutex},
};

use labs_auth::limit::algorithm::Rule;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// How it answers a command.
pub(crate) enum Answer {
    /// These bytes, in the protocol's words.
    Says(Vec<u8>),
    Silence,
    HangsUp,
}

impl Answer {
    /// What `decide.lua` answers: six numbers for each bucket that was asked, and the server's time.
    pub(crate) fn decides(numbers: &[i64]) -> Self {
        let packed = pack(numbers);
        Self::Says([format!("${}\r\n", packed.len()).as_bytes(), &packed, b"\r\n"].concat())
    }
}

/// What `decide.lua` is asked about a bucket; its refusal ends the decision.
pub(crate) fn ask(rule: Rule, cost: u32) -> Vec<u8> {
    [
        &rule.quota.to_be_bytes()[..],
        &rule.window.to_be_bytes(),
        &rule.burst.to_be_bytes(),
        &cost.to_be_bytes(),
        &[0],
        rule.algorithm.name().as_bytes(),
        &[0],
    ]
    .concat()
}

/// Numbers for each bucket.
const NUMBERS: usize = 6;

/// The bytes of an answer: the first number of each bucket takes one byte, all others eight.
fn pack(numbers: &[i64]) -> Vec<u8> {
    let (time, buckets) = numbers.split_last().unwrap();
    let (buckets, rest) = buckets.as_chunks::<NUMBERS>();
    assert!(rest.is_empty(), "{numbers:?}");
    let bucket = |[admitted, others @ ..]: &[i64; NUMBERS]| {
        let admitted = i8::try_from(*admitted).unwrap().to_be_bytes();
        [&admitted[..], others.map(i64::to_be_bytes).as_flattened()].concat()
    };
    [buckets.iter().flat_map(bucket).collect(), time.to_be_bytes().to_vec()].concat()
}

/// The numbers of an answer.
pub(crate) fn unpack(answer: &[u8]) -> Vec<i64> {
    let (mut rest, mut numbers) = (answer, Vec::new());
    let number = |bytes: &[u8]| i64::from_be_bytes(bytes.try_into().unwrap());
    while rest.len() > size_of::<i64>() {
        let (bucket, others) = rest.split_at(1 + (NUMBERS - 1) * size_of::<i64>());
        numbers.push(i64::from(i8::from_be_bytes([bucket[0]])));
        numbers.extend(bucket[1..].chunks(size_of::<i64>()).map(number));
        rest = others;
    }
    numbers.push(number(rest));
    numbers
}

/// A bucket that admits, and one that refuses, as the script answers them.
pub(crate) const ADMITS: [i64; 6] = [1, 7, 60_000_000, 0, 3, 0];
pub(crate) const REFUSES: [i64; 6] = [0, 0, 60_000_000, 0, 10, 0];

/// The server's time, when no decision needed it.
pub(crate) const NO_TIME: [i64; 1] = [0];

/// A command: on which connection it came, and its words.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) connection: usize,
    pub(crate) words: Vec<String>,
}

impl Heard {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.words[0] == name
    }

    /// The keys that a decision asks about.
    pub(crate) fn keys(&self) -> &[String] {
        if !self.is("EVALSHA") {
            return &[];
        }
        let count: usize = self.words[2].parse().unwrap();
        &self.words[3..3 + count]
    }
}

type Play = dyn Fn(&Heard) -> Option<Answer> + Send + Sync;

/// The server, which ends with the test's runtime.
pub(crate) struct Fake {
    port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Fake {
    /// Begins to listen. Where `play` has no answer, all is well: every decision is admitted, and one node holds all keys.
    pub(crate) async fn start(play: impl Fn(&Heard) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (play, heard): (Arc<Play>, Arc<Mutex<Vec<Heard>>>) = (Arc::new(play), Arc::default());
        let notes = Arc::clone(&heard);
        tokio::spawn(async move {
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                tokio::spawn(serve(stream, connection, port, Arc::clone(&play), Arc::clone(&notes)));
            }
        });
        Self { port, heard }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Every command so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// Forgets what it heard.
    pub(crate) fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }
}

async fn serve(
    stream: TcpStream,
    connection: usize,
    port: u16,
    play: Arc<Play>,
    notes: Arc<Mutex<Vec<Heard>>>,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let heard = Heard { connection, words: command(&mut stream).await? };
        notes.lock().unwrap().push(heard.clone());
        match play(&heard).unwrap_or_else(|| all_is_well(&heard, port)) {
            Answer::Says(text) => stream.write_all(&text).await?,
            Answer::Silence => {}
            Answer::HangsUp => return Ok(()),
        }
    }
}

fn all_is_well(heard: &Heard, port: u16) -> Answer {
    if heard.is("EVALSHA") {
        let buckets = ADMITS.repeat(heard.keys().len());
        return Answer::decides(&[buckets, NO_TIME.to_vec()].concat());
    }
    let text = match heard.words[0].as_str() {
        "PING" => String::from("+PONG\r\n"),
        // One node, reached where this one is, holds all slots.
        "CLUSTER" => format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:{port}\r\n"),
        "SCRIPT" => format!("+{}\r\n", redis::Script::new(&heard.words[2]).get_hash()),
        _ => String::from("+OK\r\n"),
    };
    Answer::Says(text.into_bytes())
}

/// The next command: an array of texts, each with its length in front.
async fn command(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..number(stream, '*').await? {
        let mut word = vec![0; number(stream, '$').await?];
        stream.read_exact(&mut word).await?;
        stream.read_line(&mut String::new()).await?;
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
    Ok(words)
}

async fn number(stream: &mut BufReader<TcpStream>, sign: char) -> io::Result<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let number = line.trim_end().strip_prefix(sign).and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
