//! Every fuzz target on damaged copies of a small valid input. libFuzzer (`make fuzz`) looks deeper, in its own build.

use engine::random::Stream;

const COPIES: u64 = 3000;
/// An input after the two bytes that choose the options of its target.
const CHOICES: usize = 2;

const CSV: &str = "time_ns,device,op,offset_bytes,length_bytes\n0,0,W,0,4096\n1000,0,R,4096,512\n2000,1,T,0,65536\n\
    3000,0,F,0,0\n4000,0,W,1048576,131072\n";
const BLKPARSE: &str =
    "8,0 3 1 0.000000000 697 Q WS 223490 + 8 [kjournald]\n8,0 3 2 0.000001829 697 Q R 223498 + 16 [fio]\n";
const STACK: &str = r#"
[drive]
capacity = "64MiB"
over_provisioning = "50%"

[flash]
channels = 2
dies_per_channel = 2
read_time = "60us"

[ftl]
kind = "dftl"
gc.victim = "cost-benefit"
"#;
/// A write of 512 bytes, a read, a trim and the end, as an NBD client sends them.
const NBD: &[&[u8]] = &[
    b"\x25\x60\x95\x13\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x10\0\0\0\x02\0",
    &[5; 512],
    b"\x25\x60\x95\x13\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x10\0\0\0\x10\0",
    b"\x25\x60\x95\x13\0\0\0\x04\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\x20\0\0\0\x40\0",
    b"\x25\x60\x95\x13\0\0\0\x02\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\0\0\0\0\0",
];

const STRACE: &str = "7  100.000100 openat(AT_FDCWD</m>, \"a\", O_RDWR|O_CREAT, 0666) = 3</m/a> <0.000010>\n\
    7  100.000200 write(3</m/a>, \"x\"..., 100) = 100 <0.000010>\n7  100.000300 fsync(3</m/a> <unfinished ...>\n\
    8  100.000350 msync(0x7f0000000000, 8192, MS_SYNC) = 0\n7  100.000400 <... fsync resumed>) = 0 <0.000100>\n\
    7  100.000500 rename(\"/m/a\", \"/m/b\\303\\244\") = 0\n7  100.000600 fsync(9) = -1 EBADF (Bad file descriptor)\n\
    8  100.000700 +++ killed by SIGTERM +++\n";

/// Changes a few places of `bytes`: other values, bytes that are gone, doubled or put in.
fn damage(bytes: &mut Vec<u8>, stream: &mut Stream) {
    for _ in 0..=stream.below(6) {
        let length = bytes.len() as u64;
        let at = stream.below(length + 1) as usize;
        let end = (at as u64 + stream.below(24)).min(length) as usize;
        match stream.below(5) {
            0 if at < bytes.len() => bytes[at] = stream.below(256) as u8,
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            3 => bytes.insert(at, [b'0', b'9', b'-', b',', b'\n', 0, 0xff][stream.below(7) as usize]),
            4 if at < bytes.len() => bytes[at] ^= 1 << stream.below(8),
            _ => {}
        }
    }
}

/// Feeds `target` with damaged copies of `sample`, under changing choices.
fn feed(name: &str, target: fn(&[u8]), choices: usize, sample: &[u8]) {
    let mut stream = Stream::new(1, name);
    for _ in 0..COPIES {
        let mut bytes = sample.to_vec();
        damage(&mut bytes, &mut stream);
        let chosen: Vec<u8> = (0..choices).map(|_| stream.below(256) as u8).collect();
        target(&[chosen, bytes].concat());
    }
}

/// What the targets would refuse as it stands says nothing of damaged copies.
#[test]
fn samples_are_valid_before_they_are_damaged() {
    assert!(
        simulator::Config::from_text("sample", STACK).is_ok_and(|config| simulator::DrivePlan::new(config).is_ok())
    );
    for (sample, records) in [(CSV, 5), (BLKPARSE, 2)] {
        let reader = Box::new(std::io::Cursor::new(sample.as_bytes()));
        let mut reader =
            trace::formats::open_reader(reader, "sample", &trace::formats::OpenOptions::default()).unwrap();
        assert_eq!(reader.by_ref().flatten().count(), records, "{sample}");
    }
    let mut connection = nbd::Connection::new(&nbd::Export::new("drive", 1 << 16));
    assert!(connection.end().is_none() && connection.next_request().is_none());
}

#[test]
fn nbd_conversations_stay_on_the_drive_and_end() {
    feed("nbd_conversation", fuzzing::nbd_conversation, CHOICES, &NBD.concat());
}

#[test]
fn damaged_stack_files_become_a_drive_or_say_why_not() {
    feed("stack_file", fuzzing::stack_file, 0, STACK.as_bytes());
}

#[test]
fn damaged_logs_of_system_calls_are_joined_or_refused() {
    feed("strace_log", fuzzing::strace_log, 0, STRACE.as_bytes());
}

#[test]
fn what_detection_picks_can_be_read() {
    feed("trace_detect", fuzzing::trace_detect, 0, CSV.as_bytes());
    feed("trace_detect", fuzzing::trace_detect, 0, BLKPARSE.as_bytes());
}

#[test]
fn readers_of_all_formats_keep_time_in_order() {
    feed("trace_read", fuzzing::trace_read, 1, CSV.as_bytes());
    feed("trace_read", fuzzing::trace_read, 1, BLKPARSE.as_bytes());
}

#[test]
fn replayed_requests_stay_on_the_drive() {
    let rows = &CSV[CSV.find('\n').expect("a header") + 1..];
    feed("trace_replay", fuzzing::trace_replay, CHOICES, rows.as_bytes());
}
