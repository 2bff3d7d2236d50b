//! `nandarium probe` from end to end.

use crate::support::{nandarium, said};
use serde_json::Value;

const SMALL: [&str; 4] = ["--set", "drive.capacity=32MiB", "--bytes", "1MiB"];

fn probed(target: &str, more: &[&str]) -> Value {
    let said = said(nandarium(&[&["probe", "superpage", target, "--json", "--quiet"], more].concat()));
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).expect("standard output is one JSON document")
}

#[test]
fn the_superpage_of_a_stack_is_found_and_a_driver_hides_it() {
    for (stack, knee) in [("superpage", 16 << 10), ("hard", 4 << 10)] {
        let document = probed(stack, &SMALL);
        assert_eq!(document["schema"], "nandarium.probe/1");
        assert_eq!(document["knee"], knee, "{stack}: {document}");
        assert_eq!(document["points"].as_array().expect("points").len(), 13);
    }
}

#[test]
fn a_file_is_overwritten_only_when_told_to() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(2 << 20).expect("a size");
    let path = file.path().to_str().expect("a plain path");
    let refused = said(nandarium(&["probe", "superpage", path]));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    assert!(std::fs::read(path).expect("the file").iter().all(|byte| *byte == 0), "nothing was written");
    let document = probed(path, &["--yes", "--bytes", "64KiB"]);
    assert_eq!(document["points"][0]["writes"], 64);
    assert_eq!(std::fs::metadata(path).expect("the file").len(), 2 << 20, "it has not grown");
}

/// It overwrote a drive that was being served.
#[test]
fn a_file_that_another_program_has_open_is_left_alone() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    file.as_file().set_len(2 << 20).expect("a size");
    file.as_file().try_lock().expect("nobody else has it");
    let path = file.path().to_str().expect("a plain path");
    let refused = said(nandarium(&["probe", "superpage", path, "--yes"]));
    assert!(refused.code == 1 && refused.err.contains("another program has it open"), "{}", refused.err);
    assert!(std::fs::read(path).expect("the file").iter().all(|byte| *byte == 0), "nothing was written");
}

#[test]
fn what_cannot_be_probed_is_said() {
    for (arguments, wanted) in [
        (&["nbd://localhost:1/x", "--yes"][..], "localhost:1"),
        (&["nbd+unix:///x", "--yes"], "socket=PATH"),
        (&["superpage", "--set", "engine.time=none"], "engine.time = virtual"),
        (&["superpgae"], "did you mean"),
    ] {
        let said = said(nandarium(&[&["probe", "superpage", "--quiet"], arguments].concat()));
        assert!(said.code != 0 && said.err.contains(wanted), "{arguments:?}: {}", said.err);
    }
}
