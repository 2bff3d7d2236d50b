//! `nandarium sweep` as a user runs it.

use crate::support::{Said, hash, nandarium, said, trace};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

const SET: &str = "[set]\ndrive.capacity = \"16MiB\"\nflash.channels = 2\nflash.dies_per_channel = \
    1\nflash.pages_per_block = 32\nworkload.requests = 2000\n";

fn sweep(folder: &Path, plan: &str, arguments: &[&str]) -> Said {
    fs::write(folder.join("plan.toml"), plan).unwrap();
    let plan = folder.join("plan.toml");
    said(nandarium(&[&["sweep", plan.to_str().unwrap()], arguments].concat()))
}

fn document(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).expect("standard output is one JSON document")
}

fn hashes(folder: &Path) -> BTreeSet<String> {
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let runs = fs::read_dir(folder.join("runs")).unwrap().flat_map(|part| fs::read_dir(part.unwrap().path()).unwrap());
    runs.map(|run| {
        serde_json::from_str::<Value>(&text(&run.unwrap().path().join("run.json"))).unwrap()["hash"]
            .as_str()
            .unwrap()
            .to_owned()
    })
    .collect()
}

/// Two runs of a plan gave two tables, which differed by how busy the machine was.
#[test]
fn two_runs_of_a_plan_give_the_same_tables_byte_for_byte() {
    let plan = format!("workloads = [\"mixed\"]\nrepetitions = 2\n{SET}drive.over_provisioning = \"30%\"\n");
    let tables = || {
        let folder = tempfile::tempdir().unwrap();
        document(&sweep(folder.path(), &plan, &["--json"]));
        ["results.parquet", "summary.csv", "report.html"].map(|name| fs::read(folder.path().join("plan").join(name)))
    };
    for (one, other) in tables().into_iter().zip(tables()) {
        assert!(one.unwrap() == other.unwrap());
    }
}

#[test]
fn a_sweep_gives_what_single_runs_give_and_does_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |depths: &str| {
        format!(
            "workloads = [\"mixed\"]\n{SET}drive.over_provisioning = \"30%\"\n[axes]\nworkload.queue_depth = \
             [{depths}]\n"
        )
    };
    let first = document(&sweep(folder.path(), &plan("1, 4"), &["--json"]));
    assert_eq!((first["runs"].as_u64(), first["statuses"]["complete"].as_u64()), (Some(2), Some(2)));
    let out = folder.path().join("plan");
    let single = hash(&["--workload", "mixed", "--requests", "2000", "--set", "workload.queue_depth=4"]);
    assert!(hashes(&out).contains(&single), "{single}");
    for file in ["results.parquet", "summary.csv", "report.html"] {
        assert!(fs::metadata(out.join(file)).unwrap().len() > 100, "{file}");
    }

    // The page is written anew, the runs are not.
    let written = |out: &Path| {
        fs::read_dir(out.join("runs")).unwrap().map(|run| run.unwrap().metadata().unwrap().modified().unwrap()).max()
    };
    let before = written(&out);
    let again = sweep(folder.path(), &plan("1, 4"), &["--json"]);
    assert!(again.err.contains("2 of 2 runs are done already"), "{}", again.err);
    assert_eq!((document(&again), written(&out)), (first, before));
    let more = sweep(folder.path(), &plan("1, 4, 8"), &["--json"]);
    assert!(more.err.contains("2 of 3 runs are done already"), "a changed axis runs only what is new: {}", more.err);
}

