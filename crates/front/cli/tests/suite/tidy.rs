//! Limits of our own sources. The lists of exceptions may only get shorter.

use std::path::{Path, PathBuf};

/// Most lines of a file.
const FILE_LINES: usize = 600;
/// Most lines of a function.
const FUNCTION_LINES: usize = 70;
/// Files beyond the limit, with the most lines they may have.
const LONG_FILES: [(&str, usize); 2] =
    [("core/nand/src/timed/chips.rs", 800), ("core/nand/src/timed/controller.rs", 1_000)];
/// Functions beyond the limit.
const LONG_FUNCTIONS: [&str; 0] = [];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("a folder can be listed").path();
        let skipped = ["target", "node_modules"].iter().any(|name| path.ends_with(name));
        if path.is_dir() && !skipped {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Where the groups of crates are.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates lie in groups in one folder")
}

/// Every source, by its path below `crates`.
pub fn all_sources() -> Vec<(String, String)> {
    let crates = folder();
    let mut found = Vec::new();
    sources(crates, &mut found);
    found.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(crates).expect("found below it").to_string_lossy().replace('\\', "/");
        (name, std::fs::read_to_string(&path).expect("sources are text"))
    };
    found.into_iter().map(read).collect()
}

/// Whether a text may stand before `fn` where a function is declared.
fn is_before_fn(text: &str) -> bool {
    let public = text.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or(scope, |(_, rest)| rest),
        None => rest,
    });
    let mut words = public.unwrap_or(text).split_whitespace();
    words.all(|word| ["const", "async", "unsafe", "extern", "\"C\""].contains(&word))
}

/// Name and lines of each function: from its line to the closing brace of the same indentation.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let before = code.split("fn ").next().unwrap_or_default();
        if !code.contains("fn ") || !is_before_fn(before) {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let end = lines[at..].iter().position(|other| {
            other.strip_prefix(indent).is_some_and(|rest| {
                rest == "}" || (rest.starts_with(['p', 'f', 'c', 'a', 'u', 'e']) && rest.ends_with(['}', ';']))
            })
        });
        let name = code[before.len() + 3..].split(['(', '<']).next().unwrap_or_default();
        found.push((name.to_owned(), end.map_or(0, |end| end + 1)));
    }
    found
}

