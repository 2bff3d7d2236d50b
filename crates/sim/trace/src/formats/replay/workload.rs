//! A trace as a [`Workload`].

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::path::Path;

use units::{HostOp, Nanos, Request, SECTOR_BYTES};

use super::super::{
    DevicePolicy, Fit, ReadStatistics, Records, TraceError, TraceOptions, TraceRecord, open, open_reader,
};
use super::fit::{Fitter, Misfit, Run};
use super::survey::Survey;
use crate::latency::LatencyTally;
use crate::{Workload, WorkloadError};
use metrics::RecordedLatency;

/// The longest request that keeps both 32-bit sector counts and 4 KiB alignment.
const SECTORS_MAX: u64 = (u32::MAX as u64) / 8 * 8;

/// The requests of a trace, fitted to a drive.
///
/// A regular file is read twice: the first pass refuses several devices and addresses beyond the
/// drive before anything runs. Standard input is read once, and the same refusals come when the
/// offending record does.
pub struct TraceWorkload {
    records: Records,
    options: TraceOptions,
    fitter: Fitter,
    /// First byte of each device where they lie side by side; `None` without a first pass.
    bases: Option<BTreeMap<u32, u64>>,
    /// The only device so far (where several are refused or cannot be kept apart).
    only_device: Option<u32>,
    /// Time of the first record replayed.
    origin_ns: Option<i64>,
    /// Pieces of one record not handed out yet.
    pending: VecDeque<Request>,
    pieces: VecDeque<Run>,
    emitted: u64,
    /// Records taken from the trace so far, for messages.
    taken: u64,
    /// Records not read yet, after a first pass.
    records_left: Option<u64>,
    failed: bool,
    /// It is read only once, so what nothing reads is unknown.
    is_streamed: bool,
    changes: Changes,
    latencies: LatencyTally,
}

/// What was done to requests on their way to the drive.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    other_devices: u64,
    widened: u64,
    split: u64,
    pieces: u64,
    shortened: u64,
    vanished: u64,
}

impl TraceWorkload {
    /// Opens the trace at `path`, or standard input for `-`.
    /// Errors: [`WorkloadError::Trace`] for impossible options, an unreadable or malformed file, several devices or
    /// addresses the options do not allow.
    pub fn open(path: &str, options: &TraceOptions) -> Result<TraceWorkload, WorkloadError> {
        if path == "-" || !Path::new(path).is_file() {
            options.check()?;
            let records = open(path, &options.open_options())?;
            let workload = TraceWorkload::start(records, options.clone(), None)?;
            return Ok(TraceWorkload { is_streamed: true, ..workload });
        }
        TraceWorkload::open_surveyed(path, options, &Survey::take(path, options)?)
    }

    /// As [`TraceWorkload::open`], after a first pass that `survey` made with the same options but for the drive.
    pub fn open_surveyed(path: &str, options: &TraceOptions, survey: &Survey) -> Result<TraceWorkload, WorkloadError> {
        // The second pass must read what the first one checked.
        let (format, order) = (Some(survey.format.to_owned()), Some(survey.order));
        let options = TraceOptions { format, order, ..options.clone() };
        options.check()?;
        let records = open(path, &options.open_options())?;
        Ok(TraceWorkload::start(records, options, Some(survey))?)
    }

    /// Reads a trace that can be read only once; `name` stands for the file name.
    /// Errors: as [`TraceWorkload::open`]; `fit = scale` needs a file, and so do several devices side by side under
    /// `fit = error` and `fit = modulo`.
    pub fn from_reader(
        reader: Box<dyn Read + Send>,
        name: &str,
        options: &TraceOptions,
    ) -> Result<TraceWorkload, WorkloadError> {
        options.check()?;
        let records = open_reader(reader, name, &options.open_options())?;
        Ok(TraceWorkload::start(records, options.clone(), None)?)
    }

    /// As [`TraceWorkload::from_reader`], after a first pass over the same bytes.
    pub fn from_reader_surveyed(
        reader: Box<dyn Read + Send>,
        name: &str,
        options: &TraceOptions,
        survey: &Survey,
    ) -> Result<TraceWorkload, WorkloadError> {
        options.check()?;
        let records = open_reader(reader, name, &options.open_options())?;
        Ok(TraceWorkload::start(records, options.clone(), Some(survey))?)
    }

