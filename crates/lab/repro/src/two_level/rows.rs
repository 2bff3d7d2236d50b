//! Rows from measurements.

use super::TARGETS;
use super::drives::{
    BLOCK_LRU, BLOCK_LRU_PAGES, BLOCK_ONLY, BLOCK_ONLY_PAGES, CBM, IDENTIFIED, LARGE_PAGE_PARTS, LIMIT, LIMITS, LOGS,
    NFTL, OTHERS, PAGE_ONLY, Place, RECORD, SMALL_PAGE_PART, TWO_LEVEL, TWO_LEVEL_PAGES, VICTIM_ONLY, WIDE,
};
use super::results::{erases, page_hits, switch_share, utilisation, write_amplification};
use super::runs::{INSTALLATION_MIB, Results};
use crate::cells;
use crate::row::Row;
use crate::simulate::Measurement;
use crate::target::Measured::{self, Figures, Number};
use crate::target::{middle, more};

/// Rows of measurements under one trace.
struct Table<'a> {
    results: &'a Results,
    workload: &'a str,
}

/// The rows of the study, in the order of their numbers.
pub fn rows(results: &Results, desktop: &str, installation: &str) -> Vec<Row> {
    let table = Table { results, workload: desktop };
    let mut rows = cells::rows(|| table.against_none());
    rows.extend(cells::rows(|| vec![table.log_blocks()]));
    rows.extend(cells::rows(|| vec![table.record()]));
    rows.extend(cells::rows(|| table.against_block_lru()));
    rows.extend(cells::rows(|| table.shares()));
    rows.extend(cells::rows(|| table.page_part()));
    rows.extend(cells::rows(|| vec![table.block_utilisation()]));
    rows.extend(cells::rows(|| table.single_parts()));
    rows.extend(cells::rows(|| table.alone()));
    rows.extend(cells::rows(|| table.wide()));
    rows.extend(cells::rows(|| table.limits()));
    rows.extend(table.trace());
    rows.extend(cells::rows(|| table.beyond()));
    rows.extend(cells::rows(|| table.others()));
    rows.extend(cells::rows(|| vec![Table { results, workload: installation }.installation()]));
    rows.extend(cells::rows(|| vec![table.descendant()]));
    rows
}

/// The least and the largest of some values.
fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Some values from the first to the last, with one decimal.
fn list(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.1}")).collect::<Vec<_>>().join(", ")
}

/// Whether all values lie between two others, both included.
fn within(values: &[f64], low: f64, high: f64) -> bool {
    values.iter().all(|value| (low..=high).contains(value))
}

/// The largest rise from one value to the next, %.
fn largest_rise(values: &[f64]) -> f64 {
    range(&values.windows(2).map(|pair| more(pair[1], pair[0])).collect::<Vec<_>>()).1
}

/// The value that is furthest from zero, without its sign.
fn furthest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

