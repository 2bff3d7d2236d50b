//! `trace info`, and traces whose clock was set.

use crate::support::{Said, json, nandarium, run_tiny, said, trace};
use serde_json::{Value, json};

/// Two requests, then two after 285 years.
const CLOCK_SET: &str =
    "0,0,W,0,4096\n1000,0,W,4096,4096\n9000000000000000000,0,W,0,4096\n9000000000000001000,0,R,0,4096\n";

#[test]
fn a_trace_whose_clock_was_set_is_refused_with_the_remedy_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), CLOCK_SET);
    let refused = said(run_tiny(&["--workload", &path]));
    assert!(refused.code == 2 && refused.err.contains("workload.gap_limit"), "{}: {}", refused.code, refused.err);
    let result = json(&["--workload", &path, "--set", "workload.gap_limit=1s"]);
    let notes = result["notes"].to_string();
    assert!(notes.contains("1 gap longer than 1s was cut to 1s, 285.19 years in all (workload.gap_limit)."), "{notes}");
}

#[test]
fn trace_info_ends_with_a_command_that_runs_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), CLOCK_SET);
    let plain = said(nandarium(&["trace", "info", &path]));
    assert!(plain.out.ends_with(&format!("\nrun it      nandarium run --workload {path}\n")), "{}", plain.out);
    for part in
        ["pauses      longest 285.19 years", "1 longer than a minute", "peaks       2 requests", "rewrites    33 %"]
    {
        assert!(plain.out.contains(part), "{part} in {}", plain.out);
    }
    let options = ["--format", "nandarium", "--order", "clamp", "--gap-limit", "1h"];
    let cut = said(nandarium(&[&["trace", "info", &path], &options[..]].concat()));
    let command = format!(
        "run it      nandarium run --workload {path} --format nandarium --set workload.order=clamp --set \
         workload.gap_limit=3600000000000ns\n"
    );
    assert!(cut.out.ends_with(&command) && cut.out.contains("gaps        1 gap longer than 1 h"), "{}", cut.out);
    let line = cut.out.lines().last().and_then(|line| line.split_once(" run ")).unwrap().1;
    let again = said(run_tiny(&line.split(' ').collect::<Vec<_>>()));
    assert_eq!(again.code, 0, "{}", again.err);
}

/// Comments alone had the advice to name columns, blank lines had a file of "", and a format made both a trace of none.
#[test]
fn a_file_of_comments_or_blank_lines_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.csv");
    for (contents, format) in [("# a\n\n# b\n", ""), ("\n\n\n", ""), ("\n\n", "msr"), ("", "msr")] {
        std::fs::write(&path, contents).unwrap();
        let given = ["--format", format];
        let format = if format.is_empty() { &[] } else { &given[..] };
        let refused = said(nandarium(&[&["trace", "info", path.to_str().unwrap()], format].concat()));
        assert_eq!(refused.code, 2, "{contents:?}: {}", refused.err);
        assert!(refused.err.contains("it has only comments and blank lines"), "{contents:?}: {}", refused.err);
    }
}

/// Odd lines stood in a note alone, and the line of what was left out had zeros.
#[test]
fn odd_lines_count_among_what_trace_info_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let good = (0..20).map(|at| format!("{at},0,R,0,4096\n")).collect::<Vec<_>>().concat();
    let path = trace(folder.path(), &format!("{good}nothing\n20,0,R,0,4096\n"));
    let plain = said(nandarium(&["trace", "info", &path]));
    assert!(plain.out.contains("0 of size 0, 1 odd lines, 0 others"), "{} {}", plain.out, plain.err);
}

#[test]
fn trace_info_as_json_has_null_where_nothing_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), "0,0,R,0,4096\n");
    let text = said(nandarium(&["trace", "info", &path, "--json"])).out;
    let document: Value = serde_json::from_str(&text).unwrap();
    for key in ["peak_requests", "peak_bytes", "longest_gap", "rewrite_share", "inter_arrival_ns_mean"] {
        assert_eq!(document.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(document["ops"][0]["recorded_latency_ns"], Value::Null);
    assert_eq!(document["statistics"]["gaps_cut"], json!(0));
    assert_eq!(document["command"], json!(format!("nandarium run --workload {path}")));
}

#[test]
fn a_file_name_that_a_shell_would_split_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let plain = trace(folder.path(), "0,0,R,0,4096\n5,0,R,0,4096\n");
    let odd = folder.path().join("it's a $trace.nandarium.csv");
    std::fs::copy(plain, &odd).unwrap();
    let out = said(nandarium(&["trace", "info", odd.to_str().unwrap()])).out;
    assert!(out.ends_with("/it'\\''s a $trace.nandarium.csv'\n"), "{out}");
}

