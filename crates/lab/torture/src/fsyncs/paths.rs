//! Whole paths of names that a program gives, and its descriptors.

use super::strace::{descriptor, quoted};
use std::collections::{HashMap, HashSet};

/// Working folders, and symbolic links as far as the log tells of them.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Working folders by process, and the newest.
    folders: HashMap<u32, String>,
    folder: String,
    /// Files and folders by the paths that programs use, where these pass through symbolic links.
    links: HashMap<String, String>,
    /// Paths without a link in them: the kernel has named them.
    real: HashSet<String>,
}

impl Paths {
    pub fn work_in(&mut self, process: u32, folder: String) {
        self.folders.insert(process, folder.clone());
        self.folder = folder;
    }

    /// A child begins in the folder of its parent.
    pub fn begun(&mut self, parent: u32, child: u32) {
        if let Some(folder) = self.folders.get(&parent).cloned() {
            self.folders.insert(child, folder);
        }
    }

    /// Takes note of a path that the kernel has named.
    pub fn is_real(&mut self, path: &str) {
        let mut path = path;
        while path.len() > 1 && path.starts_with('/') && self.real.insert(path.to_owned()) {
            self.links.remove(path);
            path = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
    }

    /// A program has opened `path`, and the kernel names it `file`.
    pub fn opened(&mut self, path: &str, file: &str) {
        self.is_real(file);
        if path == file {
            return;
        }
        // The link is the folder, unless the kernel has named the folder itself.
        match (path.rsplit_once('/'), file.rsplit_once('/')) {
            (Some((folder, name)), Some((of, same))) if name == same && !self.real.contains(folder) => {
                self.links.insert(folder.to_owned(), of.to_owned())
            }
            _ => self.links.insert(path.to_owned(), file.to_owned()),
        };
    }

    /// The whole path of a name, which may begin at a descriptor or at the working folder.
    pub fn whole(&self, process: u32, at: Option<&str>, name: &str) -> Option<String> {
        let name = quoted(name)?;
        let begin = match at.and_then(descriptor) {
            _ if name.starts_with('/') => String::new(),
            Some((_, folder)) => folder,
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
        let path = format!("/{}", parts.join("/"));
        // A link in the last place is renamed and removed itself.
        let links = path.rmatch_indices('/').filter(|(at, _)| *at > 0);
        let link =
            links.map(|(at, _)| path.split_at(at)).find_map(|(folder, rest)| Some((self.links.get(folder)?, rest)));
        Some(link.map(|(folder, rest)| format!("{}{rest}", folder.trim_end_matches('/'))).unwrap_or(path))
    }
}

/// A file as a process has opened it.
#[derive(Clone, Debug)]
struct Open {
    path: String,
    /// Its writes last when they return.
    is_synchronous: bool,
}

/// Descriptors by process, which threads share.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// The table of a process, where it is that of another one.
    shared: HashMap<u32, u32>,
    tables: HashMap<u32, HashMap<String, Open>>,
}

impl Descriptors {
    /// The number of the table of a process.
    pub fn table(&self, process: u32) -> u32 {
        self.shared.get(&process).copied().unwrap_or(process)
    }

    pub fn opened(&mut self, process: u32, number: String, path: &str, is_synchronous: bool) {
        let table = self.table(process);
        self.tables.entry(table).or_default().insert(number, Open { path: path.to_owned(), is_synchronous });
    }

    /// A descriptor has a copy.
    pub fn copied(&mut self, process: u32, number: &str, copy: String) {
        let table = self.tables.entry(self.table(process)).or_default();
        match table.get(number).cloned() {
            Some(open) => drop(table.insert(copy, open)),
            None => drop(table.remove(&copy)),
        }
    }

    /// A child has the descriptors of its parent, or a copy of them.
    pub fn begun(&mut self, parent: u32, child: u32, shares: bool) {
        let table = self.table(parent);
        // The log may tell of calls of the child before.
        let own = self.tables.remove(&child).filter(|_| table != child).unwrap_or_default();
        if shares {
            self.shared.insert(child, table);
            self.tables.entry(table).or_default().extend(own);
        } else {
            self.shared.remove(&child);
            let mut copy = self.tables.get(&table).cloned().unwrap_or_default();
            copy.extend(own);
            self.tables.insert(child, copy);
        }
    }

    /// The path under which a descriptor was opened.
    pub fn path(&self, process: u32, number: &str) -> Option<String> {
        Some(self.tables.get(&self.table(process))?.get(number)?.path.clone())
    }

    /// Whether writes last when they return. A thread whose begin is not in the log may have opened nothing itself.
    pub fn is_synchronous(&self, process: u32, number: &str) -> bool {
        if let Some(open) = self.tables.get(&self.table(process)).and_then(|table| table.get(number)) {
            return open.is_synchronous;
        }
        let mut others = self.tables.values().filter_map(|table| table.get(number)).peekable();
        others.peek().is_some() && others.all(|open| open.is_synchronous)
    }
}
