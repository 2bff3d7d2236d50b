//! Which latency designs are judged by.
//!
//! The rule: of each operation the highest percentile that every run of a panel has requests enough for; of all
//! operations the one with the highest percentile. Of equal ones reads come first, then flushes: an application waits
//! for both. A plan may name another latency.

use crate::metric::{METRICS, Metric, OPS, Op};
use crate::summary::Summary;
use layer::spelling::joined;

/// The latency of some combinations that were measured.
/// Errors: in words: there is none that every run has requests enough for.
pub(crate) fn choose(wanted: Option<&'static Metric>, measured: &[&Summary]) -> Result<&'static Metric, String> {
    let is_everywhere = |metric: &Metric| measured.iter().all(|summary| summary.mean(metric.name).is_some());
    if let Some(metric) = wanted {
        let op = metric.op().unwrap_or(&OPS[0]);
        return if is_everywhere(metric) {
            Ok(metric)
        } else {
            Err(format!(
                "{} takes {} {} in every run, and there are {} {}",
                metric.short,
                metric.needed(),
                op.plural,
                fewest(op, measured),
                op.plural
            ))
        };
    }
    let highest = OPS.iter().filter_map(|op| {
        let level = op.tails.iter().position(|name| Metric::named(name).is_some_and(is_everywhere))?;
        Some((level, !op.is_waited_for(), Metric::named(op.tails[level])?))
    });
    // Of equal ones the first.
    highest.min_by_key(|(level, is_late, _)| (*level, *is_late)).map(|(.., metric)| metric).ok_or_else(|| {
        let needed = METRICS
            .iter()
            .filter(|metric| OPS.iter().any(|op| op.tails.contains(&metric.name)))
            .map(Metric::needed)
            .min()
            .unwrap_or(0);
        let counts: Vec<String> = OPS.iter().map(|op| format!("{} {}", fewest(op, measured), op.plural)).collect();
        let kinds = OPS.map(|op| op.plural);
        format!("a tail takes {needed} {} in every run, and there are {}", joined(&kinds, "or"), joined(&counts, "and"))
    })
}

/// The requests of an operation in the runs that have fewest of them.
fn fewest(op: &Op, measured: &[&Summary]) -> String {
    let requests = measured.iter().filter_map(|summary| summary.fewest[op.at()]);
    let least = requests.reduce(f64::min).filter(|least| *least > 0.0);
    least.map_or_else(|| "no".to_owned(), |least| format!("{least:.0}"))
}

/// The highest percentile of an operation that all combinations have, or else any.
fn of_all(op: &Op, all: &[Summary]) -> Option<&'static Metric> {
    let measured: Vec<&Summary> = all.iter().filter(|summary| summary.complete > 0).collect();
    let has = |name: &str| measured.iter().filter(|summary| summary.mean(name).is_some()).count();
    let name =
        op.tails.iter().find(|name| has(name) == measured.len()).or_else(|| op.tails.iter().find(|name| has(name) > 0));
    name.filter(|name| has(name) > 0).and_then(|name| Metric::named(name))
}

/// The highest percentile of reads, of writes and of flushes that all combinations have, or else any.
pub fn tails(all: &[Summary]) -> Vec<&'static Metric> {
    OPS.iter().filter_map(|op| of_all(op, all)).collect()
}

