//! A workload that is recorded once, and checked after cuts.

use crate::support::nandarium;
use std::path::Path;
use std::time::{Duration, Instant};

const WORKLOAD: &str = "fio --name=t --ioengine=nbd --uri=\"$NANDARIUM_URI\" --rw=write --bs=4k --size=64k --fsync=4 \
    --output=/dev/null && echo all of it";

fn torture(more: &[&str]) -> (i32, String, String) {
    let small = ["--set", "drive.capacity=64MiB", "--set", "flash.channels=1", "--set", "flash.pages_per_block=64"];
    let output = nandarium(&[&["torture", "--quiet"], &small[..], more].concat()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_check_that_is_content_holds_and_one_that_is_not_is_told_with_what_was_lost() {
    // Sixteen writes with a flush after each four: what the workload said, it said at the end, after the last of them.
    let sound = "test ! -s $NANDARIUM_SAID || nbdinfo --size \"$NANDARIUM_URI\" > /dev/null";
    let (code, stdout, stderr) = torture(&["--workload", WORKLOAD, "--check", sound, "--states", "100"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("holds") && stdout.contains("100 drawn"), "{stdout}");
    // The drive as a file: its first page is zeros where the first write is lost.
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let first = "test $(head -c 4096 $NANDARIUM_IMAGE | tr -d '\\0' | wc -c) -gt 0 || { echo it is gone; exit 1; }";
    let options = ["--workload", WORKLOAD, "--check", first, "--image", "--json", "--out", out];
    let (code, stdout, stderr) = torture(&options);
    assert_eq!(code, 3, "{stdout}{stderr}");
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let failure = &document["failure"];
    assert!(failure["why"].as_str().unwrap().starts_with("it is gone"), "{document:#}");
    assert!(
        failure["lost"].as_array().unwrap().len() <= 1,
        "the first write alone, or none that was asked for: {document:#}"
    );
    for name in ["torture.json", "before.img", "after.img"] {
        assert!(Path::new(out).join(name).is_file(), "{name}");
    }
    let number = failure["state"].to_string();
    let (code, again, _) = torture(&[&options[..5], &["--json", "--replay", &number]].concat());
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!((code, &again["failure"]["lost"]), (3, &failure["lost"]), "its number finds it again");
}

#[test]
fn the_example_of_the_page_holds_and_without_its_flush_is_caught() {
    let page = include_str!("../../../../../docs/torture.md");
    let example = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has one");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.py");
    let run = |text: &str, states: &str| {
        std::fs::write(&file, text).unwrap();
        let command = |verb: &str| format!("/usr/bin/python3 {} {verb}", file.display());
        torture(&["--workload", &command("append"), "--check", &command("verify"), "--states", states])
    };
    let (code, stdout, stderr) = run(example, "60");
    assert_eq!(code, 0, "{stdout}{stderr}");
    // A line is heard a little after it is printed: this program gives others time for that.
    let without = example.replace("drive.flush()", "pass").replace("flush=True)", "flush=True); time.sleep(0.05)");
    let (code, stdout, stderr) = run(&without.replace("import nbd,", "import time, nbd,"), "60");
    assert_eq!(code, 3, "{stdout}{stderr}");
    assert!(stdout.contains("records were acknowledged, and") && stderr.is_empty(), "{stdout}{stderr}");
}

#[test]
fn what_hangs_is_ended_and_what_does_not_begin_is_told() {
    let begun = Instant::now();
    let hangs = ["--workload", WORKLOAD, "--check", "sleep 1000 & sleep 1000", "--time-limit", "1", "--states", "1"];
    let (code, stdout, _) = torture(&hangs);
    assert_eq!(code, 3, "{stdout}");
    assert!(stdout.contains("has not ended within 1 s"), "{stdout}");
    assert!(begun.elapsed() < Duration::from_secs(30), "what it left in the background does not hold it up");
    for (workload, wanted) in [("exit 4", "exit status: 4"), ("true", "has written nothing")] {
        let (code, _, stderr) = torture(&["--workload", workload, "--check", "true"]);
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}");
    }
}

#[test]
fn a_killed_torture_leaves_no_process_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (files, told) = (folder.path().join("files"), folder.path().join("told"));
    std::fs::create_dir(&files).unwrap();
    let check = format!("echo $$ > {0}.part; mv {0}.part {0}; sleep 1000", told.display());
    let mut program = std::process::Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
    program.args(["torture", "--quiet", "--set", "drive.capacity=64MiB", "--set", "flash.channels=1"]);
    program.args(["--set", "flash.pages_per_block=64", "--workload", WORKLOAD, "--check", &check]);
    let mut program = program.env("TMPDIR", &files).spawn().unwrap();
    let soon = |is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not come to that");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    soon(&|| told.is_file());
    let check = std::fs::read_to_string(&told).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", check.trim()));
    // Whoever adopts it may let it lie dead.
    soon(&|| state().is_err() || state().is_ok_and(|state| state.contains(") Z ")));
    soon(&|| std::fs::read_dir(&files).unwrap().next().is_none());
}
