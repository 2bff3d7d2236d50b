//! The figures of the study.

use super::drives::{HARD, KIB, PAGES, PLAIN, SHARES, Shape as Built, WAYS};
use super::phases::Phase;
use super::runs::{DEPTH, Place, RECORDS, Results, STATES};
use crate::cells;
use figures::{Figure, Panel, Series, Shape};
use remap::probe::{Point, SIZES};

/// Figures 14.4 and 14.5 of the publication, and the steady state.
pub fn figures(results: &Results) -> Vec<Figure> {
    let each: [&dyn Fn(&Results) -> Figure; 4] = [&probe, &iozone, &states, &steady];
    each.iter().flat_map(|figure| cells::figures(|| vec![figure(results)])).collect()
}

fn kib(sizes: &[u64]) -> Vec<String> {
    sizes.iter().map(|size| (size / KIB).to_string()).collect()
}

fn probe(results: &Results) -> Figure {
    let series = |(ways, points): (&u64, &Vec<Point>)| Series {
        name: if *ways == 1 { "one way".to_owned() } else { format!("{ways} ways") },
        values: points.iter().map(|point| Some(point.bytes_per_second() / 1e6)).collect(),
    };
    Figure {
        name: "figure-14-4",
        title: "Random writes of a fresh drive",
        axis: "MB/s, over KiB of a write",
        shape: Shape::Lines,
        most: None,
        panels: vec![Panel {
            categories: kib(&SIZES),
            series: results.probes.iter().map(series).collect(),
            ..Panel::default()
        }],
        published: Vec::new(),
        caption:
            "The published values are lost; full speed was reached at 16 KB. Sizes that are no multiple of 16 KiB \
            touch superpages in part."
                .to_owned(),
    }
}

fn iozone(results: &Results) -> Figure {
    let bytes = results.capacity as f64 / 4.0;
    let panel = |(title, phase): (&str, Phase)| {
        let series = |kind: &'static str| {
            let rate = |record| bytes * 1e3 / results.time(Place { kind, ways: WAYS[0], record, depth: DEPTH }, phase);
            Series { name: kind.to_owned(), values: RECORDS.into_iter().map(|record| Some(rate(record))).collect() }
        };
        let series = [PLAIN, HARD, PAGES].map(series).to_vec();
        Panel { title: title.to_owned(), categories: kib(&RECORDS), series, ..Panel::default() }
    };
    let phases = [
        ("SW", Phase::Write),
        ("SR", Phase::Read),
        ("RR", Phase::RandomRead),
        ("RW", Phase::RandomWrite),
        ("SR after RW", Phase::ReadAgain),
        ("RR after RW", Phase::RandomReadAgain),
    ];
    Figure {
        name: "figure-14-5",
        title: "IOzone",
        axis: "MB/s, over KiB of a record",
        shape: Shape::Lines,
        most: None,
        panels: phases.map(panel).to_vec(),
        published: Vec::new(),
        caption: "Fresh drives, 32 requests under way. The published values are lost; the last two panels are not \
            among them."
            .to_owned(),
    }
}

fn states(results: &Results) -> Figure {
    let name = |(in_use, is_overwritten): (u64, bool)| match (in_use, is_overwritten) {
        (in_use, true) => format!("{in_use} % in use, overwritten"),
        (100, false) => "filled".to_owned(),
        (_, false) => "the file alone".to_owned(),
    };
    let values = results.over_states().map(Some).to_vec();
    Figure {
        name: "states",
        title: "A fresh driver against a plain drive in several states",
        axis: "speed-up of random writes of 4 KiB, over states of the plain drive",
        shape: Shape::Bars,
        most: None,
        panels: vec![Panel {
            categories: STATES.map(name).to_vec(),
            series: vec![Series { name: "HARD".to_owned(), values }],
            ..Panel::default()
        }],
        published: vec![("published most, state not said", 8.0)],
        caption: "The fuller the plain drive, the more it copies for each small write; the driver writes whole \
                  superpages to fresh flash."
            .to_owned(),
    }
}

fn steady(results: &Results) -> Figure {
    let plain = results.steady(Built::of(PLAIN, WAYS[0])).rates[0] / 1e3;
    let hard =
        SHARES.map(|held| Some(results.steady(Built { held, ..Built::of(HARD, WAYS[0]) }).rates[0] / 1e3)).to_vec();
    let series = vec![
        Series { name: PLAIN.to_owned(), values: SHARES.map(|_| Some(plain)).to_vec() },
        Series { name: HARD.to_owned(), values: hard },
    ];
    Figure {
        name: "steady",
        title: "Random writes of 4 KiB to a drive that was overwritten twice",
        axis: "thousand writes a second, over % held back",
        shape: Shape::Lines,
        most: None,
        panels: vec![Panel { categories: SHARES.map(|held| held.to_string()).to_vec(), series, ..Panel::default() }],
        published: Vec::new(),
        caption: "Both reclaim: the drive its blocks, the driver its virtual superpages.".to_owned(),
    }
}
