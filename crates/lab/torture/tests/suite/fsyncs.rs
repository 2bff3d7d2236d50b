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
    let outcome = |value, file: Option<&str>, error| Outcome { value, file: file.map(str::to_owned), error };
    let call = |name, arguments, outcome| Event::Call { name, arguments, outcome };
    for (text, process, time, event) in [
        (
            "1465  1795838854.281068 fsync(3</m/a b>) = 0 <0.000370>",
            1465,
            1_795_838_854_281_068_000,
            call("fsync", "3</m/a b>", outcome(Some(0), None, None)),
        ),
        (
            r#"[pid    12] 1.5 openat(AT_FDCWD</m>, "a\")<(\\", O_RDWR) = 3</m/a\76>(deleted)"#,
            12,
            1_500_000_000,
            call("openat", r#"AT_FDCWD</m>, "a\")<(\\", O_RDWR"#, outcome(Some(3), Some("/m/a> (deleted)"), None)),
        ),
        (
            "1.000001 fsync(9)        = -1 EBADF (Bad file descriptor)",
            0,
            1_000_001_000,
            call("fsync", "9", outcome(None, None, Some("EBADF"))),
        ),
        (
            "4 1.0 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</m/a>, 0) = 0x7f00 <0.1>",
            4,
            1_000_000_000,
            call("mmap", "NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</m/a>, 0", outcome(Some(0x7f00), None, None)),
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
            Event::Resumed {
                name: "ioctl",
                arguments: ", {a=[1<<3, (2)]}",
                outcome: outcome(None, None, Some("ENOTTY")),
            },
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
fn a_sync_needs_a_flush_between_its_change_and_the_next_line() {
    let calls = [(100, OPEN), (200, WRITE), (300, "fsync(3</m/a>) = 0 <0.000100>"), (500, FOLDER)];
    for flush in [250, 390, 490] {
        let found = joined(&[flush], &calls);
        assert!(found.holds() && found.counts.joined == 2, "{flush}: {found:?}");
    }
    for early_or_late in [140, 560] {
        let found = joined(&[early_or_late], &calls);
        assert_eq!(told(&found), ["fsync /m/a"]);
        assert_eq!(found.unflushed[0].span, (100_000_300_000, 100_000_500_000));
    }
}

/// The duration by `-T` begins after the time of the line: a slow flush came after both together.
#[test]
fn a_call_may_return_later_than_its_time_and_duration_tell() {
    let bare = |time: &str| format!("8  100.{time} getpid() = 8\n");
    let log = log(&[(100, OPEN), (200, WRITE), (300, "fsync(3</m/a>) = 0 <0.000010>")])
        + &bare("000350")
        + &log_of_one(800, "close(3</m/a>) = 0 <0.000010>");
    for (flush, holds) in [(790, true), (910, false)] {
        let found = Fsyncs::join(record(&[flush]).as_bytes(), log.as_bytes(), Some("/m")).unwrap();
        assert_eq!(found.unflushed.is_empty(), holds, "{found:?}");
    }
    // Without a later line it may have returned at any time.
    assert!(joined(&[900_000], &[(100, WRITE), (200, "fsync(3</m/a>) = 0 <0.000010>")]).holds());
    assert!(!joined(&[], &[(100, WRITE), (200, "fsync(3</m/a>) = 0 <0.000010>")]).holds());
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
    let synced = [(5, "write(4</m/z>, \"x\", 1) = 1"), (7, "fsync(4</m/z>) = 0")];
    let removed = [(100, OPEN), (200, WRITE), (300, r#"unlink("/m/a") = 0"#)];
    assert!(joined(&[10], &[&synced[..], &removed].concat()).holds());
    let elsewhere = (100, r#"openat(AT_FDCWD</n>, "a", O_RDWR|O_CREAT, 0666) = 3</n/a>"#);
    assert!(joined(&[10], &[&synced[..], &[elsewhere]].concat()).holds());
}

#[test]
fn a_name_that_was_there_before_is_not_new() {
    let stat = r#"newfstatat(AT_FDCWD</m>, "a", {st_mode=S_IFREG|0644, ...}, 0) = 0 <0.000010>"#;
    let sync = (300, "fsync(3</m/a>) = 0");
    assert!(joined(&[350], &[(50, stat), (100, OPEN), (200, WRITE), sync]).holds());
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
    assert_eq!(joined(&[690], &[&calls[..3], &calls[4..]].concat()).unflushed[0].kind, SyncKind::Range);
}

/// `fsync` of a new file keeps its name on ext4, so that the one of the folder has nothing to do.
#[test]
fn a_folder_that_the_sync_of_its_file_made_last_needs_no_flush() {
    let open = r#"openat(AT_FDCWD</m>, "a", O_RDWR|O_CREAT|O_EXCL, 0666) = 3</m/a>"#;
    let calls = [(100, open), (200, WRITE), (300, "fsync(3</m/a>) = 0"), (500, FOLDER), (600, "close(5</m>) = 0")];
    assert!(joined(&[390], &calls).holds());
    assert_eq!(told(&joined(&[], &calls)), ["fsync /m/a", "fsync /m"]);
    // A log without writes tells of a flush since the earlier sync alone.
    let syncs = [(300, "fsync(3</m/a>) = 0"), (500, FOLDER), (700, "fsync(3</m/a>) = 0"), (900, FOLDER)];
    assert!(joined(&[390, 790], &syncs).holds());
    assert_eq!(told(&joined(&[390], &syncs)), ["fsync /m/a", "fsync /m"]);
}

#[test]
fn a_folder_that_lost_a_name_and_an_empty_new_file_need_a_flush() {
    let known = r#"newfstatat(AT_FDCWD</m>, "a", {st_mode=S_IFREG|0644, ...}, 0) = 0"#;
    let write = (150, "write(9</n/b>, \"x\", 1) = 1");
    let end = (900, "getpid() = 7");
    for change in [r#"unlink("/m/a") = 0"#, r#"rename("/m/a", "/m/sub/a") = 0"#] {
        let calls = [(100, known), write, (300, change), (500, FOLDER), end];
        assert_eq!(joined(&[140], &calls).unflushed.len(), 1, "{change}");
        assert!(joined(&[390], &calls).unflushed.is_empty(), "{change}");
    }
    let exclusive = r#"openat(AT_FDCWD</m>, "a", O_RDWR|O_CREAT|O_EXCL, 0666) = 3</m/a>"#;
    let none = r#"openat(AT_FDCWD</m>, "a", O_RDWR) = -1 ENOENT (No such file or directory)"#;
    for calls in [vec![(100, exclusive)], vec![(90, none), (100, OPEN)]] {
        let calls = [&calls[..], &[write, (300, "fsync(3</m/a>) = 0"), end]].concat();
        assert_eq!(told(&joined(&[], &calls)), ["fsync /m/a", "created /m/a"]);
    }
    // It may have been there, and then nothing has changed.
    let calls = [(100, OPEN), write, (300, "fsync(3</m/a>) = 0"), (500, FOLDER), end];
    assert!(joined(&[], &calls).holds());
}

#[test]
fn writes_by_libaio_and_clones_are_changes() {
    let submit = "io_submit(0x7f00, 1, [{aio_data=0x1, aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=4</m/b>, \
                  aio_buf=\"y\"..., aio_nbytes=4096, aio_offset=0}]) = 1";
    let ended = "io_getevents(0x7f00, 1, 1, [{data=0x1, obj=0x7f1d, res=4096, res2=0}], NULL) = 1";
    let fsync = (400, "fsync(4</m/b>) = 0");
    let end = (600, "getpid() = 7");
    assert_eq!(told(&joined(&[140], &[(200, submit), (300, ended), fsync, end])), ["fsync /m/b"]);
    assert!(joined(&[250], &[(200, submit), (300, ended), fsync, end]).holds());
    // It may end after the sync.
    assert!(joined(&[140], &[(200, submit), fsync, (500, ended), end]).holds());
    let clone = "ioctl(4</m/b>, FICLONE, 3</m/a>) = 0";
    assert_eq!(told(&joined(&[140], &[(200, clone), fsync, end])), ["fsync /m/b"]);
}

#[test]
fn a_link_to_a_file_of_its_name_does_not_redirect_the_folder() {
    let folder = r#"openat(AT_FDCWD, "/m", O_RDONLY|O_DIRECTORY) = 5</m>"#;
    let link = r#"openat(AT_FDCWD</n>, "/m/config", O_RDONLY) = 6</m/data/config>"#;
    let open = r#"openat(AT_FDCWD</n>, "/m/a", O_RDWR|O_CREAT, 0666) = 3</m/a>"#;
    let rename = r#"rename("/m/a", "/m/x") = 0"#;
    let calls = [(100, folder), (150, link), (180, open), (200, WRITE), (300, "fsync(3</m/a>) = 0"), (500, rename)];
    assert_eq!(told(&joined(&[390], &calls)), ["renamed /m/x"]);
    assert!(joined(&[390, 690], &[&calls[..], &[(600, FOLDER)]].concat()).holds());
    // A link that was opened as a folder is one, and so are the folders in it.
    let itself = r#"openat(AT_FDCWD</n>, "/link", O_RDONLY|O_DIRECTORY) = 5</m>"#;
    let calls =
        [(100, itself), (150, WRITE), (300, "fsync(3</m/a>) = 0"), (500, r#"rename("/link/a", "/link/s/x") = 0"#)];
    assert_eq!(told(&joined(&[390], &calls)), ["renamed /m/s/x"]);
}

#[test]
fn synchronous_descriptors_belong_to_their_process_and_follow_renames() {
    let open = r#"openat(AT_FDCWD</m>, "a", O_RDWR|O_CREAT|O_DSYNC, 0666) = 3</m/a>"#;
    let cut = "ftruncate(3</m/a>, 0) = 0";
    let none = r#"write(3</m/a>, "", 0) = 0"#;
    let write = (400, WRITE);
    let calls = [(100, open), (200, cut), (300, none), write, (600, FOLDER)];
    let found = joined(&[490], &calls);
    assert!(found.holds() && found.counts.joined == 2, "{found:?}");
    let rename = (500, r#"rename("/m/a", "/m/b") = 0"#);
    let later = (600, r#"write(3</m/b>, "x", 1) = 1"#);
    assert!(joined(&[490, 690, 790], &[(100, open), write, rename, later, (700, FOLDER)]).holds());
    let other = "8  100.000050 openat(AT_FDCWD</m>, \"a\", O_RDWR|O_DSYNC) = 3</m/a>\n";
    let plain = r#"openat(AT_FDCWD</m>, "a", O_RDWR) = 3</m/a>"#;
    for (clone, writes) in [("", 1), ("7  100.000060 clone(flags=CLONE_VM|CLONE_FILES) = 8\n", 2)] {
        let log = log(&[(40, plain)]) + clone + other + &log(&[(400, WRITE), (600, "fsync(3</m/a>) = 0")]);
        let found = Fsyncs::join(record(&[490, 690]).as_bytes(), log.as_bytes(), Some("/m")).unwrap();
        assert_eq!(found.counts.joined, writes, "{found:?}");
    }
}

#[test]
fn an_error_tells_only_what_it_says() {
    let refused = |error: &str| format!(r#"openat(AT_FDCWD</m>, "a", O_RDWR|O_CREAT|O_EXCL, 0666) = -1 {error} (No)"#);
    let sync = (300, "fsync(3</m/a>) = 0");
    for (error, is_new) in [("EEXIST", false), ("ENOENT", true), ("EACCES", true)] {
        let refused = refused(error);
        let found = joined(&[350], &[(50, &refused), (100, OPEN), (200, WRITE), sync]);
        assert_eq!(found.names.len(), usize::from(is_new), "{error}: {found:?}");
    }
    // The program was attached to: it has written the file before it opens it again.
    assert!(joined(&[350], &[(50, WRITE), (100, OPEN), (200, WRITE), sync]).holds());
    let denied = refused("EACCES");
    assert!(joined(&[350], &[(50, WRITE), (70, &denied), (100, OPEN), (200, WRITE), sync]).holds());
}

#[test]
fn names_of_one_file_share_their_syncs() {
    let fsync = (400, "fsync(3</m/a>) = 0");
    let link = (300, r#"link("/m/a", "/m/b") = 0"#);
    assert!(joined(&[490, 690], &[(100, OPEN), (200, WRITE), link, fsync, (600, FOLDER)]).holds());
    let unsynced = [(100, OPEN), (200, WRITE), link, (600, FOLDER)];
    assert_eq!(told(&joined(&[690], &unsynced)), ["file /m/a", "file /m/b"]);
    let unnamed = r#"openat(AT_FDCWD</m>, "/m", O_RDWR|O_TMPFILE, 0600) = 3</m/#12>(deleted)"#;
    let write = r#"write(3</m/#12>(deleted), "x", 1) = 1"#;
    for link in [
        r#"linkat(AT_FDCWD</m>, "/proc/self/fd/3", AT_FDCWD</m>, "b", AT_SYMLINK_FOLLOW) = 0"#,
        r#"linkat(3</m/#12>(deleted), "", AT_FDCWD</m>, "b", AT_EMPTY_PATH) = 0"#,
    ] {
        let calls = [(100, unnamed), (200, write), (300, link), (600, FOLDER)];
        assert_eq!(told(&joined(&[690], &calls)), ["file /m/b"], "{link}");
        let sync = (250, r"fsync(3</m/#12>(deleted)) = 0");
        assert!(joined(&[290, 690], &[&calls[..2], &[sync], &calls[2..]].concat()).holds(), "{link}");
    }
}

#[test]
fn files_that_are_exchanged_or_renamed_during_a_sync_are_followed() {
    let second = r#"openat(AT_FDCWD</m>, "b", O_RDWR|O_CREAT, 0666) = 4</m/b>"#;
    let exchange = r#"renameat2(AT_FDCWD</m>, "a", AT_FDCWD</m>, "b", RENAME_EXCHANGE) = 0"#;
    let calls = [(100, OPEN), (120, second), (200, WRITE), (300, exchange), (600, FOLDER)];
    assert_eq!(told(&joined(&[690], &calls)), ["file /m/b"]);
    let renamed = "8  100.000350 rename(\"/m/a\", \"/m/b\") = 0\n8  100.000360 getpid() = 8\n";
    let log = log(&[(100, OPEN), (200, WRITE), (300, "fsync(3</m/a> <unfinished ...>")])
        + renamed
        + &log(&[(400, "<... fsync resumed>) = 0"), (600, FOLDER)]);
    let found = Fsyncs::join(record(&[390, 690]).as_bytes(), log.as_bytes(), Some("/m")).unwrap();
    assert!(found.holds(), "{found:?}");
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
    // A check in CI passed with a folder that is not the one of the drive.
    let text = log(&[(200, WRITE), (300, "fsync(3</m/a>) = 0")]);
    let mistyped = Fsyncs::join(record(&[350]).as_bytes(), text.as_bytes(), Some("/mm"));
    assert!(matches!(mistyped, Err(FsyncsError::NoSyncs)), "{mistyped:?}");
}
