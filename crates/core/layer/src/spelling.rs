//! Names that may be meant by a word that is none.

/// The name that `found` may stand for: the same name in another case, with these initials, with this beginning, or
/// with this word. Otherwise the closest spelling, if it is close enough.
pub fn closest<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = found.to_lowercase();
    let names: Vec<&str> = names.collect();
    if wanted.is_empty() || is_too_long(&wanted, &names) {
        return None;
    }
    let shortest = |fits: &dyn Fn(&str) -> bool| {
        let fitting = names.iter().filter(|name| fits(&name.to_lowercase()));
        fitting.min_by_key(|name| (name.len(), **name)).copied()
    };
    let has_initials =
        |name: &str| words(name).count() > 1 && words(name).filter_map(|word| word.chars().next()).eq(wanted.chars());
    let has_word = |name: &str| words(name).any(|word| word == wanted);
    // Of a longer name its beginning counts: `samsung-990-pro` is like `samsung-980-pro-like`.
    let count = words(&wanted).count();
    let beginning = |name: &str| words(&name.to_lowercase()).take(count).collect::<Vec<_>>().join("-");
    let alike = || {
        let distance = |name: &str| {
            let whole = strsim::damerau_levenshtein(&wanted, &name.to_lowercase());
            if count < 2 { whole } else { whole.min(strsim::damerau_levenshtein(&wanted, &beginning(name)) + 1) }
        };
        let scored = names.iter().map(|name| (distance(name), *name));
        // A word whose letters would all change says nothing.
        let is_near =
            |distance: usize, name: &str| distance <= most_edits(name.len()) && distance < wanted.chars().count();
        scored.min().filter(|(distance, name)| is_near(*distance, name)).map(|(_, name)| name)
    };
    let is_begun = |name: &str| name.starts_with(&wanted);
    shortest(&|name| name == wanted)
        .or_else(|| shortest(&has_initials))
        .or_else(|| shortest(&is_begun))
        .or_else(|| shortest(&has_word))
        .or_else(alike)
}

/// Most edits between a word and a name of this many bytes that it may stand for.
fn most_edits(length: usize) -> usize {
    2.max(length / 4)
}

/// Whether a word has so many letters that none of the names can be meant. Comparing spellings takes time in proportion
/// to the length of the word, and words come from files.
fn is_too_long(wanted: &str, names: &[&str]) -> bool {
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    wanted.chars().count() > longest + most_edits(longest)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['-', '_', ' ']).filter(|word| !word.is_empty())
}

/// Letters of a word that messages tell in full: paths may be long, and are copied from there.
const LONGEST_WORD: usize = 256;
/// Letters that they tell of a longer one.
const SHORTENED: usize = 80;

/// A message whose words are short enough to be read: of a name of 100 kB, its beginning.
pub fn readable(message: &str) -> String {
    let is_long = |word: &str| word.len() > LONGEST_WORD && word.chars().nth(LONGEST_WORD).is_some();
    let short = |word: &str| {
        let text = word.trim_end();
        if !is_long(text) {
            return word.to_owned();
        }
        let (beginning, gap) = (text.chars().take(SHORTENED).collect::<String>(), &word[text.len()..]);
        format!("{beginning}… ({} characters){gap}", text.chars().count())
    };
    message.split_inclusive(char::is_whitespace).map(short).collect()
}

/// Names in a sentence: `a`, `a WORD b`, `a, b WORD c`.
pub fn joined(names: &[impl AsRef<str>], word: &str) -> String {
    let all = |names: &[_]| names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} {word} {}", all(first), last.as_ref()),
        _ => all(names),
    }
}

/// Names with a word that one letter makes of `found`, where the words have three letters or more.
fn near_words<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = found.to_lowercase();
    let names: Vec<&str> = names.collect();
    if is_too_long(&wanted, &names) {
        return Vec::new();
    }
    let is_near = |word: &str| {
        wanted.len().min(word.len()) > 2 && strsim::damerau_levenshtein(&wanted, &word.to_lowercase()) == 1
    };
    names.into_iter().filter(|name| words(name).any(is_near)).collect()
}

/// `; did you mean …` when `names` has one that is close to `found`, or some with a word that is, otherwise nothing.
pub fn did_you_mean<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let meant = closest(found, names.iter().copied())
        .map_or_else(|| near_words(found, names.iter().copied()), |name| vec![name]);
    one_of(&meant)
}

/// `; did you mean …` with all of these names, or nothing where there are none.
pub fn one_of(meant: &[&str]) -> String {
    match meant.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean `{only}`"),
        Some((last, others)) => format!("; did you mean `{}` or `{last}`", others.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_initials_or_a_beginning_go_before_a_similar_spelling() {
        let names = ["fifo", "fast-4k", "open", "over-provisioning", "fast-16k"];
        for (found, meant) in [
            ("fast", "fast-4k"),
            ("op", "over-provisioning"),
            ("fofo", "fifo"),
            ("FA", "fast-4k"),
            ("FIFO", "fifo"),
            ("fast_16K", "fast-16k"),
        ] {
            assert_eq!(did_you_mean(found, names.into_iter()), format!("; did you mean `{meant}`"));
        }
        let names = ["cflru", "block-lru", "page-lru", "mlc-4k", "tlc-16k"];
        assert_eq!(did_you_mean("lru", names.into_iter()), "; did you mean `page-lru`");
        assert_eq!(did_you_mean("qlc", names.into_iter()), "; did you mean `mlc-4k` or `tlc-16k`");
        let drives = ["samsung-980-pro-like", "samsung-pm883-like", "intel-s4610-like"];
        assert_eq!(did_you_mean("samsung-990-pro", drives.into_iter()), "; did you mean `samsung-980-pro-like`");
        for found in ["xyzzy", "", "99", &"page-lru".repeat(9)] {
            assert_eq!(did_you_mean(found, names.into_iter()), "", "{found}");
        }
    }

    /// The terminal was full of it.
    #[test]
    fn of_a_name_of_100_kb_a_message_tells_the_beginning() {
        let said = readable(&format!("key `{}` is unknown,\nsee `list keys`", "ä".repeat(100_000)));
        assert_eq!(said, format!("key `{}… (100002 characters) is unknown,\nsee `list keys`", "ä".repeat(79)));
        let path = format!("/{}/stack.toml: no such file", "folder/".repeat(30));
        assert_eq!(readable(&path), path);
    }

    /// A name of 100 kB took 4 s.
    #[test]
    fn a_name_longer_than_all_names_is_not_compared() {
        // Hours, if it were.
        let long = "windowed".repeat(1 << 20);
        assert_eq!(did_you_mean(&long, ["windowed-greedy"].into_iter().cycle().take(10_000)), "");
    }
}
