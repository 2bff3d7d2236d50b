//! Markdown, a line at a time.

use layer::Parameter;
use std::fmt::Write as _;

/// Most characters of a line outside of tables and code.
const WIDTH: usize = 120;

/// A page that grows.
pub struct Page {
    /// Its file in `docs/reference`.
    pub file: &'static str,
    /// What it is about, for the index.
    pub about: &'static str,
    /// Its text.
    pub text: String,
}

impl Page {
    pub fn new(file: &'static str, title: &str, about: &'static str) -> Self {
        let mut page = Self { file, about, text: String::new() };
        page.heading(1, title);
        page
    }

    pub fn heading(&mut self, level: usize, text: &str) {
        self.text.truncate(self.text.trim_end().len());
        let gap = if self.text.is_empty() { "" } else { "\n\n" };
        let _ = writeln!(self.text, "{gap}{} {text}\n", "#".repeat(level));
    }

    pub fn paragraph(&mut self, text: &str) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.text.push_str(&wrapped(text, ""));
    }

    /// An item of a list; what follows the first stands directly below it.
    pub fn bullet(&mut self, text: &str) {
        self.text.push_str("- ");
        self.text.push_str(&wrapped(text, "  "));
    }

    pub fn code(&mut self, language: &str, text: &str) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        let _ = writeln!(self.text, "```{language}\n{}\n```", text.trim_end());
    }

    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        let _ = writeln!(self.text, "| {} |\n|{}", head.join(" | "), "---|".repeat(N));
        for row in rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        }
    }
}

/// Lines no longer than [`WIDTH`], the second and later ones indented.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut out, mut width) = (String::new(), indent.len());
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > indent.len() && width + 1 + length > WIDTH && !begins_a_block(word) {
            let _ = write!(out, "\n{indent}");
            width = indent.len();
        } else if !out.is_empty() {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out + "\n"
}

/// Whether a line that begins so would be a list, a heading or a quotation.
fn begins_a_block(word: &str) -> bool {
    ["-", "+", "*", "="].contains(&word)
        || word.starts_with(['#', '>', '|'])
        || word.strip_suffix(['.', ')']).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Text of a table as Markdown: keys that it names become links to where they are described.
pub fn linked(text: &str, keys: &[Parameter], own: Option<&str>) -> String {
    let mut is_code = false;
    let words = text.split(' ').map(|word| {
        let was_code = is_code;
        let ticks = word.matches('`').count();
        is_code ^= ticks % 2 == 1;
        let core = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let is_key = keys.iter().any(|key| key.key == core) && own != Some(core);
        let is_whole = !was_code && (ticks == 0 || ticks == 2 && word.contains(&format!("`{core}`")));
        if is_key && is_whole {
            let ticked = format!("`{core}`");
            word.replace(if ticks == 2 { &ticked } else { core }, &format!("[`{core}`]({})", place(core)))
        } else if was_code || ticks > 0 {
            word.to_owned()
        } else {
            word.replace('<', "&lt;").replace('*', "\\*")
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Where a key is described.
pub fn place(key: &str) -> String {
    format!("keys.md#{}", key.replace('.', ""))
}
