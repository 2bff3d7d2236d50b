//! Requests that were under way at once, within a simulated drive.

use drive::Drive;
use serve::{Order, OrderKind};
use torture::{CutDisk, Exploration, Guarantee, Limits, Recorded, Recording, States, Step, Verdict, explore_drive};

/// Bytes of a write.
const PAGE: usize = 4096;
/// Parts of a record, each a write. They are fewer than dies, so that a record has pages of different word lines.
const PARTS: usize = 3;
const RECORDS: usize = 12;
/// Upper pages take longer, so that a later write on another die may end before an earlier one.
const SETTINGS: [&str; 6] = [
    "flash.page_program_times=300us,1500us",
    "drive.capacity=32MiB",
    "flash.channels=4",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=32",
    "drive.over_provisioning=200%",
];

/// Records of four parts and a flush behind each; the parts are under way at once, or one after the other.
fn recorded(at_once: bool) -> Recording {
    let mut recording = Recording { before: vec![0; 32 << 20], ..Recording::default() };
    for record in 0..RECORDS {
        let first = recording.requests.len();
        for part in 0..=PARTS {
            let is_flush = part == PARTS;
            if is_flush && at_once {
                recording.steps.extend((first..first + PARTS).rev().map(Step::Answered));
            }
            let kind = if is_flush { OrderKind::Flush } else { OrderKind::Write };
            let length = if is_flush { 0 } else { PAGE };
            let offset = if is_flush { 0 } else { ((record * PARTS + part) * PAGE) as u64 };
            let order = Order { kind, offset, length: length as u32, fua: false };
            recording.requests.push(Recorded { order, payload: vec![record as u8 + 1; length].into() });
            recording.steps.push(Step::Asked(first + part));
            if is_flush || !at_once {
                recording.steps.push(Step::Answered(first + part));
            }
        }
        recording.said.push((recording.steps.len(), record.to_string()));
    }
    recording
}

/// Which parts of a record are there.
fn there(disk: &mut CutDisk<'_>, record: usize) -> [bool; PARTS] {
    std::array::from_fn(|part| {
        let mut bytes = [0; PAGE];
        disk.read(((record * PARTS + part) * PAGE) as u64, &mut bytes).is_ok() && bytes == [record as u8 + 1; PAGE]
    })
}

fn explored(at_once: bool, law: impl Fn([bool; PARTS]) -> bool) -> Exploration {
    let recording = recorded(at_once);
    let states = States::new(&recording, Guarantee::AnyOrder);
    let limits = Limits { seed: 1, first: 0, states: 600, smaller: 0 };
    let drive = Drive::new("page", &SETTINGS).unwrap();
    let check = &mut |disk: &mut CutDisk<'_>, state: &torture::CrashState| {
        let promised = recording.said_by(state.step).count();
        let broken = (0..RECORDS).map(|record| (record, there(disk, record))).find(|(record, parts)| {
            let is_whole = *parts == [true; PARTS];
            *record < promised && !is_whole || !law(*parts)
        });
        Some(broken.map_or(Verdict::Holds, |(record, parts)| Verdict::Fails(format!("record {record}: {parts:?}"))))
    };
    explore_drive(&states, drive, &[], limits, &(), check).unwrap()
}

/// The parts came one after the other even if they were under way at once: a later part was never there without an
/// earlier one.
#[test]
fn writes_that_were_under_way_at_once_are_lost_in_any_order_and_flushed_ones_are_not() {
    let in_order = |parts: [bool; PARTS]| parts.is_sorted_by(|one, next| one >= next);
    assert_eq!(explored(false, in_order).found, None, "one after the other");
    let found = explored(true, in_order).found.expect("a later part is there without an earlier one");
    assert!(found.why.contains("true"), "some part is there: {}", found.why);
    assert_eq!(explored(true, |_| true).found, None, "each flushed record is whole");
}
