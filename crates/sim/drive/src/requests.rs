//! The drive: requests, power, faults.

use crate::error::DriveError;
use crate::faults::{Faults, Injected};
use crate::host::Host;
use crate::image::{self, FileDamage, Image};
use crate::measure::Measuring;
use engine::random::Stream;
use nand::{Flash as _, FlashState};
use simulator::{BlockDevice as _, Completion, Completions, Config, DrivePlan, Progress, Promises, Setting};
use std::path::Path;
use std::sync::Arc;
use units::{DieId, HostOp, Nanos, Request, SECTOR_BYTES};

/// Most sectors of a request that is served at once; longer ones are served piece by piece.
const PIECE: u32 = 512;

/// A drive while power is on, and its remains while power is off.
pub(crate) enum Power {
    On(Host),
    Off(Box<FlashState>),
    /// Only while one turns into the other.
    Between,
}

/// A simulated drive that holds bytes: see the crate's description.
pub struct Drive {
    pub(crate) plan: DrivePlan,
    pub(crate) power: Power,
    image: Option<Arc<Image>>,
    /// Damage of the file when it was opened.
    pub(crate) damage: FileDamage,
    /// Chances that programs, erases and reads fail.
    pub(crate) chances: [f64; 3],
    /// Events until power goes, and the seed of what it leaves.
    cut_after: Option<(u64, u64)>,
    /// Time of all power cycles before this one, ns.
    pub(crate) before: Nanos,
    power_cuts: u64,
    completions: Completions,
    /// Faults between the host and the drive, once there was one.
    pub(crate) faults: Option<Box<Faults>>,
    /// Entries of the log of faults before those in `faults`.
    pub(crate) fault_log: Vec<Injected>,
    /// Measurements of its use, if it takes any.
    pub(crate) measuring: Option<Box<Measuring>>,
}

