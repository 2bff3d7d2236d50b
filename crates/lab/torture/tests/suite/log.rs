//! A write-ahead log with bugs that are found, and without, of which nothing is.

use drive::Drive;
use engine::random::Stream;
use serve::Target;
use std::sync::atomic::{AtomicUsize, Ordering};
use torture::{
    CrashState, CutDisk, Exploration, Guarantee, Limits, Outcome, Recorder, Recording, States, Verdict, explore,
    explore_drive,
};

const DISK: usize = 1 << 20;
const SECTOR: u64 = 512;
/// Sectors of a record: its number, its length, a checksum, and contents.
const SECTORS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// Records are acknowledged without a flush.
    NoFlush,
    /// They are acknowledged before the flush ends.
    AcknowledgedEarly,
    /// The checksum is of the header alone, so that a torn record is taken for a whole one.
    TornRecord,
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn record(number: u64, bug: Bug) -> Vec<u8> {
    let mut stream = Stream::new(7, &format!("record {number}"));
    let mut bytes = vec![0; SECTORS * SECTOR as usize];
    bytes[16..].iter_mut().for_each(|byte| *byte = stream.next_u64() as u8);
    bytes[8..16].copy_from_slice(&(number + 1).to_le_bytes());
    let covered = if bug == Bug::TornRecord { 8..16 } else { 8..bytes.len() };
    let checksum = sum(&bytes[covered]);
    bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn run(records: u64, bug: Bug) -> Recording {
    let before = vec![0; DISK];
    let mut disk = Recorder::new(CutDisk::new(&before), before.clone());
    for number in 0..records {
        disk.write(number * SECTORS as u64 * SECTOR, &record(number, bug), false).unwrap();
        if bug == Bug::AcknowledgedEarly {
            disk.say(&number.to_string());
        }
        if bug != Bug::NoFlush {
            disk.flush().unwrap();
        }
        if bug != Bug::AcknowledgedEarly {
            disk.say(&number.to_string());
        }
    }
    disk.finish().0
}

/// Records that recovery finds: up to the first that is none.
fn recover(disk: &mut CutDisk<'_>, bug: Bug) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    loop {
        let mut bytes = vec![0; SECTORS * SECTOR as usize];
        disk.read(found.len() as u64 * SECTORS as u64 * SECTOR, &mut bytes).unwrap();
        let covered = if bug == Bug::TornRecord { 8..16 } else { 8..bytes.len() };
        let is_next = bytes[8..16] == (found.len() as u64 + 1).to_le_bytes();
        if !is_next || bytes[..8] != sum(&bytes[covered]).to_le_bytes() {
            return found;
        }
        found.push(bytes);
    }
}

fn verdict(recording: &Recording, bug: Bug, disk: &mut CutDisk<'_>, state: &CrashState) -> Verdict {
    let (found, promised) = (recover(disk, bug), recording.said_by(state.step).count());
    if found.len() < promised {
        return Verdict::Fails(format!("{promised} records were acknowledged, and {} are there", found.len()));
    }
    let wrong = found.iter().enumerate().find(|(number, bytes)| **bytes != record(*number as u64, bug));
    wrong.map_or(Verdict::Holds, |(number, _)| Verdict::Fails(format!("record {number} is not what was written")))
}

fn torture(bug: Bug, guarantee: Guarantee, first: u64, count: u64) -> Exploration {
    let recording = run(40, bug);
    let states = States::new(&recording, guarantee);
    let limits = Limits { seed: 1, first, states: count, smaller: 200 };
    explore(&states, limits, &(), &mut |disk, state| Some(verdict(&recording, bug, disk, state))).unwrap()
}

/// The same with cuts within a drive of a stack.
fn torture_drive(bug: Bug, stack: &str, first: u64, count: u64) -> Exploration {
    let small = [
        "drive.capacity=32MiB",
        "flash.channels=4",
        "flash.dies_per_channel=1",
        "flash.pages_per_block=32",
        "drive.over_provisioning=200%",
        "buffer.nonvolatile=false",
    ];
    torture_drive_with(bug, stack, &small, first, count)
}

