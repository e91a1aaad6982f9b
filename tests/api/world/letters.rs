//! The mails of a world: delivered by hand, read from its folder, parsed as a mail program would.

use mail_parser::{MessageParser, MimeHeaders};

use super::World;

/// How the name of a mail's file ends.
const LETTER: &str = ".eml";

/// A delivered mail.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) to: Vec<String>,
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) html: String,
    /// The whole file.
    pub(crate) raw: String,
}

impl Mail {
    fn parse(raw: &str) -> Self {
        let message = MessageParser::default().parse(raw.as_bytes()).unwrap();
        let to = message.to().unwrap().iter().map(|it| it.address.as_deref().unwrap().to_owned()).collect();
        assert!(message.content_type().is_some(), "a mail without a content type");
        Self {
            to,
            subject: message.subject().unwrap().to_owned(),
            text: message.body_text(0).unwrap().into_owned(),
            html: message.body_html(0).unwrap().into_owned(),
            raw: raw.to_owned(),
        }
    }

    /// The links in the text part.
    pub(crate) fn links(&self) -> Vec<String> {
        let words = self.text.split_whitespace().filter(|word| word.starts_with("https://"));
        words.map(|word| word.trim_end_matches(['.', ',', '>']).to_owned()).collect()
    }
}

impl World {
    /// Delivers what is due.
    pub(crate) async fn deliver(&self) {
        self.app().courier.deliver_due().await.unwrap();
    }

    /// Every mail so far, in the order in which they were first seen, after delivering what is due.
    pub(crate) async fn mails(&self) -> Vec<Mail> {
        self.deliver().await;
        let folder = self.mails_folder();
        let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|it| it.ends_with(LETTER))
            .collect();
        names.sort();
        let order = {
            let mut seen = self.0.seen.lock().unwrap();
            names.retain(|name| !seen.contains(name));
            seen.extend(names);
            seen.clone()
        };
        order.iter().map(|name| Mail::parse(&std::fs::read_to_string(folder.join(name)).unwrap())).collect()
    }

    /// Every mail to one mailbox so far.
    pub(crate) async fn mails_to(&self, email: &str) -> Vec<Mail> {
        let mut mails = self.mails().await;
        mails.retain(|mail| mail.to.iter().any(|to| to == email));
        mails
    }

    /// The newest link to a page of the front end in a mailbox.
    #[track_caller]
    pub(crate) fn link_to<'a>(&'a self, email: &'a str, page: &'a str) -> impl Future<Output = String> + 'a {
        let place = std::panic::Location::caller();
        async move {
            let start = format!("{}{page}?token=", super::FRONTEND);
            let mails = self.mails_to(email).await;
            let mut links = mails.iter().flat_map(Mail::links).filter(|link| link.starts_with(&start));
            links
                .next_back()
                .unwrap_or_else(|| panic!("{email} has no link to {page}, asked for at {place}: {mails:#?}"))
        }
    }
}

/// The token in a link.
pub(crate) fn token_of(link: &str) -> String {
    let (_, token) = link.split_once("?token=").unwrap();
    assert!(token.len() == 43 && token.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)), "{link}");
    token.to_owned()
}
