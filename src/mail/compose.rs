//! From a letter to a message: words, headers, MIME parts. It refuses to let a name become anything but a name, and to
//! read a clock or chance of its own.

use std::time::Duration;

use lettre::{
    Message,
    message::{
        Mailbox, MultiPart, SinglePart,
        header::{ContentType, HeaderName, HeaderValue},
    },
};

use super::{
    letter::{Language, Letter, Recipient},
    parcel::Parcel,
    settings::{Sender, ascii_address},
    templates::{Particulars, Templates},
};
use crate::{clock::Clock, secret::Entropy, store::Fault};

/// Longest name that a greeting or a `To` header carries, in characters.
const NAME_LIMIT: usize = 80;

/// Writes messages.
pub(super) struct Composer {
    templates: Templates,
    from: Sender,
    clock: Clock,
    entropy: Entropy,
}

impl Composer {
    pub(super) fn new(from: Sender, clock: Clock, entropy: Entropy) -> Result<Self, String> {
        let templates = Templates::compile().map_err(|error| format!("a mail template is wrong: {error:#}"))?;
        Ok(Self { templates, from, clock, entropy })
    }

    /// The finished message for one recipient.
    pub(super) fn compose(&self, to: &Recipient<'_>, letter: &Letter) -> Result<Parcel, Fault> {
        let links = letter.links();
        if links.iter().flatten().any(|link| link.chars().any(|sign| sign.is_whitespace() || sign.is_control())) {
            return Err(Fault::defect("a mail's link has a blank or a control character in it"));
        }
        let email = ascii_address(to.email).ok_or_else(|| Fault::defect("a mail's recipient is not an address"))?;
        let name = to.name.and_then(presentable_name);
        let greeting = name.as_deref().map(unlinked);
        let lifetime = letter.lifetime().map(|lifetime| in_words(lifetime, to.language));
        // Mail programs make links of what looks like one. A person typed the new address, a machine named itself.
        let typed =
            |text: &str| text.contains('@') || matches!(letter, Letter::NewDevice { device, .. } if device == text);
        let facts =
            letter.facts().map(|fact| fact.map(|text| if typed(text) { unlinked(text) } else { text.to_owned() }));
        let wording = self
            .templates
            .write(
                to.language.folder(),
                letter.kind(),
                &Particulars {
                    name: greeting.as_deref(),
                    product: self.from.product(),
                    links,
                    facts: facts.each_ref().map(Option::as_deref),
                    lifetime: lifetime.as_deref(),
                    code: letter.code(),
                },
            )
            .map_err(|error| Fault::defect(format!("a mail template failed: {error:#}")))?;
        let recipient = email.to_string();
        let message = self
            .message(Mailbox::new(name, email), &wording.subject, to.language)
            .multipart(
                MultiPart::alternative()
                    .boundary(self.entropy.uuid().simple().to_string())
                    .singlepart(part(ContentType::TEXT_PLAIN, wording.text))
                    .singlepart(part(ContentType::TEXT_HTML, wording.html)),
            )
            .map_err(|error| Fault::defect(format!("a mail could not be built: {error}")))?;
        let message = String::from_utf8(message.formatted())
            .ok()
            .filter(|message| message.is_ascii())
            .map(|message| folded(&message))
            .ok_or_else(|| Fault::defect("a composed mail is not ASCII"))?;
        let link = links[0].map(str::to_owned);
        Ok(Parcel { to: recipient, subject: wording.subject, link, message })
    }

    fn message(&self, to: Mailbox, subject: &str, language: Language) -> lettre::message::MessageBuilder {
        let domain = self.from.mailbox().email.domain();
        let header = |name, value: &str| HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned());
        Message::builder()
            .date(self.clock.now().to_date_time().into())
            .message_id(Some(format!("<{}@{domain}>", self.entropy.uuid())))
            .from(self.from.mailbox().clone())
            .to(to)
            .subject(subject)
            .raw_header(header("Auto-Submitted", "auto-generated"))
            .raw_header(header("Content-Language", language.folder()))
    }
}

fn part(kind: ContentType, body: String) -> SinglePart {
    SinglePart::builder().header(kind).body(body)
}

/// The message with a fold between an encoded name and its address: the builder leaves the address on the name's line,
/// which may be longer than the 76 characters that RFC 2047 allows there.
fn folded(message: &str) -> String {
    let (headers, body) = message.split_once("\r\n\r\n").unwrap_or((message, ""));
    format!("{}\r\n\r\n{body}", headers.replace("?= <", "?=\r\n <"))
}

/// A typed name as one line of text of bounded length, or `None` when nothing is left of it. Line breaks end headers;
/// direction marks and other invisible controls make text read as what it is not.
fn presentable_name(name: &str) -> Option<String> {
    let spaced: String = name.chars().map(|sign| if is_deceptive(sign) { ' ' } else { sign }).collect();
    let name = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = name.chars().take(NAME_LIMIT).collect();
    Some(name).filter(|name| !name.is_empty())
}

fn is_deceptive(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The name for a greeting: an invisible break after every sign that could make a mail program see a web address in
/// it. A stranger may have typed this name to have us mail an advertisement.
fn unlinked(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        text.push(sign);
        let joins = signs.peek().is_some_and(|next| next.is_alphanumeric() || *next == '/');
        if joins && matches!(sign, '.' | ':' | '/' | '@') {
            text.push('\u{200b}');
        }
    }
    text
}

/// `24 hours`, `60 minutes`, `7 days`: the largest unit of which there are at least two.
fn in_words(lifetime: Duration, language: Language) -> String {
    let minutes = lifetime.as_secs() / 60;
    let (count, german, english) = match minutes {
        2880.. => (minutes / 1440, "Tage", "days"),
        120.. => (minutes / 60, "Stunden", "hours"),
        _ => (minutes, "Minuten", "minutes"),
    };
    let unit = match language {
        Language::German => german,
        Language::English => english,
    };
    format!("{count} {unit}")
}
