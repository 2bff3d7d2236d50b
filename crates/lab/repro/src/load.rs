//! The workloads of a study: described in its file, generated or read from the user's files.

use crate::error::StudyError;
use crate::file::TraceFile;
use crate::study::Options;
use serde::Deserialize;
use trace::Workload;
use trace::synthetic::{
    DesktopShape, Parameter, UmpcShape, WORKLOADS, WorkloadParameters, build, desktop_ntfs, sectors_of_share, umpc,
};
use units::SECTOR_BYTES;

/// Requests, ready to be run.
pub type Opened = Result<Box<dyn Workload + Send>, StudyError>;

/// A workload as the file of a study has it: its generator, and statistics that were published of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Name in rows and figures.
    pub title: String,
    /// Name under which a file may stand in for it; empty: none may.
    #[serde(default)]
    pub trace: String,
    pub generator: String,
    /// Measured requests at full size.
    pub requests: u64,
    #[serde(default)]
    warm_up: WarmUp,
    /// Writes, % of requests.
    #[serde(default)]
    pub write_percent: Option<f64>,
    /// Mean size of a request, KB. Only some generators take it.
    #[serde(default)]
    pub mean_kb: Option<f64>,
    /// Bytes of a record, where a generator of one file takes as many requests as it has records.
    #[serde(default)]
    record_bytes: Option<u64>,
    /// Share of the drive that it goes to, 0 to 1.
    #[serde(default = "whole")]
    footprint: f64,
    /// Bytes that it goes to at any size, or as many as the drive has.
    #[serde(default)]
    span_bytes: Option<f64>,
    /// Bytes that get most requests at any size, or half of the drive; and their share of requests, 0 to 1.
    #[serde(default)]
    hot_bytes: Option<f64>,
    #[serde(default)]
    hot_traffic: Option<f64>,
}

fn whole() -> f64 {
    1.0
}

/// Requests that are run before anything is measured; a file gives a quarter of its own at most.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WarmUp {
    #[serde(default)]
    most: Option<u64>,
    /// Of a generator they are one in this number of the measured ones; 0: none.
    part: u64,
}

impl WarmUp {
    /// How many, of a generator or of a file of so many requests.
    fn of(&self, measured: u64, file: Option<u64>) -> u64 {
        let share = match file {
            Some(records) => records.min(measured) / 4,
            None => measured.checked_div(self.part).unwrap_or(0),
        };
        self.most.unwrap_or(u64::MAX).min(share)
    }
}

/// A workload of a study at the size of a run.
#[derive(Debug)]
pub struct Load {
    pub pattern: &'static Pattern,
    /// A file of the user that stands in for what is generated.
    pub file: Option<TraceFile>,
    /// All its requests, including the requests before the measured ones.
    pub requests: u64,
    /// Requests that come before the measured ones.
    pub warm_up: u64,
    /// Seed of the generator.
    seed: u64,
    /// Bytes of a record, where it has records.
    record: Option<u64>,
    /// Skew of its Zipf law, where it is drawn.
    pub skew: Option<f64>,
    /// Share of the drive in use, where its requests go; 0 to 1.
    pub share: f64,
    /// Structure of a desktop.
    shape: DesktopShape,
    /// Structure of a small laptop.
    laptop: UmpcShape,
}

impl Load {
    /// Errors: the user's file cannot be read.
    pub fn new(options: &Options, pattern: &'static Pattern, seed: u64) -> Result<Self, StudyError> {
        let file = TraceFile::given(options, &pattern.trace)?;
        let measured = options.scale.of(pattern.requests);
        let warm_up = pattern.warm_up.of(measured, file.as_ref().map(|file| file.summary.records));
        let requests = if file.is_some() { measured } else { measured + warm_up };
        let laptop = UmpcShape { busy_reads: options.drawn("trace.busy_reads", UmpcShape::default().busy_reads) };
        let (record, shape) = (pattern.record_bytes, desktop_shape(options));
        Ok(Self { pattern, file, requests, warm_up, seed, record, skew: None, share: 1.0, shape, laptop })
    }

    /// As many bytes in records of so many, where it has records; a file has its own.
    pub fn in_records(&mut self, options: &Options, bytes: u64) {
        if let (Some(usual), None) = (self.pattern.record_bytes, &self.file) {
            self.record = Some(bytes);
            self.requests = options.scale.of(self.pattern.requests * usual / bytes);
        }
    }

    /// Some workloads, each under a seed of its own: they are several traces, not pieces of one.
    /// Errors: as [`Load::new`].
    pub fn each(options: &Options, patterns: &'static [Pattern]) -> Result<Vec<Self>, StudyError> {
        let seeds = (0..).map(|index| options.seed.wrapping_add(index));
        patterns.iter().zip(seeds).map(|(pattern, seed)| Self::new(options, pattern, seed)).collect()
    }

