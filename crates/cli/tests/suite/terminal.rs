//! What a terminal gets beside the table: pictures.

use crate::support::{Said, TINY, nandarium, said};
use assert_cmd::Command;

/// What the program writes to a terminal. `script` makes one; it is part of every Linux.
fn on_terminal(arguments: &[&str]) -> Said {
    let program = nandarium(arguments);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let mut command = Command::new("script");
    command
        .args(["-qec", &line.join(" "), "/dev/null"])
        .env("TERM", "dumb")
        .env("NO_COLOR", "1")
        .env("HOME", "/nonexistent");
    said(command)
}

fn tiny<'a>(start: &[&'a str], requests: &'a str) -> Vec<&'a str> {
    let settings = TINY.into_iter().flat_map(|setting| ["--set", setting]);
    let rest = ["--quiet", "--no-snapshots", "--requests", requests].into_iter().chain(settings);
    start.iter().copied().chain(rest).collect()
}

#[test]
fn a_terminal_gets_pictures_and_a_file_does_not() {
    let arguments = tiny(&["run"], "20000");
    let seen = on_terminal(&arguments);
    assert_eq!(seen.code, 0, "{}", seen.out);
    let text = seen.out.replace('\r', "");
    let (table, pictures) = text.split_once("\nlongest latency over the run\n").unwrap_or_else(|| panic!("{text}"));
    assert!(pictures.contains("\n\nlatency at percentiles, on a logarithmic scale: R reads, W writes"), "{text}");
    assert!(pictures.contains("  99.99 %  too few requests: ten have to lie beyond, so it takes 100,000"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour and no cursor movement");
    assert!(pictures.lines().all(|line| line.chars().count() <= 80), "{text}");
    let piped = said(nandarium(&arguments));
    let without_speed =
        |text: &str| text.lines().filter(|line| !line.starts_with("hash ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_speed(&piped.out), without_speed(table), "the table is the same");
}

#[test]
fn a_terminal_gets_stacks_side_by_side_in_pictures() {
    let arguments = tiny(&["compare", "page", "page+ftl.gc.victim=fifo"], "20000");
    let seen = on_terminal(&arguments);
    assert_eq!(seen.code, 0, "{}", seen.out);
    let text = seen.out.replace('\r', "");
    let (_, pictures) =
        text.split_once("\n  A page\n  B page+ftl.gc.victim=fifo\n").unwrap_or_else(|| panic!("{text}"));
    for op in ["reads", "writes"] {
        let (_, lines) =
            pictures.split_once(&format!("\n  {op}, the highest bar is ")).unwrap_or_else(|| panic!("{text}"));
        let starts: Vec<&str> = lines.lines().skip(1).take(2).map(|line| &line[..6]).collect();
        assert_eq!(starts, ["    A ", "    B "], "{text}");
        assert!(pictures.contains(&format!("\n  {op}\n      50 %  ")), "{text}");
    }
    assert!(pictures.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!said(nandarium(&arguments)).out.contains("percentiles"));
}
