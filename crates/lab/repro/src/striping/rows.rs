//! Rows from measurements.

use super::TARGETS;
use super::drives::{
    ARCHITECTURES, DYNAMIC_PLAIN, EAGER, EAGER_TIME, GAUSS, GC_AWARE, INTERLEAVED, MDS, MIRROR, ONE_BUS, PARITY,
    PEEL_BEST, Place, RECORD, REENCODE, SHORTER, STATIC_PLAIN, THREE_GAUSS, THREE_PEEL, UPDATE, VARIANTS, ZONES,
};
use super::exact;
use super::loads::Length::{Record, Sweep};
use super::runs::Results;
use super::tail::{ANYWHERE, AROUND, IN_TURN, NO_CLEANING, TITLES, Tails};
use crate::cells;
use crate::row::Row;
use crate::simulate::Measurement;
use crate::target::Measured::{self, Figures, Number};
use erasure::{Decoder, GroupCode, best_of_all, decodable_sets};
use units::Cause;

/// Table 1 of the publication: by n from 3 on, by m.
const TABLE_1: [&[u64]; 6] = [
    &[8, 16, 10],
    &[16, 45, 56, 17],
    &[32, 121, 162, 176, 26],
    &[64, 320, 492, 472, 512, 37],
    &[128, 841, 1570, 1737, 1570, 1408, 50],
    &[256, 2205, 4600, 4785, 4600, 5469, 3712, 65],
];
/// Number of cells in the table.
pub const CELLS: usize = {
    let (mut cells, mut row) = (0, 0);
    while row < TABLE_1.len() {
        cells += TABLE_1[row].len();
        row += 1;
    }
    cells
};
/// Banks of the data that the code block of each bank is made of.
const PLACEMENT: [[u32; 2]; 8] = [[4, 5], [5, 6], [6, 7], [7, 4], [0, 1], [1, 2], [2, 3], [3, 0]];

/// Cells of the table that are as published.
pub fn cells_as_published(table: &[Vec<u64>]) -> usize {
    table.iter().zip(TABLE_1).map(|(row, published)| row.iter().zip(published).filter(|(a, b)| a == b).count()).sum()
}

/// The rows of the study, in the order of their numbers.
pub fn rows(results: &Results, workload: &str) -> Vec<Row> {
    let table = Table { results, workload };
    let mut rows = table.examples();
    rows.extend(cells::rows(|| vec![table.of_record()]));
    rows.extend(cells::rows(|| table.reads()));
    rows.extend(cells::rows(|| table.code_zones()));
    rows.extend(cells::rows(|| table.sizes()));
    rows.extend(cells::rows(|| vec![table.speed()]));
    rows.push(table.space());
    rows.extend(table.trace());
    rows.extend(table.memory());
    rows.extend(cells::rows(|| table.scheduling()));
    rows.extend(cells::rows(|| table.beyond()));
    rows.extend(cells::rows(|| table.details()));
    rows.extend(cells::rows(|| table.architectures()));
    rows.extend(cells::rows(|| tails(&results.tails)));
    rows
}

struct Table<'a> {
    results: &'a Results,
    workload: &'a str,
}

/// Values with three decimals.
fn list(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(|value| format!("{value:.3}")).collect::<Vec<_>>().join(", ")
}

fn falls(values: &[f64], may_rise: f64) -> bool {
    values.windows(2).all(|pair| pair[1] < pair[0] + may_rise)
}

/// The largest difference from one value to the next.
fn worst_rise(values: &[f64]) -> f64 {
    values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::NEG_INFINITY, f64::max)
}

/// The value that is furthest from 1.
fn furthest(values: &[f64]) -> f64 {
    let away = |value: &f64| (value - 1.0).abs();
    values.iter().copied().max_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or(f64::NAN)
}

fn percent(part: u64, all: u64) -> f64 {
    part as f64 / all as f64 * 100.0
}

