//! A small trace in every format.

use trace::formats::FORMATS;

/// Rows of each sample.
const ROWS: u64 = 12;

/// Format, header, row. In a row `#` is the number of the row plus ten, `@` a multiple of 8, `?` another sign in each
/// third row: the second of the two given.
const TEXTS: [(&str, &str, &str, [&str; 2]); 32] = [
    ("alibaba", "device_id,opcode,offset,length,timestamp", "1,?,@,4096,#", ["R", "W"]),
    ("arc", "", "@ 8 0 #", ["", ""]),
    ("biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)", "#.5 a b 1 sda ? @ 4096 0.74", ["R", "WFS"]),
    ("biotracer", "", "@\t8\t4096\t?\t#.5\t#.6\t#.7\t#.8", ["4", "5"]),
    ("blkparse", "", "8,0 3 # #.000000001 697 Q ? @ + 8 [a b]", ["R", "FWFS"]),
    ("blkparse-complete", "", "8,0 3 # #.000000001 697 C ? @ + 8 [0]", ["RA", "DS"]),
    ("blkparse-issue", "", "8,0 3 # #.000000001 697 D ? @ + 8 [a]", ["ZAS", "ZF"]),
    ("block-ftrace", "# tracer: nop", "a-1 [000] .... #.5: block_bio_queue: 8,0 ? @ + 8 [a]", ["R", "ZA"]),
    ("block-ftrace-issue", "", "a-1 [000] .... #.5: block_rq_issue: 8,0 ? 4096 () @ + 8 be,0,4 [a]", ["R", "W"]),
    ("diskmon", "", "#\t#.01\t0.0\t0\t?\t@\t8", ["Read", "Write"]),
    ("disksim", "", "#.5 0 @ 8 ?", ["1", "0"]),
    ("fio-iolog", "fio version 3 iolog\n5 /tmp/a b add", "# /tmp/a b ? @ 4096", ["read", "write"]),
    ("fiu", "", "# 20782 my gzip @ 8 ? 6 0 56f11b711d91a065", ["R", "W"]),
    (
        "iosnoop",
        "Tracing block I/O.\nSTARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms",
        "#.5 #.6 a b 1 ? 8,0 @ 4096 100",
        ["R", "WS"],
    ),
    ("libcachesim-csv", "time,obj_id,obj_size,op", "#,@,4096,?", ["read", "write"]),
    ("libcachesim-csv-bytes", "time,obj_id,obj_size,op", "#,@,4096,?", ["read", "write"]),
    ("midas", "", "#.5 ? @ 4096 0", ["0", "3"]),
    (
        "mlperf-kv-cache",
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase",
        "#.194021,?,Tier-2,layer@,Evict",
        ["Read,4097", "Write,131072"],
    ),
    ("mqsim", "", "# 0 @ 8 ?", ["1", "0"]),
    ("msr", "", "1281663720030616#,hm,1,?,@,4096,413", ["Read", "Write"]),
    ("nandarium", "time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns", "#,0,?,@,4096,0,7", ["R", "W"]),
    ("nvme-ftrace", "", NVME, ["nvme_cmd_write", "nvme_cmd_zone_append"]),
    ("nvme-ftrace-4k", "", NVME, ["nvme_cmd_read", "nvme_cmd_write_zeroes"]),
    ("pixel", "proces,device,rw_flag,sector,size,timestamp", "x,8388608,?,@,8,#.1", ["R", "W"]),
    ("scsi-ftrace", "", SCSI, ["READ_10", "WRITE_10"]),
    ("scsi-ftrace-4k", "", SCSI, ["READ_16", "SYNCHRONIZE_CACHE"]),
    ("spc", "", "0,@,4096,?,#.5", ["r", "W"]),
    ("ssdsim", "", "# 0 @ 8 ?", ["1", "0"]),
    ("systor", "Timestamp,Response,IOType,LUN,Offset,Size", "#.5,0.001,?,4,@,4096", ["R", "W"]),
    ("tencent", "", "15383232#,@,8,?,1063", ["0", "1"]),
    ("tracetracker", "", "#.5 ? @ 8 seq 0.1 0.2 0.3", ["RS", "W"]),
    ("wpa", "IO Type;Init Time (s);IO Time (us);Size (B);Min Offset;Disk", "?;#,5;1,0;4.096;0x@;1", ["Read", "Write"]),
];

const NVME: &str = "a-1 [000] ..... #.271124: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, \
    meta=0x0, cmd=(? slba=@, len=7, ctrl=0x0, dsmgmt=0, reftag=0)";
