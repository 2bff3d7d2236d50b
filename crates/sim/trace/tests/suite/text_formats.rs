//! Each text format on hand-made samples: units, operation codes, and the traps of each.

use crate::support::{error, named, open_bytes, record, records, with_latency};
use trace::formats::OpenOptions;
use units::HostOp::{Flush, Read, Trim, Write};

#[test]
fn spc_size_is_in_bytes_and_zero_is_dropped() {
    let text = "0,20941264,8192,W,0.551706,Alpha/NT\n1, 303567,3584,w,1.000000\n1,0,0,r,1.5\n1,8,512,R,2\n";
    assert_eq!(
        records("spc", text),
        [
            record(0, 0, Write, 20_941_264 * 512, 8192),
            record(448_294_000, 1, Write, 303_567 * 512, 3584),
            record(1_448_294_000, 1, Read, 8 * 512, 512),
        ]
    );
    let mut reader = open_bytes(text.as_bytes(), "x.spc", &named("spc")).unwrap();
    assert_eq!(reader.by_ref().count(), 3);
    assert_eq!(reader.statistics().dropped_zero, 1);
    assert_eq!(reader.origin_ns(), Some(551_706_000));
}

#[test]
fn msr_filetime_keeps_every_tick() {
    let text = "128166372003061629,hm,1,Read,383496192,32768,413\n\
                128166372003061630,hm,1,Write,512,4096,7\n";
    let expected = [
        with_latency(record(0, 1, Read, 383_496_192, 32_768), 41_300),
        with_latency(record(100, 1, Write, 512, 4096), 700),
    ];
    assert_eq!(records("msr", text), expected);
    let mut reader = open_bytes(text.as_bytes(), "hm_1.csv", &named("msr")).unwrap();
    reader.next();
    assert_eq!(reader.origin_ns(), Some(1_172_163_600_306_162_900), "2007-02-22 17:00:00 UTC");
    assert_eq!(reader.device_name(1), "1 = hm_1");
}

#[test]
fn msr_rows_out_of_order_are_sorted_and_counted() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                128166372003061700,a,0,Read,0,512,1\n128166372003061600,a,0,Write,0,512,1\n";
    let mut reader = open_bytes(text.as_bytes(), "a", &named("msr")).unwrap();
    let ops: Vec<_> = reader.by_ref().map(|record| record.unwrap().op).collect();
    assert_eq!(ops, [Write, Read]);
    assert_eq!(reader.statistics().reordered, 1);
}

#[test]
fn disksim_is_milliseconds_with_hexadecimal_flags_and_bit_0_is_read() {
    let text = "13.191135\t30\t0\t5\t1\n17.829285 20 576560 6 10\n17.829286 20 8 8 0x11\n";
    assert_eq!(
        records("disksim", text),
        [
            record(0, 30, Read, 0, 2560),
            record(4_638_150, 20, Write, 576_560 * 512, 3072),
            record(4_638_151, 20, Read, 4096, 4096),
        ]
    );
}

#[test]
fn mqsim_one_is_read_and_prefixes_follow_c() {
    assert_eq!(
        records("mqsim", "100 4 264719034 16 0\n350 0 0x10 010 1"),
        [record(0, 4, Write, 264_719_034 * 512, 8192), record(250, 0, Read, 16 * 512, 8 * 512)]
    );
}

#[test]
fn ssdsim_one_is_read_and_the_last_line_needs_no_newline() {
    assert_eq!(
        records("ssdsim", "0 0 303567 7 0\r\n26214000 1 240840 6 1"),
        [record(0, 0, Write, 303_567 * 512, 3584), record(26_214_000, 1, Read, 240_840 * 512, 3072)]
    );
}

#[test]
fn midas_one_is_write_and_addresses_are_pages() {
    let text = "0.146559796 1 10 4096 \n0.146609386 0 5 8192 2\n0.2 3 1 4096 0\n";
    assert_eq!(
        records("midas", text),
        [
            record(0, 0, Write, 40_960, 4096),
            record(49_590, 0, Read, 20_480, 8192),
            record(53_440_204, 0, Trim, 4096, 4096),
        ]
    );
}

