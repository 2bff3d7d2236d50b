//! What works: runs, comparisons, snapshots, reports.

use crate::support::{beside, hash, json, nandarium, run_tiny, said, tiny_beside};
use serde_json::Value;

const PRECONDITIONS: [&str; 3] = ["fill", "overwrite", "steady"];

fn at<'a>(document: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(document, |value, key| value.get(key).unwrap_or_else(|| panic!("{path}: no `{key}`")))
}

#[test]
fn the_result_has_every_key_scripts_rely_on() {
    let result = json(&["--workload", "mixed", "--set", "drive.precondition=fill"]);
    for key in ["schema", "hash", "seed", "wall_s", "sim_ns", "iops", "requests_per_wall_s"] {
        assert!(!at(&result, key).is_null(), "{key}");
    }
    for op in ["read", "write", "trim", "flush", "unwritten_read"] {
        for key in ["requests", "pages", "bytes"] {
            assert!(at(&result, &format!("host.{op}.{key}")).is_u64(), "{op}.{key}");
        }
    }
    for op in ["read", "write"] {
        for key in ["mean", "p50", "p90", "p99", "max"] {
            assert!(at(&result, &format!("latency_ns.{op}.{key}")).as_f64().unwrap() > 0.0, "{op}.{key}");
        }
        assert!(
            at(&result, &format!("latency_ns.{op}")).as_object().unwrap().get("p9999").unwrap().is_null(),
            "too few {op}s for it"
        );
    }
    for tail in ["all", "p99", "p999"] {
        for wait in ["host", "gc", "merge", "mapping", "padding", "parity", "bus", "queue", "space"] {
            assert!(at(&result, &format!("waiting.{tail}.{wait}")).is_number(), "{tail}.{wait}");
        }
    }
    for kind in ["reads", "programs", "erases"] {
        for cause in ["host", "gc", "wear", "total"] {
            assert!(at(&result, &format!("flash.{kind}.{cause}")).is_u64(), "{kind}.{cause}");
        }
    }
    for key in
        ["waf.total", "waf.gc", "merges.switch", "merges.partial", "merges.full", "wear.min", "wear.mean", "wear.max"]
    {
        assert!(at(&result, key).is_number(), "{key}");
    }
    assert!(at(&result, "cache").is_object());
    assert!(at(&result, "ram_bytes.ftl").as_u64().unwrap() > 0);
    assert_eq!(at(&result, "status"), "complete");
    assert_eq!(at(&result, "config")["flash.channels"], "2");
}

#[test]
fn the_same_run_has_the_same_hash_and_another_seed_has_another() {
    let run = |seed| hash(&["--workload", "hot-cold", "--seed", seed]);
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn the_hash_does_not_depend_on_where_the_initial_state_came_from() {
    for time in ["engine.time=virtual", "engine.time=none"] {
        for precondition in PRECONDITIONS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().to_str().unwrap();
            let precondition = format!("drive.precondition={precondition}");
            let base = ["--workload", "uniform-write", "--set", time, "--set", precondition.as_str()];
            let kept = [base.as_slice(), &["--snapshots", path]].concat();
            let plain = hash(&base);
            assert_eq!(plain, hash(&kept), "{time} {precondition}, first run");
            let again = said(run_tiny(&kept));
            assert!(again.err.contains("taken from a snapshot"), "{}", again.err);
            assert!(again.out.contains(&plain), "{time} {precondition}, from the snapshot: {}", again.out);
            // Contents change nothing but what is checked.
            assert_eq!(plain, hash(&[base.as_slice(), &["--set", "engine.contents=stamp"]].concat()));
        }
    }
}

#[test]
fn a_state_without_a_buffer_is_not_taken_for_one_with_a_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let base = ["--workload", "uniform-write", "--set", "drive.precondition=overwrite", "--set", "buffer.size=64KiB"];
    for kind in ["none", "page-lru", "fab"] {
        let kind = format!("buffer.kind={kind}");
        let with = [base.as_slice(), &["--set", kind.as_str()]].concat();
        let plain = hash(&with);
        assert_eq!(plain, hash(&[with.as_slice(), &["--snapshots", path]].concat()), "{kind}");
    }
}

