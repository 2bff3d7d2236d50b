//! Tables whose columns the user names, and known formats in another dress.

use proptest::prelude::*;

use crate::support::{named, open_bytes, records};
use trace::formats::{OddLines, OpenOptions, TraceRecord, write_nandarium};
use units::HostOp::{Flush, Read, Trim, Write};

/// Reads `text` with the columns `spec`.
fn with_columns(spec: &str, text: &str) -> Result<Vec<TraceRecord>, String> {
    let odd_lines = OddLines::Count(0);
    let options = OpenOptions { columns: Some(spec.to_owned()), odd_lines, ..OpenOptions::default() };
    read(text.as_bytes(), "table.csv", &options)
}

fn read(bytes: &[u8], name: &str, options: &OpenOptions) -> Result<Vec<TraceRecord>, String> {
    let reader = open_bytes(bytes, name, options).map_err(|error| error.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn problem(spec: &str, text: &str) -> String {
    with_columns(spec, text).expect_err("it was read")
}

/// Reads, writes, nanoseconds from the first to the last request, and the address of the last one.
fn told(records: &[TraceRecord]) -> (usize, usize, i64, u64) {
    let of = |op| records.iter().filter(|record| record.op == op).count();
    let last = records.last().expect("there are requests");
    assert!(records.iter().all(|record| record.length_bytes == 4096), "{records:?}");
    (of(Read), of(Write), last.time_ns, last.offset_bytes)
}

/// Fifty requests, one each millisecond, written by `row` from the number of the request.
fn fifty(header: &str, row: impl Fn(u64) -> String) -> String {
    let rows = (0..50).map(|number| row(number) + "\n");
    std::iter::once(header.to_owned()).chain(rows).collect()
}

fn letter(number: u64) -> &'static str {
    if number.is_multiple_of(2) { "r" } else { "w" }
}

const FIFTY: (usize, usize, i64, u64) = (25, 25, 49_000_000, (1000 + 8 * 49) * 512);

#[test]
fn columns_are_found_by_name_or_number_under_any_separator() {
    for (separator, shown) in [(",", ","), (";", " ; "), ("\t", "\t"), ("|", "|"), (" ", "   ")] {
        let joined = |cells: [String; 5]| cells.join(shown);
        let row = |number: u64| {
            let time = (5_633_898_611_441 + number * 1000).to_string();
            joined([
                time,
                "x".to_owned(),
                (1000 + 8 * number).to_string(),
                letter(number).to_owned(),
                "4096".to_owned(),
            ])
        };
        let header = joined(["ts", "host", "lba", "op", "size"].map(str::to_owned)) + "\n";
        let by_name = "time=ts:us,op=op,offset=lba:sectors,size=size:bytes";
        let by_number = "time=1:us,op=4,offset=3:sectors,size=5";
        for spec in [by_name, by_number, &format!("{by_name},separator={separator}")] {
            let found = with_columns(spec, &fifty(&header, row)).unwrap_or_else(|error| panic!("{spec}: {error}"));
            assert_eq!(told(&found), FIFTY, "{spec} with {separator:?}");
        }
        let found = with_columns(by_number, &fifty("", row)).unwrap();
        assert_eq!(told(&found), FIFTY, "no header, {separator:?}");
    }
}

#[test]
fn quotes_comments_marks_and_a_header_in_a_comment_are_seen_through() {
    let row =
        |number: u64| format!("\"{number}\" , \"a, b\",\"{}\",{},8", 1000 + 8 * number, letter(number).to_uppercase());
    let spec = "time=ms:ms,op=RW,offset=LBA:sectors,size=n:sectors";
    for header in
        ["ms,who,lba,rw,n\n", "\u{feff}\"ms\",\"who\",\"lba\",\"rw\",\"n\"\r\n", "# made by me\n# ms,who,lba,rw,n\n"]
    {
        let found = with_columns(spec, &fifty(header, row)).unwrap_or_else(|error| panic!("{header:?}: {error}"));
        assert_eq!(told(&found), FIFTY, "{header:?}");
    }
}

#[test]
fn units_of_times_and_bytes_are_what_the_columns_say() {
    for (unit, first, second, nanos) in [
        ("s", "1398396860.168065791", "1398396860.168065792", 1),
        ("s", "1.5e0", "1.5000001e0", 100),
        ("ms", "1.5", "1.75", 250_000),
        ("us", "1", "3", 2000),
        ("ns", "7", "9", 2),
        ("100ns", "128166372003061629", "128166372003061630", 100),
        ("ticks", "1", "2", 100),
        ("date", "2007-02-22 17:00:00.5", "2007-02-22T17:00:01Z", 500_000_000),
    ] {
        let spec = format!("time=1:{unit},op=2,offset=3,size=4");
        let found = with_columns(&spec, &format!("{first},R,0,512\n{second},R,0,512\n")).unwrap();
        assert_eq!(found[1].time_ns, nanos, "{unit}");
    }
    for (unit, text, bytes) in [
        ("bytes", "4096.0", 4096),
        ("bytes", "0x1000", 4096),
        ("bytes", "4.096e+03", 4096),
        ("sectors", "8", 4096),
        ("4k", "1", 4096),
        ("KiB", "0.5", 512),
        ("4096", "2", 8192),
    ] {
        let found = with_columns(&format!("time=1,op=2,offset=3,size=4:{unit}"), &format!("0,R,0,{text}\n")).unwrap();
        assert_eq!(found[0].length_bytes, bytes, "{text} {unit}");
    }
    let found = with_columns("time=1,op=2,offset=3,size=4,separator=;", "0;R;0;8\n0,010;R;0;8\n").unwrap();
    assert_eq!(found[1].time_ns, 10_000_000, "a decimal comma");
}

#[test]
fn operations_devices_and_latencies_are_read() {
    let spec = "time=1:ns,op=2:0=read|1=write|9=skip,offset=3,size=4,device=5,latency=6:us";
    let found =
        with_columns(spec, "0,0,0,512,sda,1.5\n1,1,512,512,sdb,2\n2,9,0,0,sda,\n3,discard,0,512,sda,\n").unwrap();
    assert_eq!(
        found.iter().map(|record| (record.op, record.device)).collect::<Vec<_>>(),
        [(Read, 0), (Write, 1), (Trim, 0)]
    );
    assert_eq!(found.iter().map(|record| record.latency_ns).collect::<Vec<_>>(), [Some(1500), Some(2000), None]);
    let found = with_columns("time=1:ns,op=2,offset=3,size=4,device=5", "0,WFS,0,512,7\n1,fsync,,,9\n").unwrap();
    assert!(found[0].fua && found[0].device == 7 && found[1].op == Flush && found[1].device == 9);
    let found = with_columns("time=1:ns,op=:write,offset=2:4k,size=:8k", "0,1\n5,2\n").unwrap();
    assert_eq!((found[1].op, found[1].offset_bytes, found[1].length_bytes), (Write, 8192, 8192));
}

/// Two lines without the line end between them were one request of 65,536,358,815 bytes.
#[test]
fn two_lines_glued_together_are_no_request() {
    let glued = "1000,W,8,4096\n2000,R,16,65536358815,W,24,512\n3000,R,16,4096,\n";
    let error = problem("time=ts,op=rw,offset=lba,size=len", &format!("ts,rw,lba,len\n{glued}"));
    let parts = ["line 3, column 5 (extra cell): found \"W\"", "expected the end of the line"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    let error = problem("time=1,op=2,offset=3,size=4", &glued.replace("3000", "4,R,0,1\n3000"));
    assert!(error.contains("line 2, column 5 (extra cell)"), "{error}");
    for separator in [",", " "] {
        let row = |number: u64| format!("{number},R,{number},4096,sda,x,\"a,b\"").replace(',', separator);
        let text = fifty("", row) + "51,R,9,40961,R,9,4096,sda\n".replace(',', separator).as_str();
        let error = problem("time=1,op=2,offset=3,size=4", &text);
        assert!(error.contains("line 51, column 8 (extra cell)"), "{error}");
    }
    let ragged = with_columns("time=1,op=2,offset=3,size=4", "1,R,0,512,a,b\n2,R,0,512\n3,R,0,512,a,b\n").unwrap();
    assert_eq!(ragged.len(), 3, "cells that are not used may be missing");
    let wide = with_columns("time=1,op=2,offset=3,size=4,separator=blanks", "time (us) op lba size\n1 R 0 512\n");
    assert_eq!(wide.unwrap().len(), 1, "more words in the header than columns");
}

/// A column of yes and no was read as flushes and trims.
#[test]
fn yes_and_no_of_a_database_are_no_flushes_and_trims() {
    for [no, yes] in [["f", "t"], ["n", "y"], ["false", "true"]] {
        let row = |number: u64| {
            let is_write = if number.is_multiple_of(2) { no } else { yes };
            format!("{},{is_write},{},4096", 1_577_808_000_000_046 + number, 4096 * number)
        };
        let text = fifty("ts,is_write,offset,size\n", row);
        let error = read(text.as_bytes(), "mine.csv", &OpenOptions::default()).unwrap_err();
        assert!(error.contains(&format!("op=is_write:{no}=?|{yes}=?,")), "{error}");
        let spec = |meaning: &str| format!("time=ts:us,op=is_write{meaning},offset=offset,size=size");
        let error = problem(&spec(""), &text);
        let parts = [&format!("only {no} and {yes}"), &format!("op=is_write:{no}=?|{yes}=?"), "its meaning"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        let found = with_columns(&spec(&format!(":{no}=read|{yes}=write")), &text).unwrap();
        assert_eq!((found[0].op, found[1].op), (Read, Write));
        let error = problem(&spec(&format!(":{yes}=write")), &text);
        assert!(error.contains(&format!("found \"{no}\"")) && error.contains("whose meaning op= gives"), "{error}");
    }
    let found = with_columns("time=1,op=2,offset=3,size=4", "1,W,0,512\n2,T,0,512\n3,F,0,0\n").unwrap();
    assert_eq!((found[1].op, found[2].op), (Trim, Flush));
}

/// Only the first 400 rows were looked at.
#[test]
fn a_rounded_number_in_a_late_row_is_refused() {
    let row = |number: u64| format!("{number},R,{number},4096\n");
    let text: String = (0..1000).map(row).collect();
    for (late, parts) in [
        ("1000,R,1.28166e+06,4096\n", ["line 1001, column 3 (offset): found \"1.28166e+06\"", "rounded"]),
        ("1.281664e+17,R,0,4096\n", ["line 1001, column 1 (time): found \"1.281664e+17\"", "whole numbers"]),
    ] {
        let options = OpenOptions {
            columns: Some("time=1:ns,op=2,offset=3,size=4".to_owned()),
            odd_lines: OddLines::Count(50),
            ..OpenOptions::default()
        };
        let error = read((text.clone() + late).as_bytes(), "x", &options).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let long = text.replace("R,9,", "R,1.281663720030616e+17,");
    let found = with_columns("time=1,op=2,offset=3,size=4", &(long + "1000,R,1.2816637e+17,4096\n"));
    assert_eq!(found.expect("the shortest text of doubles").len(), 1001);
}

/// Such a row was odd, with the advice to add one amount to all times.
#[test]
fn a_request_without_latency_is_kept() {
    let spec = "time=1:ns,op=2,offset=3,size=4,latency=5:us";
    let missing = ["", "NA", "-", "-1", "nan", "NULL"];
    let text = missing.map(|latency| format!("1,R,0,512,{latency}\n")).concat();
    let options = OpenOptions { columns: Some(spec.to_owned()), ..OpenOptions::default() };
    let mut reader = open_bytes((text + "2,R,0,512,7\n").as_bytes(), "x", &options).unwrap();
    let found: Vec<TraceRecord> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!((found.len(), found[0].latency_ns, found[6].latency_ns), (7, None, Some(7000)));
    assert_eq!((reader.statistics().dropped_latency, reader.statistics().dropped_odd), (6, 0));
    let error = problem(spec, "1,R,0,512,soon\n");
    assert!(error.contains("column 5 (latency): found \"soon\"") && !error.contains("all times"), "{error}");
}

/// `--format` cannot be given beside them.
#[test]
fn errors_of_named_columns_do_not_send_to_a_format() {
    let spec = "time=1,op=2,offset=3,size=4";
    let text = "1,R,0,512\n".repeat(30) + &"1,eat,0,512\n".repeat(20);
    let options = OpenOptions { columns: Some(spec.to_owned()), ..OpenOptions::default() };
    for error in [problem(spec, &text), read(text.as_bytes(), "x", &options).unwrap_err()] {
        assert!(error.contains("correct") && error.contains("--columns"), "{error}");
        assert!(!error.contains("--format"), "{error}");
    }
}

/// Each row was odd, and no column was proposed for the time.
#[test]
fn dates_with_a_zone_are_read_and_proposed() {
    for zone in ["+00:00", "+0200", " UTC", "Z"] {
        let row = |number: u64| {
            let (time, place) = (format!("2026-03-01 10:00:00.{number:03}{zone}"), 4096 * (number * 7 % 50));
            format!("{time},{},{place},4096", letter(number))
        };
        let text = fifty("ts,op,offset,size\n", row);
        let spec = "time=ts:date,op=op,offset=offset:bytes,size=size:bytes";
        let error = read(text.as_bytes(), "mine.csv", &OpenOptions::default()).unwrap_err();
        assert!(error.contains(spec), "{zone}: {error}");
        let found = with_columns(spec, &text).unwrap_or_else(|error| panic!("{zone}: {error}"));
        assert_eq!((found.len(), told(&found).2), (50, 49_000_000), "{zone}");
    }
}

/// The first of the two was read without a word.
#[test]
fn a_name_that_the_header_has_twice_is_refused() {
    let text = "ts,op,size,offset,size\n1,R,512,0,4096\n";
    let error = problem("time=ts,op=op,offset=offset,size=size", text);
    let parts = ["columns 3 and 5 of table.csv are called size", "give the number of one"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    let found = with_columns("time=ts,op=op,offset=offset,size=5", text).unwrap();
    assert_eq!(found[0].length_bytes, 4096, "a name that is not asked for, twice");
    let text = text.replacen("size", "SIZE", 1);
    assert_eq!(with_columns("time=ts,op=op,offset=offset,size=SIZE", &text).unwrap()[0].length_bytes, 512);
}

/// The proposal could not be pasted into a shell.
#[test]
fn a_proposal_has_the_numbers_of_columns_with_odd_names() {
    let row = |number: u64| format!("{},{},{},4096", 1000 * number, 1001 + 8 * number, letter(number));
    let text = fifty("time's us,start lba,op,size\n", row);
    let error = read(text.as_bytes(), "mine.csv", &OpenOptions::default()).unwrap_err();
    assert!(error.contains("offset=2:sectors") && error.contains("time=1:us,op=op"), "{error}");
}

#[test]
fn times_that_fall_back_go_by_the_order() {
    let found = with_columns("time=1:ns,op=2,offset=3,size=4", "5,R,0,512\n3,W,0,512\n9,R,0,512\n").unwrap();
    assert_eq!(
        found.iter().map(|record| (record.time_ns, record.op)).collect::<Vec<_>>(),
        [(0, Write), (2, Read), (6, Read)]
    );
}

#[test]
fn errors_of_columns_have_the_words_of_the_user_and_of_the_header() {
    let text = "ts,off,len,op\n1,0,512,R\n2,x,512,R\n";
    for (spec, parts) in [
        ("time=ts,op=op,offset=lba,size=len", &["no column is called lba", "ts, off, len, op", "--columns"][..]),
        ("time=ts,op=op,offset=off,size=len", &["line 3, column 2 (off)", "found \"x\"", "(time=ts,op=op,offset=off"]),
        ("time=ts,op=op,offset=off,size=9", &["fewer columns"]),
        ("op=op,offset=off,size=len", &["which column has the time", "add time=COLUMN:UNIT"]),
        ("time=ts,op=op,offset=off,size=off", &["offset and size are the same column"]),
    ] {
        let error = problem(spec, text);
        assert!(parts.iter().all(|part| error.contains(part)), "{spec}: {error}");
    }
    let error = problem("time=ts,op=2,offset=3,size=4", "1,R,0,512\n");
    assert!(error.contains("no header") && error.contains("numbers from 1"), "{error}");
    let error = problem("time=1,op=2,offset=3,size=4", "1,R,0,512\n2,0,0,512\n");
    assert!(error.contains("column 2 (op)") && error.contains("0=read|1=write"), "{error}");
    let error = problem("time=1,op=2,offset=3,size=4", "1,R,0,512\n2,R,0\n");
    assert!(error.contains("line 2, column 4 (size)") && error.contains("the end of the line"), "{error}");
    let options = OpenOptions { columns: Some("time=1,op=2,offset=3,size=4".to_owned()), ..named("spc") };
    let error = read(text.as_bytes(), "x", &options).unwrap_err();
    assert!(error.contains("spc") && error.contains("leave one of the two out"), "{error}");
}

/// Each was refused with a list of 36 formats.
#[test]
fn known_formats_in_another_dress_are_read_as_in_their_own() {
    let plain = |number: u64| {
        let (time, op) =
            (128_166_372_003_061_629 + number * 10_000, if number.is_multiple_of(2) { "Read" } else { "Write" });
        format!("{time},usr,0,{op},{},4096,41286", (1000 + 8 * number) * 512)
    };
    let whole = records("msr", fifty("", plain));
    let dressed: [(&str, String); 8] = [
        ("quotes", fifty("", |number| format!("\"{}\"", plain(number).replace(',', "\",\"")))),
        ("semicolons", fifty("", |number| plain(number).replace(',', ";"))),
        ("tabs", fifty("", |number| plain(number).replace(',', "\t"))),
        ("blanks", fifty("", |number| plain(number).replace(',', "  "))),
        (
            "an index",
            fifty(",Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", |number| {
                format!("{number},{}", plain(number))
            }),
        ),
        ("an index and numbers of columns", fifty(",0,1,2,3,4,5,6\n", |number| format!("{number},{}", plain(number)))),
        ("a comment", fifty("# from somewhere\n", plain)),
        (
            "floats",
            fifty("", |number| {
                let row = plain(number);
                let (offset, rest) = (format!("{}", (1000 + 8 * number) * 512), row.replace(",4096,", ",4.096e+03,"));
                rest.replace(&offset, &format!("{offset}.0"))
            }),
        ),
    ];
    for (dress, text) in dressed {
        let found = read(text.as_bytes(), "m.csv", &OpenOptions::default());
        assert_eq!(found.unwrap_or_else(|error| panic!("{dress}: {error}")), whole, "{dress}");
        let found = read(text.as_bytes(), "m.csv", &named("msr"));
        assert_eq!(found.unwrap_or_else(|error| panic!("{dress}, named: {error}")), whole, "{dress}, named");
        let mut converted = Vec::new();
        let reader = open_bytes(text.as_bytes(), "m.csv", &OpenOptions::default()).unwrap();
        let note = reader.dialect_note().expect("it says that it rewrites");
        assert!(note.contains("\"msr\"") && note.contains("index") == dress.contains("index"), "{note}");
        write_nandarium(reader, &mut converted, "out").unwrap();
        assert_eq!(records("nandarium", converted), whole, "{dress}, converted");
    }
    assert_eq!(open_bytes(fifty("", plain).as_bytes(), "m.csv", &named("msr")).unwrap().dialect_note(), None);
    let spc = fifty("", |number| format!("0\t{}\t4096\tW\t{:.6}", 303_567 + 8 * number, number as f64 / 100.0));
    assert_eq!(told(&read(spc.as_bytes(), "s.spc", &OpenOptions::default()).unwrap()).0, 0);
    assert_eq!(told(&read(spc.as_bytes(), "s.spc", &OpenOptions::default()).unwrap()).2, 490_000_000);
    let commas = read(b"0,0,8,8,1\n5,0,16,8,0\n", "x.ssdsim", &named("ssdsim")).unwrap();
    assert_eq!(commas.len(), 2, "a format of blanks with commas, by its name");
}

/// All requests would come at one time.
#[test]
fn times_that_lost_their_digits_are_refused_by_name() {
    let text = fifty("", |number| format!("1.281664e+17,usr,0,Read,{},4096,41286", (1000 + 8 * number) * 512));
    let error = read(text.as_bytes(), "m.csv", &OpenOptions::default()).unwrap_err();
    let parts = ["m.csv: column 1", "rounded to 7 digits", "1.281664e+17", "whole numbers"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    let error = problem("time=1:100ns,op=4,offset=5,size=6", &text);
    assert!(error.contains("column 1 (time): the numbers are rounded to 7 digits"), "{error}");
}

#[test]
fn an_index_does_not_shift_the_columns_of_errors() {
    let text = fifty(",Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", |number| {
        format!("{number},{},usr,0,Read,0,4096,1", 128_166_372_003_061_629 + number)
    });
    let long = text.clone() + &text.lines().skip(1).map(|row| row.to_owned() + "\n").collect::<String>().repeat(12);
    let error =
        read((long + &"50,1,usr,0,Eat,0,1,1\n".repeat(30)).as_bytes(), "m.csv", &OpenOptions::default()).unwrap_err();
    assert!(error.contains("line 652, column 5 (Type)"), "{error}");
}

/// The text quoted a comment and listed 36 names.
#[test]
fn the_error_for_an_unknown_table_proposes_its_columns() {
    let with_lba =
        |number: u64| format!("{},{},{},4096", 5_633_898_611_441 + number * 1000, 1000 + 8 * number, letter(number));
    let seconds = |number: u64| format!("5633898.{:06},{},{},4096", number * 1000, 1001 + 8 * number, letter(number));
    let volume = |number: u64| {
        format!(
            "{},{},4096,{}",
            letter(number).to_uppercase(),
            8_792_731_648 + 4096 * number,
            1_577_808_000_000_046 + number
        )
    };
    let replay = |number: u64| {
        format!("      0.{number:02}0000000 ;  {} ;    8 ; {} ; 0.0 ; 0.0", 1001 + 8 * number, letter(number))
    };
    for (text, spec) in [
        (fifty("ts,lba,op,size\n", with_lba), "time=ts:us,op=op,offset=lba:sectors,size=size:bytes"),
        (fifty("", seconds), "time=1:s,op=3,offset=2:sectors,size=4:bytes"),
        (fifty("", volume), "time=4:us,op=1,offset=2:bytes,size=3:bytes"),
        (
            fifty("start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n", replay),
            "time=start:s,op=op,offset=sector:sectors,size=length:sectors",
        ),
        (
            fifty("# mine\ntime_us,dev,is_write,offset,length\n", |number| {
                format!("{number},3,{},{},4096", number % 2, 4096 * number)
            }),
            "time=time_us:us,op=?,offset=offset:bytes,size=length:bytes,device=dev",
        ),
    ] {
        let error = read(text.as_bytes(), "mine.csv", &OpenOptions::default()).unwrap_err();
        let parts = ["'", spec, "'; or", "time_ns,device,op,offset_bytes,length_bytes", "nandarium list formats"];
        assert!(parts.iter().all(|part| error.contains(part)), "{spec}: {error}");
        assert!(!error.contains("# mine"), "{error}");
        if !spec.contains('?') {
            let found = with_columns(spec, &text).unwrap_or_else(|error| panic!("{spec}: {error}"));
            assert_eq!(told(&found).0, 25, "{spec}");
        }
    }
}

#[test]
fn the_error_for_unknown_events_counts_them_and_names_those_that_are_read() {
    let line = "  kworker/1:1H-175 [001] ..... 222.735000: thermal_zone_trip: zone=1 size: 32768, LBA: 327748\n";
    let text = format!("# tracer: nop\n#\n{}", line.repeat(3));
    let error = read(text.as_bytes(), "trace.txt", &OpenOptions::default()).unwrap_err();
    let parts = ["thermal_zone_trip (3 times)", "block_rq_issue", "nvme_setup_cmd", "nandarium list formats"];
    assert!(parts.iter().all(|part| error.contains(part)) && !error.contains("tracer"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    /// A changed byte is an error, or it is read: no row is lost.
    #[test]
    fn no_row_of_a_damaged_table_is_lost_in_silence(
        at in 0_usize..1200,
        byte in any::<u8>(),
        is_named in any::<bool>(),
    ) {
        let row = |number: u64| format!("{number};\"{}\";{};{}", 1000 + 8 * number, letter(number), 4096);
        let mut bytes = fifty("ms;lba;op;size\n", row).into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        let by_name = "time=ms:ms,op=op,offset=lba:sectors,size=size";
        let spec = if is_named { by_name } else { "time=1:ms,op=3,offset=2:sectors,size=4" };
        let options = OpenOptions { columns: Some(spec.to_owned()), ..OpenOptions::default() };
        let Ok(mut reader) = open_bytes(&bytes, "x", &options) else { return Ok(()) };
        let found: Result<Vec<_>, _> = reader.by_ref().collect();
        let statistics = reader.statistics();
        if let Ok(found) = found {
            let odd = statistics.dropped_odd + statistics.dropped_cut;
            let left_out = statistics.dropped_comment + statistics.dropped_zero + odd;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64;
            prop_assert_eq!(found.len() as u64 + left_out, lines);
        }
    }
}
