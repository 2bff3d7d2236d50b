//! Was every acknowledged sync a flush? The record of a served drive beside the system calls of the programs that used
//! it.
//!
//! ```text
//! serve --record  -> Flushes (when the drive answered flushes)   \
//!                                                                  Fsyncs: calls without a flush, names without a sync
//! strace -y -ttt  -> Calls (whole calls) -> Files (what is dirty) /
//! ```
//! A call surely did not reach the drive if no flush was answered from the change that it had to make last to the next
//! line of its process: by then it had returned.
//!
//! Simplified: a flush in that time is taken for the flush of the call, whichever call asked for it. Requests of
//! `io_uring` are not in such a log.

mod calls;
mod files;
mod paths;
mod record;
mod strace;

pub use calls::{Call, Calls};
pub use record::Flushes;
pub use strace::{Event, Line, Outcome, read as read_line};

use calls::Act;
use files::Files;
use std::io::{self, BufRead};
use units::Nanos;

/// A kind of call that returns once data lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncKind {
    /// `fsync` of a file or folder.
    Fsync,
    /// `fdatasync` of a file.
    Fdatasync,
    /// `msync` with `MS_SYNC` of a mapped file.
    Msync,
    /// A write to a file opened with `O_SYNC` or `O_DSYNC`, or with `RWF_SYNC` or `RWF_DSYNC`.
    Write,
    /// `sync_file_range`, which asks for no flush.
    Range,
    /// `syncfs` of a whole file system.
    Syncfs,
    /// `sync` of all file systems.
    Sync,
}

impl SyncKind {
    /// The name that users know.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::Msync => "msync",
            Self::Write => "O_SYNC write",
            Self::Range => "sync_file_range",
            Self::Syncfs => "syncfs",
            Self::Sync => "sync",
        }
    }
}

/// A call that returned success before the drive had answered a flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unflushed {
    /// Kind of the call.
    pub kind: SyncKind,
    /// The file or folder.
    pub path: String,
    /// Number of the process or thread.
    pub process: u32,
    /// When it was called, and when it had returned: nanoseconds since 1970.
    pub span: (Nanos, Nanos),
}

/// How a name came to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Opened with `O_CREAT`, or made as a folder.
    Created,
    /// A file was renamed to it.
    Renamed,
    /// A file was linked to it.
    Linked,
}

impl Named {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Renamed => "renamed",
            Self::Linked => "linked",
        }
    }
}

/// A name that nothing made to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsynced {
    /// The file or folder with that name.
    pub path: String,
    /// How it came to be there.
    pub named: Named,
    /// When: nanoseconds since 1970.
    pub time: Nanos,
}

/// Counts of calls that ask for data to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that returned success within the record.
    pub joined: u64,
    /// Of these, calls within which a flush was answered.
    pub flushed: u64,
    /// Of these, calls without a flush that needed none: the file had not changed, or a later call made the range of a
    /// `sync_file_range` last.
    pub needless: u64,
    /// Calls that returned success before the record begins or after it ends.
    pub outside: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Calls that never returned.
    pub unfinished: u64,
    /// Calls whose file the log does not name.
    pub nameless: u64,
    /// Lines of the log.
    pub lines: u64,
    /// Lines that were not understood.
    pub odd_lines: u64,
    /// Calls of `io_uring`, whose syncs the log does not show.
    pub io_uring: u64,
}

/// The findings of a record and a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fsyncs {
    /// The record of the drive.
    pub flushes: Flushes,
    /// Counts of the calls behind the findings.
    pub counts: Counts,
    /// Calls without a flush, in order of their return.
    pub unflushed: Vec<Unflushed>,
    /// Files whose contents no call made to last, by name.
    pub files: Vec<Unsynced>,
    /// Names that no sync of their folder made to last, by name.
    pub names: Vec<Unsynced>,
}