fn torture_drive_with(bug: Bug, stack: &str, settings: &[&str], first: u64, count: u64) -> Exploration {
    let drive = Drive::new(stack, settings).unwrap();
    let recording = run(40, bug);
    let states = States::new(&recording, Guarantee::AnyOrder);
    let limits = Limits { seed: 1, first, states: count, smaller: 0 };
    let check = &mut |disk: &mut CutDisk<'_>, state: &CrashState| Some(verdict(&recording, bug, disk, state));
    explore_drive(&states, drive, &[], limits, &(), check).unwrap()
}

#[test]
fn a_correct_log_survives_ten_thousand_states() {
    for (_, _, guarantee) in Guarantee::TABLE {
        let exploration = torture(Bug::None, guarantee, 0, 10_000);
        assert_eq!(exploration.found, None, "{guarantee:?}");
        assert!(exploration.states == 10_000 && exploration.checked > 100, "{exploration:?}");
    }
}

#[test]
fn each_bug_is_found_and_made_as_small_as_it_is() {
    for bug in [Bug::NoFlush, Bug::AcknowledgedEarly, Bug::TornRecord] {
        let found = torture(bug, Guarantee::AnyOrder, 0, 1000).found.unwrap_or_else(|| panic!("{bug:?} was not found"));
        let missing = found.smallest.outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Kept).count();
        assert_eq!(missing, 1, "{bug:?}: one request is enough: {found:?}");
        let again = torture(bug, Guarantee::AnyOrder, found.number, 1);
        assert_eq!(again.found, Some(found), "its number finds it again");
    }
}

#[test]
fn a_correct_log_survives_cuts_within_simulated_drives() {
    for stack in ["page", "two-level", "bast", "dftl", "raid5-ppc"] {
        let exploration = torture_drive(Bug::None, stack, 0, 400);
        assert_eq!(exploration.found, None, "{stack}");
        assert!(exploration.states == 400 && exploration.checked > 40, "{stack}: {exploration:?}");
    }
}

/// Pages that a drive has in its own protected memory outlive a cut: only a volatile buffer shows what no flush means.
#[test]
fn a_volatile_buffer_shows_that_a_log_does_not_flush_and_a_protected_one_hides_it() {
    let found = torture_drive(Bug::NoFlush, "two-level", 0, 400).found.expect("the buffer loses what was not flushed");
    // What is kept of it is what the drive held, and not what was asked of it.
    let recording = run(40, Bug::NoFlush);
    assert_eq!(
        verdict(&recording, Bug::NoFlush, &mut CutDisk::new(&found.image), &found.smallest),
        Verdict::Fails(found.why.clone())
    );
    assert_eq!(
        torture_drive(Bug::NoFlush, "two-level", found.number, 1).found,
        Some(found),
        "its number finds it again"
    );
    assert_eq!(torture_drive(Bug::NoFlush, "page", 0, 400).found, None);
}

/// What was flushed, or written with FUA, is in every state; what was not asked for yet in none.
#[test]
fn states_hold_what_was_promised_and_nothing_from_later() {
    let before = vec![0; DISK];
    let mut disk = Recorder::new(CutDisk::new(&before), before.clone());
    let write = |disk: &mut Recorder<CutDisk<'_>>, at: u64, fua: bool| disk.write(at * SECTOR, &[at as u8; 512], fua);
    write(&mut disk, 1, false).unwrap();
    write(&mut disk, 2, true).unwrap();
    disk.flush().unwrap();
    write(&mut disk, 3, false).unwrap();
    assert_eq!(disk.bytes(), DISK as u64);
    let (recording, _) = disk.finish();
    let states = States::new(&recording, Guarantee::AnyOrder);
    let mut seen = [[false; 2]; 3];
    for number in 0..2000 {
        let state = states.draw(3, number);
        let bytes = CutDisk::of(&states.image(&state)).to_bytes();
        let there = [1, 2, 3].map(|at| bytes[at * 512] == at as u8);
        // Steps: each of the four is asked for and answered in turn.
        let must = [state.step >= 6, state.step >= 4, false];
        let may = [state.step >= 1, state.step >= 3, state.step >= 7];
        for at in 0..3 {
            assert!((!must[at] || there[at]) && (may[at] || !there[at]), "{state:?}: {there:?}");
            seen[at][usize::from(there[at])] = true;
        }
    }
    assert_eq!(seen, [[true; 2]; 3], "each is lost in some state and there in another");
}

