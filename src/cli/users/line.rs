//! One line of an import, read into a person or into the reasons why not. A reason never repeats what the line holds.

use serde_json::{Map, Value};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    clock::Timestamp,
    error::{Details, Loc},
    extract::{Field, Fields, FromFields, Problem, field},
    password::hashing::Stored,
    people::bring::{Newcomer, Role},
};

/// The names that a line may use. Any other is refused: a misspelt `password_hash` would lock a person out unseen.
const NAMES: [&str; 9] = [
    "email",
    "password_hash",
    "full_name",
    "locale",
    "email_verified",
    "is_active",
    "role",
    "created_at",
    "workspace_name",
];

/// A hash whose form and cost were judged.
struct ImportedHash(String);

impl Field for ImportedHash {
    fn read(value: &Value) -> Result<Self, Problem> {
        let text = field::text(value)?;
        match Stored::parse(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(unusable) => Err(Problem { kind: "value_error", msg: unusable.to_string().into() }),
        }
    }
}

struct Moment(Timestamp);

impl Field for Moment {
    fn read(value: &Value) -> Result<Self, Problem> {
        let moment = OffsetDateTime::parse(field::text(value)?, &Rfc3339);
        moment
            .map(|moment| Self(Timestamp::from_date_time(moment)))
            .map_err(|_| Problem::new("datetime_parsing", "Input should be a moment such as 2026-01-31T12:00:00Z"))
    }
}

struct RoleField(Role);

impl Field for RoleField {
    fn read(value: &Value) -> Result<Self, Problem> {
        match field::text(value)? {
            "user" => Ok(Self(Role::User)),
            "admin" => Ok(Self(Role::Admin)),
            _ => Err(Problem::not_one_of("Input should be 'user' or 'admin'")),
        }
    }
}

impl FromFields for Newcomer {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let email = fields.required(&["email"]);
        let password_hash = fields.optional::<ImportedHash>(&["password_hash"]);
        let full_name = fields.optional(&["full_name"]);
        let locale = fields.optional(&["locale"]).unwrap_or_default();
        let email_verified = fields.optional(&["email_verified"]).unwrap_or(false);
        let is_active = fields.optional(&["is_active"]).unwrap_or(true);
        let role = fields.optional::<RoleField>(&["role"]).map(|role| role.0).unwrap_or_default();
        let created_at = fields.optional::<Moment>(&["created_at"]).map(|moment| moment.0);
        let workspace_name = fields.optional(&["workspace_name"]);
        Some(Self {
            email: email?,
            full_name,
            locale,
            role,
            password_hash: password_hash.map(|hash| hash.0),
            workspace_name,
            email_verified,
            is_active,
            created_at,
        })
    }
}

/// The person on this line.
///
/// # Errors
/// The reasons why not.
pub fn read(line: &[u8], now: Timestamp) -> Result<Newcomer, String> {
    let values: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(Value::Object(values)) => values,
        Ok(_) => return Err(String::from("the line is not a JSON object")),
        Err(error) => return Err(format!("the line is not JSON (column {})", error.column())),
    };
    if values.keys().any(|name| !NAMES.contains(&name.as_str())) {
        return Err(format!("a field has a name that is not one of {}", NAMES.join(", ")));
    }
    let newcomer: Newcomer = Fields::read("line", values).map_err(|error| match error.details() {
        Details::Fields(faults) => {
            let told = faults.iter().map(|fault| match fault.loc.last() {
                Some(Loc::Name(name)) => format!("{name}: {}", fault.msg),
                _ => fault.msg.clone(),
            });
            told.collect::<Vec<_>>().join("; ")
        }
        Details::None | Details::Reasons(_) => String::from("the line cannot be read"),
    })?;
    if newcomer.created_at.is_some_and(|moment| moment > now) {
        return Err(String::from("created_at: the moment lies in the future"));
    }
    Ok(newcomer)
}