/// Pages that cleaning copied, for each page the host wrote.
pub fn copies(measured: &Measurement) -> f64 {
    let [gc, host] = [Cause::Gc, Cause::Host].map(|cause| measured.flash.programs[cause.index()] as f64);
    gc / host
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

impl Table<'_> {
    fn row(&self, id: &str, measured: Measured, note: &str) -> Row {
        TARGETS.row(id, measured, self.workload, note)
    }

    fn plain(id: &str, measured: Measured, note: &str) -> Row {
        TARGETS.row(id, measured, "none", note)
    }

    /// Read responses of places, static = 1.
    fn read_ratios(&self, places: impl IntoIterator<Item = Place>) -> Vec<f64> {
        places.into_iter().map(|place| self.results.reads(&place, Sweep)).collect()
    }

    fn write_ratios(&self, places: impl IntoIterator<Item = Place>) -> Vec<f64> {
        places.into_iter().map(|place| self.results.writes(&place, Sweep)).collect()
    }

    fn examples(&self) -> Vec<Row> {
        let exact = &self.results.exact;
        let cells = cells_as_published(&exact.table);
        let [x, y, z] = exact.ways;
        let steps = exact.vectors.iter().filter(|(_, holds)| *holds).count();
        let wrong: Vec<&str> = exact.vectors.iter().filter(|(_, holds)| !holds).map(|(what, _)| *what).collect();
        let bank = |sources: &Vec<u32>| sources.iter().map(ToString::to_string).collect::<String>();
        let placed = exact
            .placement
            .iter()
            .zip(PLACEMENT)
            .all(|(found, published)| found.len() == 2 && published.iter().all(|source| found.contains(source)));
        vec![
            Self::plain(
                "0.1",
                Measured::statement(cells == CELLS, format!("{cells} of {CELLS} as published")),
                "Figure `table-1` shows all cells.",
            ),
            Self::plain(
                "0.2",
                Measured::statement(exact.ways == [3, 3, 16], format!("{x}; {y}; {z}")),
                "By peeling; elimination finds as many.",
            ),
            Self::plain(
                "0.3",
                Measured::statement(wrong.is_empty(), format!("{steps} of {}", exact.vectors.len())),
                &wrong.join("; "),
            ),
            Self::plain(
                "0.4",
                Measured::statement(placed, exact.placement.iter().map(bank).collect::<Vec<_>>().join(" ")),
                "The order within a sum does not matter. The published formula lacks the wrap within the group; its \
                 example has it.",
            ),
        ]
    }

    fn of_record(&self) -> Row {
        let note = "How full segments are decides how much there is to gain, and is not published: 90 % was chosen \
                    before anything was measured.";
        self.row("0.5a", Number(self.results.reads(&RECORD, Record)), note)
    }

    fn reads(&self) -> Vec<Row> {
        let full = Place { used: 100, ..RECORD };
        let all = self.results.reads(&full, Sweep);
        let curve = self.results.sizes.used.iter().map(|used| {
            let place = Place { used: *used, ..RECORD };
            let copied = copies(self.results.of(&place.plain(), Sweep));
            format!("{used} %: {:.3}; {copied:.2}", self.results.reads(&place, Sweep))
        });
        let one_bus = Place { variant: ONE_BUS, ..RECORD };
        let buses = [RECORD, one_bus].map(|place| self.results.reads(&place, Sweep));
        vec![
            self.row("0.5b", Measured::statement(all < 0.95, format!("{all:.3}")), ""),
            self.row("0.5c", Figures(curve.collect::<Vec<_>>().join(", ")), ""),
            self.row(
                "0.5d",
                Figures(list(buses)),
                "One controller takes one transfer at a time, and further reads for codes hold it up. As much of the \
                 drive is in use as in row 0.5a.",
            ),
        ]
    }

    fn code_zones(&self) -> Vec<Row> {
        let place = |code_zones| Place { code_zones, ..RECORD };
        let all = self.results.sizes.code_zones;
        let up_to = all.iter().filter(|zones| **zones <= RECORD.code_zones);
        let ratios = self.read_ratios(up_to.map(|zones| place(*zones)));
        let [eight, sixteen] = [8, 16].map(|zones| self.results.reads(&place(zones), Sweep));
        let writes = self.write_ratios(all.iter().map(|zones| place(*zones)));
        let near = writes.iter().all(|ratio| (0.95..=1.01).contains(ratio));
        let (rise, furthest) = (worst_rise(&ratios), furthest(&writes));
        let both = list([eight, sixteen]);
        vec![
            self.row("0.6a", Measured::statement(falls(&ratios, 0.0), list(ratios)), "").with_effect(rise),
            self.row("0.6b", Measured::statement((eight - sixteen).abs() <= 0.06, both), "")
                .with_effect(eight - sixteen),
            self.row("0.7", Measured::statement(near, list(writes)), "").with_effect(furthest),
        ]
    }

    fn sizes(&self) -> Vec<Row> {
        let along = self.results.sizes.zones;
        let [_, blocks, zones, eight_zones, _] = super::drives::swept(self.results.sizes);
        let by_block = self.read_ratios(blocks.iter().copied());
        let [by_zone, by_eight] = [&zones, &eight_zones].map(|zones| self.read_ratios(zones.iter().copied()));
        // How far the least of the middle sizes lies above the least of the others.
        let dip = |ratios: &[f64]| {
            let least = |is_middle: bool| {
                let of = along.iter().zip(ratios).filter(|(size, _)| (128..=512).contains(*size) == is_middle);
                of.map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min)
            };
            least(true) - least(false)
        };
        let [dip, dip_of_eight] = [dip(&by_zone), dip(&by_eight)];
        let writes = self.write_ratios(blocks.into_iter().chain(zones));
        let flat = writes.iter().all(|ratio| (0.93..=1.03).contains(ratio));
        let (rise, furthest) = (worst_rise(&by_block), furthest(&writes));
        vec![
            self.row("0.8", Measured::statement(falls(&by_block, 0.02), list(by_block)), "").with_effect(rise),
            self.row(
                "0.9",
                Measured::statement(dip < 0.0, list(by_zone)),
                "As much room for codes at each size, two spare blocks a segment.",
            )
            .with_effect(dip),
            self.row("0.9e", Figures(list(by_eight)), "Room for codes grows with the zones.").with_effect(dip_of_eight),
            self.row("0.10", Measured::statement(flat, list(writes)), "Stripe blocks, then zones.")
                .with_effect(furthest),
        ]
    }

    fn speed(&self) -> Row {
        let faster = 1.0 / self.results.reads(&RECORD, Record);
        self.row("0.11", Number(faster), "The abstract has 50 %, the text 31 % less time, which is 45 % more speed.")
    }

    fn space(&self) -> Row {
        Self::plain("0.12", Number(self.results.exact.extra_space), "")
    }

    fn trace(&self) -> Vec<Row> {
        let shape = &self.results.shape;
        let [reads, writes] = [0, 1].map(|op| shape.deviation(op));
        let busiest = shape.busiest(0.1) * 100.0;
        vec![
            self.row(
                "0.13a",
                Measured::statement(writes > 2.0 * reads, list([writes, reads])),
                "Stripe blocks of 8 KB on each of 8 banks.",
            ),
            self.row("0.13b", Measured::statement(busiest >= 50.0, format!("{busiest:.1} %")), "Stripe blocks read."),
        ]
    }

    fn memory(&self) -> Vec<Row> {
        let exact = &self.results.exact;
        let maps: Vec<f64> = exact.map_bytes.iter().map(|bytes| *bytes as f64 / f64::from(1 << 20)).collect();
        let spare: Vec<f64> = exact.spare_blocks.iter().map(|blocks| *blocks as f64).collect();
        let zones = ZONES.map(|mib| (20 << 10_u64) / mib);
        let as_said = exact.spare_blocks.iter().zip(zones).all(|(found, zones)| *found == exact::expected_spare(zones));
        let text: Vec<String> = exact.spare_blocks.iter().map(ToString::to_string).collect();
        vec![
            Self::plain("0.14", Measured::statement(falls(&maps, 0.0), list(maps)), "4 bytes for each stripe block."),
            Self::plain("0.15", Measured::statement(falls(&spare, 0.0) && as_said, text.join(", ")), ""),
        ]
    }

    fn scheduling(&self) -> Vec<Row> {
        let eager = [EAGER, EAGER_TIME].map(|variant| Place { variant, ..RECORD });
        let [lazy, eager, by_time] = [RECORD, eager[0], eager[1]].map(|place| self.results.of(&place, Record).reads);
        let text = |lazy: f64, eager: f64| format!("{:.3} against {:.3}", ms(lazy), ms(eager));
        let [lazy_tail, eager_tail, tail_by_time] = [lazy, eager, by_time].map(|reads| reads.tail[0] as f64);
        let figures = format!("{}; {}", text(lazy.mean, by_time.mean), text(lazy_tail, tail_by_time));
        vec![
            self.row("0.16a", Measured::statement(lazy.mean < eager.mean, text(lazy.mean, eager.mean)), ""),
            self.row("0.16b", Measured::statement(lazy_tail <= eager_tail, text(lazy_tail, eager_tail)), ""),
            self.row("0.16c", Figures(figures), "Eager compares queues by their commands in 0.16a and b."),
        ]
    }

    /// Ratios of variants, by name.
    fn variants(&self, variants: &[usize], more: impl Fn(&Place) -> String) -> String {
        let text = |variant: &usize| {
            let place = Place { variant: *variant, ..RECORD };
            format!("{} {:.3}{}", VARIANTS[*variant], self.results.reads(&place, Sweep), more(&place))
        };
        variants.iter().map(text).collect::<Vec<_>>().join("; ")
    }

    fn beyond(&self) -> Vec<Row> {
        let results = self.results;
        let tail = |place: &Place| {
            let reads = results.of(place, Record).reads;
            list([reads.mean, reads.tail[0] as f64, reads.tail[1] as f64, reads.tail[2] as f64].map(ms))
        };
        let codes = self
            .variants(&[RECORD.variant, GAUSS, THREE_PEEL, THREE_GAUSS, PEEL_BEST, MIRROR, PARITY, MDS], |_| {
                String::new()
            });
        let ways = self.variants(&[RECORD.variant, EAGER, GC_AWARE, SHORTER], |place| {
            let zones = |name| results.of(place, Sweep).zones_counter(name);
            let all = zones("blocks_read") + zones("code_blocks_read");
            format!(", {:.1} %", percent(zones("block_reads_wasted"), all))
        });
        let stale = self
            .variants(&[RECORD.variant, UPDATE, REENCODE], |place| format!(", {:.3}", results.writes(place, Sweep)));
        let without = Place { variant: DYNAMIC_PLAIN, ..RECORD };
        let ahead = results.of(&RECORD.plain(), Sweep).reads.mean / results.of(&without.plain(), Sweep).reads.mean;
        debug_assert_eq!(without.plain().variant, STATIC_PLAIN);
        vec![
            self.row("0.17a", Figures(format!("static {}; coded {}", tail(&RECORD.plain()), tail(&RECORD))), ""),
            self.row("0.17b", Figures(codes), "MDS: Reed-Solomon, any 4 of 8."),
            self.row("0.17c", Figures(ways), "Dynamic: lazy. Mirrors have two places to read a block from."),
            self.row("0.17d", Figures(stale), ""),
            self.row(
                "0.17e",
                Figures(format!("{:.3}; {ahead:.3}", results.reads(&without, Sweep))),
                "The second: static with read-ahead, static without = 1.",
            ),
        ]
    }

    /// The drive of record with commands between those of cleaning, and without.
    fn interleaved(&self) -> String {
        let text = |variant: usize| {
            let place = Place { variant, ..RECORD };
            let plain = self.results.of(&place.plain(), Sweep);
            let [reads, writes] = [plain.reads.mean, plain.writes.mean].map(ms);
            format!(
                "{:.3}, {:.3}, {reads:.3}, {writes:.3}",
                self.results.reads(&place, Sweep),
                self.results.writes(&place, Sweep)
            )
        };
        format!("{}; {}", text(INTERLEAVED), text(RECORD.variant))
    }

    fn details(&self) -> Vec<Row> {
        let zones = |name| self.results.of(&RECORD, Record).zones_counter(name);
        let sequential = zones("sequential_reads");
        let [short, askew] =
            ["sequential_reads_fragmented", "sequential_reads_misaligned"].map(|name| percent(zones(name), sequential));
        let [data, codes, wasted] = ["blocks_read", "code_blocks_read", "block_reads_wasted"].map(zones);
        let stale = percent(zones("coded_groups_partly_stale"), zones("coded_groups_read"));
        let best = [Decoder::Gauss, Decoder::Peel].map(|decoder| {
            let best = best_of_all(4, decoder).expect("few enough");
            format!("{} ({})", best.sets, best.code.matrix())
        });
        let peeled =
            [3, 2].map(|edges| decodable_sets(&GroupCode::regular(4, edges).expect("a regular code"), Decoder::Peel));
        vec![
            self.row("0.17f", Figures(format!("{short:.1} %; {askew:.1} %")), "Reads that continue a stream."),
            self.row(
                "0.17g",
                Figures(format!(
                    "{:.1} %; {:.1} %; {stale:.1} %",
                    percent(codes, data + codes),
                    percent(wasted, data + codes)
                )),
                "Wasted: begun, and not needed any more when done, of all block reads.",
            ),
            Self::plain(
                "0.17h",
                Figures(best.join("; ")),
                &format!(
                    "Every graph of 4 data and 4 code blocks; peeling has {} for G_4^3 and {} for G_4^2.",
                    peeled[0], peeled[1]
                ),
            ),
            self.row("0.17i", Figures(self.interleaved()), "In all other rows cleaning is not interrupted."),
        ]
    }
}

