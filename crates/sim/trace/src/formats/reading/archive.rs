//! What archives of several files have in common: which of them is the trace.

use super::TraceError;

/// Names that a message lists.
const LISTED_MAX: usize = 20;

/// Whether `wanted` is a name, or its end after a slash.
pub(super) fn is_called(name: &str, wanted: &str) -> bool {
    let name = name.trim_start_matches("./");
    let wanted = wanted.trim_start_matches("./");
    name == wanted || name.strip_suffix(wanted).is_some_and(|folder| folder.ends_with('/'))
}

/// Whether a file has attributes of another one, which macOS puts beside it.
pub(super) fn is_attributes(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with("._"))
}

#[cold]
pub(super) fn several(path: &str, kind: &'static str, names: &[String]) -> TraceError {
    TraceError::SeveralMembers { path: path.to_owned(), kind, count: names.len(), names: listed(names) }
}

/// No file is called `wanted`, or there is none at all.
#[cold]
pub(super) fn no_such_member(path: &str, kind: &'static str, wanted: Option<&str>, names: &[String]) -> TraceError {
    let path = path.to_owned();
    match wanted {
        Some(member) => TraceError::NoSuchMember { path, kind, member: member.to_owned(), names: listed(names) },
        None => TraceError::Archive { path, kind, problem: "it has no file with contents".to_owned() },
    }
}

fn listed(names: &[String]) -> String {
    let mut listed: Vec<String> = names.iter().take(LISTED_MAX).cloned().collect();
    if names.len() > LISTED_MAX {
        listed.push(format!("and {} more", names.len() - LISTED_MAX));
    }
    if listed.is_empty() { "no files".to_owned() } else { listed.join(", ") }
}