/// Two devices, the second written at an odd address beyond the default drive.
const TWO_DEVICES: &str = "0,0,W,0,4096\n1000,1,W,8900001280,4096\n2000,1,R,8900001280,4096\n";

#[test]
fn a_trace_of_several_devices_beyond_the_drive_runs_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), TWO_DEVICES);
    let noted = |more: &[&str]| {
        let plain = ["run", "--workload", &path, "--json", "--no-snapshots", "--set", "drive.precondition=none"];
        let said = said(nandarium(&[&plain[..], more].concat()));
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let grown = noted(&[]);
    for part in [
        "The 2 devices of the trace lie side by side in one space of 8.29GiB",
        "drive.capacity = 8512MiB was chosen, in place of 8GiB",
    ] {
        assert!(grown.contains(part), "{part} in {grown}");
    }
    let packed = noted(&["--set", "drive.capacity=1GiB"]);
    assert!(packed.contains("is moved to free places on it, in regions of 1 MiB"), "{packed}");
    for key in ["workload.fit", "workload.devices"] {
        let refused = said(nandarium(&["run", "--workload", &path, "--set", &format!("{key}=error")]));
        assert!(refused.code == 2 && refused.err.contains(key), "{key}: {} {}", refused.code, refused.err);
    }
}

const KV_LOG: &str = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n\
                      1.0,Write,65536,Tier-2,a,Prefill\n2.0,Write,65536,Tier-2,a,Prefill\n\
                      3.0,Read,65536,Tier-0,b,Decode\n";

#[test]
fn an_allocator_places_keys_in_trace_info_and_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kv.csv");
    std::fs::write(&path, KV_LOG).unwrap();
    let path = path.to_str().unwrap();
    let told = said(nandarium(&["trace", "info", path, "--allocator", "log"])).out;
    for part in [
        "format mlperf-kv-cache",
        "note        Keys of Tier-2 got addresses (workload.allocator = log): 1 objects",
        "64KiB of it free",
        " --set workload.allocator=log\n",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let notes = json(&["--workload", path, "--set", "workload.allocator=log"])["notes"].to_string();
    assert!(notes.contains("64KiB of it free") && notes.contains("rows of tiers that are not a drive"), "{notes}");
    let document: Value =
        serde_json::from_str(&said(nandarium(&["trace", "info", path, "--allocator", "by-tier", "--json"])).out)
            .unwrap();
    assert_eq!(document["notes"].as_array().map(Vec::len), Some(2));
    let refused = said(nandarium(&["trace", "info", path, "--allocator", "best-fit"]));
    assert!(refused.code == 2 && refused.err.contains("write first-fit, log, by-tier"), "{}", refused.err);
    let spc = trace(folder.path(), "0,0,R,0,4096\n");
    let refused = said(nandarium(&["trace", "info", &spc, "--allocator", "log"]));
    assert!(refused.code == 2 && refused.err.contains("leave it out"), "{} {}", refused.code, refused.err);
}

