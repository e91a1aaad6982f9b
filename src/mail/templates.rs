//! The letters' words: templates embedded at build time, so that a missing file is a build error. Names and other
//! foreign text are escaped in HTML; it refuses undefined variables.

use minijinja::{Environment, Error, UndefinedBehavior, Value, value::Kwargs};

use super::letter::Request;

macro_rules! template {
    ($name:expr) => {
        ($name, include_str!(concat!("../../templates/", $name, ".j2")))
    };
}

macro_rules! letter {
    ($kind:literal) => {
        [
            template!(concat!("de/", $kind, ".subject")),
            template!(concat!("de/", $kind, ".txt")),
            template!(concat!("de/", $kind, ".html")),
            template!(concat!("en/", $kind, ".subject")),
            template!(concat!("en/", $kind, ".txt")),
            template!(concat!("en/", $kind, ".html")),
        ]
    };
}

const LAYOUTS: [(&str, &str); 6] = [
    template!("layout.txt"),
    template!("layout.html"),
    template!("de/layout.txt"),
    template!("de/layout.html"),
    template!("en/layout.txt"),
    template!("en/layout.html"),
];

/// One line per [`Letter::kind`](super::Letter::kind).
const LETTERS: [[(&str, &str); 6]; 17] = [
    letter!("verify_email"),
    letter!("set_password"),
    letter!("reset_password"),
    letter!("magic_link"),
    letter!("account_exists"),
    letter!("password_changed"),
    letter!("passkey_added"),
    letter!("passkey_removed"),
    letter!("new_device"),
    letter!("confirm_email"),
    letter!("email_change_asked"),
    letter!("email_changed"),
    letter!("email_restored"),
    letter!("leave_code"),
    letter!("account_deleted"),
    letter!("prima_signup"),
    letter!("prima_key_exists"),
];

/// The templates, compiled.
pub(super) struct Templates(Environment<'static>);

/// What a letter says, before it becomes a message.
pub(super) struct Wording {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
}

/// What the templates may use.
pub(super) struct Particulars<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) product: &'a str,
    pub(super) links: [Option<&'a str>; 2],
    pub(super) facts: [Option<&'a str>; 2],
    pub(super) lifetime: Option<&'a str>,
    pub(super) code: Option<(&'a str, &'a Request)>,
}

impl Templates {
    /// Compiles every template.
    pub(super) fn compile() -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, source) in LAYOUTS.iter().chain(LETTERS.iter().flatten()) {
            environment.add_template(name, source)?;
        }
        Ok(Self(environment))
    }

    /// Writes the letter `kind` in the language of `folder`.
    pub(super) fn write(&self, folder: &str, kind: &str, particulars: &Particulars<'_>) -> Result<Wording, Error> {
        let render =
            |ending: &str, context: Value| self.0.get_template(&format!("{folder}/{kind}.{ending}"))?.render(context);
        let plain = |link: &str| Value::from(link);
        let subject = render("subject", context(particulars, "", plain))?;
        let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = tidy(&render("txt", context(particulars, &subject, plain))?);
        let html = render("html", context(particulars, &subject, |link| Value::from_safe_string(attribute(link))))?;
        Ok(Wording { subject, text, html })
    }
}

fn context(particulars: &Particulars<'_>, subject: &str, link: impl Fn(&str) -> Value) -> Value {
    let absent = || Value::from(());
    let [fact, second_fact] = particulars.facts.map(|text| text.map_or_else(absent, Value::from));
    let [first, second] = particulars.links.map(|target| target.map_or_else(absent, &link));
    Value::from(Kwargs::from_iter([
        ("subject", Value::from(subject)),
        ("name", particulars.name.map_or_else(absent, Value::from)),
        ("product", Value::from(particulars.product)),
        ("fact", fact),
        ("second_fact", second_fact),
        ("link", first),
        ("second_link", second),
        ("lifetime", particulars.lifetime.map_or_else(absent, Value::from)),
        ("code", particulars.code.map_or_else(absent, |(code, _)| Value::from(code))),
        ("address", particulars.code.map_or_else(absent, |(_, request)| Value::from(request.address.as_str()))),
        ("device", particulars.code.map_or_else(absent, |(_, request)| Value::from(request.device.as_str()))),
    ]))
}

/// A link as an HTML attribute. The engine's own escaping would also write every slash as an entity, which some mail
/// scanners and plain eyes do not read.
fn attribute(link: &str) -> String {
    link.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// One empty line between paragraphs, none around them.
fn tidy(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.trim().lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_some_and(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.push("");
    lines.join("\n")
}