    fn start(
        records: Records,
        mut options: TraceOptions,
        survey: Option<&Survey>,
    ) -> Result<TraceWorkload, TraceError> {
        if survey.is_none() && options.fit == Fit::Scale {
            return Err(TraceError::NeedsFile { path: records.path().to_owned(), option: "fit = scale" });
        }
        if let Some(survey) = survey {
            let as_it_is = survey.check_fit(&options)?;
            // Nothing has to be moved, so nothing has to be looked up either.
            if options.fit == Fit::Auto && as_it_is {
                options.fit = Fit::Error;
            }
        }
        let span_bytes = survey.map_or(0, Survey::span_bytes);
        Ok(TraceWorkload {
            fitter: Fitter::new(options.fit, options.capacity_sectors, span_bytes.div_ceil(SECTOR_BYTES)),
            bases: survey.map(Survey::bases),
            records_left: survey.map(Survey::records),
            records,
            options,
            only_device: None,
            origin_ns: None,
            pending: VecDeque::new(),
            pieces: VecDeque::new(),
            emitted: 0,
            taken: 0,
            failed: false,
            is_streamed: false,
            changes: Changes::default(),
            latencies: LatencyTally::default(),
        })
    }

    /// Counts of records that were read and left out so far.
    pub fn statistics(&self) -> ReadStatistics {
        self.records.statistics()
    }

    /// Puts the requests of the next record into `pending`; false at the end.
    fn advance(&mut self) -> Result<bool, TraceError> {
        let Some(record) = self.records.next_record()? else { return Ok(false) };
        self.taken += 1;
        if !self.selected(&record)? {
            self.changes.other_devices += 1;
            return Ok(true);
        }
        self.latencies.add(&record);
        self.records_left = self.records_left.map(|left| left.saturating_sub(1));
        let arrival = self.arrival(record.time_ns);
        let mut request = Request { arrival, first_sector: 0, sectors: 0, op: record.op, fua: record.fua };
        if record.op == HostOp::Flush {
            self.pending.push_back(request);
            return Ok(true);
        }
        let run = self.run(&record)?;
        // With addresses of their own, devices need no other mark.
        let device = if self.bases.is_some() { 0 } else { record.device };
        let exact = (record.offset_bytes | record.length_bytes).is_multiple_of(SECTOR_BYTES);
        self.changes.widened += u64::from(!exact);
        let before = self.pending.len();
        self.pieces.clear();
        self.fitter
            .place(device, run, record.op != HostOp::Trim, &mut self.pieces)
            .map_err(|misfit| self.misfit(&misfit, run))?;
        while let Some(mut piece) = self.pieces.pop_front() {
            while piece.sectors > 0 {
                let sectors = piece.sectors.min(SECTORS_MAX);
                request.first_sector = piece.first;
                request.sectors = sectors as u32;
                self.pending.push_back(request);
                piece = Run { first: piece.first + sectors, sectors: piece.sectors - sectors };
            }
        }
        let placed = self.pending.range(before..);
        let sectors: u64 = placed.clone().map(|request| u64::from(request.sectors)).sum();
        self.changes.count(placed.len() as u64, sectors, run.sectors);
        Ok(true)
    }

    fn selected(&mut self, record: &TraceRecord) -> Result<bool, TraceError> {
        match self.options.devices {
            DevicePolicy::Select(device) => Ok(record.device == device),
            DevicePolicy::Concat if self.bases.is_some() || self.options.places_regions() => Ok(true),
            DevicePolicy::Concat | DevicePolicy::Error => {
                let only = *self.only_device.get_or_insert(record.device);
                if only == record.device {
                    return Ok(true);
                }
                let path = self.records.path().to_owned();
                if self.options.devices == DevicePolicy::Concat {
                    return Err(TraceError::NeedsFile { path, option: "devices = concat for several devices" });
                }
                let names = [only, record.device].map(|device| self.records.device_name(device));
                Err(TraceError::ManyDevices {
                    path,
                    count: 2,
                    devices: format!("{}, ... up to request number {}", names.join(", "), self.taken),
                })
            }
        }
    }

    /// Nanoseconds since the first record replayed, scaled; rounded to the nearest nanosecond.
    fn arrival(&mut self, time_ns: i64) -> Nanos {
        let origin = *self.origin_ns.get_or_insert(time_ns);
        let since = time_ns.abs_diff(origin);
        #[expect(clippy::float_cmp, reason = "exactly the default: times stay exact integers")]
        if self.options.time_scale == 1.0 {
            return since;
        }
        (since as f64 * self.options.time_scale).round() as Nanos
    }

    fn run(&self, record: &TraceRecord) -> Result<Run, TraceError> {
        let base = self.bases.as_ref().and_then(|bases| bases.get(&record.device)).copied().unwrap_or(0);
        let offset =
            record.offset_bytes.checked_add(base).filter(|offset| offset.checked_add(record.length_bytes).is_some());
        let Some(offset) = offset else {
            let run = Run::covering(record.offset_bytes, record.length_bytes);
            return Err(self.misfit(&Misfit::Beyond, run));
        };
        Ok(Run::covering(offset, record.length_bytes))
    }

