//! Lost events: tracers that cannot keep up say so in a line among the requests, and their trace is then a part of the
//! load. One place knows these lines for all text formats, and looks only at lines that are no requests.

use memchr::memmem;

use super::number;

/// Share of all events from which on a loss puts the result in doubt.
const DOUBTFUL_SHARE: f64 = 0.1;

/// Lost events, as the tracer reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LostEvents {
    /// Lines that tell of lost events.
    pub marks: u64,
    /// Events that were lost according to these lines; more where a line has no number.
    pub events: u64,
    /// Lines that tell of lost events without a number.
    pub marks_without_number: u64,
    /// Requests before the first of these lines, in the order of the file.
    pub after_record: u64,
    /// Sum of the lines among the events.
    #[serde(skip)]
    summed: u64,
    /// Events that were overwritten according to the header. Lines among the events tell of the same ones.
    #[serde(skip)]
    overwritten: u64,
    /// Lines that tell of lost events and are counted as rows of the trace.
    #[serde(skip)]
    pub(super) rows: u64,
}

/// The report of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Events were lost here, this many where the line has a number.
    Here(Option<u64>),
    /// So many events of all were overwritten.
    Overwritten(u64),
}

impl LostEvents {
    /// Adds a line that stands behind `records` requests to those before it.
    pub(crate) fn add(before: Option<LostEvents>, loss: Loss, records: u64) -> LostEvents {
        let none = LostEvents {
            marks: 0,
            events: 0,
            marks_without_number: 0,
            after_record: records,
            summed: 0,
            overwritten: 0,
            rows: 0,
        };
        let mut lost = before.unwrap_or(none);
        match loss {
            Loss::Overwritten(events) => {
                lost.overwritten = lost.overwritten.saturating_add(events);
                lost.marks = lost.marks.max(1);
            }
            Loss::Here(events) => {
                let is_header_only = lost.overwritten > 0 && lost.summed == 0 && lost.marks_without_number == 0;
                if is_header_only {
                    (lost.marks, lost.after_record) = (0, records);
                }
                lost.marks += 1;
                lost.marks_without_number += u64::from(events.is_none());
                lost.summed = lost.summed.saturating_add(events.unwrap_or(0));
            }
        }
        lost.events = lost.summed.max(lost.overwritten);
        lost
    }

    /// Share of all events that was lost, where `rows` were recorded; 0 to 1.
    fn share(&self, rows: u64) -> f64 {
        self.events as f64 / (self.events as f64 + rows as f64).max(1.0)
    }

    /// Whether so much of all events was lost that results say little about the traced load. `rows`: events that were
    /// recorded.
    pub(crate) fn is_doubtful(&self, rows: u64) -> bool {
        self.share(rows) >= DOUBTFUL_SHARE
    }

    /// The lost events and their consequences, in sentences. `rows`: events that were recorded.
    pub(crate) fn note(&self, rows: u64) -> String {
        let LostEvents { marks, events, marks_without_number, after_record, .. } = *self;
        let first = if marks == 1 { "" } else { "the first " };
        let place = match after_record {
            0 => format!("{first}before the first request"),
            _ => format!("{first}after request {after_record} of the file"),
        };
        let places = if marks == 1 { "in 1 place".to_owned() } else { format!("in {marks} places") };
        let all = events.saturating_add(rows);
        let what = match (events, marks_without_number) {
            (0, _) => format!("events {places}, and not how many"),
            (_, 0) => format!("{events} of {all} events {places}"),
            _ => format!("at least {events} of {all} events {places}"),
        };
        if self.is_doubtful(rows) {
            let share = (self.share(rows) * 100.0) as u64;
            return format!(
                "Doubt: the tracer says that it lost {what} ({share} %), {place}. Rates, write amplification and life \
                 describe only the recorded part, and say little about the traced load. Record it again with a larger \
                 trace buffer."
            );
        }
        format!(
            "The tracer says that it lost {what}, {place}. Rates, write amplification and life describe only the \
             recorded requests."
        )
    }
}

/// The lost events that a line without a request tells of, if it does. The first and last bytes of most lines tell that
/// they do not.
#[inline]
pub(crate) fn told_by(line: &[u8]) -> Option<Loss> {
    let first = line.trim_ascii_start().first()?;
    let begins = matches!(
        first,
        b'C' | b'#' | b'O' | b'E' | b'S' | b'Y' | b'd' | b'L' | b'l' | b'P' | b'p' | b'W' | b'w' | b'[' | b'T'
    );
    let before = line.iter().rposition(|byte| !byte.is_ascii_digit())?;
    let ends = before + 1 < line.len() && line[..=before].ends_with(b" lost ");
    if begins || ends { looked_at(line.trim_ascii()) } else { None }
}

