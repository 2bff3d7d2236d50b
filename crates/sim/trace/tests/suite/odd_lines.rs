//! A few odd lines do not end a trace: they are left out, counted and named.

use crate::support::{detected, named, open_bytes, strict};
use proptest::prelude::*;
use trace::formats::{OddLines, OpenOptions, ReadStatistics, Records, TraceRecord, summarise};

/// Reads a trace to its end, or to its first error.
fn whole(options: &OpenOptions, bytes: &[u8]) -> Result<(Vec<TraceRecord>, Records), String> {
    let mut reader = open_bytes(bytes, "sample", options).map_err(|error| error.to_string())?;
    let found: Result<Vec<_>, _> = reader.by_ref().collect();
    found.map(|found| (found, reader)).map_err(|error| error.to_string())
}

/// What was found without a word about format or options: requests, statistics, notes.
fn read(bytes: &str) -> (usize, ReadStatistics, Vec<String>) {
    let (found, reader) = whole(&OpenOptions::default(), bytes.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    (found.len(), reader.statistics(), reader.notes())
}

fn assert_parts(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "\"{part}\" is missing in: {text}");
    }
}

fn msr(rows: usize) -> Vec<String> {
    let row = |row: usize| format!("{},usr,0,Write,{},4096,100\n", 128_166_372_003_061_629 + row * 1000, row * 4096);
    (0..rows).map(row).collect()
}

fn spc(rows: usize) -> Vec<String> {
    (0..rows).map(|row| format!("0,{row},4096,w,{row}.5\n")).collect()
}

const SNOOP: &str = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";

fn snoop(rows: usize) -> Vec<String> {
    let row = |row: usize| format!("{row}.000000    dd             100     sda       W {}   4096      0.50\n", row * 8);
    (0..rows).map(row).collect()
}

/// A download that broke off, or `head -c`, cost the whole trace.
#[test]
fn a_last_line_that_is_cut_short_is_left_out() {
    let text = msr(50).concat() + "1281663720030";
    let (requests, statistics, notes) = read(&text);
    assert_eq!((requests, statistics.dropped_cut, statistics.dropped_odd), (50, 1, 0));
    assert_parts(&notes[0], &["cut short", "line 51", "Hostname"]);
    let error = whole(&strict("msr"), text.as_bytes()).map(drop).unwrap_err();
    assert_parts(&error, &["line 51", "column 2 (Hostname)"]);
    // A whole line that does not fit is odd, and no cut one.
    let (_, statistics, _) = read(&(msr(50).concat() + "1281663720030\n"));
    assert_eq!((statistics.dropped_cut, statistics.dropped_odd), (0, 1));
}

#[test]
fn a_cut_last_line_is_left_out_beside_all_odd_lines_that_may_be() {
    let mut rows = spc(40);
    rows[3] = "odd\n".to_owned();
    let text = rows.concat() + "0,77";
    let options = |count| OpenOptions { odd_lines: OddLines::Count(count), ..named("spc") };
    let (found, reader) = whole(&options(1), text.as_bytes()).unwrap();
    assert_eq!((found.len(), reader.statistics().dropped_odd, reader.statistics().dropped_cut), (39, 1, 1));
    assert_parts(&reader.notes()[0], &["1 odd line and a last line that is cut short", "line 4"]);
}

#[test]
fn a_ctrl_c_at_the_end_of_biosnoop_is_left_out() {
    let (requests, statistics, notes) = read(&(SNOOP.to_owned() + &snoop(50).concat() + "^C\n"));
    assert_eq!((requests, statistics.dropped_odd), (50, 1));
    assert_parts(&notes[0], &["1 odd line was left out", "line 52", "found \"^C\"", "workload.odd_lines"]);
}

