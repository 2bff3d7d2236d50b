//! One life of one drive, cut after every event.

use super::{Campaign, Position, Tally, life_stream};
use crate::host::{Habits, Host};
use crate::readback::{ReadBack, read_back, read_through};
use crate::stack::{Faults, Stack};
use crate::work::{can_serve, describe_blocks};
use drive::FlashFile;
use engine::random::Stream;
use nand::{Choice, Flash, FlashState, RecorderPlan, TimedFlash};
use simulator::{BlockDevice, Drive, DrivePlan};
use std::path::PathBuf;
use tempfile::TempDir;
use units::{DieId, HostOp, Nanos};

/// Events without a completed request after which a drive counts as stuck.
const PATIENCE: u64 = 50_000;
/// Cuts between two that are also read back by real requests.
const READ_THROUGH_EVERY: u64 = 64;
/// Events between two checks of the running layers.
const CHECK_EVERY: u64 = 4;

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It had all its cuts.
    Full,
    /// Too many blocks had failed for the drive to go on.
    WornOut,
}

/// One drive and its host.
pub struct Life {
    stack: Stack,
    plan: DrivePlan,
    per_page: u32,
    drive: Drive<TimedFlash>,
    /// Each step of a command is an event, so that power is cut between array and transfer too.
    in_steps: bool,
    host: Host,
    stream: Stream,
    found: ReadBack,
    /// Events until life goes on from a cut.
    restart_in: u64,
    /// Restarts still to come in quick succession.
    burst: u64,
    faults: Faults,
    deaths: Deaths,
    last_completion: u64,
    prepare: fn(&mut FlashState),
    /// The file that the flash is kept in, where the campaign kills programs and this stack can have one.
    file: Option<BackingFile>,
}

/// Flash in a file of a folder of its own.
struct BackingFile {
    folder: TempDir,
    file: FlashFile,
    /// Whether the program is killed at the next restart, or power is cut.
    choices: Stream,
}

fn path_in(folder: &TempDir) -> PathBuf {
    folder.path().join("flash")
}

/// Dies that die in the course of a life.
#[derive(Clone, Copy, Debug, Default)]
struct Deaths {
    so_far: u32,
    /// Event of the next one, if there is any.
    next: Option<u64>,
    /// Dies that may be missing at once, and spares.
    parities: u32,
    spares: u32,
}

/// Events between two deaths, at most.
const LONGEST_BETWEEN: u64 = 1500;

/// The same between two restarts of a drive in a file.
const LONGEST_BETWEEN_KILLS: u64 = 80;

/// Work is recorded, of a time that never comes: commands have all their events.
fn record_steps(drive: &mut Drive<TimedFlash>) {
    let window = Some([Nanos::MAX - 1, Nanos::MAX]);
    let plan = RecorderPlan { window, most: 0, closeups: Choice::Nobody, samples: false, host: 0, layers: 0 };
    drive.flash_mut().record(plan);
}

