//! `--fail-if` as a pipeline uses it.

use crate::support::{nandarium, run_tiny, said, tiny_beside};
use serde_json::Value;
use std::path::{Path, PathBuf};

const LOAD: [&str; 6] = ["--workload", "uniform-write", "--requests", "4000", "-q", "--no-snapshots"];

#[test]
fn a_limit_that_is_reached_has_an_exit_code_of_its_own() {
    let run = |more: &[&str]| said(run_tiny(&[&["--workload", "uniform-write", "-q"], more].concat()));
    let kept = run(&["--fail-if", "write.p99 > 10s", "--fail-if", "iops < 1"]);
    assert_eq!((kept.code, kept.err.as_str()), (0, ""));
    let reached = run(&["--fail-if", "write.p99 > 1ns", "--fail-if", "waf > 1000", "--json"]);
    assert_eq!(reached.code, 8, "{}", reached.err);
    assert!(
        reached.err.contains("write_p99_ns is ") && reached.err.contains("and its limit is 1 ns"),
        "{}",
        reached.err
    );
    assert!(!reached.err.contains("waf"), "{}", reached.err);
    let told: Value = serde_json::from_str(&reached.out).unwrap();
    let fails = [0, 1].map(|at| told["limits"][at]["fails"].clone());
    assert_eq!(fails, [Value::from(true), false.into()], "{}", told["limits"]);
    let untold = run(&["--fail-if", "read.p99 > 1s"]);
    assert!(untold.code == 8 && untold.err.contains("read_p99_ns is not told"), "{}", untold.err);
    for (limit, wanted) in [
        ("write.p98 > 5ms", "did you mean `write.p9"),
        ("write.p99", "a comparison (>, >=, < or <=)"),
        ("years < 3", "is about a life"),
    ] {
        let refused = run(&["--fail-if", limit]);
        assert!(refused.code == 2 && refused.err.contains(wanted), "{}", refused.err);
    }
}

#[test]
fn each_stack_of_a_comparison_and_each_life_has_its_limits() {
    let compare = ["compare", "page", "dftl", "--fail-if", "write_p99_ns > 1ns", "--json"];
    let compared = said(nandarium(&[&compare[..], &LOAD, &tiny_beside(&LOAD)].concat()));
    assert_eq!(compared.code, 8, "{}", compared.err);
    assert!(compared.err.contains("page: ") && compared.err.contains("dftl: "), "{}", compared.err);
    let told: Value = serde_json::from_str(&compared.out).unwrap();
    assert_eq!(told["limits"].as_array().map(Vec::len), Some(2), "{}", told["limits"]);
    let life =
        ["life", "page", "--fail-if", "tbw < 1000TB", "--workload", "zipf", "--requests", "20000", "-q", "--json"];
    let worn = ["--set", "flash.endurance=3000", "--no-snapshots"];
    let lived = said(nandarium(&[&life[..], &worn, &tiny_beside(&worn)].concat()));
    assert!(lived.code == 8 && lived.err.contains("page: tbw is "), "{} {}", lived.code, lived.err);
    let told: Value = serde_json::from_str(&lived.out).unwrap();
    assert_eq!((&told["limits"][0]["figure"], &told["limits"][0]["value"]), (&"tbw".into(), &told["tbw"]["estimate"]));
}

#[test]
fn verdicts_of_limits_are_tests_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limits.xml");
    let path = file.to_str().unwrap();
    let limits = ["--fail-if", "write.p99 > 1ns", "--fail-if", "waf > 1000", "--junit", path];
    let judged = said(run_tiny(&[&["--workload", "uniform-write", "-q"], &limits[..]].concat()));
    assert_eq!(judged.code, 8, "{}", judged.err);
    let text = std::fs::read_to_string(&file).unwrap();
    for part in [
        "tests=\"2\"",
        "failures=\"1\"",
        "<testcase name=\"not write.p99 &gt; 1ns\" classname=\"page\">",
        "<failure message=\"page: write_p99_ns is ",
        "<testcase name=\"not waf &gt; 1000\" classname=\"page\"/>",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let nowhere = folder.path().join("none").join("limits.xml");
    for place in [nowhere.to_str().unwrap(), folder.path().to_str().unwrap()] {
        for command in [&["run", "--fail-if", "waf > 2"][..], &["torture", "--workload", "true", "--check", "true"]] {
            let refused = said(nandarium(&[command, &["--junit", place]].concat()));
            assert!(refused.code == 2 && refused.err.contains("--junit"), "{}", refused.err);
        }
    }
    let alone = said(nandarium(&["run", "--junit", path]));
    assert!(alone.code == 2 && alone.err.contains("--fail-if"), "{}", alone.err);
}

