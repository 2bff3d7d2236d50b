//! Detection: certain where the contents are, refusing where they are not.

use crate::support::{detected, open_bytes};
use trace::formats::{FORMATS, OddLines, OpenOptions};

#[test]
fn contents_with_one_reading_are_recognised() {
    for (name, text) in [
        ("alibaba", "419,W,8792731648,16384,1577808144360767\n"),
        (
            "biosnoop",
            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.000004 supervise 1950 xvda1 W 13092560 4096 0.74\n",
        ),
        ("biotracer", "8\t8\t4096\t5\t1.5\t1.5\t1.5\t1.5\n"),
        (
            "blkparse",
            "8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]\n8,0 3 1 0.1 697 D W 223490 + 8 [kjournald]\n",
        ),
        ("blkparse-issue", "8,0 3 1 0.000000000 697 D W 223490 + 8 [kjournald]\n8,0 3 1 0.1 697 C W 223490 + 8 [0]\n"),
        ("blkparse-complete", "8,0 3 1 0.000000000 697 C W 223490 + 8 [0]\n"),
        (
            "block-ftrace",
            "a-1 [000] .... 1.5: block_bio_queue: 8,0 W 8 + 8 [a]\na-1 [000] .... 1.6: block_rq_issue: 8,0 W 0 () 8 + \
             8 [a]\n",
        ),
        ("block-ftrace-issue", "a-1 [000] .... 1.6: block_rq_issue: 8,0 W 0 () 8 + 8 [a]\n"),
        ("diskmon", "0\t0.01\t0.0\t0\tRead\t100\t8\n"),
        ("disksim", "13.191135\t30\t0\t5\t1\n17.829285\t20\t576560\t6\t1\n"),
        ("fio-iolog", "fio version 3 iolog\n1 a add\n2 a write 0 16384\n"),
        (
            "iosnoop",
            "Tracing block I/O. Ctrl-C to end.\nENDs COMM PID TYPE DEV BLOCK BYTES LATms\n1.5 a 1 W 8,0 8 4096 0.1\n",
        ),
        ("fiu", "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065\n"),
        (
            "mlperf-kv-cache",
            "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n1740553426.194021,Write,131072,Tier-2,a/b,Prefill\n",
        ),
        ("midas", "0.146559796 1 10 4096 \n"),
        ("msr", "128166372003061629,hm,1,Read,383496192,32768,413\n"),
        ("msr", "2007-02-22 17:00:00.306,hm,1,Read,383496192,32768,413\n"),
        ("nandarium", "time_ns,device,op,offset_bytes,length_bytes\n0,0,R,0,512\n"),
        ("pixel", "proces,device,rw_flag,sector,size,timestamp\nx,8388608,W,128,8,0.1\n"),
        (
            "scsi-ftrace",
            "a-1 [000] .... 1.5: scsi_dispatch_cmd_start: host_no=0 id=0 lun=0 cmnd=(READ_10 lba=8 txlen=8)\n",
        ),
        ("spc", "0,303567,3584,w,0.000000\n1,8,512,R,0.1,x,y\n"),
        ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n1456142400.123456789,0.001,W,4,512,4096\n"),
        ("tencent", "1538323200,12910952,128,0,1063\n"),
        (
            "ufs-ftrace",
            "# tracer: nop\na-1 [000] .... 1.5: ufshcd_command: send_req: u: tag: 1, DB: 0x0, size: 4096, IS: 0, \
             LBA: 1, opcode: 0x28 (READ_10)\n",
        ),
        (
            "xperf",
            "BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ByteOffset, IOSize, ElapsedTime, DiskNum\n\
             EndHeader\nDiskRead, 5, a ( 1), 0x0, 0x200, 1, 0\n",
        ),
        ("tracetracker", "0.000001 RS 8 8 seq 0.1 0.2 0.3\n"),
    ] {
        assert_eq!(detected(text, "unnamed"), Ok(name));
        assert_eq!(detected(text.replace('\n', "\r\n"), "unnamed"), Ok(name), "CRLF");
        assert_eq!(detected(text.trim_end(), "unnamed"), Ok(name), "no final newline");
    }
}

const FIVE_INTEGERS: &str = "0 0 303567 7 0\n26214000 1 240840 6 1\n";

