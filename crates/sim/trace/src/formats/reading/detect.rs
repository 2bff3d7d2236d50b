//! Detection of the format from the first bytes, refusing to guess.
//!
//! Every text parser is tried on the lines at the start; a format fits when all of them parse and
//! at least one is a request. Formats that fit and differ in units or meaning are never chosen
//! between silently: only a file-name extension may do so. Only when none fits, formats that read nearly all lines are
//! looked at in the same way. When none of these fits either, the format the extension names, or else the one that came
//! furthest, says which line it stumbled over.

use super::error::Malformed;
use super::fields::{FieldError, NOT_NEGATIVE};
use super::lost;
use super::odd::is_header_like;
use super::parser::{Parser, Sink};
use super::unknown::unrecognised;
use super::{OddLines, TraceError};
use crate::formats::{FORMATS, Format};

/// Bytes looked at.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;
/// Bytes looked at where the first ones have no row of the usual kind.
pub(crate) const DEEP_SAMPLE_BYTES: usize = 4 << 20;
/// Lines looked at; differences show in the first few, and detection should be quick.
pub(super) const SAMPLE_LINES: usize = 400;

/// Ways to read one layout that differ only in which rows count: the first that finds requests is
/// the usual one, and the others stay available by name.
const PREFERENCES: [(&str, &str); 8] = [
    ("blkparse", "blkparse-issue"),
    ("blkparse", "blkparse-complete"),
    ("blkparse-issue", "blkparse-complete"),
    ("blktrace", "blktrace-issue"),
    ("blktrace", "blktrace-complete"),
    ("blktrace-issue", "blktrace-complete"),
    ("block-ftrace", "block-ftrace-issue"),
    ("scsi-ftrace", "scsi-ftrace-4k"),
];
/// Formats of records without any mark, which most files fit: only a file-name ending brings them in.
const UNMARKED: [&str; 2] = ["oracle-general", "oracle-general-bytes"];

/// One in this many lines of a sample may be odd where no format reads all of them, and as many as in a whole trace in
/// any case.
const ODD_ONE_IN: u64 = 50;
/// Requests that a format must find for each odd line.
const REQUESTS_PER_ODD_LINE: u64 = 10;

/// The format of a trace that starts with `sample` and is called `path`; `whole` when the sample
/// is the whole trace.
/// Errors: [`TraceError::Unrecognised`] and [`TraceError::Ambiguous`], naming what `--format` accepts.
pub fn detect(sample: &[u8], whole: bool, path: &str) -> Result<&'static Format, TraceError> {
    detect_among(sample, whole, path, OddLines::default())
}

/// As [`detect`], for a trace that may have `odd_lines`.
pub(crate) fn detect_among(
    sample: &[u8],
    whole: bool,
    path: &str,
    odd_lines: OddLines,
) -> Result<&'static Format, TraceError> {
    if matches!(sample, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Err(TraceError::Utf16 { path: path.to_owned(), encoding: "UTF-16" });
    }
    let tried = FORMATS.iter().filter(|format| !UNMARKED.contains(&format.name) || has_ending(format, path));
    let look = |patience: Patience| -> Vec<Attempt> {
        let sample = Sample { bytes: sample, whole, lines: SAMPLE_LINES };
        tried.clone().map(|format| attempt(format, sample, patience)).collect()
    };
    let attempts = look(Patience::None);
    let mut all: Vec<_> = attempts.iter().filter(|attempt| attempt.fits()).map(|attempt| attempt.format).collect();
    if all.is_empty() && !odd_lines.is_none() {
        let nearly = look(Patience::Odd).into_iter().filter(|attempt| attempt.nearly_fits(odd_lines));
        all = nearly.map(|attempt| attempt.format).collect();
    }
    let fitting = usual_ways(all.clone());
    match fitting.as_slice() {
        [] => Err(match nothing_fits(attempts, sample, whole, path) {
            TraceError::Malformed(mut error) => {
                let is_read =
                    |format: &'static Format| format.name == error.format && reads_most(format, sample, whole);
                error.is_mostly_read = !odd_lines.is_none() && FORMATS.iter().any(is_read);
                TraceError::Malformed(error)
            }
            error => error,
        }),
        [format] => Ok(by_extension(&all, path).unwrap_or(format)),
        _ => by_extension(&fitting, path).ok_or_else(|| ambiguous(&fitting, path)),
    }
}

/// Whether the layout of `format` has a more usual way to read it.
pub(crate) fn is_second_choice(format: &Format) -> bool {
    PREFERENCES.iter().any(|(_, other)| *other == format.name)
}

