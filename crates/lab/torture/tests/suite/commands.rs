//! Programs as commands, in a process that has other things to do.

use experiment::Monitor;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use torture::{Commands, Mount, Recording, Torture, TortureError};

/// Writes four pages, each with a flush.
const WORKLOAD: &str = "fio --name=t --ioengine=nbd --uri=\"$NANDARIUM_URI\" --rw=write --bs=4k --size=16k --fsync=1 \
    --output=/dev/null && echo all of it";
/// Content where the first page is there.
const FIRST: &str = "test $(head -c 4096 $NANDARIUM_IMAGE | tr -d '\\0' | wc -c) -gt 0 || { echo it is gone; exit 1; }";

fn small() -> Torture {
    Torture::serving("page", &["drive.capacity=64MiB", "flash.channels=1", "flash.pages_per_block=64"]).unwrap()
}

/// Who wants all of it to end.
struct Stopped;

impl Monitor for Stopped {
    fn is_stopped(&self) -> bool {
        true
    }
}

#[test]
fn commands_are_recorded_once_and_checked_after_cuts_and_a_failure_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let workload = format!("echo again >> {}; {WORKLOAD}", ran.display());
    let commands = Commands::new(&workload, "nbdinfo --size \"$NANDARIUM_URI\" > /dev/null");
    let held = small().states(40).run_commands(commands, &()).unwrap();
    assert!(held.exploration.found.is_none() && held.exploration.states == 40, "{}", held.to_text());
    let ran = || std::fs::read_to_string(&ran).unwrap().lines().count();
    assert_eq!((ran(), held.recording.said.len()), (1, 1), "it ran once, and said one line");
    let commands = Commands { image: true, recording: Some(held.recording.clone()), ..Commands::new(&workload, FIRST) };
    let caught = small().states(40).run_commands(commands, &()).unwrap();
    let found = caught.exploration.found.as_ref().map(|found| found.why.as_str());
    assert_eq!(found, Some("it is gone (exit status: 1)"), "{}", caught.to_text());
    assert_eq!(ran(), 1, "it did not run again");
    caught.write_to(&folder.path().join("out")).unwrap();
    for name in ["torture.json", "torture.html", "before.img", "after.img", "recording"] {
        assert!(folder.path().join("out").join(name).is_file(), "{name}");
    }
}

/// All children of this process were taken for processes that commands had left behind.
#[test]
fn a_child_of_the_caller_lives_on_and_what_a_command_left_behind_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let mut own = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let leaves = format!("setsid sleep 601 & echo $! > {}; exit 3", told.display());
    let ended = small().run_commands(Commands::new(&leaves, "true"), &());
    assert!(ended.unwrap_err().to_string().contains("exit status: 3"));
    assert!(own.try_wait().unwrap().is_none(), "it is not what a command left");
    own.kill().unwrap();
    own.wait().unwrap();
    let left = format!("/proc/{}/stat", std::fs::read_to_string(&told).unwrap().trim());
    let is_over = || std::fs::read_to_string(&left).map_or(true, |stat| stat.contains(") Z "));
    let begun = Instant::now();
    while !is_over() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_caller_who_wants_it_to_end_does_not_wait_for_a_command() {
    let begun = Instant::now();
    let ended = small().run_commands(Commands::new("sleep 600", "true"), &Stopped);
    assert!(matches!(ended, Err(TortureError::Interrupted)) && begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_runs() {
    assert_eq!(Ok("ext4:discard"), "ext4:discard".parse::<Mount>().map(|mount| mount.to_string()).as_deref());
    assert!("ext5".parse::<Mount>().unwrap_err().contains("none of ext4"));
    let image = Commands { image: true, ..Commands::new("true", "true") };
    let stale = Torture::lies(small(), &[torture::Lie::StaleRead]).check_commands(&image).unwrap_err();
    assert!(stale.to_string().contains("stale-read"), "{stale}");
    let recording = Some(Recording { before: vec![0; 4096], ..Recording::default() });
    let other = small().check_commands(&Commands { recording, ..image }).unwrap_err();
    assert!(other.to_string().contains("drive.capacity=4KiB"), "{other}");
    let disk = Torture::new(1 << 20).run_commands(Commands::new("true", "true"), &());
    assert!(disk.unwrap_err().to_string().contains("served"), "a disk in memory has no socket");
}
