//! The first pass: devices, spans and footprint, so that what cannot be replayed is refused
//! before anything runs.

use std::collections::BTreeMap;

use units::{HostOp, SECTOR_BYTES};

use super::super::reading::extents::Extents;
use super::super::{DevicePolicy, Fit, Records, TraceError, TraceOptions, TraceRecord};
use super::fit::CHUNK_SECTORS;

/// One device of the trace.
pub(super) struct Device {
    pub name: String,
    pub records: u64,
    pub end_bytes: u64,
}

/// What the first pass found.
pub(super) struct Survey {
    pub devices: BTreeMap<u32, Device>,
}

/// At most this many devices are listed in a message.
const LISTED_MAX: usize = 24;

impl Survey {
    /// Reads all of `records`, keeping to the limit of `options`, and refuses what it must.
    pub fn take(records: &mut Records, options: &TraceOptions) -> Result<Survey, TraceError> {
        let mut survey = Survey { devices: BTreeMap::new() };
        let mut touched = Extents::default();
        let mut kept = 0;
        while options.requests.is_none_or(|limit| kept < limit) {
            let Some(record) = records.next_record()? else { break };
            let selected = survey.add(&record, records, options, &mut touched);
            // A trim may vanish when chunks are compacted, so it does not count towards the limit:
            // the first pass must not stop before the second does.
            let certain = options.fit != Fit::Compact || record.op != HostOp::Trim;
            kept += u64::from(selected && certain);
        }
        survey.check(records, options)?;
        if options.fit == Fit::Compact {
            check_footprint(&touched, records.path(), options)?;
        }
        Ok(survey)
    }

    /// Counts a record; whether it will be replayed.
    fn add(
        &mut self,
        record: &TraceRecord,
        records: &Records,
        options: &TraceOptions,
        touched: &mut Extents,
    ) -> bool {
        let device = self.devices.entry(record.device).or_insert_with(|| Device {
            name: records.device_name(record.device),
            records: 0,
            end_bytes: 0,
        });
        device.records += 1;
        device.end_bytes = device.end_bytes.max(record.end_bytes());
        let selected = match options.devices {
            DevicePolicy::Select(device) => record.device == device,
            DevicePolicy::Error | DevicePolicy::Concat => true,
        };
        if selected && options.fit == Fit::Compact && matches!(record.op, HostOp::Read | HostOp::Write) {
            touched.add(record);
        }
        selected
    }

    /// The devices, for messages.
    pub fn list(&self) -> String {
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

    /// Bytes the replayed devices reach to, laid out as `options` say.
    pub fn span_bytes(&self, options: &TraceOptions) -> u64 {
        match options.devices {
            DevicePolicy::Select(device) => self.devices.get(&device).map_or(0, |device| device.end_bytes),
            DevicePolicy::Error => self.devices.values().map(|device| device.end_bytes).max().unwrap_or(0),
            DevicePolicy::Concat => {
                let total = self.devices.values().map(|device| u128::from(slot_bytes(device))).sum::<u128>();
                u64::try_from(total).unwrap_or(u64::MAX)
            }
        }
    }

    /// Records that will be replayed.
    pub fn records(&self, options: &TraceOptions) -> u64 {
        match options.devices {
            DevicePolicy::Select(device) => self.devices.get(&device).map_or(0, |device| device.records),
            _ => self.devices.values().map(|device| device.records).sum(),
        }
    }

    /// First byte of each device when they are laid one after another.
    pub fn bases(&self) -> BTreeMap<u32, u64> {
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

    fn check(&self, records: &Records, options: &TraceOptions) -> Result<(), TraceError> {
        let path = records.path().to_owned();
        if self.devices.is_empty() {
            let statistics = records.statistics();
            let dropped = statistics.dropped_zero + statistics.dropped_comment + statistics.dropped_other;
            return Err(TraceError::Empty { path, format: records.format().name, dropped });
        }
        match options.devices {
            DevicePolicy::Error if self.devices.len() > 1 => {
                return Err(TraceError::ManyDevices {
                    path,
                    count: self.devices.len(),
                    devices: self.list(),
                });
            }
            DevicePolicy::Select(device) if !self.devices.contains_key(&device) => {
                return Err(TraceError::NoSuchDevice { path, device, devices: self.list() });
            }
            _ => {}
        }
        let (end_bytes, capacity_bytes) = (self.span_bytes(options), options.capacity_sectors * SECTOR_BYTES);
        // Concatenation adds addresses, so the sum must fit whatever happens to it later.
        if options.devices == DevicePolicy::Concat && end_bytes == u64::MAX {
            return Err(TraceError::ConcatTooLong { path, count: self.devices.len() });
        }
        if options.fit == Fit::Error && end_bytes > capacity_bytes {
            let what = match options.devices {
                DevicePolicy::Concat => format!("the concatenation of {} devices", self.devices.len()),
                _ => "the highest request".to_owned(),
            };
            return Err(TraceError::BeyondDrive { path, what, end_bytes, capacity_bytes });
        }
        Ok(())
    }
}

/// Space of a device in a concatenation: whole chunks, so that alignment survives.
fn slot_bytes(device: &Device) -> u64 {
    device.end_bytes.div_ceil(CHUNK_SECTORS * SECTOR_BYTES).saturating_mul(CHUNK_SECTORS * SECTOR_BYTES)
}

fn check_footprint(touched: &Extents, path: &str, options: &TraceOptions) -> Result<(), TraceError> {
    let (chunks, capacity_chunks) = (touched.chunks(), options.capacity_sectors / CHUNK_SECTORS);
    if chunks > capacity_chunks {
        return Err(TraceError::FootprintBeyondDrive { path: path.to_owned(), chunks, capacity_chunks });
    }
    Ok(())
}
