//! What a handler's parameter list says about who may call it, as data. Every extractor of the house describes
//! itself; the route plan collects the rules, the start-up audit and the tests' ratchet read them.

use axum::extract::State;

use crate::limit::Bucket;

/// One thing that a handler demands before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A unit of this bucket.
    Bucket(Bucket),
    /// A live session.
    Bearer,
    /// A unit of the budget that the policy file gives each API key; it is charged once the key is known.
    ApiKey,
    /// A key of a sibling service.
    ServiceKey,
    /// A JSON body.
    Body,
    /// A posted form.
    Form,
    /// A query string that is validated.
    Query,
}

/// An extractor that can say what it demands.
pub trait Describe {
    /// Adds what it demands.
    fn describe(rules: &mut Vec<Rule>);
}

impl<T> Describe for State<T> {
    fn describe(_rules: &mut Vec<Rule>) {}
}

impl Describe for http::HeaderMap {
    fn describe(_rules: &mut Vec<Rule>) {}
}

/// A handler whose every parameter can describe itself.
pub trait Described<Parameters> {
    /// The rules of the whole parameter list, from left to right.
    fn rules() -> Vec<Rule>;
}

macro_rules! described {
    ($($parameter:ident),+) => {
        impl<Handler, Answer, $($parameter,)+> Described<($($parameter,)+)> for Handler
        where
            Handler: FnOnce($($parameter,)+) -> Answer,
            $($parameter: Describe,)+
        {
            fn rules() -> Vec<Rule> {
                let mut rules = Vec::new();
                $($parameter::describe(&mut rules);)+
                rules
            }
        }
    };
}

impl<Handler, Answer> Described<()> for Handler
where
    Handler: FnOnce() -> Answer,
{
    fn rules() -> Vec<Rule> {
        Vec::new()
    }
}

described!(A);
described!(A, B);
described!(A, B, C);
described!(A, B, C, D);
described!(A, B, C, D, E);
