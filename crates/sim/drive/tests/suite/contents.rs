//! Bytes come back, whatever happens to power.

use crate::small::{BUFFER, ZONES, small};
use drive::{Drive, DriveError};
use engine::random::Stream;

const STACKS: [&[&str]; 7] = [
    &[],
    &BUFFER,
    &["ftl.kind=tpftl"],
    &["ftl.kind=superpage"],
    &["remap.kind=hard", "ftl.kind=superpage"],
    &["remap.kind=log-cache", "remap.segment=32KiB"],
    &ZONES,
];

/// Bytes that say where and when they were written.
fn marked(offset: u64, version: u64, length: usize) -> Vec<u8> {
    (offset / 8..).map(|word| word << 24 | version).flat_map(u64::to_le_bytes).take(length).collect()
}

#[test]
fn what_is_written_is_read_in_any_pieces() {
    for stack in STACKS {
        let mut drive = small(stack);
        let mut known = vec![0; drive.bytes() as usize];
        let mut stream = Stream::new(1, "bytes");
        for version in 1..2000 {
            let length = 512 * (1 + stream.below(40));
            let offset = 512 * stream.below((drive.bytes() - length) / 512 + 1);
            let place = offset as usize..(offset + length) as usize;
            if stream.chance(0.6) {
                known[place.clone()].copy_from_slice(&marked(offset, version, length as usize));
                drive.write(offset, &known[place]).unwrap();
            } else {
                let mut found = vec![0xee; length as usize];
                drive.read(offset, &mut found).unwrap();
                assert!(found == known[place], "{stack:?}: {length} bytes at {offset}");
            }
        }
        let mut found = vec![0xee; known.len()];
        drive.read(0, &mut found).unwrap();
        assert!(found == known, "{stack:?}");
        drive.check_layers().unwrap();
        assert!(drive.now() > 0);
    }
}

#[test]
fn a_trim_reads_as_zeros_and_stays_so_after_a_flush() {
    let mut drive = small(&BUFFER);
    let mut page = vec![7; 4096];
    drive.write(8192, &page).unwrap();
    drive.trim(8192, 4096).unwrap();
    drive.read(8192, &mut page).unwrap();
    assert_eq!(page, vec![0; 4096]);
    drive.flush().unwrap();
    drive.power_cut(1);
    drive.reopen().unwrap();
    drive.read(8192, &mut page).unwrap();
    assert_eq!(page, vec![0; 4096]);
}

/// After any cut: what was flushed, or anything written since, and of every sector one version only.
#[test]
fn power_may_go_at_any_event() {
    for stack in STACKS {
        let mut lost = 0;
        for seed in 0..60 {
            let mut drive = small(stack);
            let mut stream = Stream::new(seed, "cuts");
            let sectors = 256;
            let (mut flushed, mut newest) = (vec![0; sectors], vec![0; sectors]);
            drive.cut_power_after(stream.below(1500), seed);
            let mut version = 0_u64;
            let error = loop {
                version += 1;
                let sector = stream.below(sectors as u64 - 8) as usize;
                let count = 1 + stream.below(8) as usize;
                let done = if stream.chance(0.2) {
                    drive.flush().map(|()| flushed.clone_from(&newest))
                } else {
                    newest[sector..sector + count].fill(version);
                    drive.write(sector as u64 * 512, &[version.to_le_bytes().as_slice(); 64].concat().repeat(count))
                };
                if let Err(error) = done {
                    break error;
                }
            };
            assert!(matches!(error, DriveError::PowerOff), "{stack:?}, seed {seed}: {error}");
            assert!(matches!(drive.flush(), Err(DriveError::PowerOff)));
            drive.reopen().unwrap();
            let mut found = vec![0; sectors * 512];
            drive.read(0, &mut found).unwrap();
            for (sector, bytes) in found.chunks(512).enumerate() {
                let word = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                assert!(
                    bytes.chunks(8).all(|other| other == &bytes[..8]),
                    "{stack:?}, seed {seed}: sector {sector} is mixed"
                );
                let legal = flushed[sector]..=newest[sector];
                assert!(
                    legal.contains(&word),
                    "{stack:?}, seed {seed}: sector {sector} has version {word}, {legal:?} are legal"
                );
                lost += u64::from(word != newest[sector]);
            }
            assert_eq!(drive.power_cuts(), 1);
        }
        assert!(lost > 0, "{stack:?}: no cut lost anything, so nothing was tried");
    }
}

