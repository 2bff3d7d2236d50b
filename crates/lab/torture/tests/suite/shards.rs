//! Checks that other processes make.

use torture::{Recording, Torture, TortureError, Tried};

const SHARDS: u64 = 3;

/// A log of numbers; with `flushes` each lasts before the next is promised.
fn recorded(torture: &Torture, flushes: bool) -> Recording {
    let mut recorder = torture.recorder();
    for number in 1..=12 {
        recorder.write(u64::from(number) * 512, &[number; 512], false).unwrap();
        if flushes {
            recorder.flush().unwrap();
        }
        recorder.say(&number.to_string());
    }
    recorder.finish().0
}

fn tried(torture: &Torture, recording: &Recording, checks: &mut u64) -> Result<Tried, TortureError> {
    torture.explore(recording.clone(), |disk, said| {
        *checks += 1;
        let mut bytes = [0; 512];
        let is_there = |number: u64| disk.read(number * 512, &mut bytes).is_ok() && u64::from(bytes[0]) == number;
        let all = (1..=said.len() as u64).all(is_there);
        Some(if all { Ok(()) } else { Err(format!("one of {} is gone", said.len())) })
    })
}

/// What shards find together.
fn in_shards(torture: &Torture, recording: &Recording) -> (Tried, u64) {
    let (mut checks, mut failed) = (0, Vec::new());
    for index in 0..SHARDS {
        let shard = tried(&torture.clone().shard(index, SHARDS), recording, &mut checks);
        failed.extend(Tried::failed_check(shard).unwrap());
    }
    let mut more = 0;
    (tried(&torture.clone().known(failed.into_iter().min()), recording, &mut more).unwrap(), checks)
}

#[test]
fn shards_make_each_check_once_and_find_together_what_one_process_finds() {
    let disk = Torture::new(1 << 20).states(400);
    let settings = ["drive.capacity=64MiB", "flash.channels=1", "flash.pages_per_block=64"];
    let drive = Torture::within("page", &settings).unwrap().states(60);
    for (torture, flushes, fails) in [(&disk, true, false), (&disk, false, true), (&drive, true, false)] {
        let recording = recorded(torture, flushes);
        let mut checks = 0;
        let whole = tried(torture, &recording, &mut checks).unwrap();
        let (together, made) = in_shards(torture, &recording);
        assert_eq!(whole.exploration.found.is_some(), fails);
        assert_eq!(together.exploration, whole.exploration);
        if !fails {
            assert_eq!(made, checks, "none is made twice");
        }
    }
}

#[test]
fn a_check_that_fails_without_a_cut_is_told_by_whoever_collects() {
    let torture = Torture::new(1 << 20);
    let recording = recorded(&torture, true);
    let fails = |torture: &Torture| torture.explore(recording.clone(), |_, _| Some(Err("always".to_owned())));
    let failed =
        (0..SHARDS).filter_map(|index| Tried::failed_check(fails(&torture.clone().shard(index, SHARDS))).unwrap());
    let collected = fails(&torture.clone().known(failed.min()));
    assert!(matches!(collected, Err(TortureError::Uncut(why)) if why == "always"));
}