#[test]
fn a_response_time_below_zero_costs_no_request() {
    let mut rows = msr(50);
    rows[7] = rows[7].replace(",100\n", ",-41286\n");
    let (found, reader) = whole(&strict("msr"), rows.concat().as_bytes()).unwrap();
    assert_eq!((found.len(), found[7].latency_ns, found[8].latency_ns), (50, None, Some(10_000)));
    assert_parts(&reader.notes()[0], &["1 requests have a response time below 0"]);
    let (found, _) = whole(&strict("systor"), b"1.0,-0.5,R,0,0,4096\n").unwrap();
    assert_eq!(found[0].latency_ns, None);
    rows[7] = rows[7].replace(",-41286\n", ",-x\n");
    let error = whole(&strict("msr"), rows.concat().as_bytes()).map(drop).unwrap_err();
    assert_parts(&error, &["line 8, column 7 (ResponseTime)", "-x"]);
}

/// It was said that no format fits, and line 1 was shown, which is good.
#[test]
fn a_strange_line_in_the_middle_of_a_file_without_a_header_is_left_out() {
    let row = |row: usize| format!("{}.25,0.000512,R,0,{},4096\n", 1_456_135_200 + row, row * 4096);
    let mut rows: Vec<String> = (0..50).map(row).collect();
    rows.insert(25, "garbage line here\n".to_owned());
    assert_eq!(detected(rows.concat(), "x.csv"), Ok("systor"));
    let (requests, statistics, notes) = read(&rows.concat());
    assert_eq!((requests, statistics.dropped_odd), (50, 1));
    assert_parts(&notes[0], &["line 26", "garbage line here"]);
}

/// From three to ten of them, a short file was of no known format, and `explain` promised ten.
#[test]
fn ten_odd_lines_are_left_out_of_a_short_file_whose_format_is_not_named() {
    let with = |odd: usize| {
        let row = |row: usize| format!("{}.25,0.000512,R,0,{},4096\n", 1_456_135_200 + row, row * 4096);
        let mut rows: Vec<String> = (0..200).map(row).collect();
        (0..odd).for_each(|at| rows.insert(20 + 15 * at, format!("garbage line {at}\n")));
        rows.concat()
    };
    for odd in [1, 3, 10] {
        assert_eq!(detected(with(odd), "x.csv"), Ok("systor"), "{odd}");
        let (requests, statistics, _) = read(&with(odd));
        assert_eq!((requests, statistics.dropped_odd), (200, odd as u64));
    }
    assert!(detected(with(11), "x.csv").is_err(), "more than ten");
    // Too few rows to tell the format from: its name is the remedy.
    let lines = with(10);
    let kept = lines.lines().enumerate().filter(|(at, line)| line.starts_with("garbage") || at.is_multiple_of(4));
    let short: Vec<String> = kept.map(|(_, line)| format!("{line}\n")).collect();
    let told = detected(short.concat(), "x.csv").unwrap_err();
    let (found, reader) = whole(&named("systor"), short.concat().as_bytes()).unwrap();
    assert_eq!((found.len() + 10, reader.statistics().dropped_odd), (short.len(), 10));
    assert_parts(&told, &["garbage line 0", "--format systor leaves out up to 10 odd lines"]);
}

#[test]
fn more_odd_lines_than_a_thousandth_are_refused_with_the_remedy() {
    let mut rows = spc(2000);
    for (odd, row) in rows.iter_mut().skip(100).step_by(100).take(10).enumerate() {
        *row = format!("odd {odd}\n");
    }
    let (found, reader) = whole(&named("spc"), rows.concat().as_bytes()).unwrap();
    assert_eq!((found.len(), reader.statistics().dropped_odd), (1990, 10));
    assert_parts(&reader.notes()[0], &["10 odd lines were left out, the first of them line 101", "odd 0"]);
    rows[1900] = "one more\n".to_owned();
    let error = whole(&named("spc"), rows.concat().as_bytes()).map(drop).unwrap_err();
    assert_parts(
        &error,
        &[
            "sample: line 101, column 1 (ASU)",
            "found \"odd 0\"",
            "the first of 11 odd lines among the first 1901",
            "at most 10 lines, or 0.1 %",
            "--format",
            "workload.odd_lines (--odd-lines of nandarium trace)",
        ],
    );
    for more in ["11", "1%"] {
        let options = OpenOptions { odd_lines: OddLines::parse(more).unwrap(), ..named("spc") };
        assert_eq!(whole(&options, rows.concat().as_bytes()).unwrap().0.len(), 1989, "{more}");
    }
    let options = OpenOptions { odd_lines: OddLines::Count(3), ..named("spc") };
    let error = whole(&options, rows.concat().as_bytes()).map(drop).unwrap_err();
    assert_parts(&error, &["first of 4 odd lines", "workload.odd_lines = 3 leaves out no more"]);
}