impl Life {
    /// A new drive drawn from `seed`.
    /// Errors: the drawn stack does not resolve.
    pub fn begin(campaign: &Campaign, seed: u64) -> Result<Self, String> {
        let mut stream = life_stream(seed, "testkit.stack");
        let stack = Stack::draw(&mut stream, campaign.faults, campaign.layers);
        let habits = Habits::draw(&mut stream);
        let plan = stack.plan().map_err(|error| format!("{error} ({stack})"))?;
        let mut state = plan.fresh_state();
        (campaign.prepare)(&mut state);
        let file = if campaign.kills && plan.not_in_pages().is_none() {
            let folder = TempDir::new().map_err(|error| format!("no folder for the file of the flash: {error}"))?;
            let file = FlashFile::open(&path_in(&folder), &mut state).map_err(|error| error.to_string())?;
            Some(BackingFile { folder, file, choices: life_stream(seed, "testkit.kills") })
        } else {
            None
        };
        let in_steps = seed.is_multiple_of(2);
        let mut drive = plan.assemble(plan.timed(state));
        if in_steps {
            record_steps(&mut drive);
        }
        if let Some(oracle) = drive.oracle_mut() {
            oracle.set_atomic(plan.kept_whole());
        }
        let mut cuts = life_stream(seed, "testkit.cuts");
        let deaths = match campaign.faults {
            Faults::Deaths => Deaths {
                so_far: 0,
                next: Some(cuts.below(LONGEST_BETWEEN)),
                parities: if stack.get("stripe.kind").starts_with("raid6") { 2 } else { 1 },
                spares: stack.get("stripe.spares").parse().expect("it was drawn as a number"),
            },
            Faults::None | Faults::Rare => Deaths::default(),
        };
        Ok(Self {
            per_page: plan.geometry.sectors_per_page(),
            stack,
            plan,
            drive,
            in_steps,
            host: Host::new(habits, seed),
            stream: cuts,
            found: Vec::new(),
            restart_in: 200,
            burst: 0,
            faults: campaign.faults,
            deaths,
            last_completion: 0,
            prepare: campaign.prepare,
            file,
        })
    }

    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Lives until `limit` more cuts were made.
    /// Errors: the broken law or the failure, in words.
    pub fn run(&mut self, limit: u64, position: &mut Position, tally: &mut Tally) -> Result<Ending, String> {
        let end = tally.cuts + limit;
        let ending = loop {
            if tally.cuts >= end {
                break Ending::Full;
            }
            self.host.fill(&mut self.drive, u64::from(self.per_page));
            position.event += 1;
            if self.deaths.next == Some(position.event) {
                self.kill(position.event);
            }
            if !self.event(position)? {
                break Ending::WornOut;
            }
            self.cut(position, tally)?;
        };
        tally.requests += self.host.completed;
        tally.erases += self.drive.flash().state().blocks().iter().map(|row| u64::from(row.erases)).sum::<u64>();
        Ok(ending)
    }

    /// A die dies, if nothing may be lost with it.
    fn kill(&mut self, event: u64) {
        self.deaths.next = Some(event + 1 + self.stream.below(LONGEST_BETWEEN));
        let mut reports = Vec::new();
        self.drive.top().report(&mut reports);
        let left = |name: &str| reports.iter().filter_map(|report| report.counters.get(name)).sum::<u64>();
        // What a power cut tore is mended before anybody sees it; here everything was seen at once.
        if left("stripes_to_repair") + left("pages_to_repair") + left("tombstones_to_copy") > 0 {
            return;
        }
        let is_whole = left("stripes_to_rebuild") + left("superblocks_to_rebuild") == 0;
        let Deaths { so_far, parities, spares, .. } = self.deaths;
        let may_die = if is_whole { spares + parities } else { parities };
        if so_far >= may_die {
            return;
        }
        let state = self.drive.flash().state();
        let live: Vec<DieId> = (0..state.geometry.dies()).map(DieId).filter(|die| !state.die_is_dead(*die)).collect();
        let die = live[self.stream.below(live.len() as u64) as usize];
        self.deaths.so_far += 1;
        self.drive.kill_die(die);
    }

    /// One event of the running drive. `false`: it cannot go on, for a good reason.
    fn event(&mut self, position: &mut Position) -> Result<bool, String> {
        let moved = self.drive.step();
        position.time = self.drive.now();
        let done = self.drive.take_done();
        if !done.is_empty() {
            self.last_completion = position.event;
        }
        if let Some(kept) = &self.file
            && done.iter().any(|done| done.request.op == HostOp::Flush || done.request.fua)
        {
            kept.file.flushed();
        }
        for completion in &done {
            self.host.completed(completion.failed);
            if completion.failed {
                return Err(format!("a {} failed on a drive whose data can be read", completion.request.op.name()));
            }
        }
        if let Some(violation) = self.drive.oracle().and_then(|oracle| oracle.violation()) {
            return Err(violation.to_owned());
        }
        if position.event.is_multiple_of(CHECK_EVERY) {
            self.drive.top().check(self.drive.flash())?;
        }
        let stuck = !moved && self.host.outstanding() > 0 && done.is_empty();
        if stuck || position.event - self.last_completion > PATIENCE {
            if self.is_worn_out() {
                return match read_through(&mut self.drive, self.per_page)? {
                    0 => Ok(false),
                    unanswered => Err(format!("{unanswered} reads are never answered on a worn-out drive")),
                };
            }
            let what = if stuck { "nothing will ever happen again" } else { "nothing completes any more" };
            let blocks = describe_blocks(&self.drive);
            return Err(format!("{what}, but {} requests wait; blocks by plane:{blocks}", self.host.outstanding()));
        }
        Ok(true)
    }

