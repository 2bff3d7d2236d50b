//! Text beside tables: lines that fit the terminal, and dashes with their reason.

use figures::numbers::NONE;
use metrics::{NoWaf, RunResult};
use terminal_size::{Width, terminal_size_of};

/// Most characters of a line, and fewest in a narrow terminal, without what it is indented by.
const LINE: [usize; 2] = [90, 30];

/// Characters of a line in a file.
const USUAL: usize = 100;

/// Text in lines of a readable length, under the first, which a name of ten characters begins.
pub(super) fn wrapped(text: &str) -> String {
    wrapped_at(text, 10)
}

/// Text in lines that fit the terminal, all but the first indented by as much as stands before the first.
pub fn wrapped_at(text: &str, indent: usize) -> String {
    lines(text, indent, length(columns(), indent))
}

/// Characters of a line of the terminal, if it tells.
fn columns() -> Option<usize> {
    let columns = terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    columns.filter(|columns| *columns > 0)
}

/// Characters of a line of a table: those of the terminal, or a usual number of them in a file.
pub fn line_length() -> usize {
    columns().unwrap_or(USUAL)
}

/// Characters of a line. A terminal that does not tell its width has none.
fn length(columns: Option<usize>, indent: usize) -> usize {
    let [most, fewest] = LINE;
    columns.filter(|columns| *columns > 0).map_or(most, |columns| columns.saturating_sub(indent).clamp(fewest, most))
}

fn lines(text: &str, indent: usize, most: usize) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > most {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out
}

/// A value, or a dash with the reason why there is none.
pub(super) fn told_or(value: Option<String>, reason: Option<&str>) -> String {
    value.unwrap_or_else(|| reason.map_or_else(|| NONE.to_owned(), |reason| format!("{NONE}, {reason}")))
}

/// Why a run that wrote has no write amplification; `None`: it has one, or wrote nothing.
pub(super) fn waf_refused(result: &RunResult) -> Option<&'static str> {
    result.no_waf.filter(|why| *why == NoWaf::TooFewWrites).map(NoWaf::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a hundred characters were broken a second time by a terminal of eighty.
    #[test]
    fn lines_fit_the_terminal_and_stay_readable() {
        assert_eq!([None, Some(0), Some(200)].map(|columns| length(columns, 10)), [90, 90, 90]);
        assert_eq!([Some(80), Some(20)].map(|columns| length(columns, 10)), [70, 30]);
        assert_eq!(lines("one two three", 2, 7), "one two\n  three");
        assert_eq!(lines("immeasurable x", 1, 5), "immeasurable\n x");
    }
}
