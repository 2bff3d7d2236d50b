//! Prints how fast a trace is read, as records per second: `trace_speed FILE...`.

use std::time::Instant;

use trace::formats::{OpenOptions, open};

fn main() -> Result<(), trace::WorkloadError> {
    for path in std::env::args().skip(1) {
        let started = Instant::now();
        let mut records = open(&path, &OpenOptions::default())?;
        let mut count = 0_u64;
        let mut check = 0_u64;
        for record in records.by_ref() {
            let record = record?;
            count += 1;
            check = check.wrapping_mul(31).wrapping_add(record.offset_bytes ^ record.time_ns.unsigned_abs());
        }
        let seconds = started.elapsed().as_secs_f64();
        let rate = count as f64 / seconds / 1e6;
        println!("{path}: {} {count} records, {rate:.1} M/s, check {check:016x}", records.format().name);
    }
    Ok(())
}