#[test]
fn requests_that_do_not_fit_are_refused_and_change_nothing() {
    let mut drive = small(&[]);
    let bytes = drive.bytes();
    assert!(matches!(drive.write(100, &[0; 512]), Err(DriveError::Alignment { bytes: 100, .. })));
    assert!(matches!(drive.write(0, &[0; 100]), Err(DriveError::Alignment { bytes: 100, .. })));
    assert!(matches!(drive.read(bytes, &mut [0; 512]), Err(DriveError::Beyond { .. })));
    assert!(matches!(drive.trim(u64::MAX - 511, 512), Err(DriveError::Beyond { .. })));
    assert!(drive.write(bytes - 512, &[1; 512]).is_ok());
    assert!(drive.read(bytes, &mut []).is_ok(), "nothing of nothing");
    assert!(
        Drive::new("page", &["drive.capactiy=1GiB"]).is_err_and(|error| error.to_string().contains("drive.capacity"))
    );
}

/// One request after the other: the drive is busy as long as they take, with one of them.
#[test]
fn time_with_requests_is_told_from_time_without() {
    let mut drive = small(&[]);
    drive.measure();
    for page in 0..50 {
        drive.write(page * 4096, &[7; 4096]).unwrap();
        drive.rest(1_000_000).unwrap();
    }
    drive.power_cut(1);
    drive.reopen().unwrap();
    drive.read(0, &mut [0; 4096]).unwrap();
    let result = drive.result("calls", 1.0).unwrap();
    let pulse = drive.pulse().unwrap();
    let latencies: u128 = pulse.latency.iter().map(|recorder| recorder.histogram().sum()).sum();
    assert!(latencies > 0 && u128::from(pulse.busy) == latencies && pulse.occupied == latencies, "{pulse:?}");
    assert!(pulse.simulated >= pulse.busy + 50_000_000, "{} {}", pulse.simulated, pulse.busy);
    // What is watched is what the result says.
    assert_eq!((pulse.simulated, pulse.requests, pulse.flash), (result.sim_ns, &result.host, result.flash));
    let maps = drive.block_maps().unwrap();
    assert_eq!((maps.erases, maps.valid, maps.shape), (result.erases, result.valid, result.shape));
    let blocks = drive.blocks().unwrap();
    assert!(blocks.free < blocks.usable && blocks.usable == blocks.all && blocks.needed < blocks.all, "{blocks:?}");
}

#[test]
fn the_same_calls_give_the_same_drive() {
    let run = || {
        let mut drive = small(&BUFFER);
        (0..500).try_for_each(|number| drive.write(number * 7919 % 500 * 4096, &[number as u8; 4096])).unwrap();
        drive.rest(1_000_000_000).unwrap();
        (drive.now(), drive.counters())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_large_drive_takes_memory_for_what_was_written() {
    let mut drive = Drive::new("page", &["drive.capacity=64GiB"]).unwrap();
    for place in 0..64_u64 {
        drive.write(place << 30, &[place as u8 + 1; 4096]).unwrap();
    }
    let mut page = [0; 4096];
    drive.read(40 << 30, &mut page).unwrap();
    assert_eq!(page, [41; 4096]);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    if let Some(resident) = resident {
        let kib: u64 = resident.trim().trim_end_matches("kB").trim().parse().unwrap();
        assert!(kib < 1 << 20, "{kib} KiB are resident for 64 pages");
    }
}
