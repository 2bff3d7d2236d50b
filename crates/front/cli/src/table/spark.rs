//! Latency over time in lines of a terminal.

use figures::numbers::time;
use metrics::RunResult;
use std::fmt::Write;
use units::HostOp;

/// Columns of a line, so that its name and its highest value fit beside it into 80.
const COLUMNS: usize = 54;
/// From the least to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The longest latency of reads and of writes over the run: nothing where no time passed.
pub(super) fn over_time(result: &RunResult) -> String {
    let rows = [HostOp::Read, HostOp::Write].map(|op| row(op.name(), &longest(result, op)));
    let rows: String = rows.into_iter().flatten().collect();
    if rows.is_empty() { rows } else { format!("\nlongest latency over the run\n{rows}") }
}

/// The same of several runs, a line for each: all reads on one scale, and all writes on one.
pub(super) fn over_time_together(runs: &[(char, &RunResult)]) -> String {
    let groups = [HostOp::Read, HostOp::Write].map(|op| {
        let lines: Vec<(char, Vec<u64>)> = runs.iter().map(|(letter, run)| (*letter, longest(run, op))).collect();
        group(op.name(), &lines)
    });
    let groups: String = groups.into_iter().flatten().collect();
    if groups.is_empty() {
        groups
    } else {
        format!("\nlongest latency over each run, from its start to its end\n{groups}")
    }
}

fn longest(result: &RunResult, op: HostOp) -> Vec<u64> {
    result.series.1.iter().map(|sample| sample.latency_max[op.index()]).collect()
}

fn row(name: &str, values: &[u64]) -> Option<String> {
    // Of one column there is nothing to see.
    let most = most(values).filter(|_| values.len() > 1)?;
    let line = bars(&columns(values, values.len().min(COLUMNS)), most);
    Some(format!("  {:<7}{line}  at most {}\n", format!("{name}s"), time(most as f64)))
}

/// Lines of one length on one scale, so that they can be compared.
fn group(name: &str, lines: &[(char, Vec<u64>)]) -> Option<String> {
    let width = lines.iter().map(|(_, values)| values.len()).max()?.min(COLUMNS);
    let scale = lines.iter().filter_map(|(_, values)| most(values)).max().filter(|_| width > 1)?;
    let mut text = format!("  {name}s, the highest bar is {}\n", time(scale as f64));
    for (letter, values) in lines {
        let line = bars(&columns(values, width), scale);
        let told = most(values).map_or_else(|| "none".to_owned(), |most| format!("at most {}", time(most as f64)));
        let _ = writeln!(text, "    {letter} {line:<width$}  {told}");
    }
    Some(text)
}

fn most(values: &[u64]) -> Option<u64> {
    values.iter().copied().max().filter(|most| *most > 0)
}

/// So many columns, each with the highest of the values that fall on it.
fn columns(values: &[u64], width: usize) -> Vec<u64> {
    let start = |column: usize| column * values.len() / width;
    let of = |column: usize| values.get(start(column)..start(column + 1).max(start(column) + 1)).unwrap_or_default();
    (0..width).map(|column| of(column).iter().copied().max().unwrap_or(0)).collect()
}

fn bars(values: &[u64], scale: u64) -> String {
    let bar = |value: &u64| match value {
        0 => ' ',
        value => BARS[((*value as f64 / scale as f64 * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_the_highest_and_nothing_is_empty() {
        assert_eq!(row("write", &[80, 0, 40, 10]).unwrap(), "  writes █ ▄▁  at most 80.0 ns\n");
        assert_eq!(row("read", &[0, 0]), None);
        assert_eq!(row("read", &[7]), None, "one column shows nothing");
        let many: Vec<u64> = (1..=1000).collect();
        let line = row("read", &many).unwrap();
        assert_eq!(line.chars().filter(|c| BARS.contains(c)).count(), COLUMNS, "{line}");
        assert!(line.contains("█  at most 1.00 us"), "the last interval is drawn: {line}");
    }

    #[test]
    fn runs_share_a_scale_and_a_length() {
        let text = group("read", &[('A', vec![80, 40]), ('B', vec![10, 10, 20, 10]), ('C', vec![])]).unwrap();
        assert_eq!(
            text,
            "  reads, the highest bar is 80.0 ns\n    A ██▄▄  at most 80.0 ns\n    B ▁▁▂▁  at most 20.0 ns\n    \
             C       none\n"
        );
        assert_eq!(group("read", &[('A', vec![0, 0]), ('B', vec![])]), None);
        let wide = group("write", &[('A', vec![999_500_000; 500])]).unwrap();
        assert!(wide.lines().all(|line| line.chars().count() <= 80), "{wide}");
    }
}