#[test]
fn shards_share_a_folder_and_come_to_what_one_process_comes_to() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plan = format!("repetitions = 2\n{SET}[axes]\ndrive.over_provisioning = [\"25%\", \"35%\", \"50%\"]\n");
    let whole = document(&sweep(folder.path(), &plan, &["--json"]));
    for shard in ["1/3", "3/3", "2/3"] {
        let said = sweep(other.path(), &plan, &["--shard", shard, "-q", "--json"]);
        assert_eq!((said.code, said.out.as_str()), (0, ""), "the table is for the command that collects");
    }
    let collected = sweep(other.path(), &plan, &["--json"]);
    assert!(collected.err.contains("6 of 6 runs are done already"), "{}", collected.err);
    assert_eq!(hashes(&folder.path().join("plan")), hashes(&other.path().join("plan")));
    let means = |document: &Value| {
        document["combinations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["metrics"]["write_mean_ns"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(means(&whole), means(&document(&collected)));
    assert!(means(&whole)[0]["ci95"].as_f64().unwrap() > 0.0, "two seeds differ");
}

/// A shard that ended last wrote what it knew over the whole table, and one with nothing but failed runs ended with 1.
#[test]
fn a_shard_writes_no_table_and_leaves_failed_runs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("far.csv"), "0,0,write,1099511627776,4096\n").unwrap();
    let plan = format!("workloads = [\"far.csv\"]\n{SET}workload.fit = \"error\"\n");
    for shard in ["1/2", "2/2"] {
        let said = sweep(folder.path(), &plan, &["--shard", shard]);
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{}", said.err);
        assert!(said.err.contains("without --shard gives the table"), "{}", said.err);
    }
    assert!(!folder.path().join("plan/summary.csv").exists());
    let table = sweep(folder.path(), &plan, &["-q"]);
    assert!(table.code == 1 && table.err.contains("no run was measured, 1 failed"), "{}", table.err);
}

#[test]
fn an_impossible_combination_is_a_row_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!("{SET}[axes]\ndrive.over_provisioning = [\"0.1%\", \"50%\"]\n");
    let rows = document(&sweep(folder.path(), &plan, &["--json"]));
    assert_eq!((rows["statuses"]["complete"].as_u64(), rows["statuses"]["impossible"].as_u64()), (Some(1), Some(1)));
    let problem = rows["combinations"][0]["problem"].as_str().unwrap();
    assert!(problem.starts_with("impossible: ") && problem.contains("drive.over_provisioning"), "{problem}");
    assert!(fs::read_to_string(folder.path().join("plan/report.html")).unwrap().contains("Not measured"));
}

