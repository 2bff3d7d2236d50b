//! Measured figures beside modelled ones, drawn.

use super::{ComparedDrive, id, judged};
use crate::cells;
use crate::study::{Pair, Pairs};
use ::figures::{Figure, Panel, Series, Shape};
use fit::{Area, Experiment, Modelled, Op, Order, Unit, Work};

/// An experiment with what was found.
type Done<'a> = (&'a Experiment, &'a Modelled);

/// What one figure shows: which experiments, what stands under each, and the figures of each with a factor.
struct Drawing {
    name: &'static str,
    title: &'static str,
    axis: &'static str,
    shape: Shape,
    caption: &'static str,
    /// The text below an experiment, if it belongs here.
    category: fn(&Experiment) -> Option<String>,
    /// What is drawn of it.
    values: &'static [(&'static str, f64)],
}

const DRAWINGS: [Drawing; 6] = [
    Drawing {
        name: "latency-under-load",
        title: "Read latency while writes are offered",
        axis: "us",
        shape: Shape::Lines,
        caption: "A client at depth 1 beside 4 KiB writes that arrive by themselves, in steady state. Below: thousands \
                  of writes a second.",
        category: |experiment| match experiment.work {
            Work::Offered { writes_per_second, area: Area { fixed: 0.0, zipf: 0.0, .. } } => {
                Some(format!("{:.0}k", writes_per_second / 1e3))
            }
            _ => None,
        },
        values: &[("read.mean", 1e-3), ("read.p99", 1e-3)],
    },
    Drawing {
        name: "write-amplification",
        title: "Write amplification of random writes",
        axis: "bytes to flash for each byte of the host",
        shape: Shape::Bars,
        caption: "After a fill in order. Steady, by the bytes that are written, or while it settles, by drive writes.",
        category: |experiment| match experiment.work {
            Work::Amplification { area: Area { used, zipf, fixed: 0.0 }, window_end, .. } => {
                let law = if zipf > 0.0 { format!(" Zipf {zipf}") } else { String::new() };
                let until =
                    window_end.map_or_else(|| format!("{:.0} GB", used as f64 / 1e9), |end| format!("{end} dw"));
                Some(until + &law)
            }
            _ => None,
        },
        values: &[("waf", 1.0)],
    },
    Drawing {
        name: "transients",
        title: "Random writes at full speed after a fill in order",
        axis: "thousand writes a second",
        shape: Shape::Bars,
        caption: "Before collection begins, at the lowest point, and settled, by the bytes that are written.",
        category: |experiment| match experiment.work {
            Work::Transient { area: Area { used, fixed: 0.0, zipf: 0.0 }, .. } => {
                Some(format!("{:.0} GB", used as f64 / 1e9))
            }
            _ => None,
        },
        values: &[("plateau", 1e-3), ("low", 1e-3), ("steady", 1e-3)],
    },
    Drawing {
        name: "reads-by-depth",
        title: "Random reads by queue depth",
        axis: "thousand reads a second",
        shape: Shape::Lines,
        caption: "4 KiB, so many at a time.",
        category: |experiment| depth_of(experiment, Op::Read),
        values: &[("iops", 1e-3)],
    },
    Drawing {
        name: "writes-by-depth",
        title: "Random writes by queue depth",
        axis: "thousand writes a second",
        shape: Shape::Lines,
        caption: "4 KiB, so many at a time.",
        category: |experiment| depth_of(experiment, Op::Write),
        values: &[("iops", 1e-3)],
    },
    Drawing {
        name: "fills",
        title: "An erased drive filled in order",
        axis: "GB/s",
        shape: Shape::Bars,
        caption: "The cache with one bit a cell, what comes behind it, and the mean over the whole drive.",
        category: |experiment| matches!(experiment.work, Work::Fill { .. }).then(|| "fill".to_owned()),
        values: &[("phase1.rate", 1e-9), ("phase2.rate", 1e-9), ("whole.rate", 1e-9)],
    },
];

fn depth_of(experiment: &Experiment, wanted: Op) -> Option<String> {
    match experiment.work {
        Work::Closed { op, depth, order: Order::Random, beside: 0.0, size: 4096, .. } if op == wanted => {
            Some(depth.to_string())
        }
        _ => None,
    }
}

/// What figures of a unit are counted in where they stand in one picture, and by which factor; `None`: they do not.
const fn shared(unit: Unit) -> Option<(&'static str, f64)> {
    match unit {
        Unit::Time => Some(("latency, us", 1e-3)),
        Unit::PerSecond => Some(("thousands a second", 1e-3)),
        Unit::BytesPerSecond => Some(("MB/s", 1e-6)),
        Unit::Ratio => Some(("write amplification", 1.0)),
        _ => None,
    }
}

/// Measured and modelled figures of a drive.
pub fn pairs(drive: &ComparedDrive) -> Pairs {
    let pair = |judged: &fit::Judged<'_>| {
        let ((unit, factor), modelled) = (shared(judged.figure.unit)?, judged.modelled?);
        Some(Pair {
            row: id(drive, judged),
            about: format!(
                "{}, {}: measured {}, modelled {}",
                judged.experiment.title(),
                judged.figure.name,
                judged.figure.spoken(judged.measured),
                judged.figure.spoken(modelled)
            ),
            unit,
            measured: judged.measured * factor,
            modelled: modelled * factor,
            is_within: !matches!(judged.verdict, fit::Verdict::Missed | fit::Verdict::FitMissed),
        })
    };
    Pairs { name: drive.measured.name.clone(), all: judged(drive).iter().filter_map(pair).collect() }
}

/// Every figure of which some drive has an experiment.
pub fn all(drives: &[ComparedDrive]) -> Vec<Figure> {
    let made = DRAWINGS.iter().flat_map(|drawing| cells::figures(|| vec![draw(drawing, drives)]));
    made.filter(|figure| !figure.panels.is_empty()).collect()
}

fn draw(drawing: &Drawing, drives: &[ComparedDrive]) -> Figure {
    let panel = |drive: &ComparedDrive| {
        let experiments = drive.measured.experiments.iter().enumerate();
        let shown = experiments.filter_map(|(number, one)| Some(((drawing.category)(one)?, number, one)));
        let done: Vec<(String, Done<'_>)> =
            shown.filter_map(|(category, number, one)| Some((category, (one, &drive.found()?[number])))).collect();
        let series = drawing.values.iter().flat_map(|(name, factor)| {
            let measured = done.iter().map(|(_, (experiment, _))| experiment.measured.get(name));
            let modelled = done.iter().map(|(_, (_, found))| found.get(name));
            let values =
                |all: Vec<Option<&f64>>| all.into_iter().map(|value| value.map(|value| value * factor)).collect();
            [("measured", values(measured.collect())), ("modelled", values(modelled.collect()))]
                .map(|(kind, values)| Series { name: format!("{name}, {kind}"), values })
        });
        let series: Vec<Series> = series.collect();
        let categories = done.iter().map(|(category, _)| category.clone()).collect();
        (!done.is_empty()).then(|| Panel {
            title: drive.measured.name.clone(),
            categories,
            series,
            published: Vec::new(),
        })
    };
    Figure {
        name: drawing.name,
        title: drawing.title,
        axis: drawing.axis,
        shape: drawing.shape,
        most: None,
        panels: drives.iter().filter_map(panel).collect(),
        published: Vec::new(),
        caption: drawing.caption.to_owned(),
    }
}
