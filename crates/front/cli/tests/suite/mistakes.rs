//! What a new user gets wrong: each mistake is named with its remedy before anything runs.

use crate::support::{nandarium, run_tiny, said, tiny_beside, trace};
use std::io::Write;

/// Runs a command that must fail with `code`, without a panic, naming all of `parts`.
fn refused(command: assert_cmd::Command, code: i32, parts: &[&str]) {
    let said = said(command);
    assert_eq!(said.code, code, "out: {}\nerr: {}", said.out, said.err);
    assert!(said.out.is_empty() || code == 5, "nothing is printed as data: {}", said.out);
    for part in parts {
        assert!(said.err.contains(part), "`{part}` is missing in: {}", said.err);
    }
    assert!(!said.err.contains("panicked") && !said.err.contains("RUST_BACKTRACE"), "{}", said.err);
}

#[test]
fn wrong_settings_are_named_with_the_remedy() {
    for (setting, parts) in [
        ("drive.capactiy=1GiB", &["--set", "unknown key", "did you mean `drive.capacity`"][..]),
        ("drive.capacity=8", &["--set", "drive.capacity", "has no unit", "8GiB"]),
        ("drive.capacity=-8GiB", &["negative"]),
        ("drive.capacity=4097B", &["no whole number of pages of 4KiB", "4KiB"]),
        ("drive.capacity=1B", &["below the smallest value"]),
        ("drive.over_provisioning=2000%", &["above the largest value, 1000%"]),
        ("drive.over_provisioning=1%", &["too little spare flash", "raise it to", "%"]),
        ("drive.over_provisioning=-5%", &["negative"]),
        ("drive.over_provisioning=7", &["no per cent sign", "7%"]),
        ("flash.read_time=-5us", &["negative", "5us"]),
        ("flash.read_time=25", &["has no unit"]),
        ("flash.bus_bandwidth=fast", &["400MB/s", "unlimited"]),
        ("flash.part=nope", &["none of", "fast-4k"]),
        ("flash.page_size=1000B", &["flash.page_size", "1KiB"]),
        ("ftl.gc.victim=gredy", &["none of", "greedy"]),
        ("workload.queue_depth=0", &["below the smallest value, 1"]),
        ("workload.queue_depth=many", &["not a whole number"]),
        ("workload.seed=1.5", &["not a whole number"]),
        ("workload.fit=squeeze", &["none of", "modulo"]),
        ("flash.fault.read=1%", &["engine.contents", "stamp"]),
        ("drive.capacity", &["key=value"]),
        ("workload.zipf_exponent=1", &["does not take", "workload.zipf_exponent"]),
        ("workload.order=sort", &["workload.order has no effect", "leave it out"]),
        ("workload.gap_limit=1h", &["workload.gap_limit has no effect", "leave it out"]),
        ("workload.gap_limit=1", &["workload.gap_limit", "has no unit"]),
        ("workload.odd_lines=20", &["workload.odd_lines has no effect", "leave it out"]),
    ] {
        refused(run_tiny(&["--workload", "uniform-write", "--set", setting]), 2, parts);
    }
}

