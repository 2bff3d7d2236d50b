//! What a terminal gets beside the table: pictures, and the page in a browser.

use crate::support::{Said, TINY, nandarium, run_tiny, said};
use assert_cmd::Command;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the program writes to a terminal. `script` makes one; it is part of every Linux.
fn on_terminal(arguments: &[&str]) -> Said {
    on_terminal_of(None, arguments)
}

/// The same on one of so many columns; `None`: it does not tell.
fn on_terminal_of(columns: Option<usize>, arguments: &[&str]) -> Said {
    let program = nandarium(arguments);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let narrow = columns.map_or_else(String::new, |columns| format!("stty rows 40 cols {columns} && "));
    let mut command = Command::new("script");
    command
        .args(["-qec", &(narrow + &line.join(" ")), "/dev/null"])
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

/// Lines were wrapped at a hundred characters, or not at all, and a narrower terminal broke each of them again.
#[test]
fn sentences_fit_a_narrow_terminal() {
    let asked = ["compare", "page", "page+host.latency=1ns", "--life", "--repetitions", "1", "--set"];
    let arguments = tiny(&[&asked[..], &["flash.endurance=3000"]].concat(), "20000");
    let seen = on_terminal_of(Some(60), &arguments);
    assert_eq!(seen.code, 0, "{}", seen.out);
    let text = seen.out.replace('\r', "");
    let (text, _) = text.split_once("\n  A page\n").unwrap_or_else(|| panic!("{text}"));
    // Sentences and their further lines, not the head of the table.
    let begins = ["answer    ", "matters   ", "assumes   ", "note      ", "          "];
    let is_sentence =
        |line: &&str| begins.iter().any(|begin| line.starts_with(begin)) && !line.trim_end().ends_with("ratio");
    let sentences: Vec<&str> = text.lines().filter(is_sentence).collect();
    assert!(sentences.len() > 10 && sentences.iter().all(|line| line.chars().count() <= 60), "{text}");
}

/// A browser that writes down what it is to open.
fn browser(folder: &Path) -> (PathBuf, PathBuf) {
    let (program, told) = (folder.join("browser"), folder.join("opened"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$1\" >'{0}.new' && mv '{0}.new' '{0}'\n", told.display()))
        .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (program, told)
}

/// What the browser was told, which runs beside the program and may be later than it.
fn opened(told: &Path) -> String {
    let start = Instant::now();
    while !told.exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "no browser was started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let page = std::fs::read_to_string(told).unwrap().trim_end().to_owned();
    std::fs::remove_file(told).unwrap();
    page
}

#[test]
fn pages_open_in_the_browser_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (program, told) = browser(folder.path());
    let out = folder.path().join("out");
    // The first of the list does not exist.
    let list = std::env::join_paths([Path::new("/nonexistent/browser"), &program]).unwrap();
    let mut run = run_tiny(&["--quiet", "--out", out.to_str().unwrap(), "--open"]);
    run.env("BROWSER", &list);
    let run = said(run);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(Path::new(&opened(&told)), out.join("report.html"));
    // A path from here is one from everywhere.
    let mut report = nandarium(&["report", "out", "--open"]);
    report.env("BROWSER", &program).current_dir(folder.path());
    let report = said(report);
    assert_eq!((report.code, report.out.as_str(), report.err.as_str()), (0, "out/report.html\n", ""));
    let page = PathBuf::from(opened(&told));
    assert!(page.is_absolute() && page.ends_with("out/report.html") && page.is_file(), "{}", page.display());
    let mut compare = nandarium(&tiny(&["compare", "page", "dftl", "--out", "out", "--open"], "2000"));
    compare.env("BROWSER", &program).current_dir(folder.path());
    assert_eq!(said(compare).code, 0);
    assert!(opened(&told).ends_with("out/report.html"));
}

#[test]
fn without_a_browser_the_page_is_there_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    assert_eq!(said(run_tiny(&["--quiet", "--out", out])).code, 0);
    let open = |browser: &str| {
        let mut report = nandarium(&["report", out, "--open"]);
        report.env("BROWSER", browser);
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"] {
            report.env_remove(name);
        }
        said(report)
    };
    let page = format!("{out}/report.html");
    for (browser, why) in
        [("", "has no display"), ("/nonexistent/browser", "`/nonexistent/browser` could not be started")]
    {
        let report = open(browser);
        assert_eq!((report.code, &report.out), (0, &format!("{page}\n")), "{}", report.err);
        assert!(report.err.contains(why) && report.err.contains(&format!("Open {page} yourself")), "{}", report.err);
        assert_eq!(report.err.lines().count(), 1, "{}", report.err);
    }
    let lacking = said(run_tiny(&["--open"]));
    assert!(lacking.code == 2 && lacking.err.contains("--out <DIR>"), "{}", lacking.err);
}

/// The first thing to try is one word, also for those who watch over ssh.
#[test]
fn the_demo_ends_with_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let (program, told) = browser(folder.path());
    let demo = |more: &[&str]| {
        let mut demo = nandarium(&[&["demo", "--quiet"], more].concat());
        demo.env("BROWSER", &program).current_dir(folder.path());
        let demo = said(demo);
        assert_eq!((demo.code, demo.err.as_str()), (0, ""));
        let page = PathBuf::from(demo.out.lines().last().expect("it prints"));
        assert!(page.is_absolute() && page.is_file(), "{}", page.display());
        page
    };
    let page = demo(&[]);
    assert_eq!(PathBuf::from(opened(&told)), page);
    demo(&["--no-open", "--out", "elsewhere"]);
    assert!(folder.path().join("elsewhere/result.json").is_file() && !told.exists());
}

#[test]
fn the_program_alone_says_what_to_try_first() {
    let alone = said(nandarium(&[]));
    assert_eq!((alone.code, alone.out.as_str()), (2, ""));
    assert_eq!(alone.err.lines().count(), 8, "{}", alone.err);
    assert!(alone.err.contains("nandarium demo") && alone.err.contains("nandarium explain"), "{}", alone.err);
    let part = said(nandarium(&["trace"]));
    assert!(part.code == 2 && part.err.contains("Usage: nandarium trace"), "{}", part.err);
}
