//! Names that may be meant by a word that is none.

/// The name that `found` may stand for: one that is the same but for its case, one with these initials, one that begins so, or
/// else the one spelled most alike, if it is close enough.
pub fn closest<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = found.to_lowercase();
    if wanted.is_empty() {
        return None;
    }
    let names: Vec<&str> = names.collect();
    let shortest = |fits: &dyn Fn(&str) -> bool| {
        let fitting = names.iter().filter(|name| fits(&name.to_lowercase()));
        fitting.min_by_key(|name| (name.len(), **name)).copied()
    };
    let has_initials = |name: &str| {
        let words = || name.split(['-', '_', ' ']).filter(|word| !word.is_empty());
        words().count() > 1 && words().filter_map(|word| word.chars().next()).eq(wanted.chars())
    };
    let alike = || {
        let scored = names.iter().map(|name| (strsim::damerau_levenshtein(&wanted, &name.to_lowercase()), *name));
        // A word of which every letter would change says nothing.
        let is_near = |distance: usize, name: &str| distance <= 2.max(name.len() / 4) && distance < wanted.chars().count();
        scored.min().filter(|(distance, name)| is_near(*distance, name)).map(|(_, name)| name)
    };
    let is_begun = |name: &str| name.starts_with(&wanted);
    shortest(&|name| name == wanted).or_else(|| shortest(&has_initials)).or_else(|| shortest(&is_begun)).or_else(alike)
}

/// `; did you mean …` when one of `names` is close to `found`, otherwise nothing.
pub fn did_you_mean<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> String {
    closest(found, names).map_or_else(String::new, |name| format!("; did you mean `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_initials_or_a_beginning_go_before_a_similar_spelling() {
        let names = ["fifo", "fast-4k", "open", "over-provisioning", "fast-16k"];
        for (found, meant) in [("fast", "fast-4k"), ("op", "over-provisioning"), ("fofo", "fifo"), ("FA", "fast-4k"), ("FIFO", "fifo"), ("fast_16K", "fast-16k")] {
            assert_eq!(did_you_mean(found, names.into_iter()), format!("; did you mean `{meant}`"));
        }
        for found in ["xyzzy", "", "99"] {
            assert_eq!(did_you_mean(found, names.into_iter()), "", "{found}");
        }
    }
}
