//! The figures of the study.

use super::TARGETS;
use super::drives::{CACHES, DFTL, PUBLISHED_CACHE, STUDIED, TPM, VARIANTS};
use super::rows::Table;
use super::runs::{Place, Results};
use super::traces::Trace;
use crate::cells::{self, Cells};
use crate::simulate::Measurement;
use figures::{Figure, Panel, Series, Shape};

/// A kind of measurement.
type Of = fn(&Results) -> &Cells<Place, Measurement>;

/// All figures, in the order of the publication.
pub fn figures(table: &Table) -> Vec<Figure> {
    type Draw = fn(&Results, &[Trace]) -> Figure;
    let each: [Draw; 5] = [hit_ratio, operations, response, responses, erases];
    let draw = |figure: &Draw| cells::figures(|| vec![figure(&table.results, &table.traces)]);
    each.iter().flat_map(draw).chain(cells::figures(|| vec![in_use(&table.steps)])).collect()
}

/// Rows 3.5 and 3.6 over a state of the drive that the publication does not tell.
fn in_use(steps: &[(f64, Table)]) -> Figure {
    let panel = |title: &str, id: &str, cells: Of, value: fn(&Measurement) -> f64| {
        let traces = steps.first().map_or(&[][..], |(_, table)| &table.traces);
        let of_trace = |(trace, about): (usize, &Trace)| {
            let share = |(_, table): &(f64, Table)| {
                let at = |variant| cells(&table.results).get(&(variant, PUBLISHED_CACHE, trace)).map(value);
                Some(at(TPM)? / at(DFTL)?)
            };
            Series { name: about.pattern.title.clone(), values: steps.iter().map(share).collect() }
        };
        let mean =
            |(_, table): &(f64, Table)| Some(1.0 - table.mean_reduction(cells(&table.results), DFTL, &value) / 100.0);
        let mean = Series { name: "mean".to_owned(), values: steps.iter().map(mean).collect() };
        Panel {
            title: title.to_owned(),
            categories: steps.iter().map(|(share, _)| format!("{:.0}", share * 100.0)).collect(),
            series: std::iter::once(mean).chain(traces.iter().enumerate().map(of_trace)).collect(),
            published: TARGETS.lines(id).map(|(what, percent)| (what, 1.0 - percent / 100.0)).to_vec(),
        }
    };
    Figure {
        name: "in-use",
        title: "Response and erases over the share of the drive in use, DFTL = 1",
        axis: "TPM / DFTL, over % of the drive in use",
        shape: Shape::Lines,
        most: None,
        panels: vec![
            panel("mean response", "3.5", |of| &of.timed, |m| m.response_ns),
            panel("block erases", "3.6", |of| &of.aged, |m| m.erases() as f64),
        ],
        published: Vec::new(),
        caption: "A share of the drive is written in order and then overwritten at random, and the traces go to that \
            share. A smaller drive than that of the rows; cache of 512 KB. Websearch writes too little to be shown \
            among the erases."
            .to_owned(),
    }
}

fn operations(results: &Results, traces: &[Trace]) -> Figure {
    Figure {
        name: "translation-operations",
        title: "Translation operations, DFTL = 1",
        axis: "operations / operations of DFTL",
        shape: Shape::Bars,
        most: None,
        panels: normalised(&results.counted, traces, &|m| m.translation_operations() as f64),
        published: vec![("TPM, published mean", 1.0 - 0.9093)],
        caption: "Reads and programs of translation pages by misses, evictions and collection; cache of 512 KB."
            .to_owned(),
    }
}

fn responses(results: &Results, traces: &[Trace]) -> Figure {
    Figure {
        name: "response-normalised",
        title: "Mean response, DFTL = 1",
        axis: "response / response of DFTL",
        shape: Shape::Bars,
        most: None,
        panels: normalised(&results.timed, traces, &|m| m.response_ns),
        published: vec![("TPM, published mean", 1.0 - 0.2214)],
        caption: "The same as shares; cache of 512 KB.".to_owned(),
    }
}

