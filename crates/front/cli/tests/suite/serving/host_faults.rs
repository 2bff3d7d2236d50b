//! Faults on command as a client sees them, and their log.

use super::{Serving, fio, run, small, succeeds};
use crate::support::nandarium;
use serde_json::Value;
use std::fs;

/// Runs Python with a connection `h`.
fn client(serving: &Serving, script: &str) {
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", script]);
}

/// The hits that `fault-log` tells.
fn hits(serving: &Serving) -> Vec<Value> {
    let answer: Value = serde_json::from_str(&serving.ctl(&["fault-log"])).unwrap();
    let entries = answer["entries"].as_array().unwrap().clone();
    entries.into_iter().filter(|entry| entry["given"].is_null()).collect()
}

/// A call that has to end with an error.
fn refused(call: &str, number: &str) -> String {
    format!(
        "try:\n    {call}\n    raise SystemExit('it worked')\nexcept nbd.Error as error:\n    assert error.errno == \
         '{number}', error"
    )
}

#[test]
fn a_client_is_refused_what_is_to_fail_and_nothing_else() {
    let serving = Serving::begin(&small(&[]));
    client(&serving, "h.pwrite(b'a' * 65536, 0)");
    for (fault, call, number) in [
        ("fail flushes count 1", "h.flush()", "EIO"),
        ("fail reads in 8KiB..12KiB count 1", "h.pread(65536, 0)", "EIO"),
        ("fail writes share 100% count 1", "h.pwrite(b'b' * 4096, 0)", "EIO"),
        ("fail writes in 512KiB..516KiB count 1", "h.pwrite(b'b' * (1 << 20), 0)", "EIO"),
        ("fail trims count 1", "h.trim(65536, 65536)", "EIO"),
        ("full count 1", "h.pwrite(b'b' * 4096, 4096)", "ENOSPC"),
        ("full in 512KiB..516KiB count 1", "h.pwrite(b'b' * (1 << 20), 0)", "ENOSPC"),
    ] {
        let before = hits(&serving).len();
        serving.ctl(&["fault", fault]);
        client(&serving, &refused(call, number));
        // Once is as often as was asked for.
        client(&serving, call);
        assert_eq!(hits(&serving).len(), before + 1, "{fault}");
    }
    assert!(serving.ctl(&["faults"]).contains("\"faults\": []"));
    serving.end();
}

#[test]
fn a_client_gets_wrong_data_and_the_log_says_where() {
    let serving = Serving::begin(&small(&[]));
    client(&serving, "for at in range(64): h.pwrite(bytes([at]) * 4096, at * 4096)");
    let entry = |fault: &str, script: &str| {
        serving.ctl(&["fault", fault]);
        client(&serving, script);
        hits(&serving).pop().unwrap_or_else(|| panic!("`{fault}` has hit nothing"))
    };
    let number = |entry: &Value, name: &str| entry[name].as_u64().unwrap_or_else(|| panic!("no {name} in {entry}"));
    let flip = entry("flip writes count 1", "h.pwrite(bytes(4096), 0)");
    let (at, bit) = (number(&flip, "offset"), number(&flip, "bit"));
    client(
        &serving,
        &format!("found = h.pread(4096, 0); assert found[{at}] == 1 << {bit} and sum(map(bool, found)) == 1"),
    );
    let wrong = entry("misdirect writes in 0..256KiB count 1", "h.pwrite(b'm' * 4096, 4096)");
    let to = number(&wrong, "to_offset");
    client(&serving, &format!("assert h.pread(4096, 4096)[0] == 1 and h.pread(4096, {to}) == b'm' * 4096"));
    let read = entry("misdirect reads in 64KiB..256KiB count 1", "assert h.pread(4096, 81920)[0] != 20");
    assert_ne!(number(&read, "to_offset"), 81920);
    let lost = entry("lose writes count 1", "h.pwrite(b'l' * 4096, 40960, nbd.CMD_FLAG_FUA); h.flush()");
    assert_eq!((number(&lost, "offset"), number(&lost, "length")), (40960, 4096));
    client(&serving, "assert h.pread(4096, 40960)[0] == 10");
    let stale = entry("stale count 1", "h.pwrite(b's' * 4096, 49152); assert h.pread(4096, 49152)[0] == 12");
    assert_eq!(number(&stale, "offset"), 49152);
    client(&serving, "assert h.pread(4096, 49152) == b's' * 4096");
    let seen = "r = h.pread(4096, 8192); assert sum(bin(one ^ 2).count('1') for one in r) == 1";
    assert_eq!(number(&entry("flip reads count 1", seen), "offset") / 4096, 2);
    client(&serving, "assert h.pread(4096, 8192) == bytes([2]) * 4096");
    let kept = "h.trim(4096, 12288); assert h.pread(4096, 12288) == bytes([3]) * 4096";
    assert_eq!(number(&entry("lose trims count 1", kept), "offset"), 12288);
    client(&serving, "h.trim(4096, 12288); assert h.pread(4096, 12288) == bytes(4096)");
    serving.end();
}

