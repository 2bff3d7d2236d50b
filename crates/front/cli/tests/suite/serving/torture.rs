//! A workload that is recorded once, and checked after cuts.

use crate::support::{beside, nandarium};
use std::path::Path;
use std::time::{Duration, Instant};

const WORKLOAD: &str = "fio --name=t --ioengine=nbd --uri=\"$NANDARIUM_URI\" --rw=write --bs=4k --size=64k --fsync=4 \
    --output=/dev/null && echo all of it";

fn torture(more: &[&str]) -> (i32, String, String) {
    let small = beside(&["drive.capacity=64MiB", "flash.channels=1", "flash.pages_per_block=64"], more);
    let output = nandarium(&[&["torture", "--quiet"], &small[..], more].concat()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn soon(is_so: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_check_that_is_content_holds_and_one_that_is_not_is_told_with_what_was_lost() {
    // Sixteen writes with a flush after each four: what the workload said, it said at the end, after the last of them.
    let sound = "test ! -s $NANDARIUM_SAID || nbdinfo --size \"$NANDARIUM_URI\" > /dev/null";
    let (code, stdout, stderr) = torture(&["--workload", WORKLOAD, "--check", sound, "--states", "100"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("holds") && stdout.contains("100 drawn"), "{stdout}");
    // The drive as a file: its first page is zeros where the first write is lost.
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let first = "test $(head -c 4096 $NANDARIUM_IMAGE | tr -d '\\0' | wc -c) -gt 0 || { echo it is gone; exit 1; }";
    let options = ["--workload", WORKLOAD, "--check", first, "--image", "--json", "--out", out];
    let (code, stdout, stderr) = torture(&options);
    assert_eq!(code, 3, "{stdout}{stderr}");
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let failure = &document["failure"];
    assert!(failure["why"].as_str().unwrap().starts_with("it is gone"), "{document:#}");
    assert!(
        failure["lost"].as_array().unwrap().len() <= 1,
        "the first write alone, or none that was asked for: {document:#}"
    );
    for name in ["torture.json", "before.img", "after.img"] {
        assert!(Path::new(out).join(name).is_file(), "{name}");
    }
    let number = failure["state"].to_string();
    let kept = Path::new(out).join("recording");
    // As the message says, with all options of before: the recording lies in the folder of --out.
    let tests = folder.path().join("torture.xml");
    let [kept, tests] = [&kept, &tests].map(|path| path.to_str().unwrap());
    let again = ["--json", "--out", out, "--replay", &number, "--recording", kept, "--junit", tests];
    let (code, again, _) = torture(&[&["--workload", "exit 1"], &options[2..5], &again].concat());
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!((code, &again["failure"]["lost"]), (3, &failure["lost"]), "its number finds it again");
    let tests = std::fs::read_to_string(tests).unwrap();
    assert!(tests.contains("failures=\"1\"") && tests.contains("<failure message=\"it is gone"), "{tests}");
}

/// The recording of a check that holds was not kept, so that no other machine could make a part of the checks.
#[test]
fn shards_make_each_check_of_a_recording_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let (code, stdout, stderr) = torture(&["--workload", WORKLOAD, "--check", "true", "--states", "1", "--out", out]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let kept = folder.path().join("recording");
    let made = folder.path().join("made");
    let check = format!("echo >> {}", made.display());
    let run = |more: &[&str]| {
        let fixed = ["--workload", "exit 1", "--check", &check, "--states", "60", "--json"];
        let (code, stdout, stderr) = torture(&[&fixed[..], &["--recording", kept.to_str().unwrap()], more].concat());
        assert_eq!(code, 0, "{stdout}{stderr}");
        let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        document["checked"].as_u64().unwrap()
    };
    let checked: u64 = ["1/3", "3/3", "2/3"].map(|part| run(&["--shard", part])).iter().sum();
    let all = std::fs::read_to_string(&made).unwrap().len() as u64;
    assert_eq!((checked, all), (run(&[]), checked + 1), "and the drive as the workload left it");
    let (code, _, stderr) = torture(&["--workload", WORKLOAD, "--check", "true", "--shard", "1/3"]);
    assert!(code == 2 && stderr.contains("--recording"), "{stderr}");
}

#[test]
fn the_example_of_the_page_holds_and_without_its_flush_is_caught() {
    let page = include_str!("../../../../../../docs/guides/power-loss.md");
    let example = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has one");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.py");
    let run = |text: &str, states: &str| {
        std::fs::write(&file, text).unwrap();
        let command = |verb: &str| format!("/usr/bin/python3 {} {verb}", file.display());
        torture(&["--workload", &command("append"), "--check", &command("verify"), "--states", states])
    };
    let (code, stdout, stderr) = run(example, "60");
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, stdout, stderr) = run(&example.replace("drive.flush()", "pass"), "60");
    assert_eq!(code, 3, "{stdout}{stderr}");
    assert!(stdout.contains("records were acknowledged, and") && stderr.is_empty(), "{stdout}{stderr}");
}

#[test]
fn what_hangs_is_ended_and_what_does_not_begin_is_told() {
    let begun = Instant::now();
    let hangs = "test -s $NANDARIUM_SAID || { setsid sleep 1000 & sleep 1000; }";
    let (code, stdout, _) = torture(&["--workload", WORKLOAD, "--check", hangs, "--time-limit", "4", "--states", "50"]);
    assert_eq!(code, 3, "{stdout}");
    assert!(stdout.contains("has not ended within 4 s"), "{stdout}");
    let (code, _, stderr) = torture(&["--workload", WORKLOAD, "--check", "sleep 1000", "--time-limit", "4"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("without any cut: it has not ended within 4 s"), "{stderr}");
    assert!(begun.elapsed() < Duration::from_secs(60), "what it left in the background does not hold it up");
    let flushes = "/usr/bin/python3 -c 'import nbd, os; h = nbd.NBD(); h.connect_uri(os.environ[\"NANDARIUM_URI\"]); \
                   h.flush()'";
    for (workload, wanted) in
        [("exit 4", "exit status: 4"), ("true", "has written nothing"), (flushes, "has written nothing")]
    {
        let (code, _, stderr) = torture(&["--workload", workload, "--check", "true"]);
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.contains(wanted), "{stderr}");
    }
    let (code, _, stderr) = torture(&["--workload", WORKLOAD, "--check", "chek"]);
    assert_eq!(code, 1, "a check that is not there has found nothing: {stderr}");
    assert!(stderr.contains("without any cut") && stderr.contains("127"), "{stderr}");
}

#[test]
fn a_killed_torture_leaves_no_process_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (files, told) = (folder.path().join("files"), folder.path().join("told"));
    std::fs::create_dir(&files).unwrap();
    let check = format!("echo $$ > {0}.part; mv {0}.part {0}; sleep 1000", told.display());
    let mut program = std::process::Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
    program.args(["torture", "--quiet", "--set", "drive.capacity=64MiB", "--set", "flash.channels=1"]);
    program.args(["--set", "flash.pages_per_block=64", "--workload", WORKLOAD, "--check", &check]);
    let mut program = program.env("TMPDIR", &files).spawn().unwrap();
    soon(&|| told.is_file());
    let check = std::fs::read_to_string(&told).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", check.trim()));
    // Whoever adopts it may let it lie dead.
    soon(&|| state().is_err() || state().is_ok_and(|state| state.contains(") Z ")));
    soon(&|| std::fs::read_dir(&files).unwrap().next().is_none());
}

/// It failed after --prepare had run, and left two mounts behind for each try.
#[test]
fn a_mount_without_fusermount3_is_refused_before_anything_runs() {
    if Path::new("/usr/sbin/fusermount3").exists() {
        return; // programs of administrators are found without the search path
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["nbdfuse", "nbdkit"] {
        std::os::unix::fs::symlink("/bin/true", folder.path().join(name)).unwrap();
    }
    let ran = folder.path().join("ran");
    let prepare = format!("echo yes > {}", ran.display());
    let mut program = nandarium(&["torture", "--quiet", "--mount", "none", "--prepare", &prepare]);
    program.args(["--workload", "true", "--check", "true"]).env("PATH", folder.path());
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--mount needs fusermount3 (package fuse3)\n"), "{said}");
    assert!(!ran.exists(), "nothing has run");
}

/// Other bytes were put in their place, and long lines were cut, so that a check looked for another promise.
#[test]
fn promises_that_cannot_be_kept_as_they_are_printed_are_refused() {
    for (print, wanted) in [
        ("echo one; printf 'k\\377y\\n'", "line 3, which is not UTF-8"),
        ("echo one; echo two; head -c 70000 /dev/zero | tr '\\0' x", "more than 64 KiB in line 4"),
    ] {
        let (code, _, stderr) = torture(&["--workload", &format!("{WORKLOAD}; {print}"), "--check", "true"]);
        assert!(code == 1 && stderr.contains(wanted), "{code}: {stderr}");
    }
}

/// Whether file systems can be mounted here; without root a test of them says that it was left out.
fn may_mount() -> bool {
    let root = std::process::Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0");
    let may = root && Path::new("/dev/fuse").exists() && Path::new("/dev/loop-control").exists();
    if !may {
        eprintln!("skipped: mounting takes root, /dev/fuse and /dev/loop-control");
    }
    may
}

/// A program of `samples/torture`, as a command.
fn sample(name: &str, arguments: &str) -> String {
    format!("/usr/bin/python3 {}/../../../samples/torture/{name} {arguments}", env!("CARGO_MANIFEST_DIR"))
}

fn mounted(prepare: &str, workload: &str, check: &str, states: &str) -> (i32, String, String) {
    let options = ["--mount", "ext4", "--atomic", "4KiB", "--prepare", prepare, "--states", states];
    torture(&[&options[..], &["--workload", workload, "--check", check]].concat())
}

/// What the manual says of each setting: the rollback journal is deleted at a commit, and `FULL` does not sync the
/// folder, so that the journal may be back after a cut.
#[test]
fn sqlite_keeps_what_its_manual_says_and_loses_what_it_says() {
    if !may_mount() {
        return;
    }
    let check = sample("sqlite.py", "check");
    let run = |journal: &str, synchronous: &str, states: &str| {
        let prepare = sample("sqlite.py", &format!("prepare {journal}"));
        mounted(&prepare, &sample("sqlite.py", &format!("commit {journal} {synchronous}")), &check, states)
    };
    for (journal, synchronous) in [("WAL", "FULL"), ("DELETE", "EXTRA")] {
        let (code, stdout, stderr) = run(journal, synchronous, "120");
        assert_eq!(code, 0, "{journal}, {synchronous}: {stdout}{stderr}");
    }
    let (code, stdout, stderr) = run("DELETE", "FULL", "1000");
    assert_eq!(code, 3, "{stdout}{stderr}");
    assert!(stdout.contains("commits were answered, and"), "the newest is lost, and nothing is damaged: {stdout}");
    let (code, stdout, stderr) = run("DELETE", "OFF", "1000");
    assert_eq!(code, 3, "{stdout}{stderr}");
}

#[test]
fn a_file_replaced_with_care_is_there_and_one_without_is_not() {
    if !may_mount() {
        return;
    }
    let check = sample("replace.py", "check");
    let (code, stdout, stderr) = mounted(":", &sample("replace.py", "write"), &check, "120");
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, stdout, stderr) = mounted(":", &sample("replace.py", "careless"), &check, "1000");
    assert_eq!(code, 3, "{stdout}{stderr}");
    assert!(stdout.contains("was there, and now it is") || stdout.contains("is there in part"), "{stdout}");
}

/// A file system without barriers answers a sync before the drive has flushed.
#[test]
fn files_that_were_synced_survive_on_ext4_and_without_barriers_they_do_not() {
    if !may_mount() {
        return;
    }
    let run = |mount: &str, which: &str, states: &str| {
        let [workload, check] = ["run", "check"].map(|what| sample("file_operations.py", &format!("{what} {which}")));
        let options = ["--mount", mount, "--atomic", "4KiB", "--states", states];
        torture(&[&options[..], &["--workload", &workload, "--check", &check]].concat())
    };
    let (code, stdout, stderr) = run("ext4", "7 40", "150");
    assert_eq!(code, 0, "{stdout}{stderr}");
    for which in ["7 40", "all 2/5"] {
        let (code, stdout, stderr) = run("ext4:barrier=0", which, "400");
        assert!(code == 3 && (stdout.contains("possible") || stdout.contains("synced")), "{stdout}{stderr}");
    }
}

/// The model alone, on files that a cut cannot leave.
#[test]
fn the_model_of_file_operations_refuses_files_that_no_cut_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let files = folder.path().join("files");
    std::fs::create_dir_all(files.join("sub")).unwrap();
    let posix = |command: &str| {
        let program = sample("file_operations.py", command);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &program]).env("NANDARIUM_MOUNT", &files).env("NANDARIUM_SAID", &said);
        shell.output().unwrap()
    };
    // A file that lasts, and a rename that no sync follows: later operations find no file of the old name.
    let renamed = "all 2/111";
    let ran = posix(&format!("run {renamed}"));
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("rename a b"), "{ran:?}");
    std::fs::write(&said, &ran.stdout).unwrap();
    let checked = || posix(&format!("check {renamed}"));
    assert!(checked().status.success(), "{:?}", checked());
    let [a, b] = ["a", "b"].map(|name| files.join(name));
    let contents = std::fs::read(&b).unwrap();
    for (name, damage) in [("zeros", vec![0; 4096]), ("half", contents[..2048].to_vec()), ("other", vec![b'x'; 4096])] {
        std::fs::write(&b, damage).unwrap();
        assert!(!checked().status.success(), "{name}");
    }
    std::fs::remove_file(&b).unwrap();
    let gone = checked();
    assert!(String::from_utf8_lossy(&gone.stderr).contains("neither of its names"), "{gone:?}");
    // The rename itself was not synced.
    std::fs::write(&a, contents).unwrap();
    assert!(checked().status.success(), "{:?}", checked());
}

