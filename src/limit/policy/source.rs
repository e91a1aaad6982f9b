//! Where the policies come from: the profile, the variables and one file. Read once at the start, and again when the
//! operator asks; a file with a fault is refused whole.

use std::path::PathBuf;

use super::{Hooks, Policies, Profile, file};
use crate::limit::Quotas;

/// Everything that decides about the policies.
#[derive(Clone, Debug, Default)]
pub struct PolicySource {
    pub profile: Profile,
    pub quotas: Quotas,
    /// `RATE_LIMIT_POLICIES`
    pub path: Option<PathBuf>,
    /// Variables that are set and give a bucket its quota: the file may not give it another.
    pub quotas_set: Vec<&'static str>,
    pub hooks: Hooks,
}

impl PolicySource {
    /// Reads the policies.
    ///
    /// # Errors
    /// Every fault, each with its line and field.
    pub fn load(&self) -> Result<Policies, Vec<String>> {
        let base = Policies::of_profile(self.profile, &self.quotas);
        let policies = match &self.path {
            None => base,
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| vec![format!("cannot be read: {error}")])?;
                let read = file::read(&text, base, &self.quotas_set, &self.hooks);
                read.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?
            }
        };
        let faults = policies.faults();
        if faults.is_empty() { Ok(policies) } else { Err(faults) }
    }
}
