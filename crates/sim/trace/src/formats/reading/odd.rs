//! Odd lines: lines that their parser refuses. A few among many are left out and counted, so that one of them does not
//! end a trace of millions; more say that the trace is read wrongly.

use std::borrow::Cow;

use units::quantity;

use super::error::{Malformed, OddLinesError};
use super::{ReadStatistics, TraceError};

/// Odd lines that are left out of any trace, however short.
const LEAST: u64 = 10;
/// Share of the lines read so far that may be odd.
const USUAL_SHARE: f64 = 0.001;
/// What is expected of the text of a limit.
const EXPECTED: &str = "a number of lines, such as 20, or a share of them, such as 5%; 0 refuses the first odd line";

/// How many odd lines a trace may have before it is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum OddLines {
    /// 0.1 % of the lines read so far, and 10 in any case. All in all they must be fewer than the good lines.
    #[default]
    Usual,
    /// This number; 0 refuses the first one, and a last line that is cut short.
    Count(u64),
    /// This share of the lines read so far, 0 to 1, and 10 lines in any case.
    Share(f64),
}

impl OddLines {
    /// Not even one.
    pub(super) const NONE: OddLines = OddLines::Count(0);

    /// A number such as `20`, or a share such as `5%`.
    /// Errors: [`TraceError::Option`] for anything else.
    pub fn parse(text: &str) -> Result<OddLines, TraceError> {
        let refused =
            || TraceError::Option { option: "workload.odd_lines", value: text.to_owned(), expected: EXPECTED };
        if let Ok(count) = quantity::parse_count(text) {
            return Ok(OddLines::Count(count));
        }
        match quantity::parse_share(text) {
            Ok(0.0) => Ok(OddLines::Count(0)),
            Ok(share) if share <= 1.0 => Ok(OddLines::Share(share)),
            _ => Err(refused()),
        }
    }

    /// Whether not even one is left out.
    pub(super) fn is_none(self) -> bool {
        self == OddLines::NONE
    }

    /// How many may be left out of the first `lines` lines.
    pub(super) fn of_lines(self, lines: u64) -> u64 {
        let of_share = |share: f64| LEAST.max((share * lines as f64) as u64);
        match self {
            OddLines::Usual => of_share(USUAL_SHARE),
            OddLines::Count(count) => count,
            OddLines::Share(share) => of_share(share),
        }
    }

    /// The limit in words.
    fn limit(self) -> String {
        match self {
            OddLines::Usual => format!("at most {LEAST} lines, or 0.1 % of those read so far, are left out"),
            OddLines::Count(count) => format!("workload.odd_lines = {count} leaves out no more"),
            OddLines::Share(share) => {
                let share = quantity::format_share(share);
                format!("workload.odd_lines = {share} leaves out that share of the lines read so far, at least {LEAST}")
            }
        }
    }
}

/// Whether a line before all requests may name columns: several words, none of which begins as a number does. A header
/// is no odd line, because columns that the format does not know may mean anything.
pub(crate) fn is_header_like(line: &[u8]) -> bool {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b'|' | b'"');
    let mut words = line.split(is_separator).filter(|word| !word.is_empty());
    let is_name = |word: &[u8]| !matches!(word[0], b'0'..=b'9' | b'-' | b'+' | b'.');
    words.clone().nth(1).is_some() && words.all(is_name)
}

/// The first line or record that was left out because its parser refused it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OddLine {
    /// Number of the line or record, as messages show it, such as `line 26`.
    pub place: String,
    /// 1-based column; 0 when the whole line is at fault.
    pub column: u32,
    /// Name of the column.
    pub name: Cow<'static, str>,
    pub found: String,
    pub expected: &'static str,
}

/// The odd lines of one trace.
pub(crate) struct OddTally {
    limit: OddLines,
    first: Option<Box<Malformed>>,
}

impl OddTally {
    pub fn new(limit: OddLines) -> OddTally {
        OddTally { limit, first: None }
    }

    /// Leaves out a last line or record that ends too early.
    /// Errors: not even one is left out.
    pub fn cut_short(&mut self, error: Malformed, statistics: &mut ReadStatistics) -> Result<(), TraceError> {
        if self.limit.is_none() {
            return Err(TraceError::Malformed(Box::new(error)));
        }
        statistics.dropped_cut += 1;
        self.first.get_or_insert_with(|| Box::new(error));
        Ok(())
    }

