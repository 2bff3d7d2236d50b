//! Verdicts as `JUnit` XML, which services for builds show as tests.

use crate::failure::Failure;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
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

/// Checks, before anything runs, that the folder of the file is there.
pub fn check(path: Option<&Path>) -> Result<(), Failure> {
    let folder = path.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    folder.map_or(Ok(()), |folder| {
        Err(Failure::usage(format!("--junit: there is no folder {}; make it first, or give another", folder.display())))
    })
}

/// Writes a suite of tests into a file.
///
/// # Errors
/// The file cannot be written: its path, and the reason.
pub fn write(path: &Path, suite: &str, tests: impl Iterator<Item = Test>) -> Result<(), Failure> {
    let mut all = TestSuite::new(suite);
    for Test { of, name, problem, seconds } in tests {
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
    std::fs::write(path, text).map_err(|error| unwritten(&error))
}
