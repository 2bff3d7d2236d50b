//! Wall time and CPU time of the same work.
//!
//! Where other programs take the processor away, wall time goes on and CPU time stands still.

use std::time::Instant;

/// Wall time and CPU time since it was started.
pub(crate) struct Stopwatch {
    wall: Instant,
    /// Seconds of CPU time of this thread by then; `None` where that is not told.
    cpu: Option<f64>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    /// Seconds of wall time, and of CPU time of the first thread of this process, which does all the work; wall time
    /// again where that is not told.
    pub fn seconds(&self) -> [f64; 2] {
        let wall = self.wall.elapsed().as_secs_f64();
        let cpu = self.cpu.zip(cpu()).map(|(before, now)| now - before);
        [wall, cpu.unwrap_or(wall)]
    }
}

/// Linux tells nanoseconds in this file, without a call that valgrind cannot follow.
fn cpu() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(|nanoseconds: u64| nanoseconds as f64 / 1e9)
}
