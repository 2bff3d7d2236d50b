//! The first pass: devices, spans and footprint, so that what cannot be replayed is refused
//! before anything runs, and a drive can be made for the trace.

use std::collections::BTreeMap;
use std::io::Read;

use units::{HostOp, SECTOR_BYTES};

use super::super::reading::extents::{CHUNK_BYTES, Extents};
use super::super::{
    DevicePolicy, Fit, Order, Records, TraceError, TraceOptions, TraceRecord, WritePattern, WriteSurvey, open_reader,
    read_in_order,
};
use super::fit::CHUNK_SECTORS;
use crate::WorkloadError;

/// One device of the trace.
#[derive(Clone, Debug)]
struct Device {
    name: String,
    records: u64,
    end_bytes: u64,
}

/// The findings of a first pass over a trace. It holds whatever drive the trace is replayed on.
#[derive(Clone, Debug)]
pub struct Survey {
    path: String,
    /// The format that was read; a second pass must read the same.
    pub(super) format: &'static str,
    /// Treatment of times that go back; a second pass does the same.
    pub(super) order: Order,
    devices: BTreeMap<u32, Device>,
    policy: DevicePolicy,
    touched_bytes: u64,
    writes: bool,
    pattern: Option<WritePattern>,
}

/// At most this many devices are listed in a message.
const LISTED_MAX: usize = 24;

impl Survey {
    /// Reads all of the trace at `path`, a regular file. Where a record is further back in time than the sorting window
    /// reaches, all of the trace is sorted, here and in the second pass.
    /// Errors: the trace cannot be read, has no requests, or has devices that the options refuse.
    pub fn take(path: &str, options: &TraceOptions) -> Result<Survey, WorkloadError> {
        options.check()?;
        read_in_order(path, &options.open_options(), |records| Survey::of(records, options))
    }

    /// As [`Survey::take`], from a reader; `name` stands for the file name.
    pub fn take_reader(
        reader: Box<dyn Read + Send>,
        name: &str,
        options: &TraceOptions,
    ) -> Result<Survey, WorkloadError> {
        options.check()?;
        Survey::of(&mut open_reader(reader, name, &options.open_options())?, options)
    }

    fn of(records: &mut Records, options: &TraceOptions) -> Result<Survey, WorkloadError> {
        let mut survey = Survey {
            path: records.path().to_owned(),
            format: records.format().name,
            order: records.order(),
            devices: BTreeMap::new(),
            policy: options.devices,
            touched_bytes: 0,
            writes: false,
            pattern: None,
        };
        let mut touched = Extents::default();
        let mut written = options.finds_pattern.then(WriteSurvey::default);
        let mut kept = 0;
        while options.requests.is_none_or(|limit| kept < limit) {
            let Some(record) = records.next_record()? else { break };
            let selected = survey.add(&record, records, &mut touched);
            if let Some(written) = written.as_mut().filter(|_| selected) {
                written.add(&record);
            }
            // A trim may vanish when regions are placed, so it does not count towards the limit:
            // the first pass must not stop before the second does.
            let certain = !options.places_regions() || record.op != HostOp::Trim;
            kept += u64::from(selected && certain);
        }
        records.look_behind()?;
        survey.touched_bytes = touched.chunks() * CHUNK_BYTES;
        survey.pattern = written.and_then(|written| written.pattern());
        survey.check(records)?;
        Ok(survey)
    }

    /// Counts a record; whether it will be replayed.
    fn add(&mut self, record: &TraceRecord, records: &Records, touched: &mut Extents) -> bool {
        let device = self.devices.entry(record.device).or_insert_with(|| Device {
            name: records.device_name(record.device),
            records: 0,
            end_bytes: 0,
        });
        device.records += 1;
        device.end_bytes = device.end_bytes.max(record.end_bytes());
        let selected = match self.policy {
            DevicePolicy::Select(device) => record.device == device,
            DevicePolicy::Error | DevicePolicy::Concat => true,
        };
        if selected && matches!(record.op, HostOp::Read | HostOp::Write) {
            touched.add(record);
        }
        self.writes |= selected && record.op == HostOp::Write;
        selected
    }

    /// Devices of the trace, also devices that are not replayed.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Whether anything is written.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// How the writes lie, if the options asked for it and it can be told.
    pub fn pattern(&self) -> Option<WritePattern> {
        self.pattern
    }

    /// Bytes that reads and writes touch, in regions of 1 MiB.
    pub fn touched_bytes(&self) -> u64 {
        self.touched_bytes
    }