    /// Leaves out an odd line, one of `lines` read so far.
    /// Errors: there are too many of them.
    pub fn leave_out(
        &mut self,
        error: Malformed,
        lines: u64,
        statistics: &mut ReadStatistics,
    ) -> Result<(), TraceError> {
        if self.limit.is_none() {
            return Err(TraceError::Malformed(Box::new(error)));
        }
        statistics.dropped_odd += 1;
        self.first.get_or_insert_with(|| Box::new(error));
        if statistics.dropped_odd > self.limit.of_lines(lines) {
            return Err(self.too_many(statistics.dropped_odd, lines, self.limit.limit()));
        }
        Ok(())
    }

    /// Looks at the whole trace once all of its `lines` are read.
    /// Errors: the odd lines are as many as the good ones, so the trace is read wrongly.
    pub fn finish(&mut self, lines: u64, statistics: &ReadStatistics) -> Result<(), TraceError> {
        let odd = statistics.dropped_odd + statistics.dropped_cut;
        let requests = statistics.records + statistics.dropped_zero;
        if odd == 0 {
            return Ok(());
        }
        if requests == 0
            && statistics.dropped_other == 0
            && let Some(first) = self.first.take()
        {
            return Err(TraceError::Malformed(first));
        }
        if self.limit == OddLines::Usual && statistics.dropped_odd >= requests + statistics.dropped_other {
            let limit = "odd lines must be fewer than good ones".to_owned();
            return Err(self.too_many(statistics.dropped_odd, lines, limit));
        }
        Ok(())
    }

    #[cold]
    fn too_many(&mut self, count: u64, lines: u64, limit: String) -> TraceError {
        let first = self.first.take().expect("the first odd line is kept");
        TraceError::OddLines(Box::new(OddLinesError { first: *first, count, lines, limit }))
    }

    /// The first line that was left out.
    pub fn first(&self) -> Option<OddLine> {
        self.first.as_ref().map(|first| OddLine {
            place: first.place.clone(),
            column: first.column,
            name: first.name.clone(),
            found: first.found.clone(),
            expected: first.expected,
        })
    }

    /// The lines that were left out, as a sentence.
    pub fn note(&self, statistics: &ReadStatistics) -> Option<String> {
        let first = self.first.as_ref()?;
        let Malformed { place, found, expected, .. } = &**first;
        let what = format!("{place}{}: found \"{found}\", expected {expected}", first.field());
        Some(match (statistics.dropped_odd, statistics.dropped_cut) {
            (0, _) => format!("The last line or record is cut short and was left out: {what}."),
            (1, 0) => format!("1 odd line was left out: {what} (workload.odd_lines)."),
            (odd, 0) => format!("{odd} odd lines were left out, the first of them {what} (workload.odd_lines)."),
            (odd, _) => {
                let lines = if odd == 1 { "odd line" } else { "odd lines" };
                format!(
                    "{odd} {lines} and a last line that is cut short were left out, the first of them {what} \
                     (workload.odd_lines)."
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_a_share() {
        let parse = |text| OddLines::parse(text).map_err(|error| error.to_string());
        assert_eq!(parse("0"), Ok(OddLines::Count(0)));
        assert_eq!(parse("0%"), Ok(OddLines::Count(0)));
        assert_eq!(parse("2_000"), Ok(OddLines::Count(2000)));
        assert_eq!(parse("5%"), Ok(OddLines::Share(0.05)));
        for wrong in ["", "-1", "101%", "0.05", "many"] {
            let error = parse(wrong).unwrap_err();
            assert!(
                error.contains(&format!("workload.odd_lines = {wrong}:")) && error.contains("such as 5%"),
                "{error}"
            );
        }
    }

    #[test]
    fn headers_are_told_from_rows_and_pieces_of_rows() {
        for header in ["Time,Device,LBA", "time device lba size", "\"ts\";\"lba\"", "hello world"] {
            assert!(is_header_like(header.as_bytes()), "{header}");
        }
        for row in ["^C", "96,4096,w,0.5", "usr,0,Write,7014,4096,100", "x", ""] {
            assert!(!is_header_like(row.as_bytes()), "{row}");
        }
    }

    #[test]
    fn ten_lines_or_a_thousandth_are_left_out() {
        assert_eq!([1, 10_999, 11_000, 1_000_000].map(|lines| OddLines::Usual.of_lines(lines)), [10, 10, 11, 1000]);
        assert_eq!(OddLines::Count(3).of_lines(1_000_000), 3);
        assert_eq!([20, 1000].map(|lines| OddLines::Share(0.05).of_lines(lines)), [10, 50]);
    }
}
