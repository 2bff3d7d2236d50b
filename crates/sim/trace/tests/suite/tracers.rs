//! What tracers of Windows, Android and Linux write beside the layouts of the block layer.

use crate::support::{detected, error, named, open_bytes, record, records, with_latency};
use trace::formats::OpenOptions;
use units::HostOp::{Flush, Read, Trim, Write};

/// The notes of a trace that is read to its end.
fn notes(format: &str, text: &str) -> Vec<String> {
    let mut reader = open_bytes(text.as_bytes(), "x", &named(format)).unwrap();
    assert!(reader.by_ref().all(|record| record.is_ok()));
    reader.notes()
}

const XPERF: &str = "\
BeginHeader
      P-Start, TimeStamp, Process Name ( PID), ParentPID
      DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, FileName
      DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, FileName
      DiskFlush, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ElapsedTime, DiskNum, IrpFlags
EndHeader
OS Version: 6.0.6001, Trace Size: 2048KB, Events Lost: 0, First Time: 0
      DiskReadInit, 1000, System (   4), 1808, 0xfffffa800b1c0000
      DiskWrite, 1300, my server.exe (1234), 1808, 0xfffffa800b1c0000, 0x000a2f0000, 0x2000, 300, 0, \"D:\\x, y.dat\"
      P-Start, 1350, cmd.exe (  77), 4
      DiskRead, 1800, a, b (x86).exe (1235), 1808, 0xfffffa800b1c0001, 170860544, 8192, 300, 1, \"D:\\x\"
      DiskFlush, 2000, Unknown (  -1), 1808, 0xfffffa800b1c0002, 50, 0, 0x060000
";

/// No format was there for it.
#[test]
fn xperf_rows_arrive_before_they_complete_and_process_names_may_have_commas() {
    let expected = [
        with_latency(record(0, 0, Write, 170_852_352, 8192), 300_000),
        with_latency(record(500_000, 1, Read, 170_860_544, 8192), 300_000),
        with_latency(record(950_000, 0, Flush, 0, 0), 50_000),
    ];
    assert_eq!(records("xperf", XPERF), expected);
    assert_eq!(detected(XPERF, "x.csv"), Ok("xperf"));
    let mut reader = open_bytes(XPERF.as_bytes(), "x", &named("xperf")).unwrap();
    assert!(reader.by_ref().all(|record| record.is_ok()));
    assert_eq!((reader.statistics().dropped_other, reader.origin_ns()), (2, Some(1_000_000)));
    let note = "The rows that were left out include Init rows, which begin a request that has a row of its own (1).";
    assert_eq!(reader.notes(), [note]);
}

/// A real dump begins with hundreds of kinds of rows, and thousands of rows of processes and files.
#[test]
fn xperf_is_told_by_its_header_however_late_its_first_request_comes() {
    let many = |row: &str| format!("{row}\n").repeat(3000);
    let text = XPERF.replace("BeginHeader\n", &format!("BeginHeader\n{}", many(" T-Start, TimeStamp, ThreadID")));
    let text = text.replace("EndHeader\n", &format!("EndHeader\n{}", many(" I-Start, 5, 0x1, \"x, y\"")));
    assert_eq!(detected(&text, "x.csv"), Ok("xperf"));
    assert_eq!(records("xperf", &text).len(), 3);
}