#[test]
fn a_drive_is_a_plain_file_and_qcow2_lives_on_it() {
    if !may_mount() {
        return;
    }
    let write = "dd if=/dev/urandom of=$NANDARIUM_DISK bs=3000 count=50 conv=notrunc,fsync status=none; echo yes";
    let zeros = "test ! -s $NANDARIUM_SAID || test $(head -c 150000 $NANDARIUM_DISK | tr -d '\\0' | wc -c) -gt 140000";
    let options = ["--mount", "none", "--workload", write, "--check", zeros, "--states", "100"];
    let (code, stdout, stderr) = torture(&options);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let page = include_str!("../../../../../../docs/guides/power-loss.md");
    let command = page.split("```sh\n").find(|block| block.contains("qemu-img create")).expect("the page has it");
    let command = command.split("```").next().unwrap().replace("\\\n", " ");
    let program = assert_cmd::cargo::cargo_bin("nandarium");
    let command = command.replacen("nandarium", &format!("{} ", program.display()), 1);
    let small = "--quiet --states 60 --set flash.channels=1 --set flash.pages_per_block=64";
    let ended = std::process::Command::new("sh").arg("-c").arg(format!("{} {small}", command.trim())).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn a_killed_torture_leaves_no_mount() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    // A daemon holds the folder as well.
    let workload = format!(
        "cd $NANDARIUM_MOUNT; setsid sleep 1234 & echo $NANDARIUM_MOUNT $! > {0}.part; mv {0}.part {0}; sleep 1000",
        told.display()
    );
    let mut program = std::process::Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
    program.args([
        "torture",
        "--quiet",
        "--set",
        "drive.capacity=64MiB",
        "--set",
        "flash.channels=1",
        "--mount",
        "ext4",
    ]);
    program.args(["--set", "flash.pages_per_block=64", "--workload", &workload, "--check", "true"]);
    let mut program = program.spawn().unwrap();
    soon(&|| told.is_file());
    let told = std::fs::read_to_string(&told).unwrap();
    let (mount, daemon) = told.trim().split_once(' ').unwrap();
    let (mount, daemon) = (Path::new(mount), format!("/proc/{daemon}/stat"));
    let mounts = || std::fs::read_to_string("/proc/mounts").unwrap();
    let of_it = mount.parent().unwrap().to_str().unwrap();
    assert!(mounts().contains(of_it));
    program.kill().unwrap();
    program.wait().unwrap();
    let is_over = || std::fs::read_to_string(&daemon).map_or(true, |stat| stat.contains(") Z "));
    soon(&|| !mounts().contains(of_it) && !mount.exists() && is_over());
}

