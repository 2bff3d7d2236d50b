//! How commits are told (CONTRIBUTING.md, "Words"). Without git, or without the history, there is nothing to look at.

use std::path::Path;
use std::process::Command;

/// The last commit that was made before the rule.
const SINCE: &str = "db5043d1e1014d6534b1e506491ccc139548e9d1";
/// Most characters of a subject.
const SUBJECT: usize = 72;

/// Hash, subject and body of each commit after the rule; `None` where git does not know the last one before it.
fn commits() -> Option<Vec<[String; 3]>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let range = format!("{SINCE}..HEAD");
    let log = ["log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", &range];
    let answer =
        Command::new("git").current_dir(folder).args(log).output().ok().filter(|said| said.status.success())?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let commit = |text: &str| {
        let mut parts = text.trim().splitn(3, '\u{1f}').map(str::to_owned);
        Some([parts.next()?, parts.next()?, parts.next()?])
    };
    Some(text.split('\u{1e}').filter_map(commit).collect())
}

/// What is wrong with the message of a commit.
fn problem([hash, subject, body]: &[String; 3]) -> Option<String> {
    let length = subject.chars().count();
    if length > SUBJECT {
        return Some(format!("{hash} has a subject of {length} characters, at most {SUBJECT}: {subject}"));
    }
    body.trim().is_empty().then(|| format!("{hash} has no body that says why: {subject}"))
}

#[test]
fn commits_have_a_short_subject_and_a_body() {
    let problems: Vec<String> = commits().unwrap_or_default().iter().filter_map(problem).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_long_subject_and_a_missing_body_are_found() {
    let commit = |subject: &str, body: &str| problem(&["1234".to_owned(), subject.to_owned(), body.to_owned()]);
    assert_eq!(commit("A change", "It was slow."), None);
    assert!(commit(&"long ".repeat(15), "It was slow.").unwrap().contains("75 characters"));
    assert!(commit("A change", "\n").unwrap().contains("no body"));
}
