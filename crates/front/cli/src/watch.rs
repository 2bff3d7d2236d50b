//! Watching sessions and studies: progress bars on a terminal, remarks, the clock, and signals to stop.

use crate::progress::Board;
use experiment::{Cache, Monitor, Shard};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use simulator::run::HostMeasurements;
use simulator::session::{Phase, Watcher};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Set by Ctrl-C or a request to terminate (SIGTERM, SIGHUP); a second one ends the program at once.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C and SIGTERM stop whatever runs, soon; that is said at once, as what is done is kept first.
pub fn catch_interrupts() {
    let caught = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(crate::failure::INTERRUPTED));
        }
        crate::output::complain("stopping: a second Ctrl-C or SIGTERM ends the program at once");
    });
    if let Err(error) = caught {
        tracing::warn!("Ctrl-C will end the program without a result: {error}");
    }
}

/// Whether somebody wants the program to end.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Set when somebody wants the program to end, for work that is no job of a monitor.
pub fn stop() -> &'static AtomicBool {
    &STOP
}

/// Where sessions show their progress.
#[derive(Debug)]
pub struct Stage {
    bars: MultiProgress,
    quiet: bool,
    /// Whether the result tells a choice among its notes, as text.
    is_told_below: fn(&str) -> bool,
    /// Remarks and choices that were told: stacks of a comparison have much in common.
    told: Mutex<HashSet<String>>,
    /// What others watch it on.
    board: Option<Arc<Board>>,
}

impl Stage {
    /// Progress goes to standard error if that is a terminal and the user wants to see it.
    pub fn new(quiet: bool) -> Self {
        let bars = MultiProgress::new();
        if quiet || !std::io::stderr().is_terminal() {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self { bars, quiet, is_told_below: |_| false, told: Mutex::default(), board: None }
    }

    /// Lets others watch it as well.
    pub fn shown_on(self, board: Option<Arc<Board>>) -> Self {
        Self { board, ..self }
    }

    /// Leaves the choices that a result printed as text tells among its notes to that: each is told once.
    pub fn with_choices_in_text(self, is_text: bool, is_told: fn(&str) -> bool) -> Self {
        if is_text { Self { is_told_below: is_told, ..self } } else { self }
    }

    /// Writes a note to standard error, unless it was written before or nobody wants to read it.
    fn note(&self, text: &str) {
        let is_new = || self.told.lock().is_ok_and(|mut told| told.insert(text.to_owned()));
        if !self.quiet && is_new() {
            let line = format!("note: {text}");
            self.bars.suspend(|| crate::output::complain(&line));
        }
    }

    /// A watcher for a session called `name`.
    pub fn watcher(&self, name: &str) -> Session<'_> {
        let bar = self.bars.add(ProgressBar::no_length());
        bar.set_style(style("{prefix}"));
        bar.set_prefix(name.to_owned());
        Session { stage: self, bar, lines: Lines::new(self.quiet), phase: None, started: Instant::now() }
    }
}

impl compare::Stage for Stage {
    fn watcher(&self, name: &str) -> Box<dyn Watcher + '_> {
        Box::new(self.watcher(name))
    }
}

/// Where jobs are kept as they end, if they are.
#[derive(Debug)]
pub struct Keeping {
    cache: Option<Cache>,
    /// The user was told that nothing can be kept.
    told: AtomicBool,
}

impl Keeping {
    pub fn new(cache: Option<Cache>) -> Self {
        Self { cache, told: AtomicBool::new(false) }
    }

    /// The folder and its contents.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// Removes all that is kept: the work is done.
    pub fn forget(&self) {
        if let Some(cache) = &self.cache {
            cache.forget();
            // The folder above it goes as well, unless something else is in it.
            let _ = cache.folder().parent().map(std::fs::remove_dir);
        }
    }

    /// How work that was stopped goes on.
    pub fn goes_on(&self) -> String {
        self.cache.as_ref().map_or_else(
            || "nothing was kept, as there is no cache folder: --out DIR keeps it there".to_owned(),
            |cache| {
                let folder = cache.folder().display();
                format!("runs that have ended are kept in {folder}, and the same command continues from there")
            },
        )
    }
}