/// The maximum of some hundred reads was their 99.9th percentile, and what was best was said nowhere.
#[test]
fn the_table_says_what_is_recommended_and_the_document_why() {
    let folder = tempfile::tempdir().unwrap();
    let axes = "[axes]\ndrive.over_provisioning = [\"25%\", \"50%\"]\nftl.gc.victim = [\"greedy\", \
        \"fifo\"]\nworkload.queue_depth = [1, 8]\n";
    let plan = format!("workloads = [\"mixed\"]\nrepetitions = 3\n{SET}drive.precondition = \"overwrite\"\n{axes}");
    let said = sweep(folder.path(), &plan, &[]);
    assert_eq!(said.code, 0, "{}", said.err);
    for words in [
        "mixed, queue_depth 1\n",
        "mixed, queue_depth 8\n",
        "designs are unbeaten in ",
        "\nall panels\n",
        " µs",
        " combinations have no read p99.9",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let rows = document(&sweep(folder.path(), &plan, &["--json", "--tail", "write_mean_ns", "--within", "400%"]));
    let panels = rows["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 2);
    for panel in panels {
        assert!(
            panel["tail"] == "write_mean_ns" && panel["price"] == "spare_share" && panel["why_not"].is_null(),
            "{panel}"
        );
        let text = panel["recommendation"].as_str().unwrap();
        assert!(text.contains("whose mean write latency stays within 400 % of the shortest"), "{text}");
        assert_eq!(panel["compared"].as_array().map(Vec::len), Some(4));
    }
    let first = &rows["combinations"][0];
    assert!(
        first["metrics"]["read_p999_ns"].is_null() && first["absent"].as_str().unwrap().contains("too few for"),
        "{first}"
    );
    assert!(first["metrics"]["write_mean_ns"]["ci95"].as_f64().unwrap() > 0.0 && first["unbeaten"].is_boolean());
    let csv = fs::read_to_string(folder.path().join("plan/summary.csv")).unwrap();
    assert!(
        csv.lines().next().unwrap().contains(",problem,absent,tail,unbeaten,iops,")
            && csv.contains(",write_mean_ns,yes,"),
        "{csv}"
    );
}

#[test]
fn a_key_without_effect_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!(
        "{SET}drive.over_provisioning = \"50%\"\ndrive.precondition = \"none\"\n[axes]\nftl.gc.victim = [\"greedy\", \
         \"fifo\"]\n"
    );
    let said = sweep(folder.path(), &plan, &["--set", "workload.requests=200"]);
    assert!(
        said.out.contains("`ftl.gc.victim` had no effect on any run: results are equal to the last bit."),
        "{}",
        said.out
    );
}

#[test]
fn bad_plans_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (plan, wanted) in [
        ("[axes]\ndrive.capactiy = [\"16MiB\"]", "did you mean `drive.capacity`"),
        ("[axes]\nworkload.queue_depth = []", "is empty"),
        ("[axes]\nworkload.queue_depth = {}", "axes.workload.queue_depth: it is empty"),
        (
            "[axes]\n\"workload.queue_depth\" = [1]\nworkload.queue_depth = [2]",
            "axes.workload.queue_depth: the key is given twice",
        ),
        (
            "[set]\n\"workload.queue_depth\" = 1\nworkload.queue_depth = 2",
            "set.workload.queue_depth: the key is given twice",
        ),
        ("[axes]\ndrive.over_provisioning = [\"0.1%\"]", "none of the 1 combinations can be run"),
        ("stacks = [\"pgae\"]", "did you mean `page`"),
        (
            "stacks = [\"page+drive.capactiy=1GiB\"]",
            "plan.toml: stacks: `page+drive.capactiy=1GiB`: unknown key `drive.capactiy`; did you mean \
             `drive.capacity`",
        ),
        ("[set]\ndrive.capacity = 8", "plan.toml: drive.capacity: `8` is not a size: it has no unit"),
        ("workloads = [\"zpif\"]", "did you mean `zipf`"),
        ("stacks = [\"page+workload.queue_depth=2\"]\n[axes]\nworkload.queue_depth = [1]", "which is an axis"),
    ] {
        let said = sweep(folder.path(), plan, &[]);
        assert_eq!(said.code, 2, "{plan}: {}", said.err);
        assert!(said.err.contains(wanted) && said.out.is_empty(), "{plan}: {}", said.err);
        assert!(!folder.path().join("plan/results.parquet").exists());
    }
    for (arguments, wanted) in [
        (["--shard", "5/4"], "from 1 to N"),
        (["--tail", "write_p99"], "--tail: `write_p99` is not a latency; did you mean `write_p99_ns`"),
        (["--within", "5"], "--within: "),
        (["--jobs", "0"], "1..=1024"),
        (["--jobs", "1000000"], "1..=1024"),
        (["--scheduler", "tcp://127.0.0.1:1"], "'.[cluster]'"),
    ] {
        let said = sweep(folder.path(), SET, &arguments);
        assert!(said.code == 2 && said.err.contains(wanted), "{arguments:?}: {}", said.err);
    }
}

/// A thousand values filled the screen.
#[test]
fn a_dry_run_shortens_long_axes_except_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!(
        "{SET}drive.over_provisioning = \"50%\"\n[axes]\nworkload.queue_depth = {{ from = 1, to = 300, steps = 300 }}\n"
    );
    let said = sweep(folder.path(), &plan, &["--dry-run"]);
    assert!(
        said.out.contains("workload.queue_depth: 1, 2, 3, ") && said.out.contains("11, … 300 (300 values)\n"),
        "{}",
        said.out
    );
    assert_eq!(
        document(&sweep(folder.path(), &plan, &["--dry-run", "--json"]))["runs"].as_array().map(Vec::len),
        Some(300)
    );
}

