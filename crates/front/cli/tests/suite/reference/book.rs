//! The table of contents of the documents, and their links.

use super::root;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Parts of the book with their folders; `""` has the pages beside the folders.
const PARTS: [(&str, &[&str]); 6] = [
    ("Guides", &["guides"]),
    ("Concepts", &["concepts"]),
    ("Reference", &["reference"]),
    ("Published studies", &["reproduction"]),
    ("More", &[""]),
    ("Internals", &["decisions", "schemas"]),
];

/// Pages before the first part.
const FIRST: [&str; 2] = ["README.md", "start.md"];

fn docs() -> PathBuf {
    root().join("docs")
}

/// Every page below `docs`, by its path there.
pub fn documents() -> BTreeMap<String, String> {
    fn find(folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("the documents are there") {
            let path = entry.expect("a folder can be listed").path();
            if path.is_dir() {
                find(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "md") && !path.ends_with("SUMMARY.md") {
                let name = path.strip_prefix(docs()).expect("found below it").to_string_lossy().replace('\\', "/");
                found.insert(name, fs::read_to_string(&path).expect("documents are text"));
            }
        }
    }
    let mut found = BTreeMap::new();
    find(&docs(), &mut found);
    found
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The table of contents: every page once, with the first line of the page as its title.
pub fn summary() -> String {
    let documents = documents();
    // In the order in which the index of the folder names them, or that of all documents; others follow by name.
    let place = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let own = documents.get(&format!("{folder}/README.md"));
        let (index, link) = own.map_or((documents.get("README.md"), path), |index| (Some(index), name));
        let named = index.and_then(|index| index.find(&format!("]({link}")));
        if name == "README.md" { 0 } else { named.unwrap_or(usize::MAX) }
    };
    let row = |path: &str, text: &str| {
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(path);
        format!("[{title}]({path})")
    };
    let mut contents = "# Summary\n".to_owned();
    if FIRST.iter().any(|path| documents.contains_key(*path)) {
        contents.push('\n');
    }
    for path in FIRST.into_iter().filter(|path| documents.contains_key(*path)) {
        let _ = writeln!(contents, "{}", row(path, &documents[path]));
    }
    for (title, folders) in PARTS {
        let mut rows = String::new();
        for folder in folders {
            let mut own: Vec<_> = documents.iter().filter(|(path, _)| folder_of(path) == *folder).collect();
            own.retain(|(path, _)| !FIRST.contains(&path.as_str()));
            own.sort_by_key(|(path, _)| (place(path), *path));
            // Under the page that stands for the folder.
            let mut indent = "";
            for (path, text) in own {
                let _ = writeln!(rows, "{indent}- {}", row(path, text));
                if path.ends_with("/README.md") {
                    indent = "  ";
                }
            }
        }
        if !rows.is_empty() {
            let _ = write!(contents, "\n# {title}\n\n{rows}");
        }
    }
    contents
}

/// What a page links to, outside of code.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let outside = prose.flat_map(|part| part.split("](").skip(1));
    outside.filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

/// The names by which the headings of a page are linked to.
fn anchors(text: &str) -> Vec<String> {
    let prose = text.split("```").step_by(2).flat_map(str::lines);
    let headings = prose.filter(|line| line.starts_with('#'));
    let is_kept = |letter: &char| letter.is_alphanumeric() || ['-', '_', ' '].contains(letter);
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|title| title.chars().filter(is_kept).collect::<String>().replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let documents = documents();
    let mut problems = Vec::new();
    for (path, text) in &documents {
        for link in links(text).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { docs().join(path) } else { docs().join(folder_of(path)).join(file) };
            let has_anchor = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                anchor.is_empty()
                    || target.extension().is_none_or(|kind| kind != "md")
                    || anchors(&text).iter().any(|name| name == anchor)
            };
            if !target.exists() || !has_anchor() {
                problems.push(format!("docs/{path}: {link}"));
            }
        }
    }
    assert!(documents.len() > 30, "{} documents were found", documents.len());
    assert!(problems.is_empty(), "these links lead nowhere:\n{}", problems.join("\n"));
}
