//! `trace convert` of built-in workloads.

use crate::support::{Said, json, nandarium, said, tiny_beside};
use serde_json::Value;
use std::path::Path;

/// Requests of a workload on a tiny drive, written to a file in `folder`.
fn converted(folder: &Path, arguments: &[&str]) -> (String, Said) {
    let out = folder.join("out.csv").to_str().expect("a plain path").to_owned();
    let command = [&["trace", "convert", "--out", &out], &*tiny_beside(arguments), arguments].concat();
    let told = said(nandarium(&command));
    assert_eq!(told.code, 0, "{arguments:?}: {}", told.err);
    (out, told)
}

/// The rows of a file, without its header.
fn rows(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

fn times(rows: &[String]) -> Vec<u64> {
    rows.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect()
}

/// Host pages, and flash programs by cause.
fn counts(result: &Value) -> [Value; 2] {
    [result["host"].clone(), result["flash"]["programs"].clone()]
}

#[test]
fn a_converted_workload_does_to_the_drive_what_the_workload_does() {
    let folder = tempfile::tempdir().unwrap();
    // The larger drive is for workloads that need room for their files.
    for (workload, capacity, more) in [
        ("uniform-write", "16MiB", &[][..]),
        ("mixed", "16MiB", &["--set", "workload.trim_share=10%", "--set", "workload.flush_every=100"]),
        ("hot-cold", "16MiB", &["--set", "workload.footprint=50%"]),
        ("sequential-write", "16MiB", &["--set", "workload.request_size=3KiB"]),
        ("oltp", "64MiB", &[]),
    ] {
        let capacity = format!("drive.capacity={capacity}");
        let drive = ["--set", &capacity, "--set", "engine.time=none", "--set", "drive.precondition=overwrite"];
        let asked = |seed| [&["--requests", "5000", "--seed", seed], &drive[..], more].concat();
        let (file, _) = converted(folder.path(), &[&[workload], &*asked("3")].concat());
        let run = |seed| json(&[&["--workload", workload], &*asked(seed)].concat());
        let own: Vec<&str> = drive.into_iter().chain(["--set", "engine.seed=3"]).collect();
        let footprint = more.iter().any(|text| text.contains("footprint"));
        let fill: &[&str] = if footprint { &["--set", "drive.fill=50%"] } else { &[] };
        let replayed = json(&[&["--workload", &file], &*own, fill].concat());
        assert_eq!(counts(&replayed), counts(&run("3")), "{workload}");
        assert_eq!(replayed["hash"], run("3")["hash"], "{workload}");
        assert_ne!(counts(&replayed), counts(&run("4")), "{workload} is the same under every seed");
    }
}

#[test]
fn the_recorded_sample_is_converted_as_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let drive = ["--requests", "3000", "--set", "drive.capacity=1GiB", "--set", "engine.time=none"];
    let (file, told) = converted(folder.path(), &[&["sample"], &drive[..]].concat());
    assert_eq!((rows(&file).len(), told.err.as_str()), (3000, ""));
    let run = |workload: &str| json(&[&["--workload", workload], &drive[..]].concat());
    assert_eq!(counts(&run(&file)), counts(&run("sample")));
}

#[test]
fn a_file_without_arrival_times_says_what_its_reader_takes_them_for() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["uniform-write", "--requests", "200", "--seed", "3"];
    let (file, told) = converted(folder.path(), &asked);
    let without = rows(&file);
    assert!(times(&without).iter().all(|time| *time == 0));
    assert!(told.err.starts_with("note: Every time in the file is 0"), "{}", told.err);
    assert!(
        told.err.contains("--set workload.loop=closed") && told.err.contains("workload.interarrival"),
        "{}",
        told.err
    );

    let (file, told) = converted(folder.path(), &[&asked[..], &["--set", "workload.interarrival=100us"]].concat());
    let with = rows(&file);
    let mean = times(&with).last().unwrap() / 200;
    assert!(times(&with).is_sorted() && (80_000..120_000).contains(&mean), "mean of {mean} ns");
    assert!(told.err.starts_with("note: The file has the arrival times of an open loop"), "{}", told.err);
    let places = |rows: &[String]| rows.iter().map(|row| row.split_once(',').unwrap().1.to_owned()).collect::<Vec<_>>();
    assert_eq!(places(&with), places(&without), "times change no place");

    // Its own times, and a run in an open loop: nothing to be said.
    let own = ["oltp", "--requests", "200", "--set", "drive.capacity=64MiB", "--set", "workload.loop=open"];
    let (file, told) = converted(folder.path(), &own);
    assert!(times(&rows(&file)).last().is_some_and(|time| *time > 0) && told.err.is_empty(), "{}", told.err);
}

#[test]
fn what_cannot_be_converted_is_refused_and_leaves_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    std::fs::write(&out, "kept").unwrap();
    for (arguments, parts) in [
        (
            &["unifrom-write"][..],
            &["did you mean `uniform-write`", "zipf, sample", "There is no file `unifrom-write`"][..],
        ),
        (&["uniform-write"], &["--set drive.capacity=64GiB", "--stack"]),
        (&["zipf", "--set", "drive.capacity=1GiB", "--order", "sort"], &["--order has no effect", "./zipf"]),
        (&["missing.csv", "--seed", "3"], &["--seed has no effect on the trace `missing.csv`"]),
        (&["missing.csv"], &["missing.csv"]),
        (&["oltp", "--stack", "page", "--set", "workload.request_size=4KiB"], &["workload.request_size"]),
        (&["zipf", "--stack", "page", "--set", "workload.repeat=2"], &["workload.repeat has no effect"]),
    ] {
        let refused = said(nandarium(&[&["trace", "convert", "--out", out.to_str().unwrap()], arguments].concat()));
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.err);
        for part in parts {
            assert!(refused.err.contains(part), "{part} in {}", refused.err);
        }
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "kept", "{arguments:?}");
    }
    let refused = said(nandarium(&["trace", "info", "zipf"]));
    assert!(
        refused.code == 2 && refused.err.contains("nandarium trace convert zipf --out zipf.csv"),
        "{}",
        refused.err
    );
}
