//! Latency at percentiles as a picture of letters: a row for each percentile, latency from left to right on a
//! logarithmic scale.

use figures::numbers::{count, percentile_name};
use metrics::{Histogram, PERCENTILES, RunResult, needed};
use std::fmt::Write;
use units::HostOp;

/// Columns of the scale, so that a row with its name fits into 80.
const COLUMNS: usize = 66;
/// What stands where several letters meet.
const SEVERAL: char = '*';
/// Steps of a decade that a scale may begin or end with.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// Latencies that share the rows of a picture, each with its letter.
struct Group<'a> {
    /// Above the rows; empty: nothing.
    name: &'static str,
    noun: &'static str,
    marked: Vec<(char, &'a Histogram)>,
}

/// Reads and writes of a run, and flushes where there are some; nothing where no time passed.
pub(super) fn plot(result: &RunResult) -> String {
    let has_flushes = result.latency[HostOp::Flush.index()].histogram().count() > 0;
    let all = [('R', HostOp::Read), ('W', HostOp::Write), ('F', HostOp::Flush)];
    let marked = all.map(|(letter, op)| (letter, result, op));
    let flushes = if has_flushes { ", F flushes" } else { "" };
    let title = format!("latency at percentiles, on a logarithmic scale: R reads, W writes{flushes}");
    drawn(&title, &[group("", "requests", &marked)])
}

/// Reads of several runs, then their writes and their flushes.
pub(super) fn plot_together(runs: &[(char, &RunResult)]) -> String {
    let all = [("reads", HostOp::Read), ("writes", HostOp::Write), ("flushes", HostOp::Flush)];
    let groups = all.map(|(name, op)| {
        let marked: Vec<_> = runs.iter().map(|(letter, result)| (*letter, *result, op)).collect();
        group(name, name, &marked)
    });
    drawn("latency at percentiles, on a logarithmic scale", &groups)
}

fn group<'a>(name: &'static str, noun: &'static str, all: &[(char, &'a RunResult, HostOp)]) -> Group<'a> {
    let marked = all.iter().filter(|(_, result, _)| result.sim_ns > 0);
    let marked = marked.map(|(letter, result, op)| (*letter, result.latency[op.index()].histogram()));
    Group { name, noun, marked: marked.filter(|(_, histogram)| histogram.count() > 0).collect() }
}

fn drawn(title: &str, groups: &[Group<'_>]) -> String {
    let told = |group: &Group<'_>| {
        let values = group.marked.iter().flat_map(|(_, of)| PERCENTILES.map(|(_, share)| of.supported(share)));
        values.flatten().collect::<Vec<_>>()
    };
    let values: Vec<u64> = groups.iter().flat_map(told).collect();
    let Some(scale) = Scale::over(&values) else { return String::new() };
    let rows: Vec<String> = groups.iter().filter(|group| !group.marked.is_empty()).map(|of| rows(&scale, of)).collect();
    let rows = rows.concat();
    let several = if rows.contains(SEVERAL) { format!(", {SEVERAL} several") } else { String::new() };
    format!("\n{title}{several}\n{}{rows}", scale.head())
}

fn rows(scale: &Scale, group: &Group<'_>) -> String {
    let noun = group.noun;
    let mut text = if group.name.is_empty() { String::new() } else { format!("  {}\n", group.name) };
    for (name, share) in PERCENTILES {
        let values = group.marked.iter().filter_map(|(letter, of)| Some((*letter, of.supported(share)?)));
        let values: Vec<(char, u64)> = values.collect();
        let picture = if values.is_empty() {
            format!("too few {noun}: ten have to lie beyond, so it takes {}", count(needed(share)))
        } else {
            scale.row(&values)
        };
        let _ = writeln!(text, "{:>8} %  {}", percentile_name(name).trim_start_matches('p'), picture.trim_end());
    }
    // Where nobody has enough the row has said it.
    let most = group.marked.iter().map(|(_, of)| reached(of)).max().unwrap_or(0);
    for (letter, of) in group.marked.iter().filter(|(_, of)| reached(of) < most) {
        let all = count(of.count());
        let _ = match reached(of).checked_sub(1) {
            None => writeln!(text, "  {letter} has {all} {noun}, too few for a percentile"),
            Some(last) => {
                let name = percentile_name(PERCENTILES[last].0).trim_start_matches('p');
                writeln!(text, "  {letter} has {all} {noun}, too few for more than {name} %")
            }
        };
    }
    text
}