/// Requests that nothing else delays take the time of the fault.
#[test]
fn a_client_is_served_slowly_for_as_long_as_it_was_asked() {
    let serving = Serving::begin(&small(&[]));
    let latest = |script: &str| {
        client(&serving, script);
        let stats: Value = serde_json::from_str(&serving.ctl(&["stats"])).unwrap();
        stats["since_start"]["latency_ns"]["write"]["max"].as_u64().unwrap()
    };
    let quick = latest("h.pwrite(b'a' * 4096, 0); h.flush()");
    serving.ctl(&["fault", "slow x20 count 1"]);
    let slow = latest("h.pwrite(b'b' * 4096, 4096); h.flush()");
    assert!(slow >= 10 * quick, "{quick} ns and {slow} ns");
    assert_eq!(latest("h.pwrite(b'c' * 4096, 8192)"), slow, "once is as often as was asked for");
    serving.end();
}

/// fio checks what it has written, with all faults off and with lost writes.
#[test]
fn fio_finds_lost_writes_and_nothing_where_faults_are_off() {
    let serving = Serving::begin(&small(&[]));
    let aux = serving.path("aux");
    fs::create_dir(&aux).unwrap();
    let job = ["--rw=randwrite", "--bs=4k", "--iodepth=16", "--size=4M", "--verify=crc32c", "--verify_fatal=1"];
    serving.ctl(&["fault", "off"]);
    fio(&serving.uri(), &aux, &job);
    assert!(hits(&serving).is_empty());
    serving.ctl(&["fault", "lose writes share 2%"]);
    let uri = format!("--uri={}", serving.uri());
    let aux = format!("--aux-path={}", aux.display());
    let found = run("fio", &[&["--name=job", "--ioengine=nbd", &uri, &aux, "--offset=8M"][..], &job].concat());
    assert!(!found.status.success(), "{}", String::from_utf8_lossy(&found.stdout));
    assert!(!hits(&serving).is_empty());
    serving.end();
}

#[test]
fn a_client_waits_for_the_end_of_a_stall_at_the_pace_of_the_clock() {
    let serving = Serving::begin(&small(&["--time", "real"]));
    client(&serving, "h.pwrite(b'a' * 4096, 0)");
    serving.ctl(&["fault", "stall 4s reads count 1"]);
    let script = "import time; begun = time.monotonic(); h.pwrite(b'b' * 4096, 4096)\n\
        written = time.monotonic() - begun; h.pread(4096, 0); read = time.monotonic() - begun\n\
        assert 0.1 < read < 30 and written < read, (written, read)";
    client(&serving, script);
    let stats: Value = serde_json::from_str(&serving.ctl(&["stats"])).unwrap();
    let longest = stats["since_start"]["latency_ns"]["read"]["max"].as_u64().unwrap();
    assert!((100_000_000..=4_000_000_000).contains(&longest), "{longest}");
    serving.end();
}

#[test]
fn unflushed_sectors_that_a_cut_has_damaged_fail_until_they_are_written() {
    let serving = Serving::begin(&small(&["--fault", "cut-unreadable share 50%"]));
    client(&serving, "h.pwrite(b'f' * 65536, 0); h.flush(); h.pwrite(b'v' * 65536, 65536)");
    serving.ctl(&["power-cut", "5"]);
    client(&serving, "assert h.pread(65536, 0) == b'f' * 65536");
    client(&serving, &refused("h.pread(65536, 65536)", "EIO"));
    let damaged: u64 = hits(&serving).iter().map(|entry| entry["length"].as_u64().unwrap()).sum();
    assert!((16384..49152).contains(&damaged), "{damaged}");
    client(&serving, "h.pwrite(b'w' * 65536, 65536); assert h.pread(65536, 65536) == b'w' * 65536");
    serving.end();
}

