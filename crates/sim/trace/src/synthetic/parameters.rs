//! Parameters of a synthetic workload, and the errors of wrong values.
//!
//! Optional parameters are `Option`s: `None` asks for the generator's own value. A workload that
//! cannot heed a parameter refuses it, so that no setting is ever silently without effect.

use units::SECTOR_BYTES;

/// Largest drive a workload can address, in sectors (128 PiB).
pub const USER_SECTORS_MAX: u64 = 1 << 48;

/// Largest single request, in bytes.
pub const REQUEST_BYTES_MAX: u64 = 1 << 30;

/// Accepted mean sizes of requests, in bytes.
pub const MEAN_BYTES_RANGE: std::ops::RangeInclusive<u64> = 4 << 10..=56 << 10;

/// Settings shared by all synthetic workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadParameters {
    /// Seed of every random stream of the workload; any value, default 1.
    pub seed: u64,
    /// Capacity of the drive in sectors of 512 bytes, from the workload's own minimum to
    /// [`USER_SECTORS_MAX`]. No request goes beyond it.
    pub user_sectors: u64,
    /// Number of requests to yield, flushes included; 0 yields none, `u64::MAX` never ends.
    pub requests: u64,
    /// Part of the drive the workload touches, counted from sector 0; above 0, up to 1, default 1.
    pub footprint_share: f64,
    /// Mean time between arrivals in nanoseconds. `None` keeps the generator's published process,
    /// or, where it has none, lets everything arrive at time 0 (which suits a closed loop).
    /// A workload with a published process is stretched to the given mean, its shape kept.
    pub mean_interarrival_ns: Option<u64>,
    /// A flush follows each group of this many other requests; 0 (the default) sends none.
    pub flush_every: u64,
    /// Size of a request or record in bytes: a multiple of 512 up to [`REQUEST_BYTES_MAX`]; in
    /// `system-disk`, the mean size of a request, any number in [`MEAN_BYTES_RANGE`].
    pub request_bytes: Option<u64>,
    /// Share of reads among reads and writes, 0 to 1.
    pub read_share: Option<f64>,
    /// Share of trims among all requests but flushes, 0 to 1; in `postmark`, share of deleted
    /// files whose space is trimmed. 0 sends none.
    pub trim_share: Option<f64>,
    /// Exponent of the Zipf law, 0 (uniform) to 10.
    pub zipf_exponent: Option<f64>,
    /// Part of the footprint that is hot, strictly between 0 and 1.
    pub hot_space: Option<f64>,
    /// Share of the requests that go to the hot part, 0 to 1.
    pub hot_traffic: Option<f64>,
}

/// The first sectors of a drive that are `share` of all `sectors`, 0 to 1; at least one.
pub fn sectors_of_share(sectors: u64, share: f64) -> u64 {
    if share >= 1.0 {
        return sectors;
    }
    ((sectors as f64 * share) as u64).clamp(1, sectors.max(1))
}

impl WorkloadParameters {
    /// The defaults for a drive of `user_sectors`, with `requests` requests to come.
    pub fn new(user_sectors: u64, requests: u64) -> Self {
        Self {
            seed: 1,
            user_sectors,
            requests,
            footprint_share: 1.0,
            mean_interarrival_ns: None,
            flush_every: 0,
            request_bytes: None,
            read_share: None,
            trim_share: None,
            zipf_exponent: None,
            hot_space: None,
            hot_traffic: None,
        }
    }

    /// Sectors the workload may touch; at least one.
    pub fn footprint_sectors(&self) -> u64 {
        sectors_of_share(self.user_sectors, self.footprint_share)
    }

    /// Requests other than flushes.
    pub fn access_count(&self) -> u64 {
        match self.flush_every {
            0 => self.requests,
            group => self.requests - self.requests / group.saturating_add(1),
        }
    }

    /// Sectors of one request: the given size, or `default_bytes` cut down to the footprint.
    pub(super) fn request_sectors(&self, default_bytes: u64) -> u32 {
        let sectors = self.request_bytes.unwrap_or(default_bytes) / SECTOR_BYTES;
        sectors.min(self.footprint_sectors()) as u32
    }

