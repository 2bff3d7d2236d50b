//! Notes on several results together, and the notes of each that limit its numbers.

use metrics::RunResult;

/// Notes that the results of a comparison give only together: keys that made no difference.
pub fn without_effect(results: &[&RunResult]) -> Vec<String> {
    let Some((first, others)) = results.split_first() else { return Vec::new() };
    let same = others.iter().filter(|other| other.hash == first.hash);
    let told = same.map(|other| {
        let differ: Vec<String> = other
            .config
            .iter()
            .filter(|(key, value)| first.config.get(*key) != Some(*value) && *key != metrics::CAUSES_KEY)
            .map(|(key, value)| {
                let before = first.config.get(key).map_or("nothing", String::as_str);
                format!("{key} = {value} (not {before})")
            })
            .collect();
        if differ.is_empty() && first.config.get(metrics::CAUSES_KEY) != other.config.get(metrics::CAUSES_KEY) {
            return format!("{} records other causes than {}, and gave its result.", other.stack, first.stack);
        }
        if differ.is_empty() {
            return format!(
                "`{}` and `{}` are alike: every key has the same value, so all ratios are 1. Change a key of one of \
                 them, for example {}+ftl.gc.victim=fifo.",
                first.stack,
                other.stack,
                other.stack.split('+').next().unwrap_or_default()
            );
        }
        let has_cleaned = first.flash[2].iter().sum::<u64>() > 0;
        let why = if has_cleaned {
            ""
        } else {
            ". No block was erased: on a drive that never cleans, nothing that is \
            about cleaning can matter (drive.precondition)"
        };
        format!(
            "{} gave the result of {}, to the last command: {} had no \
            effect{why}.",
            other.stack,
            first.stack,
            differ.join(", ")
        )
    });
    told.collect()
}

/// Whether a note of a run is told where several runs are shown together.
pub fn is_told_of_several(note: &str) -> bool {
    note.starts_with("measure.") || metrics::is_caution(note) || note.contains(" has no effect here because ")
}

/// The notes of several runs that limit their numbers, each sentence once, with the names of its runs unless all runs
/// have it. `runs`: their names and notes.
pub fn cautions(runs: &[(&str, Vec<&str>)]) -> Vec<String> {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, notes) in runs {
        for note in notes.iter().filter(|note| is_told_of_several(note)) {
            match told.iter_mut().find(|(known, _)| known == note) {
                Some((_, names)) => names.push(name),
                None => told.push((note, vec![name])),
            }
        }
    }
    let sentence = |(note, names): (&str, Vec<&str>)| {
        if names.len() == runs.len() { note.to_owned() } else { format!("{}: {note}", names.join(", ")) }
    };
    told.into_iter().map(sentence).collect()
}
