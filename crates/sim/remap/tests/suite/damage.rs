//! Metadata that something else than a power cut damaged.

use crate::hooked::{Access, Hooked};
use proptest::prelude::*;
use remap::{Blocking, OpenError, Options, OtherCheckpoint, Terms, WriteCache};
use std::sync::OnceLock;

fn options() -> Options {
    let write_cache = WriteCache::Volatile;
    let terms = Terms { page_sectors: 2, superpage_sectors: 8, write_cache, ..Terms::default() };
    Options { terms, ..Options::default() }
}

/// A drive after some use, all of it flushed, and what it holds.
fn used() -> (Blocking<Vec<u8>>, Vec<u8>) {
    let mut drive = Blocking::format(vec![0; 80 * 4096], &options()).unwrap();
    let sectors = drive.sectors();
    let mut all = vec![0; sectors as usize * 512];
    for turn in 0..600 {
        let sector = turn * 37 % (sectors - 3);
        let data = vec![(turn % 251) as u8 + 1; 3 * 512];
        drive.write(sector, &data, false).unwrap();
        all[sector as usize * 512..][..data.len()].copy_from_slice(&data);
        if turn % 7 == 0 {
            drive.flush().unwrap();
        }
    }
    drive.flush().unwrap();
    (drive, all)
}

/// The same closed.
fn closed() -> &'static (Vec<u8>, Vec<u8>) {
    static CLOSED: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    CLOSED.get_or_init(|| {
        let (drive, all) = used();
        (drive.close().unwrap(), all)
    })
}

/// Any metadata that could not be read made the drive unopenable, two checkpoints or not.
#[test]
fn metadata_that_cannot_be_read_count_as_damaged() {
    let (killed, all) = used();
    let killed = killed.into_store();
    for (image, name) in [(&killed, "killed"), (&closed().0, "closed")] {
        let superpages = metadata_bytes() as u64 / 4096;
        let opened = (1..superpages).filter(|superpage| {
            let bad = superpage * 8..superpage * 8 + 8;
            let hook = |access: Access<'_>| match access {
                Access::Read { first_sector, sectors }
                    if first_sector < bad.end && bad.start < first_sector + sectors =>
                {
                    Err(std::io::Error::other("scratched"))
                }
                _ => Ok(()),
            };
            let store = Hooked { bytes: image.clone(), hook };
            let Ok(mut drive) = Blocking::open(store, &options()) else { return false };
            let mut found = vec![0; all.len()];
            drive.read(0, &mut found).unwrap();
            assert!(found == all, "{name}, superpage {superpage}: it reads as something else");
            drive.check().unwrap();
            true
        });
        let count = opened.count() as u64;
        // What is in the journal since the checkpoint cannot be done without, nor the places where the newest of it may
        // be.
        assert!(count >= 10, "{name}: {count} of {} superpages can be done without", superpages - 1);
    }
}

/// All that was flushed was gone, and the drive was called sound without a word.
#[test]
fn a_damaged_end_of_the_journal_is_told() {
    let (killed, _) = used();
    let killed = killed.into_store();
    let mut told = 0;
    for superpage in 1..metadata_bytes() / 4096 {
        let mut image = killed.clone();
        image[superpage * 4096 + 200] ^= 1;
        let drive = match Blocking::open(image, &options()) {
            Ok(drive) => drive,
            Err(error) => {
                told += u32::from(error.to_string().contains("the last superpage of the journal is damaged"));
                continue;
            }
        };
        let from = *drive.hard().recovered().unwrap();
        let is_whole = Blocking::open(killed.clone(), &options()).unwrap().hard().recovered() == Some(&from);
        let is_told = from.torn_tail || from.rejected.is_some() || from.other == OtherCheckpoint::Torn;
        assert!(is_whole || is_told, "superpage {superpage}: {from:?}");
    }
    assert!(told > 0);
}

/// Seven flushed versions of a page, and a bit of the last superpage of the journal: an older version was
/// read, and a place that was used again gave another sector's data; the drive was called sound.
#[test]
fn no_bit_of_the_last_journal_superpage_brings_older_data_back() {
    for superpage_sectors in [8, 32] {
        for (pages, checkpoint) in [(1, false), (40, false), (1, true)] {
            let mut options = options();
            options.terms.superpage_sectors = superpage_sectors;
            let mut drive = Blocking::format(vec![0; 96 * 512 * superpage_sectors as usize], &options).unwrap();
            if checkpoint {
                // Its journal begins anew.
                drive.write(0, &[9; 1024], false).unwrap();
                drive = Blocking::open(drive.close().unwrap(), &options).unwrap();
            }
            for version in 1..=7 {
                (0..pages).for_each(|page| drive.write(page * 2, &[version; 1024], false).unwrap());
                drive.flush().unwrap();
            }
            let data = drive.machine().driver().layout().data_sector() as usize * 512;
            let killed = drive.into_store();
            let bytes = superpage_sectors as usize * 512;
            let mut refused = 0;
            let look = |image: Vec<u8>, what: &str| {
                let Ok(mut drive) = Blocking::open(image, &options) else { return true };
                let mut found = [0; 1024];
                for page in 0..pages {
                    drive.read(page * 2, &mut found).unwrap();
                    assert!(
                        found == [7; 1024],
                        "{superpage_sectors} sectors, {pages} pages, {what}: page {page} is {}",
                        found[0]
                    );
                }
                false
            };
            for superpage in 1..data / bytes {
                let flips = (0..64).chain((64..bytes).step_by(41));
                for at in flips {
                    let mut image = killed.clone();
                    image[superpage * bytes + at] ^= 1 << (at % 8);
                    refused += u32::from(look(image, &format!("byte {at} of superpage {superpage}")));
                }
                for from in (0..bytes).step_by(4096) {
                    for fill in [0, 0xa5] {
                        let mut image = killed.clone();
                        image[superpage * bytes + from..][..4096].fill(fill);
                        look(image, &format!("{fill} from byte {from} of superpage {superpage}"));
                    }
                }
            }
            assert!(refused >= 64, "{refused}");
        }
    }
}

