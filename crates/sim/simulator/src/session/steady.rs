//! Steady state: the workload itself, in rounds, until write amplification stops moving.
//!
//! Faithful to: the steady-state rule of the SNIA Solid State Storage Performance Test
//! Specification, with write amplification in place of IOPS: a window of five rounds, the range of
//! the values at most 20 % of their mean, the excursion of their least-squares line over the window
//! at most 10 % of the mean, at most 25 rounds.
//! Simplified: a round is a quarter of the capacity in host writes instead of a minute, because no
//! time passes here. A workload that hardly writes does not fill a round: the overwritten state is then
//! taken as it is, and a note says so. A trace that writes many pages once has its writes in a new order in each
//! further pass: in the same order its pages would die in the order in which they were written. Its rounds are whole
//! passes, as write amplification swings within a pass that writes each place once.

use super::precondition::{Preconditioner, Primed};
use super::source::{Opened, Rehearsal};
use super::{Phase, SessionError, WorkloadSource};
use nand::{Counters, Flash};
use trace::{Workload, WorkloadError};
use units::{HostOp, Request, SECTOR_BYTES, quantity};

/// Rounds looked at together.
const WINDOW: usize = 5;
const ROUNDS_MAX: usize = 25;
/// A round writes the capacity divided by this.
const ROUND_SHARE: u64 = 4;
/// Largest range of the values of a window, as a share of their mean.
const RANGE_MAX: f64 = 0.20;
/// Largest change of the trend line over a window, as a share of the mean.
const TREND_MAX: f64 = 0.10;
/// Most requests of a round of few pages.
const ROUND_REQUESTS: u64 = 1 << 20;
/// Most requests of a round of many pages, for each page it should write.
const ROUND_REQUESTS_PER_PAGE: u64 = 4;
/// A generator that sends no write among this many requests is taken to be read-only.
const READ_ONLY_AFTER: u64 = 1 << 20;
/// Requests taken from the workload at once: rounds are this exact.
const STEP: usize = 64;

/// The note of a drive that became steady: its begin, and the words before its values.
const STEADY: &str = "Steady after";
const LAST_FIVE: &str = "write amplification of the last five:";
/// Write amplification of a run that differs from that of the last rounds by more than this share of it is told.
const APART: f64 = 0.1;

/// Write amplification of the last rounds, as the notes of a drive have it: they are kept with its state.
fn waf_of_rounds(notes: &[String]) -> Option<f64> {
    let (_, values) = notes.iter().find(|note| note.starts_with(STEADY))?.split_once(LAST_FIVE)?;
    let values: Vec<f64> = values.trim_end_matches('.').split(',').filter_map(|one| one.trim().parse().ok()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The note of a run whose write amplification by pages is not that of the rounds before it.
pub(super) fn apart(notes: &[String], waf_pages: Option<f64>) -> Option<String> {
    let (before, run) = waf_of_rounds(notes).zip(waf_pages)?;
    ((run / before - 1.0).abs() > APART).then(|| {
        format!(
            "Write amplification by pages was {before:.3} in the last rounds before the run, and is {run:.3} in the \
             run. The rounds take no time, so a drive that works in idle time or in parallel may collect otherwise in \
             the run; or it needs more rounds. Run twice as many requests, and see whether the figure stays."
        )
    })
}

/// Runs rounds until steady; says how many it took.
pub(super) fn reach<D: Primed>(work: &mut Preconditioner<'_, D>) -> Result<String, SessionError> {
    if !work.source.is_repeatable() {
        return Err(SessionError::SteadyNeedsFile);
    }
    let round_bytes = (work.plan.capacity() / ROUND_SHARE).max(SECTOR_BYTES);
    let round_bytes = work.source.once_bytes().map_or(round_bytes, |pass| round_bytes.next_multiple_of(pass));
    let round_pages = round_bytes / u64::from(work.plan.geometry.page_bytes);
    let round_requests = ROUND_REQUESTS.max(ROUND_REQUESTS_PER_PAGE * round_pages);
    let mut requests = Endless::new(work.source)?;
    let mut history: Vec<f64> = Vec::new();
    while history.len() < ROUNDS_MAX {
        let before = programs(work.drive);
        let mut round = Round { inner: &mut requests, bytes_left: round_bytes, requests_left: round_requests };
        let sheet = work.measured(Phase::Steady, &mut round)?;
        let unfinished = round.bytes_left > 0;
        if requests.read_only {
            return Ok("Steady at once: the workload writes nothing.".to_owned());
        }
        if unfinished {
            return Ok(format!(
                "Taken to be steady: the workload writes too little to change the drive, {} pages in {} requests. A \
                 round is {} of host writes. The run begins in the state after the random writes.",
                sheet.totals[HostOp::Write.index()].pages,
                sheet.totals.iter().map(|op| op.requests).sum::<u64>(),
                quantity::format_size(round_bytes)
            ));
        }
        let programs = work.plan.array.chip_pages(programs(work.drive) - before);
        history.push(programs as f64 / sheet.totals[HostOp::Write.index()].pages.max(1) as f64);
        if is_steady(&history) {
            let rounds = history.len();
            return Ok(format!(
                "{STEADY} {rounds} rounds of {} of host writes; {LAST_FIVE} {}.",
                quantity::format_size(round_bytes),
                listed(&history[rounds - WINDOW..])
            ));
        }
    }
    Err(SessionError::NotSteady {
        rounds: ROUNDS_MAX,
        last: listed(&history[ROUNDS_MAX - WINDOW..]),
        round_bytes: quantity::format_size(round_bytes),
    })
}

fn programs(drive: &impl Primed) -> u64 {
    Counters::total(&drive.drive().flash().state().counters.programs)
}

fn listed(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.3}")).collect::<Vec<_>>().join(", ")
}

/// Whether the last window of values is flat.
fn is_steady(history: &[f64]) -> bool {
    let Some(window) = history.len().checked_sub(WINDOW).map(|from| &history[from..]) else { return false };
    let mean = window.iter().sum::<f64>() / WINDOW as f64;
    let highest = window.iter().copied().fold(f64::MIN, f64::max);
    let lowest = window.iter().copied().fold(f64::MAX, f64::min);
    let middle = (WINDOW - 1) as f64 / 2.0;
    let offsets = || (0..WINDOW).map(|index| index as f64 - middle);
    let slope = offsets().zip(window).map(|(x, y)| x * y).sum::<f64>() / offsets().map(|x| x * x).sum::<f64>();
    let excursion = (slope * (WINDOW - 1) as f64).abs();
    highest - lowest <= RANGE_MAX * mean && excursion <= TREND_MAX * mean
}

/// A workload that begins again when it ends.
struct Endless<'a> {
    source: &'a WorkloadSource,
    inner: Opened,
    /// Passes that have begun, after the first.
    passes: u64,
    since_write: u64,
    written_in_pass: bool,
    read_only: bool,
}

