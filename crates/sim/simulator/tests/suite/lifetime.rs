//! A life that is computed from a window against a drive that is worn out for real, and against its closed form.

use std::fmt::Write;

use metrics::{Lifetime, LifetimeError, Origin, Range, RunResult, Status, WearWindow, Wearing};
use simulator::session::{Prepared, SessionOptions, run};
use simulator::{Config, Setting};
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
    let texts = DRIVE
        .iter()
        .map(ToString::to_string)
        .chain(settings.iter().map(ToString::to_string))
        .chain(more.iter().cloned());
    let settings: Vec<Setting> = texts.map(|text| Setting::from_argument(&text).unwrap()).collect();
    Config::load(stack, &settings).unwrap()
}

/// The drive's draws differ from `seed` by `other`: its random overwrites before the run, and random victims.
fn seeded(seed: u64, other: u64, requests: u64, endurance: u32) -> Vec<String> {
    let values = [
        ("engine.seed", seed + other),
        ("workload.seed", seed),
        ("workload.requests", requests),
        ("flash.endurance", u64::from(endurance)),
    ];
    values.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn window(
    stack: &str,
    workload: &str,
    settings: &[&str],
    [seed, other]: [u64; 2],
    requests: u64,
) -> (RunResult, WearWindow) {
    Prepared::new(config(stack, settings, &seeded(seed, other, requests, 0)), workload)
        .unwrap()
        .run_wear(None, &mut ())
        .unwrap()
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
    let result = run(config(stack, settings, &seeded(seed, 0, u64::MAX / 2, endurance)), &options, &mut ()).unwrap();
    assert_eq!(result.status, Status::WornOut);
    result.host[HostOp::Write.index()].bytes as f64
}

/// Stacks that clean and level in ways of their own: name, workload, settings.
const WAYS: [(&str, &str, &[&str]); 6] = [
    ("page", "uniform-write", &["workload.request_size=4KiB"]),
    ("page", "uniform-write", &["workload.request_size=4KiB", "ftl.gc.victim=fifo"]),
    ("page", "uniform-write", &["workload.request_size=4KiB", "ftl.gc.victim=random", "ftl.wear.dynamic=false"]),
    ("page", "hot-cold", &["ftl.wear.dynamic=false"]),
    ("page", "zipf", &["ftl.wear.static_gap=8"]),
    ("fast", "zipf", &[]),
];

/// Erases a block survives where drives are worn out for real.
const ENDURANCE: u32 = 250;

/// Whether `real` is in the interval, whose ends may be off by this share.
fn holds(bytes: Range, real: f64, margin: f64) -> bool {
    bytes.earliest / (1.0 + margin) <= real && real <= bytes.latest * (1.0 + margin)
}

#[test]
fn a_drive_that_is_worn_out_ends_within_the_interval() {
    let mut misses = Vec::new();
    let mut errors = Vec::new();
    for (stack, workload, settings) in WAYS {
        for seed in 1..=4 {
            let real = wear_out(stack, workload, settings, seed, ENDURANCE);
            // A window of this drive, and of one that was filled otherwise: drives of one kind differ a little.
            for (other, margin) in [(0, 0.0), (100, 0.03)] {
                for (requests, widest) in [(6_000, 4.0), (40_000, 2.5)] {
                    let (result, window) = window(stack, workload, settings, [seed, other], requests);
                    let bytes = life(&result, &window, ENDURANCE, Origin::Window).unwrap().bytes;
                    let text = format!(
                        "{stack} {workload} {settings:?}, seed {seed}+{other}, {requests} requests: {bytes:?}, in \
                         truth {real}"
                    );
                    assert!(bytes.latest < widest * bytes.earliest, "an interval that says nothing: {text}");
                    errors.push((bytes.estimate / real - 1.0).abs());
                    if !holds(bytes, real, margin) {
                        misses.push(text);
                    }
                }
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    println!("{} windows; error of the estimate: median {median:.3}, worst {worst:.3}", errors.len());
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
    assert!(median < 0.08 && worst < 0.40, "median {median}, worst {worst}");
}

#[test]
fn a_drive_that_began_empty_ends_within_the_interval_or_has_none_while_it_fills() {
    let empty = "drive.precondition=none";
    let ways =
        [("uniform-write", ["workload.request_size=4KiB", empty]), ("zipf", ["ftl.gc.victim=cost-benefit", empty])];
    for ((workload, settings), answers) in ways.into_iter().zip([3, 0]) {
        let real = wear_out("page", workload, &settings, 1, ENDURANCE);
        let mut answered = 0;
        for requests in [16_000, 40_000, 70_000, 100_000, 160_000] {
            let (result, window) = window("page", workload, &settings, [1, 0], requests);
            match life(&result, &window, ENDURANCE, Origin::New) {
                Ok(life) => {
                    answered += 1;
                    assert!(
                        holds(life.bytes, real, 0.0),
                        "{workload}, {requests} requests: {:?}, in truth {real}; {:?}",
                        life.bytes,
                        life.pace
                    );
                    assert!(life.pace.unsteady.is_some(), "the window began with filling the drive");
                }
                // Pages that nearly nobody writes fill a drive for ever, and it copies more and more.
                Err(LifetimeError::Unsteady { .. } | LifetimeError::Filling { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(answered, answers, "{workload}");
    }
}

/// A trace that trims what it wrote leaves a drive that looks empty at its end; what counts is how full it was.
#[test]
fn a_trace_that_trims_at_its_end_promises_no_more_than_the_drive_gives() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trimmed.nandarium");
    let mut rows = String::from("time_ns,device,op,offset_bytes,length_bytes\n");
    for request in 0..12_000_u64 {
        let page = request * 2_654_435_761 % 7_000;
        writeln!(rows, "{},0,W,{},4096", request * 100_000, page * 4096).unwrap();
    }
    for page in 0..7_000_u64 {
        writeln!(rows, "1200000000,0,T,{},4096", page * 4096).unwrap();
    }
    std::fs::write(&trace, rows).unwrap();
    let settings = &["workload.repeat=1000000", "drive.precondition=fill"];
    let trace = trace.to_str().unwrap();
    let real = wear_out("page", trace, settings, 1, ENDURANCE);
    let (result, window) = window("page", trace, settings, [1, 0], 4 * 19_000);
    let valid: u64 = result.valid.iter().map(|pages| u64::from(*pages)).sum();
    assert!(
        valid < 500 && window.live_bytes > 6_000 * 4096,
        "{valid} pages at the end, {} bytes at the fullest step",
        window.live_bytes
    );
    let life = life(&result, &window, ENDURANCE, Origin::New).unwrap();
    assert!(
        (life.bytes.estimate / real - 1.0).abs() < 0.10 && holds(life.bytes, real, 0.0),
        "{:?}, in truth {real}",
        life.bytes
    );
}

/// Known limit: translation pages have no home plane, and planes of a tiny drive drift apart later than a window shows.
#[test]
fn a_drive_with_translation_pages_may_end_before_the_interval_but_not_by_much() {
    let (settings, mut early) = (&["ftl.map_cache=8KiB"], 0);
    for seed in 1..=8 {
        let real = wear_out("dftl", "zipf", settings, seed, ENDURANCE);
        let (result, window) = window("dftl", "zipf", settings, [seed, 0], 40_000);
        let bytes = life(&result, &window, ENDURANCE, Origin::Window).unwrap().bytes;
        assert!(holds(bytes, real, 0.35), "seed {seed}: {bytes:?}, in truth {real}");
        early += u32::from(!holds(bytes, real, 0.0));
    }
    assert!((1..=6).contains(&early), "{early} of 8 end early: the limit in docs/guides/lifetime.md has changed");
}

/// The test above could fail: the life of another drive is no life of this one.
#[test]
fn the_interval_of_a_drive_with_other_spare_space_or_endurance_does_not_fit() {
    let real = wear_out("page", "uniform-write", &["workload.request_size=4KiB"], 1, ENDURANCE);
    for (spare, endurance) in [
        ("drive.over_provisioning=28%", ENDURANCE),
        ("drive.over_provisioning=14%", ENDURANCE * 2 / 3),
        ("drive.over_provisioning=14%", ENDURANCE * 3 / 2),
    ] {
        let (result, window) = window("page", "uniform-write", &["workload.request_size=4KiB", spare], [1, 0], 40_000);
        let bytes = life(&result, &window, endurance, Origin::Window).unwrap().bytes;
        assert!(!holds(bytes, real, 0.0), "{spare}, endurance {endurance}: {bytes:?} has {real}");
    }
}

#[test]
fn uniform_writes_last_for_the_flash_times_its_endurance_over_write_amplification() {
    let (result, window) = window("page", "uniform-write", &["workload.request_size=4KiB"], [1, 0], 100_000);
    let life = life(&result, &window, 3000, Origin::New).unwrap();
    let closed = window.flash_bytes as f64 * 3000.0 / result.waf().unwrap();
    assert!((life.even_bytes / closed - 1.0).abs() < 0.01, "{} and {closed}", life.even_bytes);
    assert!((life.bytes.estimate / closed - 1.0).abs() < 0.10, "{} and {closed}", life.bytes.estimate);
    let shares: f64 = life.causes.iter().map(|share| share.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let gc = life.causes.iter().find(|share| share.cause == "gc").unwrap();
    let waf = result.waf().unwrap();
    assert!((gc.share - (waf - 1.0) / waf).abs() < 0.02, "{} of a write amplification of {waf}", gc.share);
    // Without cleaning the host would get what it writes out of the flash.
    assert!(((life.bytes.estimate + gc.gained.unwrap()) / life.bytes.estimate / waf - 1.0).abs() < 0.03);
}

#[test]
fn a_longer_window_changes_no_run_and_what_was_worn_before_matters_only_where_it_should() {
    let (result, window) = window("page", "zipf", &[], [1, 0], 20_000);
    let options = SessionOptions { workload: "zipf".to_owned(), snapshots: None };
    let plain = run(config("page", &[], &seeded(1, 0, 20_000, 0)), &options, &mut ()).unwrap();
    assert_eq!(plain.hash, result.hash, "looking at wear changes nothing");
    let worn: u64 = window.worn().map(u64::from).sum();
    assert_eq!(worn, result.flash[2].iter().sum::<u64>(), "every erase is one of a block");
    let lives = [Origin::New, Origin::Window].map(|origin| life(&result, &window, 300, origin).unwrap());
    let before = window.erases.iter().map(|row| f64::from(row[0])).sum::<f64>() / window.erases.len() as f64;
    assert!((lives[1].even_bytes / lives[0].even_bytes - (300.0 - before) / 300.0).abs() < 1e-9);
}

#[test]
fn windows_that_say_nothing_are_refused() {
    let short = window("page", "uniform-write", &["workload.request_size=4KiB"], [1, 0], 500);
    let error = life(&short.0, &short.1, 300, Origin::New).unwrap_err();
    assert!(matches!(error, LifetimeError::TooShort { erases, factor } if erases < 1.0 && factor > 2.0), "{error}");
    let reads = window("page", "uniform-read", &[], [1, 0], 5_000);
    assert_eq!(life(&reads.0, &reads.1, 300, Origin::New).unwrap_err(), LifetimeError::NoWrites);
    let long = window("page", "uniform-write", &["workload.request_size=4KiB"], [1, 0], 40_000);
    let error = life(&long.0, &long.1, 20, Origin::New).unwrap_err();
    assert!(matches!(error, LifetimeError::Worn { endurance: 20, most } if most > 20), "{error}");
}
