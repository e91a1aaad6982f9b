//! Why a mail did not leave, as the courier and the operator need to know it. It refuses to repeat what a mail server
//! may have quoted back: addresses, links, tokens.

/// Longest reason kept, in characters.
const REASON_LIMIT: usize = 240;

/// Longest word kept: shorter than any token.
const WORD_LIMIT: usize = 31;

/// A delivery that failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server knows the mailbox will not take it. Trying again is pointless.
    Refused(String),
    /// Anything else: the server, the way there, the disk. Trying again may help.
    Postponed(String),
}

impl Failure {
    pub(super) fn refused(step: &str, cause: &str) -> Self {
        Self::Refused(reason(step, cause))
    }

    pub(super) fn postponed(step: &str, cause: &str) -> Self {
        Self::Postponed(reason(step, cause))
    }
}

fn reason(step: &str, cause: &str) -> String {
    let words: Vec<&str> = cause.split_whitespace().map(|word| if is_telling(word) { "…" } else { word }).collect();
    let text: String = format!("{step}: {}", words.join(" ")).chars().filter(|sign| !sign.is_control()).collect();
    text.chars().take(REASON_LIMIT).collect()
}

/// Whether a word may be an address, a link or a token.
fn is_telling(word: &str) -> bool {
    word.len() > WORD_LIMIT || word.contains('@') || word.contains("//") || word.contains('=')
}