#[test]
fn a_thousandth_of_a_long_trace_may_be_odd() {
    let mut rows = spc(30_000);
    for row in rows.iter_mut().skip(10_000).step_by(1000) {
        "odd\n".clone_into(row);
    }
    let (found, reader) = whole(&named("spc"), rows.concat().as_bytes()).unwrap();
    assert_eq!((found.len(), reader.statistics().dropped_odd), (29_980, 20));
}

/// Ten lines of another file would have been a trace without requests.
#[test]
fn a_short_file_of_another_format_is_refused_by_its_first_line() {
    let other = "a b c\n".repeat(8);
    let error = whole(&named("spc"), other.as_bytes()).map(drop).unwrap_err();
    assert_parts(&error, &["line 1, column 1 (ASU)", "read as \"spc\""]);
    let half = spc(5).concat() + &other;
    let error = whole(&named("spc"), half.as_bytes()).map(drop).unwrap_err();
    assert_parts(&error, &["line 6", "8 odd lines among the first 13", "fewer than good ones"]);
}

#[test]
fn errors_of_the_whole_file_are_no_odd_lines() {
    let header = "time_ns,device,op,offset_bytes,length_bytes\n";
    let rows = (0..50).map(|row| format!("{row},0,R,0,512\n")).collect::<Vec<_>>().concat();
    let error = |format, text: String| whole(&named(format), text.as_bytes()).map(drop).unwrap_err();
    assert_parts(&error("nandarium", format!("time_ns,device\n{rows}")), &["line 1 (header)"]);
    assert_parts(&error("nandarium", format!("{header}{rows}9,0,R,0,512\n")), &["line 52", "the time goes back"]);
    let beyond = "9223372036854775808 0 8 8 1\n".repeat(20);
    assert_parts(&error("ssdsim", beyond), &["line 1", "below 292 years", "the first of"]);
}

/// Two files one after the other, the first of them without a last line end, ended the whole trace.
#[test]
fn a_line_that_is_glued_to_the_next_is_left_out() {
    let rows =
        |from: u64| (from..from + 50).map(|row| format!("1,R,{},4096,{}\n", row * 4096, 1_577_808_000_000_000 + row));
    let first = rows(0).collect::<String>();
    let text = format!("{}{}", first.trim_end(), rows(50).collect::<String>());
    let (found, reader) = whole(&named("alibaba"), text.as_bytes()).unwrap();
    assert_eq!((found.len(), reader.statistics().dropped_odd), (98, 1));
}

/// A last line that was cut within its time made a trace of 50 years.
#[test]
fn a_last_line_whose_time_is_cut_is_left_out() {
    let rows = |count: u64| (0..count).map(|row| format!("1,R,{},4096,{}\n", row * 4096, 1_577_808_000_000_000 + row));
    let text = rows(50).collect::<String>();
    let (found, reader) = whole(&named("alibaba"), &text.as_bytes()[..text.len() - 8]).unwrap();
    assert_eq!((found.len(), reader.statistics().dropped_cut), (49, 1));
    let (found, reader) = whole(&named("alibaba"), text.trim_end().as_bytes()).unwrap();
    assert_eq!((found.len(), reader.statistics().dropped_cut), (50, 0));
}

/// One odd line in a file in another form had no format fit.
#[test]
fn a_file_in_another_form_may_have_an_odd_line() {
    let row = |row: u64| format!("{};usr;0;Write;{};4096;100\n", 128_166_372_003_061_629 + row * 10_000, row * 4096);
    let mut rows: Vec<String> = (0..50).map(row).collect();
    rows.insert(30, "total;50\n".to_owned());
    for options in [OpenOptions::default(), named("msr")] {
        let (found, reader) = whole(&options, rows.concat().as_bytes()).unwrap();
        assert_eq!((found.len(), reader.statistics().dropped_odd), (50, 1));
    }
}

