//! A drive in a file outlives its program.

use crate::small::{FORGETFUL, ROOM, UNITS, open};
use drive::{Drive, DriveError};
use engine::random::Stream;
use std::path::Path;

/// Nothing is told to the file when a drive is dropped, so that a drop is what a kill is.
#[test]
fn what_was_acknowledged_in_flash_is_there_when_the_file_is_opened_again() {
    for settings in [
        &[][..],
        &["ftl.kind=tpm"],
        &["ftl.kind=bast", ROOM],
        &["ftl.kind=superpage"],
        &["remap.kind=hard", "drive.capacity=3MiB"],
        &["stripe.kind=raid0", "flash.channels=4", "drive.over_provisioning=300%"],
        &UNITS,
        &["flash.word_line_pages=3", "flash.pages_per_block=12", "ftl.slc.share=50%", ROOM],
        &FORGETFUL,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive");
        let mut known = vec![0_u8; 2 << 20];
        for round in 1..=4_u64 {
            let mut drive = open(&path, settings).unwrap();
            let mut found = vec![1; known.len()];
            drive.read(0, &mut found).unwrap();
            assert!(found == known, "{settings:?}, round {round}");
            for number in 0..700 {
                let place = (number * 7919 + round * 31) % 512 * 4096;
                let bytes = [(number + round) as u8; 4096];
                drive.write(place, &bytes).unwrap();
                known[place as usize..place as usize + 4096].copy_from_slice(&bytes);
            }
            drive.trim(round * 65_536, 8192).unwrap();
            known[round as usize * 65_536..round as usize * 65_536 + 8192].fill(0);
            drive.flush().unwrap();
        }
        assert!(std::fs::metadata(&path).unwrap().len() > 2 << 20);
    }
}

#[test]
fn cuts_and_erases_leave_the_file_as_the_drive_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    for seed in 0..30_u64 {
        let mut drive = open(&path, &[]).unwrap();
        drive.cut_power_after(300 + 17 * seed, seed);
        let mut last = vec![None; 512];
        for number in 0.. {
            let page = number * 7919 % 512;
            if drive.write(page * 4096, &[(number % 251) as u8; 4096]).is_err() {
                last[page as usize] = None;
                break;
            }
            last[page as usize] = Some((number % 251) as u8);
        }
        drop(drive);
        let mut drive = open(&path, &[]).unwrap();
        drive.check_layers().unwrap();
        let mut found = [0; 4096];
        for (page, wanted) in last.iter().enumerate().filter_map(|(page, wanted)| Some((page, (*wanted)?))) {
            drive.read(page as u64 * 4096, &mut found).unwrap();
            assert_eq!(found, [wanted; 4096], "seed {seed}, page {page}");
        }
    }
}

#[test]
fn erases_from_before_a_drive_was_used_stay_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let settings = ["flash.errors.model=powers", "flash.errors.worn=1500"];
    let least = |drive: &mut Drive| drive.smart().get("least_erases").unwrap();
    let mut drive = open(&path, &settings).unwrap();
    (0..400_u64).for_each(|page| drive.write(page * 4096, &[1; 4096]).unwrap());
    drive.flush().unwrap();
    assert_eq!(least(&mut drive), 1500);
    drop(drive);
    assert_eq!(least(&mut open(&path, &settings).unwrap()), 1500);
}

#[test]
fn blocks_with_one_bit_a_cell_are_so_when_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let settings = [
        "flash.word_line_pages=3",
        "flash.pages_per_block=12",
        "ftl.slc.share=80%",
        ROOM,
        "flash.read_time=500us",
        "flash.slc_read_time=30us",
        "flash.program_memory=48KiB",
    ];
    let mut drive = open(&path, &settings).unwrap();
    (0..64_u64).for_each(|page| drive.write(page * 4096, &[1; 4096]).unwrap());
    drive.flush().unwrap();
    drop(drive);
    let mut again = open(&path, &settings).unwrap();
    let mut found = [0; 4096];
    for page in 0..32 {
        let before = again.now();
        again.read(page * 4096, &mut found).unwrap();
        assert!(again.now() - before < 200_000, "page {page} took {} ns", again.now() - before);
    }
}

