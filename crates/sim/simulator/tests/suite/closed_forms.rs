//! Write amplification against the analytic models of cleaning, and timing against data sheet sums.
//!
//! Models: FIFO and hot/cold FIFO (Desnoyers 2012), greedy for a finite block (Bux and Iliadis 2010,
//! mean field), d-choices (Van Houdt 2013). Every expected number is computed here from its formula.

use nand::{CountedFlash, Flash};
use simulator::run::{Ended, Loop, RunPlan, run};
use simulator::{BlockDevice, Config, Drive, DrivePlan, Setting};
use trace::synthetic::{WorkloadParameters, build};
use units::DIE_CAUSES;

const BLOCKS: u64 = 2048;

fn plan(settings: &[String]) -> DrivePlan {
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
}

/// A one-plane drive of `BLOCKS` blocks of `b` pages in which data may use the share `rho` of the
/// blocks that ever hold data: with a shared frontier and a threshold of one, one to two blocks are
/// always free, and the open one is half empty.
fn counted_drive(b: u64, rho: f64, policy: &[&str]) -> Drive<CountedFlash> {
    let usable = (BLOCKS as f64 - 2.0) * b as f64;
    let user = (usable * rho).round() as u64;
    let over = (BLOCKS * b) as f64 / user as f64 - 1.0 - 1e-9;
    let mut settings = vec![
        "engine.time=none".to_owned(),
        "flash.channels=1".into(),
        "flash.dies_per_channel=1".into(),
        format!("flash.pages_per_block={b}"),
        format!("drive.capacity={}B", user * 4096),
        format!("drive.over_provisioning={:.9}%", over * 100.0),
        "ftl.gc.frontier=shared".into(),
        "ftl.gc.free_blocks=1".into(),
        "ftl.wear.dynamic=false".into(),
    ];
    settings.extend(policy.iter().map(|text| (*text).to_owned()));
    let plan = plan(&settings);
    assert_eq!(u64::from(plan.geometry.blocks()), BLOCKS);
    plan.assemble(CountedFlash::new(plan.fresh_state()))
}

fn write(drive: &mut Drive<CountedFlash>, workload: &str, requests: u64, seed: u64, hot: Option<(f64, f64)>) -> f64 {
    let mut parameters = WorkloadParameters::new(drive.sectors(), requests);
    parameters.seed = seed;
    if workload != "sequential-write" {
        parameters.request_bytes = Some(4096);
    }
    if let Some((space, traffic)) = hot {
        (parameters.hot_space, parameters.hot_traffic) = (Some(space), Some(traffic));
        parameters.read_share = Some(0.0);
    }
    let mut source = build(workload, &parameters).unwrap();
    let plan = RunPlan { arrivals: Loop::Closed { depth: 1 }, limit: requests, sectors_per_page: 8, timed: false };
    let before = drive.flash().state().counters.programs;
    let (ended, sheet) = run(drive, &mut *source, plan, &mut (), |_| [0; DIE_CAUSES]).unwrap();
    assert_eq!(ended, Ended::Complete);
    let after = drive.flash().state().counters.programs;
    let programs: u64 = after.iter().zip(before).map(|(after, before)| after - before).sum();
    programs as f64 / sheet.totals[1].pages as f64
}

/// Fills the drive, writes it over until it is steady, and measures five more laps.
fn measured(b: u64, rho: f64, policy: &[&str], workload: &str, hot: Option<(f64, f64)>) -> f64 {
    let mut drive = counted_drive(b, rho, policy);
    let pages = drive.sectors() / 8;
    write(&mut drive, "sequential-write", pages / 32, 1, None);
    write(&mut drive, workload, pages * 3, 2, hot);
    let waf = write(&mut drive, workload, pages * 5, 3, hot);
    drive.top().check(drive.flash()).unwrap();
    waf
}