/// The most usual way to read the layout of `format` that finds requests in a larger sample. A trace
/// that was begun while requests were under way starts with their later steps. The ending of `path` settles it where
/// only `format` has that.
pub(crate) fn look_deeper(
    format: &'static Format,
    sample: &[u8],
    whole: bool,
    path: &str,
    odd_lines: OddLines,
) -> &'static Format {
    let sample = Sample { bytes: sample, whole, lines: usize::MAX };
    let usual = PREFERENCES.iter().filter(|(_, other)| *other == format.name).map(|(usual, _)| *usual);
    let mut formats = usual.filter_map(|name| FORMATS.iter().find(|format| format.name == name));
    let is_named = has_ending(format, path);
    let may_be = |usual: &&'static Format| !is_named || has_ending(usual, path);
    formats
        .find(|usual| may_be(usual) && attempt(usual, sample, Patience::Odd).fits_within(odd_lines))
        .unwrap_or(format)
}

/// Whether `format` finds requests in all of `sample`, but for a few odd lines.
pub(super) fn fits(format: &'static Format, sample: &[u8], whole: bool) -> bool {
    let sample = Sample { bytes: sample, whole, lines: SAMPLE_LINES };
    attempt(format, sample, Patience::Odd).fits_within(OddLines::Usual)
}

/// Whether `format` finds more requests in `sample` than odd lines.
pub(super) fn reads_most(format: &'static Format, sample: &[u8], whole: bool) -> bool {
    let found = attempt(format, Sample { bytes: sample, whole, lines: SAMPLE_LINES }, Patience::Odd);
    matches!(found.ended, Ended::Whole) && found.requests > found.odd
}

/// Leaves out the less usual ways to read one layout.
fn usual_ways(mut formats: Vec<&'static Format>) -> Vec<&'static Format> {
    for (usual, other) in PREFERENCES {
        if formats.iter().any(|format| format.name == usual) {
            formats.retain(|format| format.name != other);
        }
    }
    formats
}

/// How far a format came.
struct Attempt {
    format: &'static Format,
    /// Lines or frames read before the end or the failure.
    read: u64,
    /// Requests among them, those of size 0 too.
    requests: u64,
    /// A mark of the format was among them.
    is_marked: bool,
    /// Lines that were refused and left out.
    odd: u64,
    ended: Ended,
}

enum Ended {
    /// At the end of the sample.
    Whole,
    /// The contents are of another kind: text for frames, binary for lines, a cut frame.
    Foreign,
    /// At this line or frame, counted from 1.
    Failed(u64, Box<FieldError>),
}

impl Attempt {
    fn fits(&self) -> bool {
        matches!(self.ended, Ended::Whole) && (self.requests > 0 || self.is_marked) && self.odd == 0
    }

    /// Whether the sample is of this format, but for odd lines that there may be.
    fn fits_within(&self, odd_lines: OddLines) -> bool {
        self.fits() || !odd_lines.is_none() && self.nearly_fits(odd_lines)
    }

    /// Whether so few lines are odd that all others may be of this format.
    fn nearly_fits(&self, odd_lines: OddLines) -> bool {
        let allowed = odd_of_sample(self.read + self.odd, odd_lines);
        let is_certain = self.requests >= self.odd.saturating_mul(REQUESTS_PER_ODD_LINE);
        matches!(self.ended, Ended::Whole) && self.odd <= allowed && self.requests > 0 && is_certain
    }

    /// Lines understood before the failure, or nothing if there was none. A time below zero is a
    /// mistake within a line that is understood.
    fn understood(&self) -> Option<u64> {
        match &self.ended {
            Ended::Failed(_, error) => Some(self.read + u64::from(error.expected == NOT_NEGATIVE)),
            Ended::Whole | Ended::Foreign => None,
        }
    }

    /// Number of the line or frame that was refused.
    fn failed_at(&self) -> Option<u64> {
        match self.ended {
            Ended::Failed(number, _) => Some(number),
            Ended::Whole | Ended::Foreign => None,
        }
    }

    fn malformed(self, path: &str) -> Option<TraceError> {
        let Ended::Failed(position, error) = self.ended else { return None };
        let unit = match (self.format.parser)() {
            Parser::Lines(_) => "line",
            Parser::Frames(_) => "record",
        };
        let place = format!("{unit} {position}");
        Some(TraceError::Malformed(Box::new(Malformed::new(path, place, *error, self.format))))
    }
}

/// How many of the first `lines` lines may be odd where nobody has named the format.
pub(super) fn odd_of_sample(lines: u64, odd_lines: OddLines) -> u64 {
    match odd_lines {
        OddLines::NONE => 0,
        asked => asked.of_lines(lines).max(lines / ODD_ONE_IN),
    }
}

/// The start of a trace.
#[derive(Clone, Copy)]
struct Sample<'a> {
    bytes: &'a [u8],
    /// It is the whole trace.
    whole: bool,
    /// Lines or records that are looked at.
    lines: usize,
}

/// What becomes of a line that a format refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// The format does not fit.
    None,
    /// The line is left out and counted.
    Odd,
}

