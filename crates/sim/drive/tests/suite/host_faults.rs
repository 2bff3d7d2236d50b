//! Faults between the host and the drive: what a host sees, and what the log tells of it.

use crate::small::{BUFFER, small};
use drive::{CLAUSES, Completions, Drive, DriveError, FAULTS, Fault, Injected};
use units::{HostOp, Request};

/// A drive that holds 64 pages, each full of its number, and a fault.
fn filled(fault: &str) -> Drive {
    let mut drive = small(&[]);
    (0..64).for_each(|page| drive.write(page * 4096, &[page as u8; 4096]).unwrap());
    drive.flush().unwrap();
    drive.inject(fault.parse().unwrap()).unwrap();
    drive
}

fn page(drive: &mut Drive, number: u64) -> Result<[u8; 4096], DriveError> {
    let mut found = [0; 4096];
    drive.read(number * 4096, &mut found).map(|()| found)
}

/// The log without the entries that tell of faults that were given.
fn hits(drive: &mut Drive) -> Vec<Injected> {
    drive.take_fault_log().into_iter().filter(|entry| entry.given.is_none()).collect()
}

#[test]
fn each_example_is_read_and_written_as_the_same_fault() {
    for kind in FAULTS {
        let fault: Fault = kind.example.parse().unwrap();
        assert_eq!(fault.to_string().parse(), Ok(fault), "{}", kind.example);
        assert!(kind.form.starts_with(kind.name) && kind.example.starts_with(kind.name));
    }
    let all = "fail writes flushes in 4KiB..1MiB share 12.5% count 3 for 1500ms every 2s seed 9";
    let fault: Fault = all.replace("in 4KiB..1MiB ", "").parse().unwrap();
    assert_eq!(fault.to_string(), all.replace("in 4KiB..1MiB ", ""));
    let of_cuts = "cut-old in 4KiB.. share 50% flushed unit 64KiB";
    let of_blocks = "cut-old share 50% flushed block";
    let of_a_die = "stall 200ms die 1 every 2s";
    for text in [of_cuts, of_blocks, of_a_die] {
        assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
    }
    let known = [all, of_cuts, of_blocks, of_a_die, "reads trims"].join(" ");
    let words = CLAUSES.iter().filter_map(|(form, _)| form.split(' ').next());
    words.for_each(|word| assert!(known.contains(word), "{word} is not tried"));
}

#[test]
fn a_fault_that_makes_no_sense_is_refused_with_its_form() {
    for (text, wanted) in [
        ("stall", "the time is missing; write `stall TIME"),
        ("stall 0s", "no time at all"),
        ("slow 10", "not a factor"),
        ("full reads", "reads cannot have this fault"),
        ("fail in 1B..2B", "a range of bytes from a multiple of 512"),
        ("fail flushes in 0..4KiB", "a flush has no bytes"),
        ("fail every 2s", "`every` needs `for`"),
        ("stall 2s every 1s", "longer than the fault lasts"),
        ("stall 2s for 1s", "leave out `for`"),
        ("cut-zeros count 1", "leave out `count`"),
        ("lose writes unit 4KiB", "`unit` belongs to power cuts"),
        ("cut-old unit 1B", "a multiple of 512"),
        ("fail count 1 count 2", "`count` is given twice"),
        ("fail count 0", "a fault of no requests"),
        ("lose writes often", "`often` is not one of: reads writes"),
        ("off now", "one word too many"),
        ("fail writes reads writes", "`writes` is given twice"),
        ("lose writes die 1", "`die` belongs to `stall` and `slow`"),
        ("stall 1s reads die 1", "a die has commands, and no requests"),
        ("slow x2 die 1 count 3", "a die has commands, and no requests"),
        ("stall 1s die one", "not a number of a die"),
        ("lose writes flushed", "`flushed` belongs to power cuts"),
        ("lose writes block", "`block` belongs to power cuts"),
        ("cut-old block unit 1MiB", "`block` and `unit` say what is damaged as one: leave out one of them"),
        ("cut-old block 17", "`17` is not one of: reads writes"),
    ] {
        let problem = text.parse::<Fault>().unwrap_err();
        assert!(problem.contains(wanted) && problem.contains("; write `"), "{text}: {problem}");
    }
}