    /// The text in the column of workloads of a row about all of them.
    pub fn label<'a>(loads: impl IntoIterator<Item = &'a Self>) -> String {
        let loads: Vec<&Self> = loads.into_iter().collect();
        let files: Vec<String> = loads.iter().filter_map(|load| load.file.as_ref()).map(TraceFile::label).collect();
        match files.len() {
            0 => "generated".to_owned(),
            count if count == loads.len() => files.join(", "),
            _ => format!("{}, others generated", files.join(", ")),
        }
    }

    /// Its requests, for a drive of `sectors`.
    /// Errors: a file cannot be read or does not fit, or the generator refuses its parameters.
    pub fn open(&self, sectors: u64) -> Opened {
        self.first(self.requests, sectors)
    }

    /// The first of its requests.
    /// Errors: as [`Load::open`].
    pub fn first(&self, requests: u64, sectors: u64) -> Opened {
        let sectors = in_use(sectors, self.share);
        match &self.file {
            Some(file) => file.open(sectors, requests),
            None => self.generate(requests, self.seed, sectors),
        }
    }

    /// Requests of the same kind without an end, or the file once more.
    /// Errors: as [`Load::open`].
    pub fn rehearse(&self, sectors: u64) -> Opened {
        let sectors = in_use(sectors, self.share);
        match &self.file {
            Some(file) => file.open(sectors, self.requests),
            None => self.generate(u64::MAX, self.seed.wrapping_add(0x5851_F42D_4C95_7F2D), sectors),
        }
    }

    fn generate(&self, requests: u64, seed: u64, sectors: u64) -> Opened {
        let pattern = self.pattern;
        let of_drive = |bytes: f64| bytes / (sectors * SECTOR_BYTES) as f64;
        let known = WORKLOADS.iter().find(|known| known.name == pattern.generator);
        let takes_mean = known.is_some_and(|known| known.takes.contains(&Parameter::MeanBytes));
        let mean = pattern.mean_kb.filter(|_| takes_mean).map(|kb| (kb * 1024.0).round() as u64);
        let parameters = WorkloadParameters {
            seed,
            request_bytes: self.record.or(mean),
            read_share: pattern.write_percent.map(|percent| 1.0 - percent / 100.0),
            footprint_share: pattern.span_bytes.map_or(pattern.footprint, |bytes| of_drive(bytes).min(1.0)),
            hot_space: pattern.hot_bytes.map(|bytes| of_drive(bytes).min(0.5)),
            hot_traffic: pattern.hot_traffic,
            zipf_exponent: self.skew,
            ..WorkloadParameters::new(sectors, requests)
        };
        Ok(match pattern.generator.as_str() {
            "desktop-ntfs" => desktop_ntfs::shaped(&parameters, self.shape)?,
            "umpc" => umpc::shaped(&parameters, self.laptop)?,
            other => build(other, &parameters)?,
        })
    }
}

/// The first sectors of a drive, a share of it in whole pages of 2 KiB.
pub fn in_use(sectors: u64, share: f64) -> u64 {
    const PAGE_SECTORS: u64 = 4;
    if share < 1.0 { sectors_of_share(sectors, share) / PAGE_SECTORS * PAGE_SECTORS } else { sectors }
}

/// The structure of `desktop-ntfs` below its published statistics: of a draw, as it was drawn.
fn desktop_shape(options: &Options) -> DesktopShape {
    let known = DesktopShape::default();
    DesktopShape {
        lone_share: options.drawn("trace.lone_share", known.lone_share),
        warm_pages: options.drawn("trace.warm_pages", known.warm_pages),
        warm_pages_per_block: options.drawn("trace.warm_pages_per_block", known.warm_pages_per_block),
        part_share: options.drawn("trace.part_share", known.part_share),
        scattered_share: options.drawn("trace.scattered_share", known.scattered_share),
        longest_share: options.drawn("trace.longest_share", known.longest_share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_warms_up_by_its_part_and_a_file_by_a_quarter() {
        let at_most_100 = WarmUp { most: Some(100), part: 3 };
        assert_eq!([at_most_100.of(900, None), at_most_100.of(90, None)], [100, 30]);
        assert_eq!([at_most_100.of(900, Some(200)), at_most_100.of(90, Some(1 << 30))], [50, 22]);
        assert_eq!([WarmUp::default().of(900, None), WarmUp::default().of(900, Some(200))], [0, 50]);
    }

    #[test]
    fn every_workload_of_a_study_is_one_of_the_generators() {
        let options = Options { scale: crate::Scale::parse("1/4096").unwrap(), ..Options::default() };
        for study in crate::STUDIES {
            let patterns = study.targets.map_or(&[][..], crate::target::Targets::patterns);
            for load in Load::each(&options, patterns).unwrap() {
                let mut batch = Vec::new();
                let mut workload = load.open(1 << 22).unwrap_or_else(|error| panic!("{load:?}: {error}"));
                workload.next_batch(&mut batch, 10).unwrap();
                assert_eq!(batch.len(), 10, "{load:?}");
            }
        }
    }
}
