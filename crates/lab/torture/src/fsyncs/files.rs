//! Files and folders: what has changed since it was made to last.

use super::calls::Act;
use super::{Flushes, Named, SyncKind, Unflushed, Unsynced};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use units::Nanos;

/// Folders that are never on a drive.
const ELSEWHERE: [&str; 3] = ["/dev/", "/proc/", "/sys/"];
/// The end of the path of a file without a name.
const UNNAMED: &str = " (deleted)";

/// A call from its begin to the latest time of its return.
type Span = (Nanos, Nanos);

/// The oldest and the newest change that wait to be made to last.
#[derive(Clone, Copy, Debug, Default)]
struct Changes(Option<(Span, Span)>);

impl Changes {
    fn add(&mut self, span: Span) {
        let (oldest, _) = self.0.unwrap_or((span, span));
        self.0 = Some((oldest, span));
    }

    /// When a change began that had surely ended by `time`: the newest that is known.
    fn before(self, time: Nanos) -> Option<Nanos> {
        let (oldest, newest) = self.0?;
        [newest, oldest].into_iter().find(|span| span.1 <= time).map(|span| span.0)
    }

    /// All that had ended by `time` lasts.
    fn done(&mut self, time: Nanos) {
        self.0 = self.0.filter(|(_, newest)| newest.1 > time).map(|(oldest, newest)| {
            let oldest = if oldest.1 <= time { newest } else { oldest };
            (oldest, newest)
        });
    }
}

/// A file or folder, which all its names share.
#[derive(Debug, Default)]
struct File {
    /// Changes of the contents that no call made to last.
    changed: Changes,
    /// Changes of the contents, or of the names in a folder, that no flush made to last.
    unflushed: Changes,
    /// Since when it is mapped into memory and may change at any time.
    mapped: Option<Nanos>,
    /// When the newest call that made it last had returned.
    synced: Option<Nanos>,
    /// A call has made it last since it has its name.
    was_synced: bool,
    /// Calls of `sync_file_range` since it was flushed.
    ranges: Vec<Unflushed>,
}

impl File {
    /// Since when a file is dirty, which a call that begins at `time` has to make last.
    fn dirty_since(&self, time: Nanos) -> Option<Nanos> {
        let mapped = self.mapped.map(|mapped| mapped.max(self.synced.unwrap_or(0)).min(time));
        self.unflushed.before(time).max(mapped)
    }

    /// A call made it last.
    fn lasts(&mut self, span: Span) {
        self.changed.done(span.0);
        self.was_synced = true;
        self.synced = Some(span.1);
    }
}

/// Files and folders by their paths.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The folder of all that counts, with a slash behind it; empty: all.
    folder: String,
    /// When the log begins.
    began: Option<Nanos>,
    /// Files, in the order in which the log tells of them.
    by_id: Vec<File>,
    /// Identities by the names that are there.
    by_path: BTreeMap<String, usize>,
    /// Identities that names had until a call took them away.
    left: HashMap<String, (usize, Span)>,
    /// Files that were made without a name, by the path that the log gives them.
    unnamed: BTreeSet<String>,
    /// Names that are not there.
    missing: BTreeSet<String>,
    /// Names that no sync of their folder made to last.
    names: BTreeMap<String, (Named, Nanos)>,
    /// Names since when the log tells of them.
    named: BTreeMap<String, (Named, Nanos)>,
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

/// Takes out what is `from` or in it, with its paths in `to`.
fn take<T>(table: &mut BTreeMap<String, T>, from: &str, to: &str) -> Vec<(String, T)> {
    let taken = inside(table, from).into_iter();
    taken.filter_map(|path| table.remove(&path).map(|value| (format!("{to}{}", &path[from.len()..]), value))).collect()
}

/// Moves what is `from` or in it to `to`, and what is there back if the two are exchanged.
fn move_in<T>(table: &mut BTreeMap<String, T>, from: &str, to: &str, exchanges: bool) {
    let back = take(table, to, from);
    let moved = take(table, from, to);
    table.extend(moved);
    if exchanges {
        table.extend(back);
    }
}

impl Files {
    pub fn new(folder: Option<&str>) -> Self {
        Self { folder: folder.unwrap_or_default().to_owned(), ..Self::default() }
    }

    /// Whether a file counts.
    pub fn counts(&self, path: &str) -> bool {
        is_in(path, &self.folder) && !ELSEWHERE.iter().any(|folder| path.starts_with(folder)) && !self.is_gone(path)
    }

    /// A file whose last name was removed has nothing to last.
    fn is_gone(&self, path: &str) -> bool {
        let Some(name) = path.strip_suffix(UNNAMED).filter(|_| !self.unnamed.contains(path)) else { return false };
        !self.left.get(name).is_some_and(|(id, _)| self.by_path.values().any(|of| of == id))
    }