#[test]
fn diskmon_follows_the_locale_and_may_have_an_empty_column() {
    let text = "0\t0,010000\t0,00001\t0\tRead\t100\t8\t\n1\t0,020000\t0,00001\t1\tWrite\t0\t1\n";
    assert_eq!(records("diskmon", text), [record(0, 0, Read, 51_200, 4096), record(10_000_000, 1, Write, 0, 512)]);
    let clock = "0\t23:59:59\t0\t0\tRead\t0\t1\n1\t00:00:01\t0\t0\tRead\t0\t1\n";
    assert_eq!(records("diskmon", clock)[1].time_ns, 2_000_000_000, "over midnight");
}

#[test]
fn wpa_numbers_are_localised() {
    let header = "IO Type;Priority;Process (Name);Init Time (s);Complete Time (s);IO Time (\u{b5}s);Size (B);Min \
        Offset;Max Offset;Disk;Count";
    let text = format!(
        "\u{feff}{header}\r\n\
         Read;Normal;System;1,079943800;1,080031000;1.087,200;16.384;0x0000000000000400;0x00000000000043FF;1;1\r\n\
         Flush;Normal;System;1,179943800;1,18;45,700;0;0xFFFFFFFFFFFFFFFF;0xFFFFFFFFFFFFFFFF;1;1\r\n"
    );
    assert_eq!(
        records("wpa", &text),
        [
            with_latency(record(0, 1, Read, 1024, 16_384), 1_087_200),
            with_latency(record(100_000_000, 1, Flush, 0, 0), 45_700),
        ]
    );
    let english = "IO Type,Init Time (s),IO Time (us),Size (B),Min Offset,Max Offset,Disk\n\
                   Write,\"1,079.943800000\",\"1,087.200\",\"16,384\",0x400,0x43FF,0\n";
    assert_eq!(records("wpa", english), [with_latency(record(0, 0, Write, 1024, 16_384), 1_087_200)]);
    let mut reader = open_bytes(english.as_bytes(), "x", &named("wpa")).unwrap();
    reader.next();
    assert_eq!(reader.origin_ns(), Some(1_079_943_800_000));
}

const BLKPARSE: &str = "\
  8,16   1        1     0.000000000   697  A   W 223490 + 8 <- (8,17) 223427
  8,16   1        2     0.000001000   697  Q   W 223490 + 8 [kjournald]
  8,16   0        3     0.000000500   697  Q  RA 100 + 16 [two words]
  8,16   1        4     0.000004000   697  Q FWFS 8 + 8 [jbd2/sda1-8]
  8,16   1        5     0.000005000   697  Q  DS 4096 + 2048 [fstrim]
  8,16   1        6     0.000006000   697  Q FWS [kworker]
  8,16   1        0     0.000006500     0  m   N cfq697 put_queue
  8,16   1        7     0.000007000   697  Q   R 36 (12 00 00 00 24 00 ..) [udevd]
  8,16   1        8     0.000008000   697  D   W 223490 + 16 [kjournald]
  8,16   1        9     0.000009000     0  C   W 223490 + 16 [0]
CPU1 (8,16):
 Reads Queued:           1,        8KiB
Total (8,16):
";

#[test]
fn blkparse_takes_one_action_sorts_and_stops_at_the_summary() {
    let device = 8 << 20 | 16;
    let mut fua = record(3500, device, Write, 4096, 4096);
    fua.fua = true;
    assert_eq!(
        records("blkparse", BLKPARSE),
        [
            record(0, device, Read, 51_200, 8192),
            record(500, device, Write, 223_490 * 512, 4096),
            record(3500, device, Flush, 0, 0),
            fua,
            record(4500, device, Trim, 4096 * 512, 2048 * 512),
            record(5500, device, Flush, 0, 0),
        ]
    );
    assert_eq!(records("blkparse-issue", BLKPARSE), [record(0, device, Write, 223_490 * 512, 8192)]);
    assert_eq!(records("blkparse-complete", BLKPARSE), [record(0, device, Write, 223_490 * 512, 8192)]);
}

