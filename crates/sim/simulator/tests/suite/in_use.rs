//! The part of a drive that is in use: what is filled before a run, what a generator uses in it, and what the rest is
//! good for.

use metrics::RunResult;
use simulator::session::{GivenRequests, Prepared};
use simulator::{Config, DrivePlan, Setting};
use units::{HostOp, Request};

/// 64 MiB on four dies, with 15 % more flash; counted.
const DRIVE: [&str; 7] = [
    "drive.capacity=64MiB",
    "drive.over_provisioning=15%",
    "flash.channels=4",
    "flash.dies_per_channel=1",
    "flash.pages_per_block=32",
    "engine.time=none",
    "workload.requests=60000",
];

fn config(settings: &[&str]) -> Config {
    let settings = DRIVE.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap());
    Config::load("page", &settings.collect::<Vec<_>>()).unwrap()
}

fn run(settings: &[&str]) -> RunResult {
    Prepared::new(config(settings), "uniform-write").unwrap().run(None, &mut ()).unwrap()
}

fn waf(result: &RunResult) -> f64 {
    result.flash[1].iter().sum::<u64>() as f64 / result.host[HostOp::Write.index()].pages as f64
}

/// A note with these words, which several runs together tell as well (`compare`, sweeps).
fn told<'a>(result: &'a RunResult, what: &str) -> Option<&'a String> {
    let is_told = |note: &&String| note.contains(what) && (metrics::is_caution(note) || !what.starts_with("Only "));
    result.notes.iter().find(is_told)
}

/// Writes of all pages of the last quarter of the drive, one after the other.
fn last_quarter() -> GivenRequests {
    let sectors = 64 << 20 >> 9;
    let write = |page: u64| Request { arrival: 0, first_sector: page * 8, sectors: 8, op: HostOp::Write, fua: false };
    GivenRequests::new((sectors * 3 / 4 / 8..sectors / 8).map(write).collect(), false)
}

/// A drive of which nothing beyond 84 % of the addresses was ever written had a write amplification of 5.7, or of 4.8
/// when it had been filled to 84 % as well, and the same flash with fewer addresses 2.7.
#[test]
fn a_drive_with_an_unpartitioned_end_cleans_like_a_smaller_one_on_the_same_flash() {
    let whole = run(&[]);
    let natural =
        [&["workload.footprint=84%"][..], &["drive.fill=84%"], &["drive.fill=84%", "workload.footprint=84%"]].map(run);
    // 84 % of 16,384 pages on 148 blocks in each of four planes.
    let smaller = run(&["drive.capacity=55048KiB", "drive.over_provisioning=37.4%"]);
    let flash = |result: &RunResult| result.counters["flash.pages"];
    assert_eq!(flash(&smaller), flash(&whole));
    assert!(waf(&smaller) < 0.6 * waf(&whole), "{} and {}", waf(&smaller), waf(&whole));
    for result in &natural {
        let ratio = waf(result) / waf(&smaller);
        assert!((0.93..1.07).contains(&ratio), "{} where a smaller drive has {}", waf(result), waf(&smaller));
        assert_eq!(result.hash, natural[0].hash, "three ways to say the same");
        assert!(told(result, "Only 84 % of the drive holds data.").is_some(), "{:?}", result.notes);
        assert!(told(result, "blocks of addresses not in use").is_some(), "{:?}", result.notes);
    }
    assert!(told(&natural[0], "drive.fill = 84% was chosen, as workload.footprint says").is_some());
    assert!(told(&natural[1], "workload.footprint = 84% was chosen, as drive.fill says").is_some());
    assert_eq!(told(&natural[2], "was chosen, as"), None, "both were given");
    assert_eq!(told(&whole, "holds data"), None);
}

#[test]
fn two_shares_that_are_both_given_stand_as_they_are() {
    let full = run(&["drive.fill=100%", "workload.footprint=84%"]);
    let ratio = waf(&full) / waf(&run(&[]));
    assert!((0.85..1.15).contains(&ratio), "cold data takes the rest of the drive: {ratio}");
    assert_eq!(told(&full, "holds data"), None);
    let growing = run(&["drive.fill=50%", "workload.footprint=100%"]);
    let note = told(&growing, "Only 50 % of the drive holds data at the start of the run, and ");
    assert!(note.is_some(), "{:?}", growing.notes);
}

/// Shares named by a stack count as said: what is given beside it does not overrule them.
#[test]
fn a_share_named_by_a_stack_is_said_as_well() {
    let text = "[drive]\nfill = \"50%\"\ncapacity = \"64MiB\"\n[flash]\nchannels = 4\n\
                dies_per_channel = 1\n";
    let shares = |settings: &[&str]| {
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let config = Config::from_text_with("own", text, &settings).unwrap();
        let prepared = Prepared::new(config, "uniform-write").unwrap();
        ["drive.fill", "workload.footprint"].map(|key| prepared.plan().config.resolved[key].clone())
    };
    assert_eq!(shares(&[]), ["50%", "50%"]);
    assert_eq!(shares(&["workload.footprint=20%"]), ["50%", "20%"]);
}

#[test]
fn under_requests_of_a_trace_the_whole_drive_is_in_use_unless_it_is_said() {
    let given = |settings: &[&str]| {
        let settings = [&["drive.precondition=fill"], settings].concat();
        Prepared::given(config(&settings), "mine", &last_quarter()).unwrap().run(None, &mut ()).unwrap()
    };
    assert_eq!(told(&given(&[]), "holds data"), None);
    let half = given(&["drive.fill=50%"]);
    let note = told(&half, "Only 50 % of the drive holds data at the start of the run, and 75 % at its end.");
    assert!(note.is_some(), "{:?}", half.notes);
}

/// Stretches all over the drive, as a published study has them, are another set than those a generator uses.
#[test]
fn evenly_spread_stretches_stay_what_they_were() {
    let spread = run(&["drive.fill=84%", "drive.fill_layout=stretches"]);
    assert!(told(&spread, "84% of it, evenly spread").is_some(), "{:?}", spread.notes);
    assert_eq!(told(&spread, "was chosen, as"), None);
    let ratio = waf(&spread) / waf(&run(&[]));
    assert!(ratio > 0.7, "the workload has filled the drive: {ratio}");
}

#[test]
fn a_drive_of_which_nothing_is_in_use_is_refused() {
    let error = DrivePlan::new(config(&["drive.fill=0%"])).unwrap_err().to_string();
    assert!(error.contains("no address in use") && error.contains("drive.precondition"), "{error}");
}

/// Two thirds of the flash that the host had to write first were parity: a drive that had erased each block three times
/// had no write amplification.
#[test]
fn parity_is_no_spare_flash_that_has_to_be_written_before_a_write_amplification_is_told() {
    for kind in ["none", "raid5", "raid6"] {
        let kind = format!("stripe.kind={kind}");
        let plan = DrivePlan::new(config(&[&kind, "engine.time=virtual", "drive.precondition=overwrite"])).unwrap();
        let spare = (plan.spare().blocks * f64::from(plan.geometry.pages_per_block)) as u64;
        let beyond_data = u64::from(plan.geometry.pages() - plan.user_pages);
        assert!(if kind.ends_with("none") { spare == beyond_data } else { spare < beyond_data }, "{kind}: {spare}");
        assert_eq!(plan.no_waf(spare), None, "{kind}");
        assert_eq!(plan.no_waf(spare - 1), Some(metrics::NoWaf::TooFewWrites), "{kind}");
    }
}
