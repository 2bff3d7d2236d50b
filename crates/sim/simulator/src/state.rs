//! The state of a drained drive, as tables any number of drives can begin with, and the fill that most
//! states begin with.
//!
//! Protects: a drive that begins with a state has all counters at zero, wherever the state came from.

use crate::clocked::Clocked;
use crate::drive::Drive;
use crate::oracle::Oracle;
use crate::{BlockDevice, DrivePlan};
use layer::{Snapshot, SnapshotError, SnapshotReader, SnapshotWriter, Tiled, TiledBlock, Tiling};
use nand::{Ages, CountedFlash, Flash, FlashState, KeptBlock, Oob, PageKind};
use trace::{Workload, WorkloadError};
use units::{BlockId, HostOp, Lpn, Ppn, Request};

/// Tables of flash and layers. Contents are not among them.
#[derive(Clone, Debug)]
pub struct DriveState(Snapshot);

impl DriveState {
    /// The state of a drive that no request is under way in. What its layers have under way comes to its end.
    pub fn of(drive: &mut Drive<CountedFlash>) -> Self {
        Self::written(drive, SnapshotWriter::new())
    }

    /// As [`DriveState::of`], with the tables of the drive, which is of no use after that.
    pub fn taken_from(drive: &mut Drive<CountedFlash>) -> Self {
        Self::written(drive, SnapshotWriter::taking())
    }

    fn written(drive: &mut Drive<CountedFlash>, mut writer: SnapshotWriter) -> Self {
        drive.drain();
        let (rows, faults) = drive.flash().state().export();
        writer.put("flash.blocks", rows.into_iter().flatten());
        writer.put("flash.faults", faults);
        writer.put("flash.slc_erases", drive.flash().state().blocks.slc_erases().iter().copied());
        let Ages { ages_ns, reads, lost } = drive.flash().state().ageing.export();
        writer.put("flash.ages", ages_ns);
        writer.put("flash.block_reads", reads);
        writer.put("flash.lost", lost);
        drive.top_mut().save(&mut writer);
        Self(writer.into_snapshot())
    }

    /// Brings a new drive into the state of a drained smaller one, many times over (see [`layer::PageLayer::tile`]).
    /// Returns the logical pages that are not written. The smaller drive is of no use after that.
    /// Errors: the tables of the smaller drive cannot be tiled.
    pub(crate) fn tile(
        large: &mut Drive<CountedFlash>,
        small: &mut Drive<CountedFlash>,
        tiling: &Tiling,
    ) -> Result<Vec<Lpn>, SnapshotError> {
        small.drain();
        let mut writer = SnapshotWriter::taking();
        small.top_mut().save(&mut writer);
        let mut tables = writer.into_snapshot();
        let tiled = large.top_mut().tile(small.flash().state(), tiling, &mut tables.moving_reader())?;
        let flash = small.flash().state();
        tile_blocks(large.flash_mut().state_mut(), flash, &tiled, tiling);
        tile_contents(large.flash_mut().state_mut(), flash, &tiled, tiling);
        let shape = large.flash().state().geometry;
        if let (Some(own), Some(known)) = (large.oracle_mut(), small.oracle()) {
            let back = |page: Ppn| flash.contents().map(|contents| contents.oob(page.0).logical);
            let pages = (0..).map(Ppn).zip(&tiled.newest).filter_map(|(page, newest)| Some((page, (*newest)?)));
            own.tile(
                known,
                pages.filter_map(|(page, newest)| {
                    Some((back(tiled.source(&shape, &flash.geometry, page))?.into(), newest.0.into()))
                }),
            );
        }
        Ok(tiled.unwritten)
    }

    /// A state kept elsewhere as [`DriveState::snapshot`].
    pub(crate) fn from_snapshot(snapshot: Snapshot) -> Self {
        Self(snapshot)
    }

