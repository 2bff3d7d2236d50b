//! Waiting and service make up the latency of every request, on every built-in stack.

use simulator::session::{SessionOptions, run};
use simulator::{Config, Setting};
use units::HostOp;

/// A small drive in virtual time, filled, with short queues and long ones, and partial pages.
const SETTINGS: [&str; 4] =
    ["drive.precondition=fill", "workload.requests=2500", "workload.flush_every=60", "workload.trim_share=2%"];

/// What makes the drive of a stack small.
fn size(stack: &str) -> &'static [&'static str] {
    match stack {
        "striping-in-turn" => &["drive.capacity=320MiB", "coded.size=4MiB", "flash.pages_per_block=16"],
        _ if stack.starts_with("striping-") => {
            &["drive.capacity=320MiB", "coded.size=16MiB", "flash.pages_per_block=16"]
        }
        _ if stack.starts_with("hard") || stack == "superpage" => &["drive.capacity=64MiB"],
        _ => &["drive.capacity=128MiB", "flash.pages_per_block=32", "drive.over_provisioning=60%"],
    }
}

/// Each request is looked at where it completes (`Runner::record`, in builds with debug assertions); here the sums.
#[test]
fn no_request_of_any_stack_waits_longer_than_it_takes() {
    for preset in simulator::config::stacks() {
        for workload in ["oltp", "mixed"] {
            let settings = SETTINGS
                .iter()
                .filter(|text| workload == "mixed" || !text.contains("_share") && !text.contains("flush"));
            let settings: Vec<Setting> =
                settings.chain(size(preset.name)).map(|text| Setting::from_argument(text).unwrap()).collect();
            let config = Config::load(preset.name, &settings).unwrap();
            let options = SessionOptions { workload: workload.to_owned(), snapshots: None };
            let result = run(config, &options, &mut ()).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            for op in [HostOp::Read, HostOp::Write] {
                let all = result.latency[op.index()].tail(1.0);
                let at_most = all.latency * (1.0 + 1e-9);
                for waits in [all.direct, all.root] {
                    let waited: f64 = waits.iter().sum();
                    assert!(
                        waited <= at_most,
                        "{}, {workload}, {op:?}: {waited} ns of waiting in {} ns",
                        preset.name,
                        all.latency
                    );
                }
            }
        }
    }
}

#[test]
fn without_causes_the_same_is_simulated_and_none_is_told() {
    let result = |causes: &str| {
        let settings: Vec<&str> = SETTINGS.iter().chain(size("dftl")).copied().chain([causes]).collect();
        let settings: Vec<Setting> = settings.into_iter().map(|text| Setting::from_argument(text).unwrap()).collect();
        let options = SessionOptions { workload: "mixed".to_owned(), snapshots: None };
        run(Config::load("dftl", &settings).unwrap(), &options, &mut ()).unwrap()
    };
    let [with, without] = ["engine.causes=true", "engine.causes=false"].map(result);
    assert_eq!(with.hash, without.hash);
    let (with, without) = (with.to_json(), without.to_json());
    for key in ["latency_ns", "flash", "wear"] {
        assert_eq!(with[key], without[key], "{key}");
    }
    for key in ["waiting", "waiting_root", "service_ns"] {
        assert!(with[key]["p99"].is_object() || with[key]["p99"].is_number(), "{key}: {}", with[key]);
        assert!(without[key].is_null(), "{key}: {}", without[key]);
    }
}
