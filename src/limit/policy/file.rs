//! The policy file: TOML, judged whole. Every fault is told with its line and field, none is repaired in silence.

use std::{collections::HashMap, fmt, ops::Range, sync::Arc};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Hooks, Policies, Policy, Whom, field};
use crate::limit::{Bucket, algorithm::Rule, bucket::PolicyId};

/// What is wrong in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// From 1.
    pub line: usize,
    /// As in `policy.window`.
    pub field: String,
    pub problem: String,
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "line {}: {}", self.line, self.problem)
        } else {
            write!(f, "line {}: {} {}", self.line, self.field, self.problem)
        }
    }
}

type Table<'i> = DeTable<'i>;
type Value<'i> = Spanned<DeValue<'i>>;

/// Reads the file on top of the policies that hold without it.
///
/// # Errors
/// Every fault.
pub(super) fn read(
    text: &str,
    base: Policies,
    quotas_set: &[&'static str],
    hooks: &Hooks,
) -> Result<Policies, Vec<PolicyFault>> {
    let mut reader = Reader { text, quotas_set, hooks, policies: base, faults: Vec::new() };
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().unwrap_or_default();
        reader.fault(&at, "", error.message().to_owned());
    }
    if reader.faults.is_empty() {
        reader.root(root.get_ref());
    }
    if reader.faults.is_empty() { Ok(reader.policies) } else { Err(reader.faults) }
}

struct Reader<'a> {
    text: &'a str,
    quotas_set: &'a [&'static str],
    hooks: &'a Hooks,
    policies: Policies,
    faults: Vec<PolicyFault>,
}

