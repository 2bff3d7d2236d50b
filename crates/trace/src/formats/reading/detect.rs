//! Detection of the format from the first bytes, refusing to guess.
//!
//! Every text parser is tried on the lines at the start; a format fits when all of them parse and
//! at least one is a request. Formats that fit and differ in units or meaning are never chosen
//! between silently: only a file-name extension may do so.

use super::TraceError;
use super::parser::{Parser, Sink};
use crate::formats::{FORMATS, Format, format_names};

/// Bytes looked at.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;
/// Lines looked at; differences show in the first few, and detection should be quick.
const SAMPLE_LINES: usize = 400;

/// Ways to read one layout that differ only in which rows count: the first that finds requests is
/// the usual one, and the others stay available by name.
const PREFERENCES: [(&str, &str); 3] = [
    ("blkparse", "blkparse-issue"),
    ("blkparse", "blkparse-complete"),
    ("blkparse-issue", "blkparse-complete"),
];

/// The format of a trace that starts with `sample` and is called `path`; `whole` when the sample
/// is the whole trace.
///
/// # Errors
/// [`TraceError::Unrecognised`] and [`TraceError::Ambiguous`], naming what `--format` accepts.
pub fn detect(sample: &[u8], whole: bool, path: &str) -> Result<&'static Format, TraceError> {
    if matches!(sample, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Err(TraceError::Utf16 { path: path.to_owned() });
    }
    let mut fitting: Vec<&'static Format> =
        FORMATS.iter().filter(|format| fits(format, sample, whole)).collect();
    for (usual, other) in PREFERENCES {
        if fitting.iter().any(|format| format.name == usual) {
            fitting.retain(|format| format.name != other);
        }
    }
    match fitting.as_slice() {
        [] => Err(unrecognised(sample, path)),
        [format] => Ok(format),
        _ => by_extension(&fitting, path).ok_or_else(|| ambiguous(&fitting, path)),
    }
}

fn fits(format: &Format, sample: &[u8], whole: bool) -> bool {
    let mut sink = Sink::default();
    match (format.parser)() {
        Parser::Lines(mut parser) => {
            if memchr::memchr(0, sample).is_some() {
                return false;
            }
            for line in sample_lines(sample, whole) {
                if parser.parse(line, &mut sink).is_err() {
                    return false;
                }
            }
        }
        Parser::Frames(mut parser) => {
            let mut rest = sample;
            while !rest.is_empty() && sink.statistics.records < SAMPLE_LINES as u64 {
                match parser.parse(rest, &mut sink) {
                    Ok(Some(length)) => rest = &rest[length..],
                    // A frame cut at the end of the sample is fine; at the end of the file it is not.
                    Ok(None) if whole => return false,
                    Ok(None) => break,
                    Err(_) => return false,
                }
            }
        }
    }
    sink.statistics.records > 0
}

/// The complete, non-blank lines of the sample, with byte order mark and line ends removed.
fn sample_lines(sample: &[u8], whole: bool) -> impl Iterator<Item = &[u8]> {
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let end = if whole { sample.len() } else { memchr::memrchr(b'\n', sample).unwrap_or(sample.len()) };
    sample[..end]
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty())
        .take(SAMPLE_LINES)
}

fn by_extension(fitting: &[&'static Format], path: &str) -> Option<&'static Format> {
    let mut name = path.to_ascii_lowercase();
    for packed in [".gz", ".zst", ".xz", ".bz2"] {
        if let Some(inner) = name.strip_suffix(packed) {
            name = inner.to_owned();
            break;
        }
    }
    let mut named = fitting.iter().filter(|format| format.extensions.iter().any(|end| name.ends_with(end)));
    match (named.next(), named.next()) {
        (Some(format), None) => Some(format),
        _ => None,
    }
}

fn ambiguous(fitting: &[&'static Format], path: &str) -> TraceError {
    let choices: Vec<String> = fitting
        .iter()
        .map(|format| {
            format!(
                "--format {} (time in {}, address in {})",
                format.name, format.time_unit, format.address_unit
            )
        })
        .collect();
    TraceError::Ambiguous { path: path.to_owned(), count: fitting.len(), choices: choices.join(" or ") }
}

fn unrecognised(sample: &[u8], path: &str) -> TraceError {
    let first = sample.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let what = if sample.is_empty() {
        "an empty file".to_owned()
    } else {
        let shown: String = String::from_utf8_lossy(&first[..first.len().min(80)])
            .chars()
            .flat_map(char::escape_debug)
            .collect();
        format!("a file that starts with \"{shown}\"")
    };
    TraceError::Unrecognised { path: path.to_owned(), what, known: format_names() }
}