/// The remark about percentiles that readers look for first, and for which runs had too few requests.
pub(crate) fn missing(all: &[Summary]) -> Vec<String> {
    let measured: Vec<&Summary> = all.iter().filter(|summary| summary.complete > 0).collect();
    let of = |op: &Op| {
        let metric = METRICS.iter().find(|metric| metric.name == op.tails[1])?;
        let without: Vec<&Summary> = measured
            .iter()
            .copied()
            .filter(|summary| summary.mean(metric.name).is_none() && summary.fewest[op.at()] > Some(0.0))
            .collect();
        let count = without.len();
        (count > 0).then(|| {
            format!(
                "{count} of {} combinations have no {}: it takes {} {} in every run, ten of them beyond it. The runs \
                 with the fewest have {}.",
                measured.len(),
                metric.short,
                metric.needed(),
                op.plural,
                fewest(op, &without)
            )
        })
    };
    OPS.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Point;
    use metrics::Cell;

    fn summary(names: &[(&str, f64)]) -> Summary {
        let cell = |metric: &Metric| {
            names.iter().find(|(name, _)| *name == metric.name).map(|(_, mean)| Cell { mean: *mean, half: None })
        };
        let point = Point { stack: 0, workload: 0, values: Vec::new() };
        let of = |name: &str| names.iter().find(|(known, _)| *known == name).map(|(_, requests)| *requests);
        let fewest = OPS.map(|op| of(op.requests));
        Summary { point, complete: 1, problem: None, absent: None, fewest, cells: METRICS.iter().map(cell).collect() }
    }

    fn chosen(wanted: Option<&str>, of: &[&[(&str, f64)]]) -> Result<&'static str, String> {
        let all: Vec<Summary> = of.iter().map(|names| summary(names)).collect();
        choose(wanted.and_then(Metric::named), &all.iter().collect::<Vec<_>>()).map(|metric| metric.name)
    }

    /// The maximum of 318 reads decided, where there were fifty thousand writes.
    #[test]
    fn the_highest_percentile_that_all_runs_have_decides() {
        const WRITES: [(&str, f64); 3] = [("write_p90_ns", 1.0), ("write_p99_ns", 2.0), ("write_p999_ns", 3.0)];
        const READS: [(&str, f64); 2] = [("read_p90_ns", 1.0), ("read_p99_ns", 2.0)];
        let both = [&WRITES[..], &READS[..]].concat();
        assert_eq!(chosen(None, &[&both]), Ok("write_p999_ns"), "writes go further");
        assert_eq!(
            chosen(None, &[&both, &[&WRITES[..2], &READS[..]].concat()]),
            Ok("read_p99_ns"),
            "of equal ones reads"
        );
        assert_eq!(chosen(None, &[&READS]), Ok("read_p99_ns"));
        assert_eq!(chosen(None, &[&both, &READS[..1]]), Ok("read_p90_ns"), "every run counts");
        assert_eq!(chosen(Some("write_p99_ns"), &[&both]), Ok("write_p99_ns"));
    }

    /// Designs for a load of commits were judged by writes that end in a cache.
    #[test]
    fn of_equal_percentiles_flushes_come_before_writes() {
        let commits = [("write_p99_ns", 1.0), ("flush_p99_ns", 2.0)];
        assert_eq!(chosen(None, &[&commits]), Ok("flush_p99_ns"));
        assert_eq!(chosen(None, &[&[&commits[..], &[("read_p99_ns", 3.0)]].concat()]), Ok("read_p99_ns"));
        assert_eq!(chosen(None, &[&[&commits[..], &[("write_p999_ns", 3.0)]].concat()]), Ok("write_p999_ns"));
    }

    #[test]
    fn without_requests_enough_there_is_a_reason() {
        let few = [("read_requests", 12.0), ("write_requests", 30.0), ("read_max_ns", 9.0)];
        assert_eq!(
            chosen(None, &[&few]),
            Err("a tail takes 100 reads, writes or flushes in every run, and there are 12 reads, 30 writes and no \
                 flushes"
                .to_owned())
        );
        assert_eq!(
            chosen(Some("write_p99_ns"), &[&few]),
            Err("write p99 takes 1000 writes in every run, and there are 30 writes".to_owned())
        );
        assert_eq!(missing(&[summary(&few)]).len(), 2);
        let note = &missing(&[
            summary(&[("read_requests", 318.0)]),
            summary(&[("read_requests", 20_000.0), ("read_p999_ns", 4.0)]),
        ])[0];
        assert_eq!(
            note,
            "1 of 2 combinations have no read p99.9: it takes 10000 reads in every run, ten of them beyond it. The \
             runs with the fewest have 318."
        );
    }
}