#[test]
fn the_remedy_for_too_little_spare_works() {
    let said_first = said(run_tiny(&["--set", "drive.over_provisioning=1%"]));
    let remedy = said_first.err.split("raise it to \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let setting = format!("drive.over_provisioning={remedy}");
    let said_second = said(run_tiny(&["--set", &setting]));
    assert_eq!(said_second.code, 0, "{setting}: {}", said_second.err);
}

#[test]
fn unknown_names_are_met_with_the_nearest_one() {
    refused(nandarium(&["run", "--stack", "pgae"]), 2, &["did you mean `page`", "list stacks"]);
    refused(nandarium(&["run", "--workload", "unifrom-write"]), 2, &["did you mean `uniform-write`", "list workloads"]);
    refused(nandarium(&["compare", "page", "pgae"]), 2, &["did you mean `page`"]);
    refused(nandarium(&["compare", "page", "page+victim"]), 2, &["NAME+key=value"]);
    refused(nandarium(&["compare"]), 2, &["STACK"]);
    refused(nandarium(&["explain", "grbage"]), 2, &["nothing is called"]);
    refused(nandarium(&["run", "--sed", "7"]), 2, &["--seed"]);
    refused(nandarium(&["run", "--seed", "x"]), 2, &["--seed"]);
    refused(nandarium(&["runn"]), 2, &["run"]);
    refused(run_tiny(&["--set", "nope.x=1"]), 2, &["unknown key `nope.x`", "list keys"]);
    refused(run_tiny(&["--out", "/proc/nowhere"]), 2, &["--out /proc/nowhere", "can be written"]);
    refused(run_tiny(&["--out", "/proc"]), 2, &["--out /proc", "can be written"]); // it is there, and takes no file
    refused(nandarium(&["compare", "page", "page", "--workload", "-"]), 2, &["only once", "save the trace"]);
}

/// The advice was to pass the flag as a value, behind `--`.
#[test]
fn a_flag_that_is_the_name_of_a_key_is_met_with_the_key() {
    let told = "--scale is not a flag; drive.scale is a key: --set drive.scale=64";
    for line in [&["run", "--scale", "64"][..], &["life", "page", "--scale=64"], &["serve", "--scale", "64"]] {
        refused(nandarium(line), 2, &[told, "Usage: nandarium "]);
    }
    refused(nandarium(&["run", "--over-provisioning", "30%"]), 2, &["--set drive.over_provisioning=30%"]);
    for line in [&["run", "--scale", "64"][..], &["run", "--nothing", "64"], &["list", "--scale", "64"]] {
        let met = said(nandarium(line));
        assert!(met.code == 2 && !met.err.contains("as a value"), "{}", met.err);
    }
    // A command without --set has no keys to offer.
    assert!(!said(nandarium(&["list", "--scale", "64"])).err.contains("--set"));
}

/// A terminal was full of a name of 100 kB, three times over.
#[test]
fn a_command_line_of_100_kb_is_told_by_its_beginning() {
    let long = "x".repeat(100_000);
    let (flag, valued) = (format!("--{long}"), format!("--json={long}"));
    for line in [
        &[&*long][..],
        &[&flag],
        &["run", &flag],
        &["run", "--seed", &long],
        &["run", &valued],
        &["run", "page", "mixed", &long],
        &["trace", &long],
        &["list", &long],
        &["life", "--price", &long],
    ] {
        let met = said(nandarium(line));
        assert!(met.code == 2 && met.err.contains("xxx… (100"), "{}: {}", line[0], met.err.len());
        assert!(met.err.len() < 2_000, "{} {}", line[0], met.err.len());
    }
}

#[test]
fn files_that_are_not_there_or_not_traces_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    refused(run_tiny(&["--workload", "no/such.csv"]), 2, &["no/such.csv", "No such file"]);
    refused(run_tiny(&["--workload", folder.path().to_str().unwrap()]), 2, &["directory"]);
    refused(
        run_tiny(&["--workload", &file("letter.txt", b"Dear Sir or Madam,\n")]),
        2,
        &["no trace format fits", "--format"],
    );
    refused(run_tiny(&["--workload", &file("none.csv", b"")]), 2, &["empty"]);
    refused(run_tiny(&["--workload", &file("a.zip", b"PK\x03\x04rest")]), 2, &["zip", "unpack"]);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writeln!(packer, "time_ns,device,op,offset_bytes,length_bytes").unwrap();
    for time in 0..5000 {
        writeln!(packer, "{time},0,W,{},4096", time % 4096 * 4096).unwrap();
    }
    let packed = packer.finish().unwrap();
    let whole = file("whole.csv.gz", &packed);
    assert_eq!(said(run_tiny(&["--workload", &whole])).code, 0);
    let cut = file("cut.csv.gz", &packed[..packed.len() / 2]);
    refused(run_tiny(&["--workload", &cut]), 2, &["cut.csv.gz", "gzip", "fetch or pack it again"]);
    refused(run_tiny(&["--workload", &whole, "--format", "spc"]), 2, &["line 1", "spc"]);
    refused(run_tiny(&["--workload", &whole, "--format", "spcc"]), 2, &["no trace format is called \"spcc\"", "spc"]);
    refused(nandarium(&["trace", "info", &cut]), 2, &["fetch or pack it again"]);
    refused(nandarium(&["trace", "head", "no/such.csv"]), 2, &["No such file"]);
    refused(nandarium(&["check", &cut]), 2, &["fetch or pack it again"]);
}

