//! How we listen: bodies and queries are decoded to a JSON value and read field by field, so that every fault is
//! reported at once, without an echo of what was sent. Who is calling is the business of `session`.

pub mod bearer;
pub mod field;
pub mod fields;
pub mod form;
pub mod json;
pub mod path;
pub mod query;
pub mod rule;
pub mod service_key;

pub use self::{
    field::{Field, Problem},
    fields::{Change, Fields, FromFields},
    form::Form,
    path::PathId,
    query::Query,
    rule::{Describe, Described, Rule},
    service_key::{ServiceKey, ServiceKeys},
};
