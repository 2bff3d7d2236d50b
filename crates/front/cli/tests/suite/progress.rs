//! Runs and sweeps that are watched while they go on.

use crate::serving::watching::{command, free_port, get};
use crate::support::nandarium;
use serde_json::Value;
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TINY: [&str; 10] = [
    "--set",
    "drive.capacity=64MiB",
    "--set",
    "flash.channels=2",
    "--set",
    "flash.dies_per_channel=2",
    "--set",
    "flash.pages_per_block=64",
    "--set",
    "drive.precondition=overwrite",
];

/// Work that ends with the test, if not by itself.
struct Working(Child);

impl Working {
    fn begin(arguments: &[&str], port: u16) -> Self {
        let address = format!("127.0.0.1:{port}");
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
        command.args(arguments).args(["--quiet", "--watch", &address]);
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// What it tells, once it is as wanted.
    fn told(&mut self, port: u16, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never tells");
            assert!(self.0.try_wait().unwrap().is_none(), "it ended before it told");
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                let state = serde_json::from_str(&get(port, "/state.json").2).unwrap();
                if is_wanted(&state) {
                    return state;
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_tells_how_far_it_is_and_what_it_has_measured() {
    let port = free_port();
    let run = [&["run", "--no-snapshots", "--workload", "mixed", "--requests", "100000000"], &TINY[..]].concat();
    let mut working = Working::begin(&run, port);
    let is_measured = |state: &Value| state["phase"] == "measuring" && !state["measured"].is_null();
    let state =
        working.told(port, |state| is_measured(state) && state["measured"]["requests"]["write"]["requests"] != 0);
    assert_eq!((&state["kind"], &state["all"]), (&"run".into(), &100_000_000.into()), "{state}");
    let measured = &state["measured"];
    let requests: u64 = ["read", "write"].iter().map(|op| measured["requests"][op]["requests"].as_u64().unwrap()).sum();
    let done = state["done"].as_u64().unwrap();
    assert!(requests > 0 && requests <= done && done < 100_000_000, "{requests} {done}");
    assert!(measured["waiting_ns"]["write"]["service"].as_f64() > Some(0.0), "{measured}");
    let later = working.told(port, |state| state["done"].as_u64() > Some(done));
    assert!(later["left_s"].as_f64() > Some(0.0) && later["per_second"].as_f64() > Some(0.0));
    let (status, _, metrics) = get(port, "/metrics");
    assert!(status == 200 && metrics.contains("nandarium_work_expected 100000000.0"), "{metrics}");
    assert!(metrics.contains("nandarium_requests_total{op=\"write\"}"), "{metrics}");
    let (status, refused) = command(port, "power-cut");
    assert!(status == 400 && refused["error"].as_str().unwrap().contains("takes no commands"), "{refused}");
    assert_eq!(get(port, "/maps.json").0, 503);
}

#[test]
fn who_watches_changes_nothing() {
    let run = [&["run", "--no-snapshots", "--json", "--quiet", "--requests", "30000"], &TINY[..]].concat();
    let hash = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["hash"].clone()
    };
    let alone = hash(nandarium(&run).output().unwrap());
    assert_eq!(hash(nandarium(&[&run[..], &["--watch", "127.0.0.1:0"]].concat()).output().unwrap()), alone);
}

#[test]
fn a_sweep_tells_its_table_as_far_as_it_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text = "name = \"watched\"\nworkloads = [\"uniform-write\"]\nrepetitions = 400\n[set]\n\
        drive.capacity = \"64MiB\"\n\
        flash.channels = 2\nflash.dies_per_channel = 2\nflash.pages_per_block = 64\ndrive.precondition = \"none\"\n\
        workload.requests = 20000\n[axes]\ndrive.over_provisioning = [\"20%\", \"50%\"]\n";
    std::fs::write(&plan, text).unwrap();
    let (port, out) = (free_port(), folder.path().join("out"));
    let sweep = ["sweep", plan.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let mut working = Working::begin(&sweep, port);
    let state = working.told(port, |state| state["table"]["statuses"]["complete"].as_u64() > Some(1));
    assert_eq!((&state["kind"], &state["name"], &state["all"]), (&"sweep".into(), &"watched".into(), &800.into()));
    let head = state["table"]["head"].as_array().unwrap();
    assert!(head.iter().any(|name| name == "drive.over_provisioning"), "{head:?}");
    let rows = state["table"]["rows"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row.as_array().unwrap().len() == head.len()), "{rows:?}");
    assert!(state["done"].as_u64() > Some(0) && state["measured"].is_null());
}