#[test]
fn five_integer_columns_are_refused_with_the_choices() {
    let error = detected(FIVE_INTEGERS, "trace.txt").unwrap_err();
    for part in ["trace.txt", "--format disksim (time in ms", "--format mqsim (time in ns", "--format ssdsim"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn the_file_name_settles_what_the_contents_allow() {
    assert_eq!(detected(FIVE_INTEGERS, "a.ssdsim"), Ok("ssdsim"));
    assert_eq!(detected(FIVE_INTEGERS, "a.MQSIM.gz"), Ok("mqsim"));
    assert_eq!(detected(FIVE_INTEGERS, "a.disksim.xz"), Ok("disksim"));
    assert!(detected(FIVE_INTEGERS, "a.spc").is_err(), "contents that are no SPC");
}

#[test]
fn nvme_block_size_is_never_guessed() {
    let line = "a-1 [000] ..... 9.271124: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmd=(nvme_cmd_write slba=8, \
        len=7, ctrl=0x0)\n";
    let error = detected(line, "x").unwrap_err();
    assert!(error.contains("--format nvme-ftrace ") && error.contains("--format nvme-ftrace-4k "), "{error}");
}

#[test]
fn libcachesim_objects_are_never_guessed_and_rows_without_a_header_fit_nothing() {
    let error = detected("time,obj_id,obj_size\n5,8,4096\n", "x.csv").unwrap_err();
    assert!(
        error.contains("--format libcachesim-csv ") && error.contains("--format libcachesim-csv-bytes "),
        "{error}"
    );
    assert!(detected("5,8,4096\n", "x.csv").unwrap_err().contains("no trace format fits"));
}

#[test]
fn a_binary_file_of_no_format_is_not_shown_as_text() {
    let noise: Vec<u8> = (0..4000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    let error = detected(&noise, "x.bin").unwrap_err();
    assert!(error.contains("no trace format fits this binary file; the binary formats that are read are "), "{error}");
    assert!(error.contains("vscsi") && !error.contains("prefix caches"), "{error}");
    let error = detected(&noise, "chat.lcp.zst").unwrap_err();
    assert!(error.contains("prefix caches") && error.contains("mlperf-kv-cache"), "{error}");
    let error = detected("f\u{fc}r 12,8,4096\n".chars().map(|one| one as u8).collect::<Vec<_>>(), "x.csv").unwrap_err();
    assert!(error.contains("a file that starts with"), "{error}");
}

#[test]
fn nonsense_is_refused_with_the_names() {
    for text in ["", "hello world\n", "\0\x01\x02", "{\"a\": 1}\n"] {
        let error = detected(text, "x").unwrap_err();
        assert!(error.contains("no trace format fits") && error.contains("nandarium"), "{error}");
    }
    assert!(detected(b"\xff\xfeI\0O\0", "x").unwrap_err().contains("UTF-16"));
    assert!(detected(b"PK\x03\x04....", "x").unwrap_err().contains("zip"));
}

#[test]
fn every_format_says_what_it_is() {
    for format in FORMATS {
        for text in [format.doc, format.columns, format.time_unit, format.address_unit] {
            assert!(!text.is_empty(), "{}", format.name);
        }
    }
}

/// What detection says of a file in which no line is left out.
fn detected_strictly(bytes: &[u8], name: &str) -> Result<&'static str, String> {
    let options = OpenOptions { odd_lines: OddLines::Count(0), ..OpenOptions::default() };
    open_bytes(bytes, name, &options).map(|records| records.format().name).map_err(|error| error.to_string())
}

#[test]
fn a_malformed_line_is_named_even_where_nothing_fits() {
    let good = |time: u32| format!("0,{time},4096,w,{time}.5\n");
    let rows: Vec<String> = (0..20_000).map(good).collect();
    for (name, bad) in [("a.spc", 100), ("a.SPC.gz", 0), ("a.csv", 100), ("a.csv", 1)] {
        let mut rows = rows.clone();
        rows[bad] = "0,x7,4096,w,100.5\n".to_owned();
        let error = detected_strictly(rows.concat().as_bytes(), name).unwrap_err();
        let place = format!("{name}: line {}, column 2 (LBA): found \"x7\", expected an integer", bad + 1);
        assert!(error.contains(&place) && error.contains("--format"), "{error}");
    }
    let error = detected(format!("{FIVE_INTEGERS}\n\nx 1 2\n"), "a.txt").unwrap_err();
    assert!(error.contains("its first lines fit disksim, midas, mqsim, ssdsim"), "{error}");
    let error = detected(format!("{FIVE_INTEGERS}\n\nx 1 2\n"), "a.ssdsim").unwrap_err();
    assert!(error.contains("line 5, column 1"), "{error}");
}
