//! What a study costs: a table, and the functions that turn simulations into rows.

use crate::cells::{Cells, rows};
use crate::error::StudyError;
use crate::row::Row;
use crate::simulate::{Bench, Measurement};
use crate::simulations::simulate_all;
use crate::study::{Findings, Options, Scale, Study};
use crate::target::{Measured, Targets};
use experiment::Monitor;
use figures::{Figure, Panel, Series, Shape};
use trace::synthetic::{WorkloadParameters, build};

const TABLE: &str = "
    [[target]]
    id = \"9.1\"
    experiment = \"uniform writes\"
    metric = \"copies of greedy over those of fifo\"
    published = \"fewer\"
    class = \"trend\"
    accept = { holds = \"greedy copies fewer pages\" }
    [[target]]
    id = \"9.2\"
    experiment = \"uniform writes\"
    metric = \"programs a write, greedy\"
    published = \"some\"
    class = \"numeric\"
    accept = { within = [1.0, 5.0] }
";

static TARGETS: Targets = Targets::of(TABLE, &STUDY);

static STUDY: Study = Study {
    name: "toy",
    title: "Greedy and first-in-first-out collection",
    paper: "none",
    method: "A small drive is filled and overwritten at random.",
    traces: &[],
    settings: &[],
    least: Scale::FULL,
    usual: Scale::FULL,
    shown: &[("programs", &["9.1", "9.2"])],
    run,
};

const VICTIMS: [&str; 2] = ["greedy", "fifo"];

fn simulate(victim: &str, seed: u64, monitor: &dyn Monitor) -> Result<Measurement, StudyError> {
    let set = [("drive.capacity", "64MiB"), ("flash.channels", "1"), ("flash.dies_per_channel", "1")];
    let set = set.into_iter().chain([("flash.pages_per_block", "64"), ("ftl.gc.victim", victim)]);
    let bench = Bench::new(victim, &set.map(|(key, value)| (key, value.to_owned())).collect::<Vec<_>>())?;
    let filled = bench.filled(monitor)?;
    let parameters = WorkloadParameters { seed, ..WorkloadParameters::new(bench.sectors(), 40_000) };
    bench.count(&filled, &mut *build("uniform-write", &parameters)?, monitor)
}

fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings, StudyError> {
    monitor.expect(VICTIMS.len());
    let found = simulate_all(
        monitor,
        &VICTIMS,
        |victim| (*victim).to_owned(),
        |victim| simulate(victim, options.seed, monitor),
    )?;
    let mut cells: Cells<&str, Measurement> = Cells::default();
    cells.extend(VICTIMS.into_iter().zip(found));
    let programs = |victim: &str| nand::Counters::total(&cells[&victim].flash.programs) as f64;
    let a_write = |victim: &str| programs(victim) / cells[&victim].host_page_writes as f64;
    let row = |id, measured| TARGETS.row(id, measured, "generated", "");
    let rows: Vec<Row> = rows(|| {
        let (greedy, fifo) = (a_write("greedy"), a_write("fifo"));
        let statement = Measured::statement(greedy < fifo, format!("{greedy:.2}, {fifo:.2}"));
        vec![row("9.1", statement), row("9.2", Measured::Number(greedy))]
    });
    let panel = Panel {
        categories: VICTIMS.map(str::to_owned).to_vec(),
        series: vec![Series {
            name: "programs a write".to_owned(),
            values: VICTIMS.map(|one| Some(a_write(one))).to_vec(),
        }],
        ..Panel::default()
    };
    let figure = Figure {
        name: "programs",
        title: "Programs for each write",
        axis: "programs",
        shape: Shape::Bars,
        most: None,
        panels: vec![panel],
        published: Vec::new(),
        caption: String::new(),
    };
    Ok(Findings::new(rows, vec![figure], options.notes("Full size.".to_owned(), &[]), cells.holes()))
}

#[test]
fn a_study_is_its_table_and_a_hundred_lines() {
    let findings = run(&Options::default(), &()).unwrap_or_else(|error| panic!("{error}"));
    findings.check(&STUDY, &TARGETS, &[]);
    assert_eq!(findings.summary(), "2 of 2 judged rows pass");
}