    /// The identity of the file that had a name when a call began.
    fn id(&mut self, path: &str, begin: Nanos) -> usize {
        let removed = path.strip_suffix(UNNAMED).and_then(|name| self.left.get(name));
        if let Some((id, _)) = removed.filter(|_| !self.unnamed.contains(path)) {
            return *id;
        }
        let now = self.by_path.get(path).copied();
        match self.left.get(path) {
            Some((id, until)) if begin < until.0 || (begin <= until.1 && now.is_none()) => *id,
            _ => now.unwrap_or_else(|| self.insert(path.to_owned())),
        }
    }

    /// A new file under a name.
    fn insert(&mut self, path: String) -> usize {
        self.by_id.push(File::default());
        self.missing.remove(&path);
        self.by_path.insert(path, self.by_id.len() - 1);
        self.by_id.len() - 1
    }

    /// The names in the folder of a path have changed.
    fn touch_folder_of(&mut self, path: &str, span: Span) {
        let id = self.id(parent(path), span.0);
        self.by_id[id].unflushed.add(span);
    }

    fn wrote(&mut self, path: &str, span: Span) {
        let id = self.id(path, span.0);
        self.by_id[id].changed.add(span);
        self.by_id[id].unflushed.add(span);
    }

    /// Takes note of a call that changes or opens something.
    pub fn change(&mut self, act: Act, span: Span) {
        self.began.get_or_insert(span.0);
        match act {
            Act::Wrote(path) => self.wrote(&path, span),
            Act::WroteSince(path, begin) => self.wrote(&path, (begin, span.1)),
            Act::Emptied(path) if self.by_path.contains_key(&path) => self.wrote(&path, span),
            Act::Mapped(path) => {
                let id = self.id(&path, span.0);
                self.by_id[id].mapped = Some(span.0);
            }
            Act::Seen(path) => drop(self.id(&path, span.0)),
            Act::Missing(path) => {
                self.by_path.remove(&path);
                self.missing.insert(path);
            }
            Act::Created { path, is_sure } => self.create(path, is_sure, span),
            Act::Unnamed(path) => {
                self.insert(path.clone());
                self.unnamed.insert(path);
            }
            Act::Linked { from, to } => {
                let id = self.id(&from, span.0);
                self.missing.remove(&to);
                self.by_path.insert(to.clone(), id);
                self.touch_folder_of(&to, span);
                self.name(to, Named::Linked, span.0);
            }
            Act::Renamed { from, to } => self.rename(&from, &to, span, false),
            Act::Exchanged { one, other } => self.rename(&one, &other, span, true),
            Act::Removed(path) => {
                let id = self.id(&path, span.0);
                self.touch_folder_of(&path, span);
                self.by_path.remove(&path);
                self.names.remove(&path);
                self.named.remove(&path);
                self.missing.insert(path.clone());
                self.left.insert(path, (id, span));
            }
            Act::Asked(path) => {
                let id = self.id(&path, span.0);
                self.by_id[id].lasts(span);
                self.by_id[id].unflushed.done(span.0);
                self.folder_lasts(&path, span.0);
            }
            Act::Emptied(_) | Act::Sync { .. } => {}
        }
    }

    /// A file was made, unless it was there before.
    fn create(&mut self, path: String, is_sure: bool, span: Span) {
        let is_new = is_sure || self.missing.contains(&path);
        if !is_new && self.by_path.contains_key(&path) {
            return;
        }
        let id = self.insert(path.clone());
        if is_new {
            self.by_id[id].unflushed.add(span);
            self.touch_folder_of(&path, span);
        }
        self.name(path, Named::Created, span.0);
    }

    fn name(&mut self, path: String, named: Named, time: Nanos) {
        self.names.insert(path.clone(), (named, time));
        self.named.insert(path, (named, time));
    }

    /// A folder takes along all that is in it.
    fn rename(&mut self, from: &str, to: &str, span: Span, exchanges: bool) {
        let id = self.id(from, span.0);
        // Of two names of one file none changes.
        if from == to || is_in(to, from) || is_in(from, to) || self.by_path.get(to) == Some(&id) {
            return;
        }
        self.touch_folder_of(from, span);
        self.touch_folder_of(to, span);
        if exchanges {
            self.id(to, span.0);
        }
        for path in inside(&self.by_path, from).into_iter().chain(inside(&self.by_path, to)) {
            let id = self.by_path[&path];
            self.left.insert(path, (id, span));
        }
        // The log may lack the name as it was.
        self.by_path.insert(from.to_owned(), id);
        move_in(&mut self.by_path, from, to, exchanges);
        move_in(&mut self.names, from, to, exchanges);
        move_in(&mut self.named, from, to, exchanges);
        // Other names may be in the folders now.
        for folder in [from, to] {
            let there = self.missing.range(folder.to_owned()..).take_while(|path| path.starts_with(folder));
            for path in there.filter(|path| is_in(path, folder)).cloned().collect::<Vec<_>>() {
                self.missing.remove(&path);
            }
        }
        if exchanges {
            self.gets_name(from, span);
        } else {
            self.missing.insert(from.to_owned());
        }
        self.gets_name(to, span);
    }