    #[cold]
    fn misfit(&self, misfit: &Misfit, run: Run) -> TraceError {
        let path = self.records.path().to_owned();
        match *misfit {
            Misfit::Beyond => TraceError::BeyondDrive {
                path,
                what: format!("request number {} in order of time", self.taken),
                end_bytes: run.end().saturating_mul(SECTOR_BYTES),
                capacity_bytes: self.options.capacity_sectors * SECTOR_BYTES,
            },
            Misfit::Footprint(chunks) => TraceError::FootprintBeyondDrive {
                path,
                chunks,
                capacity_chunks: self.options.capacity_sectors / super::fit::CHUNK_SECTORS,
            },
        }
    }

    /// What became of requests that the drive has at another address.
    fn moved_note(&self) -> String {
        if self.options.fit == Fit::Modulo {
            let share = self.fitter.moved as f64 / self.taken.max(1) as f64 * 100.0;
            return format!(
                "({share:.1} % of all) lie beyond the drive: their addresses were folded onto its own, which are \
                 written and read more often than in the trace (workload.fit = modulo)."
            );
        }
        "touch what lies beyond the drive, or was in its way, and were moved to free places in regions of 1 MiB \
         (workload.fit = auto)."
            .to_owned()
    }

    fn below_limit(&self) -> bool {
        self.options.requests.is_none_or(|limit| self.emitted < limit)
    }
}

impl Changes {
    /// Counts what became of a request of `wanted` sectors: `pieces` with `sectors` together.
    fn count(&mut self, pieces: u64, sectors: u64, wanted: u64) {
        match pieces {
            0 => self.vanished += 1,
            1 => {}
            _ => {
                self.split += 1;
                self.pieces += pieces;
            }
        }
        self.shortened += u64::from(pieces > 0 && sectors < wanted);
    }
}

/// The sentences on what was met.
fn told(found: impl IntoIterator<Item = (u64, String)>) -> impl Iterator<Item = String> {
    let met = found.into_iter().filter(|(count, _)| *count > 0);
    met.map(|(count, text)| {
        let what = if text.starts_with("rows") { "" } else { "requests " };
        format!("{count} {what}{text}")
    })
}

impl Workload for TraceWorkload {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        let mut appended = 0;
        while appended < limit && self.below_limit() && !self.failed {
            if let Some(request) = self.pending.pop_front() {
                batch.push(request);
                self.emitted += 1;
                appended += 1;
                continue;
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed = true;
                    return Err(error.into());
                }
            }
        }
        if self.is_streamed && !self.below_limit() && !self.failed {
            self.records.look_behind().inspect_err(|_| self.failed = true)?;
        }
        Ok(())
    }

    fn recorded_latency(&self) -> Option<RecordedLatency> {
        self.latencies.all()
    }

    fn notes(&self) -> Vec<String> {
        let statistics = self.statistics();
        let ReadStatistics { dropped_zero, dropped_other, .. } = statistics;
        let Changes { other_devices, widened, split, pieces, shortened, vanished } = self.changes;
        let fit = self.options.fit.name();
        let of_rows = [
            (dropped_zero, "of size 0 were left out: they move no data.".to_owned()),
            (
                dropped_other,
                "rows of the trace are not requests to replay, or name no disk, and were left out.".to_owned(),
            ),
            (other_devices, "for other devices were left out (workload.devices).".to_owned()),
        ];
        let of_fit = [
            (widened, "were widened to whole sectors of 512 bytes.".to_owned()),
            (
                split,
                format!(
                    "were split into {pieces} to fit the drive (fit = {fit}): each piece counts as a \
                request."
                ),
            ),
            (shortened, format!("were shortened to fit the drive (fit = {fit}).")),
            (self.fitter.moved, self.moved_note()),
            (vanished, format!("touched nothing on the drive and were left out (fit = {fit}).")),
        ];
        let notes = told(of_rows).chain(self.records.order_notes()).chain(told(of_fit));
        let gaps = statistics.gaps_note(self.options.gap_limit_ns);
        let whole = self.records.whole_note();
        let unread = self.records.unread_note().filter(|_| self.is_streamed);
        notes.chain(whole).chain(gaps).chain(self.records.notes()).chain(unread).collect()
    }

    fn doubt(&self) -> Option<String> {
        self.records.doubt()
    }

    fn remaining(&self) -> Option<u64> {
        let left = self.records_left? + self.pending.len() as u64;
        Some(self.options.requests.map_or(left, |limit| left.min(limit - self.emitted.min(limit))))
    }
}
