//! Pages of which each section is a row of a table.

use super::page::{Page, linked, place};
use super::{document, root};
use drive::{CLAUSES, FAULTS};
use fit::{KNOWN, MeasuredDrive, find_figure};
use layer::Parameter;
use nandarium_cli::{EXIT_CODES, Listing, items};
use simulator::Config;
use simulator::config::{Preset, all_keys, drives, parts, stacks};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use trace::formats::FORMATS;
use trace::synthetic::WORKLOADS;

/// Folders with a file for each policy that a key chooses.
const FOLDERS: [(&str, &str); 4] = [
    ("ftl.kind", "crates/core/ftl/src/mapping"),
    ("ftl.gc.victim", "crates/core/ftl/src/gc"),
    ("buffer.kind", "crates/core/buffer/src/policy"),
    ("remap.kind", "crates/sim/remap/src"),
];

/// What the parts of a head comment begin with.
const LABELS: [&str; 4] = ["Faithful to:", "Decided here:", "Simplified:", "Protects:"];
/// Most characters of a name that a head comment begins with.
const LONGEST_NAME: usize = 40;

/// Policies whose keys are told: those that few others share.
const FEW: usize = 3;

pub fn policies(keys: &[Parameter]) -> Page {
    let mut page =
        Page::new("policies.md", "Policies", "Mappings, victim policies, buffers, stripes and host drivers.");
    page.paragraph(
        "Each section is a key that chooses a policy, for example `--set ftl.kind=dftl`. A policy has its idea, advice \
         when to use it and at which cost, and its keys. *Faithful to* names the publication and the parts of it that \
         the policy keeps. *Simplified* names the differences.",
    );
    let stacks: Vec<(&str, Config)> =
        stacks().iter().map(|stack| (stack.name, Config::load(stack.name, &[]).expect("it is built in"))).collect();
    let mut current = String::new();
    for (name, doc) in items(Listing::Policies) {
        let (key, idea) = doc.split_once(": ").expect("the text of a policy begins with its key");
        if current != key {
            key.clone_into(&mut current);
            page.heading(2, key);
            let doc = keys.iter().find(|known| known.key == key).map_or("", |known| known.doc);
            page.paragraph(&format!("{} The key is [`{key}`]({}).", linked(doc, keys, None), place(key)));
        }
        page.heading(3, &name);
        let comment = comment_of(key, &name);
        let (first, rest) = comment.split_first().map_or((idea, &[][..]), |(first, rest)| (first.as_str(), rest));
        let first =
            first.split_once(": ").filter(|(name, _)| name.len() < LONGEST_NAME).map_or(first, |(_, rest)| rest);
        page.paragraph(&linked(&sentence(if first.len() > idea.len() { first } else { idea }), keys, None));
        let when = keys.iter().find(|known| known.key == key).and_then(|known| known.use_of(&name));
        page.paragraph(&linked(when.expect("each policy tells when to use it"), keys, None));
        for text in rest {
            let text = linked(text, keys, None);
            let label = LABELS.iter().find(|label| text.starts_with(**label));
            page.paragraph(&label.map_or(text.clone(), |label| text.replacen(label, &format!("*{label}*"), 1)));
        }
        page.text.push('\n');
        let own: Vec<String> = keys.iter().filter(|own| is_of(own, key, &name)).map(|own| link(own.key)).collect();
        if !own.is_empty() {
            page.bullet(&format!("Its keys: {}.", own.join(", ")));
        }
        let used = stacks.iter().filter(|(_, config)| config.resolved.get(key) == Some(&name));
        let used: Vec<String> = used.map(|(stack, _)| format!("[`{stack}`](stacks.md#{stack})")).collect();
        match used.len() {
            0 => page.bullet(&format!("Example: `--set {key}={name}`")),
            1..=8 => page.bullet(&format!("Built-in stacks: {}.", used.join(", "))),
            many => page.bullet(&format!("{many} built-in stacks use it, for example {}.", used[0])),
        }
    }
    page
}

fn link(key: &str) -> String {
    format!("[`{key}`]({})", place(key))
}

/// A text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let end = if text.ends_with('.') { "" } else { "." };
    first.chain(letters).collect::<String>() + end
}

/// Whether a key is read only where `key` chooses `name`, or one of few others.
fn is_of(own: &Parameter, key: &str, name: &str) -> bool {
    own.read_when.iter().filter(|condition| condition.key == key).any(|condition| {
        let [names, _] = condition.names(own.key, all_keys());
        names.len() <= FEW && names.contains(&name)
    })
}

