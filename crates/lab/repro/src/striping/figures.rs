//! The figures of the study.

use super::drives::{self, ARCHITECTURES, BANKS, Place, RECORD};
use super::exact::LEAST;
use super::loads::Length::Sweep;
use super::rows::{CELLS, cells_as_published, copies};
use super::runs::Results;
use super::tail::{ANYWHERE, AROUND, IN_TURN, TITLES};
use crate::cells;
use figures::{Figure, Panel, Series, Shape};

/// Figures 4, 9, 10 and 11 of the publication, its table, the share of the drive in use, and the tail of reads.
pub fn figures(results: &Results) -> Vec<Figure> {
    let [codes, blocks, zones, _, used] = drives::swept(results.sizes);
    let sizes = results.sizes;
    let published = |what, value| vec![(what, value)];
    let mut figures = vec![table(results), banks(results), parts(results)];
    let others: [&dyn Fn() -> Figure; 7] = [
        &|| {
            sweep(
                results,
                "code-zones",
                "Code zones",
                "over code zones of 80 data zones",
                &codes,
                sizes.code_zones,
                published("read response with 8, published", 0.69),
            )
        },
        &|| {
            sweep(
                results,
                "stripe-blocks",
                "Stripe blocks",
                "over pages of a stripe block",
                &blocks,
                sizes.blocks,
                Vec::new(),
            )
        },
        &|| sweep(results, "zones", "Zones", "over MB of a zone", &zones, sizes.zones, Vec::new()),
        &|| {
            sweep(
                results,
                "used",
                "How much of the drive is in use",
                "over % in use",
                &used,
                sizes.used,
                published("read response, published", 0.69),
            )
        },
        &|| cleaning(results, &used),
        &|| tails(results),
        &|| architectures(results),
    ];
    figures.extend(others.iter().flat_map(|figure| cells::figures(|| vec![figure()])));
    figures
}

fn names<T: ToString>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| value.to_string()).collect()
}

fn table(results: &Results) -> Figure {
    let panel = |(n, row): (u32, &Vec<u64>)| Panel {
        title: format!("n = {n}"),
        categories: names(1..=n),
        series: vec![Series { name: "sets".to_owned(), values: row.iter().map(|sets| Some(*sets as f64)).collect() }],
        ..Panel::default()
    };
    Figure {
        name: "table-1",
        title: "Sets of n blocks that decode",
        axis: "sets, over m: data blocks in a code block",
        shape: Shape::Bars,
        most: None,
        panels: (LEAST..).zip(&results.exact.table).map(panel).collect(),
        published: Vec::new(),
        caption: format!(
            "Table 1 of the publication; {} of its {CELLS} values are as published.",
            cells_as_published(&results.exact.table)
        ),
    }
}

fn banks(results: &Results) -> Figure {
    let series = |op: usize, name: &str| Series {
        name: name.to_owned(),
        values: results.shape.banks[op].iter().map(|count| Some(*count as f64 / 1000.0)).collect(),
    };
    Figure {
        name: "banks",
        title: "Requests of a day by bank",
        axis: "thousand stripe blocks, over banks",
        shape: Shape::Bars,
        most: None,
        panels: vec![Panel {
            categories: names(0..BANKS),
            series: vec![series(0, "read"), series(1, "written")],
            ..Panel::default()
        }],
        published: Vec::new(),
        caption: "Figure 4(a): writes are uneven, reads are even.".to_owned(),
    }
}

fn parts(results: &Results) -> Figure {
    let zones = &results.shape.zones;
    let values = zones.iter().map(|count| Some(*count as f64 / 1000.0)).collect();
    let categories =
        (0..zones.len()).map(|zone| if zone % 10 == 0 { zone.to_string() } else { String::new() }).collect();
    Figure {
        name: "read-zones",
        title: "Reads of a day by zone",
        axis: "thousand stripe blocks, over zones of 256 MB",
        shape: Shape::Bars,
        most: None,
        panels: vec![Panel {
            categories,
            series: vec![Series { name: "read".to_owned(), values }],
            ..Panel::default()
        }],
        published: Vec::new(),
        caption: "Figure 4(b): few zones get most of the reads.".to_owned(),
    }
}