/// Killed before it had a description, it was the file of no drive for ever.
#[test]
fn a_drive_that_was_never_finished_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    for settings in [&[][..], &["remap.kind=hard"]] {
        let mut drive = open(&path, settings).unwrap();
        drive.write(0, &[1; 4096]).unwrap();
        drop(drive);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"nandnew2", 0).unwrap();
        drop(file);
        let mut found = [9; 4096];
        open(&path, settings).unwrap().read(0, &mut found).unwrap();
        assert_eq!(found, [0; 4096], "{settings:?}");
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::write(&path, [0; 5000]).unwrap();
    assert!(matches!(open(&path, &[]), Err(DriveError::Foreign { .. })), "somebody else's zeros");
}

/// Such files were made anew, read as older data, or lost pages, without a word.
#[test]
fn damage_to_a_file_is_an_error_and_never_older_data() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let mut drive = open(&path, &[]).unwrap();
    for version in 1..=2_u8 {
        (0..64).for_each(|page| drive.write(page * 4096, &[version; 4096]).unwrap());
    }
    drive.flush().unwrap();
    let blocks = drive.smart().get("blocks").unwrap();
    drop(drive);
    let sound = std::fs::read(&path).unwrap();
    let with = |change: &dyn Fn(&std::fs::File)| {
        std::fs::write(&path, &sound).unwrap();
        change(&std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap());
        open(&path, &[])
    };
    let refused = |drive: Result<Drive, DriveError>, wanted: &str| {
        let error = drive.err().unwrap_or_else(|| panic!("{wanted}: it opens")).to_string();
        assert!(error.contains(wanted), "{error}");
    };
    refused(with(&|file| file.write_all_at(&[0; 16], 0).unwrap()), "not the file of a drive");
    refused(with(&|file| file.set_len(sound.len() as u64 - 4096).unwrap()), "cut short");
    // What is said of a block is there twice.
    let rows = [65536, sound.len() - blocks as usize * 16];
    refused(
        with(&|file| rows.iter().for_each(|at| file.write_all_at(&[1], *at as u64).unwrap())),
        "of block 0 is damaged",
    );
    for row in rows {
        let mut drive = with(&|file| file.write_all_at(&[1], row as u64).unwrap()).unwrap();
        let mut found = [0; 4096];
        (0..64).for_each(|page| {
            drive.read(page * 4096, &mut found).unwrap();
            assert_eq!(found, [2; 4096], "row at {row}, page {page}");
        });
        assert_eq!(drive.file_damage().mended, 1);
    }
    // A bit of every place: the newest version, or an error.
    let first = sound.windows(4096).position(|bytes| bytes.iter().all(|byte| *byte == 1)).unwrap();
    let first = first - 40;
    let mut errors = 0;
    for place in 0..128 {
        let mut drive = with(&|file| {
            let at = (first + place * (4096 + 40) + 100) as u64;
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 4], at).unwrap();
        })
        .unwrap();
        for page in 0..64 {
            let mut found = [0; 4096];
            match drive.read(page * 4096, &mut found) {
                Ok(()) => assert!(found == [2; 4096], "place {place}, page {page}: version {}", found[0]),
                Err(error) => {
                    assert!(matches!(error, DriveError::Failed { .. }), "{error}");
                    errors += 1;
                }
            }
        }
    }
    assert!(errors > 0);
}

/// What damage to a file has done.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u32,
    uncorrectable: u32,
    mended: u32,
    unnoticed: u32,
}