impl Reader<'_> {
    fn fault(&mut self, at: &Range<usize>, field: &str, problem: String) {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        self.faults.push(PolicyFault { line, field: field.to_owned(), problem });
    }

    /// A value read, or a fault noted.
    fn take<T>(
        &mut self,
        path: &str,
        value: &Value<'_>,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<T> {
        match read(value.get_ref()) {
            Ok(read) => Some(read),
            Err(problem) => {
                self.fault(&value.span(), path, problem);
                None
            }
        }
    }

    /// A list of values, each read or noted.
    fn list<T>(&mut self, path: &str, value: &Value<'_>, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Vec<T> {
        let Some(values) = value.get_ref().as_array() else {
            self.fault(&value.span(), path, String::from("must be a list"));
            return Vec::new();
        };
        values.iter().filter_map(|one| self.take(path, one, &read)).collect()
    }

    fn root(&mut self, root: &Table<'_>) {
        for (key, value) in root {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("networks", DeValue::Table(table)) => self.networks(table),
                ("buckets", DeValue::Table(table)) => self.buckets(table),
                ("policy", DeValue::Array(entries)) => {
                    for entry in entries {
                        match entry.get_ref() {
                            DeValue::Table(table) => self.policy(table, &entry.span()),
                            _ => self.fault(&entry.span(), "policy", String::from("must be a table")),
                        }
                    }
                }
                (name @ ("networks" | "buckets"), _) => {
                    self.fault(&value.span(), name, String::from("must be a table"));
                }
                ("policy", _) => {
                    self.fault(&value.span(), "policy", String::from("must be a list of tables: [[policy]]"));
                }
                (unknown, _) => self.fault(&key.span(), unknown, String::from("is not known")),
            }
        }
    }

    fn networks(&mut self, table: &Table<'_>) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "always" => self.policies.networks.always = self.list("networks.always", value, field::network),
                "never" => self.policies.networks.never = self.list("networks.never", value, field::network),
                unknown => self.fault(&key.span(), &format!("networks.{unknown}"), String::from("is not known")),
            }
        }
    }

    fn buckets(&mut self, table: &Table<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let path = format!("buckets.{name}");
            let same_name = |policy: &Arc<Policy>| &*policy.name == name;
            let Some(first) = self.policies.buckets.iter().find(|policy| same_name(policy)).cloned() else {
                self.fault(&key.span(), &path, String::from("is no bucket"));
                continue;
            };
            let DeValue::Table(fields) = value.get_ref() else {
                self.fault(&value.span(), &path, String::from("must be a table"));
                continue;
            };
            let mut changed = Policy::clone(&first);
            self.fields(&path, fields, &mut changed, &mut Extra::default());
            self.check(&path, fields, &value.span(), &changed);
            for policy in self.policies.buckets.iter_mut().filter(|policy| same_name(policy)) {
                *policy = Arc::new(Policy { bucket: policy.bucket, ..changed.clone() });
            }
        }
    }

    fn policy(&mut self, table: &Table<'_>, span: &Range<usize>) {
        let mut policy = Policy {
            name: "".into(),
            bucket: Bucket::Named(PolicyId::default()),
            rule: Rule::new(super::Algorithm::Gcra, 0, 0),
            cost: 1,
            fail: super::Fail::Memory,
            mode: super::Mode::Enforce,
            headers: true,
            whom: Whom::Ip(None),
            on_limit: None,
        };
        let before = self.faults.len();
        let mut extra = Extra { allowed: true, ..Extra::default() };
        self.fields("policy", table, &mut policy, &mut extra);
        for needed in ["quota", "window"] {
            if !table.iter().any(|(key, _)| key.get_ref() == needed) {
                self.fault(span, &format!("policy.{needed}"), String::from("is missing"));
            }
        }
        if extra.name.is_none() && extra.routes.is_empty() {
            self.fault(span, "policy.routes", String::from("is missing, and so is a name"));
        }
        if self.faults.len() == before {
            self.check("policy", table, span, &policy);
        }
        if self.faults.len() != before {
            return;
        }
        if let Some(name) = &extra.name
            && self.enter(name, &policy, span).is_none()
        {
            return;
        }
        for route in &extra.routes {
            // Without a name of its own, each route is a budget.
            let name = extra.name.as_deref().unwrap_or(route);
            let Some(named) = self.enter(name, &policy, span) else { return };
            let on_route = self.policies.routes.entry(route.clone()).or_default();
            if on_route.iter().any(|other| other.name == named.name) {
                self.fault(span, "policy.routes", format!("puts the budget {name:?} on {route:?} twice"));
                return;
            }
            on_route.push(named);
        }
    }

    /// The budget of this name: one quota and one window, whatever each route costs.
    fn enter(&mut self, name: &str, policy: &Policy, span: &Range<usize>) -> Option<Arc<Policy>> {
        let taken = self.policies.buckets.iter().any(|bucket| &*bucket.name == name);
        let other = self.policies.named.get(name);
        if taken || other.is_some_and(|other| other.rule != policy.rule || other.whom != policy.whom) {
            let problem = if taken { "is the name of a bucket" } else { "has another quota, window or key elsewhere" };
            self.fault(span, "policy.name", format!("{name:?} {problem}"));
            return None;
        }
        let name: Arc<str> = other.map_or_else(|| name.into(), |other| Arc::clone(&other.name));
        let bucket = Bucket::Named(PolicyId::of(&name));
        let named = Arc::new(Policy { name: Arc::clone(&name), bucket, ..policy.clone() });
        self.policies.named.entry(name).or_insert_with(|| Arc::clone(&named));
        Some(named)
    }

    fn fields(&mut self, path: &str, table: &Table<'_>, policy: &mut Policy, extra: &mut Extra) {
        let mut burst = None;
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let path = format!("{path}.{name}");
            let rule = &mut policy.rule;
            match name {
                "quota" => {
                    if let Some(variable) = policy.bucket.setting().filter(|name| self.quotas_set.contains(name)) {
                        self.fault(&value.span(), &path, format!("is set by {variable} already"));
                    }
                    rule.quota = self.take(&path, value, field::count).unwrap_or(rule.quota);
                }
                "window" => rule.window = self.take(&path, value, field::window).unwrap_or(rule.window),
                "burst" => burst = self.take(&path, value, field::count),
                "algorithm" => rule.algorithm = self.take(&path, value, field::algorithm).unwrap_or(rule.algorithm),
                "cost" => policy.cost = self.take(&path, value, field::count).unwrap_or(policy.cost),
                "fail" => policy.fail = self.take(&path, value, field::fail).unwrap_or(policy.fail),
                "mode" => policy.mode = self.take(&path, value, field::mode).unwrap_or(policy.mode),
                "headers" => policy.headers = self.take(&path, value, field::flag).unwrap_or(policy.headers),
                "on_limit" => {
                    let hooks = self.hooks;
                    let hook = |value: &DeValue<'_>| match field::text(value)? {
                        "refuse" => Ok(None),
                        name => hooks.named(name).map(Some).ok_or_else(|| format!("names no hook: {name:?}")),
                    };
                    policy.on_limit = self.take(&path, value, hook).flatten();
                }
                "key" if extra.allowed => policy.whom = self.take(&path, value, field::whom).unwrap_or(policy.whom),
                "name" if extra.allowed => extra.name = self.take(&path, value, field::name),
                "routes" if extra.allowed => extra.routes = self.list(&path, value, field::route),
                _ => self.fault(&key.span(), &path, String::from("is not known")),
            }
        }
        if burst.is_some() && !policy.rule.algorithm.has_burst() {
            let span = table.iter().find(|(key, _)| key.get_ref() == "burst").map(|(key, _)| key.span());
            let problem = format!("means nothing to {}", policy.rule.algorithm.name());
            self.fault(&span.unwrap_or_default(), &format!("{path}.burst"), problem);
        }
        policy.rule.burst = burst.unwrap_or(policy.rule.quota);
    }

    /// What no field shows by itself.
    fn check(&mut self, path: &str, table: &Table<'_>, whole: &Range<usize>, policy: &Policy) {
        let spans: HashMap<&str, Range<usize>> =
            table.iter().map(|(key, value)| (key.get_ref().as_ref(), value.span())).collect();
        let fault = policy.rule.fault().or_else(|| {
            let capacity = policy.rule.capacity();
            (policy.cost > capacity).then(|| ("cost", format!("is more than the {capacity} that are ever admitted")))
        });
        if let Some((field, problem)) = fault {
            let span = spans.get(field).unwrap_or(whole).clone();
            self.fault(&span, &format!("{path}.{field}"), problem);
        }
    }
}

/// The fields that only a `[[policy]]` has.
#[derive(Default)]
struct Extra {
    allowed: bool,
    name: Option<Box<str>>,
    routes: Vec<Box<str>>,
}