#[test]
fn a_drive_whose_faults_are_off_is_as_one_without() {
    let mut drive = filled("off");
    assert!((0..64).all(|number| page(&mut drive, number).unwrap() == [number as u8; 4096]));
    drive.inject("fail".parse().unwrap()).unwrap();
    assert!(page(&mut drive, 0).is_err());
    drive.inject(Fault::Off).unwrap();
    assert!(page(&mut drive, 0).is_ok() && drive.active_faults().is_empty());
}

#[test]
fn answers_of_a_stall_come_when_it_is_over_and_others_at_once() {
    let mut drive = filled("stall 200ms writes");
    let begun = drive.now();
    page(&mut drive, 0).unwrap();
    let read = drive.now() - begun;
    drive.write(0, &[1; 4096]).unwrap();
    assert!(read < 1_000_000, "a read takes {read} ns");
    assert_eq!(drive.now() - begun, 200_000_000);
    drive.write(0, &[2; 4096]).unwrap();
    assert!(drive.now() - begun < 202_000_000, "the stall is over");
}

#[test]
fn a_stall_comes_back_as_often_as_is_asked() {
    let mut drive = filled("stall 200ms every 1s");
    let begun = drive.now();
    page(&mut drive, 0).unwrap();
    drive.rest(900_000_000).unwrap();
    page(&mut drive, 0).unwrap();
    assert_eq!(drive.now() - begun, 1_200_000_000);
}

#[test]
fn a_slow_drive_takes_so_many_times_as_long_and_no_longer_than_asked() {
    let mut drive = filled("slow x10 for 30s");
    let mut time_of_read = || {
        let begun = drive.now();
        page(&mut drive, 7).unwrap();
        let took = drive.now() - begun;
        drive.rest(29_999_000_000).unwrap();
        took
    };
    let slow = time_of_read();
    time_of_read();
    let fast = time_of_read();
    assert_eq!(slow, 10 * fast);
}

#[test]
fn requests_fail_by_kind_count_and_range_and_change_nothing() {
    let mut drive = filled("fail flushes count 2");
    let failed = (0..4).filter(|_| drive.flush().is_err()).count();
    assert_eq!((failed, hits(&mut drive).len()), (2, 2));
    let mut drive = filled("fail in 8KiB..16KiB");
    for number in 0..6 {
        let is_hit = (2..4).contains(&number);
        assert_eq!(page(&mut drive, number).is_err(), is_hit, "page {number}");
        assert_eq!(drive.write(number * 4096, &[255; 4096]).is_err(), is_hit, "page {number}");
    }
    drive.flush().unwrap();
    let log = hits(&mut drive);
    let places: Vec<_> = log.iter().map(|entry| (entry.op.unwrap().name(), entry.offset, entry.length)).collect();
    assert_eq!(places, [("read", 8192, 4096), ("write", 8192, 4096), ("read", 12288, 4096), ("write", 12288, 4096)]);
    drive.inject(Fault::Off).unwrap();
    assert_eq!(page(&mut drive, 2).unwrap(), [2; 4096]);
}

#[test]
fn a_share_of_requests_fails_and_the_same_ones_again() {
    let failing = |seed: u64| -> Vec<u64> {
        let mut drive = filled(&format!("fail reads share 25% seed {seed}"));
        (0..64).filter(|number| page(&mut drive, *number).is_err()).collect()
    };
    let failed = failing(3);
    assert!((6..30).contains(&failed.len()), "{failed:?}");
    assert_eq!(failed, failing(3));
    assert_ne!(failed, failing(4));
}