/// Checks of which three run at once and do not end, with what is told of them, and the folder that holds their files.
fn held_up(more: &[&str], folder: &Path) -> (std::process::Child, std::path::PathBuf) {
    let (files, told) = (folder.join("files"), folder.join("told"));
    std::fs::create_dir(&files).unwrap();
    let count = format!("flock {0} sh -c 'echo >> {0}; wc -l < {0}'", told.display());
    let check = format!("test $({count}) -lt 8 || sleep 1000");
    let mut program = std::process::Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
    program.args(["torture", "--quiet", "--jobs", "3", "--set", "drive.capacity=64MiB", "--set", "flash.channels=1"]);
    program.args(["--set", "flash.pages_per_block=64", "--check", &check]).args(more);
    program.stdout(std::process::Stdio::piped()).env("TMPDIR", &files);
    let program = program.spawn().unwrap();
    soon(&|| std::fs::read_to_string(&told).is_ok_and(|told| told.lines().count() == 10));
    (program, files)
}

#[test]
fn ctrl_c_ends_checks_that_run_side_by_side_and_what_was_checked_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (program, files) = held_up(&["--workload", WORKLOAD], folder.path());
    let begun = Instant::now();
    std::process::Command::new("kill").args(["-INT", &program.id().to_string()]).status().unwrap();
    let ended = program.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "it waits for checks: {:?}", begun.elapsed());
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("and then it was interrupted") && said.contains(" 6 checked"), "{said}");
    soon(&|| std::fs::read_dir(&files).unwrap().next().is_none());
}

