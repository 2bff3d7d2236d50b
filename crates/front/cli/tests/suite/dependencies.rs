//! Packages of others: each has its reason, a licence that users can live with, and one version.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What cargo says of all packages in the lock file, for every platform.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs the tests");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "run `cargo fetch --locked` once, for packages of other platforms:\n{problem}");
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Cells of the table of `docs/dependencies.md` that stands below a heading, without the code marks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = include_str!("../../../../../docs/dependencies.md");
    let part = page.split("\n## ").map(|part| format!("# {}", part.trim_start_matches("# ")));
    let part = part.into_iter().find(|part| part.starts_with(&format!("# {heading}\n"))).expect("the page has it");
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()).collect()
}

/// Licences that ask for no more than their text and the name of the author.
const PERMISSIVE: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "bzip2-1.0.6",
    "CC0-1.0",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The parts of a licence expression between a word that stands outside all brackets.
fn parts<'a>(licence: &'a str, word: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, letter) in licence.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= from && licence[at..].starts_with(word) => {
                parts.push(&licence[from..at]);
                from = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&licence[from..]);
    parts
}

/// Whether a choice of the user among the licences of an expression is permissive.
fn is_permissive(licence: &str) -> bool {
    let licence = licence.trim();
    for word in [" OR ", "/"] {
        let choices = parts(licence, word);
        if choices.len() > 1 {
            return choices.into_iter().any(is_permissive);
        }
    }
    let all = parts(licence, " AND ");
    match licence.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        _ if all.len() > 1 => all.into_iter().all(is_permissive),
        Some(inner) => is_permissive(inner),
        None => PERMISSIVE.contains(&licence),
    }
}

#[test]
fn a_choice_among_licences_is_as_permissive_as_its_best_and_a_sum_as_its_worst() {
    for licence in ["MIT", "Apache-2.0/MIT", "GPL-3.0 OR MIT", "(GPL-3.0 OR MIT) AND Unicode-3.0", "MIT AND (Zlib)"] {
        assert!(is_permissive(licence), "{licence}");
    }
    for licence in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND LGPL-2.1-or-later", "GPL-3.0/MPL-2.0"] {
        assert!(!is_permissive(licence), "{licence}");
    }
}

#[test]
fn every_package_has_a_permissive_licence() {
    let metadata = metadata();
    let packages = list(&metadata, "packages");
    assert!(packages.len() > 100, "{} packages were found", packages.len());
    let strange = packages.iter().filter(|package| !is_permissive(text(package, "license")));
    let strange: Vec<String> = strange
        .map(|package| {
            format!("{} {}: `{}`", text(package, "name"), text(package, "version"), text(package, "license"))
        })
        .collect();
    assert!(
        strange.is_empty(),
        "take another package, or add its licence if it is permissive:\n{}",
        strange.join("\n")
    );
}

#[test]
fn a_package_has_one_version_or_a_reason_for_more() {
    let metadata = metadata();
    let mut versions = BTreeMap::<&str, BTreeSet<String>>::new();
    for package in list(&metadata, "packages") {
        let version: Vec<&str> = text(package, "version").split('.').take(2).collect();
        versions.entry(text(package, "name")).or_default().insert(version.join("."));
    }
    let found = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    let found: Vec<[String; 2]> =
        found.map(|(name, versions)| [name.to_owned(), Vec::from_iter(versions).join(", ")]).collect();
    let known: Vec<_> =
        table("More than one version").into_iter().map(|row| [row[0].clone(), row[1].clone()]).collect();
    assert_eq!(found, known, "docs/dependencies.md lists what `cargo tree --duplicates` shows, each with its reason");
}

#[test]
fn each_dependency_of_a_crate_has_its_reason_in_the_table_and_nothing_else_stands_there() {
    let metadata = metadata();
    let members: Vec<&str> = list(&metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
    let own = || list(&metadata, "packages").iter().filter(|package| members.contains(&text(package, "id")));
    let all = own().flat_map(|package| list(package, "dependencies")).filter(|package| package["path"].is_null());
    let found: BTreeSet<String> = all.map(|package| text(package, "name").to_owned()).collect();
    let known: Vec<String> = table("Dependencies").into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(Vec::from_iter(found), known, "docs/dependencies.md has a row for each, in alphabetical order");
}

/// The packages that cargo compiles, a line each in the form of `format`.
fn compiled(which: &[&str], format: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--prefix", "none", "--offline", "--locked", "--format", format])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(which)
        .output()
        .expect("cargo runs the tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// A test drive replays no packed traces, and whoever embeds it compiles what it names.
#[test]
fn a_drive_for_tests_compiles_no_codec() {
    let lines = compiled(&["-p", "nandarium-drive", "-e", "normal"], "{p}");
    let packages: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    assert!(packages.contains("nandarium-trace"), "{packages:?}");
    for codec in ["brotli-decompressor", "bzip2", "flate2", "liblzma", "lz4_flex", "parquet", "tar", "zip", "zstd"] {
        assert!(!packages.contains(codec), "{codec} is compiled for a drive; name it as a feature of the trace crate");
    }
}

/// A package with other features than the tests have is compiled once more, and so is everything above it.
#[test]
fn the_program_and_the_python_package_share_what_the_tests_compile() {
    let tested = compiled(&["--workspace", "-e", "normal,build,dev"], "{p} with {f}");
    for package in ["nandarium", "nandarium-python"] {
        let own = compiled(&["-p", package, "-e", "normal,build"], "{p} with {f}");
        let twice: Vec<&String> = own.difference(&tested).collect();
        assert!(twice.is_empty(), "{package} needs these with features that the tests do not have: {twice:#?}");
    }
}
