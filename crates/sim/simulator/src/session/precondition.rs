//! Bringing a drive into its initial state in counted time, and handing that state over.
//!
//! Faithful to: fill once in order (the part of the drive in use), then page-sized random writes there of twice the
//! capacity, then the workload itself until write amplification is steady; a flush at the end, and the rest of a drive
//! with an SLC cache. Simplified: time stands still, so no background work happens in between; copies of a small drive
//! stand in for a large one ([`super::tile`]). Protects: the state that is measured is the same whether it was computed
//! or read from a file, because both ways go through the same tables.

use super::snapshot::Snapshots;
use super::tile::{self, Tiles};
use super::written::Written;
use super::{Measurable, Phase, Relay, SessionError, Watcher, WorkloadSource, bad_blocks, programs, rest, steady};
use crate::DrivePlan;
use crate::block_device::{Completions, Progress};
use crate::clocked::Clocked;
use crate::config::keys::CONTENTS;
use crate::config::{PRECONDITION, Precondition};
use crate::drive::Drive;
use crate::in_use::InUse;
use crate::oracle::Oracle;
use crate::remapped::{Driver, Remapped};
use crate::run::{self, Ended, HostMeasurements, Loop, RunPlan, TOGETHER};
use crate::state::{DriveState, Fill};
use engine::random::Stream;
use layer::SnapshotError;
use nand::{ContentsKind, CountedFlash, Flash, FlashState, TimedFlash};
use remap::DriverPlan;
use trace::{Workload, WorkloadError};
use units::{DIE_CAUSES, HostOp, Request};

/// Random overwrites, as a multiple of the capacity.
pub(super) const OVERWRITES: u64 = 2;

/// Requests taken from a workload at once.
const BATCH: usize = 8192;
/// Writes under way at once for a driver of the host: one that is given them one after the other pads each of them.
const DRIVER_DEPTH: u32 = 16;

/// A drive to be measured.
pub(super) struct Begun<F: Clocked> {
    pub drive: Drive<F>,
    /// The driver of the host that goes over it.
    pub driver: Option<Driver>,
    pub notes: Vec<String>,
    /// Pages that hold something.
    pub written: Written,
}

/// The state a drive starts its measured run with.
pub(super) struct Initial {
    image: Image,
    /// The host's remapping driver, where there is one.
    driver: Option<Driver>,
    notes: Vec<String>,
    /// Pages that hold something.
    written: Written,
}

enum Image {
    /// As it left the factory.
    Fresh,
    /// Tables of flash and layers.
    Tables(DriveState),
    /// With contents: the flash itself moves, and its oracle with it where it has one.
    Moved { flash: Box<FlashState>, oracle: Option<Box<Oracle>>, state: DriveState },
}

/// The inputs of the initial state, where it is kept in a snapshot: `None` where it is computed each time.
pub(super) fn shared_state(plan: &DrivePlan, source: &WorkloadSource) -> Option<String> {
    let kind = PRECONDITION.read(&plan.config.values);
    // Contents are not kept in files: 8 bytes a sector and the oracle beside them would make a
    // snapshot as large as the map of a drive a hundred times its size, and checking runs are small.
    // A policy from outside may do something else under the same name tomorrow.
    let may_change = !plan.config.outside_policies().is_empty();
    let is_kept = kind != Precondition::None
        && plan.remap.is_none()
        && CONTENTS.read(&plan.config.values) == ContentsKind::None
        && !may_change;
    // Before a trace is looked at, nobody knows what will be chosen for it.
    let is_open = kind == Precondition::Auto;
    is_kept.then(|| super::snapshot::identity(plan, (kind == Precondition::Steady || is_open).then_some(source)))
}

/// Computes the initial state, or takes it from a snapshot.
pub(super) fn initial_state(
    plan: &DrivePlan,
    source: &WorkloadSource,
    snapshots: Option<&Snapshots>,
    watcher: &mut dyn Watcher,
) -> Result<Initial, SessionError> {
    let kind = PRECONDITION.read(&plan.config.values);
    if let Some(remap) = plan.remap.as_deref() {
        return behind_driver(plan, remap, source, watcher);
    }
    if kind == Precondition::None {
        return Ok(Initial {
            image: Image::Fresh,
            driver: None,
            notes: Vec::new(),
            written: Written::nothing_of(plan),
        });
    }
    // Naming a state may read a whole trace.
    let kept = snapshots.and_then(|snapshots| Some((snapshots, shared_state(plan, source)?)));
    let found = kept.as_ref().and_then(|(snapshots, identity)| snapshots.load(identity, watcher));
    let found = found.and_then(|found| Some((Written::nothing_of(plan).filled(&found.written)?, found)));
    if let Some((written, found)) = found {
        watcher.remark("initial state taken from a snapshot");
        return Ok(Initial {
            image: Image::Tables(DriveState::from_snapshot(found.tables)),
            driver: None,
            notes: found.notes,
            written,
        });
    }
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    let mut written = Written::nothing_of(plan);
    let notes = Preconditioner { plan, source, drive: &mut drive, watcher, written: &mut written }.run(kind)?;
    let image = Image::of(drive);
    if let (Some((snapshots, identity)), Image::Tables(state)) = (&kept, &image) {
        let texts = [notes.join("\n").into_bytes(), written.to_bytes()];
        snapshots.store(identity, &texts, state.snapshot(), watcher);
    }
    Ok(Initial { image, driver: None, notes, written })
}

