//! A drive that breaks a promise is noticed by those who rely on it, and by nobody else.

use std::cell::Cell;
use torture::{CutDisk, Lie, Torture, Tried};

/// What a program does to let a record last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Flush,
    Fua,
    /// A sector is written again and again, each time with a checksum over all of it.
    InPlace,
    /// The same without a checksum.
    InPlaceBare,
}

fn sector(number: u64, way: Way) -> [u8; 512] {
    let mut bytes = [number as u8; 512];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    if way == Way::InPlace {
        let sum = bytes[..504].iter().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        bytes[504..].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

/// Twenty records. In place: in two sectors in turn, so that one of them is always whole.
fn run(torture: &Torture, way: Way) -> Tried {
    let at = |number: u64| if matches!(way, Way::InPlace | Way::InPlaceBare) { number % 2 } else { number };
    torture
        .run(
            |disk| {
                for number in 1..=20 {
                    disk.write(at(number) * 512, &sector(number, way), way == Way::Fua)?;
                    if way != Way::Fua {
                        disk.flush()?;
                    }
                    disk.say(&number.to_string());
                }
                Ok(())
            },
            |disk, said| {
                let read = |disk: &mut CutDisk<'_>, at: u64| {
                    let mut bytes = [0; 512];
                    disk.read(at * 512, &mut bytes).map(|()| bytes).map_err(|_| format!("{at} cannot be read"))
                };
                let is_sound = |bytes: &[u8; 512]| {
                    let number = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
                    (way != Way::InPlace || *bytes == sector(number, way)).then_some(number)
                };
                let places: u64 = if matches!(way, Way::InPlace | Way::InPlaceBare) { 2 } else { 21 };
                let all: Vec<[u8; 512]> = (0..places).map(|at| read(disk, at)).collect::<Result<_, _>>()?;
                let newest = all.iter().filter_map(is_sound).max().unwrap_or(0);
                if (newest as usize) < said.len() {
                    return Err(format!("{} were promised, and {newest} is the newest", said.len()));
                }
                if newest > 20 || newest > 0 && !all.contains(&sector(newest, way)) {
                    return Err(format!("{newest} is not what was written"));
                }
                let gap = (1..newest).find(|number| places > 2 && all[*number as usize] != sector(*number, way));
                gap.map_or(Ok(()), |gap| Err(format!("{newest} is there, and {gap} is not")))
            },
        )
        .expect("a disk in memory refuses nothing")
}

fn holds(way: Way, lies: &[Lie]) -> bool {
    run(&Torture::new(64 << 10).states(3000).lies(lies), way).exploration.found.is_none()
}

#[test]
fn whoever_relies_on_a_promise_notices_that_it_is_broken() {
    for way in [Way::Flush, Way::Fua, Way::InPlace, Way::InPlaceBare] {
        assert!(holds(way, &[]), "{way:?} relies on what drives promise alone");
    }
    for (way, lie) in [
        (Way::Flush, Lie::IgnoreFlush),
        (Way::Flush, Lie::LateFlush),
        (Way::Fua, Lie::EarlyFua),
        (Way::InPlaceBare, Lie::TornSector),
        (Way::Flush, Lie::StaleRead),
        (Way::Flush, Lie::LostWrite),
        (Way::Flush, Lie::MisdirectedWrite),
        (Way::Flush, Lie::FlippedBit),
        (Way::Fua, Lie::UnreadableSector),
    ] {
        assert!(!holds(way, &[lie]), "{way:?} does not notice {lie:?}");
    }
    for (way, lie) in [
        (Way::Fua, Lie::IgnoreFlush),
        (Way::Fua, Lie::LateFlush),
        (Way::Flush, Lie::EarlyFua),
        (Way::InPlace, Lie::TornSector),
    ] {
        assert!(holds(way, &[lie]), "{way:?} does not rely on what {lie:?} breaks");
    }
}

/// What the first read brought is brought once: a reader that asks again has the newest.
#[test]
fn a_stale_read_comes_once() {
    let (stale, all) = (Cell::new(0), Cell::new(0));
    let tried = Torture::new(4096).lies(&[Lie::StaleRead]).states(200).run(
        |disk| {
            disk.write(0, &[1; 512], true)?;
            disk.write(0, &[2; 512], true)
        },
        |disk, _| {
            let mut reads = [[0; 512]; 2];
            for bytes in &mut reads {
                disk.read(0, bytes).unwrap();
            }
            all.set(all.get() + 1);
            stale.set(stale.get() + i32::from(reads[0] != reads[1]));
            (reads[0][0] <= reads[1][0]).then_some(()).ok_or_else(|| format!("{reads:?}"))
        },
    );
    assert!(tried.unwrap().exploration.found.is_none());
    assert!(stale.get() > 0 && stale.get() < all.get(), "{} of {}", stale.get(), all.get());
}

const SMALL: [&str; 5] = [
    "drive.capacity=32MiB",
    "flash.channels=4",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=32",
    "drive.over_provisioning=200%",
];

/// A die that is gone with the power: a drive with parity has everything, one without has not.
#[test]
fn parity_survives_a_die_that_goes_with_the_power() {
    for (stack, wanted) in [("raid5-ppc", true), ("page", false)] {
        let torture = Torture::within(stack, &SMALL).unwrap().faults(&["die 1"]).unwrap().states(300);
        let tried = run(&torture, Way::Flush);
        assert_eq!(tried.exploration.found.is_none(), wanted, "{stack}: {}", tried.to_text());
    }
}

/// What a simulated drive has lost is found out by comparison, and made small as well.
#[test]
fn what_a_volatile_buffer_lost_is_made_as_small_as_it_is() {
    let settings = [&SMALL[..], &["buffer.nonvolatile=false"]].concat();
    let tried = Torture::within("two-level", &settings).unwrap().states(400).run(
        |disk| {
            for number in 1..=40 {
                disk.write(number * 4096, &[number as u8; 4096], false)?;
            }
            disk.say("all");
            // Something else happens, so that there are cuts after it.
            disk.write(0, &[7; 4096], false)
        },
        |disk, said| {
            let mut bytes = [0; 512];
            let gone = (1..=40).find(|number| {
                disk.read(number * 4096, &mut bytes).unwrap();
                bytes[0] == 0
            });
            if said.is_empty() { Ok(()) } else { gone.map_or(Ok(()), |gone| Err(format!("{gone} is gone"))) }
        },
    );
    let tried = tried.unwrap();
    let found = tried.exploration.found.as_ref().expect("nothing was flushed");
    assert!(found.drawn.missing().count() > 1, "{found:?}");
    assert_eq!(found.smallest.missing().count(), 1, "one page is enough: {}", tried.to_text());
    assert!(tried.to_text().contains("lost"), "{}", tried.to_text());
}

/// Programs that notice it name it, and the smallest failure has nothing else.
#[test]
fn wrong_data_beside_a_cut_is_named() {
    for (lie, words) in [
        (Lie::LostWrite, "was answered and not done"),
        (Lie::MisdirectedWrite, "went to sector"),
        (Lie::FlippedBit, "is flipped"),
        (Lie::UnreadableSector, "cannot be read"),
    ] {
        let text = run(&Torture::new(64 << 10).states(3000).lies(&[lie]), Way::Flush).to_text();
        assert!(text.contains("wrong     ") && text.contains(words) && !text.contains("missing"), "{lie:?}: {text}");
    }
}

/// Faults of a simulated drive beside its cuts: a log that relies on flushes notices them, and holds without them.
#[test]
fn faults_of_requests_are_drawn_beside_the_cuts_of_a_drive() {
    for (fault, wanted) in [
        ("programs 0%", true),
        ("lose writes share 30%", false),
        ("flip writes share 30%", false),
        ("misdirect writes in 0..16KiB share 30%", false),
        ("lose flushes", true),
        ("cut-unreadable share 50%", false),
        ("cut-old share 50%", true),
        ("cut-old share 50% block", true),
        ("stall 1ms die 0 every 2ms", true),
        ("slow x40 die 1", true),
    ] {
        let torture = Torture::within("page", &SMALL).unwrap().faults(&[fault]).unwrap().states(300);
        let tried = run(&torture, Way::Flush);
        assert_eq!(tried.exploration.found.is_none(), wanted, "{fault}: {}", tried.to_text());
    }
    for (fault, wanted) in [
        ("stall 1s", "need a clause `die N`"),
        ("fail writes", "changes no data"),
        ("flip reads", "leave out `reads`"),
        ("off", "nothing fails by itself"),
    ] {
        let refused = Torture::within("page", &SMALL).unwrap().faults(&[fault]).unwrap_err();
        assert!(refused.contains(wanted), "{fault}: {refused}");
    }
}

/// A program that writes pages of 16 KiB in place, on a drive whose mapping has pages of 4 KiB.
#[test]
fn a_mapping_that_promises_whole_writes_tears_none() {
    for (promise, wanted) in [("drive.atomic=512B", false), ("drive.atomic=16KiB", true)] {
        let settings = [&SMALL[..], &[promise]].concat();
        let tried = Torture::within("page", &settings).unwrap().states(400).run(
            |disk| {
                let pages = (1..=10).flat_map(|round| (0..4).map(move |page| (round, page)));
                pages.into_iter().try_for_each(|(round, page)| disk.write(page * 16384, &[round; 16384], false))
            },
            |disk, _| {
                let mut bytes = [0; 16384];
                let torn = (0..4).find(|page| {
                    disk.read(page * 16384, &mut bytes).unwrap();
                    bytes != [bytes[0]; 16384]
                });
                torn.map_or(Ok(()), |page| Err(format!("page {page} is torn")))
            },
        );
        assert_eq!(tried.unwrap().exploration.found.is_none(), wanted, "{promise}");
    }
}
