//! Syncs beside the flushes of a drive.

use std::fmt::Write as _;
use torture::fsyncs::{Event, Fsyncs, FsyncsError, Line, Named, Outcome, SyncKind, read_line};

/// A record of a drive from second 100 to 101 that answered flushes at the given microseconds.
fn record(flushes: &[u32]) -> String {
    let mut text =
        "time_ns,device,op,offset_bytes,length_bytes,fua\n# 0 clock 100.000000000\n0,0,W,0,4096,0\n".to_owned();
    for time in flushes {
        write!(text, "{},0,F,0,0,0\n# {} done F\n", time * 1000 - 500, time * 1000).unwrap();
    }
    text + "# 1000000000 end\n"
}

/// Calls of process 7, each with its microsecond.
fn log(calls: &[(u32, &str)]) -> String {
    calls.iter().fold(String::new(), |text, (time, call)| text + &format!("7  100.{time:06} {call}\n"))
}

fn joined(flushes: &[u32], calls: &[(u32, &str)]) -> Fsyncs {
    Fsyncs::join(record(flushes).as_bytes(), log(calls).as_bytes(), Some("/m")).unwrap()
}

/// Found calls and names, as short texts.
fn told(found: &Fsyncs) -> Vec<String> {
    let calls = found.unflushed.iter().map(|call| format!("{} {}", call.kind.name(), call.path));
    let files = found.files.iter().map(|name| format!("file {}", name.path));
    let names = found.names.iter().map(|name| format!("{} {}", name.named.name(), name.path));
    calls.chain(files).chain(names).collect()
}

const OPEN: &str = r#"openat(AT_FDCWD</m>, "a", O_RDWR|O_CREAT, 0666) = 3</m/a> <0.000010>"#;
const WRITE: &str = r#"write(3</m/a>, "x, ) = 1"..., 100) = 100 <0.000010>"#;
const FOLDER: &str = "fsync(5</m>) = 0 <0.000100>";

