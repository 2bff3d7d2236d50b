//! Known formats in another form: with other separators, in quotes, with an index in front, below a comment, with
//! numbers in scientific notation. Each line is rewritten as the format has it, and only where such a form was found:
//! the lines of a plain file are read as they are.

use super::cells::{Separator, cells, is_comment, rounded_to};
use super::detect::{SAMPLE_LINES, detect_among, fits, odd_of_sample, reads_most, sample_lines};
use super::fields::FieldResult;
use super::number;
use super::parser::{LineParser, Parser, Sink};
use super::{OddLines, TraceError};
use crate::formats::{Allocator, Format};

/// How the lines of a file differ from its format.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    from: Separator,
    /// The separator of the format.
    to: u8,
    /// A column in front counts the rows.
    has_index: bool,
    /// A first line that numbers the columns, as pandas writes it for a table without names.
    numbered: Option<Vec<u8>>,
}

/// The fewest columns of a trace.
const COLUMNS_MIN: usize = 3;

/// A format and dialect that read `sample`, which no plain format does.
/// Errors: several formats do, or its numbers were rounded when it was written.
pub(super) fn find(
    sample: &[u8],
    whole: bool,
    path: &str,
    odd_lines: OddLines,
) -> Result<Option<(&'static Format, Dialect)>, TraceError> {
    let lines: Vec<&[u8]> = text_lines(sample, whole);
    let mut ambiguous = None;
    for dialect in candidates(&lines, b",", odd_lines) {
        match detect_among(&dialect.rewritten(&lines), whole, path, odd_lines) {
            Ok(format) if matches!((format.parser)(), Parser::Lines(_)) => {
                dialect.check_rounded(&lines, path)?;
                return Ok(Some((format, dialect)));
            }
            Err(error @ TraceError::Ambiguous { .. }) => ambiguous = ambiguous.or(Some(error)),
            Ok(_) | Err(_) => {}
        }
    }
    ambiguous.map_or(Ok(None), Err)
}

/// The dialect in which `format` reads `sample`; `None` where it reads it as it is, or not at all.
pub(super) fn of_named(
    format: &'static Format,
    sample: &[u8],
    whole: bool,
    path: &str,
) -> Result<Option<Dialect>, TraceError> {
    // A dialect is one of all lines: those that do not fit beside more that do are odd ones.
    if !matches!((format.parser)(), Parser::Lines(_)) || reads_most(format, sample, whole) {
        return Ok(None);
    }
    let lines: Vec<&[u8]> = text_lines(sample, whole);
    let found = candidates(&lines, b", \t;", OddLines::Usual);
    let found = found.into_iter().find(|dialect| fits(format, &dialect.rewritten(&lines), whole));
    found.iter().try_for_each(|dialect| dialect.check_rounded(&lines, path))?;
    Ok(found)
}

/// The lines that may be rows; none where the sample is binary.
fn text_lines(sample: &[u8], whole: bool) -> Vec<&[u8]> {
    if memchr::memchr(0, sample).is_some() {
        return Vec::new();
    }
    sample_lines(sample, whole).map(|(_, line)| line).take(SAMPLE_LINES).collect()
}

/// The dialects that `lines` may be in, the plainest first; `to`: separators of formats.
fn candidates(lines: &[&[u8]], to: &[u8], odd_lines: OddLines) -> Vec<Dialect> {
    let rows: Vec<&[u8]> = below_comments(lines).collect();
    let count = |row: &[u8], separator| cells(row, separator).count();
    let mut found = Vec::new();
    for from in Separator::ALL {
        let columns = rows.first().map_or(0, |row| count(row, from));
        let others = rows.iter().filter(|row| count(row, from) != columns).count() as u64;
        if columns < COLUMNS_MIN || others > odd_of_sample(rows.len() as u64, odd_lines) {
            continue;
        }
        let own = match from {
            Separator::Byte(byte) => byte,
            Separator::Blanks => b' ',
        };
        let targets = std::iter::once(own).chain(to.iter().copied().filter(|byte| *byte != own));
        for to in targets {
            let indexed = looks_indexed(&rows, from).then_some(true);
            for has_index in [Some(false), indexed].into_iter().flatten() {
                let mut dialect = Dialect { from, to, has_index, numbered: None };
                dialect.numbered = rows.first().filter(|row| dialect.numbers_columns(row)).map(|row| row.to_vec());
                found.push(dialect);
            }
        }
    }
    found
}

/// The lines below the comments on top. Further down a row that begins like a comment is an odd one.
fn below_comments<'a>(lines: &[&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
    lines.iter().copied().skip_while(|line| is_comment(line))
}

/// Whether the first column is an index: it has no name, or it counts from 0 or 1.
fn looks_indexed(rows: &[&[u8]], separator: Separator) -> bool {
    const NAMES: [&[u8]; 4] = [b"", b"Unnamed: 0", b"index", b"Index"];
    let first: Vec<&[u8]> = rows.iter().filter_map(|row| cells(row, separator).next()).collect();
    let Some((head, rest)) = first.split_first() else { return false };
    if NAMES.contains(head) {
        return !rest.is_empty() && rest.iter().all(|cell| number::integer(cell).is_some());
    }
    let counts = |from: u64| (from..).zip(&first).all(|(number, cell)| number::integer(cell) == Some(number));
    first.len() > 1 && (counts(0) || counts(1))
}