/// A drive in time whose requests carry cells, in the state that `drive.precondition` asks for: `fill` or `overwrite`.
/// What that has written has maps and out-of-band areas and no bytes, so that it reads as zeros.
/// Errors: there is no room for that state.
pub fn in_use(plan: &DrivePlan) -> Result<Drive<TimedFlash>, SessionError> {
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    drive.carry_cells();
    let source = &WorkloadSource::new("uniform-write", plan)?; // nothing is taken from it
    let kind = PRECONDITION.read(&plan.config.values);
    let mut written = Written::nothing_of(plan);
    let notes =
        Preconditioner { plan, source, drive: &mut drive, watcher: &mut (), written: &mut written }.run(kind)?;
    let initial = Initial { image: Image::of(drive), driver: None, notes, written };
    Ok(initial.into_drive(plan, |state| plan.timed(state))?.drive)
}

/// As [`initial_state`] for a drive that the host sees through a remapping driver: formatted at least. Snapshots are
/// not used: the driver's map is not among their tables.
fn behind_driver(
    plan: &DrivePlan,
    remap: &DriverPlan,
    source: &WorkloadSource,
    watcher: &mut dyn Watcher,
) -> Result<Initial, SessionError> {
    let mut drive = plan.assemble(CountedFlash::new(plan.fresh_state()));
    if remap.terms.cell_bytes > 0 {
        drive.carry_cells();
    }
    let mut drive = Remapped::new(drive, Driver::format(remap, plan.config.values.whole("engine.seed")));
    drive.settle();
    let mut notes = Vec::new();
    let mut written = Written::nothing_of(plan);
    match PRECONDITION.read(&plan.config.values) {
        Precondition::None => {}
        kind => notes = Preconditioner { plan, source, drive: &mut drive, watcher, written: &mut written }.run(kind)?,
    }
    drive.settle();
    let (mut drive, mut driver) = drive.into_parts();
    // What the driver did after the host's flush, such as trims, is kept as well.
    flush(&mut drive);
    driver.reset_counters();
    Ok(Initial { image: Image::of(drive), driver: Some(driver), notes, written })
}

impl Image {
    /// What a drained drive holds.
    fn of(mut drive: Drive<CountedFlash>) -> Self {
        let state = DriveState::taken_from(&mut drive);
        let oracle = drive.oracle_mut().map(|oracle| Box::new(std::mem::replace(oracle, Oracle::new(0, 1))));
        if !drive.flash().state().holds_contents() {
            return Image::Tables(state);
        }
        Image::Moved { flash: Box::new(drive.into_parts().0.into_state()), oracle, state }
    }
}

impl Initial {
    /// The drive to be measured, with all counters at zero.
    pub fn into_drive<F: Clocked>(
        self,
        plan: &DrivePlan,
        flash: impl FnOnce(FlashState) -> F,
    ) -> Result<Begun<F>, SnapshotError> {
        let (mut drive, oracle) = match self.image {
            Image::Fresh => (plan.assemble(flash(plan.fresh_state())), None),
            Image::Tables(state) => (state.into_drive(plan, plan.fresh_state(), flash)?, None),
            Image::Moved { flash: moved, oracle, state } => (state.into_drive(plan, *moved, flash)?, oracle),
        };
        if let (Some(place), Some(oracle)) = (drive.oracle_mut(), oracle) {
            *place = *oracle;
        }
        if plan.remap.as_ref().is_some_and(|remap| remap.terms.cell_bytes > 0) {
            drive.carry_cells();
        }
        Ok(Begun { drive, driver: self.driver, notes: self.notes, written: self.written })
    }
}

