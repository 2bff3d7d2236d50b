//! `trace info`, and traces whose clock was set.

use crate::support::{json, nandarium, run_tiny, said, trace};
use serde_json::{Value, json};

/// Two requests, then two after 285 years.
const CLOCK_SET: &str =
    "0,0,W,0,4096\n1000,0,W,4096,4096\n9000000000000000000,0,W,0,4096\n9000000000000001000,0,R,0,4096\n";

#[test]
fn a_trace_whose_clock_was_set_is_refused_with_the_remedy_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), CLOCK_SET);
    let refused = said(run_tiny(&["--workload", &path]));
    assert!(refused.code == 2 && refused.err.contains("workload.gap_limit"), "{}: {}", refused.code, refused.err);
    let result = json(&["--workload", &path, "--set", "workload.gap_limit=1s"]);
    let notes = result["notes"].to_string();
    assert!(notes.contains("1 gap longer than 1s was cut to 1s, 285.19 years in all (workload.gap_limit)."), "{notes}");
}

#[test]
fn trace_info_ends_with_a_command_that_runs_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), CLOCK_SET);
    let plain = said(nandarium(&["trace", "info", &path]));
    assert!(plain.out.ends_with(&format!("\nrun it      nandarium run --workload {path}\n")), "{}", plain.out);
    for part in
        ["pauses      longest 285.19 years", "1 longer than a minute", "peaks       2 requests", "rewrites    33 %"]
    {
        assert!(plain.out.contains(part), "{part} in {}", plain.out);
    }
    let options = ["--format", "nandarium", "--order", "clamp", "--gap-limit", "1h"];
    let cut = said(nandarium(&[&["trace", "info", &path], &options[..]].concat()));
    let command = format!(
        "run it      nandarium run --workload {path} --format nandarium --set workload.order=clamp --set \
         workload.gap_limit=3600000000000ns\n"
    );
    assert!(cut.out.ends_with(&command) && cut.out.contains("gaps        1 gap longer than 1 h"), "{}", cut.out);
    let line = cut.out.lines().last().and_then(|line| line.split_once(" run ")).unwrap().1;
    let again = said(run_tiny(&line.split(' ').collect::<Vec<_>>()));
    assert_eq!(again.code, 0, "{}", again.err);
}

#[test]
fn trace_info_as_json_has_null_where_nothing_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), "0,0,R,0,4096\n");
    let text = said(nandarium(&["trace", "info", &path, "--json"])).out;
    let document: Value = serde_json::from_str(&text).unwrap();
    for key in ["peak_requests", "peak_bytes", "longest_gap", "rewrite_share", "inter_arrival_ns_mean"] {
        assert_eq!(document.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(document["ops"][0]["recorded_latency_ns"], Value::Null);
    assert_eq!(document["statistics"]["gaps_cut"], json!(0));
    assert_eq!(document["command"], json!(format!("nandarium run --workload {path}")));
}

#[test]
fn a_file_name_that_a_shell_would_split_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let plain = trace(folder.path(), "0,0,R,0,4096\n5,0,R,0,4096\n");
    let odd = folder.path().join("it's a $trace.nandarium.csv");
    std::fs::copy(plain, &odd).unwrap();
    let out = said(nandarium(&["trace", "info", odd.to_str().unwrap()])).out;
    assert!(out.ends_with("/it'\\''s a $trace.nandarium.csv'\n"), "{out}");
}

/// Two devices, the second written at an odd address beyond the default drive.
const TWO_DEVICES: &str = "0,0,W,0,4096\n1000,1,W,8900001280,4096\n2000,1,R,8900001280,4096\n";

#[test]
fn a_trace_of_several_devices_beyond_the_drive_runs_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), TWO_DEVICES);
    let noted = |more: &[&str]| {
        let plain = ["run", "--workload", &path, "--json", "--no-snapshots", "--set", "drive.precondition=none"];
        let said = said(nandarium(&[&plain[..], more].concat()));
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let grown = noted(&[]);
    for part in [
        "The 2 devices of the trace lie side by side in one space of 8.29GiB",
        "drive.capacity = 8512MiB was chosen, in place of 8GiB",
    ] {
        assert!(grown.contains(part), "{part} in {grown}");
    }
    let packed = noted(&["--set", "drive.capacity=1GiB"]);
    assert!(packed.contains("is moved to free places on it, in regions of 1 MiB"), "{packed}");
    for key in ["workload.fit", "workload.devices"] {
        let refused = said(nandarium(&["run", "--workload", &path, "--set", &format!("{key}=error")]));
        assert!(refused.code == 2 && refused.err.contains(key), "{key}: {} {}", refused.code, refused.err);
    }
}

const KV_LOG: &str = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n\
                      1.0,Write,65536,Tier-2,a,Prefill\n2.0,Write,65536,Tier-2,a,Prefill\n\
                      3.0,Read,65536,Tier-0,b,Decode\n";

#[test]
fn an_allocator_places_keys_in_trace_info_and_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kv.csv");
    std::fs::write(&path, KV_LOG).unwrap();
    let path = path.to_str().unwrap();
    let told = said(nandarium(&["trace", "info", path, "--allocator", "log"])).out;
    for part in [
        "format mlperf-kv-cache",
        "note        Keys of Tier-2 got addresses (workload.allocator = log): 1 objects",
        "64KiB of it free",
        " --set workload.allocator=log\n",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let notes = json(&["--workload", path, "--set", "workload.allocator=log"])["notes"].to_string();
    assert!(notes.contains("64KiB of it free") && notes.contains("rows of tiers that are no drive"), "{notes}");
    let document: Value =
        serde_json::from_str(&said(nandarium(&["trace", "info", path, "--allocator", "by-tier", "--json"])).out)
            .unwrap();
    assert_eq!(document["notes"].as_array().map(Vec::len), Some(2));
    let refused = said(nandarium(&["trace", "info", path, "--allocator", "best-fit"]));
    assert!(refused.code == 2 && refused.err.contains("write first-fit, log, by-tier"), "{}", refused.err);
    let spc = trace(folder.path(), "0,0,R,0,4096\n");
    let refused = said(nandarium(&["trace", "info", &spc, "--allocator", "log"]));
    assert!(refused.code == 2 && refused.err.contains("leave it out"), "{} {}", refused.code, refused.err);
}
