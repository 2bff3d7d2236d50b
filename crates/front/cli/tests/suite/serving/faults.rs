//! Killed servers, power cuts, flash that fails.

use super::{SMALL, Serving, fio, run, small, succeeds};
use crate::support::nandarium;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

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
        fio(
            &uri,
            &aux,
            &[
                "--rw=randwrite",
                "--bs=4k",
                "--iodepth=32",
                "--size=16M",
                "--verify=crc32c",
                "--do_verify=0",
                "--end_fsync=1",
            ],
        );
        // Other places are written when the server is killed.
        let mut job = Command::new("timeout");
        job.args([
            "60",
            "fio",
            "--name=other",
            "--ioengine=nbd",
            "--rw=randwrite",
            "--bs=4k",
            "--iodepth=32",
            "--offset=64M",
            "--size=48M",
            "--time_based",
            "--runtime=30",
        ]);
        let mut job = job.arg(format!("--uri={uri}")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let folder = serving.kill();
        job.wait().unwrap();
        let serving = begin(folder);
        fio(
            &serving.uri(),
            &aux,
            &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=16M", "--verify=crc32c", "--verify_only"],
        );
        serving.end();
    }
}

/// It was served as the version before, and nobody was told.
#[test]
fn damage_to_the_file_of_a_drive_is_told_and_reads_as_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drive").to_str().unwrap().to_owned();
    let begin = |folder: TempDir| Serving::begin_in(folder, &[&SMALL[..], &["--file", &file]].concat());
    let check = || nandarium(&["check", &file]).output().unwrap();
    let serving = begin(folder);
    let busy = String::from_utf8(check().stderr).unwrap();
    assert!(busy.contains("another program has this drive open"), "{busy}");
    succeeds(
        "nbdsh",
        &["-u", &serving.uri(), "-c", "for version in b'abcd': h.pwrite(bytes([version]) * 4096, 0); h.flush()"],
    );
    let folder = serving.kill();
    let sound = check();
    let said = String::from_utf8_lossy(&sound.stdout);
    assert!(sound.status.success() && said.contains("a good drive of 128MiB"), "{said}");
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(4096).position(|page| page == [b'd'; 4096]).unwrap();
    // A bit of what is said of the page, before it.
    bytes[at - 20] ^= 4;
    fs::write(&file, bytes).unwrap();
    let damaged = check();
    let said = String::from_utf8_lossy(&damaged.stderr);
    assert!(damaged.status.code() == Some(3) && said.contains("1 pages of flash are damaged"), "{said}");
    let serving = begin(folder);
    assert!(serving.ctl(&["smart"]).contains("\"file_pages_damaged\": 1"));
    let lost = run("nbdsh", &["-u", &serving.uri(), "-c", "h.pread(4096, 0)"]);
    assert!(!lost.status.success(), "the page reads as something else");
    succeeds(
        "nbdsh",
        &["-u", &serving.uri(), "-c", "h.pwrite(b'e' * 4096, 0)", "-c", "assert h.pread(4096, 0) == b'e' * 4096"],
    );
    serving.end();
}

fn stats(serving: &Serving) -> serde_json::Value {
    serde_json::from_str(&serving.ctl(&["stats"])).unwrap()
}

/// The socket for NBD clients was a broken pipe where its server had ended the connection before the command was whole.
#[test]
fn a_socket_for_nbd_clients_that_closes_at_once_is_told_from_the_control_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let greeter = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut client, b"NBDMAGIC").unwrap();
    });
    let wrong = nandarium(&["ctl", path.to_str().unwrap(), "smart"]).output().unwrap();
    greeter.join().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(2) && said.contains("the control socket is"), "{said}");
}

#[test]
fn commands_cut_power_and_let_things_fail() {
    let serving = Serving::begin(&small(&["--set", "buffer.kind=page-lru"]));
    assert!(serving.ctl(&["smart"]).contains("\"power_cuts\": 0"));
    assert_eq!(stats(&serving)["since_start"]["flash"]["programs"]["total"], 0);
    succeeds(
        "nbdsh",
        &[
            "-u",
            &serving.uri(),
            "-c",
            "h.pwrite(b'f' * 4096, 0)",
            "-c",
            "h.flush()",
            "-c",
            "h.pwrite(b'v' * 4096, 8192)",
        ],
    );
    assert!(stats(&serving)["since_power_on"]["counters"]["buffer.page_misses"].as_u64() > Some(0));
    assert!(serving.ctl(&["power-cut", "7"]).contains("\"power_cuts\": 1"));
    // What the server measured survives the cut; what the drive counts in its memory does not.
    let after = stats(&serving);
    assert!(
        after["since_start"]["power_cuts"] == 1 && after["since_start"]["requests"]["write"]["requests"] == 2,
        "{after}"
    );
    assert_eq!(after["since_power_on"]["counters"]["buffer.page_misses"], 0, "{after}");
    // What was flushed is there; what only the volatile buffer had is not.
    let look = "assert h.pread(4096, 0) == b'f' * 4096 and h.pread(4096, 8192) == b'\\0' * 4096";
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", look]);
    serving.ctl(&["fault", "channel", "0"]);
    let lost = run("nbdcopy", &[&serving.uri(), "null:"]);
    assert!(!lost.status.success(), "a channel is gone, and nobody noticed");
    for (command, wanted) in
        [("dance", "there are: smart"), ("fault die 999", "there is no die 999"), ("power-cut now", "a whole number")]
    {
        let socket = serving.path("s.ctl");
        let output = nandarium(&["ctl", socket.to_str().unwrap(), command]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{command}: {said}");
    }
    let wrong = nandarium(&["ctl", serving.path("s").to_str().unwrap(), "smart"]).output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        wrong.status.code() == Some(2) && said.contains("the control socket is") && said.contains("s.ctl"),
        "{said}"
    );
    serving.end();
}

