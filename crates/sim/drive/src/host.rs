//! The target of requests: the drive, or a driver of the host over it.

use crate::error::DriveError;
use layer::{Held, LayerReport};
use nand::{FlashState, TimedFlash};
use remap::HostReport;
use simulator::config::{PRECONDITION, Precondition};
use simulator::{BlockDevice, DrivePlan, Driver, Remapped, session};
use units::{BlockId, Lpn};

type Simulated = simulator::Drive<TimedFlash>;

pub(crate) enum Host {
    Drive(Box<Simulated>),
    Driver(Box<Remapped<Simulated>>),
}

impl Host {
    /// Over flash in the state that `drive.precondition` asks for; `auto` is erased flash. A driver formats the drive
    /// before this returns.
    pub fn begin(plan: &DrivePlan) -> Result<Self, DriveError> {
        let wanted = PRECONDITION.read(&plan.config.values);
        let is_erased = matches!(wanted, Precondition::None | Precondition::Auto);
        let name = PRECONDITION.name_of(wanted);
        if wanted == Precondition::Steady {
            return Err(DriveError::Unsupported(format!(
                "drive.precondition = {name} needs a workload, and a drive with bytes has none before it is used; use \
                 drive.precondition = overwrite"
            )));
        }
        if !is_erased && plan.remap.is_some() {
            return Err(DriveError::Unsupported(format!(
                "drive.precondition = {name} brings a drive into use and not the driver of the host over it; use \
                 drive.precondition = none, or remap.kind = none"
            )));
        }
        let mut drive = if is_erased {
            plan.assemble(plan.timed(plan.fresh_state()))
        } else {
            session::in_use(plan).map_err(|error| DriveError::Unsupported(error.to_string()))?
        };
        drive.carry_cells();
        Ok(Self::fresh(plan, drive))
    }

    fn fresh(plan: &DrivePlan, drive: Simulated) -> Self {
        let Some(remap) = plan.remap.as_deref() else { return Self::Drive(Box::new(drive)) };
        let mut driven = Remapped::new(drive, Driver::format(remap, plan.config.values.whole("engine.seed")));
        driven.carry_cells();
        driven.settle();
        Self::Driver(Box::new(driven))
    }

    /// Over what a power cut left.
    pub fn recover(plan: &DrivePlan, state: FlashState) -> Result<Self, DriveError> {
        let mut drive = plan.recover(state).map_err(|error| DriveError::Recovery(error.to_string()))?;
        drive.carry_cells();
        let Some(remap) = plan.remap.as_deref() else { return Ok(Self::Drive(Box::new(drive))) };
        let driver = Driver::open(remap, &mut drive)
            .map_err(|error| DriveError::Recovery(format!("its driver finds no map: {error}")))?;
        let mut driven = Remapped::new(drive, driver);
        driven.carry_cells();
        Ok(Self::Driver(Box::new(driven)))
    }

    /// The drive, below any driver.
    pub fn drive(&self) -> &Simulated {
        match self {
            Self::Drive(drive) => drive,
            Self::Driver(driven) => driven.device(),
        }
    }

    /// The same, to let something in it fail.
    pub fn drive_mut(&mut self) -> &mut Simulated {
        match self {
            Self::Drive(drive) => drive,
            Self::Driver(driven) => driven.device_mut(),
        }
    }

    /// The device that requests go to: the drive, or the driver of the host above it.
    pub fn device(&mut self) -> &mut dyn BlockDevice {
        match self {
            Self::Drive(drive) => &mut **drive,
            Self::Driver(driven) => &mut **driven,
        }
    }

    /// Requests taken and not completed.
    pub fn outstanding(&self) -> u32 {
        match self {
            Self::Drive(drive) => drive.outstanding(),
            Self::Driver(driven) => driven.outstanding(),
        }
    }

    /// Whether [`BlockDevice::advance`] returns without letting time pass.
    pub fn has_news(&self) -> bool {
        match self {
            Self::Drive(drive) => drive.has_news(),
            Self::Driver(driven) => driven.has_news(),
        }
    }

    /// Whether nothing will happen by itself any more.
    pub fn is_quiet(&mut self) -> bool {
        match self {
            Self::Drive(drive) => drive.is_quiet(),
            Self::Driver(driven) => driven.is_quiet(),
        }
    }

    /// Runs one event. `false`: none is pending.
    pub fn step(&mut self) -> bool {
        match self {
            Self::Drive(drive) => drive.step(),
            Self::Driver(driven) => driven.step(),
        }
    }

    /// Checks the invariants of driver and layers.
    pub fn check(&self) -> Result<(), String> {
        if let Self::Driver(driven) = self {
            driven.machine().check()?;
        }
        let drive = self.drive();
        drive.top().check(drive.flash())
    }

    /// The state of a host's page, in the mapping or in a driver's map.
    pub fn holds(&self, page: Lpn) -> Held {
        match self {
            Self::Drive(drive) => drive.holds(page),
            Self::Driver(driven) => driven.holds(page),
        }
    }

    /// The erase block with the newest version of a sector, if flash has it.
    pub fn block_of(&self, sector: u64) -> Option<BlockId> {
        match self {
            Self::Drive(drive) => drive.block_of(sector),
            Self::Driver(driven) => driven.block_of(sector),
        }
    }

    /// The reports of the layers, from the top.
    pub fn reports(&self) -> Vec<LayerReport> {
        let mut reports = Vec::new();
        self.drive().top().report(&mut reports);
        reports
    }

    /// The report of a driver, if there is one.
    pub fn driver_report(&self) -> Option<HostReport> {
        match self {
            Self::Drive(_) => None,
            Self::Driver(driven) => Some(driven.report()),
        }
    }

    /// The counters of a driver.
    pub fn driver_counters(&self) -> Vec<(&'static str, u64)> {
        let counters = self.driver_report().map_or_else(Vec::new, |report| report.counters);
        counters.into_iter().map(|counter| (counter.name, counter.count)).collect()
    }
}
