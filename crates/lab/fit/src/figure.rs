//! Figures that experiments have: their names, their units, and how far a model may be from them.

use layer::spelling::did_you_mean;
use units::quantity::{format_duration, format_rate, format_size, parse_duration, parse_rate, parse_size};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Requests a second, a plain number in a file of measurements.
    PerSecond,
    /// Bytes a second, a size in a file of measurements.
    BytesPerSecond,
    /// Nanoseconds; in a file of measurements with any unit of time.
    Time,
    Size,
    /// Bytes written to flash for each byte of the host.
    Ratio,
    /// Times the bytes that are used.
    DriveWrites,
}

/// A figure that experiments may have.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in files.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// How far the model may be from it, as a share of it; `None`: shown and not judged.
    pub band: Option<f64>,
    pub doc: &'static str,
}

const fn figure(name: &'static str, unit: Unit, band: Option<f64>, doc: &'static str) -> Figure {
    Figure { name, unit, band, doc }
}

/// Relative error of a steady rate, unless a file gives its own.
const RATE: Option<f64> = Some(0.10);
/// Relative error of a mean latency, unless a file gives its own.
const MEAN: Option<f64> = Some(0.10);
/// The 99th percentile of a latency.
const P99: Option<f64> = Some(0.25);
/// Where a cliff is.
const CLIFF: Option<f64> = Some(0.15);
/// What was read by eye from a graph.
const BY_EYE: Option<f64> = Some(0.20);
/// Write amplification, which drives count themselves.
const AMPLIFICATION: Option<f64> = Some(0.02);

/// Every figure. Latencies belong to the requests the experiment is about; with `read.` or `write.` in front, to one
/// kind among them.
pub const FIGURES: [Figure; 31] = [
    figure("iops", Unit::PerSecond, RATE, "requests a second"),
    figure("rate", Unit::BytesPerSecond, RATE, "bytes a second"),
    figure("min", Unit::Time, None, "shortest latency"),
    figure("mean", Unit::Time, MEAN, "mean latency"),
    figure("p50", Unit::Time, None, "median latency"),
    figure("p99", Unit::Time, P99, "99 % are not longer"),
    figure("p999", Unit::Time, None, "99.9 % are not longer"),
    figure("read.min", Unit::Time, None, "shortest latency of reads"),
    figure("read.mean", Unit::Time, MEAN, "mean latency of reads"),
    figure("read.p50", Unit::Time, None, "median latency of reads"),
    figure("read.p99", Unit::Time, P99, "99 % of reads are not longer"),
    figure("read.p999", Unit::Time, None, "99.9 % of reads are not longer"),
    figure("read.p99999", Unit::Time, None, "99.999 % of reads are not longer"),
    figure("write.min", Unit::Time, None, "shortest latency of writes"),
    figure("write.mean", Unit::Time, None, "mean latency of writes"),
    figure("write.p50", Unit::Time, None, "median latency of writes"),
    figure("write.p99", Unit::Time, None, "99 % of writes are not longer"),
    figure("write.p999", Unit::Time, None, "99.9 % of writes are not longer"),
    figure("write.p99999", Unit::Time, None, "99.999 % of writes are not longer"),
    figure("waf", Unit::Ratio, AMPLIFICATION, "bytes written to flash for each byte of the host"),
    figure("plateau", Unit::PerSecond, RATE, "writes a second before collection begins"),
    figure("onset", Unit::DriveWrites, None, "where collection begins"),
    figure("low", Unit::PerSecond, None, "writes a second where the rate is lowest before it settles"),
    figure("low_at", Unit::DriveWrites, None, "where that is"),
    figure("steady", Unit::PerSecond, RATE, "writes a second in steady state"),
    figure("phase1.rate", Unit::BytesPerSecond, BY_EYE, "bytes a second at first"),
    figure("phase1.until", Unit::Size, CLIFF, "bytes written when that ends"),
    figure("phase2.rate", Unit::BytesPerSecond, BY_EYE, "bytes a second behind the first cliff"),
    figure("phase2.until", Unit::Size, CLIFF, "bytes written when that ends"),
    figure("phase3.rate", Unit::BytesPerSecond, BY_EYE, "bytes a second behind the second cliff"),
    figure("whole.rate", Unit::BytesPerSecond, BY_EYE, "mean over the whole drive"),
];

/// The figure of that name.
/// Errors: there is none; the text names what there is.
pub fn find(name: &str) -> Result<&'static Figure, String> {
    FIGURES.iter().find(|figure| figure.name == name).ok_or_else(|| {
        let hint = did_you_mean(name, FIGURES.iter().map(|figure| figure.name));
        let all = FIGURES.map(|figure| figure.name).join(", ");
        format!("no figure is called {name}{hint}; there are {all}")
    })
}

