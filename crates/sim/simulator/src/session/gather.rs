//! Gathering everything a run measured into one result.

use super::{Measurable, overload};
use crate::DrivePlan;
use crate::build::Service;
use crate::config::{PRECONDITION, Precondition};
use crate::run::HostMeasurements;
use layer::LayerReport;
use metrics::{Look, NoWaf, OpTotals, RecordedLatency, RunResult, Status};
use nand::{Counters, Flash as _, FlashState};
use std::collections::BTreeMap;
use units::{DieId, HostOp, Nanos, quantity};

/// The figures of the run itself.
#[derive(Debug)]
pub struct Measured {
    pub workload: String,
    /// Queue depth of a closed loop; nothing, where requests arrive at times of their own.
    pub queue_depth: Option<u64>,
    pub sheet: HostMeasurements,
    pub status: Status,
    /// By the clock, s.
    pub wall_s: f64,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// Those of them that say what was chosen.
    pub chosen: Vec<String>,
    /// A sentence: how the host would write more.
    pub more_writes: &'static str,
    /// Keys that were not read.
    pub unused: Vec<String>,
    /// Latencies that the trace recorded; `None`: it has none.
    pub recorded: Option<RecordedLatency>,
}

/// Figures that the drive reports.
#[derive(Debug)]
pub struct Inside<'a> {
    pub flash: &'a FlashState,
    /// Commands that count, as the layers gave them.
    pub counters: Counters,
    /// Its layers, from the top; none without power.
    pub reports: Vec<LayerReport>,
    /// Time its only server was busy, where there is just one, ns.
    pub server_busy_ns: Option<Nanos>,
    /// A driver of the host over it.
    pub remap: Option<remap::HostReport>,
}

/// The result of a session.
pub(super) fn result<D: Measurable>(plan: &DrivePlan, device: &D, measured: Measured) -> RunResult {
    let drive = device.drive();
    let flash = drive.flash().state();
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let inside = Inside {
        flash,
        counters: flash.counters.clone(),
        reports,
        server_busy_ns: device.server_busy_ns(),
        remap: device.remap_report(),
    };
    let more_writes = measured.more_writes;
    let mut result = together(plan, inside, measured);
    add_notes(plan, &mut result, more_writes);
    let overload = overload::note(plan, &result);
    // Behind what its trace makes doubtful.
    let doubts = result.notes.iter().take_while(|note| note.starts_with("Doubt:")).count();
    result.notes.splice(doubts..doubts, overload);
    result
}

/// The result of a drive that clients used, by the same rules as the result of a run.
pub fn served(plan: &DrivePlan, inside: Inside<'_>, measured: Measured) -> RunResult {
    let more_writes = measured.more_writes;
    let mut result = together(plan, inside, measured);
    result.notes.push(space(plan));
    result.notes.extend(too_few_writes(plan, &result, more_writes));
    add_failures(&mut result);
    result
}

fn together(plan: &DrivePlan, inside: Inside<'_>, measured: Measured) -> RunResult {
    let Measured { workload, queue_depth, sheet, status, wall_s, notes, chosen, unused, recorded, .. } = measured;
    let Inside { flash, counters, reports, server_busy_ns, remap } = inside;
    let programs = plan.array.chip_commands(&counters)[1];
    let look = Look { programs, free_blocks: Some(flash.blocks.free()) };
    let mut result = RunResult {
        stack: plan.config.name.clone(),
        workload,
        queue_depth,
        status,
        hash: 0,
        seed: plan.config.values.whole("workload.seed"),
        wall_s,
        sim_ns: sheet.ended - sheet.started,
        config: plan.config.resolved.clone(),
        host: sheet.totals,
        latency: sheet.latency,
        unwritten: sheet.unwritten,
        no_waf: None,
        flash: plan.array.chip_commands(&counters),
        merges: [0; 3],
        caches: Vec::new(),
        erases: flash.blocks().iter().map(|row| (!row.is_bad()).then_some(row.erases)).collect(),
        valid: Vec::new(),
        shape: (plan.geometry.pages_per_block, plan.geometry.blocks() / plan.geometry.dies()),
        page_bytes: plan.array.chip_page_bytes().into(),
        ram_bytes: Vec::new(),
        counters: flash_counters(plan, flash, &counters),
        series: sheet.series.finish(look),
        course: sheet.course,
        addresses: sheet.addresses,
        recorded,
        given: plan.config.given.iter().map(|key| (*key).to_owned()).collect(),
        unused,
        provenance: None,
        notes,
        chosen,
    };
    result.counters.extend(server_busy_ns.map(|busy| ("server.busy_ns".to_owned(), busy)));
    for report in reports {
        add_layer(&mut result, report);
    }
    if let Some(report) = remap {
        add_remap(plan, &report, &mut result);
    }
    result.no_waf = plan.no_waf(result.host[HostOp::Write.index()].pages);
    result.hash = hash(flash.hash(), sheet.hash, &result);
    result
}

