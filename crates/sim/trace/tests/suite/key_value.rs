//! Traces of objects with keys, which get addresses.

use crate::support::{named, open_bytes, record};
use trace::Workload;
use trace::WorkloadError;
use trace::formats::{Allocator, OpenOptions, Records, TraceOptions, TraceRecord, TraceWorkload, summarise};
use units::HostOp::{Read, Trim, Write};

const HEADER: &str = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n";

const LOG: &str = "\
1740553426.000000,Write,131072,Tier-0,layer0/user0,Prefill
1740553426.001000,Read,131072,Tier-0,layer0/user0,Decode
1740553426.002000,Read,131072,Tier-0,layer0/user0,Evict
1740553426.002000,Write,131072,Tier-2,layer0/user0,Evict
1740553426.003000,Write,5000,Tier-2,\"a \"\"b\"\", c\",Prefill
1740553426.004000,Read,131072,Tier-2,layer0/user0,Decode
1740553426.005000,Read,4096,Tier-2,before the trace,Decode
1740553426.004500,Read,131072,Tier-2,layer0/user0,Evict
1740553426.006000,Write,4096,Tier-2,small,Prefill
1740553426.007000,Read,5000,Tier-2,\"a \"\"b\"\", c\",Decode
1740553426.008000,Write,0,Tier-2,nothing,Prefill
";

fn open(log: &str, allocator: Option<Allocator>) -> Result<Records, WorkloadError> {
    let options = OpenOptions { allocator, ..OpenOptions::default() };
    open_bytes(format!("{HEADER}{log}").as_bytes(), "kv.csv", &options)
}

fn read(log: &str, allocator: Allocator) -> (Vec<TraceRecord>, Records) {
    let mut reader = open(log, Some(allocator)).unwrap();
    (reader.by_ref().map(Result::unwrap).collect(), reader)
}

const MS: i64 = 1_000_000;
const KIB: u64 = 1024;

#[test]
fn objects_on_the_drive_keep_their_place_and_an_eviction_is_a_trim() {
    let (found, reader) = read(LOG, Allocator::FirstFit);
    let expected = [
        record(0, 0, Write, 0, 131_072),
        record(MS, 0, Write, 131_072, 5000),
        record(2 * MS, 0, Read, 0, 131_072),
        record(3 * MS, 0, Read, 136 * KIB, 4096),
        // It was logged with a time before that of the row above, and the places depend on the order of the rows.
        record(3 * MS, 0, Read, 0, 131_072),
        record(3 * MS, 0, Trim, 0, 131_072),
        record(4 * MS, 0, Write, 0, 4096),
        record(5 * MS, 0, Read, 131_072, 5000),
    ];
    assert_eq!(found, expected);
    let statistics = reader.statistics();
    assert_eq!((statistics.dropped_other, statistics.dropped_zero, statistics.clamped), (3, 1, 2));
    let notes = reader.notes();
    assert!(notes[0].contains("rows of tiers that are not a drive") && notes[0].contains("(3)"), "{notes:?}");
    let told = "Keys of Tier-2 got addresses (workload.allocator = first-fit): 3 objects at the end, in a space of \
                140KiB, 124KiB of it free, in pieces of 124KiB at most; objects that were read before they were \
                written, and have places too: 1.";
    assert_eq!(notes[1], told);
    assert_eq!(reader.device_name(0), "0 = Tier-2");
}

#[test]
fn by_tier_each_tier_is_a_device() {
    let (found, reader) = read(LOG, Allocator::ByTier);
    let tiers: Vec<_> = found.iter().take(5).map(|record| (record.device, record.op, record.offset_bytes)).collect();
    assert_eq!(tiers, [(0, Write, 0), (0, Read, 0), (0, Read, 0), (0, Trim, 0), (1, Write, 0)]);
    assert_eq!([0, 1].map(|device| reader.device_name(device)), ["0 = Tier-0", "1 = Tier-2"]);
    assert_eq!((found.len(), reader.statistics().dropped_other, reader.notes().len()), (12, 0, 2));
}

#[test]
fn a_log_appends_each_version_and_trims_the_one_before() {
    let row = |second: u32, key: &str| format!("{second},Write,4096,Tier-2,{key},Prefill\n");
    let (found, _) = read(&(row(1, "a") + &row(2, "a") + &row(3, "b")), Allocator::Log);
    let found: Vec<_> = found.iter().map(|record| (record.op, record.offset_bytes)).collect();
    assert_eq!(found, [(Write, 0), (Write, 4096), (Trim, 0), (Write, 0)], "half of the space was free");
}

#[test]
fn packed_with_zstd_it_is_read_the_same() {
    let packed = zstd::encode_all(format!("{HEADER}{LOG}").as_bytes(), 1).unwrap();
    let mut reader = open_bytes(&packed, "kv.csv.zst", &OpenOptions::default()).unwrap();
    assert_eq!(reader.format().name, "mlperf-kv-cache");
    let summary = summarise(&mut reader).unwrap();
    let ops: Vec<_> = summary.ops.iter().map(|op| (op.records, op.bytes)).collect();
    assert_eq!(ops[..3], [(4, 271_240), (3, 140_168), (1, 131_072)]);
    assert!(summary.notes[1].contains("124KiB of it free"), "{:?}", summary.notes);
}

#[test]
fn a_replay_takes_the_allocator_and_tells_the_fragmentation() {
    let replay = |allocator| {
        let options = TraceOptions { allocator: Some(allocator), ..TraceOptions::new(1 << 20) };
        let text = std::io::Cursor::new(format!("{HEADER}{LOG}"));
        let mut workload = TraceWorkload::from_reader(Box::new(text), "kv.csv", &options).unwrap();
        let mut requests = Vec::new();
        workload.next_batch(&mut requests, 100).unwrap();
        (requests.len(), workload.notes().join(" "))
    };
    let (requests, notes) = replay(Allocator::FirstFit);
    assert_eq!(requests, 8);
    assert!(notes.contains("in pieces of 124KiB at most"), "{notes}");
    assert!(replay(Allocator::Log).1.contains("workload.allocator = log"));
}

#[test]
fn an_allocator_for_records_with_addresses_is_refused() {
    let options = OpenOptions { allocator: Some(Allocator::Log), ..named("spc") };
    let Err(error) = open_bytes(b"0,1,512,R,0.5\n", "a.spc", &options) else { panic!("accepted") };
    let error = error.to_string();
    for part in ["a.spc", "workload.allocator = log", "--allocator", "\"spc\" have addresses", "leave it out"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn bad_rows_are_named() {
    for (row, parts) in [
        ("1,Load,1,Tier-2,a,x\n", ["line 2, column 2 (Operation)", "Read, Write or Delete"]),
        ("1,Read,1,Tier-2,a\n", ["line 2, column 5 (Key)", "a key and a phase"]),
        ("1,Read,1,Tier-2,,Decode\n", ["line 2, column 5 (Key)", "the name of an object"]),
        (
            "1,Write,18446744073709551615,Tier-2,a,x\n",
            ["column 3 (Object_Size_Bytes)", "less than 2^64 bytes together"],
        ),
    ] {
        let options = named("mlperf-kv-cache");
        let mut reader = open_bytes(format!("{HEADER}{row}").as_bytes(), "x", &options).unwrap();
        let error = reader.find_map(Result::err).unwrap().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
