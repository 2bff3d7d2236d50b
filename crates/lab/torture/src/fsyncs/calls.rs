//! Whole calls of a log, and their meaning for files.

use super::SyncKind;
use super::paths::{Descriptors, Paths};
use super::strace::{self, Event, Outcome, descriptor, split};
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead};
use units::Nanos;

/// Most bytes of a line that are looked at.
const LONGEST: usize = 1 << 20;
/// Most calls that wait for the return of an earlier one.
const MOST_WAITING: usize = 1 << 16;
/// Calls that write bytes to the file of a descriptor, and through `O_SYNC` make them last.
const WRITES: [&str; 6] = ["write", "pwrite64", "pwrite", "writev", "pwritev", "pwritev2"];
/// Calls that change the contents in other ways, and the place of the descriptor among the arguments.
const CHANGES: [(&str, usize); 5] =
    [("ftruncate", 0), ("fallocate", 0), ("sendfile", 0), ("copy_file_range", 2), ("splice", 2)];
const SYNCS: [(&str, SyncKind); 6] = [
    ("fsync", SyncKind::Fsync),
    ("fdatasync", SyncKind::Fdatasync),
    ("sync_file_range", SyncKind::Range),
    ("syncfs", SyncKind::Syncfs),
    ("msync", SyncKind::Msync),
    ("sync", SyncKind::Sync),
];

/// A call from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Number of the process or thread.
    pub process: u32,
    /// Name of the system call.
    pub name: String,
    /// The text between its parentheses.
    pub arguments: String,
    /// The returned number; none of a call that failed.
    pub value: Option<u64>,
    /// The returned descriptor's file.
    file: Option<String>,
    /// The name of its error.
    error: Option<String>,
    /// When it was called: nanoseconds since 1970.
    pub begin: Nanos,
    /// When it had returned, at the latest; `Nanos::MAX` if no later line of its process tells.
    pub end: Nanos,
    /// The next line of its process tells its end.
    is_open: bool,
}

/// The meaning of a call for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The contents of a file changed.
    Wrote(String),
    /// The contents of a file changed since an earlier call.
    WroteSince(String, Nanos),
    /// A file that was there before lost its contents.
    Emptied(String),
    /// A file can change through memory.
    Mapped(String),
    /// A name is there.
    Seen(String),
    /// A name is not there.
    Missing(String),
    /// A name may be new, or surely is.
    Created {
        path: String,
        is_sure: bool,
    },
    /// A file without a name was made.
    Unnamed(String),
    Linked {
        from: String,
        to: String,
    },
    Renamed {
        from: String,
        to: String,
    },
    Exchanged {
        one: String,
        other: String,
    },
    Removed(String),
    /// A file is to last at a time that the log does not tell.
    Asked(String),
    /// A file is to last; without a path the log does not name it.
    Sync {
        kind: SyncKind,
        path: Option<String>,
    },
}

/// The calls of a log, in the order of their ends.
#[derive(Debug)]
pub struct Calls<R> {
    log: R,
    /// Lines that were read so far.
    pub lines: u64,
    /// Lines that were not understood.
    pub odd_lines: u64,
    /// Calls of `io_uring`, whose requests the log lacks.
    pub io_uring: u64,
    /// Some call of the log writes, so that it tells unchanged files.
    pub shows_writes: bool,
    /// Calls that have begun, by process.
    begun: HashMap<u32, (String, String, Nanos)>,
    /// Ended calls, of which the first may have an open end.
    ended: VecDeque<Call>,
    newest: Nanos,
    pub(super) paths: Paths,
    descriptors: Descriptors,
    /// Mapped files by table of descriptors, first address and the one behind the last.
    maps: Vec<(u32, u64, u64, String)>,
    /// Requests of `io_submit` by context.
    submitted: HashMap<String, Submitted>,
}

/// Requests that are under way.
#[derive(Debug, Default)]
struct Submitted {
    requests: u64,
    /// Written files, and when.
    writes: Vec<(String, Nanos)>,
}

impl<R: BufRead> Calls<R> {
    /// The calls of a log.
    pub fn new(log: R) -> Self {
        Self {
            log,
            lines: 0,
            odd_lines: 0,
            io_uring: 0,
            shows_writes: false,
            begun: HashMap::new(),
            ended: VecDeque::new(),
            newest: 0,
            paths: Paths::default(),
            descriptors: Descriptors::default(),
            maps: Vec::new(),
            submitted: HashMap::new(),
        }
    }