#[test]
fn a_full_drive_on_command_says_that_it_is_full() {
    let mut drive = filled("full");
    assert!(matches!(drive.write(0, &[9; 4096]), Err(DriveError::Full)));
    assert_eq!(page(&mut drive, 0).unwrap(), [0; 4096]);
    assert_eq!(hits(&mut drive).len(), 1);
}

#[test]
fn a_flipped_bit_is_the_one_of_the_log() {
    for (fault, stays) in [("flip writes count 1", true), ("flip reads count 1", false)] {
        let mut drive = filled(fault);
        drive.write(4096, &[0; 4096]).unwrap();
        let found = page(&mut drive, 1).unwrap();
        let entry = hits(&mut drive).pop().unwrap();
        let mut wanted = [0; 4096];
        wanted[entry.offset as usize - 4096] = 1 << entry.bit.unwrap();
        assert_eq!(found, wanted, "{fault}");
        assert_eq!(page(&mut drive, 1).unwrap() == found, stays, "{fault}");
    }
}

#[test]
fn a_misdirected_write_is_where_the_log_says_and_not_where_it_was_to_go() {
    let mut drive = filled("misdirect writes in 0..64KiB count 1");
    drive.write(4096, &[200; 4096]).unwrap();
    let entry = hits(&mut drive).pop().unwrap();
    let to = entry.to_offset.unwrap();
    assert!(to < 65536 && to != 4096 && to.is_multiple_of(4096), "{to}");
    assert_eq!(page(&mut drive, 1).unwrap(), [1; 4096]);
    assert_eq!(page(&mut drive, to / 4096).unwrap(), [200; 4096]);
}

#[test]
fn a_misdirected_read_brings_another_place() {
    let mut drive = filled("misdirect reads in 0..256KiB");
    let found = page(&mut drive, 9).unwrap();
    let entry = hits(&mut drive).pop().unwrap();
    assert_eq!(found, [(entry.to_offset.unwrap() / 4096) as u8; 4096]);
    assert_ne!(found[0], 9);
}

#[test]
fn a_lost_write_is_answered_and_is_not_there_even_after_a_flush() {
    let mut drive = filled("lose writes count 1");
    drive.write_through(0, &[77; 4096]).unwrap();
    drive.flush().unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [0; 4096]);
    drive.write(0, &[78; 4096]).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [78; 4096]);
    assert_eq!(hits(&mut drive).len(), 1);
}

#[test]
fn a_lost_flush_leaves_writes_to_the_power() {
    let kept = |fault: &str| {
        let mut drive = small(&BUFFER);
        drive.inject(fault.parse().unwrap()).unwrap();
        drive.write(0, &[5; 4096]).unwrap();
        drive.flush().unwrap();
        drive.power_cut(1);
        drive.reopen().unwrap();
        page(&mut drive, 0).unwrap() == [5; 4096]
    };
    assert!(kept("off") && !kept("lose flushes"));
}

#[test]
fn a_stale_read_brings_the_bytes_before_the_last_write() {
    for stack in [&[][..], &BUFFER, &["remap.kind=hard", "drive.capacity=4MiB"]] {
        let mut drive = small(stack);
        drive.write(0, &[1; 8192]).unwrap();
        drive.inject("stale count 2".parse().unwrap()).unwrap();
        assert_eq!(page(&mut drive, 0).unwrap(), [1; 4096], "{stack:?}: nothing was written since");
        drive.write(0, &[2; 4096]).unwrap();
        drive.write(0, &[3; 4096]).unwrap();
        assert_eq!(page(&mut drive, 0).unwrap(), [2; 4096], "{stack:?}");
        assert_eq!(page(&mut drive, 1).unwrap(), [1; 4096], "{stack:?}: this one was not written");
        assert_eq!(page(&mut drive, 0).unwrap(), [2; 4096], "{stack:?}");
        assert_eq!(page(&mut drive, 0).unwrap(), [3; 4096], "{stack:?}: it is over");
        let log = hits(&mut drive);
        assert!(log.len() == 2 && log.iter().all(|entry| (entry.offset, entry.length) == (0, 4096)), "{log:?}");
    }
}

