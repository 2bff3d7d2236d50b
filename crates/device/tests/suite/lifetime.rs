//! A life that is computed from a window against a drive that is worn out for real, and against its closed form.

use device::session::{SessionOptions, run, run_wear};
use device::{Config, Setting};
use metrics::{Lifetime, LifetimeError, Origin, RunResult, Status, WearWindow, Wearing};
use units::HostOp;

/// A drive of 256 blocks in four planes, counted.
const DRIVE: [&str; 7] = [
    "drive.capacity=28MiB",
    "drive.over_provisioning=14%",
    "drive.precondition=steady",
    "engine.time=none",
    "flash.channels=2",
    "flash.dies_per_channel=2",
    "flash.pages_per_block=32",
];

fn config(stack: &str, settings: &[&str], more: &[String]) -> Config {
    let texts = DRIVE.iter().map(ToString::to_string).chain(settings.iter().map(ToString::to_string)).chain(more.iter().cloned());
    let settings: Vec<Setting> = texts.map(|text| Setting::from_argument(&text).unwrap()).collect();
    Config::load(stack, &settings).unwrap()
}

fn seeded(seed: u64, requests: u64, endurance: u32) -> Vec<String> {
    let values = [("engine.seed", seed), ("workload.seed", seed), ("workload.requests", requests), ("flash.endurance", u64::from(endurance))];
    values.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn window(stack: &str, workload: &str, settings: &[&str], seed: u64, requests: u64, endurance: u32) -> (RunResult, WearWindow) {
    let options = SessionOptions { workload: workload.to_owned(), snapshots: None };
    run_wear(config(stack, settings, &seeded(seed, requests, endurance)), &options, &mut ()).unwrap()
}

fn life(result: &RunResult, window: &WearWindow, endurance: u32, origin: Origin) -> Result<Lifetime, LifetimeError> {
    Lifetime::project(&Wearing {
        window,
        host_bytes: result.host[HostOp::Write.index()].bytes,
        programs: &result.flash[1],
        erased_pages: result.flash[2].iter().sum::<u64>() * u64::from(result.shape.0),
        endurance,
        origin,
    })
}

/// Host bytes until a drive is worn out.
fn wear_out(stack: &str, workload: &str, settings: &[&str], seed: u64, endurance: u32) -> f64 {
    let options = SessionOptions { workload: workload.to_owned(), snapshots: None };
    let result = run(config(stack, settings, &seeded(seed, u64::MAX / 2, endurance)), &options, &mut ()).unwrap();
    assert_eq!(result.status, Status::WornOut);
    result.host[HostOp::Write.index()].bytes as f64
}

#[test]
fn probe_lives() {
    for endurance in [100, 400] {
    for (workload, stack, settings) in [
        ("uniform-write", "page", &["workload.request_size=4KiB"][..]),
        ("uniform-write", "page", &["workload.request_size=4KiB", "ftl.gc.victim=fifo"]),
        ("uniform-write", "page", &["workload.request_size=4KiB", "ftl.gc.victim=random", "ftl.wear.dynamic=false"]),
        ("uniform-write", "page", &["workload.request_size=4KiB", "ftl.gc.victim=cost-benefit"]),
        ("hot-cold", "page", &["ftl.wear.dynamic=false"]),
        ("hot-cold", "page", &["ftl.wear.dynamic=true"]),
        ("hot-cold", "page", &["ftl.wear.static_gap=8"]),
        ("zipf", "page", &["ftl.wear.static_gap=8"]),
        ("zipf", "page", &[]),
        ("zipf", "dftl", &["ftl.map_cache=8KiB"]),
        ("zipf", "fast", &[]),
        ("sequential-write", "page", &[]),
    ] {
        for seed in 1..4_u64 {
            let (result, window) = window(stack, workload, settings, seed, 60_000, 100_000_000);
            let life = life(&result, &window, endurance, Origin::Window);
            match life {
                Ok(life) => {
                    let real = wear_out(stack, workload, settings, seed, endurance);
                    let b = life.bytes;
                    eprintln!("{endurance} {workload} {stack} {settings:?} {seed}: m {:.1} spread {:.3} lasting {:.2} err {:.3} spare {} | early {:.3} est {:.3} late {:.3} real 1 ({:.0} MB) {}",
                        window.mean(), life.spread, life.lasting, life.error, life.spare_blocks,
                        b.earliest/real, b.estimate/real, b.latest/real, real/1e6,
                        if b.earliest <= real && real <= b.latest {""} else {"MISS"});
                }
                Err(e) => eprintln!("{workload} {settings:?} {e}"),
            }
        }
    }
    }
}