/// The paragraphs at the head of a policy's file, without those for its maintainers; none if it has no file.
fn comment_of(key: &str, name: &str) -> Vec<String> {
    let folder = FOLDERS.iter().find(|(known, _)| *known == key);
    let comments = folder.map(|(_, folder)| heads(&root().join(folder))).unwrap_or_default();
    let is_own = |(stem, head): &&(String, String)| {
        let subject = head.split(':').next().unwrap_or_default();
        *stem == name || subject.split('`').skip(1).step_by(2).any(|span| span == name)
    };
    let Some((_, head)) = comments.iter().find(is_own) else { return Vec::new() };
    let mut text = head.clone();
    for label in LABELS {
        text = text.replace(&format!(" {label}"), &format!("\n{label}"));
    }
    let text = text.replace("; otherwise see [`page_level`]", "").replace("[`", "`").replace("`]", "`");
    let is_for_users =
        |line: &&str| !line.starts_with("Protects:") && !line.starts_with('#') && !line.contains("crate::");
    text.lines().filter(is_for_users).map(str::to_owned).collect()
}

/// Name and head comment of each file below a folder, a paragraph a line.
fn heads(folder: &Path) -> Vec<(String, String)> {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("it is there").map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(heads(&path));
            continue;
        }
        let named = if path.ends_with("mod.rs") { path.parent().unwrap() } else { path.as_path() };
        let stem = named.file_stem().unwrap_or_default().to_string_lossy().replace('_', "-");
        let text = fs::read_to_string(&path).expect("sources are text");
        let mut head = String::new();
        for line in text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim) {
            head += if line.is_empty() { "\n" } else { " " };
            head += line;
        }
        let prose = head.split("```").step_by(2).collect::<Vec<_>>().concat();
        found.push((stem, prose.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")));
    }
    found
}

pub fn formats() -> Page {
    let mut page =
        Page::new("formats.md", "Formats", "Trace formats, and the other files that the program reads and writes.");
    page.heading(2, "Trace formats");
    page.paragraph(
        "nandarium tells the format of a trace from its contents. Name it with `--format` where it cannot. A table in \
         no known format is read by named columns ([`workload.columns`](keys.md#workloadcolumns)). Compressed files \
         (gzip, zstd, xz, bzip2, lz4, brotli), tar and zip archives and Parquet are read without unpacking.",
    );
    for format in FORMATS {
        page.heading(3, format.name);
        page.paragraph(&sentence(format.doc));
        page.text.push('\n');
        page.bullet(&format!("Columns: `{}`", format.columns));
        page.bullet(&format!("Time in {}; addresses in {}.", format.time_unit, format.address_unit));
        if !format.extensions.is_empty() {
            let endings: Vec<String> = format.extensions.iter().map(|ending| format!("`{ending}`")).collect();
            page.bullet(&format!("Usual endings of file names: {}.", endings.join(", ")));
        }
    }
    page.heading(2, "Other files");
    page.table(
        ["file", "read by", "written by", "described in"],
        [
            [
                "stack, TOML",
                "`--stack`, `check`",
                "`fit --out`",
                &format!("[stack files]({})", document("stack-files.md")),
            ],
            ["plan of a sweep, TOML", "`sweep`", "", &format!("[sweeps]({})", document("sweeps.md"))],
            ["measured drive, TOML", "`fit`", "`measure --out`", "`nandarium measure --help`"],
            ["result.json", "`report`, `run --again`", "`run --out`, `serve --out`", "[results](results.md)"],
            ["other JSON documents", "", "`--json` of each command", "[schemas](../schemas/README.md)"],
            ["series.csv", "", "`run --out`", "one row for each interval of the run"],
            ["timeline, JSON", "Perfetto", "`run --timeline`", &format!("[timelines]({})", document("timeline.md"))],
            ["drive file", "`serve --file`, `check`", "`serve --file`", "[serve](commands.md#nandarium-serve)"],
            ["remapped drive", "`hard serve`, `hard check`", "`hard format`", "[hard](commands.md#nandarium-hard)"],
            [
                "recording of a program",
                "`torture --recording`",
                "`torture --out`",
                "[torture](commands.md#nandarium-torture)",
            ],
            [
                "record of a drive, CSV with comments",
                "`run`, `fsyncs --record`",
                "`serve --record`",
                &format!("[fsyncs]({})", document("fsyncs.md")),
            ],
            [
                "system calls",
                "`fsyncs --calls`",
                "`strace -f -y -ttt`",
                &format!("[fsyncs]({})", document("fsyncs.md")),
            ],
        ]
        .map(|row| row.map(str::to_owned)),
    );
    page
}

pub fn workloads(keys: &[Parameter]) -> Page {
    let mut page = Page::new("workloads.md", "Workloads", "Built-in generators and the recorded sample.");
    page.paragraph(
        "`nandarium explain NAME` measures a calibrated generator against the figures of its source, which takes a few \
         seconds.",
    );
    for (name, doc) in items(Listing::Workloads) {
        page.heading(2, &name);
        page.paragraph(&linked(&sentence(&doc), keys, None));
        let Some(entry) = WORKLOADS.iter().find(|entry| entry.name == name) else { continue };
        page.text.push('\n');
        page.bullet(&format!("Source: {}", sentence(entry.source)));
        let takes = entry.takes.iter().map(|parameter| match parameter.name() {
            "request_bytes" => link("workload.request_size"),
            name => link(&format!("workload.{name}")),
        });
        let takes: Vec<String> = takes.collect();
        if !takes.is_empty() {
            page.bullet(&format!("Takes: {}.", takes.join(", ")));
        }
    }
    page
}