#[test]
fn a_cut_damages_only_what_was_not_flushed() {
    for (fault, stack) in [("cut-unreadable", &[][..]), ("cut-garbage share 50%", &BUFFER), ("cut-zeros", &BUFFER)] {
        let mut drive = small(stack);
        (0..16).for_each(|number| drive.write(number * 4096, &[9; 4096]).unwrap());
        drive.inject(fault.parse().unwrap()).unwrap();
        (0..8).for_each(|number| drive.write(number * 4096, &[8; 4096]).unwrap());
        drive.flush().unwrap();
        (8..12).for_each(|number| drive.write(number * 4096, &[8; 4096]).unwrap());
        drive.write_through(12 * 4096, &[8; 4096]).unwrap();
        drive.power_cut(3);
        drive.reopen().unwrap();
        let damaged: Vec<u64> = (0..16)
            .filter(|number| !page(&mut drive, *number).is_ok_and(|bytes| matches!(bytes, [8 | 9, ..])))
            .collect();
        assert!(!damaged.is_empty() && damaged.iter().all(|number| (8..12).contains(number)), "{fault}: {damaged:?}");
        let log = hits(&mut drive);
        let bytes: u64 = log.iter().map(|entry| entry.length).sum();
        assert!(log.iter().all(|entry| entry.offset >= 8 * 4096 && entry.offset + entry.length <= 12 * 4096));
        assert!(if fault.contains("share") { (2048..14336).contains(&bytes) } else { bytes == 4 * 4096 }, "{bytes}");
        drive.inject(Fault::Off).unwrap();
        (8..12).for_each(|number| drive.write(number * 4096, &[4; 4096]).unwrap());
        assert!((8..12).all(|number| page(&mut drive, number).unwrap() == [4; 4096]), "{fault}: a write mends it");
    }
}

#[test]
fn a_cut_rolls_units_back_as_one() {
    let mut drive = small(&[]);
    (0..64).for_each(|number| drive.write(number * 4096, &[1; 4096]).unwrap());
    drive.flush().unwrap();
    drive.inject("cut-old share 50% unit 16KiB".parse().unwrap()).unwrap();
    (0..64).for_each(|number| drive.write(number * 4096, &[2; 4096]).unwrap());
    drive.power_cut(4);
    drive.reopen().unwrap();
    let found: Vec<u32> = (0..64)
        .map(|number| {
            let bytes = page(&mut drive, number).unwrap();
            assert_eq!(bytes, [bytes[0]; 4096], "page {number} is one");
            bytes[0].into()
        })
        .collect();
    assert!(found.chunks(4).all(|unit| unit.iter().all(|byte| *byte == unit[0])), "{found:?}");
    let old = found.iter().filter(|byte| **byte == 1).count();
    assert!((8..56).contains(&old) && found.iter().all(|byte| [1, 2].contains(byte)), "{found:?}");
    assert_eq!(hits(&mut drive).iter().map(|entry| entry.length).sum::<u64>(), old as u64 * 4096);
}

/// A drive lies about flushes, and rolls erase blocks back.
#[test]
fn a_cut_rolls_flushed_data_back_where_that_is_asked_for() {
    let old_after = |fault: &str| {
        let mut drive = small(&[]);
        (0..64).for_each(|number| drive.write(number * 4096, &[1; 4096]).unwrap());
        drive.inject(fault.parse().unwrap()).unwrap();
        (0..64).for_each(|number| drive.write(number * 4096, &[2; 4096]).unwrap());
        drive.flush().unwrap();
        drive.power_cut(4);
        drive.reopen().unwrap();
        let old: Vec<u64> = (0..64).filter(|number| page(&mut drive, *number).unwrap() == [1; 4096]).collect();
        let told: u64 = hits(&mut drive).iter().map(|entry| entry.length).sum();
        assert_eq!(told, old.len() as u64 * 4096, "{fault}");
        old
    };
    assert_eq!(old_after("cut-old share 50% unit 16KiB"), [0; 0]);
    let old = old_after("cut-old share 50% flushed unit 16KiB");
    assert!((8..56).contains(&old.len()), "{old:?}");
    assert!(old.chunks(4).all(|unit| unit[0] % 4 == 0 && unit[3] == unit[0] + 3), "units are one: {old:?}");
}

