//! Files behind a remapping driver.

use super::{Serving, fio, succeeds};
use crate::support::nandarium;
use std::fs;
use std::path::Path;

#[test]
fn a_remapped_file_is_served_checked_and_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    for (arguments, code) in [
        (&["hard", "format", &file, "--create", "96MiB"][..], 0),
        (&["hard", "format", &file], 2),
        (&["hard", "check", &file], 0),
    ] {
        let output = nandarium(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet"]);
    let aux = serving.path("aux");
    fs::create_dir(&aux).unwrap();
    let job = ["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=24M", "--verify=crc32c"];
    fio(&serving.uri(), &aux, &[&job[..], &["--do_verify=0", "--end_fsync=1"]].concat());
    assert!(serving.ctl(&["stats"]).contains("\"superpages_written\""));
    let folder = serving.kill();
    let output = nandarium(&["hard", "check", &file]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet"]);
    fio(&serving.uri(), &aux, &[&job[..], &["--verify_only"]].concat());
    serving.end();
}

/// The data were in the file, and the map did not lead to them: the page read as before.
#[test]
fn what_a_write_through_server_answered_outlives_a_kill() {
    let mut folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    assert!(nandarium(&["hard", "format", &file, "--create", "32MiB"]).output().unwrap().status.success());
    let rounds = [
        ("h.pwrite(b'a' * 65536, 0)", "h.pread(65536, 0) == b'a' * 65536"),
        ("h.pwrite(b'b' * 512, 4096)", "h.pread(512, 4096) == b'b' * 512"),
        ("h.trim(8192, 16384)", "h.pread(8192, 16384) == bytes(8192) and h.pread(512, 4096) == b'b' * 512"),
        ("h.zero(4096, 32768)", "h.pread(4096, 32768) == bytes(4096) and h.pread(4096, 36864) == b'a' * 4096"),
    ];
    for (change, wanted) in rounds {
        let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet", "--write-through"]);
        succeeds("nbdsh", &["-u", &serving.uri(), "-c", change]);
        folder = serving.kill();
        let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet", "--read-only"]);
        succeeds("nbdsh", &["-u", &serving.uri(), "-c", &format!("assert {wanted}")]);
        folder = serving.end();
    }
}

/// Its checkpoint and the journal's records were written when the server ended.
#[test]
fn a_remapped_file_that_is_served_for_reading_does_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    assert!(nandarium(&["hard", "format", &file, "--create", "32MiB"]).output().unwrap().status.success());
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet"]);
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * 4096, 8192)", "-c", "h.flush()"]);
    // The journal holds records that no checkpoint has.
    let folder = serving.kill();
    let before = fs::read(&file).unwrap();
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet", "--read-only"]);
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "assert h.pread(4096, 8192) == b'x' * 4096"]);
    let folder = serving.end();
    assert!(fs::read(&file).unwrap() == before, "a file that was only read has changed");
    drop(folder);
}

/// A file that was too small was left behind, and in the way of the next try.
#[test]
fn a_format_that_fails_leaves_no_file_and_says_what_was_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    let says = |arguments: &[&str], wanted: &str| {
        let output = nandarium(&[&["hard"], arguments].concat()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(wanted), "{arguments:?}: {text}");
    };
    says(&["format", &file, "--create", "16KiB"], "16KiB are too few");
    says(&["format", &file, "--create", "64MiB", "--superpage", "20KiB"], "from 4KiB to 4MiB");
    says(&["format", &file, "--create", "64MiB", "--hold-back", "0%"], "from 1% to 50%");
    says(&["format", &file], "there is no such file");
    assert!(!Path::new(&file).exists());
    says(&["check", folder.path().to_str().unwrap()], "it is a folder");
    fs::write(&file, "").unwrap();
    says(&["check", &file], "it is empty");
}

/// What a trim of the client frees takes no room in the file any more.
#[test]
fn a_remapped_file_gives_room_back_where_it_is_asked_to() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    assert!(nandarium(&["hard", "format", &file, "--create", "64MiB"]).output().unwrap().status.success());
    let kib = || fs::metadata(&file).unwrap().blocks() / 2;
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet", "--trim"]);
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * (24 << 20), 0)", "-c", "h.flush()"]);
    let full = kib();
    assert!(full > 24 << 10, "{full} KiB");
    succeeds(
        "nbdsh",
        &[
            "-u",
            &serving.uri(),
            "-c",
            "h.trim(16 << 20, 0)",
            "-c",
            "h.flush()",
            "-c",
            "assert h.pread(1 << 20, 16 << 20) == b'x' * (1 << 20)",
        ],
    );
    let folder = serving.end();
    let left = kib();
    assert!(left < 10 << 10, "{left} of {full} KiB are left");
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet"]);
    succeeds(
        "nbdsh",
        &["-u", &serving.uri(), "-c", "assert h.pread(24 << 20, 0) == b'\\0' * (16 << 20) + b'x' * (8 << 20)"],
    );
    serving.end();
}

#[test]
fn a_check_says_what_the_map_was_made_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    assert!(nandarium(&["hard", "format", &file, "--create", "32MiB"]).output().unwrap().status.success());
    let report = || -> serde_json::Value {
        let output = nandarium(&["hard", "check", &file, "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let fresh = report();
    assert_eq!(
        (&fresh["agrees"], &fresh["journal_records_read"], &fresh["rejected_checkpoint"]),
        (&true.into(), &0.into(), &serde_json::Value::Null)
    );
    let serving = Serving::begin_in(folder, &["hard", "serve", &file, "--quiet"]);
    succeeds(
        "nbdsh",
        &["-u", &serving.uri(), "-c", "for at in range(100): h.pwrite(b'x' * 4096, at * 4096)", "-c", "h.flush()"],
    );
    let folder = serving.kill();
    let after = report();
    assert_eq!(after["journal_records_read"], 100, "{after}");
    assert!(after["checkpoint"].as_u64() > fresh["checkpoint"].as_u64(), "the first write makes one: {after}");
    let output = nandarium(&["hard", "check", &file]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("map agrees") && text.contains("100 records"), "{text}");
    drop(folder);
}
