//! Clients that nobody here wrote: fio, libnbd, QEMU's tools, the kernel's file systems.

use super::{SMALL, Serving, fio, run, small, succeeds};
use crate::support::nandarium;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn fio_verifies_random_and_sequential_writes_at_both_depths() {
    let stacks: [&[&str]; 3] = [
        &["--stack", "page"],
        &["--stack", "two-level", "--set", "buffer.nonvolatile=false"],
        &["--stack", "superpage"],
    ];
    for stack in stacks {
        let serving = Serving::begin(&small(stack));
        for (pattern, depth) in
            [("randwrite", "1"), ("randwrite", "32"), ("write", "1"), ("write", "32"), ("randrw", "32")]
        {
            let (pattern, depth) = (format!("--rw={pattern}"), format!("--iodepth={depth}"));
            fio(
                &serving.uri(),
                serving.folder.path(),
                &[&pattern, &depth, "--bs=4k", "--size=24M", "--verify=crc32c", "--verify_fatal=1"],
            );
        }
        fio(
            &serving.uri(),
            serving.folder.path(),
            &["--rw=randwrite", "--bsrange=512-512k", "--iodepth=8", "--size=32M", "--verify=crc32c", "--fsync=16"],
        );
        serving.end();
    }
}

/// All of a drive was told to be data, and copies of an empty drive read and stored every byte of it.
#[test]
fn clients_are_told_the_holes_of_a_drive() {
    for settings in [&[][..], &["--set", "drive.precondition=overwrite"]] {
        let serving = Serving::begin(&small(settings));
        let uri = serving.uri();
        let map = || {
            let told = succeeds("nbdinfo", &["--map", &uri]);
            let line = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
            told.lines().map(line).collect::<Vec<_>>()
        };
        assert_eq!(map(), ["0 134217728 3 hole,zero"]);
        let script = "h.pwrite(b'x' * 65536, 1 << 20)";
        succeeds("nbdsh", &["-u", &uri, "-c", script]);
        assert_eq!(map(), ["0 1048576 3 hole,zero", "1048576 65536 0 data", "1114112 133103616 3 hole,zero"]);
        succeeds("nbdsh", &["-u", &uri, "-c", "h.trim(128 << 20, 0)"]);
        assert_eq!(map(), ["0 134217728 3 hole,zero"]);
        serving.end();
    }
}

#[test]
fn a_client_hears_the_promise_of_the_drive_as_its_preferred_block() {
    let preferred = |more: &[&'static str]| {
        let serving = Serving::begin(&small(more));
        let info = succeeds("nbdinfo", &[&serving.uri()]);
        serving.end();
        info.lines().find_map(|line| line.trim().strip_prefix("block_size_preferred: ").map(str::to_owned))
    };
    assert_eq!(preferred(&[]).as_deref(), Some("4096"));
    let kept = ["--set", "buffer.kind=page-lru", "--set", "buffer.nonvolatile=true", "--set", "drive.atomic=16KiB"];
    assert_eq!(preferred(&kept).as_deref(), Some("16384"));
}

#[test]
fn libnbd_and_qemu_hold_their_conversations() {
    let serving = Serving::begin(&small(&[]));
    let uri = serving.uri();
    let info = succeeds("nbdinfo", &[&uri]);
    for wanted in [
        "export-size: 134217728",
        "can_flush: true",
        "can_fua: true",
        "can_trim: true",
        "can_zero: true",
        "can_multi_conn: true",
        "block_size_minimum: 512",
    ] {
        assert!(info.contains(wanted), "{wanted}: {info}");
    }
    assert_eq!(succeeds("nbdinfo", &["--size", &uri]).trim(), "134217728");
    let image = serving.path("image");
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|at| (at / 512 * 7 + at % 251) as u8).collect();
    fs::write(&image, &bytes).unwrap();
    let (image, back) = (image.to_str().unwrap().to_owned(), serving.path("back"));
    succeeds("nbdcopy", &[&image, &uri]);
    succeeds("nbdcopy", &[&uri, back.to_str().unwrap()]);
    let back = fs::read(back).unwrap();
    assert!(back[..bytes.len()] == bytes && back[bytes.len()..].iter().all(|byte| *byte == 0));
    let script = "
