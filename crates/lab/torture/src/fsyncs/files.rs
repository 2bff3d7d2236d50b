//! Files and folders: what has changed since it was made to last.

use super::calls::Act;
use super::{Named, SyncKind, Unflushed, Unsynced};
use std::collections::{BTreeMap, HashSet};
use units::Nanos;

/// Folders that are never on a drive.
const ELSEWHERE: [&str; 3] = ["/dev/", "/proc/", "/sys/"];

#[derive(Clone, Debug, Default)]
struct File {
    /// End of the newest change that no call made to last.
    changed: Option<Nanos>,
    /// End of the newest change that no flush made to last.
    unflushed: Option<Nanos>,
    /// It is mapped into memory and may change at any time.
    is_mapped: bool,
    /// A call has made it last since it has its name.
    was_synced: bool,
    /// Calls of `sync_file_range` since it was flushed.
    ranges: Vec<Unflushed>,
}

/// Files and folders by their paths.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The folder of all that counts, with a slash behind it; empty: all.
    folder: String,
    by_path: BTreeMap<String, File>,
    /// Names that no sync of their folder made to last.
    names: BTreeMap<String, Unsynced>,
    /// Names since when the log tells of them.
    named: BTreeMap<String, Unsynced>,
    /// Names that were there before.
    known: HashSet<String>,
    unflushed: Vec<Unflushed>,
    /// The same of files that did not change as far as the log tells.
    unchanged: Vec<Unflushed>,
}

/// The folder of a path.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

/// The paths of a table that are `folder` or in it.
fn inside<T>(table: &BTreeMap<String, T>, folder: &str) -> Vec<String> {
    let begin = table.range(folder.to_owned()..).map(|(path, _)| path).take_while(|path| path.starts_with(folder));
    begin.filter(|path| is_in(path, folder)).cloned().collect()
}

