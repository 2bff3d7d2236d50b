//! Traces that stumble: one odd row, a clock that was set, rows of the wanted kind that come late.

use crate::support::{detected, error, named, open_bytes, record, records};
use trace::formats::{FORMATS, OpenOptions, Parser, ReadStatistics, Sink, TraceOptions, TraceRecord, TraceWorkload};
use trace::{Workload, WorkloadError};
use units::HostOp::{Read, Write};

/// A header, a request with a place for its size in the format's own unit, sizes of 4 KiB and of
/// nothing, for every text format.
const SIZED: [(&str, &str, &str, &str, &str); 32] = [
    ("alibaba", "", "1,R,0,{},5", "4096", "0"),
    ("arc", "", "100 {} 0 1", "8", "0"),
    ("biosnoop", "TIME COMM PID DISK T SECTOR BYTES LAT", "0.5 a 1 sda R 8 {} 0.1", "4096", "0"),
    ("biotracer", "", "8\t{}\t4\t1.5\t1.5\t1.5\t1.5", "8\t4096", "0\t0"),
    ("blkparse", "", "8,0 3 1 0.5 697 Q R 8 + {} [x]", "8", "0"),
    ("blkparse-complete", "", "8,0 3 1 0.5 697 C R 8 + {} [0]", "8", "0"),
    ("blkparse-issue", "", "8,0 3 1 0.5 697 D R 8 + {} [x]", "8", "0"),
    ("block-ftrace", "", "a-1 [000] .... 0.5: block_bio_queue: 8,0 R 8 + {} [a]", "8", "0"),
    ("block-ftrace-issue", "", "a-1 [000] .... 0.5: block_rq_issue: 8,0 R 4096 () 8 + {} [a]", "8", "0"),
    ("diskmon", "", "0\t0.1\t0.0\t0\tRead\t100\t{}", "8", "0"),
    ("disksim", "", "1.0 0 0 {} 1", "8", "0"),
    ("fio-iolog", "fio version 3 iolog", "5 a read 0 {}", "4096", "0"),
    ("iosnoop", "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms", "0.5 0.6 a 1 R 8,0 8 {} 100", "4096", "0"),
    ("fiu", "", "5 2 gzip 8 {} R 6 0 56f1", "8", "0"),
    ("libcachesim-csv", "time,obj_id,obj_size", "5,8,{}", "4096", "0"),
    ("libcachesim-csv-bytes", "time,obj_id,obj_size", "5,4096,{}", "4096", "0"),
    ("midas", "", "0.5 0 10 {}", "4096", "0"),
    (
        "mlperf-kv-cache",
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase",
        "0.5,Read,{},Tier-2,a,Decode",
        "4096",
        "0",
    ),
    ("mqsim", "", "5 0 1 {} 1", "8", "0x0"),
    ("msr", "", "128166372003061629,hm,1,Read,0,{},1", "4096", "0"),
    ("nandarium", "time_ns,device,op,offset_bytes,length_bytes", "5,0,R,0,{}", "4096", "0"),
    ("pixel", "", "x,254,R,8,{},0.5", "8", "0"),
    (
        "scsi-ftrace",
        "",
        "a-1 [000] .... 0.5: scsi_dispatch_cmd_start: host_no=0 id=0 lun=0 cmnd=(READ_10 lba=8 txlen={} raw=28)",
        "8",
        "0",
    ),
    (
        "scsi-ftrace-4k",
        "",
        "a-1 [000] .... 0.5: scsi_dispatch_cmd_start: host_no=0 id=0 lun=0 cmnd=(READ_10 lba=8 txlen={} raw=28)",
        "1",
        "0",
    ),
    ("spc", "", "0,8,{},r,0.5", "4096", "0"),
    ("ssdsim", "", "5 0 1 {} 1", "8", "0"),
    ("systor", "", "1456142400.5,0.1,R,4,0,{}", "4096", "0"),
    ("tencent", "", "1538323200,0,{},0,1", "8", "0"),
    ("tracetracker", "", "0.5 R 8 {} seq 0.1 0.2 0.3", "8", "0"),
    (
        "ufs-ftrace",
        "",
        "a-1 [000] .... 0.5: ufshcd_command: send_req: u: tag: 1, DB: 0x0, size: {}, LBA: 1, opcode: 0x28 (READ_10)",
        "4096",
        "0",
    ),
    (
        "wpa",
        "IO Type;Init Time (s);IO Time (us);Size (B);Min Offset;Max Offset;Disk",
        "Read;1,0;1,0;{};1",
        "4.096;0x0;0xFFF",
        "0;0x0;0x0",
    ),
    (
        "xperf",
        "BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ByteOffset, IOSize, ElapsedTime, DiskNum\nEndHeader",
        " DiskRead, 5, a ( 1), 0x0, {}, 1, 0",
        "4096",
        "0",
    ),
];

