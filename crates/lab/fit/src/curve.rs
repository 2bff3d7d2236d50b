//! Figures read off a curve of rates over bytes written: where it turns, and how fast it is between.

use crate::subject::Modelled;

/// Windows of a drive write, of which each has a rate, and windows of a transient: four drive writes.
pub const WINDOWS: f64 = 50.0;
pub(crate) const TRANSIENT: usize = 200;
/// Windows of a transient that tell its plateau.
pub(crate) const PLATEAU: usize = 4;
/// Windows of a fill. Behind a cliff the rate is below this share of the rate before it, for so many windows.
pub(crate) const FILL: usize = 200;
const CLIFF: f64 = 0.8;
const SETTLED: usize = 4;

/// The rate before collection begins, of the first [`PLATEAU`] windows of a transient or more.
pub(crate) fn plateau(rates: &[f64]) -> Modelled {
    Modelled::from([("plateau", mean_rate(&rates[1..PLATEAU]))])
}

/// Where the rate of a transient turns: a rate for each window, two drive writes of them or more. It is steady in the
/// last drive write.
pub(crate) fn turning_points(rates: &[f64]) -> Modelled {
    let per_drive_write = WINDOWS as usize;
    let steady = mean_rate(&rates[rates.len() - per_drive_write..]);
    let mut figures = plateau(rates);
    figures.insert("steady", steady);
    let plateau = figures["plateau"];
    let at = |window: usize| window as f64 / WINDOWS;
    if let Some(onset) = rates.iter().skip(1).position(|rate| *rate < 0.95 * plateau) {
        figures.insert("onset", at(onset + 1));
    }
    let lowest = rates.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    if let Some((window, low)) = lowest {
        figures.insert("low", *low);
        figures.insert("low_at", at(window) + 0.5 / WINDOWS);
    }
    figures
}

/// The phases of a fill, in windows of `step` bytes: the rate of each away from its ends, and where it ends.
pub(crate) fn phases(rates: &[f64], step: f64) -> Modelled {
    const NAMES: [(&str, &str); 3] =
        [("phase1.rate", "phase1.until"), ("phase2.rate", "phase2.until"), ("phase3.rate", "")];
    let mut figures = Modelled::from([("whole.rate", mean_rate(rates))]);
    let mut from = 0;
    for (rate_name, until_name) in NAMES {
        let cliff = if until_name.is_empty() { None } else { cliff(rates, from) };
        let phase = &rates[from..cliff.unwrap_or(rates.len())];
        let (first, last) = (phase.len() / 5, (phase.len() * 4).div_ceil(5).max(phase.len().min(1)));
        figures.insert(rate_name, mean_rate(&phase[first..last]));
        let Some(cliff) = cliff else { break };
        figures.insert(until_name, step * cliff as f64);
        from = cliff;
    }
    figures
}

/// The first window behind a phase that begins with window `from`: from there on the rate stays below what it was.
fn cliff(rates: &[f64], from: usize) -> Option<usize> {
    // The first window may begin with an empty buffer, or with what the phase before left.
    let begin = from + 1;
    let is_behind = |window: &usize| {
        let (before, behind) = (mean_rate(&rates[begin..*window]), mean_rate(&rates[*window..*window + SETTLED]));
        behind < CLIFF * before
    };
    let near = (begin + SETTLED..rates.len().saturating_sub(SETTLED)).find(is_behind)?;
    let (before, behind) = (mean_rate(&rates[begin..near]), mean_rate(&rates[near..near + SETTLED]));
    let between = (before * behind).sqrt();
    (near..near + SETTLED).find(|window| rates[*window] < between)
}

/// The rate of windows of one size one after the other.
fn mean_rate(rates: &[f64]) -> f64 {
    rates.len() as f64 / rates.iter().map(|rate| rate.recip()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(phases: &[(usize, f64)]) -> Vec<f64> {
        let windows = phases.iter().flat_map(|(windows, rate)| std::iter::repeat_n(*rate, *windows));
        // Every third window is a little slower, as where blocks are erased.
        windows.enumerate().map(|(window, rate)| if window % 3 == 0 { rate * 0.9 } else { rate }).collect()
    }

    /// A cliff was looked for where the measured drive has one, and not found where the simulated one has it.
    #[test]
    fn cliffs_are_found_wherever_they_are() {
        for (first, second) in [(9, 60), (68, 60), (23, 170)] {
            let figures = phases(&fill(&[(first, 4e9), (second, 1e9), (200 - first - second, 3e8)]), 1e9);
            for (name, windows) in [("phase1.until", first), ("phase2.until", first + second)] {
                assert!((figures[name] / 1e9 - windows as f64).abs() < 1e-6, "{name}: {}", figures[name]);
            }
            for (name, rate) in [("phase1.rate", 4e9), ("phase2.rate", 1e9), ("phase3.rate", 3e8)] {
                assert!((figures[name] / rate - 0.96).abs() < 0.04, "{name}: {}", figures[name]);
            }
        }
        let figures = phases(&fill(&[(200, 1e9)]), 1e9);
        assert!(!figures.contains_key("phase1.until") && !figures.contains_key("phase2.rate"));
    }
}
