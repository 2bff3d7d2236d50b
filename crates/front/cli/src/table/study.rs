//! The rows of a study as text.

use super::Grid;
use repro::{Findings, Row, Study, Verdict};
use std::fmt::Write;

/// Widths of the columns whose text is broken into lines: measured, published, accepted, workload, and
/// what it is.
const WIDTHS: [usize; 5] = [34, 26, 26, 18, 46];

/// The table of a study; all verdicts in its last line.
pub fn study(study: &Study, findings: &Findings) -> String {
    let mut text = format!("{}\n{}\n", study.title, study.paper);
    for note in &findings.notes {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "note: {note}");
    }
    text.push('\n');
    let mut grid = Grid::new(8);
    grid.row(["row", "class", "verdict", "measured", "published", "accepted", "workload", "experiment: metric"]);
    for row in &findings.rows {
        add(&mut grid, row);
    }
    text.push_str(&grid.render(""));
    for row in findings.rows.iter().filter(|row| has_told_miss(row)) {
        let _ = writeln!(text, "\n{}: {}", row.id, row.note);
    }
    text.push_str(&family(findings));
    let _ = writeln!(text, "\n{}: {}", study.name, findings.summary());
    text
}

/// Whether a row lies outside of what is accepted, and has a note that may say why.
fn has_told_miss(row: &Row) -> bool {
    matches!(row.verdict, Verdict::Fail | Verdict::Outside) && !row.note.is_empty()
}

/// Rows that a family judges; nothing without one.
fn family(findings: &Findings) -> String {
    let mut grid = Grid::new(8);
    grid.row(["row", "by the family", "by one trace", "published", "least", "median", "most", "experiment: metric"]);
    let mut why = String::new();
    let judged = findings.rows.iter().filter_map(|row| Some((row, row.family.as_ref()?)));
    for (row, family) in judged.clone() {
        let numbers = [family.least, family.median, family.most].map(|value| format!("{value:.2}"));
        let about = format!("{}: {}", row.experiment, row.metric);
        let first = [row.id.to_string(), family.fit.name().to_owned(), row.verdict.name().to_owned(), family.judged()];
        grid.row(first.into_iter().chain(numbers).chain([about]));
        if !family.why.is_empty() {
            let _ = writeln!(why, "\n{}: {}", row.id, family.why);
        }
    }
    let draws = judged.map(|(_, family)| family.draws).max();
    draws.map_or_else(String::new, |draws| format!("\nfamily of {draws} draws\n{}{why}", grid.render("")))
}

fn add(grid: &mut Grid, row: &Row) {
    let about = format!("{}: {}", row.experiment, row.metric);
    let measured = if row.measured.is_empty() { "-" } else { &row.measured };
    let texts = [measured, &row.published, &row.accept, &row.workload, &about];
    let columns: Vec<Vec<String>> = texts.into_iter().zip(WIDTHS).map(|(text, width)| wrapped(text, width)).collect();
    let lines = columns.iter().map(Vec::len).max().unwrap_or(1).max(1);
    for line in 0..lines {
        let first = |text: &str| if line == 0 { text.to_owned() } else { String::new() };
        let mut cells = vec![first(&row.id), first(row.class.name()), first(row.verdict.name())];
        cells.extend(columns.iter().map(|column| column.get(line).cloned().unwrap_or_default()));
        grid.row(cells);
    }
}

/// Lines of at most `width` letters, broken between words; a longer word stays whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("immeasurable x", 5), ["immeasurable", "x"]);
        assert!(wrapped("", 5).is_empty());
    }
}
