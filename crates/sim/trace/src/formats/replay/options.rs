//! Options of a trace replay.

use super::super::{Allocator, OddLines, OpenOptions, Order, TraceError};

/// Treatment of a trace of several devices. Each device has its own address space, so they are
/// never laid over each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DevicePolicy {
    /// Refuse, listing the devices.
    Error,
    /// Replay one device and leave the others out.
    Select(u32),
    /// Side by side in one space, in order of device number, each taking the space up to its
    /// highest address, rounded up to 1 MiB. Needs a first pass over the file, unless the fit is
    /// [`Fit::Auto`] or [`Fit::Compact`]: those give each region a place of its own.
    #[default]
    Concat,
}

impl DevicePolicy {
    /// `error`, `concat`, or the number of a device.
    /// Errors: [`TraceError::Option`] for anything else.
    pub fn parse(text: &str) -> Result<DevicePolicy, TraceError> {
        match text {
            "error" => Ok(DevicePolicy::Error),
            "concat" => Ok(DevicePolicy::Concat),
            number => number.parse().map(DevicePolicy::Select).map_err(|_| TraceError::Option {
                option: "devices",
                value: text.to_owned(),
                expected: "error, concat, or the number of a device",
            }),
        }
    }
}

/// Treatment of addresses beyond the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// As they are, where the whole trace fits. Otherwise each touched region of 1 MiB keeps its
    /// address where that is on the drive and free, and takes the lowest free place where it is
    /// not. Trims of regions without a place are left out.
    #[default]
    Auto,
    /// Refuse, naming the address.
    Error,
    /// Wrap around at the end of the drive; a request across the end becomes two. A request
    /// larger than the drive is cut to its size.
    Modulo,
    /// Place touched chunks of 1 MiB densely, in order of first touch. Keeps locality within a
    /// chunk, loses distances; a request across chunks may become several. Trims of chunks never
    /// touched are left out.
    Compact,
    /// Multiply addresses by drive / span of the trace, in units of 4 KiB. Sizes stay, so
    /// sequential runs overlap when shrunk and leave gaps when stretched. Needs a first pass over
    /// the file.
    Scale,
}

impl Fit {
    /// The name used in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Fit::Auto => "auto",
            Fit::Error => "error",
            Fit::Modulo => "modulo",
            Fit::Compact => "compact",
            Fit::Scale => "scale",
        }
    }
}

/// How to replay a trace.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Name of the format; `None` detects it.
    pub format: Option<String>,
    /// The columns of a table, as [`OpenOptions::columns`]; `None`: the format has its own.
    pub columns: Option<String>,
    /// The file to take out of an archive of several.
    pub member: Option<String>,
    /// Several devices; default: side by side.
    pub devices: DevicePolicy,
    /// Addresses beyond the drive; default: moved to free places on it.
    pub fit: Fit,
    /// Factor on all times: 0.5 arrives twice as fast. Finite and above 0; default 1.
    pub time_scale: f64,
    /// Capacity of the drive in sectors of 512 bytes; above 0.
    pub capacity_sectors: u64,
    /// Treatment of times that go back; `None` takes what is usual for the format.
    pub order: Option<Order>,
    /// Records the window of `order = sort` holds; default 65,536.
    pub window_records: usize,
    /// Longest time between two records, in nanoseconds of the trace; `None` keeps all gaps.
    pub gap_limit_ns: Option<u64>,
    /// How the keys of a trace without addresses get addresses; `None` takes the usual way.
    pub allocator: Option<Allocator>,
    /// Odd lines that are left out; default 0.1 % of the lines, and 10 in any case.
    pub odd_lines: OddLines,
    /// Stop after this many requests; `None` replays all.
    pub requests: Option<u64>,
    /// Whether a first pass also finds how the writes lie ([`super::Survey::pattern`]), which costs time and memory.
    pub finds_pattern: bool,
}

impl TraceOptions {
    /// The defaults, for a drive of `capacity_sectors`.
    pub fn new(capacity_sectors: u64) -> TraceOptions {
        let open = OpenOptions::default();
        TraceOptions {
            format: open.format,
            columns: open.columns,
            member: open.member,
            devices: DevicePolicy::default(),
            fit: Fit::default(),
            time_scale: 1.0,
            capacity_sectors,
            order: open.order,
            window_records: open.window_records,
            gap_limit_ns: open.gap_limit_ns,
            allocator: open.allocator,
            odd_lines: open.odd_lines,
            requests: None,
            finds_pattern: false,
        }
    }

    /// Whether a region of the trace is given its place when it is first touched, so that trims of
    /// others vanish and no first pass is needed to keep devices apart.
    pub(super) fn places_regions(&self) -> bool {
        matches!(self.fit, Fit::Auto | Fit::Compact)
    }

    pub(super) fn open_options(&self) -> OpenOptions {
        OpenOptions {
            format: self.format.clone(),
            columns: self.columns.clone(),
            member: self.member.clone(),
            order: self.order,
            window_records: self.window_records,
            gap_limit_ns: self.gap_limit_ns,
            allocator: self.allocator,
            odd_lines: self.odd_lines,
        }
    }

    pub(super) fn check(&self) -> Result<(), TraceError> {
        if !(self.time_scale.is_finite() && self.time_scale > 0.0) {
            return Err(TraceError::Option {
                option: "time_scale",
                value: self.time_scale.to_string(),
                expected: "a finite factor above 0; 0.5 arrives twice as fast",
            });
        }
        if self.capacity_sectors == 0 || self.capacity_sectors > u64::MAX / units::SECTOR_BYTES {
            return Err(TraceError::Option {
                option: "capacity_sectors",
                value: self.capacity_sectors.to_string(),
                expected: "a drive of at least one sector and below 2^64 bytes",
            });
        }
        Ok(())
    }
}