/// Read as a whole: what came out, and what was left out.
fn whole(options: &OpenOptions, bytes: &[u8]) -> (Vec<TraceRecord>, ReadStatistics) {
    let mut reader = open_bytes(bytes, "sample", options).unwrap_or_else(|error| panic!("{error}"));
    let found: Result<Vec<_>, WorkloadError> = reader.by_ref().collect();
    (found.unwrap_or_else(|error| panic!("{error}")), reader.statistics())
}

/// One request of no bytes among thousands had the whole log refused.
#[test]
fn a_request_of_size_zero_is_left_out_and_counted_in_every_text_format() {
    for (format, header, row, some, none) in SIZED {
        let row = |size: &str| row.replace("{}", size);
        let text = format!("{header}\n{}\n{}\n{}\n", row(some), row(none), row(some));
        let (found, statistics) = whole(&named(format), text.as_bytes());
        assert_eq!(found.len(), 2, "{format}");
        assert!(found.iter().all(|record| record.op == Read && record.length_bytes == 4096), "{format}: {found:?}");
        assert_eq!((statistics.records, statistics.dropped_zero, statistics.dropped_other), (2, 1, 0), "{format}");
    }
}

/// Formats where a size of zero cannot be written, or that have a test of their own for it.
const UNSIZED: [&str; 10] = [
    "blktrace",
    "blktrace-complete",
    "blktrace-issue",
    "hp-srt",
    "nvme-ftrace",
    "nvme-ftrace-4k",
    "oracle-general",
    "oracle-general-bytes",
    "vscsi1",
    "vscsi2",
];

#[test]
fn every_format_is_tried_with_a_size_of_zero() {
    let tried: Vec<&str> = SIZED.iter().map(|sized| sized.0).collect();
    for format in FORMATS {
        assert!(tried.contains(&format.name) != UNSIZED.contains(&format.name), "{}", format.name);
    }
}

/// A phone that set its clock while it was traced: 1970, then 2014.
const CLOCK_SET: &str = "8\t8\t4096\t4\t5.0\t5.1\t5.1\t5.1\n\
                         8\t8\t4096\t4\t6.0\t6.1\t6.1\t6.1\n\
                         8\t8\t4096\t4\t1398396860.5\t1398396860.6\t1398396860.6\t1398396860.6\n\
                         8\t8\t4096\t4\t1398396861.0\t1398396861.1\t1398396861.1\t1398396861.1\n";

