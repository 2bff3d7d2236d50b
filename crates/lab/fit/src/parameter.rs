//! The parameters that are fitted, in their order, the range that each has on drives, and the figures that tell it.

use crate::marks::{Evidence, Mark, is_rate};
use crate::measured::{Experiment, Op, Order, Work};
use layer::ParameterKind;
use simulator::Config;
use units::Nanos;
use units::quantity::{format_duration, format_rate, format_size};

/// The unit that a parameter is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A fraction of 1.
    Share,
    /// A duration.
    Nanoseconds,
    /// A size.
    Bytes,
    /// Bytes a second.
    Rate,
    /// One of a few names, each of which is tried.
    Name,
}

/// A parameter of a stack that figures tell.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub key: &'static str,
    pub doc: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Smallest and largest value that drives have; it may depend on the bits of a cell.
    range: fn(&Config) -> (f64, f64),
    /// Where that range comes from.
    pub source: &'static str,
    /// What it begins with where the stack has none; `None`: it is not fitted there.
    start: fn(&Evidence<'_>, &Config) -> Option<f64>,
    /// Whether a figure rises with it (1), falls (-1), or does not tell it.
    tells: Tells,
    /// The same for a figure that tells it where none of the first kind is there.
    tells_else: Tells,
}

type Tells = fn(&Evidence<'_>, &Experiment, Mark) -> Option<f64>;

/// Whatever a parameter does not say otherwise: it is a time, and no figure tells it.
const USUAL: Parameter = Parameter {
    key: "",
    doc: "",
    unit: Unit::Nanoseconds,
    range: |_| (1.0, 1e9),
    source: "",
    start: |_, _| None,
    tells: |_, _, _| None,
    tells_else: |_, _, _| None,
};

const US: f64 = 1e3;
const MS: f64 = 1e6;
const GB: f64 = 1e9;
const OF_PARTS: &str = "published parts (ISSCC, data sheets) by the bits of a cell";
const OF_FIRMWARE: &str = "30us: 33,000 requests a second, less than any SATA drive; 0.3us: 3.3 million a second, more \
                           than any NVMe drive";

/// All of them, in the order in which they are fitted.
pub const PARAMETERS: [Parameter; 17] = [
    Parameter {
        key: "drive.over_provisioning",
        doc: "raw flash",
        unit: Unit::Share,
        range: |_| (0.02, 1.5),
        source: "2 %: binary against decimal sizes, less bad blocks; 150 %: write-intensive drives of reduced size",
        tells: |_, _, (_, figure)| (figure == "waf").then_some(-1.0),
        tells_else: |_, experiment, (_, figure)| {
            let is_saturated = !experiment.is_below_the_knee() && figure == "iops";
            (figure == "steady" || is_saturated || figure == "iops" && is_steady_write(experiment)).then_some(1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "flash.program_time",
        doc: "time of a program, from the bandwidth of writes before any collection",
        range: |config| by_bits(config, [(50.0 * US, MS), (200.0 * US, 3.0 * MS), (400.0 * US, 5.0 * MS)], 10.0 * MS),
        source: OF_PARTS,
        tells: |_, experiment, (_, figure)| {
            let is_rate = matches!(figure, "plateau" | "phase2.rate") || is_rate(figure) && is_first_write(experiment);
            is_rate.then_some(-1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "controller.request_time",
        doc: "time of the firmware for a request, from the most reads a second",
        range: |_| (0.3 * US, 30.0 * US),
        source: OF_FIRMWARE,
        start: |_, _| Some(US),
        tells: |evidence, _, mark| (!evidence.is_by_page && evidence.most[0] == Some(mark)).then_some(-1.0),
        tells_else: |evidence, _, mark| (!evidence.is_by_page && evidence.most[1] == Some(mark)).then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "controller.write_request_time",
        doc: "time of the firmware for a write, from the most writes a second",
        range: |_| (0.3 * US, 30.0 * US),
        source: OF_FIRMWARE,
        start: |_, config| {
            let all = config.values.whole("controller.request_time") as f64;
            Some(if all > 0.0 { all } else { US })
        },
        tells: |evidence, _, mark| {
            let is_told = !evidence.is_by_page && evidence.most[0].is_some() && evidence.most[1] == Some(mark);
            is_told.then_some(-1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "controller.page_time",
        doc: "time of the firmware for a page, from large reads; from small ones where a request takes none",
        range: |config| if is_by_page(config) { (0.3 * US, 30.0 * US) } else { (0.02 * US, 10.0 * US) },
        source: "pages of 4 KiB at 0.02us: 200 GB/s, more than any link; at 10us: 410 MB/s",
        start: |_, _| Some(0.2 * US),
        tells: |evidence, _, mark| {
            let is_told =
                if evidence.is_by_page { evidence.most[0] == Some(mark) } else { evidence.is_of_large_reads(mark) };
            is_told.then_some(-1.0)
        },
        tells_else: |evidence, _, mark| (evidence.is_by_page && evidence.most[1] == Some(mark)).then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "controller.write_time",
        doc: "time of the firmware for a page of a write, of a stack without a time for requests",
        range: |_| (0.3 * US, 30.0 * US),
        source: OF_FIRMWARE,
        tells: |evidence, _, mark| (evidence.is_by_page && evidence.most[1] == Some(mark)).then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "host.link_bandwidth",
        doc: "bandwidth of the link, from the largest rate of reads in order",
        unit: Unit::Rate,
        range: |_| (0.05 * GB, 16.0 * GB),
        source: "50 MB/s: a card; 16 GB/s: four lanes of PCIe 5",
        start: |evidence, _| evidence.link.map(|mark| evidence.bytes_per_second(mark)),
        tells: |evidence, _, mark| (evidence.link == Some(mark)).then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "controller.latency",
        doc: "what a request takes in the drive beside firmware and flash, from writes that wait for nothing",
        range: |_| (10.0, 50.0 * US),
        source: "lone writes of drives take 5us to 60us in all",
        start: |_, _| Some(US),
        tells: |evidence, experiment, (_, figure)| {
            (is_lone_write(experiment, figure) && evidence.drive.host_ns(experiment) > 0).then_some(1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "host.latency",
        doc: "time between the host and the drive, from writes that wait for nothing",
        range: |_| (10.0, 50.0 * US),
        source: "lone writes of drives take 5us to 60us in all, there and back",
        start: |_, _| Some(4.0 * US),
        tells: |evidence, experiment, (_, figure)| {
            (is_lone_write(experiment, figure) && evidence.drive.host_ns(experiment) == 0).then_some(1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "flash.read_time",
        doc: "time of a read, from reads that wait for nothing",
        range: |config| {
            by_bits(config, [(3.0 * US, 40.0 * US), (20.0 * US, 80.0 * US), (20.0 * US, 120.0 * US)], 250.0 * US)
        },
        source: OF_PARTS,
        tells: |evidence, _, mark| (evidence.lone_read == Some(mark)).then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "flash.suspend_step",
        doc: "how long most reads wait for a program to be interrupted, from the mean of reads beside writes",
        range: |_| (20.0 * US, MS),
        source: "program pulses of 20us to 100us, of which a few may follow each other",
        start: |_, config| interrupts(config).then_some(100.0 * US),
        tells: |evidence, experiment, mark| is_wait(evidence, experiment, mark).then_some(1.0),
        tells_else: |_, experiment, (_, figure)| is_tail(experiment, figure).then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "flash.suspend_end",
        doc: "last part of a program that nothing interrupts, from the tail of reads beside writes",
        range: |_| (10.0 * US, 2.0 * MS),
        source: "less than a program of three or four pages takes",
        start: |_, config| interrupts(config).then_some(200.0 * US),
        // Where no mean tells the step, the tail does, and nothing is left for this.
        tells: |evidence, experiment, (_, figure)| {
            let marks = evidence.marks.iter();
            let mut steps = marks.filter(|mark| is_wait(evidence, &evidence.drive.experiments[mark.0], **mark));
            (is_tail(experiment, figure) && steps.next().is_some()).then_some(1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "flash.program_memory",
        doc: "memory for writes, from the tail of writes where the drive is not full of them",
        unit: Unit::Bytes,
        range: |_| (1_048_576.0, 1_073_741_824.0),
        source: "capacitors of a drive carry some MiB through a power cut, DRAM of one has 1 GiB",
        tells: |_, experiment, (_, figure)| {
            (experiment.is_below_the_knee() && matches!(figure, "write.p99" | "write.p999")).then_some(-1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "controller.reads_when_full",
        doc: "whether reads wait behind writes that wait for room, from reads where the drive is full of writes",
        unit: Unit::Name,
        tells: |_, experiment, (_, figure)| {
            let is_full = matches!(experiment.work, Work::Offered { .. }) && !experiment.is_below_the_knee();
            (is_full && matches!(figure, "read.mean" | "read.p50" | "read.p99")).then_some(1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "ftl.slc.after",
        doc: "how the drive writes behind its cache, from the rates and places of the later phases",
        unit: Unit::Name,
        tells: |_, _, (_, figure)| matches!(figure, "phase2.rate" | "phase2.until" | "phase3.rate").then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "flash.slc_program_time",
        doc: "time of a program with one bit a cell, from the bandwidth of the cache",
        range: |_| (50.0 * US, 700.0 * US),
        source: "parts with one bit a cell, and others used so: 50us to 700us",
        tells: |_, _, (_, figure)| (figure == "phase1.rate").then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "ftl.slc.share",
        doc: "blocks used with one bit a cell, from the place of the cliff",
        unit: Unit::Share,
        range: |_| (0.01, 1.0),
        source: "all of the flash at most",
        tells: |_, _, (_, figure)| (figure == "phase1.until").then_some(1.0),
        ..USUAL
    },
];

/// The range of a part by its name, which begins with its kind of cell: one bit, two, three, and four of which only the
/// end is larger. A part that does not tell has all of these.
fn by_bits(config: &Config, [one, two, three]: [(f64, f64); 3], most: f64) -> (f64, f64) {
    let part = config.values.name("flash.part");
    let is = |kind: &str| part.starts_with(kind);
    match () {
        () if is("slc") || is("znand") || is("fast") => one,
        () if is("mlc") => two,
        () if is("tlc") => three,
        () if is("qlc") => (3.0 * three.0, most),
        () => (one.0, most),
    }
}

/// Whether reads interrupt programs on a drive.
fn interrupts(config: &Config) -> bool {
    config.values.name("flash.suspend") != "off"
}

/// Whether the firmware of a stack takes time for pages alone, as stacks from before there was a time for requests.
pub(crate) fn is_by_page(config: &Config) -> bool {
    let values = &config.values;
    values.whole("controller.page_time") > 0 && values.whole("controller.request_time") == 0
}

/// A mean or median of reads beside writes, which is not taken for the read time.
fn is_wait(evidence: &Evidence<'_>, experiment: &Experiment, mark: Mark) -> bool {
    let is_of_reads = match experiment.work {
        Work::Closed { op: Op::Read, beside, .. } => beside > 0.0 && matches!(mark.1, "mean" | "p50"),
        Work::Offered { .. } => experiment.is_below_the_knee() && matches!(mark.1, "read.mean" | "read.p50"),
        _ => false,
    };
    is_of_reads && evidence.lone_read != Some(mark)
}

/// A tail of reads beside writes.
fn is_tail(experiment: &Experiment, figure: &str) -> bool {
    match experiment.work {
        Work::Closed { op: Op::Read, beside, .. } => beside > 0.0 && figure == "p99",
        Work::Offered { .. } => experiment.is_below_the_knee() && figure == "read.p99",
        _ => false,
    }
}

/// Writes to a drive that was only filled, so many that its flash is the limit.
fn is_first_write(experiment: &Experiment) -> bool {
    matches!(experiment.work, Work::Closed { op: Op::Write, order: Order::Sequential, depth, .. } if depth >= 8)
}

fn is_steady_write(experiment: &Experiment) -> bool {
    matches!(experiment.work, Work::Closed { op: Op::Write, order: Order::Random, depth, overwrites, .. }
        if depth >= 8 && overwrites >= 1.0)
}

/// A mean or median of a write that hardly waits, which is answered from memory.
fn is_lone_write(experiment: &Experiment, figure: &str) -> bool {
    match experiment.work {
        Work::Closed { op: Op::Write, depth, .. } => depth == 1 && matches!(figure, "min" | "mean" | "p50"),
        Work::Offered { .. } => {
            experiment.is_below_the_knee() && matches!(figure, "write.min" | "write.mean" | "write.p50")
        }
        _ => false,
    }
}

/// A figure a parameter is fitted to: the number of its experiment, its name, and whether it rises with the parameter.
pub(crate) type Told = (usize, &'static str, f64);

impl Parameter {
    /// The figures among those meant for fitting that tell this parameter.
    pub(crate) fn told(&self, evidence: &Evidence<'_>) -> Vec<Told> {
        let all = |tells: Tells| -> Vec<Told> {
            let marks = evidence.marks.iter();
            let told = marks.filter_map(|mark| {
                let sign = tells(evidence, &evidence.drive.experiments[mark.0], *mark)?;
                Some((mark.0, mark.1, sign))
            });
            told.collect()
        };
        let told = all(self.tells);
        if told.is_empty() { all(self.tells_else) } else { told }
    }

    /// Its value in a configuration; `None`: it is unset, 0, or one of some names.
    pub(crate) fn value(&self, config: &Config) -> Option<f64> {
        if let Some(times) = self.list(config) {
            return Some(times.iter().sum::<f64>() / times.len() as f64);
        }
        config.values.get(self.key)?;
        let value = match self.unit {
            Unit::Share => config.values.real(self.key),
            Unit::Nanoseconds | Unit::Bytes | Unit::Rate => config.values.whole(self.key) as f64,
            Unit::Name => return None,
        };
        (value > 0.0).then_some(value)
    }

    /// The value that a fit begins with, within the range; `None`: the stack has nothing that it could be.
    pub(crate) fn first(&self, evidence: &Evidence<'_>, config: &Config) -> Option<f64> {
        let (low, high) = (self.range)(config);
        let value = self.value(config).or_else(|| (self.start)(evidence, config))?;
        Some(value.clamp(low, high))
    }

    /// Smallest and largest value that such a drive has.
    pub fn range(&self, config: &Config) -> (f64, f64) {
        (self.range)(config)
    }

    /// The names that it may have.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let keys = simulator::config::all_keys();
        let names = keys.iter().find(|key| key.key == self.key).map(|key| match key.kind {
            ParameterKind::Choice(names) => names().iter().map(|(name, _)| *name).collect(),
            _ => Vec::new(),
        });
        names.unwrap_or_default()
    }

    /// Read times of the pages of a word line, where a drive tells them apart: they are fitted together.
    fn list(&self, config: &Config) -> Option<Vec<f64>> {
        let text = config.resolved.get(PAGE_READ_TIMES).filter(|_| self.key == "flash.read_time")?;
        let times = text.split(',').map(|time| units::quantity::parse_duration(time.trim()).ok().map(|ns| ns as f64));
        times.collect()
    }

    /// The key and the text that give it this value.
    pub(crate) fn written(&self, config: &Config, value: f64) -> (String, String) {
        if let Some(times) = self.list(config) {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let times: Vec<String> = times.iter().map(|time| format!("{:.0}ns", time * value / mean)).collect();
            return (PAGE_READ_TIMES.to_owned(), times.join(","));
        }
        let text = match self.unit {
            Unit::Share => format!("{:.3}%", value * 100.0),
            Unit::Bytes => format!("{:.0}KiB", (value / 1024.0).round()),
            Unit::Rate => format!("{:.0}kB/s", value / 1e3),
            Unit::Nanoseconds | Unit::Name => format!("{value:.0}ns"),
        };
        (self.key.to_owned(), text)
    }

    /// A value for people.
    pub fn spoken(&self, value: f64) -> String {
        match self.unit {
            Unit::Share => format!("{:.1}%", value * 100.0),
            Unit::Bytes => format_size(value as u64),
            Unit::Rate => format_rate(value as u64),
            Unit::Nanoseconds | Unit::Name => format_duration(value as Nanos),
        }
    }
}

const PAGE_READ_TIMES: &str = "flash.page_read_times";

#[cfg(test)]
mod tests {
    use super::*;
    use layer::ParameterKind as Kind;

    #[test]
    fn the_unit_of_a_parameter_is_that_of_its_key() {
        let keys = simulator::config::all_keys();
        for parameter in PARAMETERS {
            let key = keys.iter().find(|key| key.key == parameter.key).expect("its key exists");
            let unit = match key.kind {
                Kind::Share { .. } => Unit::Share,
                Kind::Duration { .. } => Unit::Nanoseconds,
                Kind::Size { .. } => Unit::Bytes,
                Kind::Rate => Unit::Rate,
                Kind::Choice(_) => Unit::Name,
                other => panic!("{} is {other:?}", parameter.key),
            };
            assert_eq!(parameter.unit, unit, "{}", parameter.key);
            if unit == Unit::Name {
                assert!(parameter.names().iter().all(|name| key.parse(name).is_ok()) && parameter.names().len() > 1);
                continue;
            }
            let config = Config::load("page", &[]).unwrap();
            for bound in [parameter.range(&config).0, parameter.range(&config).1] {
                let (_, text) = parameter.written(&config, bound);
                assert!(key.parse(&text).is_ok(), "{}: {text}", parameter.key);
            }
        }
    }

    /// A drive was fitted with reads of 497 ns.
    #[test]
    fn no_range_allows_a_read_that_no_part_has() {
        let read = PARAMETERS.iter().find(|parameter| parameter.key == "flash.read_time").unwrap();
        for (stack, range) in [
            ("micron-7450-max-like", (20e3, 120e3)),
            ("samsung-pm883-like", (20e3, 120e3)),
            ("generic-qlc-client", (60e3, 250e3)),
        ] {
            assert_eq!(read.range(&Config::load(stack, &[]).unwrap()), range, "{stack}");
        }
    }
}
