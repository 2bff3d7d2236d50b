//! Plain words in the texts of the project (CONTRIBUTING.md, "Words"). The limits may only fall.

use crate::tidy::{all_sources, spans};
use std::path::{Path, PathBuf};

/// Words of a long sentence.
const LONG: usize = 30;

/// Limits of one kind of text.
struct Limit {
    /// The kind, for messages.
    kind: &'static str,
    /// Most bare clauses (*what*, *who*, *those that*) in ten thousand words.
    bare: usize,
    /// Most sentences of more than [`LONG`] words in a thousand sentences.
    long: usize,
}

const README: Limit = Limit { kind: "README", bare: 0, long: 10 };
const DOCS: Limit = Limit { kind: "docs", bare: 4, long: 20 };
const KEYS: Limit = Limit { kind: "texts of keys", bare: 4, long: 30 };
const HELP: Limit = Limit { kind: "help", bare: 10, long: 20 };
const MESSAGES: Limit = Limit { kind: "messages", bare: 12, long: 12 };
const PAGES: Limit = Limit { kind: "pages", bare: 10, long: 10 };
const PYTHON: Limit = Limit { kind: "Python docstrings", bare: 1, long: 49 };
const PUBLIC: Limit = Limit { kind: "public doc comments", bare: 8, long: 19 };
/// Most doc comments of three words or fewer.
const SHORT_DOCS: usize = 197;

/// What was counted in texts of one kind.
#[derive(Default, Debug, PartialEq)]
struct Count {
    words: usize,
    sentences: usize,
    long: usize,
    bare: usize,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("groups of crates lie in a folder of the root")
}

/// Files below a folder whose names end so.
fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    fn find(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("a folder can be listed").path();
            if path.is_dir() {
                find(&path, endings, found);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    find(&root().join(folder), endings, &mut found);
    found.sort();
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).expect("texts are UTF-8"));
    found.into_iter().map(read).collect()
}

/// The text with `X` for each piece between an opening and a closing character on one line.
fn hidden(text: &str, open: char, close: char) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        plain += before;
        match after.split_once(close) {
            Some((inside, after)) if !inside.contains('\n') => {
                plain += "X";
                rest = after;
            }
            _ => {
                plain.push(open);
                rest = after;
            }
        }
    }
    plain + rest
}

/// Sentences of a text in Markdown, without code, tables and headings.
fn sentences(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in text.lines().map(str::trim) {
        let fence = line.starts_with("```");
        in_code ^= fence;
        let ends = fence || in_code || line.is_empty() || line.starts_with(['#', '|']) || line.starts_with(">>> ");
        if ends || line.starts_with("- ") {
            paragraphs.push(String::new());
        }
        if !ends {
            let last = paragraphs.last_mut().expect("there is one");
            *last += " ";
            *last += line.trim_start_matches("- ");
        }
    }
    let plain = paragraphs.iter().map(|text| hidden(&hidden(text, '`', '`'), '{', '}'));
    plain.flat_map(|paragraph| parted(&paragraph)).collect()
}

/// A paragraph in sentences: a mark at the end of a word, and a capital letter after it.
fn parted(paragraph: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let last = found.last_mut().expect("there is one");
        if last.ends_with(['.', '!', '?', ':', ';']) && word.starts_with(|first: char| first.is_ascii_uppercase()) {
            found.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    found.retain(|sentence| sentence.split_whitespace().count() > 2);
    found
}

/// Clauses whose noun is missing: *what* or *who* at the beginning, after a mark or after a small word, and *those
/// that* or *that of*.
fn bare_clauses(sentence: &str) -> usize {
    const BEFORE: [&str; 7] = ["and", "of", "by", "to", "is", "with", "than"];
    const AFTER: [&str; 6] = ["of", "that", "with", "which", "who", "in"];
    let words: Vec<String> = sentence.split_whitespace().map(str::to_lowercase).collect();
    let plain = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_owned();
    let is_bare = |at: usize| {
        let before = at.checked_sub(1).map_or("", |before| words[before].as_str());
        let starts = before.is_empty() || before.ends_with(['.', ',', ';', ':', '(']) || words[at].starts_with('(');
        match plain(&words[at]).as_str() {
            "what" | "who" | "whoever" | "whatever" => starts || BEFORE.contains(&before),
            "those" | "that" => words.get(at + 1).is_some_and(|after| AFTER.contains(&plain(after).as_str())),
            _ => false,
        }
    };
    (0..words.len()).filter(|at| is_bare(*at)).count()
}

impl Count {
    fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut count = Self::default();
        for sentence in texts.into_iter().flat_map(sentences) {
            let words = sentence.split_whitespace().count();
            count.words += words;
            count.sentences += 1;
            count.long += usize::from(words > LONG);
            count.bare += bare_clauses(&sentence);
        }
        count
    }

    fn check(&self, limit: &Limit) {
        let [bare, long] = [self.bare * 10_000 / self.words.max(1), self.long * 1000 / self.sentences.max(1)];
        let (kind, most) = (limit.kind, limit.bare);
        assert!(bare <= most, "{kind}: {bare} bare clauses in 10,000 words, at most {most} ({self:?}): name the noun");
        let most = limit.long;
        assert!(long <= most, "{kind}: {long} of 1,000 sentences are long, at most {most} ({self:?}): part them");
    }
}

/// A doc comment, and the line of code below it.
struct Doc {
    text: String,
    is_public: bool,
}

