//! `nandarium repro` from end to end, at a size no figure means anything at.

use crate::support::{nandarium, said};
use serde_json::Value;
use std::fmt::Write;

/// The study at its smallest size.
fn small(study: &str, scale: &str, arguments: &[&str]) -> crate::support::Said {
    said(nandarium(&[&["repro", study, "--scale", scale, "--quiet"], arguments].concat()))
}

fn rows(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).expect("standard output is one JSON document");
    assert_eq!(document["schema"], "nandarium.repro/1");
    document["rows"].as_array().expect("rows").clone()
}

/// Every row has its keys, no exact one misses, and the exit code says whether any does.
fn judged(rows: &[Value], said: &crate::support::Said) {
    let mut failed = false;
    for row in rows {
        for key in ["id", "paper", "experiment", "metric", "published", "measured", "accept", "workload", "note"] {
            assert!(row[key].is_string(), "{key} of {row}");
        }
        let (class, verdict) = (row["class"].as_str().unwrap_or(""), row["verdict"].as_str().unwrap_or(""));
        assert!(["E", "N", "T", "recorded"].contains(&class), "{row}");
        assert!(["pass", "fail", "not-run", "recorded"].contains(&verdict), "{row}");
        assert!(class != "E" || verdict != "fail", "an exact row misses: {row}");
        failed |= verdict == "fail";
    }
    assert_eq!(said.code, if failed { 6 } else { 0 }, "{}", said.err);
}

#[test]
fn the_same_seed_gives_the_same_rows_on_any_number_of_threads() {
    let run = |threads: &str| {
        let mut command = nandarium(&["repro", "hard", "--scale", "1/128", "--quiet", "--seed", "3", "--json"]);
        command.env("RAYON_NUM_THREADS", threads);
        said(command).out
    };
    assert!(run("1") == run("2"));
}

#[test]
fn a_file_stands_in_for_a_generated_trace_and_all_is_written() {
    let (folder, out) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("laptop.spc");
    let mut text = String::new();
    for number in 0..4_000_u32 {
        let op = if number % 6 == 0 { 'w' } else { 'r' };
        let _ = writeln!(text, "{},{},4096,{op},{}.5", number % 3, number * 7_919 % 20_000, number);
    }
    std::fs::write(&path, text).expect("a trace is written");
    let out = out.path();
    let trace = format!("laptop={}", path.display());
    let said =
        small("striping", "1/4096", &["--json", "--trace", &trace, "--out", out.to_str().expect("a plain path")]);
    let rows = rows(&said.out);
    judged(&rows, &said);
    let written = |name: &str| std::fs::read_to_string(out.join(name)).expect(name);
    assert_eq!(self::rows(&written("rows.json")), rows);
    assert!(written("table-1.csv").starts_with("panel,category,series,value\n"));
    assert!(written("repro.html").contains("<svg"));
    for name in ["banks", "read-zones", "code-zones", "stripe-blocks", "zones", "used", "tail"] {
        written(&format!("{name}.csv"));
    }
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).expect("the row").clone();
    assert_eq!(row("0.5a")["workload"], "laptop.spc");
    assert_eq!(row("5.5a")["workload"], "generated");
    assert_eq!(row("0.1")["workload"], "none");
}

#[test]
fn a_file_larger_than_the_drive_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wide.spc");
    let lines = (0..2000).map(|number| format!("0,{},4096,r,{number}.0\n", number * 4_096));
    std::fs::write(&path, lines.collect::<String>()).expect("a trace is written");
    let said = small("tpm", "1/64", &["--trace", &format!("websearch={}", path.display())]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("wide.spc") && said.err.contains("--full"), "{}", said.err);
}

#[test]
fn the_table_says_what_was_published_and_what_was_measured() {
    let said = small("hard", "1/128", &[]);
    for text in ["4.1 ", "published", "measured", "generated", "recorded", "pass", "note: Size 1/128"] {
        assert!(said.out.contains(text), "{text}: {}", said.out);
    }
}

/// Rows under parameters that the publication has not passed and failed, and ended the program with code 6.
#[test]
fn a_figure_alone_under_other_parameters_judges_nothing() {
    let said = small("hard", "1/128", &["--figure", "figure-14-5", "--set", "part=mlc-4k", "--json"]);
    let rows = rows(&said.out);
    let verdicts: Vec<&str> = rows.iter().filter_map(|row| row["verdict"].as_str()).collect();
    assert!(verdicts.iter().all(|one| ["within", "outside", "recorded"].contains(one)), "{verdicts:?}");
    assert!(verdicts.contains(&"within") && said.code == 0, "{verdicts:?}: {}", said.err);
    assert!(rows.iter().all(|row| row["id"] != "4.1"), "rows of another figure: {}", said.out);
    let table = small("hard", "1/128", &["--figure", "figure-14-5", "--set", "part=mlc-4k"]).out;
    assert!(table.contains("figure-14-5 alone: ") && table.contains("published ones (part = mlc-4k)"), "{table}");
}

#[test]
fn mistakes_are_named_with_what_there_is() {
    for (arguments, wanted) in [
        (&["repro", "tmp"][..], "tpm"),
        (&["repro", "tpm", "--scale", "1/3"], "power of two"),
        (&["repro", "tpm", "--scale", "1/128"], "its smallest is 1/64"),
        (&["repro", "tpm", "--full", "--scale", "1/2"], "cannot be used with"),
        (&["repro", "tpm", "--trace", "financial"], "NAME=VALUE"),
        (&["repro", "tpm", "--trace", "finance=x.spc"], "systemdisk1"),
        (&["repro", "tpm", "--trace", "financial=no-such-file.spc"], "no-such-file.spc"),
        (&["repro", "tpm", "--set", "reserve=half"], "flash, user"),
        (&["repro", "tpm", "--set", "cache=1"], "reserve, service, memory"),
        (&["repro", "hard", "--scale", "1/128", "--figure", "figure-14-6"], "did you mean `figure-14-"),
        (&["repro", "all", "--figure", "states"], "name the study"),
    ] {
        let said = said(nandarium(arguments));
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains(wanted), "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty(), "{arguments:?}: {}", said.out);
    }
}