#[test]
fn a_killed_torture_leaves_no_mount_of_checks_that_ran_side_by_side() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workload = "echo hello > $NANDARIUM_MOUNT/x; sync; echo more > $NANDARIUM_MOUNT/y; sync";
    let (mut program, files) = held_up(&["--mount", "ext4", "--workload", workload], folder.path());
    let mounts = || std::fs::read_to_string("/proc/mounts").unwrap();
    let of_it = files.to_str().unwrap();
    assert_eq!(mounts().lines().filter(|mount| mount.contains(of_it)).count(), 3, "{}", mounts());
    program.kill().unwrap();
    program.wait().unwrap();
    soon(&|| !mounts().contains(of_it) && std::fs::read_dir(&files).unwrap().next().is_none());
}

#[test]
fn a_lie_is_noticed_and_a_die_that_goes_is_not_missed_under_parity() {
    let page = include_str!("../../../../../../docs/guides/power-loss.md");
    let example = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has one");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.py");
    std::fs::write(&file, example).unwrap();
    let command = |verb: &str| format!("/usr/bin/python3 {} {verb}", file.display());
    let (append, verify, out) = (command("append"), command("verify"), folder.path().join("out"));
    let log = ["--workload", &append, "--check", &verify, "--states", "200"];
    let lie = [&log[..], &["--lie", "ignore-flush", "--out", out.to_str().unwrap()]].concat();
    let (code, stdout, stderr) = torture(&lie);
    assert_eq!(code, 3, "{stdout}{stderr}");
    let html = std::fs::read_to_string(out.join("torture.html")).unwrap();
    assert!(html.contains("power goes") && html.contains("lost") && html.contains("are there"), "{html}");
    let dies =
        ["--set", "flash.channels=4", "--set", "flash.dies_per_channel=1", "--set", "drive.over_provisioning=200%"];
    for (drive, wanted) in [("raid5-ppc", 0), ("page", 3)] {
        let cuts = ["--drive", drive, "--cuts", "drive", "--fault", "die 1", "--states", "40"];
        let (code, stdout, stderr) = torture(&[&log[..4], &cuts, &dies].concat());
        assert_eq!(code, wanted, "{drive}: {stdout}{stderr}");
    }
}

