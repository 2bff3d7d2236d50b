//! The error for a file that no format fits: its first lines, and the remedies.

use std::collections::BTreeMap;

use super::TraceError;
use super::cells::is_comment;
use super::detect::{SAMPLE_LINES, sample_lines};
use super::parser::Parser;
use crate::formats::{FORMATS, Format, columns, nandarium};

const SHOWN_BYTES: usize = 80;
/// Kinds of events that are listed.
const EVENTS_LISTED: usize = 8;

/// `stumbled`: number and text of the line that stopped the formats that came furthest; `partly`: these formats.
pub(super) fn unrecognised(
    sample: &[u8],
    whole: bool,
    path: &str,
    stumbled: Option<(u64, &[u8])>,
    partly: &[&'static Format],
) -> TraceError {
    let path = path.to_owned();
    let ways = format!(
        "write it as the program's own table, with the header {}, or give workload.format (--format) one of the names \
         that `nandarium list formats` shows",
        nandarium::HEADER_SHORT
    );
    let of = |what: String, remedy: String| TraceError::Unrecognised { path: path.clone(), what, remedy };
    if sample.is_empty() {
        return of("an empty file".to_owned(), ways);
    }
    if is_heading(sample) {
        let line = String::from_utf8_lossy(sample).trim().to_owned();
        return TraceError::HeadingOnly { path, line };
    }
    if whole && is_text(sample) && sample_lines(sample, whole).all(|(_, line)| is_comment(line)) {
        return TraceError::CommentsOnly { path };
    }
    let lines: Vec<&[u8]> = sample_lines(sample, whole).map(|(_, line)| line).take(SAMPLE_LINES).collect();
    if !is_text(sample) {
        let binary = FORMATS.iter().filter(|format| matches!((format.parser)(), Parser::Frames(_)));
        let names: Vec<&str> = binary.map(|format| format.name).collect();
        let remedy = format!("the binary formats that are read are {}; {}{ways}", names.join(", "), unread(&path));
        return of("this binary file".to_owned(), remedy);
    }
    if let Some(events) = events(&lines) {
        let what = format!("the events that were found: {events}");
        return of(
            what,
            format!("the events that are read are {}; record one of them, or {ways}", known_events().join(", ")),
        );
    }
    let comments = lines.iter().take_while(|line| is_comment(line)).count();
    let first = lines.get(comments).or(lines.first()).copied();
    let first = first.unwrap_or_else(|| sample.split(|&byte| byte == b'\n').next().unwrap_or_default());
    let partly: Vec<&str> = partly.iter().map(|format| format.name).collect();
    let below = if comments > 0 { " below its comments" } else { "" };
    let what = match (stumbled, partly.as_slice()) {
        (Some((number, line)), names @ [_, ..]) => {
            format!("line {number}, \"{}\" of the file (its first lines fit {})", shown(line), names.join(", "))
        }
        _ => format!("a file that starts with \"{}\"{below}", shown(first)),
    };
    let remedy = match columns::proposal(&lines) {
        Some(proposal) => format!(
            "check and complete these columns and their units, and give them as workload.columns (--columns of \
             nandarium trace): '{proposal}'; or {ways}"
        ),
        None => format!(
            "if it is a table, name its columns in workload.columns (--columns of nandarium trace), such as '{}'; or \
             {ways}",
            columns::EXAMPLE
        ),
    };
    of(what, remedy)
}

/// Whether at most an eighth of a file's first bytes are no characters of a text; none of them is 0.
fn is_text(sample: &[u8]) -> bool {
    let odd = String::from_utf8_lossy(sample)
        .chars()
        .filter(|&one| one == char::REPLACEMENT_CHARACTER || (one.is_control() && !one.is_whitespace()))
        .count();
    memchr::memchr(0, sample).is_none() && odd * 8 <= sample.len()
}

/// The advice for a format that is known by its ending and is not read.
fn unread(path: &str) -> &'static str {
    if path.split('.').skip(1).any(|ending| ending == "lcp") {
        "lcp, a format of prefix caches, is not among them, as we found no description of its layout: write its \
         requests as a table of keys (format mlperf-kv-cache), for which workload.allocator chooses addresses; or "
    } else {
        ""
    }
}

fn shown(line: &[u8]) -> String {
    let part = &line[..line.len().min(SHOWN_BYTES)];
    String::from_utf8_lossy(part).chars().flat_map(char::escape_debug).collect()
}

/// Whether a file is one line of words between commas.
fn is_heading(sample: &[u8]) -> bool {
    let line = sample.trim_ascii();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b' ');
    line.contains(&b',')
        && line.iter().all(is_word)
        && line.split(|byte| *byte == b',').all(|word| word.first().is_some_and(u8::is_ascii_alphabetic))
}

/// The events of ftrace text and how often each stands there, where most lines are such.
fn events(lines: &[&[u8]]) -> Option<String> {
    let rows: Vec<&[u8]> = lines.iter().copied().filter(|line| !is_comment(line)).collect();
    let mut counts = BTreeMap::<String, u64>::new();
    for event in rows.iter().filter_map(|row| event(row)) {
        *counts.entry(event).or_default() += 1;
    }
    let found: u64 = counts.values().sum();
    if found == 0 || found * 2 < rows.len() as u64 {
        return None;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = counts.len().saturating_sub(EVENTS_LISTED);
    let listed = counts.iter().take(EVENTS_LISTED);
    let mut listed: Vec<String> =
        listed.map(|(event, count)| format!("{event} ({count} time{})", if *count == 1 { "" } else { "s" })).collect();
    if more > 0 {
        listed.push(format!("{more} others"));
    }
    Some(listed.join(", "))
}

/// The event of a line `task-pid [cpu] flags seconds: event: ...`.
fn event(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_ascii_whitespace();
    let is_time = |word: &str| {
        let Some((whole, fraction)) = word.strip_suffix(':').and_then(|time| time.split_once('.')) else {
            return false;
        };
        [whole, fraction].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    words.find(|word| is_time(word))?;
    let event = words.next()?.strip_suffix(':')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    (!event.is_empty() && event.bytes().all(is_name)).then(|| event.to_owned())
}

/// The events that formats of ftrace text read, as their descriptions name them.
fn known_events() -> Vec<&'static str> {
    let docs = FORMATS.iter().map(|format| format.doc).filter(|doc| doc.starts_with("ftrace text"));
    let words = docs.flat_map(|doc| doc.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_'));
    let mut events: Vec<&str> = words.filter(|word| word.contains('_')).collect();
    events.sort_unstable();
    events.dedup();
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_and_known_ones_come_from_the_formats() {
        let line = b"  kworker/1:1H-175 [001] ..... 222.735000: ufshcd_command: send_req: 1d84000.ufshc: tag: 0";
        assert_eq!(events(&[b"# tracer: nop", line, line]).unwrap(), "ufshcd_command (2 times)");
        assert_eq!(events(&[b"0.5: 1 2", b"x"]), None);
        for event in ["block_bio_queue", "block_rq_issue", "nvme_setup_cmd"] {
            assert!(known_events().contains(&event), "{event}");
        }
    }
}