/// Percentiles that there are requests enough for.
fn reached(histogram: &Histogram) -> usize {
    PERCENTILES.iter().take_while(|(_, share)| histogram.count() >= needed(*share)).count()
}

/// Places columns on a logarithmic scale of nanoseconds.
struct Scale {
    low: f64,
    high: f64,
    /// Columns before it that hold a latency of zero, which has no place on it.
    before: usize,
    /// What is named above it, with the first column of the name.
    ticks: Vec<(f64, String, usize)>,
}

impl Scale {
    /// The scale that holds these values; `None`: none of them takes time.
    fn over(values: &[u64]) -> Option<Self> {
        let positive = || values.iter().copied().filter(|value| *value > 0).map(|value| value as f64);
        let (least, most) = (positive().reduce(f64::min)?, positive().reduce(f64::max)?);
        let steps: Vec<f64> = (0..=20).flat_map(|decade| STEPS.map(|step| step * 10_f64.powi(decade))).collect();
        let low = steps.iter().copied().filter(|step| *step <= least).fold(1.0, f64::max);
        let high = steps.iter().copied().find(|step| *step >= most && *step > low)?;
        let before = if values.contains(&0) { 4 } else { 0 };
        let mut scale = Self { low, high, before, ticks: Vec::new() };
        let shown: Vec<f64> = steps.into_iter().filter(|step| (low..=high).contains(step)).collect();
        let is_decade = |nanos: &&f64| nanos.log10().fract() == 0.0;
        let decades: Vec<f64> = shown.iter().filter(is_decade).copied().collect();
        let every = |stride: usize| decades.iter().copied().step_by(stride).collect::<Vec<_>>();
        let all = [shown.clone(), every(1), every(2), every(4)];
        scale.ticks = all.iter().find_map(|ticks| scale.named(ticks)).unwrap_or_default();
        Some(scale)
    }

    fn column(&self, nanos: f64) -> usize {
        let last = (COLUMNS - self.before - 1) as f64;
        self.before + ((nanos / self.low).ln() / (self.high / self.low).ln() * last).round() as usize
    }

    /// Names above ticks, where all of them have room.
    fn named(&self, ticks: &[f64]) -> Option<Vec<(f64, String, usize)>> {
        let mut free = self.before;
        let place = |nanos: &f64| {
            let name = round_time(*nanos);
            let width = name.chars().count();
            let first = self.column(*nanos).saturating_sub(width / 2).clamp(self.before, COLUMNS - width);
            let has_room = first >= free;
            free = first + width + 1;
            has_room.then_some((*nanos, name, first))
        };
        ticks.iter().map(place).collect()
    }

    /// The names, and a line with the ticks.
    fn head(&self) -> String {
        let mut names = vec![' '; COLUMNS];
        let mut line = vec!['─'; COLUMNS];
        if self.before > 0 {
            names[0] = '0';
            line[..self.before].fill(' ');
            line[0] = '┬';
        }
        for (nanos, name, first) in &self.ticks {
            names.splice(first..&(first + name.chars().count()), name.chars());
            line[self.column(*nanos)] = '┬';
        }
        let text = |row: Vec<char>| format!("{:>12}{}\n", "", row.into_iter().collect::<String>().trim_end());
        text(names) + &text(line)
    }

    /// Letters at their latencies, with a line from the least to the most.
    fn row(&self, values: &[(char, u64)]) -> String {
        let mut row = vec![' '; COLUMNS];
        let places: Vec<usize> =
            values.iter().map(|(_, nanos)| if *nanos == 0 { 0 } else { self.column(*nanos as f64) }).collect();
        for (nanos, ..) in &self.ticks {
            row[self.column(*nanos)] = '·';
        }
        let on_scale = || places.iter().copied().filter(|place| *place >= self.before);
        if let (Some(first), Some(last)) = (on_scale().min(), on_scale().max()) {
            row[first..last].fill('─');
        }
        for (index, ((letter, _), place)) in values.iter().zip(&places).enumerate() {
            let is_alone = places.iter().enumerate().all(|(other, at)| other == index || at != place);
            row[*place] = if is_alone { *letter } else { SEVERAL };
        }
        row.into_iter().collect()
    }
}