/// The file of an earlier run stayed behind a run that ended early, and told that all is well.
#[test]
fn a_run_without_a_verdict_is_a_failed_test() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out").join("limits.xml");
    let [out, path] = [folder.path().join("out"), file.clone()].map(|path| path.to_str().unwrap().to_owned());
    std::fs::create_dir(&out).unwrap();
    std::fs::write(&file, "<of-an-earlier-run/>").unwrap();
    let limit = ["--fail-if", "waf > 1000", "--out", &out, "--junit", &path];
    let worn = ["--workload", "uniform-write", "-q", "--set", "flash.endurance=2", "--requests", "300000"];
    let ended = said(run_tiny(&[&worn[..], &limit].concat()));
    assert_eq!(ended.code, 5, "{}", ended.err);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("failures=\"1\"") && text.contains("reaches its verdict"), "{text}");
    // Its folder is made with the results.
    std::fs::remove_dir_all(&out).unwrap();
    let judged = said(run_tiny(&[&["--workload", "uniform-write", "-q"], &limit[..]].concat()));
    assert_eq!(judged.code, 0, "{}", judged.err);
    assert!(std::fs::read_to_string(&file).unwrap().contains("failures=\"0\""));
}

/// A file that could not be written took the place of the verdict.
#[test]
#[cfg(target_os = "linux")]
fn a_verdict_is_told_where_its_file_cannot_be_written() {
    let limit = ["--fail-if", "write.p99 > 1ns", "--junit", "/dev/full"];
    let judged = said(run_tiny(&[&["--workload", "uniform-write", "-q"], &limit[..]].concat()));
    let told = judged.err.contains("write_p99_ns is ") && judged.err.contains("--junit /dev/full");
    assert!(judged.code == 8 && told, "{}", judged.err);
}

/// The plan of a sweep over one axis of a small drive.
fn plan_over(folder: &Path, axis: &str) -> PathBuf {
    let plan = folder.join("plan.toml");
    let text = "stacks = [\"page\"]\nworkloads = [\"uniform-write\"]\n[set]\ndrive.capacity = \"16MiB\"\n\
                flash.channels = 2\nflash.dies_per_channel = 1\nflash.pages_per_block = 32\nworkload.requests = 4000\n";
    std::fs::write(&plan, format!("{text}[axes]\n{axis}\n")).unwrap();
    plan
}

#[test]
fn each_combination_of_a_sweep_has_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_over(folder.path(), "drive.over_provisioning = [\"30%\", \"60%\"]");
    let swept = said(nandarium(&["sweep", plan.to_str().unwrap(), "-q", "--json", "--fail-if", "write.mean > 1ns"]));
    assert_eq!(swept.code, 8, "{}", swept.err);
    assert!(
        swept.err.contains("page under uniform-write, drive.over_provisioning = 60%: write_mean_ns"),
        "{}",
        swept.err
    );
    let told: Value = serde_json::from_str(&swept.out).unwrap();
    assert_eq!(told["limits"].as_array().map(Vec::len), Some(2), "{}", told["limits"]);
}

/// Two of three combinations failed, and the sweep ended with 0.
#[test]
fn a_combination_that_failed_is_not_within_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_over(folder.path(), "flash.endurance = [1, 3000]");
    let sweep = |more: &[&str]| {
        let limited = ["sweep", plan.to_str().unwrap(), "-q", "--fail-if", "write.p99 > 10s"];
        said(nandarium(&[&limited[..], more].concat()))
    };
    let swept = sweep(&[]);
    assert_eq!(swept.code, 8, "{}", swept.err);
    assert!(swept.err.contains("flash.endurance = 1: write_p99_ns is not told"), "{}", swept.err);
    assert!(swept.err.contains("(--fail-if 'write.p99 > 10s'): failed: the drive is worn out"), "{}", swept.err);
    assert!(!swept.err.contains("flash.endurance = 3000"), "{}", swept.err);
    let shard = sweep(&["--shard", "1/2"]);
    assert!(shard.code == 2 && shard.err.contains("--shard"), "a shard has no table to judge: {}", shard.err);
}

/// A tenth of the endurance made no difference that was told, because both files describe a drive of one name.
#[test]
fn drives_of_one_name_in_two_files_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, endurance: u32| {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        let path = folder.path().join(name).join("mine.toml");
        let text = format!("extends = \"page\"\n[flash]\nendurance = {endurance}\n");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (file("a", 3000), file("b", 300));
    let options = ["--life", "--per-day", "1GB", "--workload", "uniform-write", "--requests", "20000", "-q", "--json"];
    let compare = ["compare", &a, &b, "--repetitions", "1", "--no-snapshots"];
    let compared = said(nandarium(&[&compare[..], &options, &tiny_beside(&options)].concat()));
    let told: Value = serde_json::from_str(&compared.out).unwrap_or_else(|_| panic!("{}", compared.err));
    let differences = told["answer"]["differences"].as_array().unwrap();
    assert!(differences.iter().any(|one| one["metric"] == "years"), "{}", told["answer"]);
    assert!(!told["notes"].to_string().contains("had no effect"), "{}", told["notes"]);
}
