//! Drives and disks without room: everybody gets an answer, and the right one.

use super::{Serving, run, small, succeeds};
use std::process::Command;

const TINY: [&str; 12] = [
    "serve",
    "--quiet",
    "--set",
    "drive.capacity=8MiB",
    "--set",
    "flash.channels=2",
    "--set",
    "flash.dies_per_channel=1",
    "--set",
    "flash.pages_per_block=16",
    "--set",
    "drive.over_provisioning=50%",
];

/// A script in which `call` fails with `errno`.
fn fails(call: &str, errno: &str) -> String {
    format!(
        "try:\n    {call}\n    raise SystemExit('it worked')\nexcept nbd.Error as error:\n    assert error.errno == \
         '{errno}', error"
    )
}

/// Writes waited for ever where time is that of the clock: the wake-up of the clock counted as something that goes on.
#[test]
fn a_paced_drive_without_room_answers() {
    for stack in [
        &["--time", "real"][..],
        &["--time", "0.1"],
        &["--time", "off"],
        &["--time", "real", "--set", "buffer.kind=page-lru", "--set", "buffer.size=64KiB"],
    ] {
        let mut serving = Serving::begin(&[&TINY[..], stack].concat());
        succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'k' * 4096, 0); h.flush()"]);
        serving.ctl(&["fault", "programs", "100%"]);
        let script = fails("[(h.pwrite(b'x' * 65536, at << 16), h.flush()) for at in range(4)]", "ENOSPC");
        let done = run("timeout", &["30", "nbdsh", "-u", &serving.uri(), "-c", &script]);
        assert!(done.status.success(), "{stack:?}: {}", String::from_utf8_lossy(&done.stderr));
        // What is there is read as before.
        succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pread(4096, 4 << 20)"]);
        assert!(serving.terminate().is_some(), "{stack:?}");
        assert!(!serving.path("s").exists(), "{stack:?}");
    }
}

/// It was told as lack of room.
#[test]
fn a_read_that_cannot_be_corrected_is_no_lack_of_room() {
    let serving = Serving::begin(&TINY);
    // What is written from here on cannot be read.
    serving.ctl(&["fault", "reads", "100%"]);
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'k' * 65536, 0); h.flush()"]);
    serving.ctl(&["fault", "programs", "100%"]);
    // The first waits in the drive for good, those behind it are refused at its door.
    for at in 1..10 {
        succeeds(
            "nbdsh",
            &["-u", &serving.uri(), "-c", &fails(&format!("h.pwrite(b'x' * 65536, {at} << 16)"), "ENOSPC")],
        );
    }
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", &fails("h.pread(65536, 0)", "EIO")]);
    serving.kill();
}

/// The write that noticed was told as a failure of the flash.
#[test]
fn the_first_write_that_meets_a_full_disk_is_told_that_it_is_full() {
    let disk = tempfile::tempdir().unwrap();
    let place = disk.path().to_str().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs", place]).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: only root may mount a file system");
        return;
    }
    let file = format!("{place}/drive");
    let serving = Serving::begin(&[&TINY[..], &["--file", &file]].concat());
    let done = run(
        "nbdsh",
        &[
            "-u",
            &serving.uri(),
            "-c",
            &fails("[h.pwrite(bytes([at + 1]) * 65536, at << 16) for at in range(100)]", "ENOSPC"),
        ],
    );
    serving.kill();
    let _ = Command::new("umount").args(["-l", place]).status();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// They ended as if all requests and faults were in them.
#[test]
fn a_record_or_a_log_that_met_a_full_disk_is_told_at_the_end() {
    for (option, wanted) in
        [("--record", "record of requests is not whole"), ("--fault-log", "log of faults is not whole")]
    {
        let mut limited = Command::new("bash");
        // The disk is full for files of more than four KiB.
        limited
            .args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\""])
            .arg(assert_cmd::cargo::cargo_bin("nandarium"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        limited.args(small(&["--fault", "lose writes"])).arg(option).arg(&file);
        let mut serving = Serving::begin_with(folder, limited);
        succeeds("nbdsh", &["-u", &serving.uri(), "-c", "for at in range(1000): h.pwrite(b'x' * 4096, at * 4096)"]);
        assert_eq!(serving.terminate(), Some(1));
        let said = serving.said();
        assert!(said.contains(file.to_str().unwrap()) && said.contains(wanted), "{said}");
        assert!(std::fs::metadata(&file).unwrap().len() <= 4096);
    }
}
