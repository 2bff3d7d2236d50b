//! A comparison that was stopped goes on where it was.

use crate::support::{nandarium, said};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Two small stacks, and one that takes minutes.
fn compare(stacks: &[&str], out: &Path) -> std::process::Command {
    let mut command = nandarium(&["compare"]);
    command.args(stacks).args(["--workload", "uniform-write", "--requests", "3000", "--quiet", "--no-snapshots"]);
    command.args(["--repetitions", "3", "--json", "--out"]).arg(out);
    command.env("RAYON_NUM_THREADS", "1");
    command
}

/// A comparison without what differs from one run to the next.
fn told(text: &str) -> Value {
    let mut document: Value = serde_json::from_str(text).unwrap();
    for result in document["results"].as_array_mut().unwrap() {
        for key in ["wall_s", "provenance"] {
            result.as_object_mut().unwrap().remove(key);
        }
    }
    document
}

/// Everything was run again from the beginning.
#[cfg(unix)]
#[test]
fn a_comparison_that_was_killed_goes_on_where_it_was() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let stacks = ["page+drive.capacity=256MiB", "dftl+drive.capacity=256MiB"];
    let whole = said(compare(&stacks, there.path()));
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert!(!there.path().join("simulations").exists(), "what is done is not kept twice");
    let mut child = compare(&stacks, here.path()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let kept = || -> usize {
        let folders = std::fs::read_dir(here.path().join("simulations")).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.filter(|file| file.path().extension().is_some_and(|ending| ending == "kept")).count()
    };
    let begun = Instant::now();
    while kept() < 3 && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing is kept");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let found = kept();
    assert!(found == 0 || found >= 3, "{found} are kept");
    let again = said(compare(&stacks, here.path()));
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(told(&again.out), told(&whole.out));
    assert!(!here.path().join("simulations").exists());
}