#[test]
fn a_damaged_snapshot_is_refused_and_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let arguments = ["--workload", "uniform-write", "--set", "drive.precondition=fill", "--snapshots", path];
    let first = hash(&arguments);
    let file = std::fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for bad in [flipped, whole[..whole.len() / 2].to_vec(), Vec::new()] {
        std::fs::write(&file, bad).unwrap();
        let again = said(run_tiny(&arguments));
        assert_eq!(again.code, 0);
        assert!(again.err.contains("computed anew"), "{}", again.err);
        assert!(again.out.contains(&first));
        assert_eq!(std::fs::read(&file).unwrap(), whole, "the damaged file was replaced");
    }
}

#[test]
fn a_run_writes_its_files_and_a_report_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/er");
    let said_run = said(run_tiny(&["--out", out.to_str().unwrap()]));
    assert_eq!(said_run.code, 0, "{}", said_run.err);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("nandarium: page under mixed"));
    let series = std::fs::read_to_string(out.join("series.csv")).unwrap();
    assert!(series.starts_with("time_ns,read_requests,") && series.lines().count() > 2);
    std::fs::remove_file(out.join("report.html")).unwrap();
    let again = said(nandarium(&["report", out.to_str().unwrap()]));
    assert_eq!(again.code, 0, "{}", again.err);
    let again = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(again == page, "the page made again differs from the first");
    let empty = said(nandarium(&["report", folder.path().to_str().unwrap()]));
    assert!(empty.code == 2 && empty.err.contains("holds no result.json"), "{}", empty.err);
}

#[test]
fn a_comparison_keeps_the_order_given_and_agrees_with_single_runs() {
    let mut arguments =
        vec!["compare", "page", "page+ftl.gc.victim=fifo", "--requests", "20000", "--no-snapshots", "--json"];
    arguments.extend(["--workload", "uniform-write"]);
    for setting in crate::support::TINY {
        arguments.extend(["--set", setting]);
    }
    let compared = said(nandarium(&arguments));
    assert_eq!(compared.code, 0, "{}", compared.err);
    let document: Value = serde_json::from_str(&compared.out).unwrap();
    let results = document["results"].as_array().unwrap();
    let stacks: Vec<_> = results.iter().map(|result| result["stack"].as_str().unwrap()).collect();
    assert_eq!(stacks, ["page", "page+ftl.gc.victim=fifo"]);
    assert_eq!(results[0]["hash"], hash(&["--workload", "uniform-write"]).as_str());
    assert_eq!(results[1]["hash"], hash(&["--workload", "uniform-write", "--set", "ftl.gc.victim=fifo"]).as_str());
    arguments.retain(|argument| *argument != "--json");
    let table = said(nandarium(&arguments)).out;
    assert!(table.contains("ratio") && table.contains("WAF"), "{table}");
}