/// Ends the preconditioning of a drive that was filled and overwritten by a caller's own writes, as that of a run
/// ends: a flush, the work of the layers before the first request, and the rest of `drive.rest = auto`. `false`: the
/// drive has no room to log what was written.
pub fn end_preconditioning(plan: &DrivePlan, drive: &mut Drive<CountedFlash>) -> bool {
    end(plan, drive, &mut ())
}

fn end<D: Primed>(plan: &DrivePlan, drive: &mut D, watcher: &mut dyn Watcher) -> bool {
    if !flush(drive) {
        return false;
    }
    drive.prepare();
    if rest::ends_preconditioning(plan) {
        watcher.phase(Phase::Rest, None);
        drive.drive_mut().rest();
    }
    true
}

/// One flush: nothing unlogged is left behind, unless the drive has no room for the log.
pub(super) fn flush<D: Primed>(drive: &mut D) -> bool {
    drive.submit(0, &Request { arrival: 0, first_sector: 0, sectors: 0, op: HostOp::Flush, fua: false });
    while drive.outstanding() > 0 {
        if drive.advance(&mut Completions::default()) == Progress::Idle && drive.outstanding() > 0 {
            return false;
        }
    }
    true
}

/// A drive to precondition, alone or behind a remapping driver.
pub(super) trait Primed: Measurable<Flash = CountedFlash> {
    /// Requests taken and not completed.
    fn outstanding(&self) -> u32;
    /// Lets the layers do what they do before the first request that is measured.
    fn prepare(&mut self);
}

impl Primed for Drive<CountedFlash> {
    fn outstanding(&self) -> u32 {
        Drive::outstanding(self)
    }

    fn prepare(&mut self) {
        Drive::prepare(self);
    }
}

impl Primed for Remapped<Drive<CountedFlash>> {
    fn outstanding(&self) -> u32 {
        Remapped::outstanding(self)
    }

    fn prepare(&mut self) {
        self.settle();
        self.device_mut().prepare();
    }
}

/// A drive being preconditioned.
pub(super) struct Preconditioner<'a, D> {
    pub plan: &'a DrivePlan,
    pub source: &'a WorkloadSource,
    pub drive: &'a mut D,
    pub watcher: &'a mut dyn Watcher,
    /// Pages that hold something by now.
    pub written: &'a mut Written,
}