    /// The next call.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn next_call(&mut self) -> io::Result<Option<Call>> {
        let mut line = Vec::new();
        loop {
            if self.ended.front().is_some_and(|call| !call.is_open) {
                return Ok(self.ended.pop_front());
            }
            line.clear();
            let length = io::Read::take(&mut self.log, LONGEST as u64).read_until(b'\n', &mut line)?;
            if length == 0 {
                // Nothing tells when the last calls of each process have returned.
                self.ended.iter_mut().for_each(|call| call.close(Nanos::MAX));
                return Ok(self.ended.pop_front());
            }
            self.take(&String::from_utf8_lossy(&line));
            if self.ended.len() > MOST_WAITING
                && let Some(call) = self.ended.front_mut()
            {
                // `strace` has written lines of other processes since.
                call.close(self.newest);
            }
        }
    }

    fn take(&mut self, line: &str) {
        if line.trim().is_empty() || line.starts_with("strace: ") {
            return;
        }
        self.lines += 1;
        let Some(line) = strace::read(line) else {
            self.odd_lines += 1;
            return;
        };
        self.newest = self.newest.max(line.time);
        // Earlier calls of this process have returned.
        for call in &mut self.ended {
            if call.process == line.process {
                call.close(line.time);
            }
        }
        match line.event {
            Event::Signal => {}
            Event::Begun { name, arguments } => {
                self.begun.insert(line.process, (name.to_owned(), arguments.to_owned(), line.time));
            }
            Event::Call { name, arguments, outcome } => {
                // Its duration by `-T` begins after the time of the line, so that both together end too early.
                self.end(line.process, (name.to_owned(), arguments.to_owned(), line.time), outcome, None);
            }
            Event::Resumed { name, arguments, outcome } => {
                // Without its begin it is not known when it was called.
                if let Some((begun, first, begin)) = self.begun.remove(&line.process)
                    && begun == name
                {
                    let whole = (begun, format!("{first}{arguments}"), begin);
                    self.end(line.process, whole, outcome, Some(line.time));
                }
            }
        }
    }

    fn end(
        &mut self,
        process: u32,
        (name, arguments, begin): (String, String, Nanos),
        outcome: Outcome<'_>,
        end: Option<Nanos>,
    ) {
        self.ended.push_back(Call {
            process,
            name,
            arguments,
            value: outcome.value,
            file: outcome.file,
            error: outcome.error.map(str::to_owned),
            begin,
            // The clock may have been set back within.
            end: end.unwrap_or(begin).max(begin),
            is_open: end.is_none(),
        });
    }

    /// Syncs that have begun and not ended.
    pub fn unfinished_syncs(&self) -> u64 {
        self.begun.values().filter(|(name, ..)| SYNCS.iter().any(|(sync, _)| sync == name)).count() as u64
    }

    /// The meaning of a call.
    pub(super) fn acts(&mut self, call: &Call) -> Vec<Act> {
        let arguments = split(&call.arguments);
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        if let Some((number, path)) = descriptor(argument(0)) {
            self.paths.is_real(&path);
            if number == "AT_FDCWD" {
                self.paths.work_in(call.process, path);
            }
        }
        let is_done = call.value.is_some();
        if let Some(acts) = self.wrote(call, &arguments) {
            self.shows_writes = true;
            return acts;
        }
        if let Some((_, kind)) = SYNCS.iter().find(|(name, _)| *name == call.name) {
            return self.sync(call, *kind, argument(0), argument(2)).into_iter().collect();
        }
        let path = self.paths.whole(call.process, None, argument(0));
        let path_at = self.paths.whole(call.process, Some(argument(0)), argument(1));
        match call.name.as_str() {
            "open" | "creat" => self.open(call, path, argument(1)),
            "openat" | "openat2" => self.open(call, path_at, argument(2)),
            "stat" | "lstat" | "access" => path.and_then(|path| seen(call, path)).into_iter().collect(),
            "newfstatat" | "statx" | "faccessat" | "faccessat2" => {
                path_at.and_then(|path| seen(call, path)).into_iter().collect()
            }
            "mmap" if is_done => self.map(call, &arguments).into_iter().collect(),
            _ if is_done => {
                self.follow(call, argument(0), path);
                self.name(call, &arguments).into_iter().collect()
            }
            "mkdir" | "mknod" => path.and_then(|path| seen(call, path)).into_iter().collect(),
            "mkdirat" | "mknodat" => path_at.and_then(|path| seen(call, path)).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Follows descriptors and working folders.
    fn follow(&mut self, call: &Call, first: &str, path: Option<String>) {
        match call.name.as_str() {
            "dup" | "dup2" | "dup3" | "fcntl" => {
                let copy = call.value.filter(|_| call.file.is_some()).map(|number| number.to_string());
                if let (Some(copy), Some((number, _))) = (copy, descriptor(first)) {
                    self.descriptors.copied(call.process, number, copy);
                }
            }
            "chdir" | "fchdir" => {
                if let Some(folder) = descriptor(first).map(|(_, file)| file).or(path) {
                    self.paths.work_in(call.process, folder);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                if let Some(child) = call.value.and_then(|child| u32::try_from(child).ok()) {
                    self.paths.begun(call.process, child);
                    self.descriptors.begun(call.process, child, call.arguments.contains("CLONE_FILES"));
                }
            }
            name => self.io_uring += u64::from(name.starts_with("io_uring_")),
        }
    }

    /// The meaning of a call that makes, moves or removes a name.
    fn name(&self, call: &Call, arguments: &[&str]) -> Option<Act> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let path = |at: usize| self.paths.whole(call.process, None, argument(at));
        let path_at = |at: usize| self.paths.whole(call.process, Some(argument(at)), argument(at + 1));
        let created = |path| Act::Created { path, is_sure: true };
        match call.name.as_str() {
            "truncate" => path(0).map(Act::Wrote),
            "mkdir" | "mknod" => path(0).map(created),
            "mkdirat" | "mknodat" => path_at(0).map(created),
            "symlink" => path(1).map(created),
            "symlinkat" => path_at(1).map(created),
            "unlink" | "rmdir" => path(0).map(Act::Removed),
            "unlinkat" => path_at(0).map(Act::Removed),
            "rename" => path(0).zip(path(1)).map(|(from, to)| Act::Renamed { from, to }),
            "renameat2" if argument(4).contains("RENAME_EXCHANGE") => {
                path_at(0).zip(path_at(2)).map(|(one, other)| Act::Exchanged { one, other })
            }
            "renameat" | "renameat2" => path_at(0).zip(path_at(2)).map(|(from, to)| Act::Renamed { from, to }),
            "link" => path(0).zip(path(1)).map(|(from, to)| Act::Linked { from, to }),
            "linkat" => {
                let from = match argument(1) {
                    "\"\"" => descriptor(argument(0)).map(|(_, file)| file),
                    _ => path_at(0).map(|path| self.behind(call.process, path)),
                };
                from.zip(path_at(2)).map(|(from, to)| Act::Linked { from, to })
            }
            _ => None,
        }
    }

    /// The file of a path such as `/proc/self/fd/3`, and of others the path itself.
    fn behind(&self, process: u32, path: String) -> String {
        let number = path.strip_prefix("/proc/").and_then(|rest| rest.split_once("/fd/"));
        number.and_then(|(_, number)| self.descriptors.path(process, number)).unwrap_or(path)
    }

    /// The meaning of a call that changes the contents of files. None: it is another call.
    fn wrote(&mut self, call: &Call, arguments: &[&str]) -> Option<Vec<Act>> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let is_write = WRITES.contains(&call.name.as_str());
        let other = CHANGES.iter().find(|(name, _)| *name == call.name).map(|(_, place)| *place);
        let is_clone = call.name == "ioctl" && argument(1).starts_with("FICLONE");
        if call.name.starts_with("io_") {
            return self.submit(call, arguments);
        }
        let place = other.or((is_write || is_clone).then_some(0))?;
        let sets_size = is_clone || matches!(call.name.as_str(), "ftruncate" | "fallocate");
        let is_done = call.value.is_some_and(|bytes| bytes > 0 || sets_size);
        let Some((number, path)) = descriptor(argument(place)).filter(|_| is_done) else { return Some(Vec::new()) };
        let asks =
            call.name == "pwritev2" && ["RWF_SYNC", "RWF_DSYNC"].iter().any(|flag| call.arguments.contains(flag));
        let is_synchronous = asks || self.descriptors.is_synchronous(call.process, number);
        Some(vec![match (is_synchronous, is_write) {
            (true, true) => Act::Sync { kind: SyncKind::Write, path: Some(path) },
            // File systems differ in whether these last by `O_SYNC`, and they do by the next write.
            (true, false) => Act::Seen(path),
            _ => Act::Wrote(path),
        }])
    }

    /// Requests that return before they have ended. None: it is another call.
    fn submit(&mut self, call: &Call, arguments: &[&str]) -> Option<Vec<Act>> {
        let (context, number) = (*arguments.first()?, call.value.unwrap_or(0));
        if matches!(call.name.as_str(), "io_getevents" | "io_pgetevents") {
            let Some(under_way) = self.submitted.get_mut(context) else { return Some(Vec::new()) };
            under_way.requests = under_way.requests.saturating_sub(number);
            // The log does not tell which request has ended, unless all have.
            let ended = if under_way.requests == 0 { std::mem::take(&mut under_way.writes) } else { Vec::new() };
            return Some(ended.into_iter().map(|(path, begin)| Act::WroteSince(path, begin)).collect());
        }
        if call.name != "io_submit" {
            return None;
        }
        let list = arguments.get(2).and_then(|list| list.strip_prefix('[')?.strip_suffix(']')).unwrap_or_default();
        let mut acts = Vec::new();
        for request in split(list).into_iter().take(usize::try_from(number).unwrap_or(usize::MAX)) {
            let fields = split(request.trim_start_matches('{').trim_end_matches('}'));
            let field = |name: &str| fields.iter().find_map(|field| field.strip_prefix(name));
            let under_way = self.submitted.entry(context.to_owned()).or_default();
            under_way.requests += 1;
            let Some((number, path)) = field("aio_fildes=").and_then(descriptor) else { continue };
            match field("aio_lio_opcode=").unwrap_or_default() {
                // When a synchronous one ends is not known.
                "IOCB_CMD_PWRITE" | "IOCB_CMD_PWRITEV"
                    if !self.descriptors.is_synchronous(call.process, number) && !request.contains("SYNC") =>
                {
                    under_way.writes.push((path, call.begin));
                }
                "IOCB_CMD_FSYNC" | "IOCB_CMD_FDSYNC" => acts.push(Act::Asked(path)),
                _ => {}
            }
        }
        Some(acts)
    }

    fn sync(&self, call: &Call, kind: SyncKind, first: &str, third: &str) -> Option<Act> {
        let path = match kind {
            SyncKind::Msync if !third.contains("MS_SYNC") => return None,
            SyncKind::Msync => {
                let (address, table) = (address(first)?, self.descriptors.table(call.process));
                let maps = || self.maps.iter().rev().filter(|(_, from, to, _)| (*from..*to).contains(&address));
                // A child has the maps of its parent.
                let map = maps().find(|(of, ..)| *of == table).or_else(|| maps().next());
                map.map(|(.., path)| path.clone())
            }
            SyncKind::Sync => Some("/".to_owned()),
            _ => descriptor(first).map(|(_, file)| file),
        };
        // Sockets and pipes have no path.
        path.as_ref().is_none_or(|path| path.starts_with('/')).then_some(Act::Sync { kind, path })
    }

    fn map(&mut self, call: &Call, arguments: &[&str]) -> Option<Act> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let is_shared = argument(3).contains("MAP_SHARED") && argument(2).contains("PROT_WRITE");
        let (_, file) = descriptor(argument(4)).filter(|_| is_shared)?;
        let (from, length) = (call.value?, argument(1).parse::<u64>().ok()?);
        let table = self.descriptors.table(call.process);
        // An older file in the same place is there no more.
        self.maps.retain(|(of, start, ..)| (*of, *start) != (table, from));
        self.maps.push((table, from, from.saturating_add(length), file.clone()));
        Some(Act::Mapped(file))
    }

    fn open(&mut self, call: &Call, path: Option<String>, flags: &str) -> Vec<Act> {
        let Some(number) = call.value else {
            return path.and_then(|path| seen(call, path)).into_iter().collect();
        };
        if let (Some(path), Some(file)) = (&path, &call.file)
            && !flags.contains("O_TMPFILE")
            && !file.ends_with(" (deleted)")
        {
            self.paths.opened(path, file);
        }
        let Some(path) = call.file.clone().or(path) else { return Vec::new() };
        let is_synchronous = flags.contains("O_SYNC") || flags.contains("O_DSYNC");
        self.descriptors.opened(call.process, number.to_string(), &path, is_synchronous);
        if flags.contains("O_TMPFILE") {
            return vec![Act::Unnamed(path)];
        }
        let is_creat = call.name == "creat";
        let empties = (is_creat || flags.contains("O_TRUNC")).then(|| Act::Emptied(path.clone()));
        if is_creat || flags.contains("O_CREAT") {
            let is_sure = flags.contains("O_EXCL");
            return empties.into_iter().chain([Act::Created { path, is_sure }]).collect();
        }
        [Act::Seen(path)].into_iter().chain(empties).collect()
    }
}

/// Whether a name is there, as far as a call tells.
fn seen(call: &Call, path: String) -> Option<Act> {
    match (call.value, call.error.as_deref()) {
        (Some(_), _) | (None, Some("EEXIST")) => Some(Act::Seen(path)),
        (None, Some("ENOENT")) => Some(Act::Missing(path)),
        _ => None,
    }
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl Call {
    /// It has returned at `time` at the latest.
    fn close(&mut self, time: Nanos) {
        if std::mem::take(&mut self.is_open) {
            self.end = time.max(self.begin);
        }
    }
}