fn erases(results: &Results, traces: &[Trace]) -> Figure {
    Figure {
        name: "erases",
        title: "Block erases, DFTL = 1",
        axis: "erases / erases of DFTL",
        shape: Shape::Bars,
        most: None,
        panels: normalised(&results.aged, traces, &|m| m.erases() as f64),
        published: vec![("TPM, published mean", 1.0 - 0.2651)],
        caption: "Data and translation blocks, drives whose spare blocks are used up; cache of 512 KB. Websearch \
            writes too little to be shown."
            .to_owned(),
    }
}

fn hit_ratio(results: &Results, traces: &[Trace]) -> Figure {
    let panel = |(trace, about): (usize, &Trace)| {
        let series = |(variant, of): (usize, &&str)| {
            let value = |cache| results.counted.get(&(variant, cache, trace)).and_then(Measurement::hit_ratio);
            Series {
                name: (*of).to_owned(),
                values: (0..CACHES.len()).map(|cache| value(cache).map(|share| share * 100.0)).collect(),
            }
        };
        Panel {
            title: about.pattern.title.clone(),
            categories: CACHES.iter().map(ToString::to_string).collect(),
            series: VARIANTS[STUDIED].iter().enumerate().map(series).collect(),
            ..Panel::default()
        }
    };
    Figure {
        name: "hit-ratio",
        title: "Hit ratio over cache size",
        axis: "hits, % of translations (a page each), over KB of cache",
        shape: Shape::Lines,
        most: Some(100.0),
        panels: traces.iter().enumerate().map(panel).collect(),
        published: vec![("TPM, published least", 89.27), ("DFTL, published mean", 40.14)],
        caption: "Published as one least and one mean value over all traces and sizes. Batch updates change no hits: \
            their lines lie under those of single updates."
            .to_owned(),
    }
}

fn response(results: &Results, traces: &[Trace]) -> Figure {
    let panel = |(trace, about): (usize, &Trace)| {
        let series = |(variant, of): (usize, &&str)| {
            let measured = results.timed.get(&(variant, PUBLISHED_CACHE, trace));
            Series { name: (*of).to_owned(), values: vec![measured.map(|m| m.response_ns / 1e6)] }
        };
        Panel {
            title: about.pattern.title.clone(),
            categories: vec!["512 KB".to_owned()],
            series: VARIANTS[STUDIED].iter().enumerate().map(series).collect(),
            ..Panel::default()
        }
    };
    Figure {
        name: "response",
        title: "Mean response",
        axis: "ms from arrival to the end of a request",
        shape: Shape::Bars,
        most: None,
        panels: traces.iter().enumerate().map(panel).collect(),
        published: Vec::new(),
        caption: "Open loop at the times of the trace, one server; each trace has its own axis. Waiting behind other \
            requests counts."
            .to_owned(),
    }
}

/// One panel: each trace, each mapping, as a share of the comparison of record. A cache of 512 KB.
fn normalised(cells: &Cells<Place, Measurement>, traces: &[Trace], value: &dyn Fn(&Measurement) -> f64) -> Vec<Panel> {
    let shown: Vec<usize> =
        (0..traces.len()).filter(|trace| cells.contains_key(&(DFTL, PUBLISHED_CACHE, *trace))).collect();
    let at = |variant, trace| cells.get(&(variant, PUBLISHED_CACHE, trace)).map(value);
    let share = |variant, trace| Some(at(variant, trace)? / at(DFTL, trace)?);
    let series = |(variant, of): (usize, &&str)| Series {
        name: (*of).to_owned(),
        values: shown.iter().map(|trace| share(variant, *trace)).collect(),
    };
    vec![Panel {
        categories: shown.iter().map(|trace| traces[*trace].pattern.title.clone()).collect(),
        series: VARIANTS[STUDIED].iter().enumerate().map(series).collect(),
        ..Panel::default()
    }]
}
