//! Whole calls of a log, and their meaning for files.

use super::SyncKind;
use super::strace::{self, Event, Outcome, descriptor, plain, quoted, split};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, BufRead};
use units::Nanos;

/// Most bytes of a line that are looked at.
const LONGEST: usize = 1 << 20;
/// Calls that change the contents of the file of a descriptor, and the place of it among the arguments.
const WRITES: [(&str, usize); 11] = [
    ("write", 0),
    ("pwrite64", 0),
    ("pwrite", 0),
    ("writev", 0),
    ("pwritev", 0),
    ("pwritev2", 0),
    ("ftruncate", 0),
    ("fallocate", 0),
    ("sendfile", 0),
    ("copy_file_range", 2),
    ("splice", 2),
];
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
    /// When it was called: nanoseconds since 1970.
    pub begin: Nanos,
    /// When it had returned, at the latest.
    pub end: Nanos,
    /// The next line of its process tells its end.
    is_open: bool,
}

/// The meaning of a call for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The contents of a file changed.
    Wrote(String),
    /// A file that was there before lost its contents.
    Emptied(String),
    /// A file can change through memory.
    Mapped(String),
    /// A name is there.
    Seen(String),
    /// A name is not there.
    Missing(String),
    /// A name may be new.
    Created(String),
    Linked {
        from: String,
        to: String,
    },
    Renamed {
        from: String,
        to: String,
    },
    Removed(String),
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
    /// Syncs whose return is taken from the next line of their process.
    pub by_next_line: u64,
    /// Calls of `io_uring`, whose requests the log lacks.
    pub io_uring: u64,
    /// Some call of the log writes, so that it tells unchanged files.
    pub shows_writes: bool,
    /// Calls that have begun, by process.
    begun: HashMap<u32, (String, String, Nanos)>,
    /// Ended calls, of which the first may have an open end.
    ended: VecDeque<Call>,
    newest: Nanos,
    /// Working folders by process, and the newest.
    folders: HashMap<u32, String>,
    folder: String,
    /// Folders by the paths that programs use, where these pass through symbolic links.
    links: HashMap<String, String>,
    /// Descriptors whose writes last when they return.
    synced: BTreeSet<(String, String)>,
    /// Mapped files by first address and the one behind the last.
    maps: Vec<(u64, u64, String)>,
}

