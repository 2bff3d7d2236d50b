//! Failures and their exit codes.

use compare::{CompareError, Early, LifeError, TimelineError};
use drive::DriveError;
use experiment::ThreadsError;
use measure::MeasureError;
use remap::target::TargetError;
use repro::StudyError;
use simulator::ConfigError;
use simulator::session::SessionError;
use std::fmt::Display;
use std::io;
use std::path::Path;
use torture::TortureError;
use trace::WorkloadError;
use trace::formats::TraceError;
use units::quantity;

/// The run failed.
pub const FAILED: u8 = 1;
/// Usage or configuration.
pub const USAGE: u8 = 2;
/// A read returned wrong data.
pub const INTEGRITY: u8 = 3;
/// Steady state was not reached.
pub const NOT_STEADY: u8 = 4;
/// The drive is full or worn out.
pub const DRIVE_FULL: u8 = 5;
/// A row of a reproduction missed what is accepted.
pub const MISSED: u8 = 6;
/// A figure of a fitted or judged drive is outside its band.
pub const OUTSIDE: u8 = 7;
/// A figure has reached a limit of `--fail-if`.
pub const LIMIT: u8 = 8;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;

/// Every exit code: its name, and when the program ends with it.
pub const EXIT_CODES: [(u8, &str, &str); 10] = [
    (0, "ok", "The command did what was asked."),
    (FAILED, "run failed", "A file, a socket or another program failed, or `run --again` gave another result."),
    (
        USAGE,
        "usage or configuration",
        "The command line, a stack, a trace or a plan has a mistake; the message says where.",
    ),
    (
        INTEGRITY,
        "integrity violation",
        "A read returned wrong data, the file of a drive is damaged, a check of `torture` failed, or `fsyncs` found \
         data that no flush made to last.",
    ),
    (NOT_STEADY, "steady state not reached", "With `drive.precondition = steady` write amplification did not settle."),
    (
        DRIVE_FULL,
        "drive full or worn out",
        "The drive could not accept further writes. The results until then are printed.",
    ),
    (
        MISSED,
        "an acceptance band missed",
        "A row of `repro` lies outside its band, and its study does not declare why.",
    ),
    (
        OUTSIDE,
        "a figure outside its band",
        "A figure that `fit` fitted, or any figure that `fit --judge` judged, is outside its band.",
    ),
    (LIMIT, "a limit of --fail-if reached", "A figure reaches a limit that `--fail-if` names, or has no value."),
    (INTERRUPTED, "interrupted", "Ctrl-C or SIGTERM ended the command. The results until then are printed or kept."),
];

/// Why the program ends with a code other than 0.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    /// The message; empty: it has been printed.
    pub message: String,
}

impl Failure {
    /// A mistake of the user.
    pub fn usage(message: impl Display) -> Self {
        Self { code: USAGE, message: message.to_string() }
    }

    /// Something that did not work out.
    pub fn failed(message: impl Display) -> Self {
        Self { code: FAILED, message: message.to_string() }
    }

    /// A file that could not be read or written.
    pub fn file(path: &Path, doing: &str, error: &io::Error) -> Self {
        Self::failed(format!("{} could not be {doing}: {error}", path.display()))
    }