    /// Whether too many blocks have failed to go on.
    fn is_worn_out(&self) -> bool {
        self.faults == Faults::Rare && !can_serve(&self.stack, &self.plan, self.drive.flash().state())
    }

    /// Cuts power now, recovers and checks; from some cuts life goes on.
    fn cut(&mut self, position: &mut Position, tally: &mut Tally) -> Result<(), String> {
        tally.cuts += 1;
        let image = self.drive.flash().power_cut(&mut self.stream);
        self.restart_in -= 1;
        let restart = self.restart_in == 0;
        let through = tally.cuts.is_multiple_of(READ_THROUGH_EVERY);
        let kept = (restart || through).then(|| image.clone());
        self.check(image, "a power cut")?;
        let Some(mut image) = kept else { return Ok(()) };
        if through {
            tally.read_through += 1;
            let mut again = self.restarted(image.clone())?;
            let unanswered = read_through(&mut again, self.per_page)?;
            if unanswered > 0 {
                return Err(format!("{unanswered} reads are never answered after a power cut"));
            }
        }
        if restart {
            if self.file.as_mut().is_some_and(|kept| kept.choices.chance(0.5)) {
                image = self.reloaded()?;
                tally.kills += 1;
            } else if let Some(kept) = &self.file {
                kept.file.lose_power(self.drive.flash().state(), &mut image);
            }
            self.drive = self.restarted(image)?;
            if self.in_steps {
                record_steps(&mut self.drive);
            }
            self.host.forget();
            tally.restarts += 1;
            position.restarts += 1;
            self.last_completion = position.event;
            self.plan_restart();
        }
        Ok(())
    }

    /// The program is killed now, and its file is opened again: the flash in there, which must hold all that a power
    /// cut must leave.
    fn reloaded(&mut self) -> Result<FlashState, String> {
        let Some(BackingFile { folder, file, choices }) = self.file.take() else {
            return Err("there is no file".to_owned());
        };
        drop(file);
        if let Some(contents) = self.drive.flash_mut().state_mut().contents_mut() {
            contents.drop_mirror(); // the file is not open any more
        }
        let mut state = self.plan.fresh_state();
        (self.prepare)(&mut state);
        let file = FlashFile::open(&path_in(&folder), &mut state).map_err(|error| error.to_string())?;
        self.file = Some(BackingFile { folder, file, choices });
        self.check(state.clone(), "a killed program")?;
        Ok(state)
    }

    /// Reads back what is left, and asks the oracle.
    fn check(&mut self, mut image: FlashState, after: &str) -> Result<(), String> {
        if let Some(contents) = image.contents_mut() {
            contents.drop_mirror();
        }
        read_back(&self.plan, image, &mut self.found)?;
        let oracle = self.drive.oracle_mut().ok_or("contents are off")?;
        let mut found = Vec::with_capacity(self.found.len());
        for (sector, value) in self.found.iter().enumerate() {
            let value = value.ok_or_else(|| format!("sector {sector} is uncorrectable after {after}"))?;
            oracle.check_after_cut(sector as u64, value);
            found.push(value);
        }
        oracle.check_torn(&found);
        oracle.violation().map_or(Ok(()), |violation| Err(violation.to_owned()))
    }

    /// The drive after the cut that left `image`, with what the oracle now knows.
    fn restarted(&self, image: FlashState) -> Result<Drive<TimedFlash>, String> {
        let mut drive = self.plan.recover(image).map_err(|error| error.to_string())?;
        let mut oracle = self.drive.oracle().ok_or("contents are off")?.clone();
        let found: Vec<u64> = self.found.iter().map(|value| value.unwrap_or(0)).collect();
        oracle.after_cut(&found);
        *drive.oracle_mut().ok_or("contents are off")? = oracle;
        Ok(drive)
    }

    /// Several restarts in quick succession, then a longer stretch of life.
    fn plan_restart(&mut self) {
        if self.file.is_some() {
            // Kills are what such a life is for.
            self.restart_in = 1 + self.stream.below(LONGEST_BETWEEN_KILLS);
            return;
        }
        if self.burst > 0 {
            self.burst -= 1;
            self.restart_in = 1 + self.stream.below(40);
            return;
        }
        self.burst = self.stream.below(8);
        self.restart_in = 1 + self.stream.below(600);
    }
}