#[test]
fn gaps_beyond_the_limit_are_cut_to_it_after_sorting_and_counted() {
    let limit = |ns| OpenOptions { gap_limit_ns: ns, ..named("biotracer") };
    let times = |options: &OpenOptions, text: &str| {
        let (found, statistics) = whole(options, text.as_bytes());
        (found.iter().map(|record| record.time_ns).collect::<Vec<_>>(), statistics)
    };
    let (all, statistics) = times(&limit(None), CLOCK_SET);
    assert_eq!(all, [0, 1_000_000_000, 1_398_396_855_500_000_000, 1_398_396_856_000_000_000]);
    assert_eq!((statistics.gaps_cut, statistics.gaps_note(None)), (0, None));
    let hour = Some(3_600_000_000_000);
    let (cut, statistics) = times(&limit(hour), CLOCK_SET);
    assert_eq!(cut, [0, 1_000_000_000, 3_601_000_000_000, 3_601_500_000_000]);
    assert_eq!((statistics.gaps_cut, statistics.gaps_cut_ns), (1, 1_398_396_854_500_000_000 - 3_600_000_000_000));
    let note = statistics.gaps_note(hour).unwrap();
    assert_eq!(note, "1 gap longer than 1 h was cut to 1 h, 44.31 years in all (workload.gap_limit).");
    let rows: Vec<&str> = CLOCK_SET.lines().collect();
    let late = [rows[0], rows[2], rows[1], rows[3]].join("\n");
    assert_eq!(times(&limit(hour), &late).0, cut, "a row that came late makes no gap of its own");
}

#[test]
fn a_replay_cuts_gaps_and_says_so() {
    let options = TraceOptions {
        format: Some("biotracer".to_owned()),
        gap_limit_ns: Some(1_000_000_000),
        ..TraceOptions::new(1 << 20)
    };
    let reader = Box::new(std::io::Cursor::new(CLOCK_SET));
    let mut workload = TraceWorkload::from_reader(reader, "x", &options).unwrap();
    let mut requests = Vec::new();
    workload.next_batch(&mut requests, 10).unwrap();
    let arrivals: Vec<u64> = requests.iter().map(|request| request.arrival).collect();
    assert_eq!(arrivals, [0, 1_000_000_000, 2_000_000_000, 2_500_000_000]);
    let notes = workload.notes();
    assert!(notes.iter().any(|note| note.contains("1 gap longer than 1s was cut")), "{notes:?}");
}

#[test]
fn times_that_span_more_than_the_clock_holds_are_told_the_limit_for_gaps() {
    let text = format!("{SNOOP_HEADER}0.0 a 1 sda R 8 512 9000000000000\n9000000000 a 1 sda R 8 512 0.0\n");
    let mut reader = open_bytes(text.as_bytes(), "x", &named("biosnoop")).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().time_ns, 0, "what came before stays valid");
    let error = reader.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("292 years") && error.contains("give workload.gap_limit (--gap-limit"), "{error}");
    assert!(reader.next().is_none());
    let options = OpenOptions { gap_limit_ns: Some(5), ..named("biosnoop") };
    let (found, statistics) = whole(&options, text.as_bytes());
    assert_eq!((found[1].time_ns, statistics.gaps_cut_ns), (5, 18_000_000_000_000_000_000 - 5));
}

fn action(letter: char, count: usize, first: usize) -> String {
    let row = |row: usize| format!("8,0 3 {row} {row}.0 697 {letter} W {} + 8 [x]\n", row * 8);
    (first..first + count).map(row).collect::<Vec<_>>().concat()
}

/// Detection looked at 400 rows, took the D rows that were there, and lost the Q rows after them.
#[test]
fn rows_of_action_q_after_hundreds_without_are_read() {
    let text = action('D', 2000, 0) + &action('Q', 3, 2000);
    assert!(text.len() > 64 << 10, "longer than the first sample");
    assert_eq!(detected(&text, "x"), Ok("blkparse"));
    assert_eq!(detected(action('D', 450, 0) + &action('Q', 3, 450), "x"), Ok("blkparse"), "a short file");
    assert_eq!(detected(action('C', 2000, 0) + &action('D', 3, 2000), "x"), Ok("blkparse-issue"));
    assert_eq!(detected(action('D', 2000, 0) + &action('C', 3, 2000), "x"), Ok("blkparse-issue"));
}