#[test]
fn what_does_not_go_together_is_told() {
    let both = ["--workload", "true", "--check", "true"];
    for (options, wanted) in [
        (&["--lie", "ignore-flush", "--cuts", "drive"][..], "leave out --cuts drive"),
        (&["--fault", "die 1"], "add --cuts drive"),
        (&["--fault", "dye 1", "--cuts", "drive"], "not a kind of fault"),
        (&["--mount", "ext5"], "none of ext4"),
        (&["--atomic", "1000B"], "not a power of two"),
        (&["--atomic", "4KiB", "--cuts", "drive"], "set drive.atomic"),
        (&["--set", "drive.atomic=256KiB", "--set", "ftl.kind=fast"], "set buffer.nonvolatile to true"),
        (&["--set", "engine.contents=none"], "leave it out"),
    ] {
        let (code, _, stderr) = torture(&[&both[..], options].concat());
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(wanted), "{options:?}: {stderr}");
    }
}

/// Whatever was in the environment of the user: only the drive is written to.
#[test]
fn a_file_named_in_the_environment_is_nobodys_drive() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious.img");
    std::fs::write(&precious, vec![7; 1 << 20]).unwrap();
    let mut program = nandarium(&["torture", "--quiet", "--mount", "ext4", "--states", "2", "--check", "true"]);
    program.args(["--workload", "echo hello > $NANDARIUM_MOUNT/x"]).env("NANDARIUM_IMAGE", &precious);
    assert!(program.output().unwrap().status.success());
    assert!(std::fs::read(&precious).unwrap() == vec![7; 1 << 20]);
}

#[test]
fn a_folder_that_shells_would_take_otherwise_is_refused_and_one_with_a_space_is_not() {
    let folder = tempfile::tempdir().unwrap();
    for (name, wanted) in [("sp ace", 0), ("it's", 2), ("a$b", 2)] {
        let files = folder.path().join(name);
        std::fs::create_dir(&files).unwrap();
        let mut program =
            nandarium(&["torture", "--quiet", "--workload", WORKLOAD, "--check", "true", "--states", "5"]);
        let output = program.env("TMPDIR", &files).output().unwrap();
        assert_eq!(output.status.code(), Some(wanted), "{name}: {output:?}");
        soon(&|| std::fs::read_dir(&files).unwrap().next().is_none());
    }
}
