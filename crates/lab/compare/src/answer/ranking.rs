//! A figure of all stacks: the best one, and how far the others are behind it.

use super::SHARE;
use crate::life::words::short;
use crate::repeated::{FACTOR, Figures, named};
use figures::capital;
use layer::spelling::joined;
use metrics::Cell;
use serde_json::{Value, json};
use sweep::{Contrast, Metric, shown_cell};

/// The figures of each run of a stack.
pub(super) type Runs = Vec<Figures>;

/// Figures that tell the tail of each operation, the highest percentile first.
const TAILS: [[&str; 4]; 3] = [
    ["read_p999_ns", "read_p99_ns", "read_p50_ns", "read_mean_ns"],
    ["write_p999_ns", "write_p99_ns", "write_p50_ns", "write_mean_ns"],
    ["flush_p999_ns", "flush_p99_ns", "flush_p50_ns", "flush_mean_ns"],
];
/// Figures of flash, which a user of a drive does not feel.
const OF_FLASH: [&str; 2] = ["waf", "erased_bytes"];

/// A stack's value of a figure.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub stack: String,
    pub value: f64,
    pub shown: String,
    /// Its value over the best one.
    pub ratio: f64,
    /// It is worse than the best one beyond the intervals.
    pub is_behind: bool,
}

/// A figure of all stacks.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    /// Name in JSON.
    pub metric: &'static str,
    /// Name in a sentence.
    pub name: String,
    pub best: Placed,
    /// The others, in their order.
    pub others: Vec<Placed>,
}

impl Ranked {
    /// A figure of all stacks; `None`: some do not have it, or there are none.
    fn of(metric: &'static Metric, names: &[&str], runs: &[Runs]) -> Option<Self> {
        let at = named().position(|one| one.name == metric.name)?;
        let known = |runs: &Runs| runs.iter().map(|run| run.get(at).copied().flatten()).collect::<Option<Vec<f64>>>();
        let values = runs.iter().map(known).collect::<Option<Vec<Vec<f64>>>>()?;
        let cells = values.iter().map(|values| Cell::of(values, 0.0)).collect::<Option<Vec<Cell>>>()?;
        let is_more = metric.is_more_better();
        let order = |a: &usize, b: &usize| {
            let order = cells[*a].mean.total_cmp(&cells[*b].mean);
            if is_more { order.reverse() } else { order }
        };
        let best = (0..cells.len()).min_by(order)?;
        let placed = |stack: usize| {
            let contrast = Contrast::of(metric, &values[stack], Some(&values[best]))?;
            // One run has no interval, and all of its difference may be chance.
            let is_behind = match contrast.ratio {
                Some(_) => contrast.is_better() == Some(false),
                None => share(cells[stack].mean / cells[best].mean) >= SHARE,
            };
            Some(Placed {
                stack: names.get(stack)?.to_string(),
                value: cells[stack].mean,
                shown: shown_cell(metric, Cell { half: None, ..cells[stack] }),
                ratio: cells[stack].mean / cells[best].mean,
                is_behind: stack != best && is_behind,
            })
        };
        let others = (0..cells.len()).filter(|stack| *stack != best).map(placed).collect::<Option<Vec<_>>>()?;
        Some(Self { metric: metric.name, name: metric.short.to_owned(), best: placed(best)?, others })
    }

    /// The fastest, or between which no difference can be told.
    pub fn sentence(&self, is_repeated: bool) -> String {
        let Placed { stack, shown, .. } = &self.best;
        let once = if is_repeated { "" } else { ", of one run each" };
        let requests = Metric::named(self.metric).and_then(Metric::requests).unwrap_or("requests");
        let words = self.name.split_once(' ').filter(|(op, _)| requests.starts_with(op));
        let (of, place) = words.map_or(("requests", self.name.as_str()), |(_, place)| (requests, place));
        let tail = format!("{of} at the tail ({place}{once})");
        let close: Vec<&Placed> = self.others.iter().filter(|other| !other.is_behind).collect();
        if self.others.is_empty() {
            return format!("{}{once}: {shown}.", capital(&self.name));
        }
        if close.is_empty() {
            return format!("Fastest {tail}: {stack}, {shown}.");
        }
        let all = std::iter::once(&self.best).chain(close).map(|one| format!("{} ({})", one.stack, one.shown));
        format!("No measurable difference in {tail} between {}.", joined(&all.collect::<Vec<String>>(), "and"))
    }

    /// The best stack, and the stacks that are behind it so far that it matters.
    pub fn line(&self) -> String {
        let behind = self.others.iter().filter(|other| other.matters());
        let behind: Vec<String> =
            behind.map(|other| format!("{} {} ({})", other.stack, other.shown, against(other.ratio))).collect();
        format!("{}: {} {}; {}", self.name, self.best.stack, self.best.shown, behind.join(", "))
    }

    /// The form of a difference in a comparison.
    pub fn to_json(&self) -> Value {
        self.document(&self.line())
    }

    /// The form of a tail, in which stacks may not differ.
    pub fn tail_to_json(&self, is_repeated: bool) -> Value {
        self.document(&self.sentence(is_repeated))
    }

    fn document(&self, sentence: &str) -> Value {
        let one = |placed: &Placed| {
            json!({
                "stack": placed.stack,
                "value": placed.value,
                "ratio": placed.ratio,
                "behind": placed.is_behind,
                "matters": placed.matters(),
            })
        };
        // Of stacks that cannot be told apart none is named as the best.
        let close: Vec<&Placed> = self.others.iter().filter(|other| !other.is_behind).collect();
        let best = close.is_empty().then(|| one(&self.best));
        let behind = self.others.iter().filter(|other| other.is_behind);
        let equal = std::iter::once(&self.best).chain(close).filter(|_| best.is_none());
        json!({
            "metric": self.metric,
            "name": self.name,
            "best": best,
            "equal": equal.map(one).collect::<Vec<_>>(),
            "others": behind.map(one).collect::<Vec<_>>(),
            "sentence": sentence,
        })
    }
}