/// A misdirected write of 4 KiB in the metadata: an older superpage of the journal, sound in itself, in the place of
/// the last one brought older data back without a word.
#[test]
fn no_metadata_in_another_place_brings_other_data() {
    for superpage_sectors in [8, 32] {
        let mut options = options();
        options.terms.superpage_sectors = superpage_sectors;
        let mut drive = Blocking::format(vec![0; 96 * 512 * superpage_sectors as usize], &options).unwrap();
        for version in 1..=9_u8 {
            (0..20).for_each(|page| drive.write(page * 2, &[version; 1024], false).unwrap());
            drive.flush().unwrap();
        }
        let pieces = drive.machine().driver().layout().data_sector() as usize * 512 / 4096;
        let killed = drive.into_store();
        let mut refused = 0;
        for (to, from) in (0..pieces).flat_map(|to| (0..pieces).map(move |from| (to, from))) {
            let mut image = killed.clone();
            image.copy_within(from * 4096..(from + 1) * 4096, to * 4096);
            if image == killed {
                continue;
            }
            let Ok(mut drive) = Blocking::open(image, &options) else {
                refused += 1;
                continue;
            };
            let mut found = [0; 1024];
            for page in 0..20 {
                drive.read(page * 2, &mut found).unwrap();
                let what = format!("{superpage_sectors} sectors: {from} in the place of {to}, page {page}");
                assert!(found == [9; 1024], "{what}: version {}", found[0]);
            }
        }
        assert!(refused > pieces, "{refused}");
    }
}

fn metadata_bytes() -> usize {
    let drive = Blocking::open(closed().0.clone(), &options()).unwrap();
    drive.machine().driver().layout().data_sector() as usize * 512
}

/// It is refused, or reads as it should.
fn opens_well(image: Vec<u8>) -> bool {
    let Ok(mut drive) = Blocking::open(image, &options()) else { return false };
    let mut all = vec![0; drive.sectors() as usize * 512];
    drive.read(0, &mut all).unwrap();
    assert!(all == closed().1, "it reads as something else");
    drive.check().unwrap();
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_superpage_is_refused_or_made_up_for(
        at in any::<prop::sample::Index>(), bits in prop::collection::vec((0..4096usize, 1..255u8), 1..20),
    ) {
        let mut image = closed().0.clone();
        let first = at.index(metadata_bytes() / 4096) * 4096;
        for (byte, flip) in bits {
            image[first + byte] ^= flip;
        }
        opens_well(image);
    }

    #[test]
    fn rubbish_never_panics(bytes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..200)) {
        let mut image = closed().0.clone();
        let length = metadata_bytes();
        damage(&mut image[..length], &bytes);
        if let Ok(mut drive) = Blocking::open(image, &options()) {
            let mut all = vec![0; drive.sectors() as usize * 512];
            drive.read(0, &mut all).unwrap();
            drive.check().unwrap();
        }
    }
}

fn damage(image: &mut [u8], flips: &[(prop::sample::Index, u8)]) {
    for (at, flip) in flips {
        image[at.index(image.len())] ^= flip;
    }
}

#[test]
fn the_older_checkpoint_and_the_journal_make_up_for_the_newest() {
    // Superpages 1 and 2 are one slot, 3 and 4 the other.
    let good = (1..5).filter(|superpage| {
        let mut image = closed().0.clone();
        image[superpage * 4096 + 100] ^= 1;
        opens_well(image)
    });
    assert!(good.count() >= 2, "damage to one slot can be made up for");
}

#[test]
fn every_damage_to_the_superblock_is_named() {
    for byte in 0..512 {
        let mut image = closed().0.clone();
        image[byte] ^= 0x10;
        let error = Blocking::open(image, &options()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign | OpenError::Superblock), "{error}");
        assert!(error.to_string().contains("format"), "{error}");
    }
}

#[test]
fn a_foreign_a_short_and_an_empty_device_are_refused_with_a_remedy() {
    let error = Blocking::open(vec![0; 1 << 20], &options()).unwrap_err();
    assert!(matches!(error, OpenError::Foreign) && error.to_string().contains("format it first"), "{error}");
    let mut short = closed().0.clone();
    short.truncate(40 * 4096);
    let error = Blocking::open(short, &options()).unwrap_err();
    assert!(matches!(error, OpenError::Shrunk { .. }) && error.to_string().contains("whole device"), "{error}");
    assert!(matches!(Blocking::open(Vec::new(), &options()), Err(OpenError::Read(_))));
    let mut none = options();
    none.terms.cell_bytes = 0;
    assert!(matches!(Blocking::open(closed().0.clone(), &none), Err(OpenError::NoContents)));
}
