#![allow(missing_docs)]
use device::{run::*, *};
use std::time::Instant;
fn go<F: Clocked>(d: &mut Drive<F>, name: &str, n: u64, depth: u32, timed: bool) -> f64 {
    let mut p = trace::synthetic::WorkloadParameters::new(d.sectors(), n);
    p.seed = 5 + n + u64::from(timed) + d.flash().core().hash() % 1000;
    let mut w = trace::synthetic::build(name, &p).unwrap();
    let plan = RunPlan { arrivals: Loop::Closed { depth }, limit: n, sectors_per_page: 8, timed };
    let c0 = d.flash().core().counters.clone();
    let t = Instant::now();
    let (e, m) = run(d, &mut *w, plan, &mut (), |d| { let c = &d.flash().core().counters; [c.programs[0], c.programs[1]] }).unwrap();
    let s = t.elapsed().as_secs_f64();
    let c = &d.flash().core().counters;
    let sum = |a: &[u64; 10], b: &[u64; 10]| a.iter().sum::<u64>() - b.iter().sum::<u64>();
    let cmds = sum(&c.reads, &c0.reads) + sum(&c.programs, &c0.programs) + sum(&c.erases, &c0.erases);
    println!("{name:18} {:?} {:6.2} M/s  {:5.1} ns/cmd  WAF {:.3} p99 {} us hash {:016x}", e, n as f64 / s / 1e6, s * 1e9 / cmds as f64, sum(&c.programs, &c0.programs) as f64 / n as f64, m.latency[1].histogram().percentile(0.99) / 1000, d.flash().core().hash());
    s
}
fn main() {
    let gb = std::env::args().nth(1).unwrap_or("32".into());
    let mut set = vec![format!("drive.capacity={gb}GiB")];
    set.extend(std::env::args().skip(3));
    let set: Vec<_> = set.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    let cfg = Config::load("page", &set).unwrap();
    let plan = DrivePlan::new(cfg).unwrap();
    let pages = u64::from(plan.user_pages);
    let which = std::env::args().nth(2).unwrap_or_default();
    if which.is_empty() || which == "c" {
        let mut d = plan.assemble(nand::CountedFlash::new(plan.fresh_core()));
        println!("counted");
        go(&mut d, "sequential-write", pages / 32, 1, false);
        go(&mut d, "uniform-write", 2 * pages, 1, false);
        go(&mut d, "uniform-write", 10_000_000, 1, false);
    }
    if which == "c" {
        return;
    }
    println!("timed");
    let mut d = plan.assemble(plan.timed(plan.fresh_core()));
    go(&mut d, "sequential-write", pages / 32, 128, true);
    if which != "s" {
        go(&mut d, "uniform-read", 8_000_000, 32, true);
    }
    if which == "r" {
        return;
    }
    go(&mut d, "uniform-write", pages * 7 / 100, 128, true);
    if which == "s" {
        go(&mut d, "uniform-write", pages * 2, 16, true);
        return;
    }
    go(&mut d, "uniform-write", pages, 128, true);
    go(&mut d, "uniform-write", 4_000_000, 128, true);
    d.top().check(d.flash()).unwrap();
}
