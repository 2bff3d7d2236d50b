//! How many lines of a trace are read in a second, format by format.

use crate::rows::{Row, Scale};
use crate::stopwatch::Stopwatch;
use std::io::Cursor;
use trace::formats::{OpenOptions, open_reader};

/// Row of the table, format, header, and a line in which `#` is a number that grows and `@` one that jumps.
const FORMATS: [(&str, &str, &str, &str); 14] = [
    ("lines of biosnoop", "biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)", "#.5 a b 1 sda W @ 4096 0.74"),
    ("lines of blkparse", "blkparse", "", "8,0 3 # #.000000001 697 Q WS @ + 8 [kworker]"),
    (
        "lines of block-ftrace",
        "block-ftrace-issue",
        "",
        "fio-1 [000] .... #.5: block_rq_issue: 8,0 W 4096 () @ + 8 [fio]",
    ),
    ("lines of fio-iolog", "fio-iolog", "fio version 3 iolog", "# /tmp/my disk/w.0.0 write @ 4096"),
    (
        "lines of iosnoop",
        "iosnoop",
        "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms",
        "#.000000 #.000800 supervise 1809 W 202,1 @ 4096 0.80",
    ),
    (
        "lines of mlperf-kv-cache",
        "mlperf-kv-cache",
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase",
        "#.194021,Write,131072,Tier-2,layer@/user0,Prefill",
    ),
    ("lines of msr", "msr", "", "#,hm,1,Read,@,32768,413"),
    (
        "lines of nvme-ftrace",
        "nvme-ftrace",
        "",
        "fio-1 [000] .... #.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, meta=0x0, \
         cmd=(nvme_cmd_write slba=@, len=7, ctrl=0x0, dsmgmt=0, reftag=0)",
    ),
    (
        "lines of scsi-ftrace",
        "scsi-ftrace",
        "",
        "fio-1 [000] .... #.5: scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 data_sgl=1 prot_sgl=0 \
         prot_op=SCSI_PROT_NORMAL driver_tag=5 scheduler_tag=9 cmnd=(WRITE_10 lba=@ txlen=8 protect=0 raw=2a 00 00)",
    ),
    ("lines of spc", "spc", "", "0,@,4096,W,#.5"),
    ("lines of systor", "systor", "Timestamp,Response,IOType,LUN,Offset,Size", "#.5,0.001,W,4,@,4096"),
    (
        "lines of ufs-ftrace",
        "ufs-ftrace",
        "",
        "fio-1 [000] .... #.5: ufshcd_command: send_req: 1d84000.ufshc: tag: 3, DB: 0x0, size: 4096, IS: 0, LBA: @, \
         opcode: 0x2a (WRITE_10), group_id: 0x0, hwq_id: 1",
    ),
    (
        "lines of wpa",
        "wpa",
        "IO Type;Priority;Init Time (s);IO Time (us);Size (B);Min Offset;Disk",
        "Write;Normal;#,5;1,0;4.096;0x@;1",
    ),
    (
        "lines of xperf",
        "xperf",
        "BeginHeader\n DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, \
         DiskNum, IrpFlags\nEndHeader",
        "      DiskWrite,   #00,   server.exe (1234),    1808, 0xfffffa800b1c0000, 0x@, 0x2000,  30,   0, 0x060043",
    ),
];

/// Lines of text that are made; a trace is this text over and over.
const LINES: u64 = 50_000;

fn text(header: &str, line: &str) -> String {
    let mut text = format!("{header}\n");
    for number in 0..LINES {
        let of = |number: u64| number.to_string();
        text += &line.replace('#', &of(1_000_000 + number)).replace('@', &of(number * 7919 % 100_000 * 8));
        text.push('\n');
    }
    text
}

pub(crate) fn measure(scale: Scale) -> Vec<Row> {
    let passes: u32 = if scale == Scale::Smoke { 1 } else { 20 };
    let row = |(name, format, header, line): (&'static str, &str, &str, &str)| {
        let text = text(header, line);
        let options = OpenOptions { format: Some(format.to_owned()), ..OpenOptions::default() };
        let (mut seconds, mut by_cpu, mut hash) = (0.0, 0.0, 0);
        for _ in 0..passes {
            let reader = Box::new(Cursor::new(text.clone()));
            let stopwatch = Stopwatch::start();
            let records = open_reader(reader, name, &options).expect("the text is of this format");
            let ends = records.map(|record| record.expect("each line is of this format").end_bytes());
            hash = ends.fold(0, u64::wrapping_add);
            let [wall, cpu] = stopwatch.seconds();
            (seconds, by_cpu) = (seconds + wall, by_cpu + cpu);
        }
        let millions = (LINES * u64::from(passes)) as f64 / 1e6;
        Row {
            name,
            measured: millions / seconds,
            by_cpu: millions / by_cpu,
            target: 1.0,
            unit: "M/s",
            smaller_is_better: false,
            commands_per_second: 0.0,
            bytes_per_page: None,
            hash,
        }
    };
    FORMATS.map(row).into()
}
