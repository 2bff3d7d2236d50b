//! The check of `desktop-ntfs` against the published statistics of the laptop traces.

use super::parameters::{SyntheticError, WorkloadParameters};
use super::profile::Profile;

/// Drive of the published trace: 20 GiB, in sectors.
pub const CALIBRATION_SECTORS: u64 = 20 << 21;
/// Requests measured; the locality figure belongs to this length.
pub const CALIBRATION_REQUESTS: u64 = 500_000;

/// A published figure beside the generator's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared, with its unit.
    pub figure: &'static str,
    /// The published value.
    pub published: f64,
    /// The value measured on the generator.
    pub generated: f64,
    /// Largest difference that counts as a hit, in the figure's unit; `None` for the one figure
    /// that contradicts others and is missed on purpose.
    pub tolerance: Option<f64>,
}

impl Comparison {
    /// Whether the figure is as close as it should be; always true for one missed on purpose.
    pub fn holds(&self) -> bool {
        self.tolerance.is_none_or(|tolerance| (self.generated - self.published).abs() <= tolerance)
    }
}

/// Runs the generator under `seed` and compares it with what was published.
///
/// # Errors
/// None with the parameters used here; the type is that of building any workload.
pub fn calibration(seed: u64) -> Result<Vec<Comparison>, SyntheticError> {
    let parameters =
        WorkloadParameters { seed, ..WorkloadParameters::new(CALIBRATION_SECTORS, CALIBRATION_REQUESTS) };
    let mut workload = super::build("desktop-ntfs", &parameters)?;
    let mut requests = Vec::new();
    let length = CALIBRATION_REQUESTS as usize;
    workload.next_batch(&mut requests, length).expect("a generator cannot fail");
    let profile = Profile::of(&requests);
    let row =
        |figure, published, generated, tolerance| Comparison { figure, published, generated, tolerance };
    let percent = |share: f64| share * 100.0;
    Ok(vec![
        row("writes of 1 to 8 sectors, % of writes", 63.0, percent(profile.small_write_share), Some(3.0)),
        row("random among them, %", 68.0, percent(profile.small_write_random_share), Some(3.0)),
        row("random among writes of 8 sectors, %", 80.0, percent(profile.page_write_random_share), Some(3.0)),
        row("random among longer writes, %", 20.0, percent(profile.large_write_random_share), Some(3.0)),
        row("reads, % of requests", 48.0, percent(profile.read_share), Some(1.0)),
        row("mean read, sectors", 8.2, profile.read_sectors_mean, Some(0.3)),
        row("mean write, sectors", 5.7, profile.write_sectors_mean, None),
        row("mean gap, ms", 32.0, profile.interarrival_ns_mean / 1e6, Some(2.0)),
        row("deviation of the gap, ms", 229.0, profile.interarrival_ns_deviation / 1e6, Some(15.0)),
        row(
            "requests on the busiest 26 % of addresses, %",
            74.0,
            percent(profile.busiest_26_percent_share),
            Some(3.0),
        ),
    ])
}
