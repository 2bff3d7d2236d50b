//! Every law of the mapping, and its snapshot.

use super::PageMap;
use super::access::{MapAccess, Sharing};
use super::entry::Occupant;
use super::groups::Broken;
use super::old_versions::OldVersions;
use super::pages::Pages;
use super::refresh::Due;
use super::space::tile::SmallDrive;
use super::together::Together;
use crate::alloc::Placement;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter, Tiled, Tiling};
use nand::{Counters, FlashState};
use units::Lpn;

/// Names of the maps in a snapshot.
const SECTIONS: [&str; 2] = ["page.map", "page.back"];

impl<A: MapAccess> PageMap<A> {
    /// Every invariant of the mapping.
    pub(super) fn check_laws(&self, flash: &FlashState) -> Result<(), String> {
        let valid = self.pages.blocks().check()?;
        let mut trimmed = vec![0_u32; self.trims.tombstones().slots()];
        let mapped = self.pages.check(flash, &mut trimmed)?;
        self.trims.check(&trimmed)?;
        let metadata = self.trims.live_pages();
        let old = self.versions.pages();
        if valid != mapped + metadata + old {
            return Err(format!(
                "{valid} valid pages, but {mapped} mapped, {metadata} tombstones and {old} old versions"
            ));
        }
        self.versions.check(&self.pages)?;
        self.space.check(&self.pages)?;
        self.slc.as_deref().map_or(Ok(()), |slc| slc.check(flash, &self.space))?;
        let total = Counters::total;
        let (counted, taken_back) = (total(&flash.counters.programs), flash.taken_back());
        let programs = counted
            .checked_sub(taken_back)
            .ok_or_else(|| format!("power cuts took back {taken_back} pages of {counted} that were programmed"))?;
        let erases = total(&flash.counters.erases);
        let pages = u64::from(self.geometry.pages_per_block);
        if (erases + u64::from(self.geometry.blocks())) * pages < programs {
            return Err(format!("{programs} programs into {erases} erases: pages were programmed twice"));
        }
        Ok(())
    }

    pub(super) fn save_state(&mut self, writer: &mut SnapshotWriter) {
        self.pages.save(writer, SECTIONS);
        self.trims.save(writer);
        self.versions.save(writer);
        let numbers = [
            self.space.lanes.turn() as u64,
            self.pages.sequence(),
            u64::from(self.retired_blocks),
            self.space.lanes.withheld() as u64,
        ];
        debug_assert!(self.groups.are_at_rest(), "a drive is drained before its state is saved");
        writer
            .put("page.numbers", numbers.into_iter().chain(self.collector.stream.state()).chain(self.groups.broken()));
        self.space.save(writer);
        self.collector.due.save(writer);
        if let Some(together) = &self.collector.together {
            together.save(writer);
        }
        if let Some(slc) = &self.slc {
            slc.save(writer);
        }
        self.access.save(writer);
    }

    /// Who was asked for old versions that collections wait for may not have answered, and is in no snapshot.
    fn ask_for_old_versions_again(&mut self) {
        for lane in 0..self.space.lanes.len() {
            for page in self.space.lanes[lane].cursor.passed().filter(|page| self.pages.blocks().is_valid(*page)) {
                if let Occupant::Version(logical) = self.pages.back(page).occupant() {
                    self.versions.met(&self.pages, logical, page);
                }
            }
        }
    }

    /// Whether [`PageMap::tile_state`] knows all tables.
    pub(super) fn may_be_tiled(&self) -> Result<(), &'static str> {
        if A::SHARING != Sharing::Data {
            Err("the mapping keeps its map on flash (ftl.kind)")
        } else if self.settings.placement == Placement::Static {
            Err("each page has a plane that it never leaves (ftl.allocation.placement = static)")
        } else if self.groups.are_kept() {
            Err("writes of several pages are kept whole (drive.atomic)")
        } else if self.slc.as_ref().is_some_and(|slc| !slc.scales()) {
            Err("a part of its SLC cache keeps its size on a smaller drive (ftl.slc.blocks, ftl.slc.fold_below)")
        } else if !self.collector.scales() {
            Err("victims depend on the number of blocks (ftl.gc.victim, ftl.gc.superblocks)")
        } else {
            Ok(())
        }
    }

    /// Brings an empty mapping into the state of a smaller one, many times over.
    pub(super) fn tile_state(
        &mut self,
        flash: &FlashState,
        tiling: &Tiling,
        reader: &mut SnapshotReader<'_>,
    ) -> Result<Tiled, SnapshotError> {
        let mut pages = Pages::new(*tiling.small(), tiling.small_pages());
        pages.load(reader, SECTIONS)?;
        self.trims.load(reader)?;
        if self.trims.live_pages() > 0 {
            return Err(SnapshotError::unfit("trims", "pages are trimmed"));
        }
        self.versions.load(reader)?;
        let [turn, sequence, ..] = reader.array::<u64, 8>("page.numbers")?;
        let lanes = self.space.lanes.read_of(reader, tiling.small().blocks_per_plane())?;
        Due::default().load(reader)?; // read past: time stood still, so no refresh is due
        let superblocks = self.collector.together.as_ref().map(|_| {
            let mut small = Together::new(lanes.all.len());
            let few = tiling.small().blocks_per_plane();
            small.load(reader, few)?;
            Ok::<_, SnapshotError>(small.tiled(few, self.space.lanes[0].count(), tiling.seed))
        });
        let superblocks = superblocks.transpose()?;
        let small = SmallDrive { flash, pages: &pages, lanes: &lanes, tiling, superblocks: superblocks.as_ref() };
        let tiled = self.space.tile(&mut self.pages, &small);
        if let (Some(together), Some(superblocks)) = (&mut self.collector.together, &superblocks) {
            together.tile(superblocks, self.pages.blocks().closings());
        }
        let withheld = self.space.lanes.withheld();
        self.space.lanes.restore(turn as usize, withheld);
        if let Some(slc) = &mut self.slc {
            slc.tile(flash, &self.space, &tiled);
        }
        self.pages.note_sequence(tiling.sequence(tiling.copies(), sequence));
        Ok(tiled)
    }

    pub(super) fn load_state(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "page", problem: problem.to_owned() };
        self.pages.load(reader, SECTIONS)?;
        self.trims.load(reader)?;
        self.versions.load(reader)?;
        let numbers = reader.get::<u64>("page.numbers")?;
        let [turn, sequence, retired, withheld, state @ ..] = numbers.as_slice() else {
            return Err(unfit("counters are missing"));
        };
        let Some((state, broken)) = state.split_first_chunk::<4>() else {
            return Err(unfit("the random state is missing"));
        };
        let mut parts = Broken::new();
        for part in broken.chunks_exact(2) {
            parts.entry(part[0]).or_default().insert(Lpn(part[1] as u32));
        }
        self.groups.set_broken(parts);
        self.space.load(reader)?;
        self.collector.due.load(reader)?;
        if let Some(together) = &mut self.collector.together {
            together.load(reader, self.space.lanes[0].count())?;
        }
        if let Some(slc) = &mut self.slc {
            slc.load(reader)?;
        }
        self.access.load(reader)?;
        self.space.lanes.restore(*turn as usize, *withheld as usize);
        self.pages.note_sequence(*sequence);
        self.retired_blocks = *retired as u32;
        self.collector.stream = engine::random::Stream::from_state(*state);
        self.ask_for_old_versions_again();
        Ok(())
    }
}