impl<D: Primed> Preconditioner<'_, D> {
    fn run(&mut self, kind: Precondition) -> Result<Vec<String>, SessionError> {
        let mut notes = match tile::of(self.plan, self.drive.drive(), kind) {
            Tiles::Whole => self.whole(kind)?,
            Tiles::Refused(why) => [self.whole(kind)?, vec![why]].concat(),
            Tiles::Of(tile) => tile.bring_into_use(self)?,
        };
        if kind == Precondition::Steady {
            notes.push(steady::reach(self)?);
        }
        let rests = rest::ends_preconditioning(self.plan);
        notes[0].push_str(if rests { "; then it rested until it had nothing left to do." } else { "." });
        let bad_before = bad_blocks(self.drive.drive().flash().state());
        if end(self.plan, self.drive, self.watcher) { Ok(notes) } else { Err(self.stuck(Phase::Fill, bad_before)) }
    }

    /// Fills the drive and, but for `fill`, overwrites it. What was done, without a full stop.
    pub fn whole(&mut self, kind: Precondition) -> Result<Vec<String>, SessionError> {
        self.fill()?;
        let part = InUse::of(&self.plan.config.values).words(&self.plan.config);
        let filled = format!("Preconditioned: the drive was filled once in order{part}");
        if kind == Precondition::Fill {
            return Ok(vec![filled]);
        }
        // Of the capacity, and not of the part in use: no flash is left that was never written.
        self.overwrite(OVERWRITES * self.pages(), "precondition.overwrite")?;
        Ok(vec![format!("{filled}, then page-sized random writes of {OVERWRITES} times its capacity")])
    }

    /// Fills the part of the drive that is in use, once in order.
    pub fn fill(&mut self) -> Result<(), SessionError> {
        let spp = self.plan.host_page_sectors();
        let (sectors, share) = InUse::of(&self.plan.config.values).within(self.drive.sectors(), spp);
        self.watcher.phase(Phase::Fill, Some(sectors.div_ceil(u64::from(spp) * Fill::PAGES)));
        self.pour(Phase::Fill, &mut Fill::of(sectors, spp, share))
    }

    /// Whole pages of the host.
    pub fn pages(&self) -> u64 {
        self.drive.sectors() / u64::from(self.plan.host_page_sectors())
    }

    /// Overwrites `count` pages anywhere in the part that is in use.
    pub fn overwrite(&mut self, count: u64, stream: &str) -> Result<(), SessionError> {
        let values = &self.plan.config.values;
        let sectors_per_page = self.plan.host_page_sectors();
        let (sectors, share) = InUse::of(values).within(self.drive.sectors(), sectors_per_page);
        let pages = self.pages().min(sectors.div_ceil(u64::from(sectors_per_page)));
        let stream = Stream::new(values.whole("engine.seed"), stream);
        self.watcher.phase(Phase::Overwrite, Some(count));
        self.pour(Phase::Overwrite, &mut Overwrite { stream, pages, left: count, sectors_per_page, share })
    }

    /// Runs a workload to its end, measuring nothing: this is most of the time of a large drive.
    pub fn pour(&mut self, phase: Phase, workload: &mut dyn Workload) -> Result<(), SessionError> {
        let bad_before = bad_blocks(self.drive.drive().flash().state());
        let mut batch = Vec::with_capacity(BATCH);
        let mut completions = Completions::default();
        let mut done = 0;
        loop {
            batch.clear();
            workload.next_batch(&mut batch, BATCH)?;
            if batch.is_empty() {
                return Ok(());
            }
            let together = if self.plan.remap.is_some() { DRIVER_DEPTH as usize } else { TOGETHER };
            for (group, requests) in batch.chunks(together).enumerate() {
                run::announce(self.drive, &batch, group * together, together);
                // What is overwritten was filled before.
                if phase == Phase::Fill {
                    for request in requests {
                        self.written.is_unwritten_read(request);
                    }
                }
                self.serve(requests);
                loop {
                    let progress = self.drive.advance(&mut completions);
                    if self.drive.outstanding() == 0 {
                        break;
                    }
                    if progress == Progress::Idle {
                        return Err(self.stuck(phase, bad_before));
                    }
                }
            }
            done += batch.len() as u64;
            if !self.watcher.progress(done) {
                return Err(SessionError::Interrupted);
            }
        }
    }

    /// Serves requests at once as far as the drive does that, and submits the others.
    fn serve(&mut self, requests: &[Request]) {
        let mut left = requests;
        while let Some((next, others)) = left[self.drive.serve_at_once(left)..].split_first() {
            self.drive.submit(0, next);
            left = others;
        }
    }

    fn stuck(&self, phase: Phase, bad_before: usize) -> SessionError {
        let worn = bad_blocks(self.drive.drive().flash().state()) > bad_before;
        let (what, remedy) = if worn {
            ("worn out", "raise flash.endurance, lower the fault shares, or choose a shorter drive.precondition")
        } else if self.plan.coded.is_some() {
            ("full", "raise coded.spare_blocks")
        } else {
            ("full", "raise drive.over_provisioning")
        };
        SessionError::Stuck { what, phase: phase.name(), remedy }
    }

    /// Runs a workload to its end and measures.
    pub fn measured(&mut self, phase: Phase, workload: &mut dyn Workload) -> Result<HostMeasurements, SessionError> {
        self.watcher.phase(phase, None);
        let run_plan = RunPlan {
            arrivals: Loop::Closed { depth: if self.plan.remap.is_some() { DRIVER_DEPTH } else { 1 } },
            limit: u64::MAX,
            sectors_per_page: self.plan.array.chip_page_sectors(),
            timed: false,
        };
        let bad_before = bad_blocks(self.drive.drive().flash().state());
        let probe = Filling { written: self.written };
        let (ended, sheet) = run::run_probed(self.drive, workload, run_plan, &mut Relay(self.watcher), probe)?;
        match ended {
            Ended::Complete => Ok(sheet),
            Ended::Stopped => Err(SessionError::Interrupted),
            Ended::Stuck => Err(self.stuck(phase, bad_before)),
        }
    }
}

/// Takes down what a workload writes before the measured run.
struct Filling<'a> {
    written: &'a mut Written,
}

impl<D: Primed> run::Probe<D> for Filling<'_> {
    fn programs(&self, device: &D) -> [u64; DIE_CAUSES] {
        programs(device.drive())
    }

    fn is_unwritten(&mut self, request: &Request) -> bool {
        self.written.is_unwritten_read(request);
        false
    }
}

pub(super) fn write(first_sector: u64, sectors: u64) -> Request {
    Request { arrival: 0, first_sector, sectors: sectors as u32, op: HostOp::Write, fua: false }
}

/// Pages at uniformly random places.
struct Overwrite {
    stream: Stream,
    pages: u64,
    left: u64,
    sectors_per_page: u32,
    share: f64,
}