    /// Refuses values outside their ranges and parameters not in `taken`.
    pub(super) fn check(
        &self,
        workload: &'static str,
        taken: &[Parameter],
        minimum_sectors: u64,
    ) -> Result<(), SyntheticError> {
        let refuse = |parameter, value: String, limit: String, remedy| {
            Err(SyntheticError::OutOfRange { workload, parameter, value, limit, remedy })
        };
        let (low, high) = (minimum_sectors, USER_SECTORS_MAX);
        if !(low..=high).contains(&self.user_sectors) {
            let limit = format!("{low} to {high} sectors");
            return refuse("user_sectors", self.user_sectors.to_string(), limit, "change the drive's capacity");
        }
        if !(self.footprint_share > 0.0 && self.footprint_share <= 1.0) {
            let (value, limit) = (self.footprint_share.to_string(), "above 0, up to 1".to_owned());
            return refuse("footprint_share", value, limit, "give 1 for the whole drive");
        }
        if self.footprint_sectors() < minimum_sectors {
            let (value, limit) = (self.footprint_share.to_string(), format!("{low} sectors of footprint"));
            return refuse("footprint_share", value, limit, "enlarge the share or the drive");
        }
        for parameter in Parameter::ALL {
            let Some(value) = parameter.value(self) else { continue };
            if !taken.contains(&parameter) {
                if taken.iter().any(|other| other.name() == parameter.name()) {
                    continue;
                }
                let taken = Parameter::list(taken);
                return Err(SyntheticError::NotTaken { workload, parameter: parameter.name(), value, taken });
            }
            let (allowed, limit) = parameter.allows(value, self);
            if !allowed {
                return refuse(parameter.name(), value.to_string(), limit, "choose a value inside the range");
            }
        }
        Ok(())
    }
}

/// A parameter that only some workloads take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// [`WorkloadParameters::request_bytes`].
    RequestBytes,
    /// [`WorkloadParameters::read_share`].
    ReadShare,
    /// [`WorkloadParameters::trim_share`].
    TrimShare,
    /// [`WorkloadParameters::zipf_exponent`].
    ZipfExponent,
    /// [`WorkloadParameters::hot_space`].
    HotSpace,
    /// [`WorkloadParameters::hot_traffic`].
    HotTraffic,
    /// [`WorkloadParameters::request_bytes`] as the mean of many sizes.
    MeanBytes,
}

impl Parameter {
    /// Every parameter, in the order of the fields.
    pub const ALL: [Parameter; 7] = [
        Parameter::RequestBytes,
        Parameter::ReadShare,
        Parameter::TrimShare,
        Parameter::ZipfExponent,
        Parameter::HotSpace,
        Parameter::HotTraffic,
        Parameter::MeanBytes,
    ];

    /// The field's name, as used in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Parameter::RequestBytes | Parameter::MeanBytes => "request_bytes",
            Parameter::ReadShare => "read_share",
            Parameter::TrimShare => "trim_share",
            Parameter::ZipfExponent => "zipf_exponent",
            Parameter::HotSpace => "hot_space",
            Parameter::HotTraffic => "hot_traffic",
        }
    }

    fn value(self, parameters: &WorkloadParameters) -> Option<f64> {
        match self {
            Parameter::RequestBytes | Parameter::MeanBytes => parameters.request_bytes.map(|bytes| bytes as f64),
            Parameter::ReadShare => parameters.read_share,
            Parameter::TrimShare => parameters.trim_share,
            Parameter::ZipfExponent => parameters.zipf_exponent,
            Parameter::HotSpace => parameters.hot_space,
            Parameter::HotTraffic => parameters.hot_traffic,
        }
    }

    /// Whether `value` may be used, and the range in words.
    fn allows(self, value: f64, parameters: &WorkloadParameters) -> (bool, String) {
        match self {
            Parameter::RequestBytes => {
                let most = REQUEST_BYTES_MAX.min(parameters.footprint_sectors().saturating_mul(SECTOR_BYTES));
                let bytes = parameters.request_bytes.unwrap_or(0);
                let allowed = bytes > 0 && bytes <= most && bytes.is_multiple_of(SECTOR_BYTES);
                (allowed, format!("multiples of {SECTOR_BYTES} up to {most} bytes"))
            }
            Parameter::MeanBytes => {
                let allowed = parameters.request_bytes.is_some_and(|bytes| MEAN_BYTES_RANGE.contains(&bytes));
                (allowed, format!("{} to {} bytes", MEAN_BYTES_RANGE.start(), MEAN_BYTES_RANGE.end()))
            }
            Parameter::ReadShare | Parameter::TrimShare | Parameter::HotTraffic => {
                ((0.0..=1.0).contains(&value), "0 to 1".to_owned())
            }
            Parameter::ZipfExponent => ((0.0..=10.0).contains(&value), "0 to 10".to_owned()),
            Parameter::HotSpace => (value > 0.0 && value < 1.0, "strictly between 0 and 1".to_owned()),
        }
    }

    fn list(taken: &[Parameter]) -> String {
        if taken.is_empty() {
            return "none of the optional parameters".to_owned();
        }
        taken.iter().map(|parameter| parameter.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Why a synthetic workload cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SyntheticError {
    /// No workload has this name.
    #[error("no workload is called `{name}`; choose one of: {known}")]
    UnknownName {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A value lies outside its range.
    #[error("workload `{workload}`: {parameter} = {value} is outside {limit}; {remedy}")]
    OutOfRange {
        workload: &'static str,
        parameter: &'static str,
        value: String,
        limit: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A parameter is set that the workload has no use for.
    #[error("workload `{workload}` does not take {parameter} (given {value}); leave it out, it takes {taken}")]
    NotTaken {
        workload: &'static str,
        parameter: &'static str,
        value: f64,
        /// The parameters it does take.
        taken: String,
    },
}