/// Reads a sample as a format has it.
fn attempt(format: &'static Format, sample: Sample<'_>, patience: Patience) -> Attempt {
    let Sample { bytes: sample, whole, lines: limit } = sample;
    let mut sink = Sink::default();
    let (mut read, mut odd, mut is_marked) = (0, 0, false);
    let mut parser = (format.parser)();
    parser.detected();
    let ended = match parser {
        Parser::Lines(_) if memchr::memchr(0, sample).is_some() => Ended::Foreign,
        Parser::Lines(mut parser) => {
            let mut lines = sample_lines(sample, whole).take(limit);
            loop {
                let Some((number, line)) = lines.next() else {
                    is_marked = parser.is_marked();
                    // What is held back until the end is read too.
                    let finished = parser.finish(&mut sink);
                    break finished.map_or_else(|error| Ended::Failed(read, error), |()| Ended::Whole);
                };
                match parser.parse(line, &mut sink) {
                    Ok(()) => read += 1,
                    // Tracers write that events were lost between the lines of any format.
                    Err(_) if lost::told_by(line).is_some() => {}
                    Err(error) if patience == Patience::Odd && !error.is_fatal && !is_header(&sink, line) => odd += 1,
                    Err(error) => break Ended::Failed(number, error),
                }
            }
        }
        Parser::Frames(mut parser) => {
            let mut rest = sample;
            loop {
                if rest.is_empty() || sink.statistics.records >= limit as u64 {
                    break Ended::Whole;
                }
                match parser.parse(rest, &mut sink) {
                    Ok(Some(length)) => rest = &rest[length..],
                    // A frame cut at the end of the sample is fine; at the end of the file it is not.
                    Ok(None) if whole && patience == Patience::Odd && read > 0 => {
                        odd += 1;
                        break Ended::Whole;
                    }
                    Ok(None) if whole => break Ended::Foreign,
                    Ok(None) => break Ended::Whole,
                    Err(error) => break Ended::Failed(read + 1, error),
                }
                read += 1;
            }
        }
    };
    let requests = sink.statistics.records + sink.statistics.dropped_zero;
    Attempt { format, read, requests, is_marked, odd, ended }
}

/// Whether a line that a format refused may be a header.
fn is_header(sink: &Sink, line: &[u8]) -> bool {
    sink.statistics.events() == 0 && is_header_like(line)
}

/// The complete, non-blank lines of the sample with their numbers, byte order mark and line ends
/// removed.
pub(super) fn sample_lines(sample: &[u8], whole: bool) -> impl Iterator<Item = (u64, &[u8])> {
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let end = if whole { sample.len() } else { memchr::memrchr(b'\n', sample).unwrap_or(sample.len()) };
    (1..)
        .zip(sample[..end].split(|&byte| byte == b'\n'))
        .map(|(number, line)| (number, line.strip_suffix(b"\r").unwrap_or(line)))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// The malformed line of the format that is meant, where one can be told.
fn nothing_fits(mut attempts: Vec<Attempt>, sample: &[u8], whole: bool, path: &str) -> TraceError {
    attempts.retain(|attempt| attempt.understood().is_some());
    let failing: Vec<&'static Format> = attempts.iter().map(|attempt| attempt.format).collect();
    let furthest = attempts.iter().filter_map(Attempt::understood).max().unwrap_or(0);
    let leaders = attempts.iter().filter(|attempt| attempt.understood() == Some(furthest));
    let stumbled = leaders.clone().filter_map(Attempt::failed_at).max();
    let leaders = usual_ways(leaders.map(|attempt| attempt.format).collect());
    let meant = match (by_extension(&usual_ways(failing), path), leaders.as_slice()) {
        (Some(format), _) => Some(format),
        (None, [format]) if furthest > 0 => Some(*format),
        _ => None,
    };
    let place = attempts.iter().position(|attempt| meant.is_some_and(|format| format.name == attempt.format.name));
    let malformed = place.and_then(|place| attempts.swap_remove(place).malformed(path));
    malformed.unwrap_or_else(|| {
        let partly: &[&'static Format] = if furthest > 0 { &leaders } else { &[] };
        let line = stumbled.filter(|_| furthest > 0);
        let line = line.and_then(|number| sample_lines(sample, whole).find(|line| line.0 == number));
        unrecognised(sample, whole, path, line, partly)
    })
}

fn by_extension(fitting: &[&'static Format], path: &str) -> Option<&'static Format> {
    let mut named = fitting.iter().filter(|format| has_ending(format, path));
    match (named.next(), named.next()) {
        (Some(format), None) => Some(format),
        _ => None,
    }
}

/// Endings of the names of packed files.
const PACKED: [&str; 7] = [".gz", ".zst", ".xz", ".bz2", ".lzma", ".br", ".lz4"];

/// Whether the name of a file, packed or not, ends as those of `format` do.
fn has_ending(format: &Format, path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    let packed = PACKED.into_iter().find_map(|packed| name.strip_suffix(packed));
    format.extensions.iter().any(|end| packed.unwrap_or(&name).ends_with(end))
}

fn ambiguous(fitting: &[&'static Format], path: &str) -> TraceError {
    let choices: Vec<String> = fitting
        .iter()
        .map(|format| {
            format!("--format {} (time in {}, address in {})", format.name, format.time_unit, format.address_unit)
        })
        .collect();
    TraceError::Ambiguous { path: path.to_owned(), count: fitting.len(), choices: choices.join(" or ") }
}