#[test]
fn a_driver_of_the_host_over_a_drive_is_served_with_it() {
    for stack in ["hard", "hard-log-cache", "hard-shrd"] {
        let settings = [
            "--stack",
            stack,
            "--set",
            "drive.capacity=64MiB",
            "--set",
            "flash.channels=2",
            "--set",
            "flash.dies_per_channel=1",
            "--set",
            "flash.pages_per_block=32",
        ];
        let serving =
            Serving::begin(&[&["serve", "--quiet"][..], &settings, &["--set", "drive.over_provisioning=75%"]].concat());
        let aux = serving.path("aux");
        fs::create_dir(&aux).unwrap();
        let job = ["--rw=randwrite", "--bs=4k", "--iodepth=8", "--size=8M", "--verify=crc32c"];
        fio(&serving.uri(), &aux, &[&job[..], &["--do_verify=0", "--end_fsync=1"]].concat());
        serving.ctl(&["power-cut", "3"]);
        fio(&serving.uri(), &aux, &[&job[..], &["--verify_only"]].concat());
        let stats = serving.ctl(&["stats"]);
        assert!(
            stats.contains(if stack == "hard-shrd" { "\"ftl.remaps\"" } else { "\"remap.host_pages\"" }),
            "{stack}: {stats}"
        );
        serving.end();
    }
}

/// Orders under way when power went kept their places for ever.
#[test]
fn a_drive_that_lost_power_in_the_middle_of_things_serves_as_before() {
    let serving = Serving::begin(&small(&["--set", "buffer.kind=page-lru", "--time", "real"]));
    for seed in 0..20 {
        let many = "for at in range(200): h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(b'x' * 65536)), at * 65536)";
        let mut client = Command::new("timeout");
        client.args(["60", "nbdsh", "-u", &serving.uri(), "-c", many, "-c", "h.poll(100)"]);
        client.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stderr(Stdio::null());
        let mut client = client.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(150));
        serving.ctl(&["power-cut", &seed.to_string()]);
        client.wait().unwrap();
    }
    let aux = serving.path("aux");
    fs::create_dir(&aux).unwrap();
    fio(&serving.uri(), &aux, &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=4M", "--verify=crc32c"]);
    serving.end();
}

/// A client was told that there is no space.
#[test]
fn a_drive_whose_dies_are_dead_is_broken_and_not_full() {
    let serving = Serving::begin(&small(&["--set", "flash.channels=1", "--set", "flash.dies_per_channel=1"]));
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * 4096, 0)"]);
    serving.ctl(&["fault", "die", "0"]);
    for call in ["h.pread(4096, 0)", "h.pwrite(b'y' * 4096, 0)", "h.flush(); h.pwrite(b'y' * 4096, 4096); h.flush()"] {
        let script = format!(
            "try:\n    {call}\n    raise SystemExit('it worked')\nexcept nbd.Error as error:\n    assert error.errno \
             == 'EIO', error"
        );
        succeeds("nbdsh", &["-u", &serving.uri(), "-c", &script]);
    }
    // What it cannot flush any more it says when it ends.
    serving.kill();
}

/// Chips in lockstep were counted as one.
#[test]
fn counters_of_superpages_are_those_of_their_chips() {
    let serving = Serving::begin(&small(&["--stack", "superpage"]));
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pwrite(b'x' * (1 << 20), 0)", "-c", "h.flush()"]);
    let stats = stats(&serving);
    let programs = stats["since_start"]["flash"]["programs"]["total"].as_u64().unwrap();
    assert_eq!(programs * 4096, 1 << 20, "{stats}");
    serving.end();
}

#[test]
fn zeroes_are_zeros_whatever_is_on_either_side() {
    let serving = Serving::begin(&small(&[]));
    let script = "import random; random.seed(1)\n\
        known = bytearray(b'x' * (1 << 20)); h.pwrite(bytes(known), 0)\n\
        for turn in range(60):\n    \
            at = random.randrange(2048) * 512; length = min(random.randrange(1, 300) * 512, len(known) - at)\n    \
            h.zero(length, at, random.choice([0, nbd.CMD_FLAG_NO_HOLE, nbd.CMD_FLAG_FUA])); known[at:at + length] = \
            bytes(length)\n    \
            h.pwrite(b'y' * 512, at); known[at:at + 512] = b'y' * 512\n    \
            assert h.pread(len(known), 0) == known, turn\n\
        h.flush()";
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", script]);
    serving.end();
}

/// Clients may only read, and the file was written anew nevertheless.
#[test]
fn a_file_of_the_version_before_is_not_converted_to_be_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let before = [&b"nandrv03"[..], &[0; 8192]].concat();
    fs::write(&path, &before).unwrap();
    let file = path.to_str().unwrap();
    let refused = nandarium(&["serve", "--stack", "page", "--file", file, "--read-only"]).assert().code(2);
    let told = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(told.contains(&format!("run `nandarium serve --stack page --file {file}`")), "{told}");
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A drive was made in it, and served as one that holds nothing.
#[test]
fn a_file_that_does_not_exist_is_not_made_to_be_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let file = path.to_str().unwrap();
    let told = || {
        let refused = nandarium(&["serve", "--stack", "page", "--file", file, "--read-only"]).assert().code(2);
        String::from_utf8(refused.get_output().stderr.clone()).unwrap()
    };
    let absent = told();
    assert!(absent.contains("holds no drive") && absent.contains("to make the drive, run"), "{absent}");
    assert!(absent.contains("without --read-only"), "{absent}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::write(&path, "").unwrap();
    assert_eq!(told(), absent, "a file without a byte holds no drive either");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}
