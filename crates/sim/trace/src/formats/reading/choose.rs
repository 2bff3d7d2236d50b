//! Choosing the parser of a trace from its first bytes and from what the user says.

use super::buffer::Buffer;
use super::detect::{
    DEEP_SAMPLE_BYTES, SAMPLE_BYTES, SAMPLE_LINES, detect_among, is_second_choice, look_deeper, sample_lines,
};
use super::parser::Parser;
use super::{OddLines, OpenOptions, TraceError, dialect};
use crate::formats::{self, Format, columns};

/// The format of the beginning of `buffer`, and its parser.
pub(super) fn choose(buffer: &mut Buffer, options: &OpenOptions) -> Result<(&'static Format, Parser), TraceError> {
    let is_archived = buffer.input().is_stream && buffer.input().member.is_some();
    buffer.ensure(if is_archived { ARCHIVE_BYTES } else { SAMPLE_BYTES })?;
    let named = options.format.as_deref().filter(|_| options.columns.is_none());
    let named = named.map(formats::by_name).transpose()?;
    if named.is_none_or(|format| matches!((format.parser)(), Parser::Lines(_))) {
        check_text(first_bytes(buffer).0, buffer.path())?;
    }
    if let Some(text) = &options.columns {
        return Ok((&columns::FORMAT, named_columns(buffer, text, options.format.as_deref())?));
    }
    let (sample, whole) = first_bytes(buffer);
    if let Some(format) = named {
        let dialect = dialect::of_named(format, sample, whole, buffer.path())?;
        return Ok((format, dialect::behind(dialect, (format.parser)())));
    }
    // A dialect is one of all lines: a few that do not fit are odd ones, also where there may be none.
    let has_odd_lines =
        || options.odd_lines.is_none() && detect_among(sample, whole, buffer.path(), OddLines::Usual).is_ok();
    let (format, dialect) = match detect_among(sample, whole, buffer.path(), options.odd_lines) {
        Ok(format) => (format, None),
        Err(error @ (TraceError::Unrecognised { .. } | TraceError::Malformed(_))) if !has_odd_lines() => {
            match dialect::find(sample, whole, buffer.path(), options.odd_lines)? {
                Some((format, dialect)) => (format, Some(dialect)),
                None => return Err(error),
            }
        }
        Err(error) => return Err(error),
    };
    let is_deeper = dialect.is_none() && is_second_choice(format);
    let format = if is_deeper { deeper(buffer, format, options.odd_lines)? } else { format };
    let mut parser = (format.parser)();
    parser.detected();
    Ok((format, dialect::behind(dialect, parser)))
}

/// Bytes of a file in a streamed archive that are read before it is begun: behind a shorter one the next file is found.
const ARCHIVE_BYTES: usize = 1 << 20;
/// Bytes that tell of text in UTF-16 without a mark.
const UTF16_BYTES: usize = 200;
/// Fewer of them tell nothing.
const UTF16_BYTES_MIN: usize = 16;
/// Bytes that tell of text.
const TEXT_BYTES: usize = 4 << 10;

/// Refuses text that has no lines to read: in UTF-16, or with line ends that old programs for the Mac write.
fn check_text(sample: &[u8], path: &str) -> Result<(), TraceError> {
    let path = || path.to_owned();
    if let Some(encoding) = utf16(sample) {
        return Err(TraceError::Utf16 { path: path(), encoding });
    }
    let is_text = || sample.iter().take(TEXT_BYTES).all(|byte| is_text_byte(*byte));
    if memchr::memchr(b'\n', sample).is_none() && is_text() && memchr::memchr(b'\r', sample.trim_ascii()).is_some() {
        return Err(TraceError::CarriageReturns { path: path() });
    }
    Ok(())
}

/// What UTF-16 is called in the order of its bytes, where the text is that.
fn utf16(sample: &[u8]) -> Option<&'static str> {
    if matches!(sample, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Some("UTF-16");
    }
    let head = Some(&sample[..sample.len().min(UTF16_BYTES)]).filter(|head| head.len() >= UTF16_BYTES_MIN)?;
    let is_all = |high: usize| head.chunks_exact(2).all(|pair| pair[high] == 0 && is_text_byte(pair[1 - high]));
    [(1, "UTF-16LE"), (0, "UTF-16BE")].into_iter().find(|(high, _)| is_all(*high)).map(|(_, encoding)| encoding)
}

fn is_text_byte(byte: u8) -> bool {
    byte >= b' ' || byte.is_ascii_whitespace()
}

/// What detection looks at, and whether that is the whole trace.
fn first_bytes(buffer: &Buffer) -> (&[u8], bool) {
    let sample = buffer.available();
    let whole = buffer.at_end() && sample.len() <= SAMPLE_BYTES;
    (&sample[..sample.len().min(SAMPLE_BYTES)], whole)
}

/// Where only a less usual way to read a layout found requests, more of the trace is looked at.
fn deeper(buffer: &mut Buffer, format: &'static Format, odd: OddLines) -> Result<&'static Format, TraceError> {
    buffer.ensure(DEEP_SAMPLE_BYTES)?;
    Ok(look_deeper(format, buffer.available(), buffer.at_end(), buffer.path(), odd))
}

fn named_columns(buffer: &Buffer, text: &str, format: Option<&str>) -> Result<Parser, TraceError> {
    let spec = columns::Spec::parse(text)?;
    if let Some(format) = format.filter(|name| *name != columns::FORMAT.name) {
        let problem = format!("the format is given too, as {format}; leave one of the two out");
        return Err(TraceError::Columns { columns: text.to_owned(), problem });
    }
    let (sample, whole) = first_bytes(buffer);
    let lines: Vec<&[u8]> = sample_lines(sample, whole).map(|(_, line)| line).take(SAMPLE_LINES).collect();
    columns::read(spec, &lines, buffer.path())
}