    /// The bytes of its tables, one behind the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.write(&mut bytes).expect("memory takes all");
        bytes
    }

    /// What to keep of it.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0
    }

    /// A drive of `plan` in this state, with all counters at zero. `state`: fresh flash, or the flash itself
    /// where contents moved with it.
    /// Errors: the tables are not of such a drive.
    pub fn resume<F: Clocked>(
        &self,
        plan: &DrivePlan,
        state: FlashState,
        flash: impl FnOnce(FlashState) -> F,
    ) -> Result<Drive<F>, SnapshotError> {
        begin(&mut self.0.reader(), plan, state, flash)
    }

    /// As [`DriveState::resume`], with the tables themselves, so that they do not stand twice in memory.
    /// Errors: the tables are not of such a drive.
    pub fn into_drive<F: Clocked>(
        mut self,
        plan: &DrivePlan,
        state: FlashState,
        flash: impl FnOnce(FlashState) -> F,
    ) -> Result<Drive<F>, SnapshotError> {
        begin(&mut self.0.moving_reader(), plan, state, flash)
    }
}

/// A drive that begins with the tables of a reader.
fn begin<F: Clocked>(
    reader: &mut SnapshotReader<'_>,
    plan: &DrivePlan,
    mut state: FlashState,
    flash: impl FnOnce(FlashState) -> F,
) -> Result<Drive<F>, SnapshotError> {
    load_flash(&mut state, reader)?;
    state.reset_counters();
    state.ageing.begin_run();
    let mut drive = plan.assemble(flash(state));
    drive.top_mut().load(reader)?;
    drive.top_mut().reset_counters();
    Ok(drive)
}

/// Gives each block the pages, the wear and the age of the block that it is like.
fn tile_blocks(large: &mut FlashState, small: &FlashState, tiled: &Tiled, tiling: &Tiling) {
    let blocks = large.geometry.blocks();
    for (block, TiledBlock { like, copy }) in (0..).map(BlockId).zip(&tiled.blocks) {
        let done = if copy.is_some() { small.block(*like).done } else { 0 };
        let kept = small.blocks.kept(*like);
        let erases = tiling.erases(kept.erases, block, blocks);
        let slc_erases = tiling.erases_in_use(kept.slc_erases, block, blocks);
        large.blocks.restore(block, done.into(), false, KeptBlock { erases, slc_erases, ..kept });
    }
    let Ages { ages_ns, reads, .. } = small.ageing.export();
    if !ages_ns.is_empty() {
        let of = |block: &TiledBlock| block.like.index();
        let ages_ns = tiled.blocks.iter().map(|block| ages_ns[of(block)]).collect();
        let reads = tiled.blocks.iter().map(|block| reads[of(block)]).collect();
        let fits = large.ageing.import(Ages { ages_ns, reads, lost: Vec::new() });
        debug_assert!(fits, "a drive ages as a smaller one does");
    }
}

/// Gives each page the contents of the page that it is like. Old versions are older than all others, and hold nothing.
fn tile_contents(large: &mut FlashState, small: &FlashState, tiled: &Tiled, tiling: &Tiling) {
    let (shape, sectors) = (large.geometry, u64::from(large.geometry.sectors_per_page()));
    let (Some(contents), Some(known)) = (large.contents_mut(), small.contents()) else { return };
    let pages = tiled.blocks.iter().zip((0..).map(BlockId)).filter_map(|(tile, block)| Some((tile.copy?, tile, block)));
    for (copy, TiledBlock { like, .. }, block) in pages {
        for at in 0..u32::from(small.block(*like).done) {
            let (from, to) = (small.geometry.page_at(*like, at), shape.page_at(block, at));
            let was = known.oob(from.0);
            let Some(logical) = tiled.newest[to.index()] else {
                let is_users = was.kind == PageKind::Data && was.logical < tiling.small_pages();
                let any = copy.min(tiling.copies() - 1);
                let logical = if is_users { tiling.logical(any, Lpn(was.logical)).0 } else { was.logical };
                contents.restore_page(to.0, Oob { logical, sequence: 0, ..was }, &[], None);
                continue;
            };
            let mut cells = if known.has_bytes(from.0) { known.page(from.0).to_vec() } else { Vec::new() };
            let of_sector = contents.cell_bytes();
            for (sector, cell) in (u64::from(logical.0) * sectors..).zip(cells.chunks_exact_mut(of_sector)) {
                for stamp in cell.as_chunks_mut::<8>().0 {
                    *stamp = Oracle::stamp_at(u64::from_le_bytes(*stamp), sector).to_le_bytes();
                }
            }
            let oob = Oob { logical: logical.0, sequence: tiling.sequence(copy, was.sequence), ..was };
            contents.restore_page(to.0, oob, &cells, None);
        }
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
        if share >= 1.0 {
            return true;
        }
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