#[test]
fn detection_leaves_out_few_lines_and_never_guesses() {
    let mut rows = spc(400);
    rows[20] = "odd\n".to_owned();
    assert_eq!(detected(rows.concat(), "x.csv"), Ok("spc"));
    assert_eq!(detected(rows[..12].concat() + "odd\n", "x.csv"), Ok("spc"));
    let few = detected(rows[..9].concat() + "odd\n", "x.csv").unwrap_err();
    assert_parts(&few, &["x.csv: line 10, column 1 (ASU)"]);
    for row in rows.iter_mut().step_by(30) {
        "odd\n".clone_into(row);
    }
    let many = detected(rows[1..].concat(), "x.csv").unwrap_err();
    assert_parts(&many, &["x.csv: line 20, column 1 (ASU)", "found \"odd\""]);
    let options = OpenOptions { odd_lines: OddLines::Share(0.05), ..OpenOptions::default() };
    assert!(open_bytes(rows[1..].concat().as_bytes(), "x.csv", &options).is_ok(), "the user has said so");
    // Five integers fit three formats, with an odd line as without.
    let mut integers: Vec<String> = (0..40).map(|row| format!("{row} 0 8 8 1\n")).collect();
    integers[15] = "odd\n".to_owned();
    let error = detected(integers.concat(), "x.txt").unwrap_err();
    assert_parts(&error, &["--format disksim", "--format mqsim", "--format ssdsim"]);
    assert_eq!(detected(integers.concat(), "x.ssdsim"), Ok("ssdsim"));
}

/// Columns with other names than the format has may have another meaning.
#[test]
fn a_header_that_no_format_knows_is_no_odd_line() {
    let text = format!("Unit,Address,Bytes,Direction,Time\n{}", spc(100).concat());
    let error = detected(&text, "x.csv").unwrap_err();
    assert_parts(&error, &["no trace format fits", "Unit,Address,Bytes,Direction,Time"]);
    let error = whole(&named("spc"), text.as_bytes()).map(drop).unwrap_err();
    assert_parts(&error, &["line 1, column 1 (ASU)", "found \"Unit\""]);
    // The piece of a row that `tail -c` leaves is one.
    let text = format!("96,w,0.5\n{}", spc(100).concat());
    assert_eq!(detected(&text, "x.csv"), Ok("spc"));
}

#[test]
fn the_line_that_several_formats_stumbled_on_is_shown() {
    let mut rows: Vec<String> = (0..400).map(|row| format!("{row} 0 8 8 1\n")).collect();
    for row in rows.iter_mut().skip(30).step_by(10) {
        "what is this\n".clone_into(row);
    }
    let error = detected(rows.concat(), "x.txt").unwrap_err();
    assert_parts(&error, &["line 31, \"what is this\"", "its first lines fit disksim, midas, mqsim, ssdsim"]);
}

#[test]
fn a_last_record_that_is_cut_short_is_left_out_of_binary_traces() {
    let frame = |row: u64| {
        let mut bytes = Vec::new();
        for word in [0x002a_u16, 0x0200] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [0_u32, 4096, 1] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [row * 8, row * 1000, 100] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    };
    let all: Vec<u8> = (0..40).flat_map(frame).collect();
    let (found, reader) = whole(&OpenOptions::default(), &all[..all.len() - 7]).unwrap();
    assert_eq!((reader.format().name, found.len(), reader.statistics().dropped_cut), ("vscsi2", 39, 1));
    assert_parts(&reader.notes()[0], &["cut short", "record 40"]);
    let mut damaged = all;
    damaged[40 * 20 + 3] = 7;
    let error = whole(&named("vscsi2"), &damaged).map(drop).unwrap_err();
    assert_parts(&error, &["record 21", "version"]);
}

