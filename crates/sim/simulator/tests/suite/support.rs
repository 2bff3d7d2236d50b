//! Drives, layers and runs for the tests of this folder.
#![allow(dead_code)] // each test file uses a part of it

use layer::{Answer, Held, LayerReport, Outbox, PageLayer, PageOp, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Event, Flash, Owner, TimedFlash};
use simulator::run::{Ended, HostMeasurements, Loop, RunPlan, run};
use simulator::{BlockDevice, Clocked, Config, Drive, DrivePlan, Setting};
use trace::synthetic::{WorkloadParameters, build};
use units::{Lpn, Ppn, Request};

pub fn plan(settings: &[&str]) -> DrivePlan {
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::from_argument(text).unwrap()).collect();
    DrivePlan::new(Config::load("page", &settings).unwrap()).unwrap()
}

pub fn plan_of(config: Config) -> DrivePlan {
    DrivePlan::new(config).unwrap()
}

pub fn timed(settings: &[&str]) -> Drive<TimedFlash> {
    let plan = plan(settings);
    plan.assemble(plan.timed(plan.fresh_state()))
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
        sectors_per_page: drive.flash().state().geometry.sectors_per_page(),
        timed: F::HAS_TIME,
    };
    let (ended, sheet) = run(drive, source, plan, &mut (), |_| [0; units::DIE_CAUSES]).unwrap();
    assert_eq!(ended, Ended::Complete);
    sheet
}

/// A layer that a test makes up: what it answers, and what it has to say when it hears of an event.
pub trait MadeUp<F: Flash> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer;

    fn on_event(&mut self, _: &mut Outbox) {}
}

/// It as a layer; there is nothing to hint at, to count or to keep.
pub struct MadeUpLayer<L>(pub L);

impl<F: Flash, L: MadeUp<F>> PageLayer<F> for MadeUpLayer<L> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        self.0.submit(flash, op, outbox)
    }

    fn on_event(&mut self, _: &mut F, _: Owner, _: &Event, outbox: &mut Outbox) {
        self.0.on_event(outbox);
    }

    fn on_idle(&mut self, _: &mut F) -> bool {
        false
    }

    fn hint_map(&self, _: &F, _: &[Request]) {}

    fn hint_target(&self, _: &F, _: &[Request]) {}

    fn holds(&self, _: &F, _: Lpn) -> Held {
        Held::Bytes
    }

    fn place_of(&self, _: Lpn, _: u64) -> Option<Ppn> {
        None
    }

    fn check(&self, _: &F) -> Result<(), String> {
        Ok(())
    }

    fn report(&self, _: &mut Vec<LayerReport>) {}

    fn reset_counters(&mut self) {}

    fn save(&mut self, _: &mut SnapshotWriter) {}

    fn load(&mut self, _: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }
}
