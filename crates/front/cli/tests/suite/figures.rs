//! Figures that say nothing are not told, and those that are told are what people take them for.

use crate::support::{hash, json, nandarium, run_tiny, said};
use serde_json::{Value, json as value};
use std::fmt::Write as _;
use std::fs;

fn number(document: &Value, pointer: &str) -> f64 {
    document.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} of {document}"))
}

/// A trace with a row each.
fn trace(rows: impl Iterator<Item = (char, u64, u64)>) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let mut text = "time_ns,device,op,offset_bytes,length_bytes\n".to_owned();
    for (number, (op, offset, length)) in rows.enumerate() {
        writeln!(text, "{},0,{op},{offset},{length}", number * 100_000).unwrap();
    }
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// Eight pages written to a drive in use had a write amplification of 785.13, and that was the key figure.
#[test]
fn eight_written_pages_have_no_write_amplification() {
    let (_folder, path) = trace((0..200).map(|at| (if at % 25 == 0 { 'W' } else { 'R' }, at * 4096, 4096)));
    let arguments = ["--workload", &path, "--set", "drive.precondition=overwrite"];
    let result = json(&arguments);
    assert_eq!(result["host"]["write"]["pages"], 8);
    assert_eq!([&result["waf"]["total"], &result["waf"]["gc"], &result["waf_pages"]["total"]], [&Value::Null; 3]);
    assert_eq!(result["waf_absent"], "too few writes");
    assert!(result["notes"].to_string().contains("No write amplification is told: the host wrote 8 pages"));
    let table = said(run_tiny(&arguments)).out;
    assert!(table.contains("-, too few writes") && !table.contains("by pages"), "{table}");
    let mut compare = nandarium(&["compare", "page", "dftl", "--workload", &path, "--quiet"]);
    for setting in crate::support::TINY.iter().chain(&["drive.precondition=overwrite"]) {
        compare.args(["--set", setting]);
    }
    let compared = said(compare).out;
    let waf = compared.lines().find(|line| line.starts_with("WAF ")).unwrap_or_else(|| panic!("{compared}"));
    assert_eq!(waf.matches("too few writes").count(), 2, "{waf}");
    // Where nothing was written, that is the reason.
    let reads = json(&["--workload", "uniform-read", "--set", "drive.precondition=fill"]);
    assert_eq!((&reads["waf_absent"], &reads["waf"]["total"]), (&value!("no writes"), &Value::Null));
}

/// Whoever ran a generator was told how to repeat a trace.
#[test]
fn too_few_writes_are_told_with_what_this_workload_can_do_about_it() {
    let told = |arguments: &[&str]| {
        let result = json(&[arguments, &["--set", "drive.precondition=overwrite"]].concat());
        let notes = result["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        let few: Vec<_> = notes.filter(|note| note.contains("No write amplification is told")).collect();
        assert_eq!(few.len(), 1, "{}", result["notes"]);
        few[0].to_owned()
    };
    let generated = told(&["--workload", "uniform-write", "--requests", "20"]);
    assert!(generated.ends_with("Raise workload.requests."), "{generated}");
    let (_folder, path) = trace((0..20).map(|at| ('W', at * 4096, 4096)));
    let replayed = told(&["--workload", &path]);
    assert!(replayed.contains("Raise workload.repeat (") && !replayed.contains("workload.requests"), "{replayed}");
    let cut_short = told(&["--workload", &path, "--requests", "10"]);
    assert!(cut_short.ends_with("Raise workload.requests."), "{cut_short}");
}

/// Drives showed 1.07 where their own counters would have said 1.83.
#[test]
fn write_amplification_is_in_bytes_and_by_pages_it_stands_second() {
    let settings = ["--workload", "uniform-write", "--set", "drive.precondition=none"];
    let half = json(&[&settings[..], &["--set", "workload.request_size=2KiB"]].concat());
    let written = number(&half, "/host/write/bytes");
    let programmed = number(&half, "/flash/programs/total") * 4096.0;
    assert!((number(&half, "/waf/total") - programmed / written).abs() < 1e-9);
    assert!(number(&half, "/waf/total") > 1.9 * number(&half, "/waf_pages/total"), "{}", half["waf_pages"]);
    let whole = json(&settings);
    assert_eq!(whole["waf"], whole["waf_pages"], "whole aligned pages");
    let table = said(run_tiny(&settings)).out;
    let rows: Vec<&str> =
        table.lines().filter(|line| line.contains("all causes") || line.contains("by pages")).collect();
    assert!(rows.len() == 2 && rows[0].contains("all causes"), "{table}");
}

/// Reads of pages never written took 0 ns and made every percentile of reads look good.
#[test]
fn reads_of_unwritten_pages_are_in_no_percentile_of_reads() {
    // A hundred pages are written and ten of them trimmed; then half of the reads find nothing.
    let writes = (0..100).map(|at| ('W', at * 4096, 4096));
    let reads = (0..400).map(|at| ('R', if at % 2 == 0 { at % 90 } else { 90 + at % 200 } * 4096, 4096));
    // A read of which one page is there.
    let rows = writes.chain([('T', 90 * 4096, 10 * 4096)]).chain(reads).chain([('R', 89 * 4096, 8192)]);
    let (_folder, path) = trace(rows);
    let arguments = ["--workload", &path, "--set", "drive.precondition=none"];
    let result = json(&arguments);
    let count = |op: &str| result["latency_ns"][op]["count"].as_u64().unwrap();
    assert_eq!((count("read"), count("unwritten_read")), (201, 200), "{}", result["host"]);
    assert_eq!(result["host"]["unwritten_read"]["requests"], 200);
    assert!((number(&result, "/unwritten_read_share") - 200.0 / 401.0).abs() < 1e-9);
    assert!(number(&result, "/latency_ns/read/p50") > 20_000.0, "{}", result["latency_ns"]["read"]);
    assert_eq!(result["latency_ns"]["unwritten_read"]["max"], 0);
    assert!(result["notes"].to_string().contains("The drive answered 200 reads, 50 % of all, without flash"));
    let table = said(run_tiny(&arguments)).out;
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("read of unwritten pages")).collect();
    assert_eq!(rows.len(), 2, "{table}");
    // They come as fast as the host asks: a drive that took no time moved 130 GB/s.
    let cells: Vec<&str> = rows[0].split_whitespace().skip(4).collect();
    assert_eq!(cells[..3], ["200", "-", "-"], "count, IOPS and MB/s: {}", rows[0]);
    // A drive that was filled holds something everywhere, whether it was filled now or its state was kept.
    let folder = tempfile::tempdir().unwrap();
    let kept =
        ["--snapshots", folder.path().to_str().unwrap(), "--workload", "mixed", "--set", "drive.precondition=fill"];
    let both = [json(&kept), json(&kept)];
    assert!(both.iter().all(|result| result["host"]["unwritten_read"]["requests"] == 0));
    let part =
        [&kept[..], &["--set", "drive.fill=50%", "--set", "workload.footprint=100%", "--set", "measure.warm_up=0"]]
            .concat();
    let both = [json(&part), json(&part)];
    assert!(number(&both[0], "/host/unwritten_read/requests") > 0.0);
    assert_eq!(both[0]["host"], both[1]["host"], "a state that was kept knows what it holds");
}