#[test]
fn fio_version_2_waits_and_version_3_stamps_microseconds() {
    let two = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 4096 8192\n/dev/sda wait 250 0\n\
               /dev/sda wait 99 0\n/dev/sda trim 0 4096\n/dev/sda datasync 0 0\n/dev/sda close\n";
    assert_eq!(
        records("fio-iolog", two),
        [record(0, 0, Write, 4096, 8192), record(250_000, 0, Trim, 0, 4096), record(250_000, 0, Flush, 0, 0)]
    );
    let three = "fio version 3 iolog\n2 a add\n3 b add\n878 a write 0 16384\n888 b read 512 512\n9 a close\n";
    assert_eq!(records("fio-iolog", three), [record(0, 0, Write, 0, 16_384), record(10_000, 1, Read, 512, 512)]);
}

#[test]
fn systor_keeps_nine_decimals_and_counts_unanswered_rows() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n1456142400.123456789,0.001234000,W,4,512,4096\n\
                1456142400.123456790,,,4,0,4096\n1456142400.123456791,0.5,R,4,0,1024\n";
    assert_eq!(
        records("systor", text),
        [
            with_latency(record(0, 4, Write, 512, 4096), 1_234_000),
            with_latency(record(2, 4, Read, 0, 1024), 500_000_000)
        ]
    );
}

#[test]
fn alibaba_is_bytes_and_microseconds() {
    let text = "device_id,opcode,offset,length,timestamp\n\
                419,W,8792731648,16384,1577808144360767\n725,R,0,4096,1577808144360768\n";
    assert_eq!(
        records("alibaba", text),
        [record(0, 419, Write, 8_792_731_648, 16_384), record(1000, 725, Read, 0, 4096)]
    );
}

#[test]
fn tencent_one_is_write_and_units_are_sectors_and_seconds() {
    let text = "1538323200,12910952,128,0,1063\n1538323201,8,8,1,1063\n";
    assert_eq!(
        records("tencent", text),
        [record(0, 1063, Read, 12_910_952 * 512, 65_536), record(1_000_000_000, 1063, Write, 4096, 4096)]
    );
}

#[test]
fn biosnoop_arrives_at_issue_and_names_may_have_blanks() {
    let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
                0.000004    supervise two  1950   xvda1   W 13092560   4096      0.74\n\
                0.000178    supervise      1950   xvdb    R 8          512       0.61\n\
                0.000200    kworker/23:1   9126           R 18446744073709551615 0         0.61\n";
    let mut reader = open_bytes(text.as_bytes(), "x", &named("biosnoop")).unwrap();
    let found: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(
        found,
        [
            with_latency(record(0, 0, Write, 13_092_560 * 512, 4096), 740_000),
            with_latency(record(304_000, 1, Read, 4096, 512), 610_000),
        ]
    );
    assert_eq!(reader.device_name(1), "1 = xvdb");
    assert_eq!(reader.statistics().dropped_zero, 1);
}

#[test]
fn biosnoop_of_libbpf_has_letters_queue_time_and_a_clock() {
    let text = "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
                00:00:01.5 fio 1 nvme0n1 WFS 8 4096 0.010 1.000\n00:00:02 fio 1 nvme0n1 FF 0 0 0.1 0.5\n";
    let mut fua = with_latency(record(0, 0, Write, 4096, 4096), 1_000_000);
    fua.fua = true;
    assert_eq!(records("biosnoop", text), [fua, with_latency(record(500_500_000, 0, Flush, 0, 0), 500_000)]);
}

const FTRACE: &str = "\
# tracer: nop
   raft-benchmark-35708   [000] .....  9203.271124: block_plug: [raft-benchmark]
   raft-benchmark-35708   [000] .....  9203.271124: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=53265, nsid=1, \
   flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=498455552, len=7, ctrl=0x4000, dsmgmt=0, reftag=0)
   two words-35708   [000] d.h..  9203.271126: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, \
   meta=0x0, cmd=(nvme_cmd_read slba=8, len=0, ctrl=0x0, dsmgmt=0, reftag=0)
   a-1   [000] .....  9203.271127: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, meta=0x0, \
   cmd=(nvme_cmd_dsm nr=0, attributes=4)
   a-1   [000] .....  9203.271128: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, meta=0x0, \
   cmd=(nvme_cmd_flush cdw10=00)