fn bisect(mut low: f64, mut high: f64, rising: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if rising(middle) < 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// u = exp(-(1 - u) / rho), WAF = 1 / (1 - u).
fn fifo(rho: f64) -> f64 {
    let u = bisect(0.0, 1.0 - 1e-9, |u| u - (-(1.0 - u) / rho).exp());
    1.0 / (1.0 - u)
}

/// `b rho (p / j + H_b - H_j) = b - j + p`, `WAF = b / (b - j + p)`.
fn greedy(b: u64, rho: f64) -> f64 {
    let size = b as f64;
    for j in 1..=b {
        let harmonic: f64 = (j + 1..=b).map(|k| 1.0 / k as f64).sum();
        let share = size * rho;
        let level = j as f64;
        // Linear in p: p (share / j - 1) = b - j - share (H_b - H_j).
        let p = (size - level - share * harmonic) / (share / level - 1.0);
        if (0.0..=1.0).contains(&p) {
            return size / (size - level + p);
        }
    }
    1.0
}

/// `j m_j = b rho g (1 - s_j^d)`, `s_j` = sum of `m_k` for k >= j, `g sum(1 - s_j^d) = 1`, `WAF = b g`.
fn d_choices(b: u64, rho: f64, d: i32) -> f64 {
    let size = b as f64;
    let reclaimed = |g: f64| {
        let (mut tail, mut sum) = (0.0, 0.0);
        for j in (1..=b).rev() {
            let right = size * rho * g;
            let above: f64 = tail;
            let level = j as f64;
            let m = bisect(0.0, 1.0, |m| level * m - right * (1.0 - (above + m).powi(d)));
            tail += m;
            sum += 1.0 - tail.powi(d);
        }
        g * sum - 1.0
    };
    size * bisect(1.0 / size, 1.0, reclaimed)
}

/// Classes of page share f and traffic r under FIFO: sum of r H / (1 - exp(-r H / f)) = 1 / rho, WAF = 1 / (rho H).
fn hot_cold_fifo(rho: f64, space: f64, traffic: f64) -> f64 {
    let classes = [(space, traffic), (1.0 - space, 1.0 - traffic)];
    let size = |h: f64| classes.iter().map(|(f, r)| r * h / (1.0 - (-r * h / f).exp())).sum::<f64>();
    1.0 / (rho * bisect(1e-9, 1.0 / rho, |h| size(h) - 1.0 / rho))
}

fn assert_close(what: &str, measured: f64, expected: f64) {
    let error = measured / expected - 1.0;
    println!("{what}: measured {measured:.4}, expected {expected:.4} ({:+.2} %)", error * 100.0);
    assert!(error.abs() < 0.01, "{what}: measured {measured:.4}, expected {expected:.4}");
}

#[test]
fn the_formulas_give_the_published_anchors() {
    assert!((fifo(1.0 / 1.3) - 2.36).abs() < 0.01, "over-provisioning 30 %: 2.36 (Desnoyers 2012)");
    assert!((greedy(4, 0.8) - 1.8).abs() < 1e-9);
    assert!((d_choices(64, 0.8, 1) - 5.0).abs() < 0.01, "random is 1 / (1 - rho)");
    assert!((d_choices(64, 0.9, 2) - 6.8516).abs() < 0.001);
    assert!((hot_cold_fifo(0.8, 0.2, 0.8) - 3.0345).abs() < 0.001);
    assert!((hot_cold_fifo(0.8, 0.5, 0.5) - fifo(0.8)).abs() < 1e-6, "equal classes are uniform traffic");
}

#[test]
fn greedy_meets_the_finite_block_model() {
    for (b, rho) in [(4, 0.7), (4, 0.9), (16, 0.8), (32, 0.9), (64, 0.7), (64, 0.8), (64, 0.9), (128, 0.85)] {
        let waf = measured(b, rho, &[], "uniform-write", None);
        assert_close(&format!("greedy, b = {b}, rho = {rho}"), waf, greedy(b, rho));
    }
}

#[test]
fn fifo_meets_its_fixed_point() {
    for rho in [0.7, 0.8, 0.9] {
        let waf = measured(64, rho, &["ftl.gc.victim=fifo"], "uniform-write", None);
        assert_close(&format!("FIFO, rho = {rho}"), waf, fifo(rho));
    }
}

#[test]
fn d_choices_and_random_meet_the_mean_field() {
    for (d, rho) in [(2, 0.8), (5, 0.8), (10, 0.8), (2, 0.9), (10, 0.9)] {
        let choices = format!("ftl.gc.choices={d}");
        let waf = measured(64, rho, &["ftl.gc.victim=d-choices", &choices], "uniform-write", None);
        assert_close(&format!("{d} choices, rho = {rho}"), waf, d_choices(64, rho, d));
    }
    for rho in [0.7, 0.8] {
        let waf = measured(64, rho, &["ftl.gc.victim=random"], "uniform-write", None);
        assert_close(&format!("random, rho = {rho}"), waf, d_choices(64, rho, 1));
    }
}

#[test]
fn hot_and_cold_traffic_meets_the_fifo_model() {
    for (rho, space, traffic) in [(0.8, 0.2, 0.8), (0.9, 0.1, 0.9)] {
        let waf = measured(64, rho, &["ftl.gc.victim=fifo"], "hot-cold", Some((space, traffic)));
        assert_close(&format!("hot/cold FIFO {traffic}/{space}, rho = {rho}"), waf, hot_cold_fifo(rho, space, traffic));
    }
}

#[test]
fn nothing_beats_greedy_under_uniform_writes() {
    let best = greedy(64, 0.8) * 0.99;
    for victim in ["cost-benefit", "windowed-greedy", "d-choices", "fifo", "random"] {
        let waf = measured(64, 0.8, &[&format!("ftl.gc.victim={victim}")], "uniform-write", None);
        assert!(waf >= best, "{victim} reached {waf:.4}, below the optimum {best:.4}");
    }
}