const SCSI: &str = "a-1 [000] ..... #.5: scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 driver_tag=5 \
    cmnd=(? lba=@ txlen=8 protect=0 raw=2a 08 00 05)\n\
    a-1 [000] ..... #.6: scsi_dispatch_cmd_done: host_no=0 channel=0 id=0 lun=0 driver_tag=5 \
    cmnd=(? lba=@ txlen=8 raw=2a)";
const UFS: &str = "a-1 [000] ..... #.5: ufshcd_command: send_req: 1d84000.ufshc: tag: 3, DB: 0x0, size: 4096, IS: 0, \
    LBA: @, opcode: ? (X), group_id: 0x0\n\
    a-1 [000] ..... #.6: ufshcd_command: complete_rsp: 1d84000.ufshc: tag: 3, DB: 0x0, size: 4096, IS: 0, LBA: @, \
    opcode: ? (X), group_id: 0x0";
const XPERF_HEADER: &str = "BeginHeader\n DiskRead, TimeStamp, Process Name ( PID), ByteOffset, IOSize, ElapsedTime, \
    DiskNum, FileName\n DiskWrite, TimeStamp, Process Name ( PID), ByteOffset, IOSize, ElapsedTime, DiskNum, FileName\n\
    EndHeader";

fn text(header: &str, row: &str, signs: [&str; 2]) -> Vec<u8> {
    let mut text = if header.is_empty() { String::new() } else { format!("{header}\n") };
    for number in 0..ROWS {
        let sign = signs[usize::from(number % 3 == 2)];
        let of = |number: u64| (number + 10).to_string();
        text += &row.replace('#', &of(number)).replace('@', &(number * 5 % 7 * 8).to_string()).replace('?', sign);
        text.push('\n');
    }
    text.into_bytes()
}

/// Little-endian records of fields given as width and value.
fn binary(row: impl Fn(u64) -> Vec<(usize, u64)>) -> Vec<u8> {
    let bytes = |(width, value): (usize, u64)| value.to_le_bytes()[..width].to_vec();
    (0..ROWS).flat_map(row).flat_map(bytes).collect()
}

fn hp_srt() -> Vec<u8> {
    let mut bytes = b"$$TR_IOREC-1.3 (test)\n0\nsectorsize = 512,\n\x0c".to_vec();
    for row in 0..ROWS as u32 {
        let words = [56, 4 << 16 | 1, 1, row, 174, 19_687, 4096, row * 8, 1 << 8, 4, 1, row % 2, 0, 1];
        bytes.extend(words.iter().flat_map(|word: &u32| word.to_be_bytes()));
    }
    bytes
}

fn binaries() -> Vec<(&'static str, Vec<u8>)> {
    let oracle = || binary(|row| vec![(4, row), (8, row * 8), (4, 4096), (8, u64::MAX)]);
    let blktrace = |step: u64| {
        binary(|row| {
            let head = vec![(4, 0x6561_7408), (4, row), (8, row * 1000), (8, row * 8), (4, 4096)];
            [
                head,
                vec![
                    (4, 7),
                    (8, step | 1 << 17 | (row % 2) << 32),
                    (4, 8 << 20),
                    (4, 0),
                    (2, 0),
                    (2, 0),
                    (8, 0),
                    (4, 0),
                ],
            ]
            .concat()
        })
    };
    let vscsi1 = |row: u64| vec![(4, 1), (4, 4096), (4, 1), (2, 0x28), (2, 0x100), (8, row * 8), (8, row)];
    let vscsi2 = |row: u64| vec![(2, 0x2a), (2, 0x200), (4, 1), (4, 4096), (4, 1), (8, row * 8), (8, row), (8, 250)];
    vec![
        ("blktrace", blktrace(1)),
        ("blktrace-complete", blktrace(8)),
        ("blktrace-issue", blktrace(7)),
        ("hp-srt", hp_srt()),
        ("oracle-general", oracle()),
        ("oracle-general-bytes", oracle()),
        ("vscsi1", binary(vscsi1)),
        ("vscsi2", binary(vscsi2)),
    ]
}

/// A trace of a few rows in each text format.
pub fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let mut all: Vec<_> = TEXTS.iter().map(|(name, header, row, signs)| (*name, text(header, row, *signs))).collect();
    all.push(("ufs-ftrace", text("# tracer: nop", UFS, ["0x28", "0x2a"])));
    let xperf = " ?, #00, my, own (x86) (  12), 0x@, 0x1000, 30, 1, \"a, b\"";
    all.push(("xperf", text(XPERF_HEADER, xperf, ["DiskRead", "DiskWrite"])));
    all
}

/// A trace of a few rows in each format.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    [texts(), binaries()].concat()
}

#[test]
fn there_is_a_sample_of_every_format() {
    let mut names: Vec<&str> = all().into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, FORMATS.iter().map(|format| format.name).collect::<Vec<_>>());
}
