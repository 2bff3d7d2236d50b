//! The state of a drained drive, as tables any number of drives can begin with, and the fill that most
//! states begin with.
//!
//! Protects: a drive that begins with a state has all counters at zero, wherever the state came from.

use crate::clocked::Clocked;
use crate::drive::Drive;
use crate::{BlockDevice, DrivePlan};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Ages, CountedFlash, Flash, FlashState};
use trace::{Workload, WorkloadError};
use units::{HostOp, Request};

/// Tables of flash and layers. Contents are not among them.
#[derive(Clone, Debug)]
pub struct DriveState(Vec<u8>);

impl DriveState {
    /// The state of a drive that no request is under way in. What its layers have under way comes to its end.
    pub fn of(drive: &mut Drive<CountedFlash>) -> Self {
        drive.drain();
        let mut writer = SnapshotWriter::new();
        let (rows, faults) = drive.flash().state().export();
        writer.put("flash.blocks", rows.into_iter().flatten());
        writer.put("flash.faults", faults);
        writer.put("flash.slc_erases", drive.flash().state().blocks.slc_erases().iter().copied());
        let Ages { ages_ns, reads, lost } = drive.flash().state().ageing.export();
        writer.put("flash.ages", ages_ns);
        writer.put("flash.block_reads", reads);
        writer.put("flash.lost", lost);
        drive.top().save(&mut writer);
        Self(writer.into_bytes())
    }

    /// A state kept elsewhere as [`DriveState::as_bytes`].
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// What to keep of it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A drive of `plan` in this state, with all counters at zero. `state`: fresh flash, or the flash itself
    /// where contents moved with it.
    /// Errors: the tables are not of such a drive.
    pub fn resume<F: Clocked>(
        &self,
        plan: &DrivePlan,
        mut state: FlashState,
        flash: impl FnOnce(FlashState) -> F,
    ) -> Result<Drive<F>, SnapshotError> {
        let mut reader = SnapshotReader::new(&self.0);
        load_flash(&mut state, &mut reader)?;
        state.reset_counters();
        state.ageing.begin_run();
        let mut drive = plan.assemble(flash(state));
        drive.top_mut().load(&mut reader)?;
        drive.top_mut().reset_counters();
        Ok(drive)
    }
}

fn load_flash(flash: &mut FlashState, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
    let unfit = |problem: &str| SnapshotError::Unfit { section: "flash.blocks", problem: problem.to_owned() };
    let rows = reader.get::<u32>("flash.blocks")?;
    let rows: Vec<[u32; 3]> = rows.chunks_exact(3).map(|row| [row[0], row[1], row[2]]).collect();
    let faults = reader.get::<u64>("flash.faults")?;
    let faults = faults.try_into().map_err(|_| unfit("the state of the fault stream is missing"))?;
    let slc_erases = reader.get::<u32>("flash.slc_erases")?;
    let ages = Ages {
        ages_ns: reader.get::<u64>("flash.ages")?,
        reads: reader.get::<u32>("flash.block_reads")?,
        lost: reader.get::<u32>("flash.lost")?,
    };
    if flash.import(&rows, faults) && flash.blocks.import_slc_erases(slc_erases) && flash.ageing.import(ages) {
        Ok(())
    } else {
        Err(unfit("the number of blocks or a page count differs"))
    }
}

/// The drive, or a share of it, written once, in order.
#[derive(Debug)]
pub struct Fill {
    next: u64,
    sectors: u64,
    extent: u64,
    share: f64,
}

impl Fill {
    /// Pages of one of its requests.
    pub const PAGES: u64 = 256;

    /// The fill of a drive: the same `share` of each stretch is written, 0 to 1.
    pub fn new<F: Clocked>(drive: &Drive<F>, share: f64) -> Self {
        Self::of(drive.sectors(), drive.flash().state().geometry.sectors_per_page(), share)
    }

    /// The same for anything with `sectors`, in pages of `sectors_per_page`.
    pub fn of(sectors: u64, sectors_per_page: u32, share: f64) -> Self {
        Self { next: 0, sectors, extent: Self::PAGES * u64::from(sectors_per_page), share }
    }

    /// Whether a fill of this share writes a page.
    pub fn covers(page: u64, share: f64) -> bool {
        let extent = page / Self::PAGES;
        let written = |extents: u64| (extents as f64 * share).floor() as u64;
        written(extent + 1) != written(extent)
    }
}

impl Workload for Fill {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), WorkloadError> {
        while batch.len() < limit && self.next < self.sectors {
            let sectors = self.extent.min(self.sectors - self.next);
            if Self::covers(self.next / self.extent * Self::PAGES, self.share) {
                let sectors = sectors as u32;
                batch.push(Request { arrival: 0, first_sector: self.next, sectors, op: HostOp::Write, fua: false });
            }
            self.next += sectors;
        }
        Ok(())
    }
}
