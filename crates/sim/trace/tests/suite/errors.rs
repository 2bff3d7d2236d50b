//! Malformed traces: the text names file, place, column, value, expectation and remedy.

use crate::support::{error, named, open_bytes, strict};
use trace::formats::{OpenOptions, Order};

fn assert_parts(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "\"{part}\" is missing in: {text}");
    }
}

#[test]
fn a_bad_field_is_named_in_full() {
    let text = error("spc", "0,1,512,R,0.5\n0,1,512,X,0.6\n");
    assert_parts(
        &text,
        &["sample: line 2", "column 4 (Opcode)", "found \"X\"", "expected R or W", "read as \"spc\"", "--format"],
    );
    let text = error("mqsim", "5 0 8 8 1\n\n6 0 8 8 2\n");
    assert_parts(&text, &["line 3", "column 5 (type)", "0 (write) or 1 (read)"]);
    let text = error("ssdsim", "5 0 8\n");
    assert_parts(&text, &["line 1", "column 4 (sectors)", "the end of the line"]);
    let text = error("ssdsim", "5 0 8 8 1 7\n");
    assert_parts(&text, &["column 6 (extra field)", "found \"7\""]);
}

#[test]
fn values_beyond_their_range_are_refused() {
    for (format, text) in [
        ("ssdsim", "0 0 18446744073709551615 8 1"),
        ("ssdsim", "0 4294967296 1 8 1"),
        ("ssdsim", "9223372036854775808 0 1 8 1"),
        ("msr", "9223372036854775807,hm,1,Read,0,512,1"),
        ("alibaba", "1,R,18446744073709551615,2,5"),
        ("disksim", "1.0 -1 0 8 1"),
        ("disksim", "1.0 1 0 8 1ffffffff"),
        ("nandarium", "time_ns,device,op,offset_bytes,length_bytes\n0,0,F,0,512"),
        ("spc", "0,1,512,R,1e300"),
        ("wpa", "Read;1"),
    ] {
        assert_parts(&error(format, text), &["sample: line ", "expected"]);
    }
}

#[test]
fn wpa_checks_sizes_against_offsets() {
    let text = "IO Type;Init Time (s);IO Time (us);Size (B);Min Offset;Max Offset;Disk\n\
                Read;1,0;1,0;4.096;0x0;0x1FFF;1\n";
    assert_parts(&error("wpa", text), &["line 2", "column 6 (Max Offset)", "0x1FFF"]);
}

#[test]
fn fio_without_its_first_line_is_refused() {
    assert_parts(&error("fio-iolog", "a read 0 512\n"), &["line 1", "fio version 2 iolog"]);
    assert_parts(&error("fio-iolog", "fio version 3 iolog\n5 a wait 100\n"), &["column 3 (action)", "wait"]);
}

#[test]
fn time_going_back_is_refused_clamped_or_sorted() {
    let text = b"100 0 8 8 1\n50 0 16 8 1\n200 0 8 8 1\n";
    let run = |order| {
        let options = OpenOptions { order, ..named("ssdsim") };
        let mut reader = open_bytes(text, "t", &options).unwrap();
        let times: Result<Vec<_>, String> = reader
            .by_ref()
            .map(|record| record.map(|record| record.time_ns).map_err(|error| error.to_string()))
            .collect();
        (times, reader.statistics())
    };
    let refused = run(None).0.unwrap_err();
    assert_parts(&refused, &["t: line 2", "back by 50 ns", "order = error", "order = sort or order = clamp"]);
    assert_eq!(run(Some(Order::Clamp)).0, Ok(vec![0, 0, 100]));
    assert_eq!(run(Some(Order::Clamp)).1.clamped, 1);
    assert_eq!(run(Some(Order::Sort)).0, Ok(vec![0, 50, 150]));
    assert_eq!(run(Some(Order::Sort)).1.reordered, 1);
}

#[test]
fn the_sorting_window_is_bounded() {
    let rows = (0..100).map(|time| format!("{} 0 8 8 1\n", 1000 + time)).collect::<Vec<_>>().concat();
    let text = rows + "5 0 8 8 1\n";
    let options = OpenOptions { order: Some(Order::Sort), window_records: 10, ..named("ssdsim") };
    let results: Vec<_> = open_bytes(text.as_bytes(), "t", &options).unwrap().collect();
    assert_eq!(results.iter().filter(|record| record.is_ok()).count(), 100, "what came before stays valid");
    let text = results.last().unwrap().as_ref().unwrap_err().to_string();
    assert_parts(&text, &["line 101", "further than the sorting window of 10 records reaches", "order = whole"]);
}

#[test]
fn records_before_an_error_stay_valid() {
    let results: Vec<_> = open_bytes(b"1 0 8 8 1\n2 0 8 8 1\nx\n", "t", &strict("ssdsim")).unwrap().collect();
    assert_eq!(results.len(), 3);
    assert!(results[0].is_ok() && results[1].is_ok() && results[2].is_err());
}

#[test]
fn an_unknown_format_lists_the_known_ones() {
    let Err(error) = open_bytes(b"", "t", &named("nope")) else { panic!("accepted") };
    assert_parts(&error.to_string(), &["\"nope\"", "alibaba, arc", "wpa"]);
}

#[test]
fn a_missing_file_is_named() {
    let Err(error) = trace::formats::open("/nonexistent/x.spc", &OpenOptions::default()) else { panic!("opened") };
    assert_parts(&error.to_string(), &["/nonexistent/x.spc"]);
}

#[test]
fn an_endless_line_is_refused() {
    let Err(error) = open_bytes(&vec![b'1'; 3 << 20], "t", &named("spc")).unwrap().next().unwrap() else {
        panic!("accepted")
    };
    assert_parts(&error.to_string(), &["longer than 1048576 bytes"]);
}

#[test]
fn times_below_zero_are_refused() {
    for (format, text) in [
        ("spc", "0,100,4096,w,-1.0"),
        ("disksim", "-1 0 0 8 1"),
        ("ssdsim", "-1 0 8 8 1"),
        ("mqsim", "-1 0 8 8 1"),
        ("alibaba", "1,R,0,512,-5"),
        ("msr", "-128166372003061629,hm,1,Read,0,512,1"),
        ("midas", "-0.5 1 10 4096"),
        ("fiu", "-8 20782 gzip 283193184 8 R 6 0 56f11b711d91a065"),
        ("blkparse", "8,0 3 1 -0.1 697 Q W 223490 + 8 [kjournald]"),
        ("biosnoop", "-0.4 supervise 1950 xvda1 W 13092560 4096 0.74"),
        ("tracetracker", "-0.000001 RS 8 8 seq 0.1 0.2 0.3"),
    ] {
        assert_parts(&error(format, text), &["sample: line 1", "found \"-", "a time of 0 or more (add one amount"]);
    }
    let named = crate::support::detected("0,100,4096,w,-1.0\n", "t.csv").unwrap_err();
    assert_parts(&named, &["t.csv: line 1", "column 5 (Timestamp)", "-1.0"]);
}