/// Flushed pages of a killed drive, after `damages` made one at a time: where, and to what, a chance
/// says.
fn after_damages(settings: &[&str], tries: u64, name: &str, mut make: impl FnMut(&mut Stream, &mut [u8])) -> Outcomes {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let mut drive = open(&path, settings).unwrap();
    let mut known = vec![0_u8; 1 << 20];
    for number in 0..900_u64 {
        let place = (number * 7919 % 251 * 4096) as usize;
        let page = &mut known[place..place + 4096];
        if number % 9 == 4 {
            page.fill(0);
            drive.trim(place as u64, 4096).unwrap();
        } else {
            page.fill((number % 250) as u8 + 1);
            drive.write(place as u64, page).unwrap();
        }
        if number % 13 == 0 || number == 899 {
            drive.flush().unwrap();
        }
    }
    drop(drive);
    let sound = std::fs::read(&path).unwrap();
    let used: Vec<usize> =
        (0..sound.len()).step_by(16).filter(|at| sound[*at..].iter().take(16).any(|byte| *byte != 0)).collect();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let (mut stream, mut outcomes) = (Stream::new(7, name), Outcomes::default());
    let read = |outcomes: &mut Outcomes, what: &str| {
        let Ok((mut drive, damage)) = Drive::check_file(&path) else {
            outcomes.refused += 1;
            return;
        };
        drive.check_layers().unwrap();
        let mut failed = 0;
        for (page, wanted) in (0..).zip(known.chunks(4096)) {
            let mut found = [0; 4096];
            match drive.read(page * 4096, &mut found) {
                Ok(()) => assert!(
                    found == *wanted,
                    "{settings:?}, {what}: page {page} is {}, not {}; {damage:?}",
                    found[0],
                    wanted[0]
                ),
                Err(error) => {
                    assert!(matches!(error, DriveError::Failed { .. }), "{error}");
                    failed += 1;
                }
            }
        }
        assert!(failed == 0 || damage.pages > 0, "{settings:?}, {what}: {failed} pages cannot be read, and {damage:?}");
        assert_eq!(drive.smart().get("file_pages_damaged"), Some(damage.pages));
        outcomes.uncorrectable += u32::from(failed > 0);
        outcomes.mended += u32::from(failed == 0 && damage.is_any());
        outcomes.unnoticed += u32::from(!damage.is_any());
    };
    read(&mut outcomes, "sound");
    assert_eq!(outcomes.unnoticed, 1, "{outcomes:?}");
    for number in 0..tries {
        // Around something that was written.
        let at = used[stream.below(used.len() as u64) as usize]
            .saturating_sub(stream.below(4096) as usize)
            .min(sound.len() - 4096);
        let mut range = sound[at..at + 4096].to_vec();
        make(&mut stream, &mut range);
        file.write_all_at(&range, at as u64).unwrap();
        read(&mut outcomes, &format!("{name} {number} at {at}"));
        file.write_all_at(&sound[at..at + 4096], at as u64).unwrap();
    }
    outcomes
}

/// A bit before a page, 4 KiB of zeros or of rubbish: flushed pages read as older ones or as zeros, and
/// nothing was told.
#[test]
fn flushed_pages_read_as_they_were_or_as_errors_whatever_is_damaged() {
    let stacks: [&[&str]; 4] =
        [&[], &["ftl.kind=tpm"], &["ftl.kind=bast", ROOM], &["flash.page_size=512B", "drive.over_provisioning=100%"]];
    for settings in stacks {
        let flip = |stream: &mut Stream, range: &mut [u8]| range[stream.below(4096) as usize] ^= 1 << stream.below(8);
        let bits = after_damages(settings, 150, "a bit", flip);
        let zeros = after_damages(settings, 100, "zeros", |_, range| range.fill(0));
        let rubbish =
            after_damages(settings, 100, "rubbish", |stream, range| range.fill_with(|| stream.below(256) as u8));
        for outcomes in [bits, zeros, rubbish] {
            println!("{settings:?}: {outcomes:?}");
            assert!(outcomes.uncorrectable > 10 && outcomes.mended > 0, "{settings:?}: {outcomes:?}");
        }
    }
}