/// A round number of nanoseconds, without decimals: `20 us`.
fn round_time(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| nanos >= *scale).unwrap_or((1.0, "ns"));
    format!("{:.0} {unit}", nanos / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(durations: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        for nanos in durations {
            histogram.record(nanos);
        }
        histogram
    }

    fn picture(groups: &[Vec<(char, &Histogram)>]) -> String {
        let named = groups.iter().map(|marked| Group { name: "reads", noun: "reads", marked: marked.clone() });
        drawn("title", &named.collect::<Vec<_>>())
    }

    fn row<'a>(text: &'a str, percentile: &str) -> &'a str {
        text.lines().find(|line| line.trim_start().starts_with(percentile)).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn letters_stand_at_their_latencies() {
        // 1 us to 10 ms: four decades over 65 steps.
        let low = histogram((0..1000).map(|index| if index < 900 { 1_000 } else { 100_000 }));
        let high = histogram((0..1000).map(|index| if index < 500 { 10_000 } else { 10_000_000 }));
        let text = picture(&[vec![('A', &low), ('B', &high)]]);
        let at = |line: &str, letter: char| {
            line.chars().position(|found| found == letter).unwrap_or_else(|| panic!("{line}"))
        };
        let median = row(&text, "50 %");
        assert_eq!((at(median, 'A'), at(median, 'B')), (12, 12 + 16), "{text}");
        assert_eq!(at(row(&text, "99 %"), 'A'), 12 + 33, "{text}");
        assert_eq!(at(row(&text, "99 %"), 'B'), 12 + 65, "{text}");
        assert!(text.contains("1 us") && text.contains("100 us") && text.contains("10 ms"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn letters_that_meet_are_said_to() {
        let same = histogram([5_000; 30]);
        let text = picture(&[vec![('A', &same), ('B', &same)]]);
        assert!(text.starts_with("\ntitle, * several\n") && row(&text, "50 %").contains('*'), "{text}");
        assert!(!picture(&[vec![('A', &same)]]).contains('*'));
    }

    #[test]
    fn too_few_requests_are_no_percentile() {
        let few = histogram([1_000; 150]);
        let many = histogram([3_000; 1_000]);
        let text = picture(&[vec![('A', &few), ('B', &many)]]);
        assert!(row(&text, "90 %").contains('A') && !row(&text, "99 %").contains('A'), "{text}");
        assert!(text.contains("A has 150 reads, too few for more than 90 %\n"), "{text}");
        assert!(row(&text, "99.9 %").ends_with("too few reads: ten have to lie beyond, so it takes 10,000"), "{text}");
        let none = histogram([1_000; 3]);
        assert!(picture(&[vec![('A', &none), ('B', &many)]]).contains("A has 3 reads, too few for a percentile\n"));
        assert_eq!(picture(&[vec![('A', &none)]]), "", "nothing can be drawn");
    }

    #[test]
    fn no_time_at_all_stands_before_the_scale() {
        let mixed = histogram((0..1000).map(|index| if index < 600 { 0 } else { 70_000 }));
        let text = picture(&[vec![('A', &mixed)]]);
        assert_eq!(row(&text, "50 %").chars().nth(12), Some('A'), "{text}");
        assert!(row(&text, "90 %").chars().position(|found| found == 'A').unwrap() > 15, "{text}");
        assert_eq!(picture(&[vec![('A', &histogram([0; 50]))]]), "");
    }

    #[test]
    fn names_on_the_scale_have_room_however_far_it_reaches() {
        for (least, most) in [(1, 2), (999, 1_001), (20_000, 50_000), (70, 90_000_000), (1, 3_600_000_000_000)] {
            let both = histogram((0..40).map(|index| if index < 20 { least } else { most }));
            let text = picture(&[vec![('A', &both)]]);
            let names = text.lines().nth(2).unwrap();
            assert!(names.split_whitespace().count() >= 4, "two names or more: {text}");
            assert!(!names.contains("ns1") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }
}
