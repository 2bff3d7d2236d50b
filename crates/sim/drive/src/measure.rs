//! Measurements of a drive in use: requests, latencies and their causes, by the rules of a run.

use crate::host::Host;
use crate::requests::{Drive, Power};
use layer::{Held, LayerReport};
use metrics::{Look, RunResult, Status};
use nand::{Counters, Flash as _};
use simulator::run::{Counting, HostMeasurements};
use simulator::session::{Inside, Measured, Written, served};
use simulator::{Array, Completion, Completions};
use units::{HostOp, Nanos, Request};

pub(crate) struct Measuring {
    pub(crate) sheet: HostMeasurements,
    /// Sectors of a page as a power of two.
    page_shift: u32,
    /// Pages that hold something, as the requests left them.
    written: Written,
    /// Reads under way of pages that hold nothing: tags and first sectors.
    unwritten: Vec<(u32, u64)>,
    /// Flash commands before they began.
    pub(crate) before: Counters,
    /// Power cuts before they began.
    cuts_before: u64,
    /// Simulated time with requests under way, ns.
    pub(crate) busy: Nanos,
    /// Requests under way, times how long they were, ns.
    pub(crate) occupied: u128,
    /// When they last took something, since they began, ns.
    looked: Nanos,
}

impl Measuring {
    /// A request is about to be given to the drive.
    pub fn note(&mut self, tag: u32, request: &Request) {
        if self.written.is_unwritten_read(request) {
            self.unwritten.push((tag, request.first_sector));
        }
    }

    /// Power came back: the drive holds the data that the layers found, and no work is under way.
    pub fn begin_again(&mut self, written: Written) {
        self.written = written;
        self.unwritten.clear();
    }

    /// Takes the latest completions; `before`: time of all power cycles before this one, `held`: answers that
    /// faults keep.
    pub fn take(&mut self, host: &mut Host, completions: &Completions, before: Nanos, held: u32, array: &Array) {
        let now = host.device().now();
        let outstanding = host.outstanding() + held + completions.done.len() as u32;
        let elapsed = before + now - self.sheet.started;
        let passed = elapsed - std::mem::replace(&mut self.looked, elapsed);
        self.busy += if outstanding > 0 { passed } else { 0 };
        self.occupied += u128::from(passed) * u128::from(outstanding);
        let (drive, so_far) = (host.drive(), &self.before.programs);
        let unwritten = &mut self.unwritten;
        let is_unwritten = |done: &Completion| {
            let name = (done.tag, done.request.first_sector);
            let place = unwritten.iter().position(|own| done.request.op == HostOp::Read && *own == name);
            place.map(|place| unwritten.swap_remove(place)).is_some()
        };
        let counting = Counting { page_shift: self.page_shift, timed: true, places: u32::MAX, is_unwritten };
        self.sheet.take(completions, now, elapsed, outstanding, counting, || {
            let state = drive.flash().state();
            let programs = &state.counters.programs;
            let programs = std::array::from_fn(|cause| array.chip_pages(programs[cause] - so_far[cause]));
            Look { programs, free_blocks: Some(state.blocks.free()) }
        });
    }
}

impl Drive {
    /// Measures from now on, and forgets earlier measurements.
    pub fn measure(&mut self) {
        self.measuring = Some(Box::new(Measuring {
            sheet: HostMeasurements::new(self.plan.host_sectors(), self.now()),
            page_shift: self.plan.array.chip_page_sectors().trailing_zeros(),
            written: self.written(),
            unwritten: Vec::new(),
            before: self.flash().map_or_else(Counters::default, |state| state.counters.clone()),
            cuts_before: self.power_cuts(),
            busy: 0,
            occupied: 0,
            looked: 0,
        }));
    }

    /// The pages that hold something; none without power, which brings what the layers find.
    pub(crate) fn written(&self) -> Written {
        let Power::On(host) = &self.power else { return Written::nothing_of(&self.plan) };
        Written::found(&self.plan, |page| host.holds(page) > Held::Nothing)
    }

    /// The measurements since [`Drive::measure`], as the result of a run. `workload` names what the requests were;
    /// `wall_s`: seconds by the clock. Flash commands and requests count across power cuts; counters of layers begin
    /// when power comes. `None`: nothing is measured.
    pub fn result(&self, workload: &str, wall_s: f64) -> Option<RunResult> {
        let (measuring, state) = (self.measuring.as_ref()?, self.flash()?);
        let mut notes = Vec::new();
        let cuts = self.power_cuts() - measuring.cuts_before;
        if cuts > 0 {
            notes.push(format!(
                "Power was cut {cuts} times: counters of layers are those since it came back the last time, and \
                 requests that were under way are in no count."
            ));
        }
        let (reports, remap) = match &self.power {
            Power::On(host) => (host.reports(), host.driver_report()),
            Power::Off(_) | Power::Between => (Vec::new(), None),
        };
        let inside = Inside {
            flash: state,
            counters: since(&state.counters, &measuring.before),
            reports,
            server_busy_ns: None,
            remap,
        };
        let mut sheet = measuring.sheet.clone();
        sheet.ended = self.now();
        let measured = Measured {
            workload: workload.to_owned(),
            queue_depth: None,
            sheet,
            status: Status::Complete,
            wall_s,
            notes,
            chosen: Vec::new(),
            more_writes: "Write more to the drive.",
            unused: Vec::new(),
            recorded: None,
        };
        Some(served(&self.plan, inside, measured))
    }
}