";

#[test]
fn nvme_lengths_are_zero_based_and_blocks_have_two_sizes() {
    let of = |block: u64| {
        let mut fua = record(0, 0, Write, 498_455_552 * block, 8 * block);
        fua.fua = true;
        [fua, record(2000, 0, Read, 8 * block, block), record(4000, 0, Flush, 0, 0)]
    };
    assert_eq!(records("nvme-ftrace", FTRACE), of(512));
    assert_eq!(records("nvme-ftrace-4k", FTRACE), of(4096));
}

#[test]
fn fiu_is_nanoseconds_and_blocks() {
    let text = "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n\
                89968195792463 20782 my tool 8 16 W 6 0 56f1\n";
    let device = 6 << 20;
    assert_eq!(
        records("fiu", text),
        [record(0, device, Read, 283_193_184 * 512, 4096), record(1, device, Write, 4096, 8192)]
    );
}

#[test]
fn biotracer_bit_0_is_write() {
    let text = "5835272\t\t128\t\t65536\t\t5\t\t1411507019.013851007\t\t\
                1411507019.013929132\t\t1411507019.016080122\t\t1411507019.022426685\n\
                8\t\t8\t\t4096\t\t4\t\t1411507019.013851008\t\t1411507019.1\t\t1411507019.1\t\t1411507019.1\n";
    assert_eq!(
        records("biotracer", text),
        [
            with_latency(record(0, 0, Write, 5_835_272 * 512, 65_536), 8_575_678),
            with_latency(record(1, 0, Read, 4096, 4096), 86_148_992),
        ]
    );
}

#[test]
fn pixel_header_is_misspelt_and_a_marker_row_is_skipped() {
    let text = "proces,device,rw_flag,sector,size,timestamp\nx,y,8388608,W,128,8,0.100000001\n\
                preconditioning_ended\nz,254,R,136,16,0.100000002\n";
    assert_eq!(records("pixel", text), [record(0, 0, Write, 65_536, 4096), record(1, 1, Read, 136 * 512, 8192)]);
}

#[test]
fn arc_has_reads_without_times() {
    assert_eq!(
        records("arc", "100 2 0 1\n7 1 0 2\n"),
        [record(0, 0, Read, 51_200, 1024), record(0, 0, Read, 3584, 512)]
    );
}

#[test]
fn tracetracker_rs_is_a_read() {
    let text = "0.000001 RS 8 8 seq 0.1 0.2 0.3\n0.000002 WS 0 8 rand 0.1 0.2 0.3\n";
    assert_eq!(records("tracetracker", text), [record(0, 0, Read, 4096, 4096), record(1000, 0, Write, 0, 4096)]);
}

#[test]
fn nandarium_columns_may_end_early() {
    assert_eq!(
        records("nandarium", "time_ns,device,op,offset_bytes,length_bytes\n5,1,T,0,4096\n9,0,F,0,0\n"),
        [record(0, 1, Trim, 0, 4096), record(4, 0, Flush, 0, 0)]
    );
}