/// Responses over something, static = 1.
fn sweep(
    results: &Results,
    name: &'static str,
    title: &'static str,
    axis: &'static str,
    places: &[Place],
    along: &[u64],
    published: Vec<(&'static str, f64)>,
) -> Figure {
    let series = |name: &str, value: &dyn Fn(&Place) -> f64| Series {
        name: name.to_owned(),
        values: places.iter().map(|place| Some(value(place))).collect(),
    };
    let tail = |place: &Place, at: usize| {
        results.of(place, Sweep).reads.tail[at] as f64 / results.of(&place.plain(), Sweep).reads.tail[at] as f64
    };
    let series = vec![
        series("mean read response", &|place| results.reads(place, Sweep)),
        series("mean write response", &|place| results.writes(place, Sweep)),
        series("99th percentile of reads", &|place| tail(place, 0)),
        series("99.9th percentile of reads", &|place| tail(place, 1)),
    ];
    Figure {
        name,
        title,
        axis,
        shape: Shape::Lines,
        most: None,
        panels: vec![Panel { categories: names(along.iter()), series, ..Panel::default() }],
        published,
        caption: "Coded system, static = 1. The publication shows the two means.".to_owned(),
    }
}

fn cleaning(results: &Results, used: &[Place]) -> Figure {
    let panel = |title: &str, places: &[Place], along: &[u64]| {
        let values = places.iter().map(|place| Some(copies(results.of(&place.plain(), Sweep)))).collect();
        Panel {
            title: title.to_owned(),
            categories: names(along.iter()),
            series: vec![Series { name: "static".to_owned(), values }],
            ..Panel::default()
        }
    };
    let [_, blocks, zones, ..] = drives::swept(results.sizes);
    Figure {
        name: "cleaning",
        title: "How much is cleaned",
        axis: "pages copied for each page the host writes",
        shape: Shape::Lines,
        most: None,
        panels: vec![
            panel("over % in use", used, results.sizes.used),
            panel("over pages of a stripe block", &blocks, results.sizes.blocks),
            panel("over MB of a zone", &zones, results.sizes.zones),
        ],
        published: Vec::new(),
        caption: format!("What the other figures follow from. {} % in use unless said otherwise.", RECORD.used),
    }
}

/// Figure 1 of the publication.
fn architectures(results: &Results) -> Figure {
    let panel = |bus: usize| {
        let mean = |is_read: bool| {
            let of = |variant: Option<usize>| {
                let measured = results.of(&Place { variant: variant?, ..RECORD }.uncoded(), Sweep);
                Some(if is_read { measured.reads.mean } else { measured.writes.mean } / 1e6)
            };
            ARCHITECTURES.iter().map(|(_, variants)| of(variants[bus])).collect()
        };
        let series = |name: &str, is_read| Series { name: name.to_owned(), values: mean(is_read) };
        Panel {
            title: ["a bus for each bank", "one controller"][bus].to_owned(),
            categories: names(ARCHITECTURES.map(|(name, _)| name)),
            series: vec![series("reads", true), series("writes", false)],
            ..Panel::default()
        }
    };
    let raced = Panel {
        title: "s for 20,000 requests".to_owned(),
        categories: names(ARCHITECTURES.map(|(name, _)| name)),
        series: [(0, "a bus for each bank"), (1, "one controller")]
            .map(|(bus, name)| {
                let took = |variant: Option<usize>| Some(results.raced[&variant?].elapsed_ns as f64 / 1e9);
                let values = ARCHITECTURES.iter().map(|(_, variants)| took(variants[bus])).collect();
                Series { name: name.to_owned(), values }
            })
            .to_vec(),
        ..Panel::default()
    };
    Figure {
        name: "architectures",
        title: "Ways to use banks in parallel",
        axis: "ms, mean response; s in the last panel",
        shape: Shape::Bars,
        most: None,
        panels: vec![panel(0), panel(1), raced],
        published: Vec::new(),
        caption: "Figure 1: (a) interleaving, (b) striping with one queue, (c) striping with a queue for each bank, \
                  without codes. The same requests: at the times of the trace, and as fast as they are served."
            .to_owned(),
    }
}

fn tails(results: &Results) -> Figure {
    let panel = |load: usize| Panel {
        title: TITLES[load].to_owned(),
        categories: ["99 %", "99.9 %", "99.99 %"].map(str::to_owned).to_vec(),
        series: [(ANYWHERE, "plain reads"), (AROUND, "reads around cleaning"), (IN_TURN, "the same, cleaning in turn")]
            .map(|(drive, name)| Series {
                name: name.to_owned(),
                values: results.tails.slower(load, drive).map(Some).to_vec(),
            })
            .to_vec(),
        ..Panel::default()
    };
    Figure {
        name: "tail",
        title: "Reads around cleaning banks",
        axis: "percentile of read response, no cleaning = 1",
        shape: Shape::Bars,
        most: None,
        panels: (0..TITLES.len()).map(panel).collect(),
        published: vec![("in turn, published most", 2.6), ("plain reads, published least", 5.0)],
        caption: "Beside ttFlash (FAST 2017): a parity in every group, updated with each write, 7 % spare.".to_owned(),
    }
}