/// A trace of SPC rows, one of them odd.
fn odd_trace(folder: &std::path::Path) -> String {
    let mut rows: Vec<String> = (0..50).map(|row| format!("0,{},4096,w,{row}.5\n", row * 8)).collect();
    rows.insert(25, "garbage line here\n".to_owned());
    let path = folder.join("odd.csv");
    std::fs::write(&path, rows.concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// One line of no importance ended a whole trace.
#[test]
fn an_odd_line_is_left_out_of_a_trace_and_told_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = odd_trace(folder.path());
    let note = "1 odd line was left out: line 26, column 1 (ASU): found \"garbage line here\"";
    let info = said(nandarium(&["trace", "info", &path]));
    assert!(info.out.contains("50 requests in format spc") && info.out.contains(note), "{} {}", info.out, info.err);
    let document: Value = serde_json::from_str(&said(nandarium(&["trace", "info", &path, "--json"])).out).unwrap();
    assert_eq!(document["statistics"]["dropped_odd"], json!(1));
    assert_eq!(document["odd_line"]["place"], json!("line 26"));
    let converted = said(nandarium(&["trace", "convert", &path]));
    assert!(
        converted.out.lines().count() == 51 && converted.err.contains(&format!("note: {note}")),
        "{}",
        converted.err
    );
    let result = json(&["--workload", &path]);
    assert!(result["notes"].to_string().contains("1 odd line was left out: line 26"), "{}", result["notes"]);
}

#[test]
fn no_odd_line_is_left_out_where_the_user_wants_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = odd_trace(folder.path());
    for arguments in [
        vec!["trace", "info", &path, "--odd-lines", "0"],
        vec!["run", "--workload", &path, "--set", "workload.odd_lines=0"],
        vec!["run", "--workload", &path, "--set", "workload.odd_lines=0%"],
    ] {
        let refused = said(nandarium(&arguments));
        assert!(refused.code == 2 && refused.err.contains("line 26, column 1 (ASU)"), "{arguments:?}: {}", refused.err);
    }
    let more = said(nandarium(&["trace", "info", &path, "--odd-lines", "5%"]));
    assert!(more.out.ends_with(" --set workload.odd_lines=5%\n"), "{}", more.out);
    for setting in ["workload.odd_lines=many", "workload.odd_lines=120%"] {
        let refused = said(nandarium(&["run", "--workload", &path, "--set", setting]));
        let told = setting.replace('=', " = ");
        assert!(refused.code == 2 && refused.err.contains(&told) && refused.err.contains("5%"), "{}", refused.err);
    }
}

/// Rates and write amplification were told of a hundredth of the load, without a word.
#[test]
fn a_run_doubts_a_trace_that_lost_a_tenth_of_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let row =
        |row: usize| format!(" fio-1 [000] ..... 5.{row:06}: block_rq_issue: 8,0 WS 0 () {} + 8 [fio]\n", row * 8);
    let mut rows: Vec<String> = (0..50).map(row).collect();
    rows.insert(26, "CPU:2 [LOST 4096 EVENTS]\n".to_owned());
    let path = folder.path().join("lost.txt");
    std::fs::write(&path, rows.concat()).unwrap();
    let path = path.to_str().unwrap();
    let info = said(nandarium(&["trace", "info", path]));
    assert!(info.out.contains("lost 4096 of 4146 events") && info.out.contains("after request 26"), "{}", info.out);
    let result = json(&["--workload", path]);
    let first = result["notes"][0].as_str().unwrap();
    assert!(first.starts_with("Doubt: the tracer says that it lost 4096 of 4146 events"), "{first}");
}

/// Two volumes of 70,000 requests over the same 70 s.
fn two_volumes(folder: &std::path::Path) -> String {
    let row = |host: &str, row: u64| {
        format!("{},{host},0,Write,{},4096,100\n", 128_166_372_003_061_629 + row * 10_000, row % 512 * 4096)
    };
    let rows = ["a", "b"].iter().flat_map(|host| (0..70_000).map(move |index| row(host, index)));
    let path = folder.join("two.csv");
    std::fs::write(&path, rows.collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn two_long_volumes_in_one_file_are_merged_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = two_volumes(folder.path());
    let info = said(nandarium(&["trace", "info", &path]));
    for part in ["140,000 requests", "duration    1.17 min", "2,000 requests in the second", "69999 requests moved"] {
        assert!(info.out.contains(part), "{part} in {} {}", info.out, info.err);
    }
    let out = folder.path().join("out.nandarium.csv");
    let convert = said(nandarium(&["trace", "convert", &path, "--out", out.to_str().unwrap()]));
    assert!(convert.code == 0 && convert.err.contains("All of the trace was sorted"), "{}", convert.err);
    let written = std::fs::read_to_string(&out).unwrap();
    assert!(written.lines().count() == 140_001 && written.contains("\n1000000,65536,W,4096,4096,0,10000\n"));
    let printed = said(nandarium(&["trace", "convert", &path]));
    assert!(printed.out == written, "standard output has the same rows");
}

#[test]
fn standard_input_that_must_be_sorted_is_told_the_order_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(two_volumes(folder.path())).unwrap();
    let run = |more: &[&str]| {
        let arguments = [&["--workload", "-", "--format", "msr", "--set", "drive.precondition=none"], more].concat();
        let mut command = run_tiny(&arguments);
        command.write_stdin(bytes.clone());
        said(command)
    };
    let refused = run(&["--requests", "140000"]);
    assert!(refused.code == 2 && refused.err.contains("--set workload.order=whole"), "{}", refused.err);
    let sorted = run(&["--requests", "1000", "--set", "workload.order=whole"]);
    assert!(sorted.code == 0 && sorted.out.contains("All of the trace was sorted"), "{} {}", sorted.out, sorted.err);
}

