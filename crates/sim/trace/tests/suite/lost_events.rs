//! Tracers that lost events say so, and so do summaries and replays.

use crate::support::{named, open_bytes};
use trace::Workload;
use trace::formats::{LostEvents, OpenOptions, TraceOptions, TraceWorkload, summarise};

/// ftrace text with `marks` behind some of the requests.
fn ftrace(rows: usize, marks: &[(usize, &str)]) -> String {
    let row = |row: usize| {
        let event = format!("block_rq_issue: 259,0 WS 4096 () {} + 8 [fio]", row * 8);
        format!("   fio-4101  [000] ..... 12345.{row:06}: {event}\n")
    };
    let mut text = "# tracer: nop\n".to_owned();
    for index in 0..rows {
        text += &row(index);
        for (_, mark) in marks.iter().filter(|(after, _)| *after == index + 1) {
            text.push_str(mark);
            text.push('\n');
        }
    }
    text
}

fn lost(text: &str) -> (u64, Option<LostEvents>, Vec<String>) {
    let mut reader =
        open_bytes(text.as_bytes(), "x", &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let summary = summarise(&mut reader).unwrap();
    (summary.records, summary.statistics.lost, summary.notes)
}

/// The mark was one of "1 others" that were left out, and rates were those of a hundredth of the load.
#[test]
fn events_that_ftrace_lost_are_told_with_their_place() {
    let (records, lost_events, notes) = lost(&ftrace(50, &[(26, "CPU:2 [LOST 4096 EVENTS]")]));
    let lost_events = lost_events.unwrap();
    assert_eq!((records, lost_events.marks, lost_events.events, lost_events.after_record), (50, 1, 4096, 26));
    assert!(notes[0].starts_with("Doubt: ") && notes[0].contains("4096 of 4146 events"), "{notes:?}");
    assert!(notes[0].contains("after request 26") && notes[0].contains("larger trace buffer"), "{notes:?}");
}

#[test]
fn events_that_were_dropped_without_a_number_are_told_as_well() {
    let marks = [(26, "CPU:1 [EVENTS DROPPED]"), (30, "CPU:0 [EVENTS DROPPED]")];
    let (_, lost_events, notes) = lost(&ftrace(50, &marks));
    let lost_events = lost_events.unwrap();
    assert_eq!((lost_events.marks, lost_events.marks_without_number, lost_events.after_record), (2, 2, 26));
    assert_eq!(lost_events.events, 0);
    assert!(notes[0].contains("events in 2 places, and not how many, the first after request 26"), "{notes:?}");
    assert!(!notes[0].starts_with("Doubt"), "nobody knows how many: {notes:?}");
}

#[test]
fn a_line_of_biosnoop_that_samples_were_lost_is_no_odd_line() {
    let header = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let rows: Vec<String> = (0..50).map(|row| format!("{row}.0 dd 1 sda W {} 4096 0.5\n", row * 8)).collect();
    // More marks than odd lines might be.
    let marked: Vec<String> = rows.iter().map(|row| format!("{row}Possibly lost 12 samples\n")).collect();
    let (records, lost_events, notes) = lost(&format!("{header}{}", marked.concat()));
    let lost_events = lost_events.unwrap();
    assert_eq!((records, lost_events.marks, lost_events.events, lost_events.after_record), (50, 50, 600, 1));
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn a_trace_whose_tracer_lost_nothing_has_no_note() {
    let text = ftrace(50, &[(26, "CPU:2 buffer started")]);
    assert_eq!(lost(&text), (50, None, Vec::new()));
    let quiet = format!("# entries-in-buffer/entries-written: 50/50   #P:8\n{text}");
    assert_eq!(lost(&quiet).1, None);
    let loud = format!("# entries-in-buffer/entries-written: 50/51   #P:8\n{text}");
    let (_, lost_events, notes) = lost(&loud);
    assert_eq!(lost_events.map(|lost| (lost.events, lost.after_record)), Some((1, 0)));
    assert!(notes[0].contains("1 of 52 events in 1 place, before the first request"), "{notes:?}");
}

#[test]
fn a_replay_tells_a_small_loss_in_a_note_and_a_large_one_as_a_doubt() {
    for (events, is_doubt) in [(5, false), (6, true)] {
        let text = ftrace(50, &[(26, &format!("CPU:2 [LOST {events} EVENTS]"))]);
        let options = TraceOptions { format: named("block-ftrace-issue").format, ..TraceOptions::new(1 << 20) };
        let mut workload = TraceWorkload::from_reader(Box::new(std::io::Cursor::new(text)), "x", &options).unwrap();
        assert_eq!((workload.doubt(), workload.notes().len()), (None, 0), "nothing is read yet");
        workload.next_batch(&mut Vec::new(), 1000).unwrap();
        let noted = workload.notes().iter().any(|note| note.contains(&format!("lost {events} of")));
        assert_eq!((noted, workload.doubt().is_some()), (!is_doubt, is_doubt), "{events}: {:?}", workload.notes());
    }
}
