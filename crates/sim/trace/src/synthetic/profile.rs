//! The figures by which workloads are compared with published traces.

use units::{HostOp, Nanos, Request};

/// Gaps at least this long are nights, not arrivals (one hour).
const NIGHT_NS: Nanos = 3_600_000_000_000;
/// Addresses are counted in units of this many sectors (4 KiB).
const ADDRESS_SECTORS: u64 = 8;
/// Regions have this many sectors (1 MiB).
const REGION_SECTORS: u64 = 2048;
/// How far back a request is compared for [`Profile::continues_recent_share`].
const RECENT_REQUESTS: usize = 64;

/// Statistics of a list of requests. All shares are 0 to 1, and 0 where nothing was counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Reads among reads and writes.
    pub read_share: f64,
    /// Mean read in sectors.
    pub read_sectors_mean: f64,
    /// Mean write in sectors.
    pub write_sectors_mean: f64,
    /// Writes of 1 to 8 sectors among writes.
    pub small_write_share: f64,
    /// Share of random writes among writes of 1 to 8 sectors. A write is random when it does not start
    /// where the previous write ended.
    pub small_write_random_share: f64,
    /// Share of random writes among writes of 8 sectors.
    pub page_write_random_share: f64,
    /// Random writes among those above 8 sectors.
    pub large_write_random_share: f64,
    /// Requests that start where one of the last 64 of the same operation ended.
    pub continues_recent_share: f64,
    /// Mean gap between arrivals in nanoseconds, gaps of an hour and more left out.
    pub interarrival_ns_mean: f64,
    /// Standard deviation of the same gaps in nanoseconds.
    pub interarrival_ns_deviation: f64,
    /// Requests that go to the busiest 26 % of the 4 KiB addresses at which any request starts.
    pub busiest_26_percent_share: f64,
    /// Distinct 4 KiB addresses at which requests start, per request.
    pub distinct_addresses_per_request: f64,
    /// Distinct regions of 1 MiB in which requests start, per request. Falls with the length.
    pub distinct_regions_per_request: f64,
}

impl Profile {
    /// Measures reads and writes in `requests`; trims and flushes count only as arrivals.
    pub fn of(requests: &[Request]) -> Self {
        let select = |op| requests.iter().filter(move |request| request.op == op);
        let reads: Vec<&Request> = select(HostOp::Read).collect();
        let writes: Vec<&Request> = select(HostOp::Write).collect();
        let small = WriteCount::of(&writes, 1..=8);
        let page = WriteCount::of(&writes, 8..=8);
        let large = WriteCount::of(&writes, 9..=u32::MAX);
        let moved = (reads.len() + writes.len()) as f64;
        let continued = (continued_recent(&reads) + continued_recent(&writes)) as f64;
        let (interarrival_ns_mean, interarrival_ns_deviation) = gaps(requests);
        let (busiest_26_percent_share, distinct_addresses_per_request) = locality(&reads, &writes, ADDRESS_SECTORS);
        let (_, distinct_regions_per_request) = locality(&reads, &writes, REGION_SECTORS);
        Self {
            read_share: ratio(reads.len() as f64, moved),
            read_sectors_mean: mean_sectors(&reads),
            write_sectors_mean: mean_sectors(&writes),
            small_write_share: ratio(small.all, writes.len() as f64),
            small_write_random_share: ratio(small.random, small.all),
            page_write_random_share: ratio(page.random, page.all),
            large_write_random_share: ratio(large.random, large.all),
            continues_recent_share: ratio(continued, moved),
            interarrival_ns_mean,
            interarrival_ns_deviation,
            busiest_26_percent_share,
            distinct_addresses_per_request,
            distinct_regions_per_request,
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn mean_sectors(requests: &[&Request]) -> f64 {
    let sum: u64 = requests.iter().map(|request| u64::from(request.sectors)).sum();
    ratio(sum as f64, requests.len() as f64)
}

/// Writes of some sizes, and the random ones among them.
struct WriteCount {
    all: f64,
    random: f64,
}

impl WriteCount {
    fn of(writes: &[&Request], sectors: std::ops::RangeInclusive<u32>) -> Self {
        let (mut all, mut random, mut previous_end) = (0.0, 0.0, None);
        for write in writes {
            if sectors.contains(&write.sectors) {
                all += 1.0;
                random += f64::from(u8::from(previous_end != Some(write.first_sector)));
            }
            previous_end = Some(write.end_sector());
        }
        Self { all, random }
    }
}

fn continued_recent(requests: &[&Request]) -> usize {
    let continues = |&index: &usize| {
        let recent = &requests[index.saturating_sub(RECENT_REQUESTS)..index];
        recent.iter().any(|earlier| earlier.end_sector() == requests[index].first_sector)
    };
    (0..requests.len()).filter(continues).count()
}

/// Mean and standard deviation of the gaps within sessions.
fn gaps(requests: &[Request]) -> (f64, f64) {
    let gaps: Vec<f64> = requests
        .windows(2)
        .map(|pair| pair[1].arrival - pair[0].arrival)
        .filter(|&gap| gap < NIGHT_NS)
        .map(|gap| gap as f64)
        .collect();
    let mean = ratio(gaps.iter().sum(), gaps.len() as f64);
    let squares: f64 = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum();
    (mean, libm::sqrt(ratio(squares, gaps.len() as f64)))
}

/// Share of the busiest 26 % of addresses, in units of `unit` sectors, and distinct ones per request.
fn locality(reads: &[&Request], writes: &[&Request], unit: u64) -> (f64, f64) {
    let mut addresses: Vec<u64> = reads.iter().chain(writes).map(|request| request.first_sector / unit).collect();
    addresses.sort_unstable();
    let mut visits: Vec<usize> = addresses.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    visits.sort_unstable_by(|a, b| b.cmp(a));
    let busiest: usize = visits.iter().take(visits.len() * 26 / 100).sum();
    let requests = addresses.len() as f64;
    (ratio(busiest as f64, requests), ratio(visits.len() as f64, requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: HostOp, first_sector: u64, sectors: u32) -> Request {
        Request { arrival: 0, first_sector, sectors, op, fua: false }
    }

    #[test]
    fn a_write_is_sequential_only_right_after_its_predecessor() {
        let profile = Profile::of(&[
            request(HostOp::Write, 0, 8),
            request(HostOp::Read, 99, 1),
            request(HostOp::Write, 8, 8),
            request(HostOp::Write, 100, 16),
            request(HostOp::Write, 16, 4),
        ]);
        assert_eq!((profile.small_write_share, profile.large_write_random_share), (0.75, 1.0));
        assert!((profile.small_write_random_share - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((profile.page_write_random_share, profile.continues_recent_share), (0.5, 0.4));
    }

    #[test]
    fn nothing_is_measured_of_nothing() {
        assert_eq!(Profile::of(&[]), Profile::default());
    }
}