pub fn flash_parts(keys: &[Parameter]) -> Page {
    let mut page = Page::new("parts.md", "Flash parts", "Figures of flash chips, with their sources.");
    page.paragraph(&linked(
        "A part gives the defaults of the keys below flash. Choose one with `--set flash.part=NAME`, and change single \
         figures beside it.",
        keys,
        None,
    ));
    for part in parts() {
        page.heading(2, part.name);
        page.paragraph(&sentence(&part.description()));
        let table: toml::Table = part.text.parse().expect("a part is TOML");
        page.paragraph(&format!("Source: {}", sentence(table["source"].as_str().expect("it has a source"))));
        let figures = table.iter().filter(|(name, _)| !["description", "source"].contains(&name.as_str()));
        page.table(
            ["key", "value"],
            figures.map(|(name, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                [link(&format!("flash.{name}")), format!("`{value}`")]
            }),
        );
    }
    page
}

/// The settings of a stack file, without its description.
fn settings(page: &mut Page, preset: &Preset) {
    page.heading(2, preset.name);
    page.paragraph(&sentence(&preset.description()));
    let lines: Vec<&str> = preset.text.lines().filter(|line| !line.starts_with("description")).collect();
    page.code("toml", lines.join("\n").trim_start());
}

pub fn stack_files() -> Page {
    let mut page = Page::new("stacks.md", "Stacks", "The built-in stacks: a named choice for each layer of a drive.");
    page.paragraph(&format!(
        "Begin with [page](#page). `nandarium run NAME` runs a stack, `NAME+key=value` changes a key of it, and \
         [stack files]({}) tell how to write your own.",
        document("stack-files.md")
    ));
    for stack in stacks() {
        settings(&mut page, &stack);
    }
    page
}

pub fn measured_drives() -> Page {
    let mut page = Page::new(
        "drives.md",
        "Drives",
        "Stacks fitted to drives that were measured, with the sources of the figures.",
    );
    page.paragraph(
        "Each drive is a stack: `nandarium run --drive NAME` runs it. A few of its keys were fitted to the figures \
         below, and all other published figures are predicted. `nandarium repro drives` compares both for every drive.",
    );
    for drive in drives() {
        settings(&mut page, &drive);
        let Some(known) = KNOWN.iter().find(|known| known.stack == drive.name) else { continue };
        let measured = MeasuredDrive::from_text(known.text, known.name).expect("a built-in drive can be read");
        let (marks, mut used) = (measured.marks(), BTreeSet::new());
        page.paragraph(&format!("Fitted to {}:", measured.name));
        page.table(
            ["figure", "measured", "under"],
            marks.iter().map(|(number, name)| {
                let experiment = &measured.experiments[*number];
                used.insert(experiment.source.as_str());
                let value = find_figure(name).map(|figure| figure.spoken(experiment.measured[name]));
                [format!("`{name}`"), value.unwrap_or_default(), experiment.title()]
            }),
        );
        page.text.push('\n');
        for source in used {
            page.bullet(&format!("Source: {}", sentence(&measured.sources[source].text)));
        }
        for missing in &measured.beyond {
            page.bullet(&format!("Not modelled: {}", sentence(missing)));
        }
    }
    page
}

pub fn faults() -> Page {
    let mut page = Page::new("faults.md", "Faults", "Everything that can fail on command, and how it is written.");
    page.paragraph(&format!(
        "A fault is written in the same way for `ctl SOCKET fault`, `serve --fault`, `torture --fault`, Python and the \
         type `drive::Fault`. [The guide]({}) shows their use.",
        document("faults.md")
    ));
    let code = |text: &str| format!("`{text}`");
    page.table(
        ["fault", "effect", "example"],
        FAULTS.iter().map(|fault| [code(fault.form), fault.doc.to_owned(), code(fault.example)]),
    );
    page.heading(2, "Requests and clauses");
    page.paragraph("The words behind a fault of requests or of power cuts choose the requests. Their order is free.");
    page.table(["clause", "meaning"], CLAUSES.iter().map(|(form, doc)| [code(form), (*doc).to_owned()]));
    page
}

/// The page that watches a drive has a row of its own for each kind.
#[test]
fn the_watch_page_offers_each_kind_of_fault() {
    let page = fs::read_to_string(root().join("web/src/watch/controls.ts")).expect("the sources of the page are there");
    let missing: Vec<&str> =
        FAULTS.iter().map(|fault| fault.name).filter(|name| !page.contains(&format!("kind: \"{name}\""))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

pub fn exit_codes() -> Page {
    let mut page = Page::new("exit-codes.md", "Exit codes", "The meaning of the number with which a command ends.");
    page.table(
        ["code", "name", "when"],
        EXIT_CODES.iter().map(|(code, name, when)| [code.to_string(), (*name).to_owned(), (*when).to_owned()]),
    );
    page
}

pub fn glossary() -> Page {
    let text = include_str!("../../../GLOSSARY.md");
    Page { file: "glossary.md", about: "Every term and counter, with its unit.", text: text.to_owned() }
}
