//! The parameters that are fitted, in their order, and the figures that tell each.

use crate::measured::{Experiment, Order, Work};
use simulator::Config;
use units::HostOp;

/// The unit that a parameter is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A fraction of 1.
    Share,
    /// A duration.
    Nanoseconds,
    /// A size.
    Bytes,
}

/// A parameter of a stack that figures tell.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub key: &'static str,
    pub doc: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Smallest and largest value that makes sense.
    pub range: (f64, f64),
    /// Whether a figure rises with it (1), falls (-1), or does not tell it.
    tells: fn(&Experiment, &str) -> Option<f64>,
    /// Another parameter, without whose own figures only the sum of both is known.
    pub known_with: Option<&'static str>,
    /// The same for a figure that tells it where none of the first kind is there.
    tells_else: fn(&Experiment, &str) -> Option<f64>,
}

/// Whatever a parameter does not say otherwise: it is a time, and no figure tells it.
const USUAL: Parameter = Parameter {
    key: "",
    doc: "",
    unit: Unit::Nanoseconds,
    range: (1.0, 1e9),
    tells: |_, _| None,
    known_with: None,
    tells_else: |_, _| None,
};

/// All of them, in the order in which they are fitted.
pub const PARAMETERS: [Parameter; 10] = [
    Parameter {
        key: "drive.over_provisioning",
        doc: "raw flash",
        unit: Unit::Share,
        range: (0.02, 4.0),
        tells: |_, figure| (figure == "waf").then_some(-1.0),
        tells_else: |experiment, figure| {
            let is_saturated = !experiment.is_below_the_knee() && figure == "iops";
            (figure == "steady" || is_saturated || figure == "iops" && is_steady_write(experiment)).then_some(1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "flash.program_time",
        doc: "time of a program, from the bandwidth of writes before any collection",
        tells: |experiment, figure| {
            let is_rate = matches!(figure, "plateau" | "phase2.rate") || is_rate(figure) && is_first_write(experiment);
            is_rate.then_some(-1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "flash.read_time",
        doc: "time of a read, from reads that wait for nothing",
        known_with: Some("host.latency"),
        tells: |experiment, figure| is_lone_read(experiment, figure).then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "flash.suspend_step",
        doc: "how long a read waits for a program to be interrupted, from the tail of reads beside writes",
        range: (1e3, 1e7),
        tells: |_, figure| (figure == "read.p99").then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "controller.page_time",
        doc: "time of the firmware, from the most reads a second",
        tells: |experiment, figure| (is_rate(figure) && is_most(experiment, HostOp::Read)).then_some(-1.0),
        tells_else: |experiment, figure| (is_rate(figure) && is_most(experiment, HostOp::Write)).then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "controller.write_time",
        doc: "time of the firmware for writes, from the most writes a second",
        tells: |experiment, figure| (is_rate(figure) && is_most(experiment, HostOp::Write)).then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "host.latency",
        doc: "time between the host and the drive, from writes that wait for nothing",
        tells: |experiment, figure| is_lone_write(experiment, figure).then_some(1.0),
        ..USUAL
    },
    Parameter {
        key: "flash.program_memory",
        doc: "memory for writes, from the tail of writes where the drive is not full of them",
        unit: Unit::Bytes,
        range: (1_048_576.0, 1_073_741_824.0),
        tells: |experiment, figure| {
            (experiment.is_below_the_knee() && matches!(figure, "write.p99" | "write.p999")).then_some(-1.0)
        },
        ..USUAL
    },
    Parameter {
        key: "flash.slc_program_time",
        doc: "time of a program with one bit a cell, from the bandwidth of the cache",
        tells: |_, figure| (figure == "phase1.rate").then_some(-1.0),
        ..USUAL
    },
    Parameter {
        key: "ftl.slc.share",
        doc: "blocks used with one bit a cell, from the place of the cliff",
        unit: Unit::Share,
        range: (0.01, 1.0),
        tells: |_, figure| (figure == "phase1.until").then_some(1.0),
        ..USUAL
    },
];

fn is_rate(figure: &str) -> bool {
    matches!(figure, "iops" | "rate")
}

/// As many random requests of a kind as a drive takes.
fn is_most(experiment: &Experiment, wanted: HostOp) -> bool {
    matches!(experiment.work, Work::Closed { op, depth, order: Order::Random, .. } if depth >= 32 && op == wanted)
}

/// Writes to a drive that was only filled, so many that its flash is the limit.
fn is_first_write(experiment: &Experiment) -> bool {
    matches!(experiment.work, Work::Closed { op: HostOp::Write, order: Order::Sequential, depth, .. } if depth >= 8)
}

fn is_steady_write(experiment: &Experiment) -> bool {
    matches!(experiment.work, Work::Closed { op: HostOp::Write, order: Order::Random, depth, overwrites, .. }
        if depth >= 8 && overwrites >= 1.0)
}

/// A mean or median of a read that hardly waits.
fn is_lone_read(experiment: &Experiment, figure: &str) -> bool {
    match experiment.work {
        Work::Closed { op: HostOp::Read, depth, beside, .. } => {
            depth == 1 && beside == 0.0 && matches!(figure, "mean" | "p50")
        }
        Work::Offered { .. } => experiment.is_below_the_knee() && matches!(figure, "read.mean" | "read.p50"),
        _ => false,
    }
}

/// The same of a write, which is answered from memory.
fn is_lone_write(experiment: &Experiment, figure: &str) -> bool {
    match experiment.work {
        Work::Closed { op: HostOp::Write, depth, .. } => depth == 1 && matches!(figure, "min" | "mean" | "p50"),
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
    pub(crate) fn told(&self, experiments: &[Experiment]) -> Vec<Told> {
        let all = |tells: fn(&Experiment, &str) -> Option<f64>| {
            let of_one = |(number, experiment): (usize, &Experiment)| {
                let fit: Vec<&'static str> = experiment.fit.iter().copied().collect();
                fit.into_iter()
                    .filter_map(move |name| Some((number, name, tells(experiment, name)?)))
                    .collect::<Vec<_>>()
            };
            experiments.iter().enumerate().flat_map(of_one).collect::<Vec<Told>>()
        };
        let told = all(self.tells);
        if told.is_empty() { all(self.tells_else) } else { told }
    }

    /// Its value in a configuration; `None`: it is unset or not read.
    pub(crate) fn value(&self, config: &Config) -> Option<f64> {
        if let Some(times) = self.list(config) {
            return Some(times.iter().sum::<f64>() / times.len() as f64);
        }
        config.values.get(self.key)?;
        let value = match self.unit {
            Unit::Share => config.values.real(self.key),
            Unit::Nanoseconds | Unit::Bytes => config.values.whole(self.key) as f64,
        };
        (value > 0.0).then_some(value)
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
            Unit::Nanoseconds => format!("{value:.0}ns"),
        };
        (self.key.to_owned(), text)
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
                other => panic!("{} is {other:?}", parameter.key),
            };
            assert_eq!(parameter.unit, unit, "{}", parameter.key);
            let (_, text) = parameter.written(&Config::load("page", &[]).unwrap(), parameter.range.1);
            assert!(key.parse(&text).is_ok(), "{}: {text}", parameter.key);
        }
    }
}
