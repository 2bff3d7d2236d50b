//! The figures of the study.

use super::drives::{BUFFERS, DriveSetup, FPC, FPC_CACHED, FRA, NO_PC, PPC, PPC6, RAID0, RAID0_DATA, RAID6, SIZES};
use super::loads::PUBLISHED;
use super::results::{mean, reads, writes};
use super::runs::Results;
use crate::cells;
use crate::simulate::Measurement;
use figures::{Figure, Panel, Series, Shape};

/// All figures: 6 and 7 of the publication, other schemes, and the sizes of cache and buffer.
pub fn figures(results: &Results) -> Vec<Figure> {
    let each: [&dyn Fn(&Results) -> Figure; 5] = [&speed, &overheads, &others, &sizes, &buffers];
    each.iter().flat_map(|figure| cells::figures(|| vec![figure(results)])).collect()
}

/// Each workload and the mean.
fn categories() -> Vec<String> {
    PUBLISHED.into_iter().chain(["mean"]).map(str::to_owned).collect()
}

/// A value of some drives under each workload, and its mean.
fn bars(variants: &[&'static str], value: &dyn Fn(&'static str, &'static str) -> f64) -> Vec<Series> {
    let series = |variant: &&'static str| {
        let each = PUBLISHED.into_iter().map(|load| value(variant, load));
        let values = each.chain([mean(|load| value(variant, load))]).map(Some).collect();
        Series { name: (*variant).to_owned(), values }
    };
    variants.iter().map(series).collect()
}

fn speed(results: &Results) -> Figure {
    let series = bars(&[NO_PC, FPC, PPC], &|variant, load| results.normalised(results.drive(variant), load, RAID0));
    Figure {
        name: "iops",
        title: "IOPS, RAID-0 = 1",
        axis: "IOPS / IOPS of RAID-0",
        shape: Shape::Bars,
        most: Some(1.0),
        panels: vec![Panel { categories: categories(), series, ..Panel::default() }],
        published: vec![("no-PC, published mean", 0.53), ("FPC, published mean", 0.56), ("PPC, published mean", 0.73)],
        caption: format!(
            "{} requests under way, caches of {} entries, aged drives.",
            results.depth, results.record.entries
        ),
    }
}

fn overheads(results: &Results) -> Figure {
    let panel = |title: &str, value: &dyn Fn(&Measurement) -> f64, published: Vec<(&'static str, f64)>| Panel {
        title: title.to_owned(),
        categories: categories(),
        series: bars(&[NO_PC, FPC, FPC_CACHED, PPC], &|variant, load| value(results.of(results.drive(variant), load))),
        published,
    };
    Figure {
        name: "overheads",
        title: "Extra reads and programs for parity",
        axis: "flash operations for each page write",
        shape: Shape::Bars,
        most: None,
        panels: vec![
            panel("extra reads", &reads, vec![("no-PC, published least", 1.5), ("PPC, published mean", 0.6)]),
            panel("extra programs", &writes, vec![("PPC, published mean", 0.26)]),
        ],
        published: Vec::new(),
        caption: "Commits that collection asks for are among them, other work of collection is not. Published of \
            no-PC: 1.5 to 1.8 reads."
            .to_owned(),
    }
}

fn others(results: &Results) -> Figure {
    let series = bars(&[RAID0_DATA, PPC, FRA, RAID6, PPC6], &|variant, load| {
        results.normalised(results.drive(variant), load, RAID0)
    });
    Figure {
        name: "other-schemes",
        title: "IOPS of other schemes, RAID-0 of five chips = 1",
        axis: "IOPS / IOPS of RAID-0",
        shape: Shape::Bars,
        most: None,
        panels: vec![Panel { categories: categories(), series, ..Panel::default() }],
        published: vec![("PPC, published mean", 0.73)],
        caption: "FRA writes parities when the host is idle, which it never is here; until then nothing protects the \
            newer pages. RAID-6 has six chips."
            .to_owned(),
    }
}

/// Means over the workloads of some drives over sizes of something: three panels.
fn swept(
    results: &Results,
    variants: &[&'static str],
    sizes: &[u64],
    of: &dyn Fn(DriveSetup, u64) -> DriveSetup,
) -> Vec<Panel> {
    let panel = |title: &str, value: &dyn Fn(DriveSetup) -> f64, published: f64| {
        let series = |variant: &&'static str| Series {
            name: (*variant).to_owned(),
            values: sizes.iter().map(|size| Some(value(of(results.drive(variant), *size)))).collect(),
        };
        Panel {
            title: title.to_owned(),
            categories: sizes.iter().map(ToString::to_string).collect(),
            series: variants.iter().map(series).collect(),
            published: vec![("PPC, published mean", published)],
        }
    };
    vec![
        panel("IOPS, RAID-0 = 1", &|drive| results.mean_iops(drive), 0.73),
        panel("extra reads of a page write", &|drive| results.mean_reads(drive), 0.6),
        panel("extra programs of a page write", &|drive| results.mean_writes(drive), 0.26),
    ]
}

fn buffers(results: &Results) -> Figure {
    let kib = BUFFERS.map(|bytes| bytes >> 10);
    Figure {
        name: "buffer-size",
        title: "Size of the write buffer",
        axis: "mean over the workloads, over KiB of the buffer that gathers stripes",
        shape: Shape::Lines,
        most: None,
        panels: swept(results, &[NO_PC, FPC, PPC], &kib, &|drive, kib| DriveSetup { buffer: kib << 10, ..drive }),
        published: Vec::new(),
        caption: "RAID-0 has the same buffer. The size of the published one is not known; published of no-PC: 1.5 to \
            1.8 reads."
            .to_owned(),
    }
}

fn sizes(results: &Results) -> Figure {
    Figure {
        name: "cache-size",
        title: "Entries of the parity cache",
        axis: "mean over the workloads, over entries",
        shape: Shape::Lines,
        most: None,
        panels: swept(results, &[PPC, FPC], &SIZES, &|drive, entries| DriveSetup { entries, ..drive }),
        published: Vec::new(),
        caption: "The size of the published cache is not known.".to_owned(),
    }
}
