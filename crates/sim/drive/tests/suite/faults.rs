//! Faults are errors, and never other data.

use crate::small::{BUFFER, small};
use drive::{Completions, Drive, DriveError, Fault};
use units::{HostOp, Request};

#[test]
fn a_die_that_fails_takes_its_data_with_it() {
    let mut drive = small(&[]);
    let pages = drive.bytes() / 4096;
    (0..pages).for_each(|page| drive.write(page * 4096, &[page as u8; 4096]).unwrap());
    drive.inject(Fault::Die(1)).unwrap();
    let mut failed = 0;
    for page in 0..pages {
        let mut found = [0; 4096];
        match drive.read(page * 4096, &mut found) {
            Ok(()) => assert_eq!(found, [page as u8; 4096]),
            Err(DriveError::Failed { .. }) => failed += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(failed > pages / 3 && failed < pages * 2 / 3, "{failed} of {pages} pages were on one of two dies");
    assert_eq!(drive.smart().get("dead_dies"), Some(1));
}

/// Dies had the numbers of their groups.
#[test]
fn a_die_of_a_superpage_that_fails_is_one_of_the_drive() {
    let mut drive = small(&["ftl.kind=superpage", "flash.dies_per_channel=2"]);
    drive.write(0, &[1; 8192]).unwrap();
    drive.inject(Fault::Die(3)).unwrap();
    assert_eq!(drive.smart().get("dead_dies"), Some(2), "a superpage needs both chips");
    let blocks = drive.blocks().unwrap();
    assert_eq!((blocks.dies, blocks.dead_dies), (4, 2));
    let error = drive.inject(Fault::Die(4)).unwrap_err().to_string();
    assert!(error.contains("there is no die 4: this drive has 4"), "{error}");
}

#[test]
fn stripes_answer_for_a_die_that_failed() {
    let settings = [
        "drive.capacity=2MiB",
        "flash.channels=5",
        "flash.dies_per_channel=1",
        "flash.pages_per_block=16",
        "drive.over_provisioning=150%",
    ];
    let mut drive = Drive::new("raid5", &[&settings[..], &["stripe.chips=5"]].concat()).unwrap();
    let pages = drive.bytes() / 4096;
    (0..pages).for_each(|page| drive.write(page * 4096, &[page as u8; 4096]).unwrap());
    drive.inject(Fault::Die(2)).unwrap();
    let mut found = [0; 4096];
    (0..pages).for_each(|page| {
        drive.read(page * 4096, &mut found).unwrap();
        assert_eq!(found, [page as u8; 4096], "page {page}");
    });
}

/// Pages that were flushed read as zeros after the next power cut.
#[test]
fn stripes_without_parity_that_lost_a_die_do_not_come_back_with_zeros() {
    let settings = [
        "drive.capacity=2MiB",
        "flash.channels=4",
        "flash.dies_per_channel=1",
        "flash.pages_per_block=16",
        "drive.over_provisioning=150%",
    ];
    let mut drive = Drive::new("raid0", &settings).unwrap();
    let pages = drive.bytes() / 4096;
    (0..pages).for_each(|page| drive.write(page * 4096, &[7; 4096]).unwrap());
    drive.flush().unwrap();
    drive.inject(Fault::Die(2)).unwrap();
    drive.power_cut(1);
    let error = drive.reopen().unwrap_err();
    assert!(matches!(error, DriveError::Recovery(_)) && error.to_string().contains("die 2 is lost"), "{error}");
}

#[test]
fn uncorrectable_pages_are_errors() {
    let mut drive = small(&[]);
    drive.inject(Fault::Reads(1.0)).unwrap();
    drive.write(0, &[1; 4096]).unwrap();
    assert!(matches!(drive.read(0, &mut [0; 4096]), Err(DriveError::Failed { offset: 0, length: 4096, .. })));
    drive.inject(Fault::Reads(0.0)).unwrap();
    drive.write(0, &[2; 4096]).unwrap();
    assert!(drive.read(0, &mut [0; 4096]).is_ok());
    for fault in [Fault::Die(2), Fault::Channel(9), Fault::Block(1 << 20)] {
        assert!(matches!(drive.inject(fault), Err(DriveError::Unsupported(_))), "{fault:?}");
    }
}

#[test]
fn faults_are_written_as_they_are_said() {
    assert_eq!("die 3".parse(), Ok(Fault::Die(3)));
    assert_eq!("reads 0.5%".parse(), Ok(Fault::Reads(0.005)));
    for text in ["", "dye 3"] {
        assert!(text.parse::<Fault>().is_err_and(|error| error.contains("there are: die, channel")), "{text}");
    }
    for text in ["die", "die x", "reads 2", "reads 101%", "programs -1%", "erases NaN%"] {
        assert!(text.parse::<Fault>().is_err_and(|error| error.contains("; write `")), "{text}");
    }
}

/// Each of them stayed in the drive for good, with its data.
#[test]
fn writes_that_find_no_room_are_refused_and_not_kept() {
    for stack in [&[][..], &["ftl.kind=superpage"], &BUFFER, &["remap.kind=hard", "drive.capacity=4MiB"]] {
        let mut drive = small(stack);
        drive.inject(Fault::Programs(1.0)).unwrap();
        let refused = (0..2000).filter(|number| drive.write(number % 64 * 4096, &[1; 4096]).is_err()).count();
        assert!(refused > 1500, "{stack:?}: {refused} of 2000 are refused");
        assert!(drive.outstanding() <= 1, "{stack:?}: {} requests are still in the drive", drive.outstanding());
        assert!(drive.read(0, &mut [0; 4096]).is_ok(), "{stack:?}");
    }
}

/// Programs and erases fail, power goes while much is being written, again and again until there is no room.
fn filled_up_with_power_cuts(stack: &str) -> Drive {
    let mut drive = Drive::new(
        stack,
        &["drive.capacity=4MiB", "flash.pages_per_block=16", "stripe.in_flight=16", "drive.over_provisioning=50%"],
    )
    .unwrap();
    let pages = drive.bytes() / 4096;
    (0..pages).for_each(|page| drive.write(page * 4096, &[page as u8; 4096]).unwrap());
    drive.flush().unwrap();
    let is_full = (0..400_u64).any(|round| {
        drive.inject(Fault::Programs(0.01)).unwrap();
        drive.inject(Fault::Erases(0.01)).unwrap();
        for number in 0..300_u32 {
            let page = u64::from(number) * 7919 % pages;
            let request = Request { arrival: 0, first_sector: page * 8, sectors: 8, op: HostOp::Write, fua: false };
            drive.submit(number, &request, &[page as u8; 4096]).unwrap();
        }
        let mut completions = Completions::default();
        for _ in 0..100 {
            drive.advance(&mut completions).unwrap();
        }
        drive.power_cut(round);
        drive.reopen().unwrap();
        matches!(drive.write_through(0, &[0; 4096]), Err(DriveError::Full))
    });
    assert!(is_full, "{stack}: writes are refused in the end");
    drive.inject(Fault::Programs(0.0)).unwrap();
    drive.inject(Fault::Erases(0.0)).unwrap();
    drive
}

#[test]
fn flushed_pages_of_a_full_drive_are_read_after_a_power_cut() {
    for stack in ["raid4", "raid5", "raid6"] {
        let mut drive = filled_up_with_power_cuts(stack);
        for page in 0..drive.bytes() / 4096 {
            let mut found = [0; 4096];
            drive.read(page * 4096, &mut found).unwrap_or_else(|error| panic!("{stack}: page {page}: {error}"));
            assert_eq!(found, [page as u8; 4096], "{stack}: page {page}");
        }
    }
}