#[test]
fn files_and_functions_stay_readable() {
    let mut problems = Vec::new();
    for (name, text) in all_sources() {
        let limit = LONG_FILES.iter().find(|(file, _)| *file == name).map_or(FILE_LINES, |(_, lines)| *lines);
        let lines = text.lines().count();
        if lines > limit {
            problems.push(format!("{name}: {lines} lines, at most {limit}"));
        }
        for (function, lines) in functions(&text) {
            let place = format!("{name}: {function}");
            if lines > FUNCTION_LINES && !LONG_FUNCTIONS.contains(&place.as_str()) {
                problems.push(format!("{place} has {lines} lines, at most {FUNCTION_LINES}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_module_with_parts_has_all_of_them_in_its_folder() {
    let sources = all_sources();
    let has_folder = |file: &str| sources.iter().any(|(name, _)| name.starts_with(&format!("{file}/")));
    let beside =
        |name: &str| name.strip_suffix(".rs").filter(|file| has_folder(file)).map(|file| format!("{file}/mod.rs"));
    let problems: Vec<String> =
        sources.iter().filter_map(|(name, _)| Some(format!("{name}: move it to {}", beside(name)?))).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn simulation_code_prints_nothing_and_reads_no_clock_and_no_environment() {
    const BANNED: [&str; 7] =
        ["println!", "eprintln!", "Instant::now", "SystemTime::now", "std::env::", "process::exit", "dbg!("];
    let simulation = ["core/", "sim/trace/", "sim/metrics/", "sim/simulator/"];
    let mut problems = Vec::new();
    for (name, text) in all_sources() {
        if !simulation.iter().any(|part| name.starts_with(part)) || !name.contains("/src/") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(banned) = BANNED.iter().find(|banned| code.contains(**banned)) {
                problems.push(format!("{name}, line {}: {banned}", number + 1));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_line_is_wider_than_the_formatter_makes_it() {
    let settings = include_str!("../../../../../rustfmt.toml");
    let width = settings.lines().find_map(|line| line.strip_prefix("max_width = ")).expect("the width is set");
    let width: usize = width.parse().expect("a number of characters");
    let mut problems = Vec::new();
    for (name, text) in all_sources() {
        let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > width);
        problems.extend(lines.map(|(number, _)| format!("{name}, line {}: wider than {width}", number + 1)));
    }
    assert!(problems.is_empty(), "break strings and comments, which cargo fmt leaves:\n{}", problems.join("\n"));
}

/// Code spans of a text, in order.
pub fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_routes_of_the_architecture_name_functions_that_are_there() {
    let text = include_str!("../../../../../ARCHITECTURE.md");
    let routes = text.split("## Routes").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("there are routes");
    let sources = all_sources();
    let (mut file, mut named, mut problems) = (None, 0, Vec::new());
    for span in spans(routes).filter(|span| *span != "crates/") {
        if span.contains('/') {
            file = sources.iter().find(|(name, _)| name == span);
            problems.extend(file.is_none().then(|| format!("{span}: no such file")));
        } else if let Some((name, source)) = file {
            named += 1;
            let is_there = functions(source).iter().any(|(function, _)| function == span);
            problems.extend((!is_there).then(|| format!("{name} has no function {span}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(named > 50, "the routes name {named} functions");
}

/// Folders of crates, from the lowest to the highest.
const GROUPS: [&str; 6] = ["core", "sim", "wire", "lab", "front", "dev"];

fn crates() -> impl Iterator<Item = (usize, String, PathBuf)> {
    GROUPS.into_iter().enumerate().flat_map(move |(height, group)| {
        let all = std::fs::read_dir(folder().join(group)).expect("each group is a folder");
        all.map(move |own| own.expect("a folder can be listed").path())
            .filter(|path| path.join("Cargo.toml").is_file())
            .map(move |path| (height, path.file_name().expect("it has a name").to_string_lossy().into_owned(), path))
    })
}

#[test]
fn a_crate_depends_on_its_own_group_and_on_those_below() {
    let heights: std::collections::BTreeMap<String, usize> = crates().map(|(height, name, _)| (name, height)).collect();
    let mut problems = Vec::new();
    for (height, name, path) in crates() {
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).expect("a manifest is text");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let own = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
        for (other, _) in own {
            if heights.get(other).is_some_and(|other| *other > height) {
                problems.push(format!("{name}, in {}, depends on {other} above it", GROUPS[height]));
            }
        }
    }
    assert!(heights.len() > 20, "{} crates were found", heights.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Tests in sources are compiled apart from what the other crates use, and so are examples in docs. Crates without them
/// say so in their manifest, and must not have any then: nobody would run them.
#[test]
fn a_crate_without_tests_in_its_sources_has_none() {
    let mut problems = Vec::new();
    for (_, name, path) in crates() {
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).expect("a manifest is text");
        let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
        let [no_tests, no_examples] = ["test", "doctest"].map(|key| manifest["lib"].get(key) == Some(&false.into()));
        let mut found = Vec::new();
        sources(&path.join("src"), &mut found);
        for source in found {
            let text = std::fs::read_to_string(&source).expect("sources are text");
            let has_tests = text.lines().any(|line| ["#[test]", "#[cfg(test)]"].contains(&line.trim()));
            if has_tests && no_tests {
                problems.push(format!("{name}: {} has tests; take `test = false` out", source.display()));
            }
            if has_examples(&text) && no_examples {
                problems.push(format!("{name}: {} has an example; take `doctest = false` out", source.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Whether docs have code that rustdoc would run: a fence that opens without a language, or with Rust's.
fn has_examples(text: &str) -> bool {
    let docs = text.lines().filter_map(|line| {
        let line = line.trim();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
    });
    let fences = docs.filter_map(|line| line.strip_prefix("```"));
    fences.step_by(2).any(|language| ["", "rust", "no_run", "should_panic"].contains(&language))
}

#[test]
fn the_readme_of_each_crate_names_files_that_are_there() {
    let mut problems = Vec::new();
    for (_, name, path) in crates() {
        let text = std::fs::read_to_string(path.join("README.md")).unwrap_or_default();
        let files: Vec<&str> =
            spans(&text).filter(|span| span.starts_with("src/") || span.starts_with("tests/")).collect();
        if files.is_empty() {
            problems.push(format!("{name}: the README names no file to begin with"));
        }
        let missing = files.iter().filter(|file| !path.join(file).exists());
        problems.extend(missing.map(|file| format!("{name}: {file} is not there")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_page_on_unsafe_code_names_each_file_that_has_some() {
    let page = include_str!("../../../../../docs/unsafe.md");
    let named: Vec<&str> = spans(page).filter_map(|span| span.strip_prefix("crates/")).collect();
    let has_some = |text: &str| {
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        code.flat_map(|code| code.split("unsafe").skip(1)).any(|rest| rest.starts_with([' ', '(']))
    };
    let sources = all_sources();
    let mut problems: Vec<String> = named
        .iter()
        .filter(|file| !sources.iter().any(|(name, text)| name == *file && has_some(text)))
        .map(|file| format!("docs/unsafe.md names {file}, which has none"))
        .collect();
    let unnamed = sources.iter().filter(|(name, text)| has_some(text) && !named.contains(&name.as_str()));
    problems.extend(unnamed.map(|(name, _)| format!("docs/unsafe.md does not name {name}")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Counting on many blocks took five times as long in the program that users get as in the bench.
#[test]
fn crates_that_are_optimised_as_one_are_optimised_for_speed() {
    let manifest = std::fs::read_to_string(folder().join("../Cargo.toml")).expect("a manifest is text");
    let profiles = &manifest.parse::<toml::Table>().expect("cargo reads it as well")["profile"];
    let level = |profile: &str| profiles[profile]["package"].get("nandarium")?.get("opt-level")?.as_integer();
    assert_eq!(profiles["dist"]["lto"].as_str(), Some("fat"));
    assert_eq!(level("dist"), Some(3), "the crate that is linked last gives its level to all others");
}