#[test]
fn in_order_nothing_is_lost_before_what_lasts() {
    let before = vec![0; DISK];
    let mut disk = Recorder::new(CutDisk::new(&before), before.clone());
    for (at, fua) in [(1, false), (2, true), (3, false), (4, false)] {
        disk.write(at * SECTOR, &[at as u8; 512], fua).unwrap();
    }
    let (recording, _) = disk.finish();
    let lost_first = |guarantee: Guarantee| {
        let states = States::new(&recording, guarantee);
        let one = |number: u64| {
            let bytes = CutDisk::of(&states.image(&states.draw(3, number))).to_bytes();
            [1, 2, 3, 4].map(|at| bytes[at * 512] == at as u8)
        };
        (0..2000)
            .map(one)
            .filter(|there| there.iter().skip_while(|is_there| **is_there).any(|is_there| *is_there))
            .count()
    };
    assert_eq!(lost_first(Guarantee::InOrder), 0, "no state has a gap");
    assert!(lost_first(Guarantee::AnyOrder) > 100);
}

#[test]
fn in_order_the_smallest_failure_has_no_gap_either() {
    let found = torture(Bug::NoFlush, Guarantee::InOrder, 0, 1000).found.expect("what is not flushed is lost");
    let outcomes: Vec<Outcome> = found.smallest.outcomes.iter().map(|(_, outcome)| *outcome).collect();
    assert!(outcomes.is_sorted_by_key(|outcome| *outcome != Outcome::Kept), "{outcomes:?}");
    assert!(
        outcomes.iter().filter(|outcome| **outcome != Outcome::Kept).count() <= 2,
        "one that was acknowledged: {outcomes:?}"
    );
}

/// As small as a drive of this stack can be, and as volatile.
fn smallest(stack: &str) -> Vec<&'static str> {
    let sizes: [&[&str]; 5] = [
        &["drive.capacity=32MiB", "flash.pages_per_block=32", "drive.over_provisioning=200%"],
        &["drive.capacity=32MiB", "flash.pages_per_block=16", "coded.size=4MiB"],
        &["drive.capacity=32MiB", "flash.pages_per_block=16", "coded.size=4MiB", "coded.code_zones=2"],
        &["drive.capacity=256MiB", "flash.pages_per_block=32", "drive.over_provisioning=200%"],
        &["drive.capacity=1GiB"],
    ];
    let volatile = ["buffer.nonvolatile=false", "buffer.nonvolatile=true"];
    let mut all = sizes.iter().flat_map(|size| volatile.map(|own| [size, &[own][..]].concat()));
    all.find(|settings| Drive::new(stack, settings).is_ok()).unwrap_or_else(|| panic!("no drive of {stack} is built"))
}

/// An hour on one core in a development build: `make torture`. `TORTURE_STATES`: states of each stack, 100,000 by
/// default. `TORTURE_STACKS`: stacks, with commas, all by default.
#[test]
#[ignore = "an hour: `make torture` runs it"]
fn a_correct_log_survives_a_hundred_thousand_states_over_every_stack() {
    let asked = |name: &str| std::env::var(name).ok();
    let count = asked("TORTURE_STATES").map_or(100_000, |text| text.parse().expect("a number of states"));
    let mut names: Vec<_> = simulator::config::stacks().into_iter().map(|stack| stack.name).collect();
    if let Some(chosen) = asked("TORTURE_STACKS") {
        names.retain(|name| chosen.split(',').any(|one| one == *name));
    }
    assert!(!names.is_empty(), "no stack has such a name");
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let settings = smallest(name);
                    let exploration = torture_drive_with(Bug::None, name, &settings, 0, count);
                    assert_eq!(exploration.found, None, "{name} with {settings:?}");
                    assert_eq!(exploration.states, count, "{name} with {settings:?}");
                    println!("{name}: {count} states, {} checked, {settings:?}", exploration.checked);
                }
            });
        }
    });
    println!("{} stacks", names.len());
    for (_, _, guarantee) in Guarantee::TABLE {
        assert_eq!(torture(Bug::None, guarantee, 0, 100_000).found, None, "{guarantee:?}");
    }
}