/// What a later option wins over was taken whatever it said.
#[test]
fn a_wrong_value_is_refused_where_another_wins_over_it_too() {
    refused(run_tiny(&["--requests", "2000", "--set", "workload.requests=abc"]), 2, &["workload.requests", "abc"]);
}

#[test]
fn traces_that_do_not_fit_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let workload = |rows: &str| trace(folder.path(), rows);
    let beyond = workload("0,0,W,0,4096\n1,0,W,16777216,4096\n");
    refused(
        run_tiny(&["--workload", &beyond, "--set", "workload.fit=error"]),
        2,
        &["16781312", "16777216", "workload.fit=modulo"],
    );
    assert_eq!(said(run_tiny(&["--workload", &beyond, "--set", "workload.fit=modulo"])).code, 0);
    refused(run_tiny(&["--workload", &workload("0,0,F,0,1\n")]), 2, &["line 2, column 5", "0 for a flush", "--format"]);
    refused(run_tiny(&["--workload", &workload("0,0,W,0,0\n")]), 2, &["no requests", "2 rows left out"]);
    let back = workload("9,0,W,0,4096\n3,0,W,0,4096\n");
    refused(run_tiny(&["--workload", &back]), 2, &["line 3", "goes back by 6 ns", "workload.order=sort"]);
    let devices = workload("0,0,W,0,4096\n1,1,W,0,4096\n");
    refused(
        run_tiny(&["--workload", &devices, "--set", "workload.devices=error"]),
        2,
        &["2 devices", "workload.devices=0"],
    );
    refused(
        run_tiny(&["--workload", &back, "--set", "workload.read_share=5%"]),
        2,
        &["workload.read_share has no effect"],
    );
    let header = workload("");
    refused(run_tiny(&["--workload", &header, "--format", "nandarium"]), 2, &["no requests"]);
}

#[test]
fn empty_or_wrong_standard_input_is_refused() {
    for (input, part) in [("", "standard input"), ("hello\n", "standard input")] {
        let mut command = run_tiny(&["--workload", "-"]);
        command.write_stdin(input);
        refused(command, 2, &[part]);
    }
    let rows = "time_ns,device,op,offset_bytes,length_bytes\n0,0,W,0,4096\n1,0,W,99999997952,4096\n";
    let mut command = run_tiny(&["--workload", "-", "--set", "workload.fit=error"]);
    command.write_stdin(rows);
    refused(command, 2, &["standard input", "workload.fit="]);
    let mut command = run_tiny(&["--workload", "-", "--set", "drive.precondition=steady"]);
    command.write_stdin(rows);
    refused(command, 2, &["only once"]);
}

#[test]
fn a_stack_file_is_checked_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let path = path.to_str().unwrap();
    std::fs::write(
        path,
        "extends = \"page\"\n[drive]\ncapacity = 8\nover_provisoning = \"7%\"\n[ftl.gc]\nvictim = \"lifo\"\n",
    )
    .unwrap();
    let said_check = said(nandarium(&["check", path]));
    assert_eq!(said_check.code, 2);
    for part in ["line 3", "has no unit", "line 4", "over_provisioning", "line 6", "lifo", "3 problems"] {
        assert!(said_check.err.contains(part), "{part}: {}", said_check.err);
    }
    refused(nandarium(&["run", "--stack", path]), 2, &["mine.toml, line"]);
    std::fs::write(path, "extends = \"page\"\n[drive\n").unwrap();
    refused(nandarium(&["check", path]), 2, &["mine.toml, line 2"]);
    std::fs::write(path, "extends = \"page\"\n[drive]\ncapacity = \"1GiB\"\n").unwrap();
    assert_eq!(said(nandarium(&["check", path])).code, 0);
    assert_eq!(said(nandarium(&["run", "--stack", path, "--requests", "100"])).code, 0);
    std::fs::write(path, format!("extends = {path:?}\n")).unwrap();
    refused(nandarium(&["check", path]), 2, &["extends"]);
}

