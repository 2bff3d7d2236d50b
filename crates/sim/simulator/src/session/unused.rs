//! Settings that were changed, or given beside the stack, and have no effect on this run. They are no mistakes, as one
//! configuration serves many workloads, but nobody should wonder why a number did not move.

use super::WorkloadSource;
use crate::DrivePlan;
use crate::config::{all_keys, keys};
use layer::{Parameter, Value, Values};

/// A sentence on the settings that were written as in the version before.
pub(super) fn renamed(plan: &DrivePlan) -> Option<String> {
    let names = plan.config.renamed.iter().map(|(before, today)| format!("{before} is {today}"));
    let names = names.collect::<Vec<_>>().join(", ");
    let sentence = || format!("Settings have new names: {names}. This version is the last that reads the old names.");
    (!names.is_empty()).then(sentence)
}

/// The keys that a run does not use.
pub(super) struct Unused {
    keys: Vec<&'static Parameter>,
    values: Values,
}

impl Unused {
    pub fn new(plan: &DrivePlan, source: &WorkloadSource) -> Self {
        let mut values = plan.config.values.clone();
        // What was left to the workload.
        let closed = keys::CLOSED.name_of(Some(source.is_closed()));
        values.set(keys::CLOSED.key, Value::Name(closed.to_owned()));
        Self { keys: all_keys().iter().filter(|parameter| parameter.is_unread(&values)).collect(), values }
    }

    /// Names of the unused keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|parameter| parameter.key)
    }

    /// A sentence for each key that differs from its default, or was given.
    pub fn notes(&self, plan: &DrivePlan) -> Vec<String> {
        let is_changed = |parameter: &&&Parameter| {
            plan.config.given.contains(parameter.key) || parameter.is_changed(&plan.config.values)
        };
        let told = self.keys.iter().filter(is_changed).filter_map(|parameter| {
            let why = parameter.unread(&self.values, all_keys())?;
            Some(format!("{} has no effect here because {why}.", parameter.key))
        });
        told.collect()
    }
}