/// A block twice as large is erased half as often: that is no better wear.
#[test]
fn drives_of_other_block_sizes_are_compared_by_bytes_erased() {
    let mut compare = nandarium(&["compare", "page", "page+flash.pages_per_block=64", "--workload", "uniform-write"]);
    compare.args([
        "--requests",
        "60000",
        "--quiet",
        "--set",
        "drive.precondition=fill",
        "--set",
        "drive.capacity=64MiB",
    ]);
    compare.args([
        "--set",
        "flash.channels=2",
        "--set",
        "flash.dies_per_channel=2",
        "--set",
        "flash.pages_per_block=32",
    ]);
    let compared = said(compare).out;
    let line =
        |name: &str| compared.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{compared}"));
    let ratio: f64 = line("erased ").split_whitespace().last().unwrap().trim_start_matches('x').parse().unwrap();
    assert!((ratio - 1.0).abs() < 0.25, "{}", line("erased "));
    assert!(!compared.lines().any(|line| line.starts_with("erases ")), "{compared}");
}

/// A result of a thousand requests had 1.14 MB, a number a line.
#[test]
fn a_small_run_has_a_small_result() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    said(nandarium(&["run", "--workload", "mixed", "--requests", "1000", "--quiet", "--no-snapshots", "--out", out]));
    let text = fs::read_to_string(folder.path().join("result.json")).unwrap();
    assert!(text.len() < 250_000, "{} bytes", text.len());
    let document: Value = serde_json::from_str(&text).unwrap();
    let series = fs::read_to_string(folder.path().join("series.csv")).unwrap();
    let intervals = document["series"]["intervals"].as_u64().unwrap() as usize;
    assert_eq!(series.lines().count(), intervals + 1, "a column that is one value in the result has a row each here");
    assert!(series.lines().all(|line| line.split(',').count() == series.lines().next().unwrap().split(',').count()));
}

/// The result as the first version of its form had it.
fn of_first_version(mut document: Value) -> Value {
    let pairs = |columns: &Value, names: [&str; 2]| -> Value {
        let [first, second] = names.map(|name| columns[name].as_array().unwrap());
        first.iter().zip(second).map(|(first, second)| value!([first, second])).collect()
    };
    document["schema"] = value!("nandarium.result/1");
    document["waf_bytes"] = document["waf"]["total"].take();
    document["waf"] = document["waf_pages"].take();
    for name in ["host", "latency_ns"] {
        document[name].as_object_mut().unwrap().remove("unwritten_read");
    }
    for latency in document["latency_ns"].as_object_mut().unwrap().values_mut() {
        latency["histogram"] = pairs(&latency["histogram"], ["latency_ns", "requests"]);
    }
    document["wear"]["histogram"] = pairs(&document["wear"]["histogram"], ["erases", "blocks"]);
    let members = document.as_object_mut().unwrap();
    for name in ["waf_pages", "waf_absent", "unwritten_read_share", "erased_bytes", "closeups"] {
        members.remove(name);
    }
    document
}

#[test]
fn a_result_of_the_first_version_is_drawn_and_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = ["--workload", "mixed", "--set", "drive.precondition=none", "--out", out];
    let now = json(&arguments);
    let path = folder.path().join("result.json");
    fs::write(&path, of_first_version(now.clone()).to_string()).unwrap();
    let drawn = said(nandarium(&["report", out]));
    assert_eq!(drawn.code, 0, "{}", drawn.err);
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("\"waf_pages\"") && page.contains("nandarium.result/2"));
    let again = said(nandarium(&["run", "--again", path.to_str().unwrap(), "--quiet"]));
    assert!(again.code == 0 && again.out.contains(now["hash"].as_str().unwrap()), "{}{}", again.out, again.err);
    assert_eq!(now["hash"], hash(&arguments[..4]).as_str());
}
