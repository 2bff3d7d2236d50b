//! Latency over time in a line of a terminal.

use super::numbers::time;
use metrics::RunResult;
use units::HostOp;

/// Columns of a line.
const COLUMNS: usize = 60;
/// From the least to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The longest latency of reads and of writes over the run, for a terminal: nothing where no time passed.
pub fn over_time(result: &RunResult) -> String {
    let (_, samples) = &result.series;
    let rows = [HostOp::Read, HostOp::Write].map(|op| {
        let longest: Vec<u64> = samples.iter().map(|sample| sample.latency_max[op.index()]).collect();
        row(op.name(), &longest)
    });
    let rows: String = rows.into_iter().flatten().collect();
    if rows.is_empty() { rows } else { format!("\nlongest latency over the run\n{rows}") }
}

fn row(name: &str, longest: &[u64]) -> Option<String> {
    let size = longest.len().div_ceil(COLUMNS).max(1);
    let columns: Vec<u64> = longest.chunks(size).map(|part| part.iter().copied().max().unwrap_or(0)).collect();
    // Of one column there is nothing to see.
    let most = columns.iter().copied().max().filter(|most| *most > 0 && columns.len() > 1)?;
    let bar = |value: &u64| match value {
        0 => ' ',
        value => BARS[((*value as f64 / most as f64 * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    let line: String = columns.iter().map(bar).collect();
    Some(format!("  {:<7}{line}  at most {}\n", format!("{name}s"), time(most as f64)))
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
        assert_eq!(line.chars().filter(|c| BARS.contains(c)).count(), 59, "{line}");
    }
}