/// Why the two files cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FsyncsError {
    /// The record cannot be read.
    #[error("the record cannot be read: {0}")]
    Record(io::Error),
    /// The log of calls cannot be read.
    #[error("the log of calls cannot be read: {0}")]
    Calls(io::Error),
    /// The record has no time of day.
    #[error("the record tells no time of day; write it with `nandarium serve --record FILE`")]
    NoClock,
    /// Nothing in the log of calls was understood.
    #[error("no line has a call and the seconds since 1970; write the log with `strace -f -y -ttt -o FILE`")]
    NoCalls,
    /// The log has no names of files.
    #[error("no call tells its file; write the log with `strace -f -y -ttt -o FILE`")]
    NoFiles,
    /// The log has no sync that could be judged.
    #[error("no sync of a file in the folder returned success; check --folder, or trace the process that syncs")]
    NoSyncs,
    /// The log and the record do not overlap.
    #[error(
        "no call lies within the time of the record, from {from} s to {to} s since 1970; take both on one machine, in \
         one run"
    )]
    Apart {
        /// First second of the record.
        from: Nanos,
        /// Last second of the record.
        to: Nanos,
    },
}

impl Fsyncs {
    /// Joins the record of a drive with a log of system calls. With `folder`, only files in it count.
    ///
    /// # Errors
    /// A file cannot be read, or they have nothing in common.
    pub fn join(record: impl BufRead, log: impl BufRead, folder: Option<&str>) -> Result<Self, FsyncsError> {
        let flushes = Flushes::read(record)?;
        let mut calls = Calls::new(log);
        // The drive is mounted in a folder, not in a link.
        if let Some(folder) = folder {
            calls.paths.is_real(folder);
        }
        let mut joined = Joined { files: Files::new(folder), flushes: &flushes, counts: Counts::default() };
        while let Some(call) = calls.next_call().map_err(FsyncsError::Calls)? {
            for act in calls.acts(&call) {
                joined.take(&call, act);
            }
        }
        let Joined { files, counts, .. } = joined;
        let counts = Counts {
            lines: calls.lines,
            odd_lines: calls.odd_lines,
            unfinished: calls.unfinished_syncs(),
            io_uring: calls.io_uring,
            ..counts
        };
        if calls.odd_lines == calls.lines {
            return Err(FsyncsError::NoCalls);
        }
        let syncs = counts.joined + counts.outside + counts.failed;
        if syncs == 0 && counts.nameless > 0 {
            return Err(FsyncsError::NoFiles);
        }
        if counts.joined == 0 && counts.outside > 0 {
            let (from, to) = flushes.span;
            return Err(FsyncsError::Apart { from: from / 1_000_000_000, to: to / 1_000_000_000 });
        }
        let (unflushed, files, names) = files.findings(calls.shows_writes);
        let counts = Counts { needless: counts.joined - counts.flushed - unflushed.len() as u64, ..counts };
        let found = Self { flushes, counts, unflushed, files, names };
        if found.holds() && counts.joined == 0 { Err(FsyncsError::NoSyncs) } else { Ok(found) }
    }

    /// Whether nothing was found.
    pub fn holds(&self) -> bool {
        self.unflushed.is_empty() && self.files.is_empty() && self.names.is_empty()
    }
}

/// The two files, as far as they are read.
struct Joined<'a> {
    files: Files,
    flushes: &'a Flushes,
    counts: Counts,
}

impl Joined<'_> {
    fn take(&mut self, call: &Call, act: Act) {
        let Act::Sync { kind, path } = act else {
            return self.files.change(act, (call.begin, call.end));
        };
        let Some(path) = path else {
            // A descriptor that is not open has no file.
            *(if call.value.is_some() { &mut self.counts.nameless } else { &mut self.counts.failed }) += 1;
            return;
        };
        if kind != SyncKind::Sync && !self.files.counts(&path) {
            return;
        }
        if call.value.is_none() {
            self.counts.failed += 1;
            return;
        }
        let (from, to) = self.flushes.span;
        // Without a later line it may have returned at any time.
        let (least_end, end) =
            if call.end == Nanos::MAX { (call.begin, to.max(call.begin)) } else { (call.end, call.end) };
        let is_within = least_end >= from && call.begin <= to;
        if is_within {
            self.counts.joined += 1;
            self.counts.flushed += u64::from(self.flushes.any_within(call.begin, end));
        } else {
            self.counts.outside += 1;
        }
        let unflushed = Unflushed { kind, path, process: call.process, span: (call.begin, end) };
        self.files.sync(unflushed, self.flushes, is_within);
    }
}