    /// The failure of a stack among several, which is named unless it is already.
    pub fn of_stack(self, stack: &str) -> Self {
        if self.code == USAGE && self.message.contains(stack) {
            return self;
        }
        Self { message: format!("stack `{stack}`: {}", self.message), ..self }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        let code = match &error {
            DriveError::Config(_) | DriveError::Foreign { .. } | DriveError::Unsupported(_) => USAGE,
            DriveError::Full | DriveError::Dead { .. } => DRIVE_FULL,
            _ => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let code = match &error {
            TargetError::Absent(_) | TargetError::Kind { .. } => USAGE,
            _ => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        let code = match error {
            MeasureError::Target(error) => return error.into(),
            MeasureError::Session(error) => return error.into(),
            MeasureError::Overwrites(_) => {
                return Self::usage(format!("{error}; add --yes if nothing on it is needed"));
            }
            MeasureError::Usage(_) | MeasureError::Config(_) => USAGE,
            MeasureError::Interrupted => INTERRUPTED,
            _ => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<TortureError> for Failure {
    fn from(error: TortureError) -> Self {
        match error {
            TortureError::Drive(error) => error.into(),
            TortureError::Usage(problem) => Self::usage(problem),
            TortureError::Interrupted => Self { code: INTERRUPTED, message: String::new() },
            TortureError::Nothing => {
                Self::failed(format!("{error}; a command finds the drive under NANDARIUM_URI, an NBD export"))
            }
            error => Self::failed(error),
        }
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        Self::usage(error)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let code = match &error {
            SessionError::Config(_)
            | SessionError::NoWorkload { .. }
            | SessionError::Generator { .. }
            | SessionError::Given { .. }
            | SessionError::Workload(_)
            | SessionError::Run(_)
            | SessionError::Timeline { .. }
            | SessionError::InOneOrder { .. }
            | SessionError::SteadyNeedsFile => USAGE,
            SessionError::NotSteady { .. } => NOT_STEADY,
            SessionError::Stuck { .. } => DRIVE_FULL,
            SessionError::Interrupted => INTERRUPTED,
            SessionError::Integrity { .. } => INTEGRITY,
            SessionError::Snapshot(_) => FAILED,
        };
        let hint = match &error {
            SessionError::Workload(WorkloadError::Trace(trace)) => option_hint(trace),
            _ => String::new(),
        };
        Self { code, message: format!("{error}{hint}") }
    }
}

impl From<ThreadsError> for Failure {
    fn from(error: ThreadsError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<Early> for Failure {
    fn from(early: Early) -> Self {
        let code = if early == Early::Interrupted { INTERRUPTED } else { DRIVE_FULL };
        Self { code, message: early.to_string() }
    }
}

impl From<LifeError> for Failure {
    fn from(error: LifeError) -> Self {
        let code = match error {
            LifeError::Config(error) => return error.into(),
            LifeError::Session(error) => return error.into(),
            LifeError::Question(_) | LifeError::NeverWears { .. } | LifeError::Untold { .. } => USAGE,
            LifeError::Ended { .. } => DRIVE_FULL,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<TimelineError> for Failure {
    fn from(error: TimelineError) -> Self {
        match error {
            TimelineError::Session(error) => error.into(),
            TimelineError::Folder(_) | TimelineError::NoFolder { .. } => Self::usage(format!("--timeline {error}")),
            TimelineError::Unwritten { .. } => Self::failed(error),
        }
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        let code = match error {
            CompareError::Session(error) => return error.into(),
            CompareError::Life(error) => return error.into(),
            CompareError::Timeline(error) => return error.into(),
            CompareError::Threads(error) => return error.into(),
            CompareError::Stack { stack, problem } => return Self::from(*problem).of_stack(&stack),
            CompareError::Repetition { run, problem } => {
                let failure = Self::from(*problem);
                return Self { message: format!("{run}: {}", failure.message), ..failure };
            }
            CompareError::Ended { .. } => FAILED,
            CompareError::Interrupted(_) | CompareError::Unrepeated => INTERRUPTED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        let code = match &error {
            StudyError::Usage(_)
            | StudyError::Config { .. }
            | StudyError::Workload(_)
            | StudyError::Generator(_)
            | StudyError::Run(_) => USAGE,
            StudyError::Full { .. } => DRIVE_FULL,
            StudyError::Interrupted => INTERRUPTED,
            StudyError::Snapshot(_) | StudyError::Threads(_) => FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

/// Trace errors name options by their short names; here is how they are given to a run.
fn option_hint(error: &TraceError) -> String {
    if let TraceError::BeyondDrive { end_bytes, .. } = error {
        // Whole pages of any flash.
        let least = quantity::size_at_least(*end_bytes, 32 << 10).unwrap_or_default();
        return format!(" (here: --set workload.fit=modulo, or --set drive.capacity={least} or more)");
    }
    if matches!(error, TraceError::BeyondWindow { .. }) {
        return " (here: --set workload.order=whole)".to_owned();
    }
    let text = error.to_string();
    let hints = [
        ("fit = ", " (here: --set workload.fit=modulo, or a larger --set drive.capacity)"),
        ("devices = ", " (here: --set workload.devices=0, or concat)"),
        ("order = ", " (here: --set workload.order=sort)"),
    ];
    hints.into_iter().find(|(part, _)| text.contains(part)).map_or_else(String::new, |(_, hint)| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_has_its_code() {
        let problem = String::from("sector 7: a read returned version 1");
        let integrity = Failure::from(SessionError::Integrity { problem });
        assert_eq!(integrity.code, INTEGRITY);
        assert!(integrity.message.contains("sector 7"));
        assert_eq!(Failure::from(SessionError::Interrupted).code, INTERRUPTED);
        assert_eq!(Failure::from(SessionError::SteadyNeedsFile).code, USAGE);
    }
}
