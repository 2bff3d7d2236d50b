//! A drive half as large, with all its dies, has the same figures: that is why smaller ones are simulated.

use fit::{Experiment, KNOWN, MeasuredDrive, Subject, find_figure};

/// Some 30 s of CPU with assertions.
#[test]
#[ignore = "for `make validation`"]
fn a_drive_half_as_large_has_the_same_figures() {
    let known = KNOWN[0];
    let measured = MeasuredDrive::from_text(known.text, known.name).unwrap();
    let all: Vec<(&Experiment, u64)> =
        measured.experiments.iter().map(|one| (one, measured.sources[&one.source].host_ns)).collect();
    let figures = |scale| {
        let subject = Subject::new(known.stack, &[], &measured, scale).unwrap();
        subject.run_all(&all, &()).unwrap().into_iter().map(|found| found.unwrap().unwrap()).collect::<Vec<_>>()
    };
    let (large, small) = (figures(64), figures(128));
    let mut misses = Vec::new();
    for ((experiment, large), small) in measured.experiments.iter().zip(&large).zip(&small) {
        for (name, value) in large {
            // As much as a measured figure may be off, and a quarter more; what is not judged there is not here.
            let Some(band) = find_figure(name).unwrap().band.filter(|_| experiment.measured.contains_key(name)) else {
                continue;
            };
            let change = small[name] / value - 1.0;
            if change.abs() > 1.25 * band && experiment.is_below_the_knee() {
                misses.push(format!("{}: {name} {:+.1} %", experiment.title(), change * 100.0));
            }
        }
    }
    assert!(misses.is_empty(), "{misses:#?}");
}