/// Commands since some moment.
pub(crate) fn since(now: &Counters, before: &Counters) -> Counters {
    let by_cause = |now: &[u64; units::DIE_CAUSES], before: &[u64; units::DIE_CAUSES]| {
        std::array::from_fn(|cause| now[cause] - before[cause])
    };
    Counters {
        reads: by_cause(&now.reads, &before.reads),
        programs: by_cause(&now.programs, &before.programs),
        erases: by_cause(&now.erases, &before.erases),
        wasted_reads: now.wasted_reads - before.wasted_reads,
        in_flight_reads: now.in_flight_reads - before.in_flight_reads,
        failed_programs: now.failed_programs - before.failed_programs,
        failed_erases: now.failed_erases - before.failed_erases,
        failed_reads: now.failed_reads - before.failed_reads,
    }
}

/// A drive's report of itself, by how long its numbers have counted. Names say what is counted; times are in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Smart {
    /// How it is at this moment.
    pub now: Vec<(&'static str, u64)>,
    /// Counters since the drive was made, which it keeps in its file and over power cuts.
    pub lifetime: Vec<(&'static str, u64)>,
    /// Since the drive was opened or made by this program; power cuts do not end it.
    pub since_start: Vec<(&'static str, u64)>,
    /// Since power came the last time.
    pub since_power_on: Vec<(&'static str, u64)>,
}

impl Smart {
    /// The number of a name, wherever it stands.
    pub fn get(&self, name: &str) -> Option<u64> {
        let all = [&self.now, &self.lifetime, &self.since_start, &self.since_power_on];
        all.into_iter().flatten().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

impl Drive {
    /// Wear and health, as a drive's self-report has it; nothing while it is between on and off.
    pub fn smart(&self) -> Smart {
        let Some(state) = self.flash() else { return Smart::default() };
        let rows = state.blocks();
        let erases = || rows.iter().map(|row| u64::from(row.erases));
        let this_cycle = self.now() - self.before;
        Smart {
            now: vec![
                ("power_on", u64::from(self.is_on())),
                ("dead_dies", u64::from(self.dead_dies())),
                ("file_has_stopped", u64::from(self.file_problem().is_some())),
            ],
            lifetime: vec![
                ("blocks", rows.len() as u64),
                ("bad_blocks", rows.iter().filter(|row| row.is_bad() || row.has_failed()).count() as u64),
                ("least_erases", erases().min().unwrap_or(0)),
                ("mean_erases_thousandths", erases().sum::<u64>() * 1000 / rows.len().max(1) as u64),
                ("most_erases", erases().max().unwrap_or(0)),
                ("endurance", u64::from(self.plan.part.endurance)),
            ],
            since_start: vec![
                ("power_cuts", self.power_cuts()),
                ("simulated_ns", self.now()),
                ("programs_failed", state.counters.failed_programs),
                ("erases_failed", state.counters.failed_erases),
                ("reads_failed", state.counters.failed_reads),
                ("file_pages_damaged", self.damage.pages),
                ("file_records_mended", self.damage.mended),
                ("file_writes_missing", self.damage.writes),
            ],
            since_power_on: vec![("powered_ns", if self.is_on() { this_cycle } else { 0 })],
        }
    }

    /// Counters of every layer and of a driver of the host, by name, since power came; none without it.
    pub fn layer_counters(&self) -> Vec<(String, u64)> {
        let Power::On(host) = &self.power else { return Vec::new() };
        let named = |LayerReport { name, counters, .. }: LayerReport| {
            counters.into_iter().map(move |(counter, count)| (format!("{name}.{counter}"), count))
        };
        let driver = host.driver_counters().into_iter().map(|(name, count)| (format!("remap.{name}"), count));
        host.reports().into_iter().flat_map(named).chain(driver).collect()
    }

    /// The counters of the drive: reads, programs and erases of flash by cause since it was opened or made, then
    /// [`Drive::layer_counters`]; nothing without power.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let Power::On(host) = &self.power else { return Vec::new() };
        let state = host.drive().flash().state();
        let mut all = Vec::new();
        let commands = self.plan.array.chip_commands(&state.counters);
        for (kind, counts) in ["flash.reads", "flash.programs", "flash.erases"].into_iter().zip(commands) {
            all.push((format!("{kind}.total"), Counters::total(&counts)));
            let causes = units::CAUSES.iter().filter(|cause| counts[cause.index()] > 0);
            all.extend(causes.map(|cause| (format!("{kind}.{}", cause.name()), counts[cause.index()])));
        }
        all.extend(self.layer_counters());
        all
    }
}