/// Only a script helped.
#[test]
fn a_table_of_any_form_runs_by_its_columns_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.csv");
    let rows = (0..2000).map(|row| format!("{};w;{};8\n", row * 1000, row % 4096 * 8));
    std::fs::write(&path, rows.collect::<String>()).unwrap();
    let path = path.to_str().unwrap();
    let refused = said(nandarium(&["trace", "info", path]));
    let spec = "time=1:us,op=2,offset=3:sectors,size=4:sectors";
    assert!(refused.code == 2 && refused.err.contains(spec), "{}", refused.err);
    let told = said(nandarium(&["trace", "info", path, "--columns", spec])).out;
    assert!(told.contains("2,000 requests in format columns"), "{told}");
    let command = format!("run it      nandarium run --workload {path} --set workload.columns={spec}\n");
    assert!(told.ends_with(&command), "{told}");
    let set = format!("workload.columns={spec}");
    let result = json(&["--workload", path, "--set", &set]);
    assert_eq!(result["config"]["workload.columns"], json!(spec), "{}", result["config"]);
    let stack = folder.path().join("stack.toml");
    std::fs::write(&stack, format!("[workload]\ncolumns = \"{spec}\"\n")).unwrap();
    let by_file = said(run_tiny(&["--stack", stack.to_str().unwrap(), "--workload", path]));
    assert_eq!(by_file.code, 0, "{}", by_file.err);
    refused_columns(path);
}

fn refused_columns(path: &str) {
    let refused = said(run_tiny(&["--workload", path, "--set", "workload.columns=time=1,op=2,offset=lba,size=4"]));
    assert!(refused.code == 2 && refused.err.contains("no column is called lba"), "{}", refused.err);
}

/// Rows of the format `tencent` of one volume, from `first` on, a second apart.
fn tencent(first: u64, rows: u64, volume: u64) -> String {
    let rows = (first..first + rows).map(|row| format!("{row},{},8,1,{volume}\n", row % 4096 * 8));
    rows.collect::<Vec<_>>().concat()
}

/// A tar archive with the fields that every reader needs.
fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, contents) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", contents.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..262].copy_from_slice(b"ustar");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(contents.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn fed(mut command: assert_cmd::Command, bytes: &[u8]) -> Said {
    command.write_stdin(bytes);
    said(command)
}

/// 300,000 rows are more than what is read at a time.
#[test]
fn a_tar_archive_of_several_files_is_no_trace_where_only_its_beginning_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let rows = tencent(1, 300_000, 7);
    let bytes = tar(&[("a.csv", &rows), ("b.csv", "1,0,8,1,7\n")]);
    let run = ["--workload", "-", "--format", "tencent", "--requests", "1000", "--set", "workload.order=clamp"];
    let streamed = fed(run_tiny(&run), &bytes);
    let said_of_it = streamed.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said_of_it.contains("and so is whether the archive has other files."), "{said_of_it}");
    let short = tar(&[("a.csv", &tencent(1, 9000, 7)), ("b.csv", "1,0,8,1,7\n")]);
    let streamed = fed(run_tiny(&run), &short);
    assert!(streamed.code == 2 && streamed.err.contains("2 files (a.csv, b.csv)"), "{}", streamed.err);
    let path = folder.path().join("set.tar");
    std::fs::write(&path, &bytes).unwrap();
    let path = path.to_str().unwrap();
    let of_file = run_tiny(&["--workload", path, "--format", "tencent", "--requests", "1000"]);
    for refused in [
        said(of_file),
        said(nandarium(&["trace", "head", path, "--format", "tencent"])),
        said(nandarium(&["trace", "info", path, "--format", "tencent"])),
        fed(nandarium(&["trace", "head", "-", "--format", "tencent"]), &bytes),
    ] {
        assert!(refused.code == 2 && refused.err.contains("2 files (a.csv, b.csv)"), "{}", refused.err);
    }
    let chosen = ["trace", "info", path, "--format", "tencent", "--member", "b.csv"];
    let told = said(nandarium(&chosen)).out;
    assert!(told.contains(&format!("note        The trace was read from an archive: {path}:b.csv.")), "{told}");
}