impl Table<'_> {
    /// Figure 1: mean responses of the architectures, with a bus for each bank and with one for all.
    fn architectures(&self) -> Vec<Row> {
        let means = |of: &dyn Fn(&Measurement) -> f64| {
            [0, 1].map(|bus| -> Vec<f64> {
                let variants = ARCHITECTURES.iter().filter_map(|(_, variants)| variants[bus]);
                let place = |variant| Place { variant, ..RECORD }.uncoded();
                variants.map(|variant| ms(of(self.results.of(&place(variant), Sweep)))).collect()
            })
        };
        let row = |id: &str, [separate, shared]: [Vec<f64>; 2], note: &str| {
            let holds = falls(&separate, 0.0) && falls(&shared, 0.0);
            self.row(id, Measured::statement(holds, format!("{}; {}", list(separate), list(shared))), note)
        };
        let took = |bus: usize| -> Vec<f64> {
            let variants = ARCHITECTURES.iter().filter_map(|(_, variants)| variants[bus]);
            variants.map(|variant| self.results.raced[&variant].elapsed_ns as f64 / 1e9).collect()
        };
        vec![
            row(
                "0.18a",
                means(&|measured| measured.reads.mean),
                "A bus for each bank; then one controller that switches between banks, which chips in lockstep do not \
                 have.",
            ),
            row(
                "0.18b",
                means(&|measured| measured.writes.mean),
                "Chips in lockstep write 16 KiB for each small write, and clean as one bank.",
            ),
            row(
                "0.18c",
                [took(0), took(1)],
                "Each drive was written in order. It serves the first 20,000 requests of the trace without waiting for \
                 their times: one at a time, or 32 where each bank has a queue.",
            ),
        ]
    }
}