impl Workload for Overwrite {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let per_page = u64::from(self.sectors_per_page);
        for _ in 0..self.left.min(limit as u64) {
            let mut page = self.stream.below(self.pages);
            while !Fill::covers(page, self.share) {
                page = self.stream.below(self.pages);
            }
            batch.push(write(page * per_page, per_page));
            self.left -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::all_keys;
    use crate::config::{drives, stacks};
    use crate::{Config, Setting};
    use layer::Parameter;

    /// A value of a key other than the one it has.
    fn another(key: &Parameter, now: Option<&String>) -> Option<String> {
        let choices = key.kind.choices().into_iter().map(|(name, _)| name.to_owned());
        let texts = choices.chain(["true", "false"].map(str::to_owned)).chain(key.shown_example().map(str::to_owned));
        let limits = key.kind.limits().into_iter().flatten().map(|limit| key.kind.show(&limit));
        texts.chain(limits).find(|text| Some(text) != now && key.parse(text).is_ok())
    }

    /// The name of the initial state, and its tables.
    fn prepared(config: Config) -> Option<(String, Vec<u8>)> {
        let plan = DrivePlan::new(config).unwrap();
        let source = WorkloadSource::new("uniform-write", &plan).unwrap();
        let name = shared_state(&plan, &source)?;
        let initial = initial_state(&plan, &source, None, &mut ()).unwrap();
        let Image::Tables(tables) = initial.image else { panic!("{name} has no tables") };
        Some((name, tables.to_bytes()))
    }

    /// A sweep over `flash.read_time` brought the same drive into use for each value.
    #[test]
    fn times_change_neither_an_initial_state_nor_its_name() {
        let keys = all_keys();
        let times: Vec<_> = keys.iter().filter(|key| key.is_of_time(keys) && !key.key.starts_with("host.")).collect();
        assert!(times.iter().any(|key| key.key == "flash.suspend_time"), "a time under another time");
        let small = ["drive.capacity=64MiB", "drive.over_provisioning=50%", "flash.pages_per_block=16"];
        let stacks = stacks().into_iter().map(|stack| (stack.name, vec![&small[..]]));
        // The smallest size that a drive can have.
        let scales = [["drive.scale=512"], ["drive.scale=256"], ["drive.scale=128"], ["drive.scale=64"]];
        let drives = drives().into_iter().map(|drive| (drive.name, scales.iter().map(|scale| &scale[..]).collect()));
        let mut kept = 0;
        for (name, sizes) in stacks.chain(drives) {
            let of_size = |size: &&[&str]| {
                let settings = [*size, &["drive.precondition=overwrite"]].concat();
                let settings: Vec<_> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
                let mut usual = Config::load(name, &settings).unwrap();
                if usual.values.name("stripe.kind") == "coded" {
                    usual.choose("coded.size", "8MiB").unwrap();
                    let zones = usual.values.whole("coded.code_zones").min(2).to_string();
                    usual.choose("coded.code_zones", &zones).unwrap();
                }
                DrivePlan::new(usual.clone()).ok().map(|_| usual)
            };
            let usual = sizes.iter().find_map(of_size).unwrap_or_else(|| panic!("{name} has none of these sizes"));
            // Some of them exclude each other.
            let changed = times.iter().fold(usual.clone(), |before, key| {
                let mut one_more = before.clone();
                let text = another(key, usual.resolved.get(key.key));
                let is_set = text.is_some_and(|text| one_more.choose(key.key, &text).is_ok());
                if is_set && DrivePlan::new(one_more.clone()).is_ok() { one_more } else { before }
            });
            let set = times.iter().filter(|key| usual.resolved.get(key.key) != changed.resolved.get(key.key)).count();
            assert!(set >= 10, "{name}: {set} times");
            let (usual, changed) = (prepared(usual), prepared(changed));
            assert!(usual == changed, "{name}");
            kept += usize::from(usual.is_some());
        }
        assert!(kept > 30, "{kept} of the drives have a state that is kept");
    }

    /// A trace that was written anew with its old time got the steady state of the old one.
    #[test]
    fn traces_of_one_name_length_and_time_have_states_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let settings = ["drive.capacity=64MiB", "flash.pages_per_block=16", "drive.precondition=steady"];
        let settings: Vec<_> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let named = |offset: u32| {
            std::fs::write(&path, format!("time_ns,device,op,offset_bytes,length_bytes\n0,0,write,{offset},4096\n"))
                .unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            let plan = DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap();
            let source = WorkloadSource::new(path.to_str().unwrap(), &plan).unwrap();
            shared_state(&plan, &source).unwrap()
        };
        assert_ne!(named(4096), named(8192));
    }
}
