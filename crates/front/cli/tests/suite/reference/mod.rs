//! The pages below `docs/reference`, made from the tables of the program. `make docs` writes them anew.

mod book;
mod commands;
mod keys;
mod page;
mod schema;
mod tables;

use page::Page;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("groups of crates lie in a folder of the root")
}

/// Words of a text that may be keys.
fn keys_in(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()))
}

fn pages() -> Vec<Page> {
    let keys = simulator::config::all_keys();
    let mut pages = vec![
        commands::page(keys),
        keys::page(keys),
        tables::stack_files(),
        tables::measured_drives(),
        tables::policies(keys),
        tables::workloads(keys),
        tables::flash_parts(keys),
        tables::formats(),
        tables::faults(),
        schema::results(keys),
        schema::causes(keys),
        tables::exit_codes(),
        tables::glossary(),
    ];
    let mut index = Page::new("README.md", "Reference", "");
    index.paragraph(
        "`make docs` writes these pages from the tables of the program. `nandarium explain NAME` prints the same \
         texts.",
    );
    index.text.push('\n');
    for page in &pages {
        let title = page.text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        index.bullet(&format!("[{title}]({}): {}", page.file, page.about));
    }
    pages.push(index);
    pages
}

/// The link from a page of the reference to the document called `name`, wherever it lies.
fn document(name: &str) -> String {
    let found = book::documents().into_keys().find(|path| path.rsplit('/').next() == Some(name));
    format!("../{}", found.unwrap_or_else(|| panic!("no document is called {name}")))
}

#[test]
fn the_reference_and_the_table_of_contents_are_what_they_are_made_from() {
    let folder = root().join("docs/reference");
    let is_writing = std::env::var_os("GOLDEN").is_some_and(|verb| verb == "write");
    let mut behind = Vec::new();
    let mut compare = |file: &str, text: &str| {
        let path = folder.join(file);
        if is_writing {
            fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)).expect("the page is written");
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if kept != text {
            let line = kept.lines().zip(text.lines()).take_while(|(kept, now)| kept == now).count() + 1;
            behind.push(format!("docs/reference/{file}, from line {line}"));
        }
    };
    for page in pages() {
        compare(page.file, &page.text);
    }
    compare("../SUMMARY.md", &book::summary());
    assert!(behind.is_empty(), "run `make docs`; behind what they are made from:\n{}", behind.join("\n"));
}