#[test]
fn a_summary_has_the_first_odd_line_and_the_notes() {
    let mut rows = spc(50);
    rows[9] = "0,x7,4096,w,9.5\n".to_owned();
    let mut reader = open_bytes(rows.concat().as_bytes(), "t.spc", &OpenOptions::default()).unwrap();
    let summary = summarise(&mut reader).unwrap();
    let odd = summary.odd_line.unwrap();
    assert_eq!((odd.place.as_str(), odd.column, &*odd.name, odd.found.as_str()), ("line 10", 2, "LBA", "x7"));
    assert_eq!((summary.records, summary.statistics.dropped_odd, summary.notes.len()), (49, 1, 1));
}

/// Rows of formats whose parsers remember something between lines.
fn rows_of(format: &str, count: usize) -> (String, Vec<String>) {
    let clock = |row: usize| format!("{:02}:{:02}:{:02}", 12 + row / 3600, row / 60 % 60, row % 60);
    let (header, row): (&str, Box<dyn Fn(usize) -> String>) = match format {
        "biosnoop" => (SNOOP, Box::new(move |row| format!("{} dd 1 sda FWFS {} 4096 0.50", clock(row), row * 8))),
        "diskmon" => ("", Box::new(move |row| format!("{row}\t{}\t0.1\t0\tRead\t{}\t8", clock(row), row * 8))),
        "msr" => {
            ("", Box::new(|row| format!("{},usr,0,Write,{},4096,100", 128_166_372_003_061_629 + row * 10_000, row)))
        }
        "fio-iolog" => (
            "fio version 2 iolog\n",
            Box::new(|row| match row % 2 {
                0 => "x wait 1000".to_owned(),
                _ => format!("x write {} 4096", row * 4096),
            }),
        ),
        "blkparse" => ("", Box::new(|row| format!("8,0 3 {row} {row}.5 697 Q FWFS {} + 8 [x]", row * 8))),
        _ => ("", Box::new(|row| format!("0,{row},4096,w,{row}.5"))),
    };
    (header.to_owned(), (0..count).map(|index| row(index) + "\n").collect())
}

const DAMAGED: [&str; 6] = ["biosnoop", "diskmon", "msr", "fio-iolog", "blkparse", "spc"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Damaged lines that no longer parse are counted, one by one, and change no other request.
    #[test]
    fn damaged_lines_are_counted_exactly_or_the_trace_is_refused(
        format in prop::sample::select(DAMAGED.to_vec()),
        damages in prop::collection::vec((0..40_usize, 0..200_usize, any::<u8>(), 0..4_u8), 0..20),
    ) {
        let (header, rows) = rows_of(format, 40);
        let mut damaged: Vec<Vec<u8>> = rows.iter().map(|row| row.clone().into_bytes()).collect();
        for (row, at, byte, kind) in damages {
            let line = &mut damaged[row];
            let at = at % line.len().max(1);
            match kind {
                _ if line.len() < 2 || at + 1 >= line.len() || matches!(byte, b'\n' | b'\r') => {}
                0 => line[at] = byte,
                1 => { line.truncate(at); line.push(b'\n'); }
                2 => line.insert(at, byte),
                _ => { line.remove(at); }
            }
        }
        // A line parses if it does behind all good lines before it, which say what a parser remembers. Good lines
        // behind it show that the file is in no other form.
        let options = OpenOptions { order: Some(trace::formats::Order::Clamp), ..strict(format) };
        let (mut kept, mut odd) = (header.clone().into_bytes(), 0);
        for line in &damaged {
            let with = [kept.as_slice(), line].concat();
            let whole = [with.as_slice(), rows.concat().as_bytes()].concat();
            match open_bytes(&whole, "x", &options).unwrap().find_map(Result::err) {
                None => kept = with,
                Some(_) => odd += 1,
            }
        }
        let good: Vec<TraceRecord> = open_bytes(&kept, "x", &options).unwrap().map(Result::unwrap).collect();
        let all = [header.as_bytes(), &damaged.concat()].concat();
        let tolerant = OpenOptions { odd_lines: OddLines::Usual, ..options };
        match whole(&tolerant, &all) {
            Ok((found, reader)) => {
                prop_assert_eq!(reader.statistics().dropped_odd, odd);
                prop_assert_eq!(found, good);
            }
            Err(error) => prop_assert!(error.contains("line "), "{}", error),
        }
    }
}