#[test]
fn stacks_compared_may_share_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let mut arguments = vec!["compare", "page", "page", "page", "--requests", "2000", "--snapshots", path];
    arguments.extend(["--set", "drive.precondition=fill", "--json"]);
    for setting in crate::support::TINY {
        arguments.extend(["--set", setting]);
    }
    for _ in 0..5 {
        let compared = said(nandarium(&arguments));
        assert!(compared.code == 0 && !compared.err.contains("could not"), "{}", compared.err);
        let document: Value = serde_json::from_str(&compared.out).unwrap();
        assert_eq!(document["results"][0]["hash"], document["results"][2]["hash"]);
        std::fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn the_table_names_what_matters() {
    let said = said(run_tiny(&["--workload", "mixed", "--set", "drive.precondition=overwrite"]));
    for part in ["IOPS", "p99.9", "slowest 1 % of writes", "root cause", "gc", "WAF", "wear", "hash ", "simulated"] {
        assert!(said.out.contains(part), "{part} is missing in\n{}", said.out);
    }
}

#[test]
fn counted_time_has_no_latencies_and_the_same_amplification_within_a_few_per_cent() {
    let waf = |time| {
        // Large enough that the few blocks open at any time do not matter.
        let arguments = ["--workload", "uniform-write", "--set", "drive.precondition=overwrite", "--set", time];
        at(&json(&[arguments.as_slice(), &["--set", "drive.capacity=64MiB"]].concat()), "waf.total").as_f64().unwrap()
    };
    let (counted, timed) = (waf("engine.time=none"), waf("engine.time=virtual"));
    assert!((counted / timed - 1.0).abs() < 0.05, "counted {counted}, timed {timed}");
    assert_eq!(*at(&json(&["--set", "engine.time=none"]), "latency_ns.write.count"), 0);
}

#[test]
fn standard_input_is_read_and_a_closed_output_is_no_failure() {
    let rows = "time_ns,device,op,offset_bytes,length_bytes\n0,0,W,0,4096\n5,0,R,0,4096\n9,0,F,0,0\n";
    let mut command = run_tiny(&["--workload", "-", "--json"]);
    command.write_stdin(rows);
    let said = said(command);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(at(&serde_json::from_str(&said.out).unwrap(), "host.flush.requests"), 1);
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_nandarium"))
        .args(["list", "keys"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_read_only_workload_is_steady_at_once() {
    let result = json(&["--workload", "uniform-read", "--set", "drive.precondition=steady"]);
    assert!(at(&result, "notes").to_string().contains("writes nothing"));
}

#[test]
fn the_recorded_sample_runs_with_contents_checked() {
    let arguments = ["run", "--workload", "sample", "--set", "drive.capacity=1GiB", "--set", "engine.contents=stamp"];
    let said = said(nandarium(&[arguments.as_slice(), &["--json", "--requests", "20000"]].concat()));
    assert_eq!(said.code, 0, "{}", said.err);
    let result: Value = serde_json::from_str(&said.out).unwrap();
    assert!(at(&result, "notes").to_string().contains("goes on after"), "{}", result["notes"]);
}

#[test]
fn everything_can_be_listed_and_explained() {
    for what in ["stacks", "policies", "workloads", "parts", "formats", "keys"] {
        let listed = said(nandarium(&["list", what, "--json"]));
        let document: Value = serde_json::from_str(&listed.out).unwrap();
        for item in document[what].as_array().unwrap() {
            assert!(!item["doc"].as_str().unwrap().is_empty(), "{item}");
        }
    }
    for (name, part) in
        [("drive", "drive.capacity"), ("greedy", "fewest valid"), ("WAF", "programs"), ("spc", "columns")]
    {
        let explained = said(nandarium(&["explain", name]));
        assert!(explained.code == 0 && explained.out.contains(part), "{name}: {}{}", explained.out, explained.err);
    }
    let unknown = said(nandarium(&["explain", "drive.capactiy"]));
    assert!(unknown.code == 2 && unknown.err.contains("did you mean `drive.capacity`"), "{}", unknown.err);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_shows_what_it_measured() {
    for signal in ["-INT", "-TERM"] {
        interrupted_by(signal);
    }
}

#[cfg(unix)]
fn interrupted_by(signal: &str) {
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_nandarium"))
        .args([
            "run",
            "--json",
            "--quiet",
            "--no-snapshots",
            "--requests",
            "1000000000000",
            "--set",
            "drive.capacity=64MiB",
        ])
        .args(["--set", "drive.over_provisioning=200%", "--workload", "uniform-write"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.starts_with("stopping: "), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["status"], "interrupted");
    assert!(at(&result, "host.write.requests").as_u64().unwrap() > 0);
}

/// The user heard nothing for minutes, and all was lost where the program was killed.
#[cfg(unix)]
#[test]
fn studies_and_fits_stop_within_what_they_are_doing() {
    let folder = tempfile::tempdir().unwrap();
    let (out, fitted) = (folder.path().join("out"), folder.path().join("fitted.toml"));
    let study = ["repro", "drives", "--scale", "1/64", "--out", out.to_str().unwrap()];
    let fit = ["fit", "micron-7450-max", "--from", "page", "--out", fitted.to_str().unwrap()];
    for (arguments, signal) in [(&study[..], "-INT"), (&fit, "-INT"), (&fit, "-TERM")] {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_nandarium"))
            .args(arguments)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        let begun = std::time::Instant::now();
        assert!(std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{arguments:?}: {said}");
        assert!(said.contains("stopping: ") && said.contains("interrupted: "), "{said}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{arguments:?}: {:?}", begun.elapsed());
    }
}

/// What was measured already was lost with the stack that was not.
#[cfg(unix)]
#[test]
fn an_interrupted_comparison_tells_the_stacks_that_ran() {
    let folder = tempfile::tempdir().unwrap();
    let large = "page+drive.capacity=32GiB+drive.precondition=overwrite";
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_nandarium"))
        .args(["compare", "page+drive.capacity=1GiB+drive.precondition=none", large, "--quiet", "--no-snapshots"])
        .args(["--workload", "uniform-write", "--requests", "100", "--json", "--out"])
        .arg(folder.path())
        .env("RAYON_NUM_THREADS", "2")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("32GiB") && said.contains("nothing was measured; run it again"), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"].as_array().unwrap().len(), 1);
    // What was on standard output looked like a whole comparison.
    let note = result["notes"][0].as_str().unwrap();
    assert!(note.starts_with("Doubt: the comparison was interrupted") && note.contains("32GiB"), "{note}");
    assert!(folder.path().join("result.json").is_file() && folder.path().join("report.html").is_file());
}

/// A full disk took the answer, and the exit code was 0.
#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    for option in ["--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nandarium"));
        let output = command.arg(option).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{option}: {said}");
        assert!(said.contains("standard output could not be written"), "{option}: {said}");
    }
}

/// Whatever was to be printed was lost, and the exit code was 0.
#[cfg(unix)]
#[test]
fn a_closed_standard_output_is_an_error() {
    let program = env!("CARGO_BIN_EXE_nandarium");
    for (command, code) in [("exec \"$0\" list >&-", 1), ("exec \"$0\" list > /dev/null", 0), ("\"$0\" list | true", 0)]
    {
        let output = std::process::Command::new("sh").args(["-c", command, program]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert_eq!(said.contains("standard output is closed"), code == 1, "{said}");
    }
}

#[test]
fn a_workload_that_hardly_writes_is_taken_to_be_steady() {
    let arguments = ["--workload", "search", "--requests", "1000", "--set", "drive.precondition=steady"];
    let notes = at(&json(&[arguments.as_slice(), &["--set", "drive.capacity=64MiB"]].concat()), "notes").to_string();
    assert!(notes.contains("Taken to be steady") && notes.contains(" pages in 1048576 requests"), "{notes}");
}

#[test]
fn settings_without_effect_are_noted() {
    let notes = |arguments: &[&str]| at(&json(arguments), "notes").to_string();
    let closed = ["workload.interarrival=1ms", "workload.time_scale=2", "host.queue_limit=7"];
    for setting in closed.into_iter().chain(["flash.suspend_time=1us", "ftl.gc.choices=3", "ftl.gc.window_blocks=3"]) {
        let key = setting.split('=').next().unwrap();
        let told = format!("{key} has no effect here because");
        assert!(notes(&["--set", setting]).contains(&told), "{setting}");
    }
    let depth = ["--set", "workload.loop=open", "--set", "workload.queue_depth=7"];
    assert!(notes(&depth).contains("workload.queue_depth has no effect"));
    let used = ["--set", "ftl.gc.victim=d-choices", "--set", "ftl.gc.choices=3", "--set", "workload.queue_depth=7"];
    assert!(!notes(&used).contains("no effect"));
}

#[test]
fn a_run_that_reads_nothing_says_so_first() {
    let erased = ["--workload", "uniform-read", "--set", "drive.precondition=none"];
    let result = json(&erased);
    assert!(
        at(&result, "notes")[0].as_str().unwrap().starts_with("The drive answered 20000 reads, 100 % of all"),
        "{}",
        result["notes"]
    );
    let table = said(run_tiny(&erased)).out;
    let all = table.lines().find(|line| line.starts_with("  all ")).unwrap();
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["all", "20,000", "-"]);
}

/// Eight notes were told on standard error and again in the table.
#[test]
fn a_note_is_told_once() {
    let text = said(run_tiny(&[]));
    assert!(text.out.contains("\nnote      ") && !text.err.contains("note: "), "{}{}", text.out, text.err);
    let mut several = nandarium(&["compare", "page", "dftl", "--no-snapshots", "--requests", "20000"]);
    several.args(tiny_beside(&[]));
    let several = said(several);
    for key in ["drive.precondition", "measure.warm_up"] {
        let choice = format!("{key} = ");
        let told = [&several.out, &several.err].map(|text| text.contains(&choice));
        assert!(told[0] != told[1], "{key}: {}{}", several.out, several.err);
    }
    // Each stack has a warm-up of its own, and two numbers without a name told nothing.
    assert!(several.out.contains("measure.warm_up = "), "{}", several.out);
    let run = said(run_tiny(&["--json"]));
    let document: Value = serde_json::from_str(&run.out).unwrap();
    let notes: Vec<&str> = document["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    let before = run.err.lines().filter_map(|line| line.strip_prefix("note: "));
    assert!(before.clone().count() > 0 && before.clone().all(|note| notes.contains(&note)), "{}", run.err);
}

#[test]
fn requests_left_out_of_a_trace_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.spc");
    std::fs::write(&path, "0,0,4096,w,0.0\n0,0,0,r,0.1\n0,8,4096,w,0.2\n").unwrap();
    let result = json(&["--workload", path.to_str().unwrap()]);
    assert!(at(&result, "notes").to_string().contains("1 requests of size 0 were left out"), "{}", result["notes"]);
}

#[test]
fn calibrated_workloads_state_hits_and_misses() {
    for (name, parts) in [
        ("desktop-ntfs", ["9 of 10", "5.7", "37 % of writes longer"]),
        ("oltp", ["9 of 9", "0.38", "regions"]),
        ("search", ["7 of 7", "99.98", "SPC WebSearch"]),
    ] {
        let explained = said(nandarium(&["explain", name])).out;
        for part in parts {
            assert!(explained.contains(part), "{part}: {explained}");
        }
    }
}

#[test]
fn codes_of_twelve_and_more_data_blocks_are_counted() {
    let table = said(nandarium(&["code", "regular-2", "-n", "13"])).out;
    // The spanning trees of a wheel: a Lucas number less two.
    assert!(table.contains("271441"), "{table}");
    assert!(["no code", "blocks (gauss)", "share (peel)"].iter().all(|column| table.contains(column)), "{table}");
}

#[test]
fn a_search_of_large_groups_ends_when_its_time_is_up() {
    let found = said(nandarium(&["code", "--search", "-n", "14", "--restarts", "50", "--seconds", "1"])).out;
    assert!(found.contains("of 50 climbs reached their top within --seconds 1"), "{found}");
}

/// Settings of a small drive with code zones.
const ZONED: [&str; 10] = [
    "drive.capacity=16MiB",
    "flash.part=slc-2k",
    "flash.channels=8",
    "flash.dies_per_channel=1",
    "ftl.gc.frontier=shared",
    "ftl.gc.free_blocks=0",
    "stripe.kind=coded",
    "coded.size=4MiB",
    "coded.block=8KiB",
    "coded.code_zones=2",
];

/// Arguments of a command on that drive.
fn zoned<'a>(command: &'a [&'a str], settings: &'a [&'a str]) -> Vec<&'a str> {
    let own = settings.iter().flat_map(|setting| ["--set", setting]);
    let settings = beside(&ZONED, settings).into_iter().chain(own);
    command.iter().copied().chain(["--no-snapshots", "--requests", "2000"]).chain(settings).collect()
}

/// Text of notes without its line breaks.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_drive_with_code_zones_that_coded_nothing_says_so() {
    let table = |settings: &[&str]| unwrapped(&said(nandarium(&zoned(&["run"], settings))).out);
    let closed = table(&[]);
    for part in [
        "No zone was coded",
        "closed loop leave no idle time",
        "zones 0 coded",
        "code zones 50.0 % of the user data, spare blocks",
    ] {
        assert!(closed.contains(part), "{part}: {closed}");
    }
    for (settings, why) in [
        (&["engine.service=serial"][..], "engine.service = serial"),
        (&["workload.loop=open", "workload.interarrival=1ms"], "waits for an idle moment"),
        (&["coded.offline_first=at-start", "drive.precondition=none"], "set drive.precondition"),
    ] {
        let out = table(settings);
        assert!(out.contains("No zone was coded") && out.contains(why), "{why}: {out}");
    }
    let coded = table(&["coded.offline_first=at-start", "drive.precondition=fill"]);
    assert!(!coded.contains("No zone was coded") && coded.contains("zones 2 coded"), "{coded}");
    let compared = unwrapped(&said(nandarium(&zoned(&["compare", "page", "striping-coded"], &[]))).out);
    assert!(compared.contains("note No zone was coded"), "{compared}");
}

#[test]
fn settings_that_zones_do_not_read_are_noted() {
    let notes = |settings: &[&str]| unwrapped(&said(nandarium(&zoned(&["run"], settings))).out);
    for (settings, key) in [
        (&["drive.over_provisioning=15%"][..], "drive.over_provisioning"),
        (&["coded.code_zones=0", "coded.reads=lazy"], "coded.reads"),
        (&["coded.code_zones=0", "coded.decoder=gauss"], "coded.decoder"),
        (&["coded.read_ahead.after=0B", "coded.read_ahead.window=7"], "coded.read_ahead.window"),
        (&["engine.service=serial", "coded.offline_every=1s"], "coded.offline_every"),
    ] {
        let out = notes(settings);
        assert!(out.contains(&format!("{key} has no effect here because")), "{key}: {out}");
    }
    let none = notes(&["coded.reads=eager", "coded.decoder=gauss", "coded.offline_every=1s"]);
    assert!(!none.contains("has no effect"), "{none}");
}

#[test]
fn a_full_or_worn_drive_of_zones_is_told_to_raise_what_zones_use() {
    let settings = ["drive.precondition=fill", "flash.endurance=1", "coded.code_zones=0"];
    let worn = said(nandarium(&zoned(&["run", "--workload", "uniform-write", "--quiet"], &settings)));
    assert!(worn.err.contains("worn out") && worn.err.contains("or coded.spare_blocks"), "{}", worn.err);
    assert!(!worn.err.contains("over_provisioning"), "{}", worn.err);
}

#[test]
fn a_drive_and_a_result_with_the_names_of_the_version_before_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let before = ZONED.map(|setting| setting.replace("coded", "zones"));
    let settings = before.iter().flat_map(|setting| ["--set", setting]);
    let old: Vec<&str> =
        ["run", "--no-snapshots", "--requests", "2000", "--json"].into_iter().chain(settings).collect();
    let result = |arguments: &[&str]| -> Value { serde_json::from_str(&said(nandarium(arguments)).out).unwrap() };
    let mut then = result(&[&old[..], &["--out", out]].concat());
    assert_eq!(then["hash"], result(&zoned(&["run", "--json"], &[]))["hash"]);
    assert_eq!(then["config"]["coded.size"], "4MiB");
    assert!(then["notes"].to_string().contains("zones.size is coded.size"), "{}", then["notes"]);
    // A result of that version.
    let config = then["config"].as_object_mut().unwrap();
    let renamed = std::mem::take(config).into_iter();
    *config = renamed.map(|(key, value)| (key.replace("coded.", "zones."), value)).collect();
    config["stripe.kind"] = "zones".into();
    let path = folder.path().join("result.json");
    std::fs::write(&path, then.to_string()).unwrap();
    assert_eq!(said(nandarium(&["report", out])).code, 0);
    let again = said(nandarium(&["run", "--again", path.to_str().unwrap(), "--quiet"]));
    assert!(again.code == 0 && again.out.contains(then["hash"].as_str().unwrap()), "{}{}", again.out, again.err);
}

/// Users had gigabytes of preconditioned drives, and no command told of them.
#[test]
fn snapshots_are_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let told = |arguments: &[&str]| said(nandarium(&[&["snapshots", path], arguments].concat())).out;
    assert!(told(&[]).starts_with("No preconditioned drive is kept in "));
    let settings = ["--set", "drive.precondition=fill", "--snapshots", path];
    assert_eq!(said(run_tiny(&settings)).code, 0);
    let list = told(&[]);
    assert!(list.contains(".nandstate") && list.contains("fill") && list.contains("1 snapshots of "), "{list}");
    // Followed as it stood, the advice cleared the folder of the user.
    assert!(list.contains(&format!("snapshots --clear {path}`")) && list.contains("12 files and 8.00 GiB"), "{list}");
    assert!(told(&["--clear"]).starts_with("Removed 1 snapshots of "));
    assert!(told(&[]).starts_with("No preconditioned drive is kept in "));
}
