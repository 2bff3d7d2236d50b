//! The figures of the study.

use super::drives::{
    BLOCK_LRU, BLOCK_LRU_PAGES, BLOCK_ONLY, BLOCK_ONLY_PAGES, LIMIT, LIMITS, LOGS, NFTL, OTHERS, PAGE_ONLY, Place,
    RECORD, SIZES, TWO_LEVEL, VICTIM_ONLY, WIDE,
};
use super::results::{erases, merge_share, page_hits, switch_share, utilisation};
use super::runs::Results;
use crate::cells;
use crate::simulate::Measurement;
use figures::{Figure, Panel, Series, Shape};
use std::ops::RangeInclusive;

/// Lengths of writes, sectors.
const LENGTHS: [(&str, RangeInclusive<u32>); 9] = [
    ("1", 1..=1),
    ("2", 2..=2),
    ("3-4", 3..=4),
    ("5-7", 5..=7),
    ("8", 8..=8),
    ("9-16", 9..=16),
    ("17-32", 17..=32),
    ("33-64", 33..=64),
    ("65-", 65..=u32::MAX),
];

const COMPARED: [&str; 4] = [TWO_LEVEL, NFTL, BLOCK_LRU, BLOCK_LRU_PAGES];
const OVER_SIZES: &str = "over MB of buffer, 8 of them for blocks in the two-level one";

/// All figures, in the order of the publication.
pub fn figures(results: &Results) -> Vec<Figure> {
    type Group = fn(&Results) -> Vec<Figure>;
    let mut figures = trace(results);
    let groups: [Group; 2] = [compared, page_part];
    figures.extend(groups.iter().flat_map(|group| cells::figures(|| group(results))));
    figures.extend(ablations(results));
    let single: [&dyn Fn(&Results) -> Figure; 3] = [&thresholds, &log_blocks, &others];
    figures.extend(single.iter().flat_map(|figure| cells::figures(|| vec![figure(results)])));
    figures
}

/// A figure without published lines.
fn figure(name: &'static str, title: &'static str, axis: &'static str, panels: Vec<Panel>, caption: &str) -> Figure {
    Figure {
        name,
        title,
        axis,
        shape: Shape::Lines,
        most: None,
        panels,
        published: Vec::new(),
        caption: caption.to_owned(),
    }
}

fn panel(title: &str, categories: &[u64], series: Vec<Series>) -> Panel {
    let categories = categories.iter().map(ToString::to_string).collect();
    Panel { title: title.to_owned(), categories, series, published: Vec::new() }
}