    fn gets_name(&mut self, path: &str, span: Span) {
        if let Some(id) = self.by_path.get(path) {
            let file = &mut self.by_id[*id];
            file.was_synced &= file.changed.0.is_none();
        }
        self.name(path.to_owned(), Named::Renamed, span.0);
    }

    /// Takes note of a call that returned success. `is_within`: the record tells of flushes during it.
    pub fn sync(&mut self, call: Unflushed, flushes: &Flushes, is_within: bool) {
        let (begin, end) = call.span;
        let began = *self.began.get_or_insert(begin);
        // Of flushes before the record nothing is known.
        let is_flushed = |since: Nanos| !is_within || since < flushes.span.0 || flushes.any_within(since, end);
        if matches!(call.kind, SyncKind::Sync | SyncKind::Syncfs) {
            return self.sync_all(call, is_flushed);
        }
        let id = self.id(&call.path, begin);
        let file = &mut self.by_id[id];
        match call.kind {
            // The written bytes alone last: other writes may still wait.
            SyncKind::Range | SyncKind::Write if is_flushed(begin) => {}
            SyncKind::Range => file.ranges.push(call),
            SyncKind::Write => {
                file.unflushed.add(call.span);
                self.unflushed.push(call);
            }
            _ => {
                let (since, before) = (file.dirty_since(begin), file.synced.unwrap_or(began).min(begin));
                file.lasts(call.span);
                file.ranges.retain(|range| !is_flushed(range.span.0));
                self.folder_lasts(&call.path, begin);
                match since {
                    Some(since) if is_flushed(since) => self.by_id[id].unflushed.done(begin),
                    Some(_) => self.unflushed.push(call),
                    None if is_flushed(before) => {}
                    None => self.unchanged.push(call),
                }
            }
        }
    }

    /// Names that were in a folder before `time` last.
    fn folder_lasts(&mut self, folder: &str, time: Nanos) {
        for name in inside(&self.names, folder).into_iter().filter(|name| parent(name) == folder) {
            if self.names.get(&name).is_some_and(|(_, since)| *since <= time) {
                self.names.remove(&name);
            }
        }
    }

    fn sync_all(&mut self, call: Unflushed, is_flushed: impl Fn(Nanos) -> bool) {
        let begin = call.span.0;
        let counted: BTreeSet<usize> =
            self.by_path.iter().filter(|(path, _)| self.counts(path)).map(|(_, id)| *id).collect();
        let mut is_lie = false;
        for (id, file) in self.by_id.iter_mut().enumerate() {
            // A mapped file need not have changed.
            let is_lost = file.unflushed.before(begin).is_some_and(|since| !is_flushed(since));
            is_lie |= is_lost && counted.contains(&id);
            file.lasts(call.span);
            file.ranges.retain(|range| !is_flushed(range.span.0));
            if !is_lost {
                file.unflushed.done(begin);
            }
        }
        self.names.retain(|_, (_, since)| *since > begin);
        if is_lie {
            self.unflushed.push(call);
        } else if !is_flushed(begin) {
            self.unchanged.push(call);
        }
    }

    /// Calls without a flush, files and names that nothing made to last. A log that shows no writes tells of no file
    /// that it did not change.
    pub fn findings(mut self, shows_writes: bool) -> (Vec<Unflushed>, Vec<Unsynced>, Vec<Unsynced>) {
        if !shows_writes {
            self.unflushed.append(&mut self.unchanged);
        }
        let there: BTreeSet<usize> = self.by_path.values().copied().collect();
        self.unflushed.extend(there.into_iter().flat_map(|id| std::mem::take(&mut self.by_id[id].ranges)));
        self.unflushed.sort_by(|one, other| (one.span.1, &one.path).cmp(&(other.span.1, &other.path)));
        let is_unsynced = |path: &str| {
            let file = self.by_path.get(path).map(|id| &self.by_id[*id]);
            file.is_some_and(|file| file.changed.0.is_some() && !file.was_synced)
        };
        let counted = |(path, (named, time)): (&String, &(Named, Nanos))| {
            self.counts(path).then(|| Unsynced { path: path.clone(), named: *named, time: *time })
        };
        let files = self.named.iter().filter(|(path, _)| is_unsynced(path)).filter_map(counted).collect();
        let names = self.names.iter().filter_map(counted).collect();
        (self.unflushed, files, names)
    }
}