fn looked_at(line: &[u8]) -> Option<Loss> {
    let loss = match line.first()? {
        b'C' => of_processor(line),
        b'#' => overwritten(line),
        b'O' | b'E' => after(line, b"Events Lost:").map(|rest| Loss::Here(count(rest))),
        b'S' => skips(line),
        b'Y' if line.ends_with(b" dropped events") => after(line, b"You have ").map(|rest| Loss::Here(count(rest))),
        b'd' if memmem::find(line, b" drops").is_some() => {
            line.strip_prefix(b"dtrace: ").map(|rest| Loss::Here(count(rest)))
        }
        b'L' | b'l' | b'P' | b'p' | b'W' | b'w' | b'[' | b'T' => in_words(line),
        _ => None,
    };
    let loss = loss.or_else(|| at_end(line))?;
    (!matches!(loss, Loss::Here(Some(0)) | Loss::Overwritten(0))).then_some(loss)
}

/// `CPU:2 [LOST 4096 EVENTS]` of ftrace, `CPU:1 [EVENTS DROPPED]` of trace-cmd, each with or without a number.
fn of_processor(line: &[u8]) -> Option<Loss> {
    let rest = after(line.strip_suffix(b"]")?.strip_prefix(b"CPU:")?, b"[")?;
    let is_mark = words(rest).any(|word| matches!(word, b"LOST" | b"DROPPED"));
    (is_mark && words(rest).any(|word| word == b"EVENTS")).then(|| Loss::Here(words(rest).find_map(count)))
}

/// `# entries-in-buffer/entries-written: 50/4146   #P:8`, the header of ftrace.
fn overwritten(line: &[u8]) -> Option<Loss> {
    let rest = line.strip_prefix(b"# entries-in-buffer/entries-written:")?;
    let mut numbers = words(rest).next()?.split(|byte| *byte == b'/').map(number::integer);
    let (kept, written) = (numbers.next()??, numbers.next()??);
    written.checked_sub(kept).map(Loss::Overwritten)
}

/// `Skips: 3 forward (1,234 -   0.1%)` in the summary of blkparse: three gaps of 1,234 events together.
fn skips(line: &[u8]) -> Option<Loss> {
    let rest = after(line.strip_prefix(b"Skips:")?, b"forward (")?;
    count(rest).map(|events| Loss::Here(Some(events)))
}

/// `PERF_RECORD_LOST lost 12` at the end of a row of perf script.
fn at_end(line: &[u8]) -> Option<Loss> {
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, events) = line.split_at(line.len() - digits);
    let is_mark = digits > 0 && before.ends_with(b" lost ") && memmem::find(before, b"PERF_RECORD_LOST").is_some();
    is_mark.then(|| Loss::Here(number::integer(events)))
}

/// How a sentence about lost events begins, and the nouns that may follow its number.
const BEGINNINGS: [(&str, &[&str]); 8] = [
    ("Possibly lost ", &["samples", "events"]),
    ("Lost ", &["events", "event", "samples"]),
    ("lost ", &["events", "event", "samples"]),
    ("LOST ", &["events", "event", "samples"]),
    ("Tracer discarded ", &["events", "event"]),
    ("Tracer may have discarded ", &[]),
    ("There were ", &["transport"]),
    ("Processed ", &["events"]),
];

/// `Possibly lost 12 samples` of bcc, `Lost 12 events` of bpftrace, `lost 12 events on CPU #3` of libbpf tools,
/// `Processed 90 events and lost 3 chunks!` of perf, `Tracer discarded 12 events between ...` of `LTTng`,
/// `There were 12 transport failures.` of `SystemTap`, each with or without `WARNING:` before it.
fn in_words(line: &[u8]) -> Option<Loss> {
    let mut sentence = line;
    for warning in ["WARNING:", "Warning:", "[warning]"] {
        sentence = sentence.strip_prefix(warning.as_bytes()).unwrap_or(sentence).trim_ascii_start();
    }
    let (beginning, nouns) = BEGINNINGS.iter().find(|(beginning, _)| sentence.starts_with(beginning.as_bytes()))?;
    let rest = &sentence[beginning.len()..];
    let mut words = words(rest);
    let number = words.next().and_then(count);
    let noun = words.next().map(|word| word.strip_suffix(b"!").unwrap_or(word));
    let is_noun = nouns.iter().any(|known| noun == Some(known.as_bytes()));
    match *beginning {
        "Tracer may have discarded " => Some(Loss::Here(None)),
        // Chunks hold any number of events, and a failure of transport loses any number of lines.
        "Processed " => memmem::find(rest, b" and lost ").filter(|_| is_noun).map(|_| Loss::Here(None)),
        "There were " => number.filter(|number| *number > 0 && is_noun).map(|_| Loss::Here(None)),
        _ => number.filter(|_| is_noun).map(|number| Loss::Here(Some(number))),
    }
}

