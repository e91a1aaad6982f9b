//! What a command-line client asks for, in the query of the page and in the form that the page posts.

use serde_json::Value;

use crate::extract::{Field, Fields, FromFields, Problem, field};

/// A client that listens, and the challenge that only it can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    /// What it compares, so that no other page can push a code on it.
    pub state: String,
    /// The S256 challenge of its verifier.
    pub challenge: String,
    /// What the machine calls itself.
    pub name: Option<String>,
}

impl Wish {
    /// Where the browser is sent back to.
    pub fn target(&self, outcome: &str) -> String {
        format!("http://127.0.0.1:{}/callback?{outcome}&state={}", self.port, self.state)
    }

    /// The query of the page, from what was validated and nothing else.
    pub fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("port", &self.port.to_string())
            .append_pair("state", &self.state)
            .append_pair("code_challenge", &self.challenge)
            .append_pair("code_challenge_method", "S256");
        if let Some(name) = &self.name {
            query.append_pair("name", name);
        }
        query.finish()
    }
}

impl FromFields for Wish {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let port: Option<Port> = fields.required(&["port"]);
        let state: Option<State> = fields.required(&["state"]);
        let challenge: Option<Challenge> = fields.required(&["code_challenge"]);
        fields.optional::<Method>(&["code_challenge_method"]);
        let name: Option<Label> = fields.optional(&["name"]);
        Some(Self { port: port?.0, state: state?.0, challenge: challenge?.0, name: name.and_then(|name| name.0) })
    }
}

/// A port that no system service listens on.
struct Port(u16);

impl Field for Port {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits {
            return Err(Problem::new(
                "int_parsing",
                "Input should be a valid integer, unable to parse string as an integer",
            ));
        }
        match text.parse() {
            Ok(port) if port >= 1024 => Ok(Self(port)),
            Ok(_) => Err(Problem::new("greater_than_equal", "Input should be greater than or equal to 1024")),
            Err(_) => Err(Problem::new("less_than_equal", "Input should be less than or equal to 65535")),
        }
    }
}

struct State(String);

impl Field for State {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 16, 128)?;
        field::unreserved(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// 32 bytes as base64url.
struct Challenge(String);

impl Field for Challenge {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        field::length(text, 43, 43)?;
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Problem::new("string_pattern_mismatch", "String should match pattern '^[A-Za-z0-9_-]{43}$'"))
        }
    }
}

struct Method;

impl Field for Method {
    fn read(value: &Value) -> Result<Self, Problem> {
        match field::text(value)? {
            "S256" => Ok(Self),
            _ => Err(Problem::not_one_of("Input should be 'S256'")),
        }
    }
}

/// The label of a machine; blank counts as none. Its owner approves it by reading it, so nothing in it may be invisible
/// or turn the line around.
struct Label(Option<String>);

impl Field for Label {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?.trim();
        field::length(text, 0, 64)?;
        if text.contains(is_invisible) {
            return Err(Problem::value("Value error, control characters are not allowed"));
        }
        Ok(Self((!text.is_empty()).then(|| text.to_owned())))
    }
}

/// Signs without a shape of their own, which no label may hold: controls, marks of direction, joiners, fillers.
pub fn is_invisible(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
