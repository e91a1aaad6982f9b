//! The small reader of an object's fields. It keeps every fault and knows absent from null.

use serde_json::{Map, Value};

use super::field::{Field, Problem};
use crate::error::{ApiError, FieldFault, Loc};

/// A request type that is read from named fields.
pub trait FromFields: Sized + Send {
    /// Whether an absent body counts as an empty object.
    const OPTIONAL: bool = false;

    /// Reads every field, so that every fault is noted; `None` when a needed one is missing or faulty.
    fn from_fields(fields: &mut Fields) -> Option<Self>;
}

/// What a partial update says about one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// Not mentioned.
    Keep,
    /// Explicitly `null`.
    Clear,
    /// A new value.
    Set(T),
}

/// The fields of one object, and the faults found so far.
#[derive(Debug)]
pub struct Fields {
    /// The way to this object.
    place: Vec<&'static str>,
    values: Map<String, Value>,
    faults: Vec<FieldFault>,
}

impl Fields {
    /// Reads a whole request type.
    ///
    /// # Errors
    /// 422 with every fault.
    pub fn read<T: FromFields>(place: &'static str, values: Map<String, Value>) -> Result<T, ApiError> {
        let stray_nul = values.iter().any(|(name, value)| name.contains('\0') || holds_nul(value));
        let mut fields = Self { place: vec![place], values, faults: Vec::new() };
        let read = T::from_fields(&mut fields);
        if stray_nul && fields.faults.is_empty() {
            fields
                .faults
                .push(fault(vec![Loc::Name(place)], Problem::value("Value error, the NUL character is not allowed")));
        }
        match read {
            Some(body) if fields.faults.is_empty() => Ok(body),
            None if fields.faults.is_empty() => {
                Err(ApiError::internal("a request type was not read and noted no fault"))
            }
            _ => Err(ApiError::invalid(fields.faults)),
        }
    }

    /// A field that must be there and not null. The first of `names` that is present counts.
    pub fn required<T: Field>(&mut self, names: &[&'static str]) -> Option<T> {
        match self.find(names) {
            (name, Some(value)) => self.note(name, T::read(&value)),
            (name, None) => self.note(name, Err(Problem::missing())),
        }
    }

    /// Whether a field is there and was not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A field that may be absent or null.
    pub fn optional<T: Field>(&mut self, names: &[&'static str]) -> Option<T> {
        match self.find(names) {
            (_, None | Some(Value::Null)) => None,
            (name, Some(value)) => self.note(name, T::read(&value)),
        }
    }

    /// A field that may be absent, but means nothing when it is null.
    pub fn if_present<T: Field>(&mut self, names: &[&'static str]) -> Option<T> {
        match self.find(names) {
            (_, None) => None,
            (name, Some(value)) => self.note(name, T::read(&value)),
        }
    }

    /// A field that must be there and is an object with fields of its own.
    pub fn object<T: FromFields>(&mut self, names: &[&'static str]) -> Option<T> {
        let (name, value) = self.find(names);
        let values = match value {
            Some(Value::Object(values)) => values,
            Some(_) => return self.note(name, Err(Problem::not_an_object())),
            None => return self.note(name, Err(Problem::missing())),
        };
        let place = self.place.iter().copied().chain([name]).collect();
        let mut inner = Self { place, values, faults: Vec::new() };
        let read = T::from_fields(&mut inner);
        let sound = inner.faults.is_empty();
        self.faults.append(&mut inner.faults);
        read.filter(|_| sound)
    }

    /// Notes a fault of a field that reads well by itself but does not fit another.
    pub fn refuse(&mut self, name: &'static str, problem: Problem) {
        let loc = self.loc(name);
        self.faults.push(fault(loc, problem));
    }

    /// A field of a partial update, for which absent and null differ.
    pub fn change<T: Field>(&mut self, names: &[&'static str]) -> Change<T> {
        match self.find(names) {
            (_, None) => Change::Keep,
            (_, Some(Value::Null)) => Change::Clear,
            (name, Some(value)) => self.note(name, T::read(&value)).map_or(Change::Keep, Change::Set),
        }
    }

    fn find(&mut self, names: &[&'static str]) -> (&'static str, Option<Value>) {
        let present = names.iter().find(|name| self.values.contains_key(**name));
        match present {
            Some(name) => (name, self.values.remove(*name)),
            None => (names.first().copied().unwrap_or(""), None),
        }
    }

    fn note<T>(&mut self, name: &'static str, outcome: Result<T, Problem>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(problem) => {
                self.refuse(name, problem);
                None
            }
        }
    }

    fn loc(&self, name: &'static str) -> Vec<Loc> {
        self.place.iter().copied().chain([name]).map(Loc::Name).collect()
    }
}

/// One fault as the envelope shows it.
pub fn fault(loc: Vec<Loc>, problem: Problem) -> FieldFault {
    FieldFault { kind: problem.kind, loc, msg: problem.msg.into_owned() }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(name, member)| name.contains('\0') || holds_nul(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
