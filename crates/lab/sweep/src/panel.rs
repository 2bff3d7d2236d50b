//! Panels: combinations under the same circumstances, which alone compete with each other.
//!
//! A queue depth of 1 has a shorter tail than one of 16 on any drive, and an erased drive a shorter one than the same
//! drive in use: neither is a better design. Which keys are circumstances is declared with each key
//! ([`Role::Circumstance`]).

use crate::axis;
use crate::error::PlanError;
use crate::grid::{Grid, Point, SEEDS};
use crate::plan::Plan;
use crate::summary::Summary;
use layer::Role;
use simulator::Setting;
use std::collections::BTreeMap;

/// What most circumstances begin with, which titles leave out.
const LOAD: &str = "workload.";

/// Combinations under the same circumstances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Number of the workload in the plan.
    pub workload: usize,
    /// Circumstances that differ between panels, and their values here.
    pub keys: Vec<(String, String)>,
    /// Its name for readers.
    pub title: String,
    /// Numbers of its combinations.
    pub members: Vec<usize>,
}

/// The circumstances that a stack sets by itself, or by its file, and what they are; those that all runs are given
/// win over a file's.
fn own_circumstances(plan: &Plan, base: &[Setting], given: &[(String, String)]) -> BTreeMap<String, String> {
    let base = base.iter().map(|setting| (setting.key.clone(), setting.value.clone()));
    let mut keys: BTreeMap<String, String> =
        base.chain(given.iter().cloned()).filter(|(key, _)| axis::role(key) == Role::Circumstance).collect();
    let varies =
        |key: &str| plan.axes.iter().any(|axis| axis.key == key) || plan.repetitions > 1 && SEEDS.contains(&key);
    keys.retain(|key, _| !varies(key));
    keys
}

/// What a value of a key means, the same for all texts that mean it; for a key that is not set, its default.
fn meaning(key: &str, value: Option<&String>) -> String {
    let Ok(known) = axis::parameter(key, "") else { return String::new() };
    let Some(text) = value.map(String::as_str).or(known.default) else { return String::new() };
    axis::meaning(&known, text).unwrap_or_else(|_| text.to_owned())
}

/// The circumstances in which stacks differ, by stack: what they are, as written and as meant.
fn differing(loads: &[BTreeMap<String, String>]) -> Vec<Vec<(String, String, String)>> {
    let mut keys: Vec<&String> = loads.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| loads.iter().any(|load| meaning(key, load.get(*key)) != meaning(key, loads[0].get(*key))));
    let written = |key: &String, load: &BTreeMap<String, String>| {
        load.get(key)
            .cloned()
            .or_else(|| axis::parameter(key, "").ok()?.default.map(str::to_owned))
            .unwrap_or_else(|| "unset".to_owned())
    };
    loads
        .iter()
        .map(|load| keys.iter().map(|key| ((*key).clone(), written(key, load), meaning(key, load.get(*key)))).collect())
        .collect()
}

/// The panels of a grid, in the order of their first combinations.
pub fn panels(grid: &Grid, all: &[Summary]) -> Vec<Panel> {
    let plan = &grid.plan;
    // Runs are in the order of stacks, and each stack has as many.
    let of_each = grid.runs.chunks((grid.runs.len() / plan.stacks.len()).max(1));
    let loads: Vec<_> = of_each.map(|runs| own_circumstances(plan, &runs[0].read.1, &runs[0].settings)).collect();
    let by_stack = differing(&loads);
    let axes: Vec<usize> = (0..plan.axes.len()).filter(|at| plan.axes[*at].divides()).collect();
    let mut found: BTreeMap<(usize, Vec<usize>, Vec<String>), usize> = BTreeMap::new();
    let mut panels: Vec<Panel> = Vec::new();
    for (at, summary) in all.iter().enumerate() {
        let Point { stack, workload, values } = &summary.point;
        let meant = by_stack[*stack].iter().map(|(.., meaning)| meaning.clone()).collect();
        let place = (*workload, axes.iter().map(|axis| values[*axis]).collect(), meant);
        let number = *found.entry(place).or_insert_with(|| {
            let of_axes = axes
                .iter()
                .map(|axis| (plan.axes[*axis].key.to_owned(), plan.axes[*axis].values[values[*axis]].clone()));
            let keys: Vec<_> =
                of_axes.chain(by_stack[*stack].iter().map(|(key, text, _)| (key.clone(), text.clone()))).collect();
            let parts = keys.iter().map(|(key, value)| format!("{} {value}", key.trim_start_matches(LOAD)));
            let title = std::iter::once(plan.workloads[*workload].clone()).chain(parts).collect::<Vec<_>>().join(", ");
            panels.push(Panel { workload: *workload, keys, title, members: Vec::new() });
            panels.len() - 1
        });
        panels[number].members.push(at);
    }
    panels
}

