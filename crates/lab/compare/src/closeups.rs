//! Requests under the microscope, for a result's page: the slowest, typical ones, and some of the requests between.

use metrics::RunResult;
use nand::{Blame, Closeup, Slice, Work};
use serde_json::{Map, Value, json};
use simulator::session::Timeline;
use units::{HostOp, SECTOR_BYTES};

/// Slowest requests of an operation, and those that are nearest to its median.
const SLOWEST: usize = 20;
const TYPICAL: usize = 20;
/// Of the others one for each step of latency, by this factor.
const STEP: f64 = 1.19;

/// Words that slices use, each once: slices hold their places.
#[derive(Default)]
struct Words(Vec<&'static str>);

impl Words {
    fn place(&mut self, word: &'static str) -> usize {
        self.0.iter().position(|known| *known == word).unwrap_or_else(|| {
            self.0.push(word);
            self.0.len() - 1
        })
    }
}

/// The document that a page shows: of each operation the requests, the slowest first, and in columns the slices of
/// their time, as many for each request as it says.
pub fn document(timeline: &Timeline, result: &RunResult) -> Value {
    let shown: Vec<(&str, &Closeup)> =
        HostOp::ALL.into_iter().flat_map(|op| of_operation(timeline, result, op)).collect();
    let requests: Vec<Value> =
        shown.iter().map(|(role, closeup)| request(timeline, result.has_causes(), role, closeup)).collect();
    let (mut works, mut causes) = (Words::default(), Words::default());
    let slices: Vec<(&Closeup, &Slice)> =
        shown.iter().flat_map(|(_, closeup)| closeup.slices.iter().map(move |slice| (*closeup, slice))).collect();
    let column = |value: &mut dyn FnMut(&Closeup, &Slice) -> i64| -> Vec<i64> {
        slices.iter().map(|(closeup, slice)| value(closeup, slice)).collect()
    };
    let arrival = |closeup: &Closeup| closeup.served.request.arrival as i64;
    let slices = json!({
        "track": column(&mut |_, slice| i64::from(slice.track)),
        "begin_ns": column(&mut |closeup, slice| slice.begin as i64 - arrival(closeup)),
        "ns": column(&mut |_, slice| (slice.end - slice.begin) as i64),
        "work": column(&mut |_, slice| works.place(name(slice.work)) as i64),
        "cause": column(&mut |_, slice| causes.place(slice.cause.name()) as i64),
        "pages": column(&mut |_, slice| i64::from(slice.pages)),
        "own": column(&mut |closeup, slice| i64::from(slice.request == closeup.served.number)),
    });
    json!({"tracks": timeline.tracks, "works": works.0, "causes": causes.0, "requests": requests, "slices": slices})
}

/// The requests of an operation that are shown, and why.
fn of_operation<'a>(timeline: &'a Timeline, result: &RunResult, op: HostOp) -> Vec<(&'static str, &'a Closeup)> {
    let mut all: Vec<&Closeup> =
        timeline.recorder.samples.iter().filter(|closeup| closeup.served.request.op == op).collect();
    all.sort_by_key(|closeup| (std::cmp::Reverse(closeup.served.latency()), closeup.served.request.arrival));
    let others = all.split_off(SLOWEST.min(all.len()));
    let slowest = all.into_iter().map(|closeup| ("slowest", closeup));
    // Latencies that few requests have are kept as well as common ones: the median is that of the run, not of these.
    let median = result.latency[op.index()].histogram().percentile(0.5);
    let mut by_distance: Vec<usize> = (0..others.len()).collect();
    by_distance.sort_by_key(|at| others[*at].served.latency().abs_diff(median));
    let typical = &by_distance[..TYPICAL.min(by_distance.len())];
    let mut last = f64::INFINITY;
    let between = others.iter().enumerate().filter_map(|(at, closeup)| {
        if typical.contains(&at) {
            return Some(("typical", *closeup));
        }
        let latency = closeup.served.latency() as f64;
        let is_shown = latency * STEP <= last;
        last = if is_shown { latency } else { last };
        is_shown.then_some(("between", *closeup))
    });
    slowest.chain(between).collect()
}

fn request(timeline: &Timeline, has_causes: bool, role: &str, closeup: &Closeup) -> Value {
    let Closeup { served, slices, is_cut_short } = closeup;
    let request = &served.request;
    let waited = |by: Blame| -> Option<Map<String, Value>> {
        has_causes.then(|| served.waits(by).map(|(name, ns)| (name.to_owned(), json!(ns))).collect())
    };
    json!({
        "role": role,
        "op": request.op.name(),
        "byte": request.first_sector * SECTOR_BYTES,
        "bytes": u64::from(request.sectors) * SECTOR_BYTES,
        "arrival_ns": request.arrival.saturating_sub(timeline.started),
        "latency_ns": served.latency(),
        "waited_ns": waited(Blame::Direct),
        "waited_root_ns": waited(Blame::Root),
        "cut_short": is_cut_short,
        "slices": slices.len(),
    })
}

/// The work of a die or channel, in a word or two.
pub fn name(work: Work) -> &'static str {
    match work {
        Work::Read => "read",
        Work::Program => "program",
        Work::Copyback => "copy",
        Work::Erase => "erase",
        Work::DataOut => "data out",
        Work::DataIn => "data in",
        Work::Command => "command",
        Work::Mixed => "mixed",
    }
}
