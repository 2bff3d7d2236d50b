//! How many states that power cuts leave are made and checked in a second: a log of 40 records that flushes each.

use crate::rows::{Row, Scale};
use crate::stopwatch::Stopwatch;
use nbd::ErrorNumber;
use torture::{CutDisk, Recorder, Torture, Tried};

const RECORDS: u64 = 40;
const BYTES: u64 = 2048;

fn record(number: u64) -> Vec<u8> {
    (0..BYTES).map(|at| (number + 1).wrapping_mul(at + 7) as u8).collect()
}

fn append(disk: &mut Recorder<CutDisk<'_>>) -> Result<(), ErrorNumber> {
    for number in 0..RECORDS {
        disk.write(number * BYTES, &record(number), false)?;
        disk.flush()?;
        disk.say("one more");
    }
    Ok(())
}

fn verify(disk: &mut CutDisk<'_>, said: &[&str]) -> Result<(), String> {
    let mut bytes = vec![0; BYTES as usize];
    for number in 0..said.len() as u64 {
        disk.read(number * BYTES, &mut bytes).map_err(|error| format!("record {number}: {error:?}"))?;
        if bytes != record(number) {
            return Err(format!("record {number} was acknowledged, and is not there"));
        }
    }
    Ok(())
}

fn row(name: &'static str, target: f64, torture: &Torture, states: u64) -> Row {
    let stopwatch = Stopwatch::start();
    let tried: Tried = torture.clone().states(states).run(append, verify).expect("nothing is refused");
    let [measured, by_cpu] = stopwatch.seconds().map(|seconds| states as f64 / seconds / 1e3);
    assert!(tried.exploration.found.is_none(), "{}", tried.to_text());
    Row {
        name,
        measured,
        by_cpu,
        target,
        unit: "k/s",
        smaller_is_better: false,
        commands_per_second: 0.0,
        bytes_per_page: None,
        hash: tried.exploration.checked,
    }
}

pub(crate) fn measure(scale: Scale) -> Vec<Row> {
    let states = if scale == Scale::Smoke { 1_000 } else { 100_000 };
    let small = ["drive.capacity=32MiB", "flash.channels=4", "flash.dies_per_channel=1", "flash.pages_per_block=32"];
    let within = Torture::within("page", &small).expect("the stack is built in");
    vec![
        row("power cuts, by promises", 50.0, &Torture::new(1 << 20), states),
        row("power cuts, within a drive", 1.0, &within, states / 50),
    ]
}