/// A misdirected write: 4 KiB of a file, or of another one of the same drive, in the place of others. Heads said
/// nothing of their pages, so older versions and zeros were read, and nothing was told.
#[test]
fn what_belongs_elsewhere_is_damage_and_never_other_data() {
    use std::os::unix::fs::FileExt;
    const PIECE: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let small = ["drive.capacity=1MiB", "flash.pages_per_block=8"];
    let known = |page: u64| [(page % 250) as u8 + 1; 4096];
    let make = |path: &Path| {
        let mut drive = open(path, &small).unwrap();
        for round in 0..3_u64 {
            for number in 0..256_u64 {
                let page = number * 77 % 256;
                let bytes = if round == 2 { known(page) } else { [200 + round as u8; 4096] };
                drive.write(page * 4096, &bytes).unwrap();
            }
            drive.trim(round * 65_536, 65_536).unwrap();
            drive.flush().unwrap();
        }
        drop(drive);
        std::fs::read(path).unwrap()
    };
    let (sound, other) = (make(&path), make(&folder.path().join("other")));
    let is_used = |bytes: &[u8], at: usize| bytes[at..].iter().take(PIECE).any(|byte| *byte != 0);
    let used: Vec<usize> = (0..sound.len() - PIECE).step_by(PIECE).filter(|at| is_used(&sound, *at)).collect();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let (mut stream, mut noticed) = (Stream::new(3, "elsewhere"), 0);
    for at in &used {
        let elsewhere = |stream: &mut Stream| used[stream.below(used.len() as u64) as usize];
        let near = |by: usize| at.saturating_add(by).min(sound.len() - PIECE);
        let from = [near(PIECE), at.saturating_sub(PIECE), elsewhere(&mut stream), elsewhere(&mut stream)];
        let pieces = from.map(|from| &sound[from..from + PIECE]);
        let foreign = &other[*at..at + PIECE];
        for piece in pieces.into_iter().chain([foreign]).filter(|piece| **piece != sound[*at..at + PIECE]) {
            file.write_all_at(piece, *at as u64).unwrap();
            if let Ok((mut drive, damage)) = Drive::check_file(&path) {
                for page in 0..256_u64 {
                    let mut found = [0; 4096];
                    let is_trimmed = (32..48).contains(&page);
                    let wanted = if is_trimmed { [0; 4096] } else { known(page) };
                    match drive.read(page * 4096, &mut found) {
                        Ok(()) => assert!(found == wanted, "at {at}: page {page} is {}; {damage:?}", found[0]),
                        Err(error) => {
                            assert!(matches!(error, DriveError::Failed { .. }) && damage.pages > 0, "{error}");
                        }
                    }
                }
                noticed += u32::from(damage.is_any());
            } else {
                noticed += 1;
            }
            file.write_all_at(&sound[*at..at + PIECE], *at as u64).unwrap();
        }
    }
    assert!(noticed as usize > used.len(), "{noticed} of what was put into {} places was noticed", used.len());
}

/// It was a page cut in two by the end of the program, wherever in its block it was.
#[test]
fn only_the_last_write_of_all_can_be_torn() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let mut drive = open(&path, &[]).unwrap();
    for version in 1..=2_u8 {
        (0..8).for_each(|page| drive.write(page * 4096, &[version * 100 + page as u8; 4096]).unwrap());
    }
    drop(drive);
    let sound = std::fs::read(&path).unwrap();
    for page in 0..8_u8 {
        std::fs::write(&path, &sound).unwrap();
        let at = sound.windows(4096).position(|bytes| bytes.iter().all(|byte| *byte == 200 + page)).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[0; 2048], at as u64 + 2048).unwrap();
        let (mut drive, damage) = Drive::check_file(&path).unwrap();
        let mut found = [0; 4096];
        let read = drive.read(u64::from(page) * 4096, &mut found);
        if page == 7 {
            assert!(read.is_ok() && found == [107; 4096] && !damage.is_any(), "{damage:?}");
        } else {
            assert!(matches!(read, Err(DriveError::Failed { .. })) && damage.pages == 1, "page {page}: {damage:?}");
        }
        // Its head: that a write is missing is told, but for the last.
        file.write_all_at(&[0; 8], at as u64 - 8).unwrap();
        let (_, damage) = Drive::check_file(&path).unwrap();
        assert_eq!(damage.writes, u64::from(page != 7), "page {page}");
    }
}

#[test]
fn a_file_of_another_drive_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    drop(open(&path, &[]).unwrap());
    let error = open(&path, &["flash.pages_per_block=32"]).err().unwrap().to_string();
    assert!(error.contains("flash.pages_per_block = 16") && error.contains("flash.pages_per_block = 32"), "{error}");
    let error = open(&path, &["ftl.kind=tpm", "ftl.map_cache=64KiB"]).err().unwrap().to_string();
    assert!(error.contains("`ftl.kind = page`, and this stack has `ftl.kind = tpm`"), "{error}");
    let first = open(&path, &[]).unwrap();
    let error = open(&path, &[]).err().unwrap().to_string();
    assert!(error.contains("another program has this drive open"), "{error}");
    drop(first);
    std::fs::write(&path, "something else altogether, and long enough").unwrap();
    let error = open(&path, &[]).err().unwrap().to_string();
    assert!(error.contains("not the file of a drive"), "{error}");
    std::fs::write(&path, b"nandrv02 and all that an earlier version kept").unwrap();
    let error = open(&path, &[]).err().unwrap().to_string();
    assert!(error.contains("of another version of the program"), "{error}");
    assert!(matches!(open(&folder.path().join("no/such/folder"), &[]), Err(DriveError::File { .. })));
}