#[test]
fn a_drive_that_wears_out_says_so_and_shows_what_it_measured() {
    let wear = ["--workload", "uniform-write", "--set", "flash.endurance=6", "--requests", "1000000"];
    let said_run = said(run_tiny(&wear));
    assert_eq!(said_run.code, 5, "{}", said_run.err);
    assert!(said_run.err.contains("worn out after") && said_run.err.contains("flash.endurance"), "{}", said_run.err);
    assert!(said_run.out.contains("worn-out") && said_run.out.contains("bad blocks"), "{}", said_run.out);
    let early = ["--set", "flash.endurance=1", "--set", "drive.precondition=overwrite"];
    refused(run_tiny(&early), 5, &["worn out while it is preconditioned", "overwriting"]);
}

#[test]
fn a_workload_that_never_settles_is_not_steady() {
    // One pass of the trace writes a stretch in order, then at random: amplification keeps swinging.
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::new();
    let mut time = 0_u64;
    let mut push = |page: u64| {
        time += 1;
        rows.extend([time.to_string().as_str(), ",0,W,", (page * 4096).to_string().as_str(), ",4096\n"]);
    };
    for round in 0..4_u64 {
        (0..3072).for_each(&mut push);
        (0..3072_u64).for_each(|step| push((step * step * 2_654_435_761 + round * 97) % 4093));
    }
    let workload = trace(folder.path(), &rows);
    let arguments = ["--workload", &workload, "--set", "drive.precondition=steady"];
    refused(run_tiny(&arguments), 4, &["did not become steady within 25 rounds", "the last five were", "overwrite"]);
}

#[test]
fn small_slips_are_answered_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty.toml"), "# nothing\n").unwrap();
    assert!(said(nandarium(&["check", &path("empty.toml")])).out.contains("it sets nothing"));
    std::fs::write(path("a.spc"), "0,100,4096,w,-1.0\n").unwrap();
    let parts = ["a.spc: line 1, column 5 (Timestamp)", "\"-1.0\"", "a time of 0 or more"];
    refused(run_tiny(&["--workload", &path("a.spc")]), 2, &parts);
    std::fs::write(path("b.spc"), "0,100,4096,w,1.0\n").unwrap();
    refused(nandarium(&["trace", "convert", &path("b.spc"), "-o", &path("no/such")]), 2, &["could not be opened"]);
    if std::path::Path::new("/dev/full").exists() {
        refused(
            nandarium(&["trace", "convert", &path("b.spc"), "-o", "/dev/full"]),
            1,
            &["/dev/full could not be written"],
        );
    }
    for (word, meant) in [("znand", "znand-2k"), ("op", "over-provisioning")] {
        let told = said(nandarium(&["explain", word]));
        assert!(told.code == 0 && told.out.contains(&format!("did you mean `{meant}`")), "{}", told.out);
    }
    refused(run_tiny(&["--set", "flash.pages_per_block=32767"]), 2, &["smaller flash.pages_per_block"]);
}

#[test]
fn codes_of_nothing_and_searches_for_nothing_are_refused() {
    refused(nandarium(&["code", " "]), 2, &["no code is called", "rows of bits"]);
    refused(nandarium(&["code", "--search", "-n", "7", "--restarts", "0"]), 2, &["--restarts", "1.."]);
    refused(nandarium(&["code", "11111111111111111"]), 2, &["17 data blocks", "more than 16", "at most 16 digits"]);
}