fn docs(source: &str) -> Vec<Doc> {
    let (mut found, mut text) = (Vec::new(), String::new());
    let mut marker = "";
    for line in source.lines().map(str::trim).chain([""]) {
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
        if !text.is_empty() && mark != Some(marker) && !line.starts_with("#[") {
            let is_public = marker == "//!" || line.starts_with("pub ") || line.starts_with("pub(");
            found.push(Doc { text: std::mem::take(&mut text), is_public });
        }
        if let Some(mark) = mark {
            marker = mark;
            text += line[mark.len()..].trim();
            text.push('\n');
        }
    }
    found
}

/// Strings of four words or more in a source, without its tests: messages, table heads, texts of keys.
fn strings(source: &str, quotes: &[char]) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let is_comment = |line: &&str| ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start));
    let code: Vec<&str> = source.lines().filter(|line| !is_comment(line)).collect();
    let code = code.join("\n").replace("'\"'", "").replace("b'\\''", "");
    let (mut found, mut open, mut text) = (Vec::new(), None, String::new());
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match open {
            None if quotes.contains(&letter) => open = Some(letter),
            None => {}
            Some(_) if letter == '\\' => match letters.next() {
                Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some(escaped) => text.push(escaped),
                None => {}
            },
            Some(quote) if letter == quote => {
                open = None;
                found.push(std::mem::take(&mut text));
            }
            Some(_) => text.push(letter),
        }
    }
    found.retain(|text| text.split_whitespace().count() > 3 && !text.contains("$(") && !text.starts_with("[["));
    found
}

/// Sources that ship, by their path below `crates`.
fn shipped() -> impl Iterator<Item = (String, String)> {
    all_sources().into_iter().filter(|(name, _)| name.contains("/src/") && !name.starts_with("dev/"))
}

fn is_help(name: &str) -> bool {
    name.contains("cli/src/arguments/")
}

#[test]
fn guides_are_in_plain_words() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is one");
    Count::of([readme.as_str()]).check(&README);
    let pages = files("docs", &[".md"]);
    Count::of(pages.iter().map(|(_, text)| text.as_str())).check(&DOCS);
}

#[test]
fn texts_of_keys_stand_alone_in_plain_words() {
    let keys = simulator::config::all_keys();
    Count::of(keys.iter().map(|key| key.doc)).check(&KEYS);
    let leans = |text: &str| {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let first = words.first().map_or("", String::as_str);
        let starts = ["that", "such", "these", "those", "it", "they", "this", "see"].contains(&first);
        let ends_in_that = words.iter().any(|word| ["that.", "that,", "that:", "that;"].contains(&word.as_str()));
        starts || ends_in_that || words.windows(2).any(|pair| pair[0] == "such" && pair[1] != "as")
    };
    let leaning: Vec<&str> = keys.iter().filter(|key| leans(key.doc)).map(|key| key.key).collect();
    assert!(leaning.is_empty(), "these need a neighbour to be understood: {leaning:?}");
}

#[test]
fn help_messages_and_pages_are_in_plain_words() {
    let sources: Vec<_> = shipped().collect();
    let help = sources.iter().filter(|(name, _)| is_help(name)).flat_map(|(_, text)| docs(text));
    let help: Vec<String> = help.map(|doc| doc.text).collect();
    Count::of(help.iter().map(String::as_str)).check(&HELP);
    let messages: Vec<String> = sources.iter().flat_map(|(_, text)| strings(text, &['"'])).collect();
    Count::of(messages.iter().map(String::as_str)).check(&MESSAGES);
    let pages = files("web/src", &[".ts"]);
    let pages: Vec<String> = pages.iter().flat_map(|(_, text)| strings(text, &['"', '`'])).collect();
    Count::of(pages.iter().map(String::as_str)).check(&PAGES);
}

#[test]
fn doc_comments_are_in_plain_words() {
    let sources: Vec<_> = shipped().filter(|(name, _)| !is_help(name)).collect();
    let all: Vec<Doc> = sources.iter().flat_map(|(_, text)| docs(text)).collect();
    Count::of(all.iter().filter(|doc| doc.is_public).map(|doc| doc.text.as_str())).check(&PUBLIC);
    let short = all.iter().filter(|doc| doc.text.split_whitespace().count() <= 3).count();
    assert!(
        short <= SHORT_DOCS,
        "{short} doc comments of three words or fewer, at most {SHORT_DOCS}: say unit and why"
    );
    let python = files("python/nandarium", &[".py", ".pyi"]);
    let docstrings = python.iter().flat_map(|(_, text)| text.split("\"\"\"").skip(1).step_by(2));
    Count::of(docstrings).check(&PYTHON);
}

#[test]
fn bare_clauses_and_long_sentences_are_counted() {
    for (text, bare) in [
        ("What nothing beats is shown.", 1),
        ("The Pareto front of what costs little.", 1),
        ("It is that of the drive, and those who wait.", 2),
        ("Say what you measured.", 0),
        ("The block that is erased first.", 0),
    ] {
        assert_eq!(Count::of([text]).bare, bare, "{text}");
    }
    let long = "word ".repeat(LONG + 1);
    assert_eq!(Count::of([long.as_str(), "Two short ones. Both are short here."]).long, 1);
    assert_eq!(sentences("# What\n\n| what |\n\n```\nwhat runs\n```\n\n`what` stands alone."), ["X stands alone."]);
    assert_eq!(spans("a `b` c").count(), 1);
    let source = "let a = \"one two \\\n   three four\"; // \"five\"\nlet b = '\"';\n/// A doc.\npub fn c() {}";
    assert_eq!(strings(source, &['"']), ["one two three four"]);
    assert!(docs(source).iter().all(|doc| doc.is_public && doc.text == "A doc.\n"));
}