/// Rows of the tail of reads under server traces.
fn tails(tails: &Tails) -> Vec<Row> {
    let each = |text: &dyn Fn(usize) -> String| {
        (0..TITLES.len()).map(|load| format!("{} {}", TITLES[load], text(load))).collect::<Vec<_>>().join("; ")
    };
    let slow = |drive: usize| each(&|load| list(tails.slower(load, drive)));
    let judged = |drive: usize, holds: &dyn Fn(f64) -> bool| tails.slower(0, drive).into_iter().all(holds);
    let row = |id, measured, note: &str| TARGETS.row(id, measured, "generated", note);
    let means = each(&|load| {
        let none = tails.of(load, NO_CLEANING);
        let ratio = |drive: usize| {
            let own = tails.of(load, drive);
            format!("{:.2}, {:.2}", own.reads.mean / none.reads.mean, own.writes.mean / none.writes.mean)
        };
        [ANYWHERE, AROUND, IN_TURN].map(ratio).join(" / ")
    });
    let cost = each(&|load| format!("{:.2}, {:.2}", copies(tails.of(load, IN_TURN)), copies(tails.of(load, ANYWHERE))));
    vec![
        row(
            "5.5a",
            Measured::statement(judged(IN_TURN, &|slower| slower <= 3.5), slow(IN_TURN)),
            "Parity of three banks on the fourth of every group, updated with each write.",
        ),
        row(
            "5.5b",
            Measured::statement(judged(ANYWHERE, &|slower| slower >= 4.0), slow(ANYWHERE)),
            "No codes. Judged under Financial1, of which 77 % are writes; 82 % of Financial2 are reads.",
        ),
        row("5.5c", Figures(slow(AROUND)), ""),
        row("5.5d", Figures(means), "Cleaning anywhere / with reads around it / in turn."),
        row("5.5e", Figures(cost), ""),
    ]
}