/// A circumstance that designs of a plan would be compared over, and where it stands: an axis, or stacks that differ
/// in it.
/// Errors: a stack that does not exist.
pub fn compared_circumstance(plan: &Plan) -> Result<Option<(String, &'static str)>, PlanError> {
    if let Some(axis) = plan.axes.iter().find(|axis| axis.divides()) {
        return Ok(Some((axis.key.to_owned(), "axes")));
    }
    let stacks = crate::grid::stack_settings(plan)?;
    let loads: Vec<_> = stacks.iter().map(|(base, given)| own_circumstances(plan, base, given)).collect();
    Ok(differing(&loads).first().and_then(|keys| keys.first()).map(|(key, ..)| (key.clone(), "stacks")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn plan(text: &str) -> Plan {
        Plan::parse(text, "p.toml", Path::new(""), &[]).unwrap()
    }

    fn titles(text: &str) -> Vec<(String, usize)> {
        let grid = Grid::expand(plan(text), "build").unwrap();
        let outcomes = vec![None; grid.runs.len()];
        panels(&grid, &Summary::all(&grid, &outcomes))
            .into_iter()
            .map(|panel| (panel.title, panel.members.len()))
            .collect()
    }

    /// A queue depth of 1 beat one of 16, and was "unbeaten".
    #[test]
    fn workloads_and_their_keys_divide_and_drives_compete() {
        let text = "workloads = [\"zipf\", \"oltp\"]\nrepetitions = 2\n[axes]\nworkload.queue_depth = [1, \
            16]\ndrive.over_provisioning = [\"25%\", \"50%\", \"60%\"]\n";
        let expected = ["zipf, queue_depth 1", "zipf, queue_depth 16", "oltp, queue_depth 1", "oltp, queue_depth 16"];
        assert_eq!(titles(text), expected.map(|title| (title.to_owned(), 3)));
        assert_eq!(titles("[axes]\ndrive.over_provisioning = [\"25%\", \"50%\"]\n"), [("mixed".to_owned(), 2)]);
        assert_eq!(
            titles("[axes]\nworkload.queue_depth = [1]\ndrive.over_provisioning = [\"25%\", \"50%\"]\n"),
            [("mixed".to_owned(), 2)],
            "one value divides nothing"
        );
    }

    /// A drive that was never written beat the same drive in use, and a half empty one was recommended at the same
    /// price.
    #[test]
    fn an_erased_drive_does_not_compete_with_one_in_use() {
        let state = "[axes]\ndrive.precondition = [\"none\", \"overwrite\"]\n";
        let expected = ["mixed, drive.precondition none", "mixed, drive.precondition overwrite"];
        assert_eq!(titles(state), expected.map(|title| (title.to_owned(), 1)));
        for axis in [
            "drive.fill = [\"50%\", \"100%\"]",
            "flash.fault.program = [\"0%\", \"1%\"]",
            "flash.errors.data_age = [\"0ns\", \"90d\"]",
            "flash.errors.worn = [0, 1000]",
            "engine.time = [\"none\", \"virtual\"]",
        ] {
            let several = titles(&format!("[set]\nflash.errors.model = \"powers\"\n[axes]\n{axis}\n"));
            assert_eq!(several.len(), 2, "{axis}: {several:?}");
        }
        let stacks = "stacks = [\"page\", \"page+drive.precondition=none\", \"dftl\"]\n";
        assert_eq!(titles(stacks).iter().map(|(_, members)| *members).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn stacks_that_change_the_load_do_not_compete() {
        let stacks =
            "stacks = [\"page\", \"dftl\", \"page+workload.queue_depth=2\", \"dftl+workload.queue_depth=32\"]\n";
        assert_eq!(
            titles(stacks),
            [("mixed, queue_depth 32".to_owned(), 3), ("mixed, queue_depth 2".to_owned(), 1)],
            "32 is the default"
        );
        assert_eq!(compared_circumstance(&plan(stacks)).unwrap(), Some(("workload.queue_depth".to_owned(), "stacks")));
        assert_eq!(compared_circumstance(&plan("stacks = [\"page\", \"dftl\"]\n")).unwrap(), None);
        assert_eq!(
            compared_circumstance(&plan("[axes]\nworkload.read_share = [\"10%\", \"20%\"]\n")).unwrap(),
            Some(("workload.read_share".to_owned(), "axes"))
        );
        assert!(compared_circumstance(&plan("stacks = [\"pgae\"]\n")).is_err());
    }
}