const BLOCK_FTRACE: &str = "\
# tracer: nop
   two words-35708   [000] .....  9203.271124: block_bio_queue: 259,0 WS 1000 + 8 [two words]
   a-1   [000] .....  9203.271125: block_bio_queue: 8,0 FWFS 2000 + 16 [a]
   a-1   [000] d..2.  9203.271126: block_rq_issue: 8,0 W 0 () 1234 + 8 [kworker/0:1H]
   a-1   [000] .....  9203.271127: block_rq_issue: 259,0 WS 65536 () 64 + 128 none,0,0 |32768| [fio]
   a-1   [000] .....  9203.271128: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [kworker/7:1H]
   a-1   [000] .....  9203.271129: block_rq_issue: 8,0 R 36 (12 00 00 00 24 00) 0 + 0 none,0,0 [udevd]
   a-1   [000] .....  9203.271130: block_rq_issue: 8,0 N 0 () 0 + 0 [kworker]
   a-1   [000] .....  9203.271131: block_rq_issue:        8,0 DS 1048576 () 4096 + 2048 be,0,6 [fstrim]
   a-1   [000] d.h..  9203.271132: block_rq_complete: 8,0 W () 1234 + 8 [0]
    kworker/4:1H    533 [004]  9203.271133:   block:block_rq_issue: 259,0 RM 4096 () 8 + 8 [kworker/4:1H]
";

#[test]
fn block_events_of_ftrace_trace_cmd_and_perf_are_read_at_one_step() {
    let (nvme, sda) = (259 << 20, 8 << 20);
    let mut fua = record(1000, sda, Write, 2000 * 512, 8192);
    fua.fua = true;
    assert_eq!(
        records("block-ftrace", BLOCK_FTRACE),
        [record(0, nvme, Write, 512_000, 4096), record(1000, sda, Flush, 0, 0), fua]
    );
    assert_eq!(
        records("block-ftrace-issue", BLOCK_FTRACE),
        [
            record(0, sda, Write, 1234 * 512, 4096),
            record(1000, nvme, Write, 64 * 512, 65_536),
            record(2000, sda, Flush, 0, 0),
            record(5000, sda, Trim, 4096 * 512, 1 << 20),
            record(7000, nvme, Read, 4096, 4096),
        ]
    );
    let mut reader = open_bytes(BLOCK_FTRACE.as_bytes(), "x", &named("block-ftrace-issue")).unwrap();
    assert_eq!(reader.by_ref().count(), 5);
    let left_out = reader.statistics();
    assert_eq!((left_out.dropped_other, left_out.dropped_zero, left_out.dropped_comment), (4, 1, 1));
    assert_eq!(reader.device_name(nvme), format!("{nvme} = 259,0"));
}

#[test]
fn msr_times_may_be_dates() {
    let text = "2007-02-22 17:00:00.3061629,hm,1,Read,383496192,32768,413\n\
                2007-02-22T17:00:01Z,hm,1,Write,512,4096,7\n";
    let expected = [
        with_latency(record(0, 1, Read, 383_496_192, 32_768), 41_300),
        with_latency(record(693_837_100, 1, Write, 512, 4096), 700),
    ];
    assert_eq!(records("msr", text), expected);
    let mut reader = open_bytes(text.as_bytes(), "x", &OpenOptions::default()).unwrap();
    reader.next();
    assert_eq!((reader.format().name, reader.origin_ns()), ("msr", Some(1_172_163_600_306_162_900)));
    let refused = error("msr", "22/02/2007 17:00:00,hm,1,Read,0,512,1");
    assert!(refused.contains("YYYY-MM-DD HH:MM:SS"), "{refused}");
}

#[test]
fn libcachesim_columns_follow_the_header() {
    let sample = "version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33899.5,28,6656,8\n";
    let of = |unit: u64| [record(0, 0, Write, 42_932_745 * unit, 512), record(1_500_000_000, 0, Read, 8 * unit, 6656)];
    assert_eq!(records("libcachesim-csv", sample), of(512));
    assert_eq!(records("libcachesim-csv-bytes", sample), of(1));
    let plain = "5,100,4096\n6,200,512,more\n";
    let reads = [record(0, 0, Read, 51_200, 4096), record(1_000_000_000, 0, Read, 102_400, 512)];
    assert_eq!(records("libcachesim-csv", plain), reads);
    let refused = error("libcachesim-csv", "time,obj_id,obj_size\n5,a_b_1,4096\n");
    assert!(refused.contains("column 2 (object)") && refused.contains("a hash is none"), "{refused}");
    assert!(error("libcachesim-csv", "time,what,size\n").contains("columns time, obj_id and obj_size"));
}
