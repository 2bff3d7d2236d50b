//! Options for single drives of a comparison: `--price NAME=120EUR`, `--tbw NAME=1752TB`.

use crate::failure::Failure;
use std::collections::BTreeMap;

/// What the names of built-in drives end with.
const LIKE: &str = "like";

/// A stack of a comparison: the given form, and its name in the table.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    pub given: &'a str,
    pub name: &'a str,
}

/// The values of an option that is given as `NAME=VALUE`, by the stacks as they were given. `kind` is the name of a
/// value in messages, `example` one of them.
///
/// # Errors
/// There is no `=`, no such stack or several, a value that `read` refuses, or two for one stack.
pub fn by_stack<'a, T>(
    option: &str,
    texts: &[String],
    stacks: &[Compared<'a>],
    (kind, example): (&str, &str),
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<BTreeMap<&'a str, T>, Failure> {
    let mut values = BTreeMap::new();
    for text in texts {
        let wrong = |problem: String| Failure::usage(format!("{option} {text}: {problem}"));
        // Names have `=` in them where a key is changed.
        let Some((name, value)) = text.rsplit_once('=') else {
            let first = stacks.first().map_or("NAME", |stack| stack.name);
            return Err(wrong(format!("write NAME={kind}, such as {first}={example}")));
        };
        let value = read(value).map_err(wrong)?;
        let stack = find(name, stacks).map_err(wrong)?;
        if values.insert(stack.given, value).is_some() {
            return Err(wrong(format!("`{}` has one already; give one", stack.name)));
        }
    }
    Ok(values)
}

/// The stack that `name` means: its own name or how it was given, whatever the case, blanks and dashes; its name
/// without `-like`; or a part that no other one has.
fn find<'a>(name: &str, stacks: &[Compared<'a>]) -> Result<Compared<'a>, String> {
    let wanted = plain(name);
    let names = |stack: &Compared<'_>| [plain(stack.name), plain(stack.given)];
    let is_whole = |stack: &&Compared<'a>| names(stack).contains(&wanted);
    let is_short = |stack: &&Compared<'a>| names(stack).iter().any(|name| name.strip_suffix(LIKE) == Some(&wanted));
    let is_part = |stack: &&Compared<'a>| !wanted.is_empty() && names(stack).iter().any(|name| name.contains(&wanted));
    let exact = stacks.iter().find(|stack| stack.given == name || stack.name == name);
    if let Some(stack) = exact.or_else(|| stacks.iter().find(is_whole)).or_else(|| stacks.iter().find(is_short)) {
        return Ok(*stack);
    }
    let mut found: Vec<&Compared<'a>> = stacks.iter().filter(is_part).collect();
    // A stack that is compared with itself is one.
    found.dedup_by_key(|stack| stack.given);
    let list = |stacks: &[&Compared<'_>]| stacks.iter().map(|stack| stack.name).collect::<Vec<_>>().join(", ");
    match found.as_slice() {
        [stack] => Ok(**stack),
        [] => Err(format!("`{name}` is not compared; compared are {}", list(&stacks.iter().collect::<Vec<_>>()))),
        several => Err(format!("`{name}` may be {}; write more of the name", list(several))),
    }
}

/// A name without case, blanks and dashes.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !" -_".contains(*letter)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_known_by_its_short_name() {
        let names = ["micron-7450-max-like", "micron-7450-max-like+ftl.gc.victim=fifo", "sk-hynix-pe8110-like", "mine"];
        let stacks = names.map(|name| Compared { given: if name == "mine" { "../mine.toml" } else { name }, name });
        for (name, wanted) in [
            ("micron-7450-max-like", 0),
            ("Micron 7450 MAX", 0),
            ("micron-7450-max", 0),
            ("micron-7450-max-like+ftl.gc.victim=fifo", 1),
            ("fifo", 1),
            ("PE8110", 2),
            ("SK hynix", 2),
            ("Mine", 3),
            ("../mine.toml", 3),
        ] {
            assert_eq!(find(name, &stacks).unwrap().name, names[wanted], "{name}");
        }
        assert_eq!(
            find("7450", &stacks).unwrap_err(),
            "`7450` may be micron-7450-max-like, micron-7450-max-like+ftl.gc.victim=fifo; write more of the name"
        );
        let twice = ["micron-7450-max-like"; 2].map(|name| Compared { given: name, name });
        assert_eq!(find("7450", &twice).unwrap().name, "micron-7450-max-like");
        for name in ["pm883", "", "-"] {
            let problem = find(name, &stacks).unwrap_err();
            assert!(problem.contains("is not compared; compared are micron-7450-max-like, "), "{problem}");
        }
    }
}