/// Pages that were flushed as `f` and then written as `v`, behind a power cut with a fault.
#[test]
fn a_client_finds_what_a_cut_has_made_of_sectors() {
    let volatile = ["--set", "buffer.kind=page-lru", "--set", "buffer.nonvolatile=false"];
    for (fault, flush, may_be) in [
        ("cut-zeros share 50%", "", "bytes(512)"),
        ("cut-garbage share 50%", "", "found"),
        ("cut-old share 50% unit 4KiB", "", "b'f' * 512"),
        ("cut-old share 50% flushed", "h.flush()", "b'f' * 512"),
        ("lose flushes", "h.flush()", "b'f' * 512"),
    ] {
        // Without it the drive loses nothing by itself; with it, it does what a flush should prevent.
        let cache = if fault == "lose flushes" { &volatile[..] } else { &[] };
        let serving = Serving::begin(&small(cache));
        client(&serving, "h.pwrite(b'f' * 131072, 0); h.flush()");
        serving.ctl(&["fault", fault]);
        client(&serving, &format!("h.pwrite(b'v' * 65536, 65536); {flush}"));
        serving.ctl(&["power-cut", "5"]);
        let script = format!(
            "assert h.pread(65536, 0) == b'f' * 65536\n\
             read = h.pread(65536, 65536)\n\
             sectors = [read[at:at + 512] for at in range(0, 65536, 512)]\n\
             damaged = [found for found in sectors if found != b'v' * 512]\n\
             assert damaged and all(found == {may_be} for found in damaged), damaged[:2]"
        );
        client(&serving, &script);
        assert!(!hits(&serving).is_empty(), "{fault} is in no log");
        serving.end();
    }
}

/// A database on the drive, page by page: its own check finds a lost write, and nothing without faults.
#[test]
fn sqlite_finds_a_write_that_was_lost() {
    for (fault, is_whole) in [("off", true), ("lose writes in 64KiB..1MiB", false)] {
        let serving = Serving::begin(&small(&[]));
        let script = format!(
            "import os, sqlite3, tempfile\n\
             file = os.path.join(tempfile.mkdtemp(), 'd')\n\
             base = sqlite3.connect(file)\n\
             base.execute('create table t(a integer primary key, b text)')\n\
             base.executemany('insert into t(b) values (?)', [(str(n) * 100,) for n in range(2000)])\n\
             base.commit(); base.close()\n\
             data = open(file, 'rb').read()\n\
             for at in range(0, len(data), 4096): h.pwrite(data[at:at + 4096], at)\n\
             h.flush()\n\
             read = b''.join(h.pread(4096, at) for at in range(0, len(data), 4096))\n\
             open(file, 'wb').write(read)\n\
             try: whole = sqlite3.connect(file).execute('pragma integrity_check').fetchall() == [('ok',)]\n\
             except sqlite3.DatabaseError: whole = False\n\
             os.remove(file)\n\
             assert whole == {}",
            if is_whole { "True" } else { "False" }
        );
        serving.ctl(&["fault", fault]);
        client(&serving, &script);
        assert_eq!(hits(&serving).is_empty(), is_whole, "{fault}");
        serving.end();
    }
}

#[test]
fn a_client_finds_erase_blocks_as_before_the_last_writes() {
    let serving = Serving::begin(&small(&["--fault", "cut-old share 50% block"]));
    client(&serving, "h.pwrite(b'f' * (1 << 20), 0); h.flush(); h.pwrite(b'v' * (1 << 20), 0)");
    serving.ctl(&["power-cut", "5"]);
    let hits = hits(&serving);
    let mut wanted = vec![b'v'; 1 << 20];
    for entry in &hits {
        let [offset, length] = ["offset", "length"].map(|name| entry[name].as_u64().unwrap() as usize);
        wanted[offset..offset + length].fill(b'f');
    }
    let runs: Vec<String> =
        wanted.chunk_by(|one, next| one == next).map(|run| format!("b'{}' * {}", run[0] as char, run.len())).collect();
    assert!(runs.len() > 1 && hits.iter().all(|entry| entry["kind"] == "cut-old"), "{hits:?}");
    client(&serving, &format!("assert h.pread(1 << 20, 0) == {}", runs.join(" + ")));
    serving.end();
}

#[test]
fn the_log_of_faults_and_the_record_of_requests_tell_of_them_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let [log, trace] = ["log", "trace.csv"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let options = ["--fault", "lose writes count 1", "--fault-log", &log, "--record", &trace];
    let serving = Serving::begin(&[&small(&[])[..], &options].concat());
    client(&serving, "h.pwrite(b'a' * 4096, 8192); h.pwrite(b'b' * 4096, 0)");
    serving.ctl(&["fault", "die 0"]);
    serving.ctl(&["power-cut", "3"]);
    serving.end();
    let lines: Vec<Value> =
        fs::read_to_string(&log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["given"], "lose writes count 1".replace(" writes", ""));
    assert_eq!((&lines[1]["kind"], &lines[1]["offset"], lines.len()), (&"lose".into(), &8192.into(), 3));
    assert_eq!((&lines[2]["kind"], &lines[2]["given"]), (&"die".into(), &"die 0".into()));
    let record = fs::read_to_string(&trace).unwrap();
    let told = |text: &str| record.lines().position(|line| line.starts_with("# ") && line.contains(text));
    let places =
        ["\"given\":\"lose count 1\"", "\"given\":null,\"op\":\"write\"", "fault die 0", "power-cut 3"].map(told);
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{record}");
    let info = nandarium(&["trace", "info", &trace, "--json"]).output().unwrap();
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["records"], 2, "{info}");
}

