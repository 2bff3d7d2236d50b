//! Files of the version before.

use super::*;
use nand::ContentsKind;
use units::{Geometry, Shape};

/// The file of a drive as version 3 has it: checksums without places, and no identity.
fn written_as_before(path: &Path, flash: &FlashState, description: &str) {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    let image = Image::new(path, file, flash.geometry, Sums::without_places());
    image.clear().unwrap();
    image.begin(flash);
    image.write_all(flash);
    let text = description.as_bytes();
    let sum = crc32fast::hash(text).to_le_bytes();
    let head = [&WITHOUT_PLACES[..], &(text.len() as u32).to_le_bytes(), &sum, text].concat();
    image.file.write_all_at(&head, 0).unwrap();
}

fn geometry() -> Geometry {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_die: 4,
        pages_per_block: 4,
        page_bytes: 4096,
    };
    Geometry::new(shape).unwrap()
}

/// It was emptied before it was known whether another program writes it.
#[test]
fn a_conversion_under_way_elsewhere_is_not_disturbed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, beside] = ["flash", "flash.converted"].map(|name| folder.path().join(name));
    let mut flash = FlashState::new(geometry(), ContentsKind::Bytes);
    written_as_before(&path, &flash, "flash = alone");
    std::fs::write(&beside, b"being written").unwrap();
    let other = File::open(&beside).unwrap();
    other.lock().unwrap();
    let (image, _) = Image::open(&path, geometry(), "flash = alone").unwrap();
    assert!(matches!(image.resume(&mut flash), Err(DriveError::Foreign { .. })));
    assert_eq!(std::fs::read(&beside).unwrap(), b"being written");
    assert!(is_old(&path));
}

#[test]
fn a_conversion_that_fails_leaves_the_old_file_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flash");
    let mut flash = FlashState::new(geometry(), ContentsKind::Bytes);
    // There is room for it in the version before, and not in this one.
    let description = format!("{:>1$}", "flash = alone", TABLE as usize - BEFORE_OLD_TEXT);
    written_as_before(&path, &flash, &description);
    let before = std::fs::read(&path).unwrap();
    let (image, _) = Image::open(&path, geometry(), &description).unwrap();
    assert!(matches!(image.resume(&mut flash), Err(DriveError::File { .. })));
    assert!(std::fs::read(&path).unwrap() == before && is_old(&path));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_of_the_version_before_is_written_anew_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flash");
    let geometry = geometry();
    let fresh = || FlashState::new(geometry, ContentsKind::Bytes);
    let mut flash = fresh();
    let oob = |kind, logical| Oob { kind, logical, sequence: u64::from(logical) + 1 };
    let contents = flash.contents_mut().unwrap();
    contents.restore_page(4, oob(PageKind::Data, 7), &[9; 4096], None);
    contents.restore_page(5, oob(PageKind::Metadata, u32::MAX), &[], Some(b"a record"));
    contents.restore_oob(6, oob(PageKind::Lost, 8));
    let kept = KeptBlock { erases: 5, ..KeptBlock::default() };
    flash.blocks.restore(BlockId(1), 3, false, kept);
    written_as_before(&path, &flash, "flash = alone");
    assert!(std::fs::read(&path).unwrap().starts_with(WITHOUT_PLACES));
    let is_of_version = |version: &[u8]| std::fs::read(&path).unwrap().starts_with(version);
    for turn in 0..2 {
        let mut found = fresh();
        let (image, holds) = Image::open(&path, geometry, "flash = alone").unwrap();
        let (image, damage) = image.resume(&mut found).unwrap();
        assert_eq!(image.is_converted(), turn == 0);
        assert!(holds && !damage.is_any() && is_of_version(MAGIC), "{damage}");
        let (old, new) = (flash.contents().unwrap(), found.contents().unwrap());
        for page in 4..8 {
            assert_eq!(old.oob(page), new.oob(page), "page {page}");
            assert!(old.page(page) == new.page(page) && old.record(page) == new.record(page), "page {page}");
        }
        assert_eq!(found.blocks.kept(BlockId(1)), flash.blocks.kept(BlockId(1)));
        assert_eq!(found.block(BlockId(1)).done, flash.block(BlockId(1)).done);
        // The file in place of the old one is followed, and locked.
        assert!(matches!(Image::open(&path, geometry, "flash = alone"), Err(DriveError::Foreign { .. })));
        image.page(7, oob(PageKind::Data, 9), &[1; 4096], None);
        flash.contents_mut().unwrap().restore_page(7, oob(PageKind::Data, 9), &[1; 4096], None);
        flash.blocks.restore(BlockId(1), 4, false, kept);
    }
}