impl Monitor for Keeping {
    fn is_stopped(&self) -> bool {
        is_stopped()
    }

    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        self.cache.as_ref()?.recall(name)
    }

    fn keep(&self, name: &str, given: &[u8]) {
        let Some(cache) = &self.cache else { return };
        if let Err(error) = cache.keep(name, given)
            && !self.told.swap(true, Ordering::Relaxed)
        {
            let folder = cache.folder().display();
            tracing::warn!(
                "runs that have ended cannot be kept in {folder}, and a run that is stopped begins anew: {error}"
            );
        }
    }
}

/// The progress of jobs that are kept as they end: on a bar, or in lines.
#[derive(Debug)]
pub struct Simulations {
    name: &'static str,
    bar: ProgressBar,
    lines: Lines,
    keeping: Arc<Keeping>,
    shard: Shard,
    /// How many need not be run.
    found: AtomicU64,
}

impl Simulations {
    /// A bar on standard error if that is a terminal, else a line now and then, if the user wants to see it. `shard`:
    /// which of them are run here.
    pub fn new(name: &'static str, quiet: bool, cache: Option<Cache>, shard: Shard) -> Self {
        let bar = bar(quiet, "{prefix} {bar:30} {pos}/{len} simulations, {elapsed} so far{msg}").with_prefix(name);
        let keeping = Arc::new(Keeping::new(cache));
        Self { name, bar, lines: Lines::new(quiet), keeping, shard, found: AtomicU64::new(0) }
    }

    /// How many have ended, and how many there are.
    pub fn counts(&self) -> (u64, u64) {
        (self.bar.position(), self.bar.length().unwrap_or(0))
    }

    pub fn keeping(&self) -> &Arc<Keeping> {
        &self.keeping
    }

    fn to_go(&self) -> String {
        let (done, all) = self.counts();
        let ended = done.saturating_sub(self.found.load(Ordering::Relaxed));
        to_go(self.lines.begun.elapsed().as_secs_f64(), ended, all.saturating_sub(done))
    }

    fn line(&self, after: u64, last: &str) {
        self.lines.tell(after, || {
            let (done, all) = self.counts();
            format!("{}: {done} of {all} simulations{}{last}", self.name, self.to_go())
        });
    }
}

impl Monitor for Simulations {
    fn expect(&self, simulations: usize) {
        self.bar.set_length(simulations as u64);
        self.bar.enable_steady_tick(std::time::Duration::from_secs(1));
        self.line(0, "");
    }

    fn found(&self, simulations: usize) {
        self.found.fetch_add(simulations as u64, Ordering::Relaxed);
        self.bar.inc(simulations as u64);
    }

    fn ended(&self, name: &str, _: &str) {
        self.bar.inc(1);
        self.bar.set_message(format!("{}; last: {name}", self.to_go()));
        self.line(LINE_EVERY, &format!("; last: {name}"));
        tracing::info!("{name} has ended");
    }

    fn is_stopped(&self) -> bool {
        // Asked every few thousand requests: long simulations give a sign of life as well.
        self.line(SIGN_OF_LIFE, "");
        is_stopped()
    }

    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        self.keeping.recall(name)
    }

    fn keep(&self, name: &str, given: &[u8]) {
        self.keeping.keep(name, given);
    }

    fn shard(&self) -> Shard {
        self.shard
    }
}

impl Drop for Simulations {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of a sweep: runs that have ended, and how long the others will take.
#[derive(Debug)]
pub struct Runs {
    bar: ProgressBar,
    lines: Lines,
    quiet: bool,
    jobs: Option<usize>,
    shard: Shard,
    /// What others watch it on.
    board: Option<Arc<Board>>,
}

impl Runs {
    /// A bar on standard error if that is a terminal and the user wants to see it. `jobs`: how many may run at once;
    /// `shard`: which of them do here.
    pub fn new(name: &str, quiet: bool, jobs: Option<usize>, shard: Shard, board: Option<Arc<Board>>) -> Self {
        let bar = bar(quiet, "{prefix} {bar:30} {pos}/{len} runs, {elapsed} so far, {eta} to go")
            .with_prefix(name.to_owned());
        Self { bar, lines: Lines::new(quiet), quiet, jobs, shard, board }
    }
}

impl Monitor for Runs {
    fn expect(&self, runs: usize) {
        self.bar.set_length(runs as u64);
        self.bar.enable_steady_tick(std::time::Duration::from_secs(1));
    }