    /// Bytes the replayed devices reach to, laid out as the options say; `u64::MAX` where no
    /// number of 64 bits holds them.
    pub fn span_bytes(&self) -> u64 {
        match self.policy {
            DevicePolicy::Select(device) => self.devices.get(&device).map_or(0, |device| device.end_bytes),
            DevicePolicy::Error => self.devices.values().map(|device| device.end_bytes).max().unwrap_or(0),
            DevicePolicy::Concat if self.devices.len() == 1 => {
                self.devices.values().map(|device| device.end_bytes).sum()
            }
            DevicePolicy::Concat => {
                let total = self.devices.values().map(|device| u128::from(slot_bytes(device))).sum::<u128>();
                u64::try_from(total).unwrap_or(u64::MAX)
            }
        }
    }

    /// Records that will be replayed.
    pub(super) fn records(&self) -> u64 {
        match self.policy {
            DevicePolicy::Select(device) => self.devices.get(&device).map_or(0, |device| device.records),
            _ => self.devices.values().map(|device| device.records).sum(),
        }
    }

    /// First byte of each device when they are laid side by side.
    pub(super) fn bases(&self) -> BTreeMap<u32, u64> {
        if self.policy != DevicePolicy::Concat {
            return BTreeMap::new();
        }
        let mut next = 0_u64;
        self.devices
            .iter()
            .map(|(&number, device)| {
                let base = next;
                next = next.saturating_add(slot_bytes(device));
                (number, base)
            })
            .collect()
    }

    /// The devices, for messages.
    fn list(&self) -> String {
        let mut names: Vec<String> = self
            .devices
            .values()
            .take(LISTED_MAX)
            .map(|device| format!("{} ({} records)", device.name, device.records))
            .collect();
        if self.devices.len() > LISTED_MAX {
            names.push(format!("and {} more", self.devices.len() - LISTED_MAX));
        }
        names.join(", ")
    }

    fn check(&self, records: &Records) -> Result<(), TraceError> {
        let path = self.path.clone();
        if self.devices.is_empty() {
            let statistics = records.statistics();
            let dropped = statistics.dropped_zero + statistics.dropped_comment + statistics.dropped_other;
            return Err(TraceError::Empty { path, format: self.format, dropped });
        }
        match self.policy {
            DevicePolicy::Error if self.devices.len() > 1 => {
                return Err(TraceError::ManyDevices { path, count: self.devices.len(), devices: self.list() });
            }
            DevicePolicy::Select(device) if !self.devices.contains_key(&device) => {
                return Err(TraceError::NoSuchDevice { path, device, devices: self.list() });
            }
            _ => {}
        }
        // Side by side, addresses are added, so the sum must fit whatever happens to it later.
        if self.policy == DevicePolicy::Concat && self.devices.len() > 1 && self.span_bytes() == u64::MAX {
            return Err(TraceError::ConcatTooLong { path, count: self.devices.len() });
        }
        Ok(())
    }

    /// Refuses what does not fit on the drive of `options`, and says whether everything fits as it is.
    pub(super) fn check_fit(&self, options: &TraceOptions) -> Result<bool, TraceError> {
        let (end_bytes, capacity_bytes) = (self.span_bytes(), options.capacity_sectors * SECTOR_BYTES);
        if options.fit == Fit::Error && end_bytes > capacity_bytes {
            let what = match options.devices {
                DevicePolicy::Concat if self.devices.len() > 1 => {
                    format!("the concatenation of {} devices", self.devices.len())
                }
                _ => "the highest request".to_owned(),
            };
            return Err(TraceError::BeyondDrive { path: self.path.clone(), what, end_bytes, capacity_bytes });
        }
        let as_it_is = end_bytes <= capacity_bytes;
        let (chunks, capacity_chunks) = (self.touched_bytes / CHUNK_BYTES, options.capacity_sectors / CHUNK_SECTORS);
        let is_placed = options.fit == Fit::Compact || options.fit == Fit::Auto && !as_it_is;
        if is_placed && chunks > capacity_chunks {
            return Err(TraceError::FootprintBeyondDrive { path: self.path.clone(), chunks, capacity_chunks });
        }
        Ok(as_it_is)
    }
}

/// Space of a device in a concatenation: whole chunks, so that alignment survives.
fn slot_bytes(device: &Device) -> u64 {
    device.end_bytes.div_ceil(CHUNK_SECTORS * SECTOR_BYTES).saturating_mul(CHUNK_SECTORS * SECTOR_BYTES)
}