/// Whether a path is `folder` or in it.
fn is_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Files {
    pub fn new(folder: Option<&str>) -> Self {
        Self { folder: folder.unwrap_or_default().to_owned(), ..Self::default() }
    }

    /// Whether a file counts.
    pub fn counts(&self, path: &str) -> bool {
        is_in(path, &self.folder) && !ELSEWHERE.iter().any(|folder| path.starts_with(folder))
    }

    /// Takes note of a call that changes or opens something.
    pub fn change(&mut self, act: Act, begin: Nanos, end: Nanos) {
        match act {
            Act::Wrote(path) => {
                let file = self.by_path.entry(path).or_default();
                (file.changed, file.unflushed) = (Some(end), Some(end));
            }
            Act::Emptied(path) if self.known.contains(&path) => self.change(Act::Wrote(path), begin, end),
            Act::Mapped(path) => self.by_path.entry(path).or_default().is_mapped = true,
            Act::Seen(path) => self.see(path),
            Act::Missing(path) => drop(self.known.remove(&path)),
            Act::Created(path) if self.known.contains(&path) => self.see(path),
            Act::Created(path) => {
                self.by_path.insert(path.clone(), File::default());
                self.name(path, Named::Created, begin);
            }
            Act::Linked { from, to } => {
                let file = self.by_path.get(&from).cloned().unwrap_or_default();
                self.by_path.insert(to.clone(), file);
                self.name(to, Named::Linked, begin);
            }
            Act::Renamed { from, to } => self.rename(&from, &to, begin),
            Act::Removed(path) => {
                self.forget(&path);
                self.by_path.remove(&path);
            }
            Act::Emptied(_) | Act::Sync { .. } => {}
        }
    }

    /// A name was there before, unless the log has told of its creation.
    fn see(&mut self, path: String) {
        self.by_path.entry(path.clone()).or_default();
        self.known.insert(path);
    }

    fn name(&mut self, path: String, named: Named, time: Nanos) {
        let unsynced = Unsynced { path: path.clone(), named, time };
        self.names.insert(path.clone(), unsynced.clone());
        self.named.insert(path.clone(), unsynced);
        self.known.insert(path);
    }

    fn forget(&mut self, path: &str) {
        self.names.remove(path);
        self.named.remove(path);
        self.known.remove(path);
    }

    /// A folder takes along all that is in it.
    fn rename(&mut self, from: &str, to: &str, time: Nanos) {
        if from == to {
            return;
        }
        let moved = |path: &str| format!("{to}{}", &path[from.len()..]);
        self.forget(to);
        self.by_path.remove(to);
        for path in inside(&self.by_path, from) {
            if let Some(file) = self.by_path.remove(&path) {
                self.by_path.insert(moved(&path), file);
            }
        }
        for names in [&mut self.names, &mut self.named] {
            for path in inside(names, from) {
                if let Some(name) = names.remove(&path) {
                    names.insert(moved(&path), Unsynced { path: moved(&path), ..name });
                }
            }
        }
        self.known.remove(from);
        if let Some(file) = self.by_path.get_mut(to) {
            file.was_synced &= file.changed.is_none();
        }
        self.name(to.to_owned(), Named::Renamed, time);
    }

    /// Takes note of a call that returned success. `is_flushed`: a flush ended within it, or that cannot be known.
    pub fn sync(&mut self, call: Unflushed, is_flushed: bool) {
        if matches!(call.kind, SyncKind::Sync | SyncKind::Syncfs) {
            let paths: Vec<String> = self.by_path.keys().cloned().collect();
            let is_dirty = self.names.keys().any(|name| self.counts(name))
                || self.by_path.iter().any(|(path, file)| file.unflushed.is_some() && self.counts(path));
            for path in paths {
                self.lasts(&path, &call, is_flushed);
            }
            self.names.retain(|_, name| name.time > call.span.0);
            if !is_flushed {
                if is_dirty { &mut self.unflushed } else { &mut self.unchanged }.push(call);
            }
            return;
        }
        let is_known = self.by_path.contains_key(&call.path);
        let names: Vec<String> =
            inside(&self.names, &call.path).into_iter().filter(|name| parent(name) == call.path).collect();
        let file = self.by_path.entry(call.path.clone()).or_default();
        let is_dirty = !is_known || !names.is_empty() || file.is_mapped || file.unflushed.is_some();
        if call.kind == SyncKind::Range {
            if !is_flushed {
                file.ranges.push(call);
            }
            return;
        }
        if call.kind == SyncKind::Write {
            // The written bytes alone last: other writes may still wait.
            if !is_flushed {
                file.unflushed = Some(call.span.1);
                self.unflushed.push(call);
            }
            return;
        }
        self.lasts(&call.path, &call, is_flushed);
        for name in names {
            if self.names.get(&name).is_some_and(|unsynced| unsynced.time <= call.span.0) {
                self.names.remove(&name);
            }
        }
        if !is_flushed {
            if is_dirty { &mut self.unflushed } else { &mut self.unchanged }.push(call);
        }
    }

    /// Changes that ended before the call began last.
    fn lasts(&mut self, path: &str, call: &Unflushed, is_flushed: bool) {
        let Some(file) = self.by_path.get_mut(path) else { return };
        let is_before = |changed: &Nanos| *changed <= call.span.0;
        file.changed = file.changed.filter(|changed| !is_before(changed));
        file.was_synced = true;
        if is_flushed {
            file.unflushed = file.unflushed.filter(|changed| !is_before(changed));
            file.ranges.clear();
        }
    }

    /// Calls without a flush, files and names that nothing made to last. A log that shows no writes tells of no file
    /// that it did not change.
    pub fn findings(mut self, shows_writes: bool) -> (Vec<Unflushed>, Vec<Unsynced>, Vec<Unsynced>) {
        if !shows_writes {
            self.unflushed.append(&mut self.unchanged);
        }
        let ranges = self.by_path.values_mut().flat_map(|file| std::mem::take(&mut file.ranges));
        self.unflushed.extend(ranges);
        self.unflushed.sort_by(|one, other| (one.span.1, &one.path).cmp(&(other.span.1, &other.path)));
        let is_unsynced = |name: &&Unsynced| {
            self.by_path.get(&name.path).is_some_and(|file| file.changed.is_some() && !file.was_synced)
                && self.counts(&name.path)
        };
        let files = self.named.values().filter(is_unsynced).cloned().collect();
        let names = self.names.values().filter(|name| self.counts(&name.path)).cloned().collect();
        (self.unflushed, files, names)
    }
}