impl<R: BufRead> Calls<R> {
    /// The calls of a log.
    pub fn new(log: R) -> Self {
        Self {
            log,
            lines: 0,
            odd_lines: 0,
            by_next_line: 0,
            io_uring: 0,
            shows_writes: false,
            begun: HashMap::new(),
            ended: VecDeque::new(),
            newest: 0,
            folders: HashMap::new(),
            folder: String::new(),
            links: HashMap::new(),
            synced: BTreeSet::new(),
            maps: Vec::new(),
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
                // Nothing more is known: the log ends after them.
                self.ended.iter_mut().for_each(|call| call.close(self.newest));
                return Ok(self.ended.pop_front());
            }
            self.take(&String::from_utf8_lossy(&line));
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
                let end = outcome.took.map(|took| line.time.saturating_add(took));
                self.end(line.process, (name.to_owned(), arguments.to_owned(), line.time), outcome, end);
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
        let is_sync = SYNCS.iter().any(|(sync, _)| *sync == name);
        let is_open = end.is_none() && (is_sync || WRITES.iter().any(|(write, _)| *write == name));
        self.by_next_line += u64::from(is_sync && is_open);
        self.ended.push_back(Call {
            process,
            name,
            arguments,
            value: outcome.value,
            file: outcome.file.map(str::to_owned),
            begin,
            // The clock may have been set back within.
            end: end.unwrap_or(begin).max(begin),
            is_open,
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
        if let Some(("AT_FDCWD", folder)) = descriptor(argument(0)) {
            self.folder = plain(folder);
            self.folders.insert(call.process, self.folder.clone());
        }
        let is_done = call.value.is_some();
        if let Some((_, place)) = WRITES.iter().find(|(name, _)| *name == call.name) {
            self.shows_writes = true;
            return if is_done { self.wrote(call, argument(*place)) } else { Vec::new() };
        }
        if let Some((_, kind)) = SYNCS.iter().find(|(name, _)| *name == call.name) {
            return self.sync(*kind, argument(0), argument(2)).into_iter().collect();
        }
        let path = self.path(call.process, None, argument(0));
        let path_at = self.path(call.process, Some(argument(0)), argument(1));
        match call.name.as_str() {
            "open" | "creat" => self.open(call, path, argument(1)),
            "openat" | "openat2" => self.open(call, path_at, argument(2)),
            "stat" | "lstat" | "access" => path.map(|path| seen(is_done, path)).into_iter().collect(),
            "newfstatat" | "statx" | "faccessat" | "faccessat2" => {
                path_at.map(|path| seen(is_done, path)).into_iter().collect()
            }
            "mmap" if is_done => self.map(call, &arguments).into_iter().collect(),
            _ if is_done => {
                self.follow(call, argument(0), path);
                self.name(call, &arguments).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Follows descriptors and working folders.
    fn follow(&mut self, call: &Call, first: &str, path: Option<String>) {
        match call.name.as_str() {
            "dup" | "dup2" | "dup3" | "fcntl" => {
                let copy = call.value.map(|number| number.to_string()).zip(call.file.as_deref().map(plain));
                if let (Some(copy), Some((number, file))) = (copy, descriptor(first))
                    && self.synced.contains(&(number.to_owned(), plain(file)))
                {
                    self.synced.insert(copy);
                }
            }
            "chdir" | "fchdir" => {
                if let Some(folder) = descriptor(first).map(|(_, file)| plain(file)).or(path) {
                    self.folders.insert(call.process, folder.clone());
                    self.folder = folder;
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                let folder = self.folders.get(&call.process).cloned();
                if let (Some(child), Some(folder)) = (call.value, folder) {
                    self.folders.insert(child as u32, folder);
                }
            }
            name => self.io_uring += u64::from(name.starts_with("io_uring_")),
        }
    }

    /// The meaning of a call that makes, moves or removes a name.
    fn name(&self, call: &Call, arguments: &[&str]) -> Option<Act> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let path = |at: usize| self.path(call.process, None, argument(at));
        let path_at = |at: usize| self.path(call.process, Some(argument(at)), argument(at + 1));
        match call.name.as_str() {
            "truncate" => path(0).map(Act::Wrote),
            "mkdir" | "mknod" => path(0).map(Act::Created),
            "mkdirat" | "mknodat" => path_at(0).map(Act::Created),
            "symlink" => path(1).map(Act::Created),
            "symlinkat" => path_at(1).map(Act::Created),
            "unlink" | "rmdir" => path(0).map(Act::Removed),
            "unlinkat" => path_at(0).map(Act::Removed),
            "rename" => path(0).zip(path(1)).map(|(from, to)| Act::Renamed { from, to }),
            "renameat" | "renameat2" => path_at(0).zip(path_at(2)).map(|(from, to)| Act::Renamed { from, to }),
            "link" => path(0).zip(path(1)).map(|(from, to)| Act::Linked { from, to }),
            "linkat" => path_at(0).zip(path_at(2)).map(|(from, to)| Act::Linked { from, to }),
            _ => None,
        }
    }

    fn wrote(&self, call: &Call, written: &str) -> Vec<Act> {
        let Some((number, file)) = descriptor(written) else { return Vec::new() };
        let path = plain(file);
        let lasts = self.synced.contains(&(number.to_owned(), path.clone()))
            || call.name == "pwritev2" && ["RWF_SYNC", "RWF_DSYNC"].iter().any(|flag| call.arguments.contains(flag));
        vec![if lasts { Act::Sync { kind: SyncKind::Write, path: Some(path) } } else { Act::Wrote(path) }]
    }

    fn sync(&self, kind: SyncKind, first: &str, third: &str) -> Option<Act> {
        let path = match kind {
            SyncKind::Msync if !third.contains("MS_SYNC") => return None,
            SyncKind::Msync => {
                let address = address(first)?;
                let map = self.maps.iter().rev().find(|(from, to, _)| (*from..*to).contains(&address));
                map.map(|(.., path)| path.clone())
            }
            SyncKind::Sync => Some("/".to_owned()),
            _ => descriptor(first).map(|(_, file)| plain(file)),
        };
        // Sockets and pipes have no path.
        path.as_ref().is_none_or(|path| path.starts_with('/')).then_some(Act::Sync { kind, path })
    }

    fn map(&mut self, call: &Call, arguments: &[&str]) -> Option<Act> {
        let argument = |at: usize| arguments.get(at).copied().unwrap_or_default();
        let is_shared = argument(3).contains("MAP_SHARED") && argument(2).contains("PROT_WRITE");
        let (_, file) = descriptor(argument(4)).filter(|_| is_shared)?;
        let (from, length) = (call.value?, argument(1).parse::<u64>().ok()?);
        // An older file in the same place is there no more.
        self.maps.retain(|(start, ..)| *start != from);
        self.maps.push((from, from.saturating_add(length), plain(file)));
        Some(Act::Mapped(plain(file)))
    }

    /// The whole path of a name, which may begin at a descriptor or at the working folder.
    fn path(&self, process: u32, at: Option<&str>, name: &str) -> Option<String> {
        let name = quoted(name)?;
        let begin = match at.and_then(descriptor) {
            _ if name.starts_with('/') => String::new(),
            Some((_, folder)) => plain(folder),
            None => self.folders.get(&process).unwrap_or(&self.folder).clone(),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in begin.split('/').chain(name.split('/')) {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        let name = parts.pop().unwrap_or_default();
        let folder = format!("/{}", parts.join("/"));
        let folder = self.links.get(&folder).unwrap_or(&folder);
        Some(format!("{}/{name}", folder.trim_end_matches('/')))
    }

    fn open(&mut self, call: &Call, path: Option<String>, flags: &str) -> Vec<Act> {
        let Some(number) = call.value else {
            return path.map(Act::Missing).into_iter().collect();
        };
        let file = call.file.as_deref().map(plain);
        if let (Some(path), Some(file)) = (&path, &file)
            && let (Some((folder, name)), Some((of, same))) = (path.rsplit_once('/'), file.rsplit_once('/'))
            && name == same
            && folder != of
        {
            self.links.insert(folder.to_owned(), of.to_owned());
        }
        let Some(path) = file.or(path) else { return Vec::new() };
        let key = (number.to_string(), path.clone());
        if flags.contains("O_SYNC") || flags.contains("O_DSYNC") {
            self.synced.insert(key);
        } else {
            self.synced.remove(&key);
        }
        if flags.contains("O_TMPFILE") {
            return Vec::new();
        }
        let is_creat = call.name == "creat";
        let empties = (is_creat || flags.contains("O_TRUNC")).then(|| Act::Emptied(path.clone()));
        if is_creat || flags.contains("O_CREAT") {
            return empties.into_iter().chain([Act::Created(path)]).collect();
        }
        [Act::Seen(path)].into_iter().chain(empties).collect()
    }
}

fn seen(is_there: bool, path: String) -> Act {
    if is_there { Act::Seen(path) } else { Act::Missing(path) }
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
