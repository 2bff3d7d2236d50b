//! Checks on several threads find what one finds.

use experiment::Monitor;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use torture::{Commands, CutDisk, Exploration, Lie, Recorder, Torture, TortureError, Tried};

/// So many threads; it counts what it is told, and is stopped after some checks.
#[derive(Default)]
struct Desk {
    threads: usize,
    after: Option<usize>,
    expected: AtomicUsize,
    same: AtomicUsize,
    checked: AtomicUsize,
}

impl Monitor for Desk {
    fn expect(&self, states: usize) {
        self.expected.fetch_add(states, Ordering::Relaxed);
    }
    fn found(&self, states: usize) {
        self.same.fetch_add(states, Ordering::Relaxed);
    }
    fn ended(&self, _: &str, _: &str) {
        self.checked.fetch_add(1, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.after.is_some_and(|after| self.checked.load(Ordering::Relaxed) >= after)
    }
    fn threads(&self) -> Option<usize> {
        Some(self.threads)
    }
}

fn desk(threads: usize) -> Desk {
    Desk { threads, ..Desk::default() }
}

/// Thirty records, each with a flush.
fn append(disk: &mut Recorder<CutDisk<'static>>) -> Result<(), nbd::ErrorNumber> {
    for number in 1..=30 {
        disk.write(u64::from(number) * 1024, &[number; 1024], false)?;
        disk.flush()?;
        disk.say(&number.to_string());
    }
    Ok(())
}

fn verify(disk: &mut CutDisk<'_>, said: &[&str]) -> Result<(), String> {
    let mut bytes = [0; 1024];
    for number in 1..=said.len() as u64 {
        disk.read(number * 1024, &mut bytes).map_err(|error| format!("{error:?}"))?;
        if bytes.iter().any(|byte| u64::from(*byte) != number) {
            return Err(format!("{number} of {} is gone", said.len()));
        }
    }
    Ok(())
}

/// Its text without the time that it took.
fn text(tried: &Tried) -> String {
    let text = tried.to_text();
    let is_timed = |line: &str| line.starts_with("states ");
    let lines = text.lines().map(|line| if is_timed(line) { line.rsplitn(3, ", ").nth(2).unwrap() } else { line });
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// All that is told of it, by one thread and by several, of which each check is made once if none fails.
fn same_by_all(torture: &Torture) -> Tried {
    let alone = torture.run(append, verify).unwrap();
    for threads in [1, 2, 5] {
        let (desk, made) = (desk(threads), Mutex::new(Vec::new()));
        let counted = |disk: &mut CutDisk<'_>, said: &[&str]| {
            made.lock().unwrap().push((disk.to_bytes(), said.len()));
            verify(disk, said)
        };
        let tried = torture.run_side_by_side(&desk, append, counted).unwrap();
        assert_eq!(tried.exploration, alone.exploration, "{threads} threads");
        assert_eq!(text(&tried), text(&alone), "{threads} threads");
        let (mut made, checked) = (made.into_inner().unwrap(), alone.exploration.checked as usize);
        if alone.exploration.found.is_none() {
            made.sort_unstable();
            made.dedup();
            let told = [&desk.expected, &desk.same, &desk.checked].map(|count| count.load(Ordering::Relaxed));
            let states = alone.exploration.states as usize;
            assert_eq!(told, [states, states - checked, checked], "{threads} threads");
            // The disk as the workload left it may be among the states.
            assert!([checked, checked + 1].contains(&made.len()), "{} checks of {checked} states", made.len());
        }
    }
    alone
}

#[test]
fn what_is_found_does_not_depend_on_the_number_of_threads() {
    for seed in 1..=4 {
        let disk = Torture::new(64 << 10).states(3000).seed(seed);
        let held = same_by_all(&disk);
        assert!(held.exploration.found.is_none() && held.exploration.checked > 100, "{}", held.to_text());
        for (lie, states) in [(Lie::IgnoreFlush, 3000), (Lie::StaleRead, 3000), (Lie::TornSector, 200)] {
            let found = same_by_all(&disk.clone().states(states).lies(&[lie])).exploration.found;
            assert_eq!(found.is_some(), lie != Lie::TornSector, "{lie:?}");
        }
    }
}

#[test]
fn what_is_found_within_a_drive_does_not_depend_on_the_number_of_threads() {
    let settings = ["drive.capacity=32MiB", "flash.channels=4", "flash.dies_per_channel=1", "flash.pages_per_block=32"];
    for seed in 1..=2 {
        let drive = Torture::within("page", &settings).unwrap().states(60).seed(seed);
        assert!(same_by_all(&drive).exploration.found.is_none());
        let gone = same_by_all(&drive.faults(&["die 1"]).unwrap());
        let found = gone.exploration.found.as_ref().expect("nothing replaces the die");
        assert!(found.drawn.missing().count() > 0, "{}", gone.to_text());
    }
}

/// A failure is rare here: among many states that hold, in the middle of a window.
#[test]
fn the_first_state_that_fails_is_found_although_a_later_one_fails_sooner() {
    for seed in 1..=6 {
        let torture = Torture::new(64 << 10).states(3000).seed(seed);
        let lost = |disk: &mut CutDisk<'_>| {
            let mut bytes = [0; 512];
            disk.read(12 * 1024 + 512, &mut bytes).unwrap();
            let is_torn = bytes[0] == 0;
            disk.read(12 * 1024, &mut bytes).unwrap();
            is_torn && bytes[0] == 12
        };
        let check = |disk: &mut CutDisk<'_>, said: &[&str]| {
            // Whatever comes first takes longest.
            std::thread::sleep(std::time::Duration::from_micros(400 - 10 * said.len() as u64));
            if lost(disk) || said.len() > 25 && said.len() < 30 { Err(format!("after {}", said.len())) } else { Ok(()) }
        };
        let alone = torture.run(append, check).unwrap();
        let found = alone.exploration.found.as_ref().expect("some state is so");
        for threads in [2, 5] {
            let tried = torture.run_side_by_side(&desk(threads), append, check).unwrap();
            assert_eq!(tried.exploration, alone.exploration, "seed {seed}, {threads} threads, state {}", found.number);
        }
    }
}