/// Every kind of stripes was refused, and for non-volatile memory, which some have no use for.
#[test]
fn a_file_is_refused_to_stripes_that_keep_more_than_pages_and_to_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let striped = |kind| [kind, "flash.channels=5", "drive.over_provisioning=300%"];
    let nonvolatile = "stripe.buffer_nonvolatile=true";
    for (settings, wanted) in [
        (&striped("stripe.kind=raid5")[..], "stripe.kind = raid5 keeps notes of dies that failed"),
        (&striped("stripe.kind=raid6-ppc"), "stripe.kind = raid6-ppc keeps stripes whose parity is delayed"),
        (&striped("stripe.kind=fra"), "set stripe.kind to none, raid0 or coded"),
        (&striped("stripe.kind=raid-elastic"), "keeps lists of pages beside the pages of its parities"),
        (&[&striped("stripe.kind=raid0")[..], &[nonvolatile]].concat(), "set stripe.buffer_nonvolatile to false"),
        (&["buffer.kind=page-lru", "buffer.nonvolatile=true"], "set buffer.nonvolatile to false"),
    ] {
        let error = open(&folder.path().join("refused"), settings).err().unwrap();
        assert!(matches!(error, DriveError::Unsupported(_)), "{settings:?}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[test]
fn a_page_cut_in_two_by_the_end_of_the_program_counts_as_torn() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let mut drive = open(&path, &[]).unwrap();
    drive.write(0, &[1; 4096]).unwrap();
    drive.write(0, &[2; 4096]).unwrap();
    drop(drive);
    // The newest place that was written: half of its cells never came.
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let at = bytes.windows(64).rposition(|window| window == [2; 64]).unwrap() + 64 - 2048;
    file.write_all_at(&[0; 2048], at as u64).unwrap();
    drop(file);
    let mut drive = open(&path, &[]).unwrap();
    let mut found = [0; 4096];
    drive.read(0, &mut found).unwrap();
    assert_eq!(found, [1; 4096], "the version before it is the newest there is");
}

/// A file system of its own, as small as asked for; it is gone with this.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn of(bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={bytes}");
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_fails_writes_and_flushes_and_loses_nothing_that_was_acknowledged() {
    let Some(disk) = Mounted::of(1 << 20) else {
        println!("skipped: only root may mount a file system");
        return;
    };
    let path = disk.0.path().join("drive");
    let mut known = vec![0_u8; 2 << 20];
    let mut drive = open(&path, &[]).unwrap();
    let mut refused = 0;
    for number in 0..2000_u64 {
        let place = number * 7919 % 512 * 4096;
        let bytes = [number as u8 | 1; 4096];
        match drive.write(place, &bytes).and_then(|()| drive.flush()) {
            Ok(()) => {
                assert_eq!(refused, 0, "write {number} is acknowledged after one that was not");
                known[place as usize..place as usize + 4096].copy_from_slice(&bytes);
            }
            Err(DriveError::File { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 1000 && drive.sync().is_err(), "{refused} writes were refused");
    assert_eq!(drive.smart().get("file_has_stopped"), Some(1));
    let mut found = [0; 4096];
    drive.read(0, &mut found).unwrap();
    drop(drive);
    let mut drive = open(&path, &[]).unwrap();
    let mut found = vec![0; known.len()];
    drive.read(0, &mut found).unwrap();
    let wrong = (0..512).filter(|page| found[page * 4096..][..4096] != known[page * 4096..][..4096]).count();
    // The write that noticed may be there or not.
    assert!(wrong <= 1, "{wrong} pages");
}

/// A copy of an open file that goes with a program that begins keeps its lock for some milliseconds.
#[test]
fn a_drive_that_was_just_closed_opens_although_a_copy_of_its_file_lives_for_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    drop(open(&path, &[]).unwrap());
    let copy = std::fs::File::open(&path).unwrap();
    copy.lock().unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        drop(copy);
    });
    open(&path, &[]).unwrap();
    holder.join().unwrap();
}