#[test]
fn what_nobody_read_of_standard_input_is_told_to_be_unknown() {
    let rows = tencent(1, 300_000, 7);
    let run = |requests: &str| {
        let run = ["--workload", "-", "--format", "tencent", "--requests", requests, "--set", "workload.order=clamp"];
        fed(run_tiny(&run), rows.as_bytes())
    };
    let unknown = "standard input was not read to its end. The rest behind line";
    let begun = run("1000").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(begun.contains(unknown) && begun.contains("other volumes."), "{begun}");
    let few = tencent(1, 100, 7);
    let whole = ["--workload", "-", "--format", "tencent", "--requests", "100"];
    let whole = fed(run_tiny(&whole), few.as_bytes());
    assert!(whole.code == 0 && !whole.out.contains("not read to its end"), "{}{}", whole.out, whole.err);
    let head = fed(nandarium(&["trace", "head", "-", "--format", "tencent"]), rows.as_bytes());
    assert!(head.err.contains(unknown) && head.code == 0, "{}", head.err);
}

/// Only `run` said so.
#[test]
fn requests_that_moved_in_time_are_told_by_trace_info_and_convert_as_by_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), "0,0,W,0,4096\n9000,0,W,4096,4096\n1000,0,R,0,4096\n9500,0,R,0,4096\n");
    for (order, sentence) in [
        ("clamp", "1 requests were earlier than the one before and arrive together with it (order = clamp)."),
        ("sort", "1 requests stood too late in the trace and were moved to their place in time (order = sort)."),
    ] {
        let told = said(nandarium(&["trace", "info", &path, "--order", order])).out;
        assert!(told.contains(&format!("note        {sentence}")), "{told}");
        let convert = said(nandarium(&["trace", "convert", &path, "--order", order])).err;
        assert!(convert.contains(&format!("note: {sentence}")), "{convert}");
        let set = format!("workload.order={order}");
        let run = json(&["--workload", &path, "--set", &set])["notes"].to_string();
        assert!(run.contains(sentence), "{run}");
    }
}

/// It read back as a whole trace, and the file that was there before was lost.
#[test]
fn a_conversion_that_fails_leaves_nothing_behind_and_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..5000).map(|row| format!("{},0,W,0,4096\n", row * 1000)).collect::<Vec<_>>().concat();
    let path = trace(folder.path(), &format!("{rows}1,1,no,request,1\n"));
    let out = folder.path().join("out.csv");
    let convert = |more: &[&str]| {
        let arguments = [&["trace", "convert", &path, "--out", out.to_str().unwrap()], more].concat();
        said(nandarium(&arguments))
    };
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let before = names();
    assert_eq!(convert(&["--odd-lines", "0"]).code, 2);
    assert!(!out.exists() && names() == before);
    std::fs::write(&out, "kept").unwrap();
    assert_eq!(convert(&["--odd-lines", "0"]).code, 2);
    assert!(std::fs::read_to_string(&out).unwrap() == "kept" && names() == before + 1);
    assert_eq!(convert(&[]).code, 0);
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 5001);
    assert_eq!(names(), before + 1);
}

/// The file has the rights that any new file has, and a link goes on pointing to it.
#[cfg(unix)]
#[test]
fn a_converted_trace_has_the_rights_of_any_file_and_replaces_no_link() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = trace(folder.path(), "0,0,W,0,4096\n");
    let [plain, out, link] = ["plain", "out.csv", "link.csv"].map(|name| folder.path().join(name));
    std::fs::write(&plain, "").unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    let convert = |out: &std::path::Path| said(nandarium(&["trace", "convert", &path, "--out", out.to_str().unwrap()]));
    assert_eq!(convert(&out).code, 0);
    assert_eq!(mode(&out), mode(&plain));
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&out, &link).unwrap();
    assert_eq!(convert(&link).code, 0);
    assert!(link.is_symlink() && mode(&out) & 0o777 == 0o640);
}
