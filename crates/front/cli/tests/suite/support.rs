//! Running the program as a user does.

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;

/// A drive small enough for a test: 16 MiB on two dies.
pub const TINY: [&str; 5] = [
    "drive.capacity=16MiB",
    "drive.over_provisioning=30%",
    "flash.channels=2",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=32",
];

/// The program, with snapshots off.
pub fn nandarium(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("nandarium").expect("the program is built with its tests");
    command.args(arguments).env_remove("XDG_CACHE_HOME").env("HOME", "/nonexistent");
    command
}

/// `run` on a tiny drive with further arguments.
pub fn run_tiny(arguments: &[&str]) -> Command {
    let mut command = nandarium(&["run"]);
    if !arguments.contains(&"--requests") {
        command.args(["--requests", "20000"]);
    }
    if !arguments.contains(&"--snapshots") {
        command.arg("--no-snapshots");
    }
    command.args(tiny_beside(arguments)).args(arguments);
    command
}

/// The settings of a tiny drive, but for keys that `arguments` set themselves.
pub fn tiny_beside(arguments: &[&str]) -> Vec<&'static str> {
    beside(&TINY, arguments)
}

/// `settings` as options, but for keys that `arguments` set themselves.
pub fn beside<'a>(settings: &[&'a str], arguments: &[&str]) -> Vec<&'a str> {
    let key = |setting: &str| setting.split('=').next().unwrap_or_default().trim().to_owned();
    let given: Vec<String> = arguments.iter().map(|text| key(text)).collect();
    let others = settings.iter().filter(|setting| !given.contains(&key(setting)));
    others.flat_map(|setting| ["--set", *setting]).collect()
}

/// What the program said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs to the end.
pub fn said(mut command: Command) -> Said {
    let output = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Said { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// The JSON result of a run on a tiny drive.
pub fn json(arguments: &[&str]) -> Value {
    let said = said(run_tiny(&[arguments, &["--json"]].concat()));
    assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
    serde_json::from_str(&said.out).expect("standard output is one JSON document")
}

/// The hash of a run on a tiny drive.
pub fn hash(arguments: &[&str]) -> String {
    json(arguments)["hash"].as_str().expect("a hash").to_owned()
}

/// A trace in the project's own format with these rows.
pub fn trace(folder: &Path, rows: &str) -> String {
    let path = folder.join("trace.nandarium.csv");
    std::fs::write(&path, format!("time_ns,device,op,offset_bytes,length_bytes\n{rows}")).expect("a trace is written");
    path.to_str().expect("a plain path").to_owned()
}