/// A panel with published values.
fn beside(panel: Panel, published: &[(&'static str, f64)]) -> Panel {
    Panel { published: published.to_vec(), ..panel }
}

/// One line for each buffer over the sizes.
fn over_sizes(results: &Results, variants: &[&'static str], value: &dyn Fn(&Measurement, u64) -> f64) -> Vec<Series> {
    let series = |&variant: &&'static str| {
        let at = |mib: &u64| results.counted.get(&results.place(variant, *mib)).map(|m| value(m, *mib));
        Series { name: variant.to_owned(), values: SIZES.iter().map(at).collect() }
    };
    variants.iter().map(series).collect()
}

/// What the trace itself looks like: figures 9 and 5.
fn trace(results: &Results) -> Vec<Figure> {
    let categories: Vec<String> = LENGTHS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let one = |values: Vec<Option<f64>>| {
        let series = vec![Series { name: "trace".to_owned(), values }];
        vec![Panel { categories: categories.clone(), series, ..Panel::default() }]
    };
    let shares = LENGTHS.map(|(_, sectors)| Some(results.shape.share(sectors))).to_vec();
    let random = LENGTHS.map(|(_, sectors)| results.shape.random(sectors)).to_vec();
    vec![
        Figure {
            shape: Shape::Bars,
            ..figure(
                "write-sizes",
                "Writes by length",
                "% of writes, by sectors",
                one(shares),
                "Published: 63 % of 1 to 8 sectors.",
            )
        },
        Figure {
            shape: Shape::Bars,
            most: Some(100.0),
            published: vec![("8 sectors, published", 80.0), ("longer writes, published most", 20.0)],
            ..figure(
                "random-writes",
                "Random writes by length",
                "% of the writes of a length, in sectors",
                one(random),
                "A write is random when it does not begin where the one before it ended. Published: 68 % of those of 1 \
                 to 8 sectors.",
            )
        },
    ]
}

/// Erases, their kinds, and the room blocks use: figures 10, 11, 12 and 14.
fn compared(results: &Results) -> Vec<Figure> {
    let none = erases(results.of(NFTL, 0));
    let of_none = over_sizes(results, &COMPARED, &|m, _| erases(m) / none * 100.0);
    let kinds = |title: &str, value: &dyn Fn(&Measurement) -> f64| {
        panel(title, &SIZES, over_sizes(results, &COMPARED, &|m, _| value(m)))
    };
    let blocks = [TWO_LEVEL, BLOCK_LRU, BLOCK_LRU_PAGES];
    let own = switch_share(results.of(NFTL, 0));
    let block_lru = utilisation(results.of(BLOCK_LRU, RECORD));
    vec![
        Figure {
            most: Some(160.0),
            published: vec![
                ("two-level at its smallest, published", 82.0),
                ("two-level, 24 MB, published", 66.5),
                ("two-level at its largest, published", 54.0),
            ],
            ..figure(
                "erases",
                "Erases, without a buffer = 100",
                "erases, % of those of NFTL, over MB of buffer",
                vec![panel("", &SIZES, of_none)],
                "Two-level: 8 MB for blocks, the rest for pages. Block LRU is published with 3 to 21 % more erases \
                 than two-level; where it has room for few blocks it leaves the picture.",
            )
        },
        figure(
            "erase-kinds",
            "Erases by kind of merge",
            "% of erases, over MB of buffer",
            vec![
                beside(
                    kinds("switch merges", &switch_share),
                    &[
                        ("NFTL + 11 points, published least", own + 11.0),
                        ("NFTL + 21 points, published most", own + 21.0),
                    ],
                ),
                beside(
                    kinds("full merges", &merge_share),
                    &[
                        ("NFTL - 11 points, published least", 89.0 - own),
                        ("NFTL - 21 points, published most", 79.0 - own),
                    ],
                ),
            ],
            "Published: two-level 11 to 21 points above NFTL by switches, Block LRU 100 %.",
        ),
        Figure {
            most: Some(100.0),
            published: vec![
                ("Block LRU of 24 MB + 14 points, published least", block_lru + 14.0),
                ("Block LRU of 24 MB + 23 points, published most", block_lru + 23.0),
            ],
            ..figure(
                "block-utilisation",
                "Pages that leaving blocks hold",
                "% of a block, before it is completed, over MB of buffer",
                vec![panel("", &SIZES, over_sizes(results, &blocks, &|m, _| utilisation(m)))],
                "Published: two-level 14 to 23 points above Block LRU.",
            )
        },
    ]
}

/// What the page part takes in: figure 13.
fn page_part(results: &Results) -> Vec<Figure> {
    let written = over_sizes(results, &[TWO_LEVEL], &|m, _| m.buffer_counter("pages_written_back") as f64 / 1e3);
    let hits = over_sizes(results, &[TWO_LEVEL], &|m, _| page_hits(m));
    vec![
        figure(
            "page-write-backs",
            "Pages the page part writes back",
            "thousand pages, over MB of buffer",
            vec![panel("", &SIZES, written)],
            "",
        ),
        Figure {
            most: Some(100.0),
            published: vec![("1 MB for pages, published", 48.0), ("large, published", 87.0)],
            ..figure(
                "page-hits",
                "Hit ratio of the page part",
                "updates, % of page writes to it, over MB of buffer",
                vec![panel("", &SIZES, hits)],
                "",
            )
        },
    ]
}

/// Each part alone, and the studied rules changed one by one: figures 15 to 18.
fn ablations(results: &Results) -> Vec<Figure> {
    let studied = |mib| erases(results.of(TWO_LEVEL, mib));
    let additional = |variants: &[&'static str]| {
        panel(
            "erases, two-level = 100",
            &SIZES,
            over_sizes(results, variants, &|m, mib| erases(m) / studied(mib) * 100.0),
        )
    };
    let shares = |variants: &[&'static str]| {
        panel("switch erases, % of erases", &SIZES, over_sizes(results, variants, &|m, _| switch_share(m)))
    };
    let hits =
        |variants: &[&'static str]| panel("page hits, %", &SIZES, over_sizes(results, variants, &|m, _| page_hits(m)));
    let both = |name, title, panels: Vec<Panel>, caption| figure(name, title, OVER_SIZES, panels, caption);
    let [block_only, page_only, alone, wide] = [
        &[TWO_LEVEL, BLOCK_ONLY, BLOCK_ONLY_PAGES][..],
        &[TWO_LEVEL, PAGE_ONLY],
        &[TWO_LEVEL, VICTIM_ONLY],
        &[TWO_LEVEL, WIDE],
    ];
    let least_and_most = |low, high| [("published least", low), ("published most", high)];
    let each: [&dyn Fn() -> Figure; 4] = [
        &|| {
            both(
                "block-only",
                "All writes to a block buffer",
                vec![beside(additional(block_only), &least_and_most(105.0, 130.0)), shares(block_only)],
                "Published: 5 to 30 % more erases; the share of switches does not grow.",
            )
        },
        &|| {
            both(
                "page-only",
                "All writes to a page buffer",
                vec![additional(page_only), hits(page_only)],
                "Published: much worse, few hits.",
            )
        },
        &|| {
            both(
                "page-alone",
                "A page leaves without the others of its block",
                vec![beside(additional(alone), &least_and_most(100.0, 115.0)), hits(alone)],
                "Published: 0 to 15 % more erases, hits within 1 point.",
            )
        },
        &|| {
            both(
                "block-part",
                "16 MB instead of 8 MB for blocks",
                vec![
                    beside(
                        additional(wide),
                        &[("small page part, published", 105.0), ("large page part, published", 95.0)],
                    ),
                    shares(wide),
                ],
                "The same size in all. Published: 5 % more erases and 1 point less where the page part is small, as \
             much better where it has more than 32 MB.",
            )
        },
    ];
    each.iter().flat_map(|figure| cells::figures(|| vec![figure()])).collect()
}

/// The limit of a small request: figure 19.
fn thresholds(results: &Results) -> Figure {
    let (record, share) = (erases(results.with_limit(LIMIT)), switch_share(results.with_limit(LIMIT)));
    let over = |value: &dyn Fn(&Measurement) -> f64| {
        let values = LIMITS.iter().map(|limit| Some(value(results.with_limit(*limit)))).collect();
        vec![Series { name: TWO_LEVEL.to_owned(), values }]
    };
    let panels = vec![
        beside(
            panel("erases, 8 sectors = 100", &LIMITS, over(&|m| erases(m) / record * 100.0)),
            &[("16 to 64 sectors, published least", 104.0), ("16 to 64 sectors, published most", 110.0)],
        ),
        beside(
            panel("switch erases, % of erases", &LIMITS, over(&switch_share)),
            &[("16 to 64 sectors, published most", share - 3.0), ("16 to 64 sectors, published least", share - 5.0)],
        ),
    ];
    let caption =
        "8 MB for blocks, 16 MB for pages. Published: 4 to 10 % more erases at 16 to 64, very bad at 4 and 128.";
    figure("limits", "Limit of a small request", "over sectors of the limit", panels, caption)
}

/// The number of log blocks, which was not published.
fn log_blocks(results: &Results) -> Figure {
    let lines = |value: &dyn Fn(&Measurement, &Measurement) -> f64| {
        let series = |logs: &u64| {
            let at = |variant, mib| results.at(Place { logs: *logs, ..results.place(variant, mib) });
            let values = SIZES.iter().map(|mib| Some(value(at(TWO_LEVEL, *mib), at(NFTL, 0)))).collect();
            Series { name: format!("{logs} log blocks"), values }
        };
        LOGS.iter().map(series).collect()
    };
    let panels = vec![
        beside(
            panel("erases, % of NFTL", &SIZES, lines(&|new, old| erases(new) / erases(old) * 100.0)),
            &[("at its smallest, published", 82.0), ("at its largest, published", 54.0)],
        ),
        beside(
            panel("switch erases, points above NFTL", &SIZES, lines(&|new, old| switch_share(new) - switch_share(old))),
            &[("published least", 11.0), ("published most", 21.0)],
        ),
    ];
    figure(
        "log-blocks",
        "Two-level over other numbers of log blocks",
        OVER_SIZES,
        panels,
        "Each compared with NFTL of as many log blocks.",
    )
}

/// Buffers of other publications at the size of record.
fn others(results: &Results) -> Figure {
    let studied = erases(results.of(TWO_LEVEL, RECORD));
    let variants: Vec<&'static str> =
        [BLOCK_LRU, BLOCK_LRU_PAGES, BLOCK_ONLY_PAGES, PAGE_ONLY].into_iter().chain(OTHERS).collect();
    let values = variants.iter().map(|&variant| Some(erases(results.of(variant, RECORD)) / studied * 100.0)).collect();
    let categories = variants.iter().map(|variant| (*variant).to_owned()).collect();
    let series = vec![Series { name: "24 MB".to_owned(), values }];
    Figure {
        shape: Shape::Bars,
        ..figure(
            "other-buffers",
            "Other buffers of 24 MB",
            "erases, two-level = 100",
            vec![Panel { categories, series, ..Panel::default() }],
            "Without a buffer: see the figure of erases.",
        )
    }
}