    fn found(&self, found: usize) {
        let runs = self.bar.length().unwrap_or(0);
        let due = runs.saturating_sub(found as u64);
        self.bar.set_length(due);
        if let Some(board) = &self.board {
            board.begin("running", Some(due));
        }
        if found > 0 && !self.quiet {
            crate::output::complain(&format!("{found} of {runs} runs are done already or cannot be built"));
        }
    }

    fn ended(&self, address: &str, how: &str) {
        self.bar.inc(1);
        if let Some(board) = &self.board {
            board.reach(self.bar.position());
        }
        self.lines.tell(LINE_EVERY, || {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let left = to_go(self.seconds(), done, all.saturating_sub(done));
            format!("{done} of {all} runs{left}")
        });
        tracing::info!("{address} ended: {how}");
    }

    fn is_stopped(&self) -> bool {
        is_stopped()
    }

    fn seconds(&self) -> f64 {
        self.lines.begun.elapsed().as_secs_f64()
    }

    fn shard(&self) -> Shard {
        self.shard
    }

    fn threads(&self) -> Option<usize> {
        self.jobs
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of `torture`: states that were drawn, and states that were checked.
#[derive(Debug)]
pub struct States {
    /// Nothing where nobody wants to see it.
    work: Option<Work>,
    jobs: Option<usize>,
    expected: AtomicUsize,
    same: AtomicUsize,
    checked: AtomicUsize,
}

impl States {
    /// `jobs`: how many checks may run at once.
    pub fn new(quiet: bool, jobs: Option<usize>) -> Self {
        let [expected, same, checked] = [const { AtomicUsize::new(0) }; 3];
        Self { work: (!quiet).then(Work::new), jobs, expected, same, checked }
    }

    fn tell(&self) {
        if let Some(work) = &self.work {
            let [all, same, checked] =
                [&self.expected, &self.same, &self.checked].map(|count| count.load(Ordering::Relaxed));
            let left = to_go(work.seconds(), checked as u64, all.saturating_sub(same + checked) as u64);
            work.tell(|| format!("{} of {all} states, {checked} checked{left}", same + checked));
        }
    }
}

impl Monitor for States {
    fn expect(&self, states: usize) {
        self.expected.store(states, Ordering::Relaxed);
    }

    fn found(&self, states: usize) {
        self.same.fetch_add(states, Ordering::Relaxed);
        self.tell();
    }

    fn ended(&self, _: &str, _: &str) {
        self.checked.fetch_add(1, Ordering::Relaxed);
        self.tell();
    }

    fn is_stopped(&self) -> bool {
        is_stopped()
    }

    fn threads(&self) -> Option<usize> {
        self.jobs
    }
}

/// The time until all jobs have ended, as it follows their count: each takes as long as the ended jobs did on average.
/// Nothing where no job has ended yet.
fn to_go(seconds: f64, ended: u64, left: u64) -> String {
    if ended == 0 || left == 0 {
        return String::new();
    }
    let left = (seconds * left as f64 / ended as f64).max(1.0);
    let told = if left < 90.0 { format!("{left:.0} s") } else { format!("{:.0} min", left / 60.0) };
    format!(", about {told} to go")
}

/// Seconds between two lines of progress where there is no terminal to draw on.
const LINE_EVERY: u64 = 10;
/// Seconds without a line after which one is due, although nothing has ended.
const SIGN_OF_LIFE: u64 = 60;

/// Lines of progress on standard error, where that is no terminal.
#[derive(Debug)]
struct Lines {
    is_shown: bool,
    begun: Instant,
    /// Seconds from then to the last line.
    last: AtomicU64,
}

impl Lines {
    fn new(quiet: bool) -> Self {
        Self { is_shown: !quiet && !std::io::stderr().is_terminal(), begun: Instant::now(), last: AtomicU64::new(0) }
    }

    /// Writes how far something has got, unless the last line is younger than this many seconds.
    fn tell(&self, after: u64, how_far: impl FnOnce() -> String) {
        let (now, last) = (self.begun.elapsed().as_secs(), self.last.load(Ordering::Relaxed));
        if self.is_shown
            && now >= last + after
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            crate::output::complain(&format!("{}, {now} s so far", how_far()));
        }
    }
}

/// The progress of long work that is no simulation: a bar on a terminal, else a line now and then.
#[derive(Debug)]
pub struct Work {
    bar: ProgressBar,
    lines: Lines,
}

impl Work {
    /// Nothing is shown before something is told.
    pub fn new() -> Self {
        Self { bar: bar(false, "{spinner} {msg}, {elapsed} so far"), lines: Lines::new(false) }
    }