/// It was read until memory was full.
#[test]
fn a_stack_that_extends_a_device_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = |stack: &str| {
        nandarium(&[
            "run",
            "--stack",
            stack,
            "--no-snapshots",
            "--requests",
            "100",
            "--workload",
            "uniform-write",
            "--set",
            "drive.capacity=1GiB",
        ])
    };
    refused(run(&file("zeros.toml", "extends = \"/dev/zero\"\n")), 2, &["/dev/zero", "not a regular file"]);
    refused(run("/dev/zero"), 2, &["/dev/zero", "longer than 1 MiB"]);
    let long = file("long.toml", &"# nothing\n".repeat(110_000));
    refused(run(&long), 2, &["long.toml", "longer than 1 MiB"]);
    refused(run(&file("more.toml", &format!("extends = \"{long}\"\n"))), 2, &["long.toml", "longer than 1 MiB"]);
    // What is given by hand may be a pipe.
    let mut piped = run("/dev/stdin");
    piped.write_stdin("extends = \"page\"\nflash.channels = 4\n");
    let said = said(piped);
    assert_eq!(said.code, 0, "{}", said.err);
}

/// One combination ended the program, and with it all others.
#[cfg(target_os = "linux")]
#[test]
fn a_combination_that_does_not_fit_into_memory_is_a_row_of_its_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text = "[set]\nworkload.requests = 500\n[axes]\ndrive.capacity = [\"1GiB\", \"1TiB\"]\n";
    std::fs::write(&plan, text).unwrap();
    let mut limited = assert_cmd::Command::new("bash");
    limited.args(["-c", "ulimit -v 3000000; exec \"$0\" \"$@\""]).arg(assert_cmd::cargo::cargo_bin("nandarium"));
    let output = limited.arg("sweep").arg(&plan).args(["--json", "--quiet"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["statuses"], serde_json::json!({ "complete": 1, "no-memory": 1 }));
}

/// Heaps of threads took what `ulimit -v` allows: the sweep was aborted, or no run of it was begun.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_is_not_aborted_however_little_memory_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text = "stacks = [\"page\", \"leaftl\"]\n[set]\nworkload.requests = 500\n[axes]\n\
                drive.capacity = [\"1GiB\", \"4GiB\"]\n";
    std::fs::write(&plan, text).unwrap();
    for (mib, complete) in [(50, 0), (55, 0), (60, 0), (110, 2), (150, 2), (300, 4)] {
        let mut limited = assert_cmd::Command::new("bash");
        let script = format!("ulimit -v $(({mib} * 1024)); exec \"$0\" \"$@\"");
        limited.args(["-c", &script]).arg(assert_cmd::cargo::cargo_bin("nandarium"));
        let output = limited.arg("sweep").arg(&plan).args(["--json", "--quiet"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(i32::from(complete == 0)), "{mib} MiB: {said}");
        assert_eq!(said.contains("`ulimit -v` allows"), complete == 0, "{mib} MiB: {said}");
        if complete > 0 {
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let done = document["statuses"]["complete"].as_u64().unwrap();
            assert!(done >= complete, "{mib} MiB: {}", document["statuses"]);
        }
    }
}

/// The program was aborted by a table that did not fit.
#[cfg(target_os = "linux")]
#[test]
fn a_drive_that_does_not_fit_into_memory_is_refused() {
    let program = assert_cmd::cargo::cargo_bin("nandarium");
    for command in [
        &["serve", "--socket", "/nonexistent/s"][..],
        &["run", "--no-snapshots", "--requests", "100", "--workload", "uniform-write"],
        &["compare", "page", "dftl"],
        &["torture", "--workload", "true", "--check", "true"],
    ] {
        let mut limited = assert_cmd::Command::new("bash");
        limited
            .args(["-c", "ulimit -v 1000000; exec \"$0\" \"$@\""])
            .arg(&program)
            .args(command)
            .args(["--set", "drive.capacity=1TiB"]);
        refused(
            limited,
            2,
            &["drive.capacity = 1TiB", "GiB of memory", "`ulimit -v` allows 977MiB", "lower drive.capacity"],
        );
    }
}

/// `run zipf` was an unexpected argument, though `compare` takes names without an option.
#[test]
fn bare_names_are_stacks_and_workloads() {
    let bare = said(run_tiny(&["zipf", "dftl", "--json", "--requests", "1000"]));
    let options = said(run_tiny(&["--workload", "zipf", "--stack", "dftl", "--json", "--requests", "1000"]));
    let hash =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["hash"].as_str().unwrap().to_owned();
    assert_eq!(hash(&bare.out), hash(&options.out), "{}", bare.err);
    let folder = tempfile::tempdir().unwrap();
    let file = trace(folder.path(), "0,0,W,0,4096\n1000,0,R,0,4096\n");
    assert_eq!(said(run_tiny(&[&file])).code, 0);
    refused(run_tiny(&["zpif"]), 2, &["`zpif` is not a stack", "did you mean `zipf`"]);
    refused(run_tiny(&["page", "dftl"]), 2, &["are 2 stacks", "nandarium compare page dftl"]);
    refused(run_tiny(&["zipf", "--workload", "oltp"]), 2, &["two workloads"]);
    refused(run_tiny(&["missing.csv"]), 2, &["missing.csv"]);
    refused(nandarium(&["compare", "zipf"]), 2, &["`zipf` is a workload", "name the stacks"]);
}

/// They told of JSON, and of a connection that was refused.
#[test]
fn files_of_another_kind_are_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, "<!doctype html>").unwrap();
    let page = page.to_str().unwrap();
    refused(nandarium(&["report", page]), 2, &["is not a result", "give the result.json"]);
    std::fs::write(folder.path().join("result.json"), "{}").unwrap();
    refused(nandarium(&["report", page]), 2, &["is not a result", "result.json, which is beside it"]);
    refused(nandarium(&["ctl", page, "info"]), 2, &["is not a socket", "give the control socket"]);
}