fn add_layer(result: &mut RunResult, report: LayerReport) {
    let name = report.name;
    for (sum, merges) in result.merges.iter_mut().zip(report.merges) {
        *sum += merges;
    }
    result.ram_bytes.push((name.to_owned(), report.ram_bytes));
    result.caches.extend(report.cache.map(|(hits, misses)| (name.to_owned(), hits, misses)));
    let counters = report.counters.into_iter().map(|(counter, count)| (format!("{name}.{counter}"), count));
    result.counters.extend(counters);
    if !report.valid_pages.is_empty() {
        result.valid = report.valid_pages;
    }
}

/// What the driver of the host did, and what the host sees of the drive.
fn add_remap(plan: &DrivePlan, report: &remap::HostReport, result: &mut RunResult) {
    let counters = report.counters.iter().map(|counter| (format!("remap.{}", counter.name), counter.count));
    result.counters.extend(counters);
    result.ram_bytes.push(("remap".to_owned(), report.ram_bytes));
    let driver = plan.remap.as_ref().expect("a driver was planned");
    result.notes.push(format!(
        "The host sees {} of the drive's {}: {}. Flash commands for what \
         the driver reads and writes by itself are counted as the host's.",
        quantity::format_size(driver.shape.sectors * units::SECTOR_BYTES),
        quantity::format_size(driver.shape.device_sectors * units::SECTOR_BYTES),
        driver.keeps,
    ));
    if report.broken {
        result.notes.push(
            "The driver of the host gave up: too many commands of the drive failed in a row, and only \
            reads were served."
                .to_owned(),
        );
    }
}