impl Drive {
    /// A new drive of a built-in stack or of a stack file, with settings as `key=value`. Contents are bytes, and time
    /// is simulated, whatever the stack says. The drive is erased, or in use where `drive.precondition` is `fill` or
    /// `overwrite`: pages that preconditioning writes read as zeros.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn new(stack: &str, settings: &[&str]) -> Result<Self, DriveError> {
        let settings: Result<Vec<_>, _> = settings.iter().map(|text| Setting::from_argument(text)).collect();
        Self::from_config(Config::load(stack, &[settings?, Self::own_settings()].concat())?)
    }

    /// A new drive in memory.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn from_config(config: Config) -> Result<Self, DriveError> {
        let plan = DrivePlan::new(config)?;
        plan.check_memory(true)?;
        let host = Host::begin(&plan)?;
        Ok(Self::assemble(plan, Power::On(host), None))
    }

    /// The drive kept in a file, which is made if there is none: `drive.precondition` counts only then. The state that
    /// a killed program left is recovered as after a power cut. The file is sparse. Its contents are in memory as well
    /// while the drive is open.
    ///
    /// # Errors
    /// The configuration cannot be used, or keeps what is not in the pages of flash, as in non-volatile memory; the
    /// file cannot be read, is open elsewhere, or is of another drive.
    pub fn in_file(config: Config, path: &Path) -> Result<Self, DriveError> {
        let lines =
            config.resolved.iter().filter(|(key, _)| is_lasting(key)).map(|(key, value)| format!("{key} = {value}"));
        let description = lines.collect::<Vec<_>>().join("\n");
        let plan = DrivePlan::new(config)?;
        if let Some((user, remedy)) = plan.not_in_pages() {
            return Err(DriveError::Unsupported(format!(
                "{user}, which a file of flash does not hold: {remedy}, or keep the drive in memory"
            )));
        }
        plan.check_memory(true)?;
        let (image, holds) = Image::open(path, plan.geometry, &description)?;
        if !holds {
            let mut host = Host::begin(&plan)?;
            image.start(host.drive_mut().flash_mut().state_mut());
            image.describe(&description)?;
            return Ok(Self::assemble(plan, Power::On(host), Some(image)));
        }
        let mut state = plan.fresh_state();
        let (image, damage) = image.resume(&mut state)?;
        let mut drive = Self::assemble(plan, Power::Off(Box::new(state)), Some(image));
        drive.damage = damage;
        drive.reopen()?;
        Ok(drive)
    }

    /// Whether a file is one of a drive, of this version or another.
    pub fn is_file(path: &Path) -> bool {
        image::is_drive(path)
    }

    /// Whether the file of a drive is of the version before: [`Drive::in_file`] writes it anew, in its place.
    pub fn is_file_of_version_before(path: &Path) -> bool {
        image::is_old(path)
    }

    /// Whether [`Drive::in_file`] makes a new drive: there is no file, or it is empty, or the drive was never finished.
    pub fn would_make_file(path: &Path) -> bool {
        image::is_unfinished(path)
    }

    /// Whether the drive's file was of the version before, and was written anew when it was opened.
    pub fn was_file_converted(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.is_converted())
    }

    /// Looks at the file of a drive and changes nothing: the drive as it is in memory afterwards, and the damage of the
    /// file. Bytes missing at its end count as lost with power.
    ///
    /// # Errors
    /// The file cannot be read, is open elsewhere, is not one of a drive, or is damaged so that nothing of it
    /// can be used; the layers cannot rebuild themselves from it.
    pub fn check_file(path: &Path) -> Result<(Self, FileDamage), DriveError> {
        let (file, description) = Image::described(path)?;
        let place = path.display().to_string();
        let lines = description.lines().filter_map(|line| line.split_once(" = "));
        let lasting = lines.map(|(key, value)| Setting::new(key, value, &place));
        let plan =
            DrivePlan::new(Config::resolve(place.clone(), &lasting.chain(Self::own_settings()).collect::<Vec<_>>())?)?;
        plan.check_memory(true)?;
        let mut state = plan.fresh_state();
        let damage = Image::to_look_at(path, file, plan.geometry)?.load(&mut state)?;
        let mut drive = Self::assemble(plan, Power::Off(Box::new(state)), None);
        drive.damage = damage;
        drive.reopen()?;
        Ok((drive, damage))
    }

    /// Damage of the drive's file when it was opened; empty without a file.
    pub fn file_damage(&self) -> FileDamage {
        self.damage
    }

    pub(crate) fn assemble(plan: DrivePlan, power: Power, image: Option<Arc<Image>>) -> Self {
        let values = &plan.config.values;
        let chances = ["flash.fault.program", "flash.fault.erase", "flash.fault.read"].map(|key| values.real(key));
        Self {
            plan,
            power,
            image,
            damage: FileDamage::default(),
            chances,
            cut_after: None,
            before: 0,
            power_cuts: 0,
            completions: Completions::default(),
            faults: None,
            fault_log: Vec::new(),
            measuring: None,
        }
    }

    /// Bytes that the user sees.
    pub fn bytes(&self) -> u64 {
        self.plan.host_sectors() * SECTOR_BYTES
    }

    /// Bytes of the unit that trims work on: a page of the mapping, or of the driver's map.
    pub fn page_bytes(&self) -> u32 {
        self.plan.host_page_sectors() * SECTOR_BYTES as u32
    }

    /// The promises of the drive about power cuts.
    pub fn promises(&self) -> Promises {
        self.plan.promises()
    }

    /// Whether acknowledged writes may be lost with power until they are flushed.
    pub fn is_volatile(&self) -> bool {
        self.promises().is_volatile
    }

    /// Whether power is on.
    pub fn is_on(&self) -> bool {
        matches!(self.power, Power::On(_))
    }

    /// How often power was cut.
    pub fn power_cuts(&self) -> u64 {
        self.power_cuts
    }

    /// Simulated time since the drive was made, ns; time without power does not count.
    pub fn now(&self) -> Nanos {
        self.before + if let Power::On(host) = &self.power { host.drive().now() } else { 0 }
    }

    /// Reads bytes. Bytes that were never written, or were trimmed, are zeros.
    ///
    /// # Errors
    /// [`DriveError::Failed`] if any of them cannot be corrected; the others are not given either.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DriveError> {
        self.check(offset, into.len() as u64)?;
        for (offset, piece) in (offset..)
            .step_by(PIECE as usize * SECTOR_BYTES as usize)
            .zip(into.chunks_mut(PIECE as usize * SECTOR_BYTES as usize))
        {
            self.serve(HostOp::Read, offset, piece.len() as u64, &[], false)?;
            piece.copy_from_slice(&self.completions.cells);
        }
        Ok(())
    }

    /// Writes bytes. They are acknowledged when this returns; with a volatile buffer only a flush makes them last.
    ///
    /// # Errors
    /// [`DriveError::Full`] or [`DriveError::Dead`] without room, [`DriveError::Failed`] if flash fails.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DriveError> {
        self.write_pieces(offset, bytes, false)
    }

    /// Writes bytes that last as soon as this returns (force unit access).
    ///
    /// # Errors
    /// As [`Drive::write`].
    pub fn write_through(&mut self, offset: u64, bytes: &[u8]) -> Result<(), DriveError> {
        self.write_pieces(offset, bytes, true)
    }

    fn write_pieces(&mut self, offset: u64, bytes: &[u8], fua: bool) -> Result<(), DriveError> {
        self.check(offset, bytes.len() as u64)?;
        let piece = PIECE as usize * SECTOR_BYTES as usize;
        (offset..)
            .step_by(piece)
            .zip(bytes.chunks(piece))
            .try_for_each(|(offset, bytes)| self.serve(HostOp::Write, offset, bytes.len() as u64, bytes, fua))
    }

    /// Says that nobody needs these bytes any more: whole pages of them read as zeros from now on, and after a power
    /// cut as zeros or, unless they were flushed, as what they last were.
    ///
    /// # Errors
    /// As [`Drive::write`].
    pub fn trim(&mut self, offset: u64, length: u64) -> Result<(), DriveError> {
        self.check(offset, length)?;
        let piece = 1_u64 << 30;
        for from in (offset..offset + length).step_by(piece as usize) {
            self.serve(HostOp::Trim, from, piece.min(offset + length - from), &[], false)?;
        }
        Ok(())
    }

    /// Everything acknowledged lasts when this returns.
    ///
    /// # Errors
    /// [`DriveError::Failed`] if some of it could not be written.
    pub fn flush(&mut self) -> Result<(), DriveError> {
        self.serve(HostOp::Flush, 0, 0, &[], false)
    }

    /// Lets simulated time pass with nothing to do: buffers and collection may use it.
    ///
    /// # Errors
    /// Power is off, or goes off meanwhile.
    pub fn rest(&mut self, time: Nanos) -> Result<(), DriveError> {
        let until = self.now() + time;
        self.wake_at(until)?;
        let mut completions = Completions::default();
        while self.now() < until && self.step_into(&mut completions)? != Progress::Idle {}
        Ok(())
    }

    /// Cuts power now. Work under way is torn, kept or lost as `seed` says; later requests are refused until
    /// [`Drive::reopen`].
    pub fn power_cut(&mut self, seed: u64) {
        self.cut_after = None;
        self.count_hits();
        let now = self.now();
        if let (Some(faults), Power::On(host)) = (&mut self.faults, &self.power) {
            faults.power_cut(now, seed, |sector| host.block_of(sector));
        }
        self.power = match std::mem::replace(&mut self.power, Power::Between) {
            Power::On(host) => {
                let drive = host.drive();
                self.before += drive.now();
                self.power_cuts += 1;
                let mut left = drive.flash().power_cut(&mut Stream::new(seed, "power cut"));
                if let Some(image) = &self.image {
                    image.lose_power(drive.flash().state(), &mut left);
                }
                Power::Off(Box::new(left))
            }
            off => off,
        };
    }

    /// Cuts power after `events` more events of the simulation (commands that begin, move data, or end): somewhere
    /// within the next requests of the host. The call under way then, and those after it, get [`DriveError::PowerOff`].
    pub fn cut_power_after(&mut self, events: u64, seed: u64) {
        self.cut_after = Some((events, seed));
    }

    /// Power comes back: the layers rebuild themselves from what is in flash. Nothing happens if it is on.
    ///
    /// # Errors
    /// [`DriveError::Recovery`] if they cannot; the drive stays off.
    pub fn reopen(&mut self) -> Result<(), DriveError> {
        let Power::Off(image) = &self.power else { return Ok(()) };
        // Layers are rebuilt from a copy, so that what is left stays if they cannot be.
        self.power = Power::On(Host::recover(&self.plan, FlashState::clone(image))?);
        self.set_troubles();
        if let Some(mut measuring) = self.measuring.take() {
            measuring.begin_again(self.written());
            self.measuring = Some(measuring);
        }
        Ok(())
    }

    /// Checks the invariants of all layers.
    ///
    /// # Errors
    /// Power is off; or the broken law, in words: a defect of the simulation.
    pub fn check_layers(&mut self) -> Result<(), DriveError> {
        self.host()?.check().map_err(DriveError::Recovery)
    }

    /// Takes a request and lets no time pass; `tag` comes back with its completion. `cells` are the bytes of a write.
    /// Whole sectors are asked for by number, at most 2^32 - 1 at once.
    ///
    /// # Errors
    /// Power is off, the request ends beyond the drive, or the drive's file does not follow any more, and it is no
    /// read.
    pub fn submit(&mut self, tag: u32, request: &Request, cells: &[u8]) -> Result<(), DriveError> {
        self.check(request.first_sector * SECTOR_BYTES, u64::from(request.sectors) * SECTOR_BYTES)?;
        self.check_writable(request.op)?;
        let request = Request { arrival: self.host()?.device().now(), ..*request };
        if self.faults.is_some() {
            self.submit_under_faults(tag, &request, cells)?;
        } else {
            self.host()?.device().submit_cells(tag, &request, cells);
        }
        if let Some(measuring) = &mut self.measuring {
            measuring.note(tag, &request);
        }
        Ok(())
    }

    /// Lets time pass until something has completed (see [`Completions`]) or the moment of [`Drive::wake_at`] comes.
    /// `false`: nothing is under way, or what is waits for room that nothing will ever make.
    ///
    /// # Errors
    /// Power is off, or went off.
    pub fn advance(&mut self, completions: &mut Completions) -> Result<bool, DriveError> {
        Ok(self.step_into(completions)? != Progress::Idle)
    }

    /// Lets one event happen: a command begins, moves data, or ends. `false`: nothing will by itself.
    ///
    /// # Errors
    /// Power is off.
    pub fn step(&mut self, completions: &mut Completions) -> Result<bool, DriveError> {
        if self.release_held(completions)? {
            return Ok(true);
        }
        let host = self.host()?;
        let is_news = host.has_news();
        if is_news {
            host.device().advance(completions);
        } else {
            completions.done.clear();
        }
        let went_on = is_news || host.step();
        self.take_in(completions);
        Ok(went_on)
    }

    /// Lets [`Drive::advance`] return at this moment, ns of [`Drive::now`].
    ///
    /// # Errors
    /// Power is off.
    pub fn wake_at(&mut self, time: Nanos) -> Result<(), DriveError> {
        let before = self.before;
        self.faults.iter_mut().for_each(|faults| faults.wake = Some(time));
        let device = self.host()?.device();
        device.wake_at(time.saturating_sub(before).max(device.now()));
        Ok(())
    }

    /// Whether nothing will happen by itself any more: with requests under way, they wait for room that nothing will
    /// ever make. The moment of [`Drive::wake_at`] does not count, and is forgotten. With power off nothing happens
    /// either.
    pub fn is_quiet(&mut self) -> bool {
        let keeps_answers = self.faults.as_mut().is_some_and(|faults| {
            faults.wake = None;
            faults.holding() > 0
        });
        match &mut self.power {
            Power::On(host) => host.is_quiet() && !keeps_answers,
            Power::Off(_) | Power::Between => true,
        }
    }

    /// Why the drive's file does not follow any more, if it does not: nothing but reads is served then.
    pub fn file_problem(&self) -> Option<DriveError> {
        self.image.as_ref().and_then(|image| image.broken())
    }

    /// Requests taken and not completed.
    pub fn outstanding(&self) -> u32 {
        let held = self.faults.as_ref().map_or(0, |faults| faults.holding());
        if let Power::On(host) = &self.power { host.outstanding() + held } else { 0 }
    }

    /// Waits until the file, if there is one, is on the disk below as well.
    ///
    /// # Errors
    /// The operating system says so.
    pub fn sync(&self) -> Result<(), DriveError> {
        self.image.as_ref().map_or(Ok(()), |image| image.broken().map_or_else(|| image.sync(), Err))
    }

    pub(crate) fn host(&mut self) -> Result<&mut Host, DriveError> {
        match &mut self.power {
            Power::On(host) => Ok(host),
            Power::Off(_) | Power::Between => Err(DriveError::PowerOff),
        }
    }

    pub(crate) fn check(&self, offset: u64, length: u64) -> Result<(), DriveError> {
        for (what, bytes) in [("the offset", offset), ("the length", length)] {
            if !bytes.is_multiple_of(SECTOR_BYTES) {
                return Err(DriveError::Alignment { what, bytes });
            }
        }
        let end = offset.saturating_add(length);
        if end > self.bytes() {
            return Err(DriveError::Beyond { end, bytes: self.bytes() });
        }
        Ok(())
    }

    /// Nothing but reads is served once the file does not follow.
    fn check_writable(&self, op: HostOp) -> Result<(), DriveError> {
        self.file_problem().filter(|_| op != HostOp::Read).map_or(Ok(()), Err)
    }

    /// Serves one request by itself; what it read is in `self.completions`.
    fn serve(&mut self, op: HostOp, offset: u64, length: u64, cells: &[u8], fua: bool) -> Result<(), DriveError> {
        self.submit(u32::MAX, &Request::of_bytes(op, offset, length, fua), cells)?;
        let mut completions = std::mem::take(&mut self.completions);
        let done = self.wait_for_it(&mut completions);
        self.completions = completions;
        self.check_writable(op)?;
        if done?.failed {
            if self.was_refused_as_full(u32::MAX) {
                return Err(DriveError::Full);
            }
            let verb = if op == HostOp::Read { "read" } else { "written" };
            return Err(DriveError::Failed { offset, length, verb });
        }
        Ok(())
    }

    fn wait_for_it(&mut self, completions: &mut Completions) -> Result<Completion, DriveError> {
        let mut refused = false;
        loop {
            let progress = self.step_into(completions)?;
            if let Some(done) = completions.done.iter().find(|done| done.tag == u32::MAX) {
                return if refused && done.failed { Err(self.no_room()) } else { Ok(*done) };
            }
            if progress == Progress::Idle {
                refused = self.refuse_waiting();
                if !refused {
                    return Err(self.no_room());
                }
            }
        }
    }

    /// Requests that wait for room end with an error, where nothing will ever make some ([`Drive::advance`] said
    /// `false`): they would wait for ever, and others behind them. Whether there were any.
    pub fn refuse_waiting(&mut self) -> bool {
        self.host().is_ok_and(|host| host.drive_mut().refuse_stalled())
    }

    /// Why requests wait, and nothing will ever happen.
    pub fn no_room(&self) -> DriveError {
        match self.dead_dies() {
            0 => DriveError::Full,
            dies => DriveError::Dead { dies },
        }
    }

    pub(crate) fn dead_dies(&self) -> u32 {
        let Some(state) = self.flash() else { return 0 };
        let dead = (0..self.plan.geometry.dies()).filter(|die| state.die_is_dead(DieId(*die)));
        self.plan.array.chip_dies(dead.count() as u32)
    }

    /// The flash, unless it is on its way from on to off.
    pub(crate) fn flash(&self) -> Option<&FlashState> {
        match &self.power {
            Power::On(host) => Some(host.drive().flash().state()),
            Power::Off(state) => Some(state),
            Power::Between => None,
        }
    }

    /// As [`BlockDevice::advance`], but for a power cut that comes first, faults, and a file that does not follow.
    fn step_into(&mut self, completions: &mut Completions) -> Result<Progress, DriveError> {
        let progress = if self.release_held(completions)? {
            Progress::Worked
        } else {
            let progress = self.step_drive(completions)?;
            self.take_in(completions);
            progress
        };
        let held = self.faults.as_ref().map_or(0, |faults| faults.holding());
        if let (Some(measuring), Power::On(host)) = (&mut self.measuring, &mut self.power) {
            measuring.take(host, completions, self.before, held, &self.plan.array);
        }
        Ok(progress)
    }

    /// As [`Drive::step_into`], before faults and measurements.
    pub(crate) fn step_drive(&mut self, completions: &mut Completions) -> Result<Progress, DriveError> {
        let progress = self.step_or_cut(completions)?;
        let Some(image) = &self.image else { return Ok(progress) };
        let lasts = |done: &Completion| !done.failed && (done.request.op == HostOp::Flush || done.request.fua);
        if completions.done.iter().any(lasts) {
            image.settle();
        }
        if image.broken().is_some() {
            completions
                .done
                .iter_mut()
                .filter(|done| done.request.op != HostOp::Read)
                .for_each(|done| done.failed = true);
        }
        Ok(progress)
    }

    fn step_or_cut(&mut self, completions: &mut Completions) -> Result<Progress, DriveError> {
        let Some((mut left, seed)) = self.cut_after else { return Ok(self.host()?.device().advance(completions)) };
        let host = self.host()?;
        loop {
            if host.has_news() {
                let progress = host.device().advance(completions);
                self.cut_after = Some((left, seed));
                return Ok(progress);
            }
            if left == 0 {
                self.power_cut(seed);
                return Err(DriveError::PowerOff);
            }
            left -= 1;
            if !host.step() {
                self.cut_after = Some((left, seed));
                completions.done.clear();
                return Ok(Progress::Idle);
            }
        }
    }
}

/// Keys of a stack that say what its flash is and what is written there.
fn is_lasting(key: &str) -> bool {
    const OTHERS: [&str; 7] =
        ["host.", "workload.", "engine.", "flash.fault.", "drive.precondition", "drive.fill", layer::ATOMIC];
    !OTHERS.iter().any(|other| key.starts_with(other))
}