impl Table<'_> {
    fn row(&self, id: &str, measured: Measured, note: &str) -> Row {
        TARGETS.row(id, measured, self.workload, note)
    }

    /// A value of a buffer at every size.
    fn sweep(&self, variant: &'static str, value: impl Fn(&Measurement) -> f64) -> Vec<f64> {
        self.results.sizes.iter().map(|mib| value(self.results.of(variant, *mib))).collect()
    }

    /// Additional erases over the two-level buffer of the same size, %, at every size.
    fn additional(&self, variant: &'static str) -> Vec<f64> {
        let each = |mib: &u64| more(erases(self.results.of(variant, *mib)), erases(self.results.of(TWO_LEVEL, *mib)));
        self.results.sizes.iter().map(each).collect()
    }

    /// Reduction of erases by the two-level buffer with a number of log blocks, %, at every size.
    fn reductions(&self, logs: u64) -> Vec<f64> {
        let at = |variant, mib| erases(self.results.at(Place { logs, ..self.results.place(variant, mib) }));
        self.results.sizes.iter().map(|mib| -more(at(TWO_LEVEL, *mib), at(NFTL, 0))).collect()
    }

    /// Names of the sizes, for a note.
    fn sizes(&self) -> String {
        let sizes: Vec<String> = self.results.sizes.iter().map(ToString::to_string).collect();
        format!("At {} MB in all.", sizes.join(", "))
    }

    fn against_none(&self) -> Vec<Row> {
        let reductions = self.reductions(self.results.logs);
        let (least, largest) = range(&reductions);
        let counts = self.sweep(TWO_LEVEL, erases);
        let from_16 = self.results.sizes.iter().position(|mib| *mib == 16).unwrap_or(0);
        let rise = largest_rise(&counts[from_16..]);
        let thousands: Vec<f64> = counts.iter().map(|count| count / 1e3).collect();
        vec![
            self.row("1.1a", Number(least), &format!("{} log blocks.", self.results.logs)),
            self.row("1.1b", Number(largest), &self.sizes()),
            self.row(
                "1.1c",
                Measured::statement(rise <= 0.0, format!("thousands: {}", list(&thousands))),
                &self.sizes(),
            )
            .with_effect(rise),
        ]
    }

    fn log_blocks(&self) -> Row {
        let by_logs = LOGS.map(|logs| {
            let (low, high) = range(&self.reductions(logs));
            format!("{logs} log blocks: {low:.1} to {high:.1} %")
        });
        self.row("1.1k", Figures(by_logs.join("; ")), "")
    }

    fn record(&self) -> Row {
        let of = |variant| erases(self.results.of(variant, RECORD));
        let note = "The introduction says that erases are reduced to 33.5 %, the results that they are reduced by 18 \
            to 46 %: it must be by.";
        self.row("1.2", Number(-more(of(TWO_LEVEL), of(NFTL))), note)
    }

    fn against_block_lru(&self) -> Vec<Row> {
        let (frames, pages) = (self.additional(BLOCK_LRU), self.additional(BLOCK_LRU_PAGES));
        let note = format!("{} Each block takes room for 128 pages.", self.sizes());
        vec![
            self.row("1.3", Measured::statement(within(&frames, 0.0, 30.0), format!("{} %", list(&frames))), &note)
                .with_effect(middle(&frames)),
            self.row("1.3v", Figures(format!("{} %", list(&pages))), &self.sizes()).with_effect(middle(&pages)),
        ]
    }

    fn shares(&self) -> Vec<Row> {
        let none = self.results.of(NFTL, 0);
        let gains: Vec<f64> = self.sweep(TWO_LEVEL, |m| switch_share(m) - switch_share(none));
        let (least, largest) = range(&gains);
        let by_operations = |m: &Measurement| m.merges[0] as f64 / m.merges.iter().sum::<u64>() as f64 * 100.0;
        let operations = [TWO_LEVEL, NFTL].map(|variant| by_operations(self.results.of(variant, RECORD)));
        let is_split = |m: &Measurement| (erases(m) as u64, m.counter("merge_erases_partial")) == (m.erases(), 0);
        let all = self.results.counted.values().chain(self.results.timed.values());
        let split = all.clone().filter(|m| is_split(m)).count();
        let block_lru: Vec<f64> =
            [BLOCK_LRU, BLOCK_LRU_PAGES].iter().flat_map(|&variant| self.sweep(variant, switch_share)).collect();
        let (low, high) = range(&block_lru);
        vec![
            self.row("1.4a", Number(least), ""),
            self.row("1.4b", Number(largest), ""),
            self.row(
                "1.4o",
                Figures(format!("two-level {:.1} %, none {:.1} %", operations[0], operations[1])),
                "A full merge erases two blocks, a switch one or two.",
            ),
            self.row(
                "1.5",
                Measured::statement(split == all.clone().count(), format!("in {split} of {} runs", all.count())),
                "",
            ),
            self.row(
                "1.6",
                Measured::statement(low >= 100.0 && high <= 100.0, format!("{low:.1} to {high:.1} %")),
                "Both ways to count room.",
            ),
        ]
    }

    fn page_part(&self) -> Vec<Row> {
        let hits = self.sweep(TWO_LEVEL, page_hits);
        let written: Vec<f64> = self.sweep(TWO_LEVEL, |m| m.buffer_counter("pages_written_back") as f64 / 1e3);
        vec![
            self.row("1.7", Number(hits[0]), "Updates of a page that is there, among page writes to the page part."),
            self.row(
                "1.8",
                Number(hits[self.results.sizes.len() - 1]),
                &format!("{} %. {}", list(&hits), self.sizes()),
            ),
            self.row(
                "1.9",
                Measured::statement(largest_rise(&written) <= 0.0, format!("thousands: {}", list(&written))),
                &self.sizes(),
            )
            .with_effect(largest_rise(&written)),
        ]
    }

    fn block_utilisation(&self) -> Row {
        let of = |variant| self.sweep(variant, utilisation);
        let (studied, frames, pages) = (of(TWO_LEVEL), of(BLOCK_LRU), of(BLOCK_LRU_PAGES));
        let gains: Vec<f64> = studied.iter().zip(&frames).map(|(new, old)| new - old).collect();
        let (low, high) = range(&studied);
        let note = format!(
            "{} Two-level {low:.1} to {high:.1} %. Block LRU with room by pages: {} %.",
            self.sizes(),
            list(&pages)
        );
        self.row("1.10", Measured::statement(within(&gains, 6.0, 31.0), format!("{} points", list(&gains))), &note)
            .with_effect(middle(&gains))
    }

    fn single_parts(&self) -> Vec<Row> {
        let (frames, pages, page_only) =
            (self.additional(BLOCK_ONLY), self.additional(BLOCK_ONLY_PAGES), self.additional(PAGE_ONLY));
        let growth = |variant| {
            let shares = self.sweep(variant, switch_share);
            shares[self.results.sizes.len() - 1] - shares[0]
        };
        let (own, studied) = (growth(BLOCK_ONLY), growth(TWO_LEVEL));
        let is_flat = own.abs() <= 3.0;
        let (hits, studied_hits) = (self.sweep(PAGE_ONLY, page_hits), self.sweep(TWO_LEVEL, page_hits));
        let worse =
            page_only.iter().all(|more| *more > 0.0) && hits.iter().zip(&studied_hits).all(|(own, other)| own < other);
        vec![
            self.row(
                "1.11a",
                Measured::statement(within(&frames, 0.0, 40.0), format!("{} %", list(&frames))),
                &self.sizes(),
            )
            .with_effect(middle(&frames)),
            self.row(
                "1.11b",
                Measured::statement(is_flat, format!("{own:+.1} points; two-level {studied:+.1}")),
                "From the smallest to the largest size.",
            )
            .with_effect(own),
            self.row("1.11v", Figures(format!("{} %", list(&pages))), &self.sizes()).with_effect(middle(&pages)),
            self.row(
                "1.12",
                Measured::statement(worse, format!("erases {} % more; hits {} %", list(&page_only), list(&hits))),
                &self.sizes(),
            )
            .with_effect(range(&page_only).0),
        ]
    }

    fn alone(&self) -> Vec<Row> {
        let additional = self.additional(VICTIM_ONLY);
        let hits: Vec<f64> = self
            .sweep(VICTIM_ONLY, page_hits)
            .iter()
            .zip(self.sweep(TWO_LEVEL, page_hits))
            .map(|(own, other)| own - other)
            .collect();
        vec![
            self.row(
                "1.13a",
                Measured::statement(within(&additional, -2.0, 20.0), format!("{} %", list(&additional))),
                &self.sizes(),
            )
            .with_effect(middle(&additional)),
            self.row("1.13b", Measured::statement(furthest(&hits) < 2.0, format!("{} points", list(&hits))), "")
                .with_effect(furthest(&hits)),
        ]
    }

    fn wide(&self) -> Vec<Row> {
        let compared = |mib: u64| {
            let (wide, narrow) = (self.results.of(WIDE, mib), self.results.of(TWO_LEVEL, mib));
            (more(erases(wide), erases(narrow)), switch_share(wide) - switch_share(narrow))
        };
        let (additional, points) = compared(SMALL_PAGE_PART);
        let nearby: Vec<String> = [20, 24]
            .map(|mib| {
                let (additional, points) = compared(mib);
                format!("{mib} MB {additional:+.1} %, {points:+.1} points")
            })
            .to_vec();
        let large = LARGE_PAGE_PARTS.map(compared);
        let better = large.iter().all(|(additional, points)| *additional < 0.0 && *points > 0.0);
        let figures: Vec<String> =
            large.iter().map(|(additional, points)| format!("{additional:+.1} % and {points:+.1} points")).collect();
        vec![
            self.row(
                "1.14a",
                Number(additional),
                &format!("Buffers of {SMALL_PAGE_PART} MB in all. At {}.", nearby.join("; ")),
            ),
            self.row("1.14b", Number(points), ""),
            self.row("1.15", Measured::statement(better, figures.join("; ")), "Buffers of 56 and 72 MB in all.")
                .with_effect(middle(&large.map(|(additional, _)| additional))),
        ]
    }

    fn limits(&self) -> Vec<Row> {
        let record = self.results.with_limit(LIMIT);
        let additional = LIMITS.map(|limit| more(erases(self.results.with_limit(limit)), erases(record)));
        let points = LIMITS.map(|limit| switch_share(self.results.with_limit(limit)) - switch_share(record));
        let [smallest, _, between @ .., largest] = additional;
        let points_between = &points[2..5];
        let most = between.iter().fold(0.0_f64, |most, value| most.max(*value));
        let all = format!("{} % at 4, 8, 16, 32, 64, 128 sectors", list(&additional));
        vec![
            self.row("1.16", Measured::statement(smallest > 0.0, format!("{smallest:+.1} %")), "")
                .with_effect(smallest),
            self.row("1.17a", Measured::statement(within(&between, -1.0, 15.0), format!("{} %", list(&between))), "")
                .with_effect(middle(&between)),
            self.row(
                "1.17b",
                Measured::statement(within(points_between, -10.0, 2.0), format!("{} points", list(points_between))),
                "",
            )
            .with_effect(middle(points_between)),
            self.row("1.18", Measured::statement(smallest > most && largest > most, all), "")
                .with_effect(smallest.min(largest) - most),
        ]
    }

    fn trace(&self) -> Vec<Row> {
        let shape = &self.results.shape;
        let longer = [9..=16, 17..=32, 33..=64, 65..=u32::MAX].map(|sectors| shape.random(sectors).unwrap_or(f64::NAN));
        let text = format!(
            "{:.1} % of all; {} % of up to 16, 32, 64, more sectors",
            shape.random(9..=u32::MAX).unwrap_or(f64::NAN),
            list(&longer)
        );
        vec![
            self.row("1.19a", Number(shape.share(1..=8)), ""),
            self.row(
                "1.19b",
                Number(shape.random(1..=8).unwrap_or(f64::NAN)),
                "A write is random when it does not begin where the one before it ended.",
            ),
            self.row(
                "1.19c",
                Figures(text),
                "The publication also has about a quarter of the data in the block part random.",
            ),
        ]
    }

    /// What the publication does not report.
    fn beyond(&self) -> Vec<Row> {
        let record = self.results.of(TWO_LEVEL, RECORD);
        let of = |name| record.buffer_counter(name) as f64;
        let named = |value: &dyn Fn(&'static str) -> String, variants: &[&'static str]| {
            let each = variants.iter().map(|&variant| format!("{variant} {}", value(variant)));
            each.collect::<Vec<_>>().join("; ")
        };
        let response = |variant| {
            let place = self.results.place(variant, RECORD);
            self.results.timed.get(&place).map_or_else(|| "-".to_owned(), |m| format!("{:.1} ms", m.response_ns / 1e6))
        };
        let amplification = |variant| format!("{:.2}", write_amplification(self.results.of(variant, RECORD)));
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let tables = record.buffer_ram_bytes.saturating_sub(RECORD << 20) as f64 / 1024.0;
        let memory = format!("{RECORD} MB of data, {tables:.0} KB of tables; mapping {:.1} MB", mib(record.ram_bytes));
        let variants = [NFTL, TWO_LEVEL, BLOCK_LRU, BLOCK_ONLY, PAGE_ONLY];
        vec![
            self.row("1.20a", Number(of("redirected_writes") / of("small_writes") * 100.0), ""),
            self.row(
                "1.20b",
                Figures(named(&response, &variants)),
                "One die, requests at their own times; a full merge takes 113 ms.",
            ),
            self.row("1.20c", Figures(named(&amplification, &variants)), ""),
            self.row("1.20d", Figures(memory), "A page map of each log block is the larger part of the mapping."),
        ]
    }

    fn others(&self) -> Vec<Row> {
        let studied = erases(self.results.of(TWO_LEVEL, RECORD));
        let named = |variants: &[&'static str]| {
            let each = |&variant: &&'static str| {
                format!("{variant} {:+.1} %", more(erases(self.results.of(variant, RECORD)), studied))
            };
            variants.iter().map(each).collect::<Vec<_>>().join("; ")
        };
        vec![
            self.row("1.21a", Figures(named(&IDENTIFIED)), "Reference 10 and 11 of the publication."),
            self.row("1.21b", Figures(format!("{} %", list(&self.additional(TWO_LEVEL_PAGES)))), &self.sizes()),
            self.row("1.21c", Figures(named(&OTHERS)), ""),
        ]
    }

    /// A later buffer against those it was compared with.
    fn descendant(&self) -> Row {
        let own = self.results.of(CBM, RECORD);
        let earlier = OTHERS.iter().filter(|variant| **variant != CBM).chain([&BLOCK_LRU_PAGES]);
        let each = earlier.map(|&variant| {
            let other = self.results.of(variant, RECORD);
            (variant, more(other.flash_ns, own.flash_ns), more(erases(own), erases(other)))
        });
        let each: Vec<(&str, f64, f64)> = each.collect();
        let better = each.iter().all(|(_, requests, erases)| *requests > 0.0 && *erases < 0.0);
        let figures = each.iter().map(|(name, requests, erases)| format!("{name} {requests:+.1} %, {erases:+.1} %"));
        self.row(
            "5.4",
            Measured::statement(better, figures.collect::<Vec<_>>().join("; ")),
            "BPLRU: Block LRU with room by pages. CBM and LB-CLOCK are built from their abstracts: the block that \
             leaves, the threshold and the shares of the regions are decisions of this project.",
        )
    }

    fn installation(&self) -> Row {
        let gain = |logs: u64| {
            let place = |variant| Place { logs, ..self.results.place(variant, INSTALLATION_MIB) };
            let flash_time = |variant| self.results.installed[&place(variant)].flash_ns;
            more(flash_time(NFTL), flash_time(BLOCK_LRU_PAGES))
        };
        // Its publication has a few log blocks only.
        let fewest = gain(LOGS[LOGS.len() - 1]);
        let others: Vec<String> =
            LOGS[..LOGS.len() - 1].iter().map(|logs| format!("{logs}: {:+.1} %", gain(*logs))).collect();
        let note = format!(
            "SLC flash, blocks of 128 KB, {} log blocks, room by pages. With others, {}.",
            LOGS[LOGS.len() - 1],
            others.join(", ")
        );
        self.row("5.3", Measured::statement(fewest > 0.0, format!("{fewest:+.1} %")), &note)
    }
}