#[test]
fn lines_are_read_as_strace_writes_them() {
    let outcome = |value, file, took| Outcome { value, file, took };
    let call = |name, arguments, outcome| Event::Call { name, arguments, outcome };
    for (text, process, time, event) in [
        (
            "1465  1795838854.281068 fsync(3</m/a b>) = 0 <0.000370>",
            1465,
            1_795_838_854_281_068_000,
            call("fsync", "3</m/a b>", outcome(Some(0), None, Some(370_000))),
        ),
        (
            r#"[pid    12] 1.5 openat(AT_FDCWD</m>, "a\")<(\\", O_RDWR) = 3</m/a\76>(deleted)"#,
            12,
            1_500_000_000,
            call("openat", r#"AT_FDCWD</m>, "a\")<(\\", O_RDWR"#, outcome(Some(3), Some(r"/m/a\76"), None)),
        ),
        (
            "1.000001 fsync(9)        = -1 EBADF (Bad file descriptor)",
            0,
            1_000_001_000,
            call("fsync", "9", outcome(None, None, None)),
        ),
        (
            "4 1.0 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</m/a>, 0) = 0x7f00 <0.1>",
            4,
            1_000_000_000,
            call(
                "mmap",
                "NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</m/a>, 0",
                outcome(Some(0x7f00), None, Some(100_000_000)),
            ),
        ),
        (
            "4 1.0 ioctl(3</m/a>, TCGETS <unfinished ...>",
            4,
            1_000_000_000,
            Event::Begun { name: "ioctl", arguments: "3</m/a>, TCGETS" },
        ),
        (
            "4 1.0 <... ioctl resumed>, {a=[1<<3, (2)]}) = -1 ENOTTY (Not (one) of <those>)",
            4,
            1_000_000_000,
            Event::Resumed { name: "ioctl", arguments: ", {a=[1<<3, (2)]}", outcome: outcome(None, None, None) },
        ),
        (
            "4 1.0 <... exit_group resumed>) = ?",
            4,
            1_000_000_000,
            Event::Resumed { name: "exit_group", arguments: "", outcome: outcome(None, None, None) },
        ),
        ("4 1.0 --- SIGTERM {si_signo=SIGTERM} ---", 4, 1_000_000_000, Event::Signal),
        ("4 1.0 +++ killed by SIGTERM +++", 4, 1_000_000_000, Event::Signal),
    ] {
        assert_eq!(read_line(text), Some(Line { process, time, event }), "{text}");
    }
    for text in ["fsync(3) = 0", "4 12:00:01 fsync(3) = 0", "4 1.0 fsync(3", "4 1.0 fsync(3) 0", "said: 1.0 yes", ""] {
        assert_eq!(read_line(text), None, "{text}");
    }
}

#[test]
fn a_sync_needs_a_flush_between_its_call_and_its_return() {
    let calls = [(100, OPEN), (200, WRITE), (300, "fsync(3</m/a>) = 0 <0.000100>"), (500, FOLDER)];
    let found = joined(&[390, 550], &calls);
    assert!(found.holds() && found.counts.joined == 2 && found.counts.flushed == 2, "{found:?}");
    for early_or_late in [290, 410] {
        let found = joined(&[early_or_late, 550], &calls);
        assert_eq!(told(&found), ["fsync /m/a"]);
        assert_eq!(found.unflushed[0].span, (100_000_300_000, 100_000_400_000));
    }
}

#[test]
fn a_return_that_is_not_told_is_the_next_line_of_the_process() {
    let bare = |time: &str| format!("8  100.{time} getpid() = 8\n");
    let log = log(&[(100, OPEN), (200, WRITE), (300, "fsync(3</m/a>) = 0")])
        + &bare("000350")
        + &log_of_one(400, "close(3</m/a>) = 0")
        + &log_of_one(500, FOLDER);
    for (flush, holds) in [(390, true), (410, false)] {
        let found = Fsyncs::join(record(&[flush, 550]).as_bytes(), log.as_bytes(), Some("/m")).unwrap();
        assert_eq!((found.holds(), found.counts.by_next_line), (holds, 1), "{found:?}");
    }
}

fn log_of_one(time: u32, call: &str) -> String {
    log(&[(time, call)])
}

#[test]
fn an_interrupted_call_is_joined_with_its_end() {
    let end = "8  100.000350 write(4</m/a>, \"y\", 1) = 1 <0.000001>\n";
    let log = log(&[(100, OPEN), (200, WRITE), (300, "fsync(3</m/a> <unfinished ...>")])
        + end
        + &log(&[(400, "<... fsync resumed>) = 0 <0.000100>"), (500, FOLDER), (600, "fsync(3</m/a> <unfinished ...>")]);
    let found = Fsyncs::join(record(&[390, 550]).as_bytes(), log.as_bytes(), Some("/m")).unwrap();
    assert!(found.holds() && found.counts.unfinished == 1 && found.counts.joined == 2, "{found:?}");
}

#[test]
fn names_without_a_sync_of_file_or_folder_are_told() {
    let fsync = "fsync(3</m/a>) = 0 <0.000100>";
    let rename = r#"rename("/m/a", "/m/b") = 0 <0.000010>"#;
    assert_eq!(told(&joined(&[], &[(100, OPEN), (200, WRITE), (300, rename)])), ["file /m/b", "renamed /m/b"]);
    let found = joined(&[350], &[(100, OPEN), (200, WRITE), (300, fsync), (500, rename)]);
    assert_eq!((told(&found), found.names[0].named), (vec!["renamed /m/b".to_owned()], Named::Renamed));
    let folder_too_early = [(100, OPEN), (200, WRITE), (300, fsync), (500, FOLDER), (700, rename)];
    assert_eq!(told(&joined(&[350, 550], &folder_too_early)), ["renamed /m/b"]);
    assert!(joined(&[350, 750], &[(100, OPEN), (200, WRITE), (300, fsync), (500, rename), (700, FOLDER)]).holds());
    // It was written again before it was renamed.
    let again = [(100, OPEN), (200, WRITE), (300, fsync), (500, WRITE), (600, rename), (700, FOLDER)];
    assert_eq!(told(&joined(&[350, 750], &again)), ["file /m/b"]);
    // Nobody needs a file that is gone, or elsewhere.
    assert!(joined(&[], &[(100, OPEN), (200, WRITE), (300, r#"unlink("/m/a") = 0"#)]).holds());
    assert!(joined(&[], &[(100, r#"openat(AT_FDCWD</n>, "a", O_RDWR|O_CREAT, 0666) = 3</n/a>"#)]).holds());
}

#[test]
fn a_name_that_was_there_before_is_not_new() {
    let stat = r#"newfstatat(AT_FDCWD</m>, "a", {st_mode=S_IFREG|0644, ...}, 0) = 0 <0.000010>"#;
    assert!(joined(&[], &[(50, stat), (100, OPEN), (200, WRITE)]).holds());
    let none = r#"newfstatat(AT_FDCWD</m>, "a", 0x7ff, 0) = -1 ENOENT (No such file or directory) <0.000010>"#;
    assert_eq!(told(&joined(&[], &[(40, stat), (50, none), (100, OPEN)])), ["created /m/a"]);
}

#[test]
fn a_sync_of_an_unchanged_file_needs_no_flush() {
    let fsync = "fsync(3</m/a>) = 0 <0.000100>";
    let closed = (900, "fsync(9) = -1 EBADF (Bad file descriptor) <0.000001>");
    let found = joined(&[350, 550], &[(100, OPEN), (200, WRITE), (300, fsync), (500, FOLDER), (700, fsync), closed]);
    assert!(found.holds() && found.counts.needless == 1, "{found:?}");
    assert_eq!((found.counts.failed, found.counts.nameless), (1, 0));
    // A log of syncs alone does not tell that nothing was written.
    assert_eq!(told(&joined(&[350], &[(300, fsync), (500, fsync)])), ["fsync /m/a"]);
}

#[test]
fn all_kinds_of_syncs_are_seen() {
    let open = r#"open("/m/s", O_WRONLY|O_DSYNC) = 4</m/s> <0.000010>"#;
    let found = joined(
        &[],
        &[
            (100, open),
            (200, "dup(4</m/s>) = 9</m/s> <0.000001>"),
            (300, r#"pwrite64(9</m/s>, "x", 1, 0) = 1 <0.000010>"#),
            (400, "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 6</m/d>, 0) = 0x7f0000000000 <0.000001>"),
            (500, "msync(0x7f0000001000, 4096, MS_SYNC) = 0 <0.000010>"),
            (510, "msync(0x7f0000001000, 4096, MS_ASYNC) = 0 <0.000010>"),
            (600, r#"pwritev2(7</m/e>, [{iov_base="x", iov_len=1}], 1, 0, RWF_DSYNC) = 1 <0.000010>"#),
            (700, "sync_file_range(7</m/e>, 0, 0, SYNC_FILE_RANGE_WRITE) = 0 <0.000010>"),
            (800, "syncfs(7</m/e>) = 0 <0.000010>"),
            (900, "fsync(8<socket:[77]>) = -1 EINVAL (Invalid argument) <0.000010>"),
        ],
    );
    assert_eq!(
        told(&found),
        ["O_SYNC write /m/s", "msync /m/d", "O_SYNC write /m/e", "sync_file_range /m/e", "syncfs /m/e"]
    );
}

/// The folder was synced under its own name, and the file renamed under the one of the link.
#[test]
fn a_folder_behind_a_symbolic_link_is_the_folder() {
    let open = r#"open("/link/x/a", O_RDWR|O_CREAT, 0666) = 3</m/a> <0.000010>"#;
    let calls = [(100, open), (200, WRITE), (300, "fsync(3</m/a>) = 0 <0.000100>")];
    let rename = (500, r#"rename("/link/x/a", "/link/x/b") = 0 <0.000010>"#);
    assert_eq!(told(&joined(&[350], &[&calls[..], &[rename]].concat())), ["renamed /m/b"]);
    assert!(joined(&[350, 650], &[&calls[..], &[rename, (600, FOLDER)]].concat()).holds());
}

/// A file that was written with `O_SYNC` alone counted as never synced.
#[test]
fn a_file_of_synchronous_writes_needs_no_fsync() {
    let open = r#"open("/m/s", O_WRONLY|O_CREAT|O_SYNC, 0666) = 4</m/s> <0.000010>"#;
    let write = r#"write(4</m/s>, "x", 1) = 1 <0.000100>"#;
    let found = joined(&[250, 350], &[(100, open), (200, write), (300, FOLDER)]);
    assert!(found.holds() && found.counts.flushed == 2, "{found:?}");
}

#[test]
fn a_range_that_fdatasync_follows_is_no_finding() {
    let range = (300, "sync_file_range(3</m/a>, 0, 0, SYNC_FILE_RANGE_WRITE) = 0 <0.000010>");
    let calls = [(100, OPEN), (200, WRITE), range, (400, "fdatasync(3</m/a>) = 0 <0.000100>"), (600, FOLDER)];
    assert!(joined(&[450, 650], &calls).holds());
    assert_eq!(joined(&[450, 650], &[&calls[..3], &calls[4..]].concat()).unflushed[0].kind, SyncKind::Range);
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let join = |record: &str, log: &str| Fsyncs::join(record.as_bytes(), log.as_bytes(), None);
    let fsync = log(&[(300, "fsync(3</m/a>) = 0 <0.000100>")]);
    assert!(matches!(
        join("time_ns,device,op,offset_bytes,length_bytes\n0,0,F,0,0\n", &fsync),
        Err(FsyncsError::NoClock)
    ));
    assert!(matches!(join(&record(&[]), "fsync(3</m/a>) = 0\n"), Err(FsyncsError::NoCalls)));
    assert!(matches!(join(&record(&[]), &log(&[(300, "fsync(3) = 0 <0.000100>")])), Err(FsyncsError::NoFiles)));
    let apart = join(&record(&[]), "7 99.5 fsync(3</m/a>) = 0 <0.1>\n");
    assert!(matches!(apart, Err(FsyncsError::Apart { from: 100, to: 101 })), "{apart:?}");
}