fn flash_counters(plan: &DrivePlan, flash: &FlashState, counters: &Counters) -> BTreeMap<String, u64> {
    let Counters { wasted_reads, in_flight_reads, failed_programs, failed_erases, failed_reads, .. } = *counters;
    let array = &plan.array;
    let dead_dies = (0..plan.geometry.dies()).filter(|die| flash.die_is_dead(DieId(*die))).count() as u32;
    let counters = [
        ("flash.wasted_reads", array.chip_pages(wasted_reads)),
        ("flash.in_flight_reads", array.chip_pages(in_flight_reads)),
        ("flash.failed_programs", array.chip_pages(failed_programs)),
        ("flash.failed_erases", array.chip_blocks(failed_erases)),
        ("flash.failed_reads", array.chip_pages(failed_reads)),
        ("flash.dies_lost", u64::from(array.chip_dies(dead_dies))),
        ("flash.blocks", u64::from(plan.geometry.blocks())),
        ("flash.pages", u64::from(plan.geometry.pages())),
        ("drive.user_pages", u64::from(plan.user_pages)),
    ];
    counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// How much flash there is for how much data, and how much of it is effective.
fn space(plan: &DrivePlan) -> String {
    let (pages, user) = (u64::from(plan.geometry.pages()), u64::from(plan.user_pages));
    let percent = |pages: u64| pages as f64 / user as f64 * 100.0;
    let has_more = plan.stripes.is_some_and(|stripes| stripes.layout().parity > 0 || stripes.spares() > 0);
    let with = if has_more { ", parity and spare dies included," } else { "" };
    let code = plan.coded.as_ref().map_or(0, |coded| coded.layout().mapped_pages().saturating_sub(user));
    let what = if plan.geometry.page_bytes < plan.array.page_bytes { "units" } else { "pages" };
    let shares = if code > 0 {
        let spare = pages - user - code;
        format!(
            "code zones {:.1} % of the user data, spare blocks {:.1} %, with the spare blocks of code zones",
            percent(code),
            percent(spare)
        )
    } else {
        format!("{:.1} %{with} after rounding up to whole blocks", percent(pages - user))
    };
    format!(
        "Over-provisioning: {shares} ({} blocks of {} {what}, {} of flash for {} of user data). {}",
        plan.geometry.blocks(),
        plan.geometry.pages_per_block,
        quantity::format_size(pages * u64::from(plan.geometry.page_bytes)),
        quantity::format_size(user * u64::from(plan.geometry.page_bytes)),
        plan.spare().sentence(),
    )
}

/// Why no code zone was ever used, if so: nobody should take the result for one of coding.
fn uncoded(plan: &DrivePlan, result: &RunResult) -> Option<String> {
    let code_zones = plan.coded.as_ref().map_or(0, |coded| coded.layout().code_zones);
    if code_zones == 0 || result.counters.get("coded.zones_coded").is_some_and(|coded| *coded > 0) {
        return None;
    }
    let values = &plan.config.values;
    let at_start = coded::CODES_AT_START.read(values);
    let why = match plan.service() {
        Service::Counted => "no time passes (engine.time = none)".to_owned(),
        Service::Serial => {
            "one server does everything in order (engine.service = serial) and does nothing in idle time".to_owned()
        }
        Service::Parallel if values.whole("host.idle_after") == 0 => {
            "no idle time is used (host.idle_after = 0ns)".to_owned()
        }
        Service::Parallel if result.queue_depth.is_some() => {
            "requests that follow each other in a closed loop leave no idle time".to_owned()
        }
        Service::Parallel => {
            let every = if at_start {
                String::new()
            } else {
                format!(
                    " once coded.offline_every, {}, has passed",
                    quantity::format_duration(values.whole("coded.offline_every"))
                )
            };
            format!(
                "it waits for an idle moment{every}, and none came in the {} simulated",
                quantity::format_duration(result.sim_ns)
            )
        }
    };
    let remedy = if at_start {
        "coded.offline_first = at-start codes at the end of the initial state: set drive.precondition to fill, \
         overwrite or steady"
            .to_owned()
    } else {
        let later = match plan.service() {
            Service::Parallel if result.queue_depth.is_some() => {
                ", or workload.loop = open with a shorter coded.offline_every"
            }
            Service::Parallel => ", or a shorter coded.offline_every",
            Service::Counted | Service::Serial => "",
        };
        format!(
            "Set coded.offline_first = at-start and drive.precondition = fill (or overwrite, or steady) to begin with \
             coded zones, the first ones while nothing was read{later}"
        )
    };
    Some(format!("No zone was coded, and all reads were plain: no off-line phase came, as {why}. {remedy}."))
}

fn add_notes(plan: &DrivePlan, result: &mut RunResult, more_writes: &str) {
    result.notes.push(space(plan));
    // First, as everything else would be read in its light.
    let uncoded = uncoded(plan, result);
    result.notes.splice(0..0, uncoded);
    if !plan.is_timed() {
        result.notes.push(
            "Counted time (engine.time = none): commands complete at once, so there are no latencies.".to_owned(),
        );
    }
    result.notes.extend(alone(plan));
    result.notes.extend(too_few_writes(plan, result, more_writes));
    result.notes.extend(super::steady::apart(&result.notes, result.waf_pages()));
    if let Some(note) = unwritten(plan, result) {
        // A run that read nothing real says little else.
        let is_all = result.host[HostOp::Read.index()].requests + result.host[HostOp::Write.index()].requests == 0;
        result.notes.insert(if is_all { 0 } else { result.notes.len() }, note);
    }
    add_failures(result);
}

/// What a drive does differently where no two commands are under way at once, if it does: such a drive is another one.
fn alone(plan: &DrivePlan) -> Vec<String> {
    let (key, has_time) = match plan.service() {
        Service::Parallel => return Vec::new(),
        Service::Counted => ("engine.time = none", false),
        Service::Serial => ("engine.service = serial", true),
    };
    let set = |key: &str| plan.config.resolved.get(key).map(String::as_str).unwrap_or_default();
    let remedy = "For write amplification and lives use engine.time = virtual and engine.service = parallel.";
    let kinds = [
        ("stripe.kind", plan.stripes.and_then(|stripes| stripes.alone(has_time))),
        ("remap.kind", plan.remap.as_ref().and_then(|remap| remap.alone)),
    ];
    let told = |(kind, what): (&str, Option<&str>)| {
        let value = set(kind);
        what.map(|what| {
            format!(
                "No two commands are under way at once ({key}), and {kind} = {value} writes something else then: \
                 {what}. {remedy}"
            )
        })
    };
    let mut notes: Vec<String> = kinds.into_iter().filter_map(told).collect();
    if plan.gathers_more_without_time() {
        notes.push(format!(
            "In time up to a quarter of the gathering buffer (stripe.buffer_size = {}) is on its way to flash. With \
             {key} no page is, so that the buffer holds more pages that the host writes again: where some pages are \
             written often, write amplification is up to 6 % lower. {remedy}",
            set("stripe.buffer_size")
        ));
    }
    notes
}

/// Why write amplification is not told, where the host did write, and how it would be.
fn too_few_writes(plan: &DrivePlan, result: &RunResult, more_writes: &str) -> Option<String> {
    (result.no_waf == Some(NoWaf::TooFewWrites)).then(|| {
        let (written, spare) = (result.host[HostOp::Write.index()].pages, plan.spare_pages());
        format!(
            "No write amplification is told: the host wrote {written} pages in all, and the spare flash holds {spare}, \
             so collection cleaned up the state that the drive began in (drive.precondition). {} times as many writes \
             would tell it. {more_writes}",
            spare.div_ceil(written.max(1))
        )
    })
}

/// How many reads asked for pages that hold nothing, and what gives them something to read.
fn unwritten(plan: &DrivePlan, result: &RunResult) -> Option<String> {
    let (reads, share) = (result.unwritten.totals.requests, result.unwritten_share()?);
    let began_empty = PRECONDITION.read(&plan.config.values) == Precondition::None;
    let remedy = if began_empty {
        " The drive began empty: set drive.precondition = fill (or overwrite, or steady) for a drive in use."
    } else {
        ""
    };
    (reads > 0).then(|| {
        format!(
            "The drive answered {reads} reads, {} of all, without flash: their pages were never written, or were \
             trimmed. These reads are counted as an operation of their own, and are in no percentile of reads.{remedy}",
            percent(share)
        )
    })
}

/// A share as people write it, with a decimal where whole per cents would say nothing.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (1.0..=99.0).contains(&percent) || share >= 1.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

fn add_failures(result: &mut RunResult) {
    let failed = result.host.iter().map(|op| op.failed).sum::<u64>() + result.unwritten.totals.failed;
    if failed > 0 {
        result.notes.push(format!("{failed} requests ended with an error: their data could not be corrected."));
    }
    add_rebuild(result);
}

/// What failed of the dies under stripes, and how far its rebuild has got.
fn add_rebuild(result: &mut RunResult) {
    let counter = |name: &str| result.counters.get(name).copied().unwrap_or(0);
    let lost = counter("flash.dies_lost");
    if lost == 0 {
        return;
    }
    let dies = if lost == 1 { "1 die".to_owned() } else { format!("{lost} dies") };
    if counter("stripe.dies_lost") == 0 {
        result.notes.push(format!(
            "{dies} failed, and their data is lost: no layer here can compute it from other dies; stripe.kind = raid5 \
             (or another with parity) can."
        ));
        return;
    }
    let units = ["stripes", "superblocks"]
        .map(|unit| (unit, counter(&format!("stripe.{unit}_rebuilt")), counter(&format!("stripe.{unit}_to_rebuild"))));
    let (unit, rebuilt, left) =
        units.into_iter().find(|(_, rebuilt, left)| rebuilt + left > 0).unwrap_or(("stripes", 0, 0));
    let computed = counter("stripe.pages_reconstructed");
    let gone = counter("stripe.pages_lost");
    result.notes.push(format!(
        "{dies} failed: {rebuilt} {unit} rebuilt and {left} still to be, {computed} pages computed from others, {gone} \
         lost for good."
    ));
}

/// Hash over the commands, the completions and the totals: everything simulated, nothing of the
/// machine it ran on.
fn hash(flash: u64, host: u64, result: &RunResult) -> u64 {
    // Reads of pages that hold nothing are reads: which of them are counted apart is no part of what was simulated.
    let totals = HostOp::ALL.into_iter().flat_map(|op| {
        let OpTotals { requests, pages, bytes, failed } = result.host[op.index()];
        let apart = if op == HostOp::Read { result.unwritten.totals } else { OpTotals::default() };
        [requests + apart.requests, pages + apart.pages, bytes + apart.bytes, failed + apart.failed]
    });
    let is_mixed = |(cause, count): &(usize, &u64)| *cause < units::FIRST_CAUSES || **count > 0;
    let of_causes = result.flash.iter().flat_map(|causes| causes.iter().enumerate().filter(is_mixed));
    let counts = of_causes.map(|(_, count)| *count).chain(totals).chain([result.sim_ns, result.status as u64]);
    let erases = result.erases.iter().map(|erases| erases.map_or(u64::MAX, u64::from));
    [flash, host]
        .into_iter()
        .chain(counts)
        .chain(erases)
        .fold(0, |hash: u64, number| (hash.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
