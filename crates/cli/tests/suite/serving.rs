//! Servers, and clients that nobody here wrote: fio, libnbd, QEMU's tools, the kernel's file systems.

use crate::support::nandarium;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A server with a folder of its own; it ends with the test.
struct Serving {
    child: Child,
    folder: TempDir,
}

impl Serving {
    fn begin(arguments: &[&str]) -> Self {
        Self::begin_in(tempfile::tempdir().unwrap(), arguments)
    }

    fn begin_in(folder: TempDir, arguments: &[&str]) -> Self {
        let socket = folder.path().join("s");
        let program = assert_cmd::cargo::cargo_bin("nandarium");
        let child = Command::new(program).args(arguments).arg("--socket").arg(&socket).stderr(Stdio::piped()).spawn().unwrap();
        let mut serving = Self { child, folder };
        let begun = Instant::now();
        // A killed server leaves its socket: that it is there says nothing.
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(serving.child.try_wait().unwrap().is_none(), "the server ended: {}", serving.said());
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody listens on {}", socket.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        serving
    }

    fn said(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut text);
        }
        text
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.path("s").display())
    }

    fn ctl(&self, command: &[&str]) -> String {
        let socket = self.path("s.ctl");
        let output = nandarium(&[&["ctl", socket.to_str().unwrap(), "--json"], command].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        resident.trim().trim_end_matches("kB").trim().parse().unwrap()
    }

    /// Ends it as a user would, and sees that it removes its sockets.
    fn end(mut self) -> TempDir {
        self.ctl(&["shut-down"]);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", self.said());
        assert!(!self.path("s").exists() && !self.path("s.ctl").exists());
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }

    /// Ends it as nobody should.
    fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs another program; `make setup` installs them.
fn run(program: &str, arguments: &[&str]) -> Output {
    // nbdsh belongs to the system's Python, whatever other there is.
    let output = Command::new("timeout").args(["120", program]).args(arguments).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; `make setup` installs it"));
    assert!(output.status.code() != Some(127), "{program} is missing: `make setup` installs it");
    output
}

/// As [`run`], and it has to succeed; what it printed.
fn succeeds(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}", output.status);
    text
}

fn fio(uri: &str, folder: &Path, arguments: &[&str]) -> String {
    let common = ["--name=job", "--ioengine=nbd", "--group_reporting", "--randrepeat=1"];
    let (uri, aux) = (format!("--uri={uri}"), format!("--aux-path={}", folder.display()));
    succeeds("fio", &[&common[..], &[&uri, &aux], arguments].concat())
}

const SMALL: [&str; 8] =
    ["serve", "--quiet", "--set", "drive.capacity=128MiB", "--set", "flash.pages_per_block=64", "--set", "drive.over_provisioning=75%"];

