//! Reading variables one by one. It keeps every fault and remembers every name it was asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::RangeInclusive,
};

/// The variables of a process, or of a test. Blank values count as unset.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The variables of this process. Values that are not UTF-8 are left out.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Sets a variable unless it is set.
    pub fn set_default(&mut self, name: &str, value: impl Into<String>) {
        if self.get(name).is_none() {
            self.0.insert(name.to_owned(), value.into());
        }
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The trimmed value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What is wrong with one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    pub name: &'static str,
    pub problem: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.problem)
    }
}

pub(super) struct Reader<'a> {
    variables: &'a Variables,
    faults: Vec<ConfigFault>,
    names: BTreeSet<&'static str>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(variables: &'a Variables) -> Self {
        Self { variables, faults: Vec::new(), names: BTreeSet::new() }
    }

    pub(super) fn into_faults(self) -> Vec<ConfigFault> {
        self.faults
    }

    pub(super) fn into_names(self) -> BTreeSet<&'static str> {
        self.names
    }

    pub(super) fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.names.insert(name);
        let text = self.variables.get(name)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.fault(name, problem);
                None
            }
        }
    }

    /// Whether the variable has a value.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.variables.get(name).is_some()
    }

    pub(super) fn required<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if self.variables.get(name).is_none() {
            self.names.insert(name);
            self.fault(name, String::from("is required and not set"));
            return None;
        }
        self.optional(name, parse)
    }

    pub(super) fn parsed_or<T>(
        &mut self,
        name: &'static str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        self.optional(name, parse).unwrap_or(default)
    }

    /// Like [`optional`](Self::optional), for a value that can have several faults at once.
    pub(super) fn thorough<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, Vec<String>>,
    ) -> Option<T> {
        self.names.insert(name);
        match parse(self.variables.get(name)?) {
            Ok(value) => Some(value),
            Err(problems) => {
                for problem in problems {
                    self.fault(name, problem);
                }
                None
            }
        }
    }

    pub(super) fn number(&mut self, name: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        self.parsed_or(name, default, |text| {
            text.parse()
                .ok()
                .filter(|number| range.contains(number))
                .ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
        })
    }

    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> bool {
        self.parsed_or(name, default, |text| match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(String::from("must be true or false")),
        })
    }

    /// A comma-separated list; each faulty entry is a fault.
    pub(super) fn list<T>(&mut self, name: &'static str, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        self.names.insert(name);
        let entries =
            self.variables.get(name).unwrap_or("").split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let (mut values, mut problems) = (Vec::new(), Vec::new());
        for entry in entries {
            match parse(entry) {
                Ok(value) => values.push(value),
                Err(problem) => problems.push(problem),
            }
        }
        for problem in problems {
            self.fault(name, problem);
        }
        values
    }

    /// A sentence for each variable that is set although nothing reads it.
    pub(super) fn dead(&self, names: &[&str]) -> Vec<String> {
        let set = names.iter().filter(|name| self.variables.get(name).is_some());
        set.map(|name| format!("{name} is set but nothing reads it")).collect()
    }

    pub(super) fn fault(&mut self, name: &'static str, problem: String) {
        self.faults.push(ConfigFault { name, problem });
    }
}