h.pwrite(b'x' * 1024, 4096, nbd.CMD_FLAG_FUA)
assert h.pread(1024, 4096) == b'x' * 1024
h.zero(512, 4096)
assert h.pread(1024, 4096) == b'\\0' * 512 + b'x' * 512
h.trim(1 << 20, 1 << 20)
assert h.pread(1 << 20, 1 << 20) == b'\\0' * (1 << 20)
h.flush()
for bad in (lambda: h.pread(512, h.get_size()), lambda: h.pread(100, 0), lambda: h.pwrite(b'x' * 512, h.get_size())):
    try:
        h.set_strict_mode(0)
        bad()
        raise SystemExit('a bad request was served')
    except nbd.Error:
        pass
";
    succeeds("nbdsh", &["-u", &uri, "-c", script]);
    let small = serving.path("small.qcow2");
    succeeds(
        "qemu-img",
        &["convert", "-n", "-f", "raw", "-O", "raw", &image, &uri.replace("nbd+unix:///", "nbd+unix:///nandarium")],
    );
    succeeds("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, small.to_str().unwrap()]);
    succeeds("qemu-img", &["compare", "-f", "raw", "-F", "qcow2", &uri, small.to_str().unwrap()]);
    serving.end();
}

#[test]
fn requests_are_recorded_as_a_trace_that_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv").to_str().unwrap().to_owned();
    let serving = Serving::begin_in(folder, &[&SMALL[..], &["--record", &trace]].concat());
    succeeds(
        "nbdsh",
        &[
            "-u",
            &serving.uri(),
            "-c",
            "h.pwrite(b'f' * 8192, 4096)",
            "-c",
            "h.flush()",
            "-c",
            "h.pread(4096, 8192)",
            "-c",
            "h.trim(65536, 0)",
        ],
    );
    let folder = serving.end();
    let text = fs::read_to_string(&trace).unwrap();
    let requests = text.lines().skip(1).filter(|line| !line.starts_with('#'));
    let ops: Vec<_> = requests.map(|line| line.split(',').skip(2).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(ops, ["W,4096,8192,0", "F,0,0,0", "R,8192,4096,0", "T,0,65536,0"]);
    let output = nandarium(&[&["run", "--workload", &trace, "--no-snapshots"], &SMALL[1..]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drop(folder);
}

#[test]
fn a_drive_at_its_own_pace_takes_the_time_it_says() {
    // A program takes 50 ms; ten of them on one die.
    let slow = [
        "--set",
        "flash.channels=1",
        "--set",
        "flash.dies_per_channel=1",
        "--set",
        "flash.program_time=50ms",
        "--time",
        "real",
    ];
    let serving = Serving::begin(&small(&slow));
    let begun = Instant::now();
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "for at in range(10): h.pwrite(b'x' * 4096, at * 4096)"]);
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(500) && took < Duration::from_secs(5), "{took:?}");
    serving.end();
}

