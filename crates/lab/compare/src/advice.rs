//! The waiting of the slowest requests and the changes to try, in a sentence. The report page reads the same table.

use metrics::RunResult;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use units::{HostOp, Wait};

const TABLE: &str = include_str!("advice.json");
/// With less waiting than this share of the latency there is nothing to be tried.
const NEGLIGIBLE: f64 = 0.1;
/// Most proposals.
const MOST: usize = 3;
/// Keys that change when flash commands run, and not how many there are.
const ONLY_TIME: [&str; 3] = ["flash.suspend", "ftl.gc.background_free_blocks", "flash.dies_per_channel"];
/// Causes by which a drive makes room.
const CLEANING: [&str; 5] = ["gc", "merge", "fold", "wear", "space"];

/// Something that a person can try against a cause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// The change to make, as it follows "try".
    pub change: String,
    /// The key that changes it.
    pub key: String,
    /// Values of the key that leave nothing to be tried.
    #[serde(default)]
    pub unless: Vec<String>,
    /// The runs in which it can help; none: any.
    pub fits: Option<String>,
    /// The operation that it makes faster, `read` or `write`, which the run has to have; none: any.
    pub operation: Option<String>,
}

/// The changes to try against each cause, most promising first.
///
/// # Panics
/// The table, which is a part of the program, cannot be read.
pub fn table() -> &'static BTreeMap<String, Vec<Advice>> {
    static READ: OnceLock<BTreeMap<String, Vec<Advice>>> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(TABLE).expect("the table of advice can be read"))
}

/// The name of a cause as it follows "for".
fn behind_for(cause: &str) -> &str {
    if cause == Wait::name_at(Wait::Space.index()) { "a free block" } else { cause }
}

/// The advice on a result and its document; `None`: it recorded no causes, or next to nothing was waited for.
pub fn sentence(result: &RunResult, document: &Value) -> Option<String> {
    let requests: u64 =
        [HostOp::Read, HostOp::Write].iter().map(|op| result.latency[op.index()].histogram().count()).sum();
    let slice = if requests < metrics::needed(0.99) { "all" } else { "p99" };
    let waits = document["waiting_root"][slice].as_object()?;
    let named =
        waits.iter().filter(|(cause, _)| *cause != "total").filter_map(|(cause, ns)| Some((cause, ns.as_f64()?)));
    let named: Vec<(&String, f64)> = named.collect();
    let waited: f64 = named.iter().map(|(_, ns)| ns).sum();
    let all = waited + document["service_ns"][slice].as_f64()?;
    let (cause, most) = named.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    if all <= 0.0 || waited / all < NEGLIGIBLE {
        return None;
    }
    let which = if slice == "p99" { "The slowest 1 % of requests" } else { "All requests" };
    let told = format!("{which} waited most for {} ({:.0} % of their time).", behind_for(cause), most / all * 100.0);
    // Of a workload that hardly writes, cleaning is of what was written before it.
    if result.no_waf.is_some() && CLEANING.contains(&cause.as_str()) {
        return Some(told);
    }
    Some(match proposals(result, cause, |_| true) {
        Some(proposals) => format!("{told} Try {proposals}."),
        None => told,
    })
}

/// Proposals against the flash commands of a cause in a run. None of them only moves commands to another time.
pub(crate) fn against_wear(result: &RunResult, cause: &str) -> Option<String> {
    proposals(result, cause, |advice| !ONLY_TIME.contains(&advice.key.as_str()))
}

/// The most promising proposals against a cause, as they follow "try"; `None`: there are none.
fn proposals(result: &RunResult, cause: &str, is_meant: impl Fn(&Advice) -> bool) -> Option<String> {
    let all = table().get(cause).into_iter().flatten();
    let fitting = all.filter(|advice| is_meant(advice) && advice.fits(result)).take(MOST);
    let words: Vec<String> = fitting.map(|advice| advice.words(result)).collect();
    (!words.is_empty()).then(|| layer::spelling::joined(&words, "or"))
}

impl Advice {
    /// Whether it can help in a run, which reads its key and has another value than the last one there is.
    fn fits(&self, result: &RunResult) -> bool {
        let value = result.config.get(&self.key).map_or("", String::as_str);
        let is_of_run = match self.fits.as_deref() {
            Some("open loop") => result.queue_depth.is_none(),
            Some("closed loop") => result.queue_depth.is_some(),
            Some("copies") => result.flash[1][units::Cause::Gc.index()] > 0,
            Some("programs") => result.flash[1].iter().any(|programs| *programs > 0),
            _ => true,
        };
        let served = |op: &HostOp| result.latency[op.index()].histogram().count() > 0;
        let named = |name: &str| HostOp::ALL.iter().find(|op| op.name() == name);
        let is_served = self.operation.as_deref().is_none_or(|name| named(name).is_some_and(served));
        is_of_run && is_served && !result.unused.contains(&self.key) && !self.unless.iter().any(|one| one == value)
    }

    /// `more spare space (drive.over_provisioning, now 15%)`.
    fn words(&self, result: &RunResult) -> String {
        let now = result.config.get(&self.key).map(|value| format!(", now {value}"));
        format!("{} ({}{})", self.change, self.key, now.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simulator::{Config, Setting, session};

    /// A run that only wrote was told to try reads that interrupt programs.
    #[test]
    fn advice_about_reads_is_told_of_runs_with_reads_alone() {
        let proposed = |(workload, state): (&str, &str)| {
            let settings = ["flash.channels=1", "flash.dies_per_channel=1", "drive.capacity=64MiB"];
            let more = ["workload.requests=20000", "workload.queue_depth=32", state];
            let settings: Vec<_> =
                settings.iter().chain(&more).map(|text| Setting::from_argument(text).unwrap()).collect();
            let config = Config::load("page", &settings).unwrap();
            let result = session::Prepared::new(config, workload).unwrap().run(None, &mut ()).unwrap();
            sentence(&result, &result.to_json()).unwrap().contains("flash.suspend")
        };
        let [erased, filled] = ["drive.precondition=none", "drive.precondition=fill"];
        let runs = [("uniform-write", erased), ("uniform-read", filled), ("mixed", erased)];
        assert_eq!(runs.map(proposed), [false, false, true]);
    }

    #[test]
    fn every_cause_has_its_line_and_every_condition_is_known() {
        for kind in 0..units::WAIT_KINDS {
            assert!(table().contains_key(Wait::name_at(kind)), "{}", Wait::name_at(kind));
        }
        let known = [None, Some("open loop"), Some("closed loop"), Some("copies"), Some("programs")];
        assert!(table().values().flatten().all(|advice| known.contains(&advice.fits.as_deref())));
        let known = [None, Some("read"), Some("write")];
        assert!(table().values().flatten().all(|advice| known.contains(&advice.operation.as_deref())));
        assert_eq!((behind_for("space"), behind_for("gc")), ("a free block", "gc"));
    }
}
