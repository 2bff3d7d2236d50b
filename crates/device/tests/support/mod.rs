//! Drives and runs for the tests of this folder.
#![allow(dead_code, missing_docs)] // each test file uses a part of it

use device::run::{Ended, HostMeasurements, Loop, RunPlan, run};
use device::{BlockDevice, Clocked, Config, Drive, DrivePlan, Setting};
use nand::TimedFlash;
use trace::synthetic::{WorkloadParameters, build};

pub fn plan(settings: &[&str]) -> DrivePlan {
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
}

pub fn timed(settings: &[&str]) -> Drive<TimedFlash> {
    let plan = plan(settings);
    plan.assemble(plan.timed(plan.fresh_core()))
}

/// Runs a generator; `shape` may change its parameters.
pub fn go<F: Clocked>(
    drive: &mut Drive<F>,
    workload: &str,
    requests: u64,
    arrivals: Loop,
    shape: impl Fn(&mut WorkloadParameters),
) -> HostMeasurements {
    let mut parameters = WorkloadParameters::new(drive.sectors(), requests);
    shape(&mut parameters);
    let mut source = build(workload, &parameters).unwrap();
    go_from(drive, &mut *source, requests, arrivals)
}

/// Runs any source of requests.
pub fn go_from<F: Clocked>(
    drive: &mut Drive<F>,
    source: &mut dyn trace::Workload,
    requests: u64,
    arrivals: Loop,
) -> HostMeasurements {
    let plan = RunPlan {
        arrivals,
        limit: requests,
        sectors_per_page: drive.flash().core().geometry.sectors_per_page(),
        timed: F::HAS_TIME,
    };
    let (ended, sheet) = run(drive, source, plan, &mut (), |_| [0; 2]).unwrap();
    assert_eq!(ended, Ended::Complete);
    sheet
}
