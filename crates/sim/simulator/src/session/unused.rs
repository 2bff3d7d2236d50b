//! Settings that were changed, or given beside the stack, and have no effect on this run. They are no mistakes, as one
//! configuration serves many workloads, but nobody should wonder why a number did not move.

use super::WorkloadSource;
use crate::DrivePlan;
use crate::config::{all_keys, find_key, keys};
use layer::Value;

/// A sentence on the settings that were written as in the version before.
pub(super) fn renamed(plan: &DrivePlan) -> Option<String> {
    let names = plan.config.renamed.iter().map(|(before, today)| format!("{before} is {today}"));
    let names = names.collect::<Vec<_>>().join(", ");
    let sentence = || format!("Settings have new names: {names}. This version is the last that reads the old names.");
    (!names.is_empty()).then(sentence)
}

/// A sentence for each key that differs from its default, or was given, and is not used.
pub(super) fn notes(plan: &DrivePlan, unused: Vec<(&'static str, String)>) -> Vec<String> {
    let known = all_keys();
    let is_changed = |key: &str| {
        let declared = find_key(&known, key);
        plan.config.given.contains(key) || declared.is_some_and(|declared| declared.is_changed(&plan.config.values))
    };
    let told = unused.into_iter().filter(|(key, _)| is_changed(key));
    told.map(|(key, why)| format!("{key} has no effect here because {why}.")).collect()
}

/// Every key that is not used, and why.
pub(super) fn keys(plan: &DrivePlan, source: &WorkloadSource) -> Vec<(&'static str, String)> {
    let mut values = plan.config.values.clone();
    // What was left to the workload.
    let closed = keys::CLOSED.name_of(Some(source.is_closed()));
    values.set(keys::CLOSED.key, Value::Name(closed.to_owned()));
    let known = all_keys();
    known.iter().filter_map(|parameter| Some((parameter.key, parameter.unread(&values, &known)?))).collect()
}
