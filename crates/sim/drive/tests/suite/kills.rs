//! Memory that forgets, over a file: power cuts, and programs that are killed.

use crate::small::{FORGETFUL, open};
use drive::Drive;

/// What was not flushed is gone, what was is there, and the file agrees.
#[test]
fn a_power_cut_of_memory_that_forgets_is_in_the_file_as_well() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..20_u64 {
        let path = folder.path().join(seed.to_string());
        let mut drive = open(&path, &FORGETFUL).unwrap();
        let pages = 100 + seed;
        (0..pages).for_each(|page| drive.write(page * 4096, &[1; 4096]).unwrap());
        drive.flush().unwrap();
        (0..pages).for_each(|page| drive.write(page * 4096, &[2; 4096]).unwrap());
        drive.power_cut(seed);
        drive.reopen().unwrap();
        let read = |drive: &mut Drive| {
            let mut found = vec![0; pages as usize * 4096];
            drive.read(0, &mut found).unwrap();
            assert!(found.iter().all(|byte| [1, 2].contains(byte)), "seed {seed}");
            found
        };
        let after = read(&mut drive);
        assert!(after.contains(&1), "something was lost");
        drop(drive);
        let mut again = open(&path, &FORGETFUL).unwrap();
        again.check_layers().unwrap();
        assert!(read(&mut again) == after, "seed {seed}: the file holds something else");
    }
}

/// The memory was guessed anew from how full the blocks were: no flush waited for what it held, and the old version
/// could be erased.
#[test]
fn what_was_read_and_flushed_after_a_kill_outlives_the_next_power_cut() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..20_u64 {
        let path = folder.path().join(seed.to_string());
        let mut drive = open(&path, &FORGETFUL).unwrap();
        let pages = 16 + seed;
        (0..pages).for_each(|page| drive.write(page * 4096, &[1; 4096]).unwrap());
        drop(drive);
        let mut drive = open(&path, &FORGETFUL).unwrap();
        let mut found = vec![0; pages as usize * 4096];
        drive.read(0, &mut found).unwrap();
        drive.flush().unwrap();
        drive.power_cut(seed);
        drive.reopen().unwrap();
        let mut after = vec![0; found.len()];
        drive.read(0, &mut after).unwrap();
        assert!(found == after, "seed {seed}: flushed pages are gone");
    }
}

/// Writes were told to be missing, and what had been read was torn: the place of such a page says that it was
/// programmed once more, and the table that it is torn.
#[test]
fn pages_programmed_again_where_a_power_cut_took_some_back_are_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..20_u64 {
        let path = folder.path().join(seed.to_string());
        let mut drive = open(&path, &FORGETFUL).unwrap();
        (0..20 + seed).for_each(|page| drive.write(page * 4096, &[1; 4096]).unwrap());
        drive.power_cut(seed);
        drive.reopen().unwrap();
        (0..40).for_each(|page| drive.write(page * 4096, &[2; 4096]).unwrap());
        drop(drive);
        let mut drive = open(&path, &FORGETFUL).unwrap();
        assert!(!drive.file_damage().is_any(), "seed {seed}: {}", drive.file_damage());
        let mut found = vec![0; 40 * 4096];
        drive.read(0, &mut found).unwrap();
        assert!(found == vec![2; found.len()], "seed {seed}: what was programmed is in the file");
    }
}

/// A cut that is only thought of was written to the file of the drive that went on.
#[test]
fn the_drive_after_a_cut_that_did_not_happen_leaves_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let mut drive = open(&path, &FORGETFUL).unwrap();
    (0..32_u64).for_each(|page| drive.write(page * 4096, &[1; 4096]).unwrap());
    let mut other = drive.left_by_cut(1).unwrap().recover().unwrap();
    (0..32_u64).for_each(|page| other.write(page * 4096, &[2; 4096]).unwrap());
    drop((drive, other));
    let mut found = vec![0; 32 * 4096];
    open(&path, &FORGETFUL).unwrap().read(0, &mut found).unwrap();
    assert!(found == vec![1; found.len()]);
}