fn small(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

#[test]
fn fio_verifies_random_and_sequential_writes_at_both_depths() {
    let stacks: [&[&str]; 3] = [&["--stack", "page"], &["--stack", "two-level", "--set", "buffer.nonvolatile=false"], &["--stack", "superpage"]];
    for stack in stacks {
        let serving = Serving::begin(&small(stack));
        for (pattern, depth) in [("randwrite", "1"), ("randwrite", "32"), ("write", "1"), ("write", "32"), ("randrw", "32")] {
            let (pattern, depth) = (format!("--rw={pattern}"), format!("--iodepth={depth}"));
            fio(&serving.uri(), serving.folder.path(), &[&pattern, &depth, "--bs=4k", "--size=24M", "--verify=crc32c", "--verify_fatal=1"]);
        }
        fio(&serving.uri(), serving.folder.path(), &["--rw=randwrite", "--bsrange=512-512k", "--iodepth=8", "--size=32M", "--verify=crc32c", "--fsync=16"]);
        serving.end();
    }
}

#[test]
fn libnbd_and_qemu_hold_their_conversations() {
    let serving = Serving::begin(&small(&[]));
    let uri = serving.uri();
    let info = succeeds("nbdinfo", &[&uri]);
    for wanted in ["export-size: 134217728", "can_flush: true", "can_fua: true", "can_trim: true", "can_zero: true", "can_multi_conn: true", "block_size_minimum: 512"] {
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
    succeeds("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &image, &uri.replace("nbd+unix:///", "nbd+unix:///nandarium")]);
    succeeds("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, small.to_str().unwrap()]);
    succeeds("qemu-img", &["compare", "-f", "raw", "-F", "qcow2", &uri, small.to_str().unwrap()]);
    serving.end();
}

/// What fio has flushed is there after the server was killed in the middle of a job, with all of it on its way.
#[test]
fn what_was_flushed_outlives_a_killed_server() {
    for stack in [&["--stack", "page"][..], &["--stack", "two-level", "--set", "buffer.nonvolatile=false"]] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("drive").to_str().unwrap().to_owned();
        let begin = |folder: TempDir| Serving::begin_in(folder, &[&SMALL[..], stack, &["--file", &file]].concat());
        let serving = begin(folder);
        let (uri, aux) = (serving.uri(), serving.path("aux"));
        fs::create_dir(&aux).unwrap();
        fio(&uri, &aux, &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=16M", "--verify=crc32c", "--do_verify=0", "--end_fsync=1"]);
        // Other places are written when the server is killed.
        let mut job = Command::new("timeout");
        job.args(["60", "fio", "--name=other", "--ioengine=nbd", "--rw=randwrite", "--bs=4k", "--iodepth=32", "--offset=64M", "--size=48M", "--time_based", "--runtime=30"]);
        let mut job = job.arg(format!("--uri={uri}")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let folder = serving.kill();
        job.wait().unwrap();
        let serving = begin(folder);
        fio(&serving.uri(), &aux, &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=16M", "--verify=crc32c", "--verify_only"]);
        serving.end();
    }
}

#[test]
fn commands_cut_power_and_let_things_fail() {
    let serving = Serving::begin(&small(&["--set", "buffer.kind=page-lru"]));
    assert!(serving.ctl(&["smart"]).contains("\"power_cuts\": 0"));
    assert!(serving.ctl(&["stats"]).contains("\"flash.programs.total\": 0"));
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'f' * 4096, 0)", "-c", "h.flush()", "-c", "h.pwrite(b'v' * 4096, 8192)"]);
    assert!(serving.ctl(&["power-cut", "7"]).contains("\"power_cuts\": 1"));
    // What was flushed is there; what only the volatile buffer had is not.
    let look = "assert h.pread(4096, 0) == b'f' * 4096 and h.pread(4096, 8192) == b'\\0' * 4096";
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", look]);
    serving.ctl(&["fault", "channel", "0"]);
    let lost = run("nbdcopy", &[&serving.uri(), "null:"]);
    assert!(!lost.status.success(), "a channel is gone, and nobody noticed");
    for (command, wanted) in [("dance", "there are: smart"), ("fault die 999", "there is no die 999"), ("power-cut now", "a whole number")] {
        let socket = serving.path("s.ctl");
        let output = nandarium(&["ctl", socket.to_str().unwrap(), command]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{command}: {said}");
    }
    serving.end();
}

#[test]
fn requests_are_recorded_as_a_trace_that_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv").to_str().unwrap().to_owned();
    let serving = Serving::begin_in(folder, &[&SMALL[..], &["--record", &trace]].concat());
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'f' * 8192, 4096)", "-c", "h.flush()", "-c", "h.pread(4096, 8192)", "-c", "h.trim(65536, 0)"]);
    let folder = serving.end();
    let text = fs::read_to_string(&trace).unwrap();
    let ops: Vec<_> = text.lines().skip(1).map(|line| line.split(',').skip(2).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(ops, ["W,4096,8192,0", "F,0,0,0", "R,8192,4096,0", "T,0,65536,0"]);
    let output = nandarium(&[&["run", "--workload", &trace, "--no-snapshots"], &SMALL[1..]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drop(folder);
}

#[test]
fn a_drive_at_its_own_pace_takes_the_time_it_says() {
    // A program takes 50 ms; ten of them on one die.
    let slow = ["--set", "flash.channels=1", "--set", "flash.dies_per_channel=1", "--set", "flash.program_time=50ms", "--time", "real"];
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
    let arguments = [&["serve", "--tcp", "0", "--read-only", "--set", "drive.capacity=128MiB", "--set", "flash.pages_per_block=64", "--set", "drive.over_provisioning=75%", "--control"][..], &[control.to_str().unwrap()]].concat();
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

#[test]
fn a_remapped_file_is_served_checked_and_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").to_str().unwrap().to_owned();
    for (arguments, code) in [(&["hard", "format", &file, "--create", "96MiB"][..], 0), (&["hard", "format", &file], 2), (&["hard", "check", &file], 0)] {
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

#[test]
fn a_large_export_takes_memory_for_what_was_written() {
    let serving = Serving::begin(&["serve", "--quiet", "--set", "drive.capacity=64GiB"]);
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "for at in range(64): h.pwrite(b'x' * 4096, at << 30)", "-c", "assert h.pread(4096, 63 << 30) == b'x' * 4096"]);
    let kib = serving.resident_kib();
    assert!(kib < 1 << 20, "{kib} KiB are resident for 64 pages of a 64 GiB drive");
    serving.end();
}

/// A client of some bytes a request could ask for gigabytes.
#[test]
fn a_client_that_asks_for_much_and_takes_nothing_costs_little_memory() {
    use std::io::{Read as _, Write as _};
    let serving = Serving::begin(&small(&[]));
    let mut greedy = std::os::unix::net::UnixStream::connect(serving.path("s")).unwrap();
    greedy.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
    let mut welcome = [0; 28];
    greedy.read_exact(&mut welcome).unwrap();
    for cookie in 0..2000_u64 {
        let request = [&b"\x25\x60\x95\x13\0\0\0\0"[..], &cookie.to_be_bytes(), &0_u64.to_be_bytes(), &(32_u32 << 20).to_be_bytes()].concat();
        greedy.write_all(&request).unwrap();
    }
    // Others are served meanwhile.
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * 4096, 0)", "-c", "assert h.pread(4096, 0) == b'x' * 4096"]);
    let kib = serving.resident_kib();
    assert!(kib < 600 << 10, "{kib} KiB are resident");
    drop(greedy);
    succeeds("nbdinfo", &[&serving.uri()]);
    serving.end();
}

#[test]
fn bytes_that_are_no_conversation_end_their_connection_alone() {
    use std::io::{Read as _, Write as _};
    let serving = Serving::begin(&small(&[]));
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], b"\0\0\0\x03IHAVEOPT\0\0\0\x07\xff\xff\xff\xff", b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0\x25\x60\x95\x14aaaaaaaaaaaaaaaaaaaaaaaa"] {
        let mut client = std::os::unix::net::UnixStream::connect(serving.path("s")).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = client.write_all(bytes);
        let _ = client.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = client.read_to_end(&mut said);
        assert!(said.starts_with(b"NBDMAGICIHAVEOPT"));
    }
    succeeds("nbdinfo", &[&serving.uri()]);
    serving.end();
}

/// A file system on a loop device over FUSE: made, mounted, written to, checked. Only root may.
#[test]
fn a_file_system_lives_on_it() {
    let may = run("id", &["-u"]).stdout.starts_with(b"0") && Path::new("/dev/fuse").exists() && Path::new("/dev/loop-control").exists();
    if !may {
        eprintln!("skipped: mounting takes root, /dev/fuse and /dev/loop-control");
        return;
    }
    let serving = Serving::begin(&small(&["--stack", "page"]));
    let (mount, tree) = (serving.path("fuse"), serving.path("tree"));
    fs::create_dir(&mount).unwrap();
    fs::create_dir(&tree).unwrap();
    let mut fuse = Command::new("nbdfuse").arg(&mount).arg(serving.uri()).spawn().expect("nbdfuse is missing: `make setup` installs it");
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
            "set -e; mkfs.ext4 -q {looped}; mount {looped} {tree}; cp -r /usr/lib/x86_64-linux-gnu/perl-base {tree}/ 2>/dev/null || cp -r /etc {tree}/; \
             cp /bin/bash {tree}/; sync; fstrim {tree}; cmp /bin/bash {tree}/bash; umount {tree}; e2fsck -fn {looped}"
        );
        let done = run("bash", &["-c", &script]);
        let _ = run("umount", &[tree]);
        let _ = run("losetup", &["-d", &looped]);
        let _ = run("fusermount3", &["-u", mount.to_str().unwrap()]);
        let _ = fuse.wait();
        assert!(done.status.success(), "{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    } else {
        eprintln!("skipped: {}", String::from_utf8_lossy(&attached.stderr));
        let _ = run("fusermount3", &["-u", mount.to_str().unwrap()]);
        let _ = fuse.wait();
    }
    serving.end();
}

/// The full race is `make bench-serving`; here the program has no link-time optimisation, and other tests run beside it.
#[test]
fn the_server_keeps_up_with_one_that_only_copies() {
    let folder = tempfile::tempdir().unwrap();
    let races = bench::serving::race(&assert_cmd::cargo::cargo_bin("nandarium"), folder.path(), 3, 1).unwrap();
    for race in races {
        println!("{} at depth {}: {:.0} against {:.0}", race.pattern, race.depth, race.ours, race.other);
        assert!(race.ratio() > 0.75, "{race:?}");
    }
}
