//! Verdicts as `JUnit` XML, which services for builds show as tests.

use crate::failure::Failure;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// A verdict, which `JUnit` calls a test case.
pub struct Test {
    /// The subject; its class in the words of `JUnit`.
    pub of: String,
    /// The condition that has to hold.
    pub name: String,
    /// The reason, if it does not hold.
    pub problem: Option<String>,
    /// Its time, if that is known.
    pub seconds: Option<f64>,
}

/// Does the work of a command that writes its verdicts into a file, if it gets as far as that. Otherwise the file tells
/// why it did not: an older one would tell that all is well.
pub fn around(
    path: Option<&Path>,
    out: Option<&Path>,
    suite: &str,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(path) = path else { return work() };
    begin(path, out)?;
    let ended = work();
    let Err(failure) = ended else { return ended };
    if path.exists() {
        return Err(failure);
    }
    let problem = Some(failure.message.clone()).filter(|message| !message.is_empty());
    let problem = problem.unwrap_or_else(|| format!("it ended before its verdict, with exit code {}", failure.code));
    let test =
        Test { of: suite.to_owned(), name: "reaches its verdict".to_owned(), problem: Some(problem), seconds: None };
    let written = write(path, suite, std::iter::once(test));
    both(Err(failure), written)
}

/// The file can be written, as far as can be told, and there is none of an earlier run.
fn begin(path: &Path, out: Option<&Path>) -> Result<(), Failure> {
    let wrong = |problem: String| Err(Failure::usage(format!("--junit {}: {problem}", path.display())));
    if path.is_dir() {
        return wrong("this is a folder; give the name of a file".to_owned());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // The folder of --out is made before anything is written.
    let is_made = |folder: &Path| out.is_some_and(|out| folder.starts_with(out)) || folder.is_dir();
    if let Some(folder) = folder.filter(|folder| !is_made(folder)) {
        return wrong(format!("there is no folder {}; make it first, or give another", folder.display()));
    }
    if !path.is_file() {
        return Ok(()); // not there yet, or a device
    }
    std::fs::remove_file(path).or_else(|error| wrong(format!("the file of an earlier run stays there: {error}")))
}

/// A verdict, and whether its file could be written: the verdict has the exit code.
pub fn both(verdict: Result<(), Failure>, written: Result<(), Failure>) -> Result<(), Failure> {
    match (verdict, written) {
        (Err(verdict), Err(problem)) => {
            let message = [verdict.message, problem.message].join("\n  ").trim_start().to_owned();
            Err(Failure { message, ..verdict })
        }
        (verdict, written) => verdict.and(written),
    }
}

/// Writes a suite of tests into a file.
///
/// # Errors
/// The file cannot be written: its path, and the reason.
pub fn write(path: &Path, suite: &str, tests: impl Iterator<Item = Test>) -> Result<(), Failure> {
    let mut all = TestSuite::new(suite);
    let mut known = HashMap::new();
    for Test { of, name, problem, seconds } in tests {
        // Two files of stacks may have one name, and services tell tests apart by class and name.
        let number = known.entry((of.clone(), name.clone())).and_modify(|number| *number += 1).or_insert(1_u32);
        let of = if *number > 1 { format!("{of} ({number})") } else { of };
        let status = problem.map_or_else(TestCaseStatus::success, |problem| {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(problem.lines().next().unwrap_or_default()).set_description(problem);
            status
        });
        let mut case = TestCase::new(name, status);
        case.set_classname(of);
        if let Some(seconds) = seconds {
            case.set_time(Duration::from_secs_f64(seconds));
        }
        all.add_test_case(case);
    }
    let mut report = Report::new(suite);
    report.add_test_suite(all);
    let unwritten = |problem: &dyn std::fmt::Display| Failure::failed(format!("--junit {}: {problem}", path.display()));
    let text = report.to_string().map_err(|error| unwritten(&error))?;
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(|error| unwritten(&error))?;
    std::fs::write(path, text).map_err(|error| unwritten(&error))
}