#[test]
fn xperf_says_what_is_missing() {
    let lossy = XPERF.replace("Lost: 0", "Lost: 1,204");
    let mut reader = open_bytes(lossy.as_bytes(), "x", &named("xperf")).unwrap();
    assert!(reader.by_ref().all(|record| record.is_ok()));
    assert!(reader.doubt().is_some_and(|doubt| doubt.contains("lost 1204 of")), "one note, with the whole number");
    assert!(reader.notes().iter().all(|note| !note.contains("lost")), "{:?}", reader.notes());
    let headless = error("xperf", "DiskRead, 5, a ( 1), 0x0, 0x200, 1, 0\n");
    assert!(headless.contains("line 1 (first line)") && headless.contains("expected BeginHeader"), "{headless}");
    let unnamed = error("xperf", XPERF.replace("DiskFlush, TimeStamp", "DiskFlushed, TimeStamp"));
    assert!(unnamed.contains("\"DiskFlush\"") && unnamed.contains("whose columns the header names"), "{unnamed}");
    let short = error("xperf", XPERF.replace("0x000a2f0000", ""));
    assert!(short.contains("line 9, column 6 (ByteOffset)"), "{short}");
    let column = error("xperf", XPERF.replace("ElapsedTime, DiskNum, FileName", "FileName"));
    assert!(column.contains("line 3 (header)") && column.contains("expected ElapsedTime"), "{column}");
}

fn ufs(time: &str, what: &str, tag: u32, size: &str, block: &str, opcode: &str) -> String {
    format!(
        "    kworker/1:1H-175     [001] ..... {time}: ufshcd_command: {what}: 1d84000.ufshc: tag: {tag}, DB: 0x0, \
         size: {size}, IS: 0, LBA: {block}, opcode: {opcode} (X), group_id: 0x0, hwq_id: 1\n"
    )
}

/// The comment on top was quoted, and no format was there.
#[test]
fn ufs_requests_count_once_in_blocks_of_4096_bytes_with_the_latency_of_their_tag() {
    let rows = [
        "# tracer: nop\n#\n".to_owned(),
        ufs("222.735000", "complete_rsp", 9, "4096", "8", "0x28"),
        ufs("222.735000", "send_req", 0, "32768", "327748", "0x2a"),
        ufs("222.735100", "send_req", 1, "4096", "8", "0x28"),
        ufs("222.735200", "send_req", 2, "8192", "16", "0x42"),
        ufs("222.735300", "send_req", 3, "-1", "18446744073709551615", "0x35"),
        ufs("222.735400", "complete_rsp", 0, "32768", "327748", "0x2a"),
        ufs("222.735450", "dev_complete", 1, "4096", "8", "0x28"),
        ufs("222.735500", "complete_rsp", 1, "4096", "8", "0x28"),
        ufs("222.735600", "send_req", 0, "-1", "0", "0x8a"),
        ufs("222.735700", "send_req", 4, "-1", "0", "0x1b"),
        "    a-1 [001] ..... 222.736: sched_switch: prev_comm=a\n".to_owned(),
    ];
    let text = rows.concat();
    let expected = [
        with_latency(record(0, 0, Write, 1_342_455_808, 32_768), 400_000),
        with_latency(record(100_000, 0, Read, 32_768, 4096), 400_000),
        record(200_000, 0, Trim, 65_536, 8192),
        record(300_000, 0, Flush, 0, 0),
    ];
    assert_eq!(records("ufs-ftrace", &text), expected);
    assert_eq!(detected(&text, "ufs.txt"), Ok("ufs-ftrace"));
    let mut reader = open_bytes(text.as_bytes(), "x", &named("ufs-ftrace")).unwrap();
    assert!(reader.by_ref().all(|record| record.is_ok()));
    assert_eq!((reader.statistics().records, reader.statistics().dropped_other), (4, 7));
    assert_eq!(reader.device_name(0), "0 = 1d84000.ufshc");
    assert!(reader.notes()[0].contains("commands whose size the trace does not have (1)"), "{:?}", reader.notes());
    let bad = error("ufs-ftrace", text.replace("327748", "x"));
    assert!(bad.contains("line 4 (LBA)") && bad.contains("found \"x\""), "{bad}");
}

fn scsi(time: &str, event: &str, lun: u32, tag: &str, command: &str) -> String {
    format!(
        "  kworker/1:1H-175 [001] ..... {time}: scsi_dispatch_cmd_{event}: host_no=0 channel=0 id=2 lun={lun} \
         data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL {tag}cmnd=({command})\n"
    )
}

