//! A power cut of a drive that goes on as if nothing had been.

use crate::error::DriveError;
use crate::faults::Faults;
use crate::host::Host;
use crate::requests::{Drive, Power};
use engine::random::Stream;
use nand::FlashState;
use simulator::DrivePlan;

/// The state that a power cut left of a drive. It may recover on another thread, which a drive itself cannot go to.
pub struct LeftByCut {
    plan: DrivePlan,
    left: FlashState,
    /// The damage of faults.
    faults: Option<Box<Faults>>,
}

impl LeftByCut {
    /// The drive that comes back from it, in memory.
    ///
    /// # Errors
    /// The layers cannot rebuild themselves.
    pub fn recover(self) -> Result<Drive, DriveError> {
        let power = Power::On(Host::recover(&self.plan, self.left)?);
        let mut drive = Drive::assemble(self.plan, power, None);
        drive.faults = self.faults;
        Ok(drive)
    }
}

impl Drive {
    /// The state that a power cut would leave now. This one goes on as if nothing had been. `seed` decides the fate of
    /// work under way.
    ///
    /// # Errors
    /// Power is off.
    pub fn left_by_cut(&self, seed: u64) -> Result<LeftByCut, DriveError> {
        let Power::On(host) = &self.power else { return Err(DriveError::PowerOff) };
        let left = host.drive().flash().power_cut(&mut Stream::new(seed, "power cut"));
        let block_of = |sector| host.block_of(sector);
        let faults = self.faults.as_ref().map(|faults| Box::new(faults.left_by_cut(self.now(), seed, block_of)));
        Ok(LeftByCut { plan: self.plan.clone(), left, faults })
    }
}