#[test]
fn the_nearest_right_thing_is_named() {
    refused(nandarium(&["run", "--drive", "samsung-990-pro"]), 2, &["did you mean `samsung-980-pro-like`"]);
    refused(nandarium(&["run", "--set", "capacity=4GiB"]), 2, &["did you mean `drive.capacity`"]);
    refused(nandarium(&["run", "--set", "drive.capacity=1PB"]), 2, &["1PB is above the largest value"]);
    refused(nandarium(&["life", "zipf", "--price", "1,100EUR"]), 2, &["--price", "190, 190EUR or $190"]);
    let priced = ["compare", "page", "--life", "--price", "page=1e3"];
    refused(nandarium(&priced), 2, &["--price page=1e3", "190, 190EUR or $190"]);
}

/// The last one won, and a run was not the one that was meant.
#[test]
fn a_key_given_twice_is_refused() {
    let twice = ["run", "--set", "ftl.kind=page", "--set", "ftl.kind=dftl"];
    refused(nandarium(&twice), 2, &["ftl.kind is given twice: page (--set) and dftl (--set)"]);
    let requests = ["run", "--requests", "5", "--set", "workload.requests=6"];
    refused(nandarium(&requests), 2, &["workload.requests is given twice", "--requests"]);
    refused(nandarium(&["serve", "--set", "ftl.kind=page", "--set", "ftl.kind=page"]), 2, &["given twice"]);
}

#[test]
fn a_stack_compared_with_itself_is_said_to_be_alike() {
    let settings = tiny_beside(&[]);
    let same = [&["compare", "page", "page", "--requests", "2000", "--no-snapshots"], &settings[..]].concat();
    let said = said(nandarium(&same));
    assert!(said.code == 0 && said.out.contains("`page` and `page` are alike"), "{}{}", said.out, said.err);
}

#[test]
fn a_page_is_drawn_from_a_result_that_is_named_itself() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    assert_eq!(said(run_tiny(&["--requests", "1000", "--out", out.to_str().unwrap()])).code, 0);
    std::fs::remove_file(out.join("report.html")).unwrap();
    let said = said(nandarium(&["report", out.join("result.json").to_str().unwrap()]));
    assert!(said.code == 0 && out.join("report.html").is_file(), "{}", said.err);
}

/// Policies in Python need an interpreter, which this program has not.
#[test]
fn policies_in_python_are_refused_with_the_program_that_takes_them() {
    for command in [&["run", "page"][..], &["list", "policies"], &["sweep", "plan.toml"]] {
        let mut command = nandarium(command);
        command.args(["--policies", "mine.py"]);
        refused(command, 2, &["--policies mine.py", "without Python", "pip install nandarium-*.whl"]);
    }
}
