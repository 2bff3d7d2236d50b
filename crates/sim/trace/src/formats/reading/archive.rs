//! Common code of archives of several files: the choice of the trace.

use super::TraceError;

/// Names that a message lists.
const LISTED_MAX: usize = 20;

/// How much of a name was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    No,
    /// Its end after a slash.
    ByEnd,
    Whole,
}

/// Whether `wanted` is a name, or its end after a slash. With `./` in front it is a whole name.
pub(super) fn called(name: &str, wanted: &str) -> Called {
    let (name, whole) = (name.trim_start_matches("./"), wanted.trim_start_matches("./"));
    if name == whole {
        Called::Whole
    } else if whole == wanted && name.strip_suffix(wanted).is_some_and(|folder| folder.ends_with('/')) {
        Called::ByEnd
    } else {
        Called::No
    }
}

/// The name of the file that is meant by `wanted`: a whole name before the ends of others.
/// Errors: none is called so, or several are.
#[cfg(feature = "zip")]
pub(super) fn meant(path: &str, kind: &'static str, names: &[String], wanted: &str) -> Result<usize, TraceError> {
    let of = |how: Called| -> Vec<usize> {
        let all = names.iter().enumerate().filter(|(_, name)| called(name, wanted) == how);
        all.map(|(place, _)| place).collect()
    };
    match (of(Called::Whole).as_slice(), of(Called::ByEnd).as_slice()) {
        ([place], _) | ([], [place]) => Ok(*place),
        ([], []) => Err(no_such_member(path, kind, Some(wanted), names)),
        (places @ [_, ..], _) => Err(same_name(path, kind, wanted, places.len())),
        ([], places) => {
            let matches: Vec<String> = places.iter().map(|place| names[*place].clone()).collect();
            Err(ambiguous(path, kind, wanted, &matches))
        }
    }
}

/// Several files end in `wanted`.
#[cold]
pub(super) fn ambiguous(path: &str, kind: &'static str, wanted: &str, names: &[String]) -> TraceError {
    let shown: Vec<String> = names
        .iter()
        // What is whole already is told from the end of another one by a mark.
        .map(|name| if name.as_str() == wanted { format!("./{name}") } else { name.clone() })
        .collect();
    let (path, member) = (path.to_owned(), wanted.to_owned());
    TraceError::AmbiguousMember { path, kind, member, count: names.len(), names: listed(&shown) }
}

/// Several files have one name.
#[cold]
pub(super) fn same_name(path: &str, kind: &'static str, name: &str, count: usize) -> TraceError {
    TraceError::SameMember { path: path.to_owned(), kind, member: name.to_owned(), count }
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
