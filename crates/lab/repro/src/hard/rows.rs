//! Rows from measurements.

use super::TARGETS;
use super::drives::{DEMAND, HARD, KIB, LITTLE_SPARE, LOG_CACHE, PAGES, PLAIN, SHARES, SHRD, Shape, VOLATILE, WAYS};
use super::exact::Reclaimed;
use super::phases::Phase;
use super::runs::{DEPTH, ONE, Place, RECORDS, Results};
use crate::cells;
use crate::row::Row;
use crate::target::Measured::{self, Figures, Number};
use remap::probe::knee;
use units::quantity;

/// The knee that was published, bytes.
const PUBLISHED_KNEE: u64 = 16 * KIB;
/// Index into the rates of a steady drive: many requests under way, or one.
const MANY: usize = 0;
const SINGLE: usize = 1;

fn row(id: &str, measured: Measured, note: &str) -> Row {
    TARGETS.row(id, measured, "generated", note)
}

fn list(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(|value| format!("{value:.2}")).collect::<Vec<_>>().join(", ")
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn place(kind: &'static str, ways: u64, depth: u32) -> impl Fn(u64) -> Place {
    move |record| Place { kind, ways, record, depth }
}

/// The rows of the study, in the order of their numbers.
pub fn rows(results: &Results) -> Vec<Row> {
    let mut rows = cells::rows(|| vec![knees(results)]);
    rows.extend(cells::rows(|| fresh(results)));
    rows.extend(cells::rows(|| {
        vec![alone(results, "4.2q", HARD, "A write that fills no superpage waits for the timeout.")]
    }));
    rows.extend(cells::rows(|| vec![alone(results, "4.2v", VOLATILE, "4 KiB to 1 MiB.")]));
    rows.extend(cells::rows(|| vec![by_state(results)]));
    rows.extend(cells::rows(|| steady(results)));
    rows.extend(cells::rows(|| vec![ideal(results)]));
    rows.extend(cells::rows(|| vec![memory(results)]));
    rows.extend(cells::rows(|| in_order(results)));
    rows.push(reclamation(results.reclaimed));
    rows
}

fn knees(results: &Results) -> Row {
    let knees: Vec<Option<u64>> = results.probes.values().map(|points| knee(points)).collect();
    let holds = knees.iter().all(|knee| *knee == Some(PUBLISHED_KNEE));
    let text = knees
        .iter()
        .map(|knee| knee.map_or_else(|| "none".to_owned(), quantity::format_size))
        .collect::<Vec<_>>()
        .join(", ");
    row(
        "4.1",
        Measured::statement(holds, text),
        "It and its multiples up to eight times its size reach 90 % of the best rate; 32 writes under way.",
    )
}

/// Speed-ups of random writes by record.
fn by_record(results: &Results, kind: &'static str, ways: u64, depth: u32) -> Vec<f64> {
    let of = place(kind, ways, depth);
    RECORDS.into_iter().map(|record| results.speed_up(of(record), Phase::RandomWrite)).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn fresh(results: &Results) -> Vec<Row> {
    let [one, two] = WAYS.map(|ways| by_record(results, HARD, ways, DEPTH));
    let victims =
        format!("{} virtual superpages were reclaimed in all these runs: this is merging alone.", results.victims());
    vec![
        row("4.2", Number(largest(&one)), &victims),
        row("4.2g", Number(largest(&two)), "Figure 14.1: four channels, two ways; superpages of four chips."),
        row("4.2s", Figures(format!("{}; {}", list(one), list(two))), "4 KiB to 1 MiB, powers of two."),
    ]
}

/// Speed-ups of a driver with one request at a time.
fn alone(results: &Results, id: &str, kind: &'static str, note: &str) -> Row {
    row(id, Figures(list(by_record(results, kind, WAYS[0], ONE))), note)
}

fn by_state(results: &Results) -> Row {
    let note = "The plain drive holds the file alone, is filled in order, or was overwritten at random with 60, 80 and \
                100 % in use. Random writes of 4 KiB to the file, 32 under way.";
    row("4.2b", Figures(list(results.over_states())), note)
}

fn steady(results: &Results) -> Vec<Row> {
    let plain = |ways| results.steady(Shape::of(PLAIN, ways));
    let hard = |held| results.steady(Shape { held, ..Shape::of(HARD, WAYS[0]) });
    let aged = WAYS.map(|ways| {
        let fresh = results.time(place(HARD, ways, DEPTH)(RECORDS[0]), Phase::RandomWrite);
        let writes = results.capacity / 4 / RECORDS[0];
        writes as f64 * 1e9 / fresh / plain(ways).rates[MANY]
    });
    let against = |held| hard(held).rates[MANY] / plain(WAYS[0]).rates[MANY];
    let amplification = SHARES.map(|held| hard(held).amplification);
    let [two, one] = [(WAYS[1], MANY), (WAYS[0], SINGLE)]
        .map(|(ways, depth)| results.steady(Shape::of(HARD, ways)).rates[depth] / plain(ways).rates[depth]);
    let little = |kind| results.steady(Shape { spare: LITTLE_SPARE, ..Shape::of(kind, WAYS[0]) });
    let little = [MANY, SINGLE].map(|depth| little(HARD).rates[depth] / little(PLAIN).rates[depth]);
    let rate = |kind, depth: usize| results.steady(Shape::of(kind, WAYS[0])).rates[depth];
    let memory = |kind| [MANY, SINGLE].map(|depth| rate(kind, depth) / plain(WAYS[0]).rates[depth]);
    let remapped = [MANY, SINGLE].map(|depth| rate(SHRD, depth) / rate(DEMAND, depth));
    vec![
        row("4.2a", Figures(list(aged)), "The publication does not say that its drive was aged."),
        row(
            "4.2r",
            Figures(format!("{}; {}", list(SHARES.map(against)), list(amplification))),
            "Pads, journal and checkpoints included.",
        ),
        row("4.2t", Figures(list([two, one])), "Each write of a single request is padded."),
        row(
            "4.2o",
            Figures(list(little)),
            "Flash of 1.1 times the drive instead of 1.29; a tenth of the drive is held back.",
        ),
        row(
            "4.2d",
            Figures(format!("{}; {}", list(memory(VOLATILE)), list(memory(LOG_CACHE)))),
            "A tenth of the drive is held back, or is the log.",
        ),
        row(
            "4.2e",
            Figures(list(remapped)),
            "The same chips; a 32nd of the map is cached, the log is 1 % of the drive.",
        ),
    ]
}

fn ideal(results: &Results) -> Row {
    let speeds = Figures(list(by_record(results, PAGES, WAYS[0], DEPTH)));
    row("4.2i", speeds, "What a map of four times the size in the drive would give.")
}

fn memory(results: &Results) -> Row {
    let ram = results.steady(Shape::of(HARD, WAYS[0])).ram_bytes as f64 / results.capacity as f64 * 1024.0 * 1024.0;
    row("4.2m", Number(ram), "4 bytes a page each way, the list of virtual superpages, buffers.")
}

fn in_order(results: &Results) -> Vec<Row> {
    let of = place(HARD, WAYS[0], DEPTH);
    let speed = |phase| mean(RECORDS.into_iter().map(|record| results.speed_up(of(record), phase)));
    let loss = |record, phase| (1.0 - results.speed_up(of(record), phase)) * 100.0;
    let mean_loss = |phase| mean(RECORDS.into_iter().map(|record| loss(record, phase)));
    let after = |phase| list([4, 16, 64, 1024].map(|kib| loss(kib * KIB, phase)));
    let speeds = RECORDS.map(|record| results.speed_up(of(record), Phase::Write));
    vec![
        row("4.3", Number(speed(Phase::Write)), &format!("Mean over records of 4 KiB to 1 MiB: {}.", list(speeds))),
        row(
            "4.4a",
            Number(mean_loss(Phase::Read)),
            "Mean over records; the file was written in order, so that nothing is split.",
        ),
        row(
            "4.4b",
            Number(mean_loss(Phase::RandomRead)),
            "Mean over records; before the random writes, as IOzone does.",
        ),
        row(
            "4.4v",
            Figures(format!("{}; {}", after(Phase::ReadAgain), after(Phase::RandomReadAgain))),
            "Records written at random lie in the order of their writing.",
        ),
    ]
}

fn reclamation(done: Reclaimed) -> Row {
    let Reclaimed { victims, copies, written, more_free } = done;
    let holds = done == Reclaimed { victims: 2, copies: 4, written: 1, more_free: 1 };
    let text = format!("{victims} victims, {copies} copies, {written} superpage written, {more_free} more free");
    row("4.5", Measured::statement(holds, text), "With real bytes, and all pages read back.")
}