#[test]
fn scsi_commands_have_blocks_of_two_sizes_and_the_latency_of_their_tag() {
    let tag = |tag: u32| format!("driver_tag={tag} scheduler_tag=9 ");
    let write = "WRITE_10 lba=327748 txlen=8 protect=0 raw=2a 08 00 05 00 44 00 00 08 00";
    let rows = [
        scsi("1.000000", "start", 0, &tag(5), write),
        scsi("1.000100", "start", 1, &tag(5), "READ_16 lba=8 txlen=2 protect=0 raw=88 08"),
        scsi("1.000200", "start", 0, "", "SYNCHRONIZE_CACHE - raw=35 00"),
        scsi("1.000300", "start", 0, &tag(6), "WRITE_SAME_16 lba=16 txlen=8 protect=0 unmap=1 raw=93 08"),
        scsi("1.000400", "start", 0, &tag(7), "UNMAP regions=1 raw=42 00"),
        scsi("1.000450", "start", 0, &tag(7), "ZBC_OUT RESET_WRITE_POINTER zone=0 all=0 raw=94 04"),
        scsi("1.000500", "start", 0, &tag(8), "INQUIRY - raw=12 00"),
        scsi("1.000600", "done", 0, &tag(5), write),
        scsi("1.000700", "done", 1, &tag(5), "READ_16 lba=8 txlen=2 protect=0 raw=88 08"),
    ];
    let text = rows.concat();
    let of = |block: u64| {
        let mut write = with_latency(record(0, 0, Write, 327_748 * block, 8 * block), 600_000);
        write.fua = true;
        [
            write,
            with_latency(record(100_000, 1, Read, 8 * block, 2 * block), 600_000),
            record(200_000, 0, Flush, 0, 0),
            record(300_000, 0, Trim, 16 * block, 8 * block),
        ]
    };
    assert_eq!(records("scsi-ftrace", &text), of(512));
    assert_eq!(records("scsi-ftrace-4k", &text), of(4096));
    assert_eq!(detected(&text, "scsi.txt"), Ok("scsi-ftrace"));
    assert_eq!(detected(&text, "phone.scsi-ftrace-4k.gz"), Ok("scsi-ftrace-4k"));
    let mut reader = open_bytes(text.as_bytes(), "x", &named("scsi-ftrace")).unwrap();
    assert_eq!(reader.by_ref().count(), 4);
    assert_eq!(reader.device_name(1), "1 = 0:0:2:1");
    let notes = reader.notes().join(" ");
    for part in ["UNMAP commands, whose ranges the trace does not have (1)", "commands to zones (1)", "scsi-ftrace-4k"]
    {
        assert!(notes.contains(part), "{part} in {notes}");
    }
    assert!(!crate::tracers::notes("scsi-ftrace-4k", &text).join(" ").contains("512 bytes"));
}

#[test]
fn events_of_two_layers_in_one_ftrace_are_never_chosen_between() {
    let text = ufs("1.5", "send_req", 0, "4096", "8", "0x2a")
        + "a-1 [000] .... 1.5: block_rq_issue: 8,0 W 4096 () 64 + 8 [a]\n";
    let error = detected(&text, "x").unwrap_err();
    assert!(error.contains("--format ufs-ftrace ") && error.contains("--format block-ftrace-issue "), "{error}");
}

const IOSNOOP: &str = "\
Tracing block I/O. Ctrl-C to end.
STARTs         ENDs           COMM         PID    TYPE DEV      BLOCK        BYTES     LATms
5982800.000000 5982800.000804 supervise    1809   W    202,1    17039968     4096       0.80
5982800.010000 5982800.010300 Chrome IO Th 1810   RM   202,16   8            512        0.30
5982800.020000 5982800.020900 jbd2/sda-8   212    FF   202,1    18446744073709551615 0   0.90
^C
Ending tracing...
";

