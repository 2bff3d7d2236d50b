//! A comparison that was stopped goes on where it was.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn compare(stacks: &[&str], out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nandarium"));
    command.arg("compare").args(stacks).args([
        "--workload",
        "uniform-write",
        "--requests",
        "3000",
        "--quiet",
        "--no-snapshots",
    ]);
    command.args(["--repetitions", "3", "--json", "--out"]).arg(out);
    command.env("RAYON_NUM_THREADS", "1");
    command
}

/// A comparison without what differs from one run to the next.
fn told(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for result in document["results"].as_array_mut().unwrap() {
        for key in ["wall_s", "requests_per_wall_s", "provenance"] {
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
    let stacks = ["page+drive.capacity=1GiB", "dftl+drive.capacity=1GiB"];
    let whole = compare(&stacks, there.path()).output().unwrap();
    assert!(!there.path().join("simulations").exists(), "what is done is not kept twice");
    let mut child = compare(&stacks, here.path()).stdout(Stdio::null()).spawn().unwrap();
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
    let again = compare(&stacks, here.path()).output().unwrap();
    assert!(told(&again) == told(&whole), "the results differ");
    assert!(!here.path().join("simulations").exists());
}
