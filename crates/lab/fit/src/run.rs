//! The experiments, done on a simulated drive: the requests of clients, and the figures that come of them.

use crate::curve::{FILL, PLATEAU, TRANSIENT, WINDOWS, phases, plateau, turning_points};
use crate::figure::{self, Figure};
use crate::host::{self, Client, Found, Pace, Stop, unless};
use crate::measured::{Area, Experiment, Op, Order, Work};
use crate::subject::{Modelled, Outcome, SMALL, Subject};
use metrics::Histogram;
use units::Nanos;

/// Requests that clients of offered writes have at the drive at most: seven with 64 each.
const OFFERED_LIMIT: u32 = 448;
/// Share of reads among what is offered.
const OFFERED_READS: f64 = 0.01;
/// Time before latencies count, ns.
const WARM_UP: Nanos = 200_000_000;
/// Requests of one client that latencies are taken of; fewer where they are large, so that they move this many bytes.
const REQUESTS: u64 = 30_000;
/// The same where means alone are wanted.
const FOR_MEANS: u64 = 3_000;
const MOVED: u64 = 4 << 30;
/// Share of the used bytes that is written while a rate of writes is taken, at least.
const WRITTEN: f64 = 0.05;
/// Shares of a latency distribution by the names of figures.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("p99999", 0.99999)];

impl Subject {
    /// Whether a drive as small as this can do an experiment.
    fn is_large_enough(&self, experiment: &Experiment) -> Result<(), String> {
        let used = self.begins(experiment).map_or(self.bytes(), |begins| begins.moving);
        // A window of a fill or transient has a request or more.
        let least = match experiment.work {
            Work::Closed { size, .. } => size,
            Work::Fill { size, .. } => size * FILL as u64,
            Work::Offered { .. } | Work::Amplification { .. } | Work::Transient { .. } => SMALL * FILL as u64,
        };
        if used >= least {
            return Ok(());
        }
        Err(format!(
            "it uses {used} bytes of a drive that is {} times smaller, and needs {least}: give a smaller --scale",
            self.scale()
        ))
    }

    /// Does an experiment on a drive of its own.
    pub(crate) fn run(&self, experiment: &Experiment, host_ns: Nanos, stop: Stop<'_>) -> Outcome {
        self.is_large_enough(experiment)?;
        unless(stop)?;
        match experiment.work {
            Work::Closed { .. } => self.closed(experiment, host_ns, stop),
            Work::Offered { writes_per_second, area } => {
                let begins = self.begins(experiment);
                let within = begins.map_or(self.bytes(), |begins| begins.moving);
                let probe = small(Pace::Depth(1), 0.5, within, area);
                let rate = writes_per_second / (1.0 - OFFERED_READS);
                let writers = small(Pace::PerSecond(rate, OFFERED_LIMIT), OFFERED_READS, within, area);
                let requests = if experiment.ends_early { FOR_MEANS } else { REQUESTS };
                let found = self.timed(begins, host_ns, |drive, seed| {
                    host::measure(drive, &[probe, writers], WARM_UP, requests, seed, stop)
                })?;
                let (probe, writers) = (&found[0], &found[1]);
                let mut figures = Modelled::new();
                let iops = writers.writes.count() as f64 * 1e9 / writers.elapsed as f64;
                figures.extend([("iops", iops), ("rate", iops * SMALL as f64)]);
                by_kind(&mut figures, probe);
                Ok(figures)
            }
            Work::Amplification { window_end, window, .. } => {
                let begins = self.begins(experiment).expect("it begins with a state");
                let window = if window_end.is_some() { window } else { 1.0 };
                Ok(Modelled::from([("waf", self.amplification(begins, window, stop)?)]))
            }
            Work::Transient { area, depth } => {
                let begins = self.begins(experiment);
                let within = begins.map_or(self.bytes(), |begins| begins.moving);
                let client = small(Pace::Depth(depth), 0.0, within, area);
                let requests = (within as f64 / SMALL as f64 / WINDOWS) as u64;
                let windows = if experiment.ends_early { PLATEAU } else { TRANSIENT };
                let times = self.timed(begins, host_ns, |drive, seed| {
                    host::windows(drive, client, requests, windows, seed, stop)
                })?;
                let rates: Vec<f64> = times.iter().map(|time| requests as f64 * 1e9 / *time as f64).collect();
                Ok(if experiment.ends_early { plateau(&rates) } else { turning_points(&rates) })
            }
            Work::Fill { size, depth } => {
                let client = Client {
                    order: Order::Sequential,
                    size,
                    ..small(Pace::Depth(depth), 0.0, self.bytes(), Area::of(self.bytes()))
                };
                let requests = self.bytes() / size / FILL as u64;
                let times =
                    self.timed(None, host_ns, |drive, seed| host::windows(drive, client, requests, FILL, seed, stop))?;
                let step = requests * size;
                let rates: Vec<f64> = times.iter().map(|time| step as f64 * 1e9 / *time as f64).collect();
                Ok(phases(&rates, (step * self.scale()) as f64))
            }
        }
    }