impl Figure {
    /// A value as a number: times in ns, rates in bytes a second, sizes in bytes.
    /// Errors: it is no such value, or not above 0.
    pub fn read(&self, value: &toml::Value) -> Result<f64, String> {
        let number = match value {
            toml::Value::Integer(number) => Some(*number as f64),
            toml::Value::Float(number) => Some(*number),
            _ => None,
        };
        let text = value.as_str().unwrap_or_default();
        let name = self.name;
        let quantity = |read: Result<u64, units::quantity::QuantityError>| {
            read.map(|value| value as f64).map_err(|error| format!("{name}: {error}"))
        };
        if let (Some(number), Some(unit)) = (number, self.example()) {
            return Err(format!("{name} is {number}, without a unit: write \"{number}{unit}\", for example"));
        }
        let read = match self.unit {
            Unit::PerSecond | Unit::Ratio | Unit::DriveWrites => {
                number.ok_or_else(|| format!("{name} is a number, without quotation marks"))
            }
            Unit::Time => quantity(parse_duration(text)),
            Unit::BytesPerSecond => quantity(parse_rate(text)),
            Unit::Size => quantity(parse_size(text)),
        }?;
        if read.is_finite() && read > 0.0 { Ok(read) } else { Err(format!("{name} is {read}; it is above 0")) }
    }

    /// A unit that a file may write behind a value; `None`: a plain number.
    fn example(&self) -> Option<&'static str> {
        match self.unit {
            Unit::PerSecond | Unit::Ratio | Unit::DriveWrites => None,
            Unit::Time => Some("us"),
            Unit::BytesPerSecond => Some("MB/s"),
            Unit::Size => Some("GB"),
        }
    }

    /// A value as a file has it, so that [`Figure::read`] reads it.
    pub fn written(&self, value: f64) -> toml::Value {
        let whole = value.round().max(1.0) as u64;
        match self.unit {
            Unit::PerSecond => toml::Value::Integer(whole as i64),
            Unit::Ratio | Unit::DriveWrites => toml::Value::Float((value * 1000.0).round() / 1000.0),
            Unit::Time => toml::Value::String(format!("{whole}ns")),
            Unit::BytesPerSecond => toml::Value::String(format!("{whole}B/s")),
            Unit::Size => toml::Value::String(format!("{whole}B")),
        }
    }

    /// A value for people.
    pub fn spoken(&self, value: f64) -> String {
        let whole = value.round().max(0.0) as u64;
        match self.unit {
            Unit::PerSecond if value >= 1e6 => format!("{:.2}M/s", value / 1e6),
            Unit::PerSecond if value >= 1e4 => format!("{:.1}k/s", value / 1e3),
            Unit::PerSecond if value >= 10.0 => format!("{value:.0}/s"),
            Unit::PerSecond => format!("{}/s", small(value)),
            Unit::Ratio => format!("{value:.3}"),
            Unit::DriveWrites if value >= 0.1 => format!("{value:.2} drive writes"),
            Unit::DriveWrites => format!("{} drive writes", small(value)),
            Unit::Time => format_duration(rounded(whole)),
            Unit::BytesPerSecond if value >= 1e9 => format!("{:.2}GB/s", value / 1e9),
            Unit::BytesPerSecond if value >= 1e6 => format!("{:.0}MB/s", value / 1e6),
            Unit::BytesPerSecond => format_rate(whole),
            Unit::Size => Self::spoken_size(value),
        }
    }

    /// A size for people, bytes.
    pub fn spoken_size(bytes: f64) -> String {
        match bytes {
            1e9.. => format!("{:.1}GB", bytes / 1e9),
            1e6.. => format!("{:.1}MB", bytes / 1e6),
            _ => format_size(bytes.round().max(0.0) as u64),
        }
    }
}

/// Two digits of a number below 10.
fn small(value: f64) -> String {
    let decimals = (1.0 - value.max(1e-9).log10().floor()).clamp(1.0, 10.0) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Three digits of a time.
fn rounded(nanos: u64) -> u64 {
    let mut grain = 1;
    while nanos / grain >= 1000 {
        grain *= 10;
    }
    (nanos + grain / 2) / grain * grain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_reads_what_it_writes() {
        for figure in &FIGURES {
            let value = 1234.0;
            let read = figure.read(&figure.written(value)).unwrap();
            assert!((read - value).abs() < 1e-6, "{}: {read}", figure.name);
            assert_eq!(find(figure.name).unwrap().name, figure.name);
        }
    }

    /// The end of a phase was 300000000B.
    #[test]
    fn sizes_are_told_in_units_that_people_read() {
        let spoken = |value: f64| find("phase1.until").unwrap().spoken(value);
        assert_eq!([42.5e9, 3e8, 65536.0].map(spoken), ["42.5GB", "300.0MB", "64KiB"]);
    }

    /// 0.4 requests a second were 0/s, and 0.002 drive writes none at all.
    #[test]
    fn small_numbers_are_not_told_as_none() {
        let spoken = |name: &str, value: f64| find(name).unwrap().spoken(value);
        assert_eq!([0.4, 5.0, 9.96, 12.3].map(|rate| spoken("iops", rate)), ["0.4/s", "5/s", "10/s", "12/s"]);
        assert_eq!(spoken("onset", 0.002), "0.002 drive writes");
    }

    #[test]
    fn a_wrong_name_or_value_is_told_with_what_would_do() {
        assert!(find("iosp").unwrap_err().contains("iops"));
        let mean = find("mean").unwrap();
        for wrong in
            [toml::Value::Integer(5), toml::Value::String("0ns".into()), toml::Value::String("5 apples".into())]
        {
            assert!(mean.read(&wrong).unwrap_err().contains("mean"), "{wrong}");
        }
        // It said that the value was empty.
        assert_eq!(
            mean.read(&toml::Value::Integer(60)).unwrap_err(),
            "mean is 60, without a unit: write \"60us\", for example"
        );
    }
}