#[test]
fn a_fault_that_cannot_be_is_refused_before_anything_is_served() {
    for (fault, wanted) in [("lose time", "`time` is not one of"), ("die 999", "there is no die 999")] {
        let refused = nandarium(&[&small(&[])[..], &["--fault", fault]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(wanted), "{said}");
    }
}

/// The last flush was answered and lost with the others, and the file had nothing.
#[test]
fn a_server_that_ends_keeps_its_data_though_its_flushes_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drive").to_str().unwrap().to_owned();
    let options = ["--set", "buffer.kind=page-lru", "--set", "buffer.nonvolatile=false"];
    let drive = [&small(&options)[..], &["--file", &file]].concat();
    let serving = Serving::begin(&[&drive[..], &["--fault", "lose flushes", "--fault", "stall 1h"]].concat());
    let serving_uri = serving.uri();
    serving.ctl(&["fault", "fail flushes"]);
    succeeds("nbdsh", &["-u", &serving_uri, "-c", "h.pwrite(b'k' * 4096, 0)"]);
    serving.end();
    let serving = Serving::begin(&drive);
    client(&serving, "assert h.pread(4096, 0) == b'k' * 4096");
    serving.end();
}

/// The second start emptied the files of the server that ran, and failed then.
#[test]
fn a_second_start_leaves_the_files_of_the_running_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [log, trace] = ["log", "trace.csv"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let options = ["--fault", "lose writes count 1", "--fault-log", &log, "--record", &trace];
    let arguments = [&small(&[])[..], &options].concat();
    let serving = Serving::begin(&arguments);
    client(&serving, "h.pwrite(b'a' * 4096, 8192)");
    let socket = serving.path("s");
    let second = nandarium(&[&arguments[..], &["--socket", socket.to_str().unwrap()]].concat()).output().unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("another server listens there"), "{second:?}");
    client(&serving, "h.pwrite(b'a' * 4096, 8192)");
    serving.end();
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 2);
    let record = fs::read_to_string(&trace).unwrap();
    assert!(record.starts_with("time_ns,") && record.matches(",W,8192,").count() == 2, "{record}");
}

#[test]
fn one_file_for_the_log_and_the_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["f", "./f"].map(|name| format!("{}/{name}", folder.path().display()));
    let refused = nandarium(&[&small(&[])[..], &["--fault-log", &one, "--record", &other]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("the same file"), "{said}");
}

/// The client waited for the stall in vain, and the log told of an `off` that nobody gave.
#[test]
fn a_server_that_ends_answers_the_requests_that_a_stall_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").to_str().unwrap().to_owned();
    let options = ["--time", "real", "--fault", "stall 1h reads", "--fault-log", &log];
    let mut serving = Serving::begin(&[&small(&[])[..], &options].concat());
    let uri = serving.uri();
    let script = "h.pwrite(b'a' * 4096, 0); assert h.pread(4096, 0) == b'a' * 4096";
    let waiting = std::thread::spawn(move || succeeds("nbdsh", &["-u", &uri, "-c", script]));
    let hits = || serde_json::from_str::<Value>(&serving.ctl(&["faults"])).unwrap()["faults"][0]["hits"].as_u64();
    while hits() != Some(1) {
        assert!(!waiting.is_finished(), "nothing was kept");
    }
    assert_eq!(serving.terminate(), Some(0));
    waiting.join().unwrap();
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.lines().count() == 1 && !log.contains("\"off\""), "{log}");
}

#[test]
fn a_command_of_two_lines_is_refused() {
    let serving = Serving::begin(&small(&[]));
    let socket = serving.path("s.ctl");
    let refused = nandarium(&["ctl", socket.to_str().unwrap(), "fault", "fail\nshut-down"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("more than one line"), "{said}");
    assert!(serving.ctl(&["faults"]).contains("[]"));
    serving.end();
}

#[test]
fn a_client_waits_for_a_die_that_stalls_and_the_log_tells_that_it_was_given() {
    let serving = Serving::begin(&small(&[]));
    client(&serving, "for at in range(64): h.pwrite(bytes([at]) * 4096, at * 4096)\nh.flush()");
    serving.ctl(&["fault", "slow", "x50", "die", "0"]);
    client(&serving, "for at in range(64): assert h.pread(4096, at * 4096)[0] == at");
    let faults: Value = serde_json::from_str(&serving.ctl(&["faults"])).unwrap();
    let hits = faults["faults"][0]["hits"].as_u64().unwrap();
    assert!((1..64).contains(&hits), "a part of the reads needs the die: {faults}");
    assert!(serving.ctl(&["fault-log"]).contains("slow x50 die 0"));
    serving.end();
}
