//! Syncs of a real program on a real file system, beside the flushes of the served drive.

use super::{Serving, run, small};
use crate::support::nandarium;
use serde_json::Value;
use std::path::Path;

/// What `fsyncs` tells of a sample on ext4, with its exit code. None: nothing can be mounted here.
fn joined(mount_options: &str, sample: &str) -> Option<(i32, Value)> {
    let may = run("id", &["-u"]).stdout.starts_with(b"0")
        && Path::new("/dev/fuse").exists()
        && Path::new("/dev/loop-control").exists();
    if !may {
        eprintln!("skipped: mounting takes root, /dev/fuse and /dev/loop-control");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("drive.csv");
    let serving = Serving::begin_in(folder, &[&small(&[])[..], &["--record", record.to_str().unwrap()]].concat());
    let (mount, calls) = (serving.path("mount"), serving.path("calls.log"));
    // Each step that was done is undone, whatever comes after it.
    let script = format!(
        "set -e; F={fuse}; M={mount}; mkdir $F $M; nbdfuse $F '{uri}' & \
         trap 'fusermount3 -u {fuse}; wait' EXIT; until test -e {fuse}/nbd; do sleep 0.05; done; \
         L=$(losetup -f --show --direct-io=on {fuse}/nbd); \
         trap \"umount {mount}; losetup -d $L; fusermount3 -u {fuse}; wait\" EXIT; \
         mkfs.ext4 -q $L; mount -o {mount_options} $L {mount}; \
         NANDARIUM_MOUNT={mount} strace -f -y -ttt -o {calls} /usr/bin/python3 {samples}/{sample}",
        fuse = serving.path("fuse").display(),
        mount = mount.display(),
        uri = serving.uri(),
        calls = calls.display(),
        samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../samples/torture"),
    );
    let done = run("bash", &["-c", &script]);
    assert!(done.status.success(), "{done:?}");
    let _folder = serving.end();
    let [calls, record, mount] = [&calls, &record, &mount].map(|path| path.to_str().unwrap());
    let told = nandarium(&["fsyncs", "--calls", calls, "--record", record, "--folder", mount, "--json"]);
    let told = { told }.output().unwrap();
    let document = serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    Some((told.status.code().unwrap(), document))
}

#[test]
fn syncs_on_ext4_are_flushes_and_without_barriers_they_are_not() {
    let Some((code, told)) = joined("barrier=1", "replace.py write") else { return };
    assert!(code == 0 && told["holds"] == true && told["calls"]["flushed"] == 30, "{told}");
    let (code, told) = joined("barrier=0", "replace.py write").unwrap();
    let unflushed = told["unflushed"].as_array().unwrap();
    assert!(code == 3 && unflushed.len() == 30 && told["names"].as_array().unwrap().is_empty(), "{told}");
    assert!(unflushed[0]["path"].as_str().unwrap().ends_with("/mount/config.new"), "{told}");
}

#[test]
fn a_file_that_was_renamed_and_never_synced_is_told_by_its_name() {
    let Some((code, told)) = joined("barrier=1", "replace.py careless") else { return };
    for kind in ["files", "names"] {
        let found = told[kind].as_array().unwrap();
        assert!(found.len() == 1 && found[0]["how"] == "renamed", "{told}");
        assert!(found[0]["path"].as_str().unwrap().ends_with("/mount/config"), "{told}");
    }
    assert!(code == 3 && told["unflushed"].as_array().unwrap().is_empty(), "{told}");
}

#[test]
fn logs_that_cannot_be_joined_say_how_to_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let [calls, record] = ["calls", "record"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    std::fs::write(&calls, "7 12:00:01 fsync(3</m/a>) = 0\n").unwrap();
    for (text, wanted) in [
        ("time_ns,device,op,offset_bytes,length_bytes\n", "serve --record"),
        ("# 0 clock 1.000000000\n", "strace -f -y -ttt"),
    ] {
        std::fs::write(&record, text).unwrap();
        let refused = nandarium(&["fsyncs", "--calls", &calls, "--record", &record]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(wanted), "{said}");
    }
}