/// Older bytes were of the write before, and came back in place of the data that the trim took.
#[test]
fn a_stale_read_after_a_trim_brings_the_bytes_before_the_trim() {
    let mut drive = filled("stale");
    (0..64).for_each(|number| drive.write(number * 4096, &[100 + number as u8; 4096]).unwrap());
    drive.trim(0, 2 << 20).unwrap();
    assert!((0..64).all(|number| page(&mut drive, number).unwrap() == [100 + number as u8; 4096]));
    drive.inject(Fault::Off).unwrap();
    assert_eq!(page(&mut drive, 1).unwrap(), [0; 4096]);
}

/// Flushed trims were no changes to it.
#[test]
fn a_cut_brings_the_bytes_before_a_flushed_trim() {
    let mut drive = filled("cut-old flushed");
    let before: Vec<[u8; 4096]> = (0..8).map(|number| page(&mut drive, number).unwrap()).collect();
    drive.trim(0, 8 * 4096).unwrap();
    drive.flush().unwrap();
    drive.power_cut(1);
    drive.reopen().unwrap();
    assert!((0..8).all(|number| page(&mut drive, number).unwrap() == before[number as usize]));
}

/// A copy of the drive after a cut that did not happen had the faults of the drive.
#[test]
fn a_drive_after_a_cut_that_did_not_happen_has_its_damage_and_no_faults() {
    let mut drive = filled("cut-unreadable");
    drive.inject("fail reads".parse().unwrap()).unwrap();
    drive.write(0, &[9; 4096]).unwrap();
    let mut left = drive.left_by_cut(1).unwrap().recover().unwrap();
    assert!(page(&mut left, 0).is_err());
    assert_eq!(page(&mut left, 1).unwrap(), [1; 4096]);
    drive.inject(Fault::Off).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [9; 4096]);
}

/// Sectors that were flushed after `off`, or written before the fault, were damaged.
#[test]
fn a_cut_spares_what_was_flushed_or_written_before_the_fault() {
    let mut drive = filled("cut-zeros");
    drive.write(0, &[1; 4096]).unwrap();
    drive.inject(Fault::Off).unwrap();
    drive.flush().unwrap();
    drive.inject("cut-zeros in 1MiB..".parse().unwrap()).unwrap();
    drive.write(4096, &[2; 4096]).unwrap();
    drive.inject("cut-zeros".parse().unwrap()).unwrap();
    drive.write(8192, &[3; 4096]).unwrap();
    drive.power_cut(1);
    drive.reopen().unwrap();
    assert_eq!([0, 1, 2].map(|number| page(&mut drive, number).unwrap()[0]), [1, 2, 0]);
}

/// A fault that was over left its data to the next one.
#[test]
fn stale_data_never_comes_from_before_the_fault() {
    let mut drive = filled("stale count 1");
    drive.write(0, &[100; 4096]).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [0; 4096]);
    drive.write(0, &[101; 4096]).unwrap();
    drive.inject("stale for 1s".parse().unwrap()).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [101; 4096], "nothing was written since");
    drive.write(0, &[102; 4096]).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [101; 4096]);
    drive.rest(2_000_000_000).unwrap();
    drive.inject("stale".parse().unwrap()).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [102; 4096], "the time of the other one is over");
    drive.write(0, &[103; 4096]).unwrap();
    assert_eq!(page(&mut drive, 0).unwrap(), [102; 4096]);
    // A write that came before the fault is answered after it.
    let write = |number: u32, byte: u8, drive: &mut Drive| {
        drive.submit(number, &Request::of_bytes(HostOp::Write, 4096, 4096, false), &[byte; 4096]).unwrap();
    };
    write(1, 110, &mut drive);
    drive.inject(Fault::Off).unwrap();
    drive.inject("stale".parse().unwrap()).unwrap();
    drive.rest(1_000_000_000).unwrap();
    assert_eq!(page(&mut drive, 1).unwrap(), [110; 4096]);
}