impl Placed {
    /// It is behind, by a share that matters.
    pub fn matters(&self) -> bool {
        self.is_behind && share(self.ratio) >= SHARE
    }
}

/// How far a ratio is from 1, as a share, the same for twice as much and half as much.
pub(super) fn share(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio) - 1.0
}

/// A ratio in words: `+42 %`, `-64 %`, `x2.4`.
fn against(ratio: f64) -> String {
    if ratio >= FACTOR { format!("x{}", short(ratio)) } else { format!("{:+.0}\u{a0}%", (ratio - 1.0) * 100.0) }
}

/// The tail of each operation that all stacks served: the highest percentile that all their runs have.
pub(super) fn tails(names: &[&str], runs: &[Runs]) -> Vec<Ranked> {
    let tail =
        |candidates: &[&str; 4]| candidates.iter().find_map(|name| Ranked::of(Metric::named(name)?, names, runs));
    TAILS.iter().filter_map(tail).collect()
}

/// Figures in which stacks differ so far that it matters.
pub(super) fn matter(names: &[&str], runs: &[Runs]) -> Vec<Ranked> {
    let felt = named().filter(|metric| !OF_FLASH.contains(&metric.name));
    let ranked = felt.filter_map(|metric| Ranked::of(metric, names, runs));
    ranked.filter(|ranked| ranked.others.iter().any(Placed::matters)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that have one figure alone.
    fn runs(metric: &str, values: &[f64]) -> Runs {
        let run = |value: &f64| named().map(|one| (one.name == metric).then_some(*value)).collect();
        values.iter().map(run).collect()
    }

    #[test]
    fn a_drive_is_fastest_only_beyond_the_intervals() {
        let metric = "read_p99_ns";
        let [fast, slow] = [runs(metric, &[100e3, 104e3, 98e3]), runs(metric, &[205e3, 210e3, 199e3])];
        let wide = runs(metric, &[90e3, 160e3, 120e3]);
        let of = |second: &Runs| tails(&["a", "b"], &[second.clone(), fast.clone()])[0].clone();
        assert_eq!(of(&slow).sentence(true), "Fastest reads at the tail (p99): b, 101 µs.");
        let both = of(&wide).sentence(true);
        assert!(
            both == "No measurable difference in reads at the tail (p99) between b (101 µs) and a (123 µs).",
            "{both}"
        );
        let matters = matter(&["a", "b"], &[slow, fast.clone()]);
        assert_eq!(matters[0].line(), "read p99: b 101 µs; a 205 µs (x2.03)");
        assert!(matter(&["a", "b"], &[wide, fast]).is_empty());
    }

    /// JSON of a tail without a difference had "read p99: b 101 µs; " as its sentence, and named one as the best.
    #[test]
    fn of_equal_tails_none_is_the_best() {
        let metric = "read_p99_ns";
        let close = [runs(metric, &[100e3, 104e3, 98e3]), runs(metric, &[90e3, 160e3, 120e3])];
        let told = tails(&["b", "a"], &close)[0].tail_to_json(true);
        assert!(told["best"].is_null() && told["others"] == json!([]), "{told}");
        assert_eq!([&told["equal"][0]["stack"], &told["equal"][1]["stack"]], ["b", "a"]);
        assert!(told["sentence"].as_str().unwrap().ends_with("between b (101 µs) and a (123 µs)."), "{told}");
        let apart = [runs(metric, &[100e3, 104e3, 98e3]), runs(metric, &[205e3, 210e3, 199e3])];
        let told = tails(&["b", "a"], &apart)[0].tail_to_json(true);
        assert!(told["best"]["stack"] == "b" && told["equal"] == json!([]), "{told}");
    }

    /// Under a load of commits the drive with the faster writes into its cache was named alone.
    #[test]
    fn the_tail_of_flushes_is_answered() {
        let metric = "flush_p99_ns";
        let two = [runs(metric, &[3e6, 3.1e6, 3e6]), runs(metric, &[1e6, 1.1e6, 1e6])];
        let told = tails(&["a", "b"], &two);
        assert_eq!(told[0].sentence(true), "Fastest flushes at the tail (p99): b, 1.03 ms.");
        assert_eq!(matter(&["a", "b"], &two)[0].line(), "flush p99: b 1.03 ms; a 3.03 ms (x2.94)");
    }

    #[test]
    fn a_difference_that_can_be_told_but_is_small_does_not_matter() {
        let metric = "read_mean_ns";
        let two = [runs(metric, &[100.0, 101.0, 100.0]), runs(metric, &[105.0, 106.0, 105.0])];
        assert!(matter(&["a", "b"], &two).is_empty());
        assert_eq!(
            tails(&["a", "b"], &two)[0].sentence(true),
            "Fastest requests at the tail (mean read latency): a, 100 ns."
        );
    }

    #[test]
    fn one_run_tells_what_it_is() {
        let metric = "write_p999_ns";
        let of = |second: f64| tails(&["a", "b"], &[runs(metric, &[1e6]), runs(metric, &[second])])[0].sentence(false);
        assert_eq!(of(2e6), "Fastest writes at the tail (p99.9, of one run each): a, 1 ms.");
        assert!(of(1.05e6).ends_with(" between a (1 ms) and b (1.05 ms)."), "{}", of(1.05e6));
    }
}