    /// So many requests at a time.
    fn closed(&self, experiment: &Experiment, host_ns: Nanos, stop: Stop<'_>) -> Outcome {
        let Work::Closed { op, order, size, depth, beside, area, .. } = experiment.work else {
            unreachable!("it is asked for closed loops alone")
        };
        let begins = self.begins(experiment);
        let (used, moving) = begins.map_or((0, 0), |begins| (begins.used, begins.moving));
        let within = if op == Op::Read { used } else { moving };
        let commits = op == Op::Commit;
        let client = Client { order, size, commits, ..small(Pace::Depth(depth), op.reads(), within, area) };
        let writers = small(Pace::PerSecond(beside, OFFERED_LIMIT), 0.0, moving, area);
        let clients: Vec<Client> = std::iter::once(client).chain((beside > 0.0).then_some(writers)).collect();
        let written = if op == Op::Write { (moving as f64 * WRITTEN) as u64 / size } else { 0 };
        let requests = REQUESTS.min(MOVED / size).max(1).max(written);
        let found =
            self.timed(begins, host_ns, |drive, seed| host::measure(drive, &clients, WARM_UP, requests, seed, stop))?;
        let first = &found[0];
        let mut figures = Modelled::new();
        figures.insert("iops", first.per_second());
        figures.insert("rate", first.per_second() * size as f64);
        let mut all = first.reads.clone();
        all.merge(&first.writes);
        latencies(&mut figures, "", &all, first.least[0].min(first.least[1]));
        if matches!(op, Op::Mixed(_)) {
            by_kind(&mut figures, first);
        }
        Ok(figures)
    }
}

/// A client of small random requests.
fn small(pace: Pace, reads: f64, within: u64, area: Area) -> Client {
    Client { pace, reads, order: Order::Random, size: SMALL, within, zipf: area.zipf, commits: false }
}

/// The figures of reads and of writes.
fn by_kind(figures: &mut Modelled, found: &Found) {
    latencies(figures, "read.", &found.reads, found.least[0]);
    latencies(figures, "write.", &found.writes, found.least[1]);
}

/// The figures of a distribution that has enough durations for them, with `prefix` before their names.
fn latencies(figures: &mut Modelled, prefix: &str, histogram: &Histogram, least: Nanos) {
    if histogram.count() == 0 {
        return;
    }
    let mut insert = |name: &str, value: f64| {
        if let Ok(Figure { name, .. }) = figure::find(&format!("{prefix}{name}")) {
            figures.insert(name, value);
        }
    };
    insert("min", least as f64);
    insert("mean", histogram.mean());
    for (name, share) in PERCENTILES {
        if let Some(value) = histogram.supported(share) {
            insert(name, value as f64);
        }
    }
}