#[test]
fn rows_of_action_q_beyond_the_deeper_look_are_never_lost_in_silence() {
    let text = action('D', 100_000, 0) + &action('Q', 3, 100_000);
    assert!(text.len() > 4 << 20, "longer than the deeper sample");
    let read = |options: &OpenOptions| -> Result<Vec<TraceRecord>, String> {
        let reader = open_bytes(text.as_bytes(), "x", options).map_err(|error| error.to_string())?;
        reader.map(|record| record.map_err(|error| error.to_string())).collect()
    };
    let error = read(&OpenOptions::default()).unwrap_err();
    for part in
        ["x: line 100001", "column 6 (action)", "found \"Q\"", "--format blkparse reads the Q rows, blkparse-issue"]
    {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert_eq!(read(&named("blkparse-issue")).map(|found| found.len()), Ok(100_000), "named, it is what was asked for");
    assert_eq!(read(&named("blkparse")).map(|found| found.len()), Ok(3));
}

const SNOOP_HEADER: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";

/// They became a second device without a name, and the trace was refused for having two.
#[test]
fn biosnoop_rows_without_a_disk_are_left_out_beside_rows_with_one() {
    let text = format!(
        "{SNOOP_HEADER}0.1 a 1 R 8 512 0.0\n0.2 a 1 <unknown> R 8 512 0.0\n0.3 a 1 sda W 16 512 0.0\n\
         0.4 a 1 R 24 512 0.0\n0.5 a 1 Unknown FWS 24 512 0.0\n0.6 a 1 sda R 32 512 0.0\n"
    );
    let (found, statistics) = whole(&named("biosnoop"), text.as_bytes());
    let plain: Vec<_> =
        found.iter().map(|found| record(found.time_ns, found.device, found.op, found.offset_bytes, 512)).collect();
    assert_eq!(plain, [record(0, 0, Write, 8192, 512), record(300_000_000, 0, Read, 16_384, 512)]);
    assert_eq!((statistics.records, statistics.dropped_other, statistics.dropped_zero), (2, 4, 0));
}

#[test]
fn biosnoop_rows_without_a_disk_are_one_device_where_no_row_has_one() {
    let row = |row: usize| format!("{row}.1 a 1 R 8 512 0.0\n");
    let rows = |count: usize| (0..count).map(row).collect::<Vec<_>>().concat();
    for count in [3, 5000] {
        let text = format!("{SNOOP_HEADER}{}", rows(count));
        assert_eq!(detected(&text, "x"), Ok("biosnoop"));
        let (found, statistics) = whole(&named("biosnoop"), text.as_bytes());
        assert_eq!((found.len(), statistics.dropped_other), (count, 0));
        assert!(found.iter().all(|record| record.device == 0));
    }
    let text = format!("{SNOOP_HEADER}{}9999 a 1 sda R 8 512 0.0\n", rows(5000));
    let found = records("biosnoop", &text);
    assert_eq!((found.len(), found[5000].device), (5001, 1), "a first name this late is another device");
}

#[test]
fn a_bad_row_held_back_is_still_refused() {
    let text = format!("{SNOOP_HEADER}0.1 a 1 R 36028797018963967 1024 0.0\n");
    assert!(error("biosnoop", text).contains("line 2"));
}

/// bcc prints BYTES and LAT without a blank between them where both are long.
#[test]
fn fused_columns_of_biosnoop_are_read() {
    let row = |time: usize, rest: &str| format!("{time}.000000    dd             100     {rest}\n");
    let text = [
        SNOOP_HEADER.to_owned(),
        row(4, "sda       W 64         10485761234.56"),
        row(5, "sda       W 64         104857612345.67"),
        row(6, "W 64         167772161000.00"),
        row(7, "sda       W 64         4096      0.50"),
    ];
    let (found, statistics) = whole(&named("biosnoop"), text.concat().as_bytes());
    assert_eq!((found.len(), statistics.dropped_other), (3, 1), "a row without a disk is left out beside others");
    let mut latencies: Vec<_> =
        found.iter().filter(|record| record.length_bytes == 1_048_576).map(|record| record.latency_ns).collect();
    latencies.sort_unstable();
    assert_eq!(latencies, [Some(1_234_560_000), Some(12_345_670_000)]);
}

#[test]
fn fused_columns_with_a_queue_time_are_read() {
    let header = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n";
    let text = format!("{header}0.5 dd 1 sda W 8 4096 0.01 0.50\n9.0 dd 1 sda R 64 10485761500.00 1500.25\n");
    let (found, _) = whole(&named("biosnoop"), text.as_bytes());
    assert_eq!((found[1].length_bytes, found[1].latency_ns), (1_048_576, Some(1_500_250_000)));
}

#[test]
fn columns_that_may_be_split_in_two_ways_or_in_none_are_not_guessed() {
    for fused in ["10485765121234.56", "10485770123.45", "1048576123.45", "10485761234", "10000001234.56"] {
        let text = error("biosnoop", format!("{SNOOP_HEADER}0.5 dd 1 sda W 64 {fused}\n"));
        assert!(text.contains("line 2"), "{text}");
    }
}

/// The refused row set the clock, and all rows after it came a day late.
#[test]
fn a_row_that_is_refused_does_not_set_the_clock() {
    let rows = "0\t12:00:00\t0.1\t0\tRead\t8\t8\n1\t00:00:01\t0.1\t0\tRaed\t8\t8\n2\t12:00:02\t0.1\t0\tRead\t8\t8\n";
    let mut parser = match (FORMATS.iter().find(|format| format.name == "diskmon").unwrap().parser)() {
        Parser::Lines(parser) => parser,
        Parser::Frames(_) => unreachable!("it is text"),
    };
    let mut sink = Sink::default();
    let refused = rows.lines().filter(|row| parser.parse(row.as_bytes(), &mut sink).is_err()).count();
    assert_eq!((refused, sink.records[1].time_ns - sink.records[0].time_ns), (1, 2_000_000_000));
}

/// It was a line of "0\0,\0" in the words of the format.
#[test]
fn text_in_utf_16_is_told_for_named_formats_and_columns_with_and_without_a_mark() {
    let text = "1577808000000046,W,4096,4096\r\n".repeat(50);
    let units = || text.encode_utf16().flat_map(u16::to_le_bytes);
    let swapped = || text.encode_utf16().flat_map(u16::to_be_bytes);
    let marked = |mark: [u8; 2], bytes: Vec<u8>| [mark.to_vec(), bytes].concat();
    let columns = OpenOptions { columns: Some("time=1:us,op=2,offset=3,size=4".to_owned()), ..OpenOptions::default() };
    for (bytes, encoding) in [
        (units().collect::<Vec<_>>(), "UTF-16LE"),
        (swapped().collect(), "UTF-16BE"),
        (marked([0xff, 0xfe], units().collect()), "UTF-16"),
        (marked([0xfe, 0xff], swapped().collect()), "UTF-16"),
    ] {
        for options in [OpenOptions::default(), named("alibaba"), columns.clone()] {
            let error = open_bytes(&bytes, "t.csv", &options).err().expect("it is not a text of bytes").to_string();
            let remedy = format!("iconv -f {encoding} -t UTF-8");
            assert_eq!(error, format!("t.csv: the text is UTF-16; convert it first: {remedy}"));
        }
    }
}

/// The error showed all of the text.
#[test]
fn text_with_carriage_returns_alone_is_told_in_one_line() {
    let text = "7,W,4096,4096,1577808000000046\r".repeat(3000);
    for options in [OpenOptions::default(), named("alibaba")] {
        let error = open_bytes(text.as_bytes(), "t.csv", &options).err().expect("it has no lines").to_string();
        let remedy = r"tr '\r' '\n' < FILE > NEW";
        assert_eq!(error, format!("t.csv: the lines end with carriage returns alone; convert them first: {remedy}"));
    }
    let last = open_bytes(b"7,W,4096,4096,1577808000000046\r", "t.csv", &named("alibaba")).unwrap();
    assert_eq!(last.map(Result::unwrap).count(), 1, "a last line that lacks the other half of its end");
}
