//! Golden runs: exact numbers of small runs, kept in `golden/`. A change of a number is a change of
//! the model: `make golden` writes them anew, and the change log says why.

use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// As the drive leaves the factory.
const FRESH: &str = "drive.precondition=none";

/// Name, and arguments beyond a tiny drive.
const RUNS: [(&str, &[&str]); 5] = [
    ("fresh-mixed", &["--workload", "mixed", "--set", FRESH]),
    ("used-uniform-write", &["--workload", "uniform-write", "--set", "drive.precondition=overwrite"]),
    ("used-counted", &["--workload", "hot-cold", "--set", "drive.precondition=fill", "--set", "engine.time=none"]),
    (
        "trims-and-flushes",
        &[
            "--workload",
            "mixed",
            "--set",
            "workload.trim_share=20%",
            "--set",
            "workload.flush_every=50",
            "--set",
            FRESH,
        ],
    ),
    (
        "recorded",
        &["--workload", "sample", "--set", "drive.capacity=1GiB", "--set", "workload.loop=closed", "--set", FRESH],
    ),
];

/// The numbers kept: whole ones only, the same on every machine.
const KEYS: [&str; 14] = [
    "hash",
    "status",
    "sim_ns",
    "host.read.requests",
    "host.write.pages",
    "host.trim.bytes",
    "latency_ns.read.p99",
    "latency_ns.write.p99",
    "latency_ns.write.max",
    "flash.reads.total",
    "flash.programs.host",
    "flash.programs.gc",
    "flash.programs.total",
    "flash.erases.total",
];

#[test]
fn small_runs_give_the_numbers_they_gave_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut changed = Vec::new();
    for (name, arguments) in RUNS {
        let result = crate::support::json(arguments);
        let mut text = String::new();
        for key in KEYS {
            let value = key.split('.').fold(&result, |value: &Value, key| &value[key]);
            // What nobody asked for has no latency; everything else is there.
            assert!(!value.is_f64() && (!value.is_null() || key.starts_with("latency_ns.")), "{key} is {value}");
            let _ = writeln!(text, "{key} = {value}");
        }
        let path = folder.join(format!("{name}.txt"));
        if std::env::var_os("GOLDEN").is_some_and(|verb| verb == "write") {
            std::fs::write(&path, &text).expect("the golden file is written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        if kept != text {
            changed.push(format!("{name}:\n--- kept\n{kept}--- now\n{text}"));
        }
    }
    assert!(changed.is_empty(), "results changed; if they should, run `make golden`\n{}", changed.join("\n"));
}