impl Dialect {
    fn rewritten(&self, lines: &[&[u8]]) -> Vec<u8> {
        let (mut all, mut one) = (Vec::new(), Vec::new());
        for line in below_comments(lines).filter(|line| self.numbered.as_deref() != Some(*line)) {
            self.rewrite(line, &mut one);
            all.extend_from_slice(&one);
            all.push(b'\n');
        }
        all
    }

    /// Writes `line` into `out` as the format has it.
    fn rewrite(&self, line: &[u8], out: &mut Vec<u8>) {
        out.clear();
        let columns = cells(line, self.from).skip(usize::from(self.has_index));
        for (index, cell) in columns.enumerate() {
            if index > 0 {
                out.push(self.to);
            }
            if !push_plain(cell, out) {
                // A separator within quotes would make two columns of one.
                out.extend(cell.iter().map(|byte| if *byte == self.to { b'_' } else { *byte }));
            }
        }
    }

    fn numbers_columns(&self, row: &[u8]) -> bool {
        let mut columns = cells(row, self.from).skip(usize::from(self.has_index));
        columns.by_ref().enumerate().all(|(index, cell)| number::integer(cell) == Some(index as u64))
    }

    fn check_rounded(&self, lines: &[&[u8]], path: &str) -> Result<(), TraceError> {
        let rows: Vec<Vec<&[u8]>> = below_comments(lines).map(|line| cells(line, self.from).collect()).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let rounded = (0..columns).find_map(|place| {
            let column = rows.iter().filter_map(|row| row.get(place).copied());
            rounded_to(column).map(|(digits, found)| (place, digits, found))
        });
        rounded.map_or(Ok(()), |(place, digits, found)| {
            Err(TraceError::Rounded {
                path: path.to_owned(),
                column: (place + 1).to_string(),
                found: String::from_utf8_lossy(found).into_owned(),
                digits,
            })
        })
    }

    /// What of the lines is not as the format has it, for people.
    fn text(&self) -> String {
        let index = if self.has_index { ", without the index in the first column" } else { "" };
        format!("{} between columns{index}; quotes, comments on top and exponents are seen through", self.from.name())
    }
}

/// The parser of a format, which is given the lines as it expects them, where they are in another form.
pub(super) fn behind(dialect: Option<Dialect>, parser: Parser) -> Parser {
    match (dialect, parser) {
        (Some(dialect), Parser::Lines(inner)) => {
            Parser::Lines(Box::new(Rewritten { dialect, inner, begun: false, line: Vec::new() }))
        }
        (_, parser) => parser,
    }
}

/// Writes a number with an exponent, or with nothing but zeros behind the decimal mark, in plain digits; false for
/// any other text.
fn push_plain(cell: &[u8], out: &mut Vec<u8>) -> bool {
    let is_marked = cell.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.')
        && cell.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
        && memchr::memchr3(b'.', b'e', b'E', cell).is_some();
    if !is_marked {
        return false;
    }
    if let Some(number) = number::whole_bytes(cell, 1) {
        out.extend_from_slice(number.to_string().as_bytes());
        return true;
    }
    // A fraction in scientific notation is taken to nanounits, finer than any time.
    match number::decimal(cell, 9).filter(|_| memchr::memchr2(b'e', b'E', cell).is_some()) {
        Some(nanos) => {
            out.extend_from_slice(format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000).as_bytes());
            true
        }
        None => false,
    }
}

/// A parser whose lines are rewritten.
struct Rewritten {
    dialect: Dialect,
    inner: Box<dyn LineParser>,
    /// The comments on top were passed.
    begun: bool,
    line: Vec<u8>,
}

impl LineParser for Rewritten {
    fn parse(&mut self, line: &[u8], sink: &mut Sink) -> FieldResult<()> {
        if !self.begun && is_comment(line) || self.dialect.numbered.as_deref() == Some(line) {
            sink.comment();
            return Ok(());
        }
        self.begun = true;
        self.dialect.rewrite(line, &mut self.line);
        self.inner.parse(&self.line, sink).map_err(|mut error| {
            // Columns are those of the file.
            error.column += u32::from(self.dialect.has_index && error.column > 0);
            error
        })
    }

    fn finish(&mut self, sink: &mut Sink) -> FieldResult<()> {
        self.inner.finish(sink)
    }

    fn detected(&mut self) {
        self.inner.detected();
    }

    fn is_marked(&self) -> bool {
        self.inner.is_marked()
    }

    fn allocate(&mut self, allocator: Allocator) -> bool {
        self.inner.allocate(allocator)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn device_name(&self, device: u32) -> Option<String> {
        self.inner.device_name(device)
    }

    fn columns(&self) -> Option<&str> {
        self.inner.columns()
    }

    fn dialect(&self) -> Option<String> {
        Some(self.dialect.text())
    }
}