/// Writes four pages, each with a flush.
const WORKLOAD: &str = "fio --name=t --ioengine=nbd --uri=\"$NANDARIUM_URI\" --rw=write --bs=4k --size=16k --fsync=1 \
    --output=/dev/null && echo all of it";

/// Every check had the same folder.
#[test]
fn commands_find_with_several_threads_what_one_finds_each_in_a_folder_of_its_own() {
    let small = ["drive.capacity=64MiB", "flash.channels=1", "flash.pages_per_block=64"];
    let torture = Torture::serving("page", &small).unwrap().states(80);
    let recording = torture.record_commands(Commands::new(WORKLOAD, "true"), &()).unwrap();
    let alone = "test ! -e $NANDARIUM_FOLDER/mine || { echo not alone; exit 1; }; echo > $NANDARIUM_FOLDER/mine; \
        sleep 0.02; rm $NANDARIUM_FOLDER/mine";
    let pages = "head -c 16384 $NANDARIUM_IMAGE | tr -d '\\0' | wc -c";
    let fails = format!("{alone}; n=$({pages}); test $n -lt 6000 -o $n -gt 14000 || {{ echo $n; exit 1; }}");
    for (check, is_found) in [(alone, false), (&fails, true)] {
        let tried = |threads: usize| {
            let recording = Some(recording.clone());
            let commands = Commands { image: true, recording, ..Commands::new("exit 1", check) };
            torture.run_commands(commands, &desk(threads)).unwrap()
        };
        let one = tried(1);
        assert_eq!(one.exploration.found.is_some(), is_found, "{}", one.to_text());
        for threads in [2, 5] {
            let several = tried(threads);
            assert_eq!((&several.exploration, text(&several)), (&one.exploration, text(&one)), "{threads} threads");
        }
    }
}

#[test]
fn what_was_checked_before_it_was_stopped_is_kept() {
    let torture = Torture::new(64 << 10).states(100_000);
    for threads in [1, 2, 5] {
        let desk = Desk { after: Some(40), ..desk(threads) };
        let Exploration { states, checked, found, .. } =
            torture.run_side_by_side(&desk, append, verify).unwrap().exploration;
        let most = 40 + threads as u64;
        assert!((40..=most).contains(&checked) && states >= checked && states < 100_000, "{checked} of {states}");
        assert_eq!(found, None);
    }
    let stopped = Desk { after: Some(0), ..desk(2) };
    let ended = torture.run_side_by_side(&stopped, append, verify);
    assert!(matches!(ended, Err(TortureError::Interrupted)), "nothing was looked at");
}