/// The bytes in flash came back, which no read of a damaged sector brought.
#[test]
fn stale_data_of_a_damaged_sector_is_what_a_read_brought() {
    for (fault, wanted) in [("cut-zeros", 0), ("cut-unreadable", 90)] {
        let mut drive = filled(fault);
        drive.write(4096, &[80; 4096]).unwrap();
        drive.power_cut(1);
        drive.reopen().unwrap();
        drive.inject(Fault::Off).unwrap();
        drive.inject("stale".parse().unwrap()).unwrap();
        drive.write(4096, &[90; 4096]).unwrap();
        assert_eq!(page(&mut drive, 1).unwrap(), [wanted; 4096], "{fault}");
    }
}

#[test]
fn a_fault_that_keeps_no_more_older_data_says_so_once() {
    let mut drive = small(&["drive.capacity=66MiB"]);
    drive.inject("stale".parse().unwrap()).unwrap();
    let at_limit: Vec<u32> = (0..66 << 4)
        .flat_map(|piece| {
            drive.write(piece << 16, &vec![1; 1 << 16]).unwrap();
            drive.take_faults_at_limit()
        })
        .collect();
    assert_eq!(at_limit, [1]);
    assert_eq!([0, 65 << 8].map(|number| page(&mut drive, number).unwrap()[0]), [0, 1]);
}

#[test]
fn a_fault_of_the_longest_time_holds_and_does_not_overflow() {
    for fault in ["stall 18446744073s", "fail for 18446744073s"] {
        let mut drive = small(&[]);
        drive.rest(1_000_000_000).unwrap();
        drive.inject(fault.parse().unwrap()).unwrap();
        assert_eq!(drive.active_faults().len(), 1, "{fault}");
    }
}

#[test]
fn answers_that_a_stall_keeps_come_when_faults_are_ended() {
    let mut drive = filled("stall 1h");
    let begun = drive.now();
    drive.submit(1, &Request::of_bytes(HostOp::Read, 4096, 4096, false), &[]).unwrap();
    drive.rest(1_000_000).unwrap();
    drive.inject(Fault::Off).unwrap();
    let mut completions = Completions::default();
    drive.advance(&mut completions).unwrap();
    assert_eq!((completions.done.len(), completions.cells.first()), (1, Some(&1)));
    assert!(drive.now() - begun < 1_000_000_000);
}

#[test]
fn a_range_beyond_the_drive_is_refused_and_one_across_its_end_is_not() {
    let mut drive = small(&[]);
    let problem = drive.inject("fail in 2MiB..".parse().unwrap()).unwrap_err().to_string();
    assert!(problem.contains("begins beyond the drive, which has 2097152 bytes"), "{problem}");
    drive.inject("fail in 1MiB..4MiB".parse().unwrap()).unwrap();
}

#[test]
fn the_log_tells_each_fault_that_was_given_and_none_that_was_refused() {
    let mut drive = filled("fail count 1");
    page(&mut drive, 0).unwrap_err();
    for kind in FAULTS {
        let example = kind.example.replace("die 3", "die 1");
        drive.inject(example.parse().unwrap()).unwrap_or_else(|problem| panic!("{}: {problem}", kind.example));
    }
    drive.inject("die 99".parse().unwrap()).unwrap_err();
    let log = drive.take_fault_log();
    assert!(log[0].given.is_some() && log[1].given.is_none());
    let kinds: Vec<&str> = log[2..].iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, FAULTS.map(|kind| kind.name));
}