/// It was read as biosnoop, and the advice to correct the file led nowhere.
#[test]
fn iosnoop_of_perf_tools_is_read_by_itself() {
    let device = |minor: u32| 202 << 20 | minor;
    let expected = [
        with_latency(record(0, device(1), Write, 17_039_968 * 512, 4096), 804_000),
        with_latency(record(10_000_000, device(16), Read, 4096, 512), 300_000),
        with_latency(record(20_000_000, device(1), Flush, 0, 0), 900_000),
    ];
    assert_eq!(records("iosnoop", IOSNOOP), expected);
    assert_eq!(detected(IOSNOOP, "x"), Ok("iosnoop"));
    let mut reader = open_bytes(IOSNOOP.as_bytes(), "x", &OpenOptions::default()).unwrap();
    reader.next();
    assert_eq!(reader.device_name(device(1)), format!("{} = 202,1", device(1)));
}

#[test]
fn iosnoop_with_one_time_arrives_at_issue_and_without_any_is_refused() {
    let columns = "COMM PID TYPE DEV BLOCK BYTES LATms\n";
    let starts = format!("STARTs {columns}5.0 a b 1 W 8,0 8 512 0.50\n6.0 a 1 W 8,0 8 512 0.50\n");
    let ends = format!("ENDs {columns}5.0 a b 1 W 8,0 8 512 0.50\n6.0 a 1 W 8,0 8 512 1.50\n");
    let second = |time| with_latency(record(time, 8 << 20, Write, 4096, 512), 500_000);
    assert_eq!(records("iosnoop", starts), [second(0), second(1_000_000_000)]);
    let found = records("iosnoop", ends);
    assert_eq!((found[1].time_ns, found[1].latency_ns), (999_000_000, Some(1_500_000)));
    let timeless = format!("Tracing block I/O.\n{columns}supervise 1809 W 202,1 17039968 4096 0.80\n");
    let error = detected(timeless, "out").unwrap_err();
    assert!(error.contains("line 3") && error.contains("iosnoop -ts") && !error.contains("biosnoop"), "{error}");
}

/// `found "disk/w.0.0", expected add, open, ...; correct the file`.
#[test]
fn paths_with_blanks_in_logs_of_fio_are_read_from_the_right() {
    let three = "fio version 3 iolog\n19 /tmp/my disk/w.0.0 add\n123 /tmp/my disk/w.0.0 open\n\
                 128 /tmp/my disk/w.0.0 write 0 4096\n168 /tmp/read me/w 7 read 28672 4096\n\
                 180 /tmp/my disk/w.0.0 sync\n190 /tmp/my disk/w.0.0 datasync 0 0\n2000 /tmp/my disk/w.0.0 close\n";
    let expected = [
        record(0, 0, Write, 0, 4096),
        record(40_000, 1, Read, 28_672, 4096),
        record(52_000, 0, Flush, 0, 0),
        record(62_000, 0, Flush, 0, 0),
    ];
    assert_eq!(records("fio-iolog", three), expected);
    assert_eq!(detected(three, "x"), Ok("fio-iolog"));
    let mut reader = open_bytes(three.as_bytes(), "x", &named("fio-iolog")).unwrap();
    assert!(reader.by_ref().all(|record| record.is_ok()));
    assert_eq!(["0 = /tmp/my disk/w.0.0", "1 = /tmp/read me/w 7"], [0, 1].map(|device| reader.device_name(device)));
    let two = "fio version 2 iolog\n/tmp/my read disk add\n/tmp/my read disk open\n/tmp/my read disk write 4096 8192\n\
               /tmp/my read disk wait 250 0\n/tmp/my read disk trim 0 4096\n/tmp/my read disk close\n";
    assert_eq!(records("fio-iolog", two), [record(0, 0, Write, 4096, 8192), record(250_000, 0, Trim, 0, 4096)]);
    let cut = error("fio-iolog", "fio version 3 iolog\n5 a write x 4096\n");
    assert!(cut.contains("column 4 (offset)"), "{cut}");
}