/// What follows `mark`.
fn after<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    memmem::find(line, mark).map(|at| &line[at + mark.len()..])
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// The number that a text begins with, whose digits may be grouped: `1,234`.
fn count(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let is_digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b',';
    let digits: Vec<u8> = text.iter().take_while(is_digit).filter(|byte| **byte != b',').copied().collect();
    number::integer(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tracer_is_understood() {
        let here = |events: u64| Some(Loss::Here(Some(events)));
        for (line, loss) in [
            ("CPU:2 [LOST 4096 EVENTS]", here(4096)),
            ("CPU:2 [LOST EVENTS]", Some(Loss::Here(None))),
            ("CPU:1 [EVENTS DROPPED]", Some(Loss::Here(None))),
            ("CPU:1 [37 EVENTS DROPPED]", here(37)),
            ("Possibly lost 12 samples", here(12)),
            ("Lost 12 events", here(12)),
            ("WARNING: Lost 12 events", here(12)),
            ("lost 12 events on CPU #3!", here(12)),
            ("LOST 12 events!", here(12)),
            ("  fio  101 [002]  5.000026: PERF_RECORD_LOST lost 12", here(12)),
            ("  swapper  0 [002]  5.000026: PERF_RECORD_LOST_SAMPLES lost 3", here(3)),
            ("Processed 9041 events and lost 3 chunks!", Some(Loss::Here(None))),
            ("Warning: Processed 9041 events and lost 3 chunks!", Some(Loss::Here(None))),
            ("Events Lost: 12", here(12)),
            ("OS Version: 6.1.7601, Trace Length: 61 sec, Events Lost: 1,204, Buffers Lost: 3", here(1204)),
            ("Skips: 3 forward (1,234 -   0.1%)", here(1234)),
            ("You have 1,234 (  0.1%) dropped events", here(1234)),
            ("dtrace: 12 drops on CPU 0", here(12)),
            ("[warning] Tracer discarded 12 events between [1] and [2]", here(12)),
            ("WARNING: There were 4 transport failures.", Some(Loss::Here(None))),
            ("# entries-in-buffer/entries-written: 50/4146   #P:8", Some(Loss::Overwritten(4096))),
        ] {
            assert_eq!(told_by(line.as_bytes()), loss, "{line}");
        }
    }

    #[test]
    fn lines_that_tell_of_no_loss_are_none() {
        for line in [
            "",
            "# entries-in-buffer/entries-written: 50/50   #P:8",
            "Events Lost: 0",
            "OS Version: 6.1.7601, Trace Length: 61 sec, Events Lost: 0, Buffers Lost: 0",
            "Skips: 0 forward (0 -   0.0%)",
            "CPU:2 buffer started",
            "CPU0 (sda):",
            "Lost-77 [000] .... 1.5: sched_switch: prev_pid=3 lost 4",
            "lost and found",
            "Tracing block device I/O... Hit Ctrl-C to end.",
            "Total (sda):",
            "  8,0 3 1 0.5 697 D W 223490 + 8 [lost]",
        ] {
            assert_eq!(told_by(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_header_and_the_lines_of_one_loss_are_counted_once() {
        let header = LostEvents::add(None, Loss::Overwritten(4096), 0);
        assert_eq!((header.marks, header.events, header.after_record), (1, 4096, 0));
        let both = LostEvents::add(Some(header), Loss::Here(Some(4000)), 26);
        assert_eq!((both.marks, both.events, both.after_record), (1, 4096, 26));
        let more = LostEvents::add(Some(both), Loss::Here(None), 30);
        assert_eq!((more.marks, more.events, more.marks_without_number, more.after_record), (2, 4096, 1, 26));
    }

    #[test]
    fn a_tenth_of_all_events_is_a_doubt() {
        let lost = |events| LostEvents::add(None, Loss::Here(Some(events)), 26);
        assert!(lost(10).is_doubtful(90) && !lost(10).is_doubtful(91));
        let note = lost(4096).note(50);
        assert!(
            note.starts_with("Doubt: the tracer says that it lost 4096 of 4146 events in 1 place (98 %)"),
            "{note}"
        );
        let note = lost(1).note(50);
        assert!(note.starts_with("The tracer says that it lost 1 of 51 events in 1 place, after request 26"), "{note}");
    }
}
