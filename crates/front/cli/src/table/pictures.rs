//! Pictures below a table in a terminal: latency over time and at percentiles, in plain characters without colour.

use super::{percentiles, spark};
use metrics::RunResult;
use std::fmt::Write;

/// Characters of a name that fit beside its letter.
const NAME: usize = 72;

/// Pictures of a run; nothing where no time passed.
pub fn pictures(result: &RunResult) -> String {
    spark::over_time(result) + &percentiles::plot(result)
}

/// Pictures of several runs, with the letters that the report page gives them.
pub fn pictures_together(results: &[&RunResult]) -> String {
    let runs: Vec<(char, &RunResult)> = ('A'..='Z').zip(results.iter().copied()).collect();
    let text = spark::over_time_together(&runs) + &percentiles::plot_together(&runs);
    if text.is_empty() {
        return text;
    }
    let names: Vec<(char, &str)> = runs.iter().map(|(letter, run)| (*letter, run.stack.as_str())).collect();
    let left_out = results.len() - runs.len();
    let rest = if left_out > 0 { format!("  {left_out} more are not drawn\n") } else { String::new() };
    format!("\n{}{rest}{text}", legend(&names))
}

/// What the letters stand for, a line each.
fn legend(names: &[(char, &str)]) -> String {
    names.iter().fold(String::new(), |mut text, (letter, name)| {
        // The end of a long name is what tells it from another.
        let cut = name.chars().count().saturating_sub(NAME);
        let dots = if cut > 0 { "…" } else { "" };
        let _ = writeln!(text, "  {letter} {dots}{}", name.chars().skip(cut).collect::<String>());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(legend(&[('A', "page"), ('B', "dftl")]), "  A page\n  B dftl\n");
        let name = format!("{}+ftl.gc.victim=fifo", "x".repeat(90));
        let long = legend(&[('A', &name)]);
        assert!(long.trim_end().chars().count() <= 80 && long.ends_with("+ftl.gc.victim=fifo\n"), "{long}");
    }
}