    /// Says how far the work has got. `false`: the user wants it to stop.
    pub fn tell(&self, how_far: impl FnOnce() -> String) -> bool {
        if self.lines.is_shown {
            self.lines.tell(LINE_EVERY, how_far);
        } else {
            self.bar.set_message(how_far());
            self.bar.tick();
        }
        !is_stopped()
    }

    /// Seconds since it began.
    pub fn seconds(&self) -> f64 {
        self.lines.begun.elapsed().as_secs_f64()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar on standard error; hidden where that is no terminal, or nobody wants to see it.
fn bar(quiet: bool, template: &str) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(None, target).with_style(style(template))
}

/// A style in which `{speed}` is a whole number.
fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("speed", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        // A bar that cannot be drawn is no reason to end a run.
        let _ = write!(out, "{}/s", crate::table::count(state.per_sec() as u64));
    })
}

/// The watcher of one session.
#[derive(Debug)]
pub struct Session<'a> {
    stage: &'a Stage,
    bar: ProgressBar,
    lines: Lines,
    /// What is done, and its requests if that is known.
    phase: Option<(Phase, Option<u64>)>,
    started: Instant,
}

impl Watcher for Session<'_> {
    fn phase(&mut self, phase: Phase, requests: Option<u64>) {
        self.bar.set_style(style(match requests {
            Some(_) => "{prefix} {msg:22} {bar:30} {percent:>3} % {speed:>16} {eta:>4} left",
            None => "{prefix} {msg:22} {spinner} {human_pos} requests {speed:>16}",
        }));
        self.bar.reset();
        self.bar.set_message(phase.name());
        self.phase = Some((phase, requests));
        match requests {
            Some(requests) => self.bar.set_length(requests),
            None => self.bar.unset_length(),
        }
        if let Some(board) = &self.stage.board {
            board.begin(phase.name(), requests);
        }
        tracing::info!(phase = phase.name(), requests, "{:.3} s", self.seconds());
    }

    fn progress(&mut self, done: u64) -> bool {
        self.bar.set_position(done);
        if let Some(board) = &self.stage.board {
            board.reach(done);
        }
        self.lines.tell(LINE_EVERY, || {
            let (name, count) = (self.bar.prefix(), crate::table::count(done));
            match self.phase {
                Some((phase, Some(all))) if all > 0 => {
                    format!("{name}: {}, {} %", phase.name(), done.saturating_mul(100) / all)
                }
                Some((phase, _)) => format!("{name}: {}, {count} requests", phase.name()),
                None => format!("{name}: {count} requests"),
            }
        });
        !is_stopped()
    }

    fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn measured(&mut self, sheet: &HostMeasurements) {
        if let Some(board) = &self.stage.board {
            board.measured(sheet);
        }
    }

    fn remark(&mut self, text: &str) {
        self.stage.note(text);
    }

    fn chosen(&mut self, text: &str) {
        if !(self.stage.is_told_below)(text) {
            self.stage.note(text);
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::to_go;

    #[test]
    fn the_time_that_is_left_follows_from_the_jobs_that_ended() {
        assert_eq!(to_go(20.0, 10, 40), ", about 80 s to go");
        assert_eq!(to_go(60.0, 1, 5), ", about 5 min to go");
        assert_eq!(to_go(60.0, 0, 5) + &to_go(60.0, 5, 0), "", "none has ended, or all have");
    }
}