/// The whole sweep stopped, with a message that named no file; a result that was cut short counted for ever.
#[test]
fn what_is_damaged_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!("repetitions = 2\n{SET}drive.over_provisioning = \"50%\"\n");
    let first = document(&sweep(folder.path(), &plan, &["--json"]));
    let out = folder.path().join("plan");
    let kept = || {
        fs::read_dir(out.join("runs"))
            .unwrap()
            .flat_map(|part| fs::read_dir(part.unwrap().path()).unwrap())
            .map(|run| run.unwrap().path())
    };
    let (cut, file) = (kept().next().unwrap(), kept().nth(1).unwrap());
    let text = fs::read_to_string(cut.join("result.json")).unwrap();
    fs::write(cut.join("result.json"), &text[..text.len() / 2]).unwrap();
    fs::remove_dir_all(&file).unwrap();
    fs::write(&file, "").unwrap();
    let again = document(&sweep(folder.path(), &plan, &["--json"]));
    assert_eq!(again["combinations"][0]["metrics"]["waf"], first["combinations"][0]["metrics"]["waf"]);
    assert_eq!(again["statuses"]["complete"].as_u64(), Some(2));
    for run in kept() {
        serde_json::from_str::<Value>(&fs::read_to_string(run.join("result.json")).unwrap()).unwrap();
    }
}

/// Array jobs and scripts took such a sweep for a good one.
#[test]
fn a_sweep_without_a_single_result_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    for (name, offset) in [("far", 1_u64 << 50), ("near", 0)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        trace(&folder.path().join(name), &format!("0,0,W,{offset},4096\n"));
    }
    let plan = |workloads: &str| format!("workloads = [{workloads}]\n{SET}workload.fit = \"error\"\n");
    let said = sweep(folder.path(), &format!("repetitions = 2\n{}", plan("\"far/trace.nandarium.csv\"")), &[]);
    assert!(said.code == 1 && said.err.contains("no run was measured, 2 failed; the first: "), "{}", said.err);
    assert!(said.out.contains("2 runs: 2 failed") && folder.path().join("plan/report.html").exists(), "{}", said.out);
    let some = sweep(folder.path(), &plan("\"far/trace.nandarium.csv\", \"near/trace.nandarium.csv\""), &[]);
    assert!(some.code == 0 && some.out.contains("2 runs: 1 complete, 1 failed"), "{} {}", some.out, some.err);
}

#[test]
fn a_sweep_that_is_stopped_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!(
        "repetitions = 40\n{SET}drive.precondition = \"overwrite\"\n[axes]\ndrive.over_provisioning = [\"25%\", \
         \"50%\"]\n"
    );
    fs::write(folder.path().join("plan.toml"), &plan).unwrap();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("nandarium"))
        .args(["sweep", "-q", "--set", "workload.requests=200000"])
        .arg(folder.path().join("plan.toml"))
        .spawn()
        .unwrap();
    let (out, begun) = (folder.path().join("plan"), Instant::now());
    // Where three are written, whole or not, some of them are not.
    while !out.join("runs").is_dir() || hashes_that_are_whole(&out).len() < 3 {
        assert!(begun.elapsed().as_secs() < 60, "nothing was run in a minute");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = hashes_that_are_whole(&out);
    let rest = sweep(folder.path(), &plan, &["--json", "--set", "workload.requests=200000"]);
    let found: u64 = rest.err.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default();
    assert!(found >= 2 && found <= kept.len() as u64, "{found} of {}: {}", kept.len(), rest.err);
    assert_eq!(document(&rest)["statuses"]["complete"].as_u64(), Some(80));
}

/// Runs of a sweep that was killed: folders with a point before their name are not whole, and not counted.
fn hashes_that_are_whole(out: &Path) -> Vec<String> {
    let runs = fs::read_dir(out.join("runs")).unwrap().flat_map(|part| fs::read_dir(part.unwrap().path()).unwrap());
    runs.map(|run| run.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

#[test]
fn the_plan_of_the_documentation_is_the_sample_and_can_be_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let plan = root.join("samples/spare-space.toml");
    let page = fs::read_to_string(root.join("docs/guides/sweeps.md")).unwrap();
    let text = fs::read_to_string(&plan).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    assert!(page.contains(body), "docs/guides/sweeps.md shows another plan than samples/spare-space.toml");
    let checked = said(nandarium(&["sweep", plan.to_str().unwrap(), "--dry-run"]));
    assert!(
        checked.code == 0 && checked.out.contains("216 runs") && !checked.out.contains("cannot be built"),
        "{}{}",
        checked.out,
        checked.err
    );
}