impl<'a> Endless<'a> {
    fn new(source: &'a WorkloadSource) -> Result<Self, SessionError> {
        let inner = source.open_rehearsal(Rehearsal::Steady)?;
        Ok(Self { source, inner, passes: 0, since_write: 0, written_in_pass: false, read_only: false })
    }

    /// Appends requests and returns the bytes they write.
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<u64, WorkloadError> {
        loop {
            let first = batch.len();
            self.inner.next_batch(batch, limit)?;
            let new = &batch[first..];
            if new.is_empty() {
                if !std::mem::take(&mut self.written_in_pass) {
                    self.read_only = true;
                    return Ok(0);
                }
                self.passes += 1;
                self.inner = self.source.reopen_rehearsal(self.passes)?;
                continue;
            }
            let writes = new.iter().filter(|request| request.op == HostOp::Write);
            let bytes = writes.map(|request| u64::from(request.sectors) * SECTOR_BYTES).sum();
            self.written_in_pass |= bytes > 0;
            self.since_write = if bytes > 0 { 0 } else { self.since_write + new.len() as u64 };
            self.read_only |= self.since_write >= READ_ONLY_AFTER;
            return Ok(bytes);
        }
    }
}

/// One round of it.
struct Round<'a, 'b> {
    inner: &'a mut Endless<'b>,
    bytes_left: u64,
    requests_left: u64,
}

impl Workload for Round<'_, '_> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        if self.bytes_left > 0 && self.requests_left > 0 && !self.inner.read_only {
            let first = batch.len();
            let bytes = self.inner.next_batch(batch, limit.min(STEP))?;
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
            self.requests_left = self.requests_left.saturating_sub((batch.len() - first) as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds had 5.7 and the run 4.7, and no note said so.
    #[test]
    fn a_run_with_another_write_amplification_than_its_rounds_says_so() {
        let note = format!("{STEADY} 6 rounds of 1GiB of host writes; {LAST_FIVE} {}.", listed(&[5.6, 5.7, 5.8]));
        let notes = ["Preconditioned.".to_owned(), note];
        let told = apart(&notes, Some(4.7)).unwrap();
        assert!(told.contains("5.700") && told.contains("4.700"), "{told}");
        assert_eq!(apart(&notes, Some(5.5)), None);
        assert_eq!(apart(&notes, None), None);
        assert_eq!(apart(&notes[..1], Some(4.7)), None);
    }

    #[test]
    fn flat_is_steady_and_rising_or_jumping_is_not() {
        assert!(is_steady(&[9.0, 2.0, 2.1, 2.0, 1.95, 2.0]));
        assert!(!is_steady(&[2.0, 2.0, 2.0, 2.0]), "four rounds are no window");
        assert!(!is_steady(&[2.0, 2.1, 2.2, 2.3, 2.35]), "the trend is 17 %");
        assert!(!is_steady(&[2.0, 2.0, 2.6, 2.0, 2.0]), "the range is 28 %");
    }
}