#[test]
fn a_port_of_this_machine_serves_as_well_and_read_only_means_it() {
    let folder = tempfile::tempdir().unwrap();
    let control = folder.path().join("c");
    let program = assert_cmd::cargo::cargo_bin("nandarium");
    let arguments = [
        &[
            "serve",
            "--tcp",
            "0",
            "--read-only",
            "--set",
            "drive.capacity=128MiB",
            "--set",
            "flash.pages_per_block=64",
            "--set",
            "drive.over_provisioning=75%",
            "--control",
        ][..],
        &[control.to_str().unwrap()],
    ]
    .concat();
    let mut child = Command::new(program).args(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let uri = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0, "the server ended");
        if let Some(uri) = line.trim().strip_prefix("clients: ") {
            break uri.to_owned();
        }
    };
    let info = run("nbdinfo", &[&uri]);
    let write = run("nbdsh", &["-u", &uri, "-c", "h.set_strict_mode(0)", "-c", "h.pwrite(b'x' * 512, 0)"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(String::from_utf8_lossy(&info.stdout).contains("is_read_only: true"), "{info:?}");
    assert!(!write.status.success() && String::from_utf8_lossy(&write.stderr).contains("not permitted"), "{write:?}");
}

/// A file system on a loop device over FUSE: made, mounted, written to, checked. Only root may.
#[test]
fn a_file_system_lives_on_it() {
    let may = run("id", &["-u"]).stdout.starts_with(b"0")
        && Path::new("/dev/fuse").exists()
        && Path::new("/dev/loop-control").exists();
    if !may {
        eprintln!("skipped: mounting takes root, /dev/fuse and /dev/loop-control");
        return;
    }
    let serving = Serving::begin(&small(&["--stack", "page"]));
    let (mount, tree) = (serving.path("fuse"), serving.path("tree"));
    fs::create_dir(&mount).unwrap();
    fs::create_dir(&tree).unwrap();
    let mut fuse = Command::new("nbdfuse")
        .arg(&mount)
        .arg(serving.uri())
        .spawn()
        .expect("nbdfuse is missing: `make setup` installs it");
    let device = mount.join("nbd");
    let begun = Instant::now();
    while !device.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nbdfuse mounts nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (device, tree) = (device.to_str().unwrap(), tree.to_str().unwrap());
    let attached = run("losetup", &["-f", "--show", "--direct-io=on", device]);
    if attached.status.success() {
        let looped = String::from_utf8(attached.stdout).unwrap().trim().to_owned();
        let script = format!(
            "set -e; mkfs.ext4 -q {looped}; mount {looped} {tree}; cp -r /usr/lib/x86_64-linux-gnu/perl-base {tree}/ \
             2>/dev/null || cp -r /etc {tree}/; \
             cp /bin/bash {tree}/; sync; fstrim {tree}; cmp /bin/bash {tree}/bash; umount {tree}; e2fsck -fn {looped}"
        );
        let done = run("bash", &["-c", &script]);
        let _ = run("umount", &[tree]);
        let _ = run("losetup", &["-d", &looped]);
        let _ = run("fusermount3", &["-u", mount.to_str().unwrap()]);
        let _ = fuse.wait();
        assert!(
            done.status.success(),
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    } else {
        eprintln!("skipped: {}", String::from_utf8_lossy(&attached.stderr));
        let _ = run("fusermount3", &["-u", mount.to_str().unwrap()]);
        let _ = fuse.wait();
    }
    serving.end();
}

/// A served drive in use told no write amplification, and not why.
#[test]
fn a_served_drive_with_too_few_writes_says_to_write_more() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let used = ["--set", "drive.precondition=overwrite", "--out", out.to_str().unwrap()];
    let serving = Serving::begin(&[&small(&["--stack", "page"])[..], &used].concat());
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * 4096, 0)"]);
    serving.end();
    let result = fs::read_to_string(out.join("result.json")).unwrap();
    assert!(result.contains("\"too few writes\"") && result.contains("Write more to the drive."), "{result}");
}

/// The full race is `make bench-serving`; here the program has no link-time optimisation, and other tests run beside
/// it. Under such a load the rates of a second are off by a factor of three either way, so each discipline gets many
/// short tries, of which one has to do.
#[test]
fn the_server_keeps_up_with_one_that_only_copies() {
    let folder = tempfile::tempdir().unwrap();
    let track = bench::serving::Track::open(&assert_cmd::cargo::cargo_bin("nandarium"), folder.path()).unwrap();
    for discipline in bench::serving::DISCIPLINES {
        let mut best = 0.0_f64;
        for _ in 0..30 {
            let race = track.race(discipline, 1, 1).unwrap();
            println!("{} at depth {}: {:.0} against {:.0}", race.pattern, race.depth, race.ours, race.other);
            best = best.max(race.ratio());
            if best > 0.75 {
                break;
            }
        }
        assert!(best > 0.75, "{discipline:?}: the best ratio is {best}");
    }
}

#[test]
fn a_served_drive_is_measured_into_its_steady_state() {
    let small = ["--set", "drive.capacity=256MiB", "--set", "flash.pages_per_block=64", "-q"];
    let serving = Serving::begin(&[&["serve"], &small[..]].concat());
    let out = serving.path("measured.toml");
    let (uri, file) = (serving.uri(), out.to_str().unwrap());
    let measured = ["measure", "--target", &uri, "--destroy-data", "--steady", "--seconds", "1", "--out", file, "-q"];
    let output = nandarium(&measured).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drive = fit::MeasuredDrive::from_text(&fs::read_to_string(&out).unwrap(), file).unwrap();
    let has = |title: &str, figure: &str| {
        drive.experiments.iter().any(|one| one.title().contains(title) && one.measured.contains_key(figure))
    };
    assert!(has("at full speed", "steady") && has("offered", "read.p99") && has("writes, depth 32", "iops"));
    let fitted: Vec<_> = drive.experiments.iter().flat_map(|one| &one.fit).collect();
    // On a busy machine no offered rate may come out as half of the steady one, to which latencies are fitted.
    assert!(fitted.contains(&&"steady") && fitted.contains(&&"iops"), "{fitted:?}");
}
