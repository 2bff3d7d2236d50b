//! Rebuilding the map from out-of-band areas after a power cut.
//!
//! The newest sequence number of each logical page wins. Of two copies with one number the one that can be
//! read is kept (the other one was healed). If both can (a collection was under way), it is the one in the
//! fuller block, so that the block being filled when power went
//! holds little of its own; where that block goes on being filled, the other one, so that the
//! collection goes on where it was.
//!
//! However often power is cut, each lane must be able to collect. If none of its blocks is free or
//! without valid pages, a block whose pages all have copies elsewhere gives them up; if there is none
//! (it received a tombstone besides copies), the emptiest block is filled up before it is closed.

use super::PageMap;
use super::access::MapAccess;
use super::entry::{Back, Entry, Occupant};
use super::groups::{Broken, FoundGroups, last_taken, sequence_of};
use super::old_versions::{FRESH, Found, Left, OldCopies, OldVersions, other_copy};
use super::pages::Pages;
use super::space::{Space, Stream};
use super::trims::Trims;
use crate::mapping::common::{UNMAPPED, written, written_blocks};
use crate::mapping::ranges::decode;
use crate::mapping::{FtlContext, RecoverError};
use nand::{Contents, FlashState, LawBroken, Oob, PageKind};
use std::collections::{BTreeMap, BTreeSet};
use units::{BlockId, DieId, Geometry, Lpn, Ppn};

/// Newest version of a logical page found so far.
#[derive(Clone, Copy)]
struct Newest {
    sequence: u64,
    page: Option<Ppn>,
}

/// What out-of-band areas say.
struct Scan {
    newest: Vec<Newest>,
    /// Number of the newest version, where that says that the parity covers nothing of the page.
    fresh: Vec<u64>,
    /// Pages with records of the drive's own.
    metadata: Vec<Ppn>,
    /// Copies of newest versions that were not chosen, by logical page.
    copies: BTreeMap<Lpn, Vec<Ppn>>,
}

/// Copies of newest versions that were not chosen, by logical page, and of old ones.
struct Copies {
    newest: BTreeMap<Lpn, Vec<Ppn>>,
    old: OldCopies,
}

impl<A: MapAccess> PageMap<A> {
    /// Rebuilds the mapping from out-of-band areas.
    /// 1. The lanes of lost dies are given up from the beginning.
    /// 2. A scan of all pages finds the newest version of each logical page, and all tombstones. Parts of groups that
    ///    are not whole do not count.
    /// 3. A tombstone newer than that version unmaps the page; other versions are mapped.
    /// 4. Written blocks are closed; blocks of translation pages go on where they were.
    /// 5. Old versions that parities cover are found for the stripes.
    /// 6. Each lane is made collectable: copies elsewhere stand for pages that would find no room.
    /// 7. Tombstones that trim nothing are forgotten, and map entries that flash has not are noted.
    pub(super) fn recover(context: &FtlContext<'_>, image: &FlashState) -> Result<Self, RecoverError> {
        let contents = image.contents().ok_or(RecoverError::NoContents)?;
        let geometry = context.geometry;
        let dead = (0..geometry.dies()).find(|die| image.die_is_dead(DieId(*die)));
        // Without parity a page that stood there would be one that was never written.
        if let Some(die) = dead.filter(|_| context.stripes.is_none_or(|stripes| stripes.may_fail == 0)) {
            return Err(RecoverError::DieLost { die });
        }
        let mut ftl = PageMap::<A>::new(context, image);
        let groups = groups(image, contents);
        let broken = broken_groups(image, contents, &groups, ftl.pages.logical_pages());
        ftl.groups.set_broken(broken.clone());
        let PageMap { pages, space, trims, versions, .. } = &mut ftl;
        let mut recovery: Recovery<'_, A::Versions> =
            Recovery { geometry, image, contents, broken, grouped: groups.pages(), pages, space, trims, versions };
        let Scan { mut newest, fresh, metadata, copies } = recovery.scan();
        let trimmed = recovery.apply_tombstones(&mut newest, &metadata);
        for (logical, best) in (0..).map(Lpn).zip(&newest) {
            if let Some(page) = best.page {
                recovery.pages.place(logical, page);
            }
        }
        for block in written_blocks(image) {
            recovery.pages.close(block);
        }
        if recovery.space.has_translation_pages() {
            recovery.reopen_translation();
        }
        let found = newest.iter().zip(trimmed).map(|(newest, trim)| match trim {
            _ if newest.page.is_some() => Found::Written(newest.sequence),
            Some(sequence) => Found::Trimmed(sequence),
            None => Found::Nothing,
        });
        let found: Vec<Found> = found.collect();
        let left = Left { image, found: &found, fresh: &fresh };
        let old = recovery.versions.recover(context, recovery.pages, recovery.space, &left);
        let copies = Copies { newest: copies, old };
        for lane in 0..recovery.space.lanes.len() {
            recovery.keep_collectable(lane, &copies);
        }
        if let Some(slc) = &mut ftl.slc {
            slc.recount(image, &ftl.space);
        }
        ftl.trims.remove_dead();
        ftl.access.found(image, &ftl.pages);
        Ok(ftl)
    }
}

/// A drive being rebuilt from what a power cut left.
struct Recovery<'a, V> {
    geometry: Geometry,
    image: &'a FlashState,
    contents: &'a Contents,
    /// Groups that are not whole.
    broken: Broken,
    /// Logical pages of all groups.
    grouped: BTreeSet<u32>,
    pages: &'a mut Pages,
    space: &'a mut Space,
    trims: &'a mut Trims,
    versions: &'a mut V,
}

impl<V: OldVersions> Recovery<'_, V> {
    /// Looks at the out-of-band area of every page there is.
    fn scan(&mut self) -> Scan {
        let mut scan = Scan {
            newest: vec![Newest { sequence: 0, page: None }; self.pages.logical_pages() as usize],
            fresh: vec![0; self.pages.logical_pages() as usize],
            metadata: Vec::new(),
            copies: BTreeMap::new(),
        };
        for page in written(self.image) {
            let oob = self.contents.oob(page.0);
            self.pages.note_sequence(last_taken(oob.sequence));
            match oob.kind {
                // Without a record it only filled up a program.
                PageKind::Metadata if oob.logical == UNMAPPED => {
                    scan.metadata.extend(self.contents.record(page.0).map(|_| page));
                }
                _ if self.broken.contains_key(&sequence_of(oob.sequence)) => {}
                PageKind::Data | PageKind::Lost | PageKind::Metadata => self.found_version(&mut scan, page, oob),
                PageKind::Erased | PageKind::Torn => {}
            }
        }
        scan
    }

    /// A version of a page was found on flash.
    fn found_version(&self, scan: &mut Scan, page: Ppn, oob: Oob) {
        let done = |page: Ppn| self.image.block(self.geometry.block_of(page)).done;
        let sequence = sequence_of(oob.sequence);
        let best = &mut scan.newest[oob.logical as usize];
        let found = Newest { sequence, page: Some(page) };
        if found.sequence > best.sequence {
            *best = found;
            scan.fresh[oob.logical as usize] = if oob.sequence & FRESH == 0 { 0 } else { sequence };
            scan.copies.remove(&Lpn(oob.logical));
        } else if found.sequence == best.sequence {
            let Some(known) = best.page else { return };
            let is_lost = |page: Ppn| self.contents.oob(page.0).kind == PageKind::Lost;
            let (this, other) = (done(page), done(known));
            let kept = match (is_lost(page), is_lost(known)) {
                (false, true) => true,
                (true, false) => false,
                _ if self.is_reopened(Lpn(oob.logical)) => this < other,
                _ => this > other,
            };
            let loser = if kept { std::mem::replace(best, found).page } else { found.page };
            scan.copies.entry(Lpn(oob.logical)).or_default().extend(loser);
        }
    }

    /// Whether the open block of this page's stream goes on after a power cut.
    fn is_reopened(&self, logical: Lpn) -> bool {
        matches!(self.space.host_stream(Back::data(logical)), Stream::Translation | Stream::Own(_))
    }

    /// Goes on with open blocks of translation pages and of their data.
    fn reopen_translation(&mut self) {
        let mut pages = Vec::new();
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let done = u32::from(self.image.block(block).done);
            if !self.pages.blocks().is_candidate(block) || done == self.geometry.pages_per_block {
                continue;
            }
            pages.clear();
            self.pages.blocks().valid_pages(block, &mut pages);
            if pages.is_empty() {
                continue;
            }
            let lane = self.space.lanes.of_block(block);
            let stream = self.space.stream_of(self.pages, block);
            let wider = self.geometry.pages_per_block - done > self.space.frontier(lane, stream).room();
            if matches!(stream, Stream::Translation | Stream::Own(_)) && wider {
                self.space.reopen(self.pages, self.image, lane, stream, block);
            }
        }
    }

    /// Sees to it that a lane has a free block, or one that can be erased at once, or room for copies.
    fn keep_collectable(&mut self, lane: usize, copies: &Copies) {
        let closed = self.space.lanes[lane].blocks().filter(|block| self.pages.blocks().is_candidate(*block));
        let mut closed: Vec<BlockId> = closed.collect();
        closed.sort_by_key(|block| (self.pages.blocks().valid_count(*block), self.image.block(*block).done));
        let Some(&emptiest) = closed.first() else { return };
        let ready = self.space.lanes[lane].free() > 0 || self.pages.blocks().valid_count(emptiest) == 0;
        if ready || closed.iter().any(|block| self.give_up_copies(*block, copies)) {
            return;
        }
        let open = closed.iter().copied().filter(|block| {
            // A block of translation pages or of one's data was reopened already, if it had room.
            let stream = self.space.stream_of(self.pages, *block);
            u32::from(self.image.block(*block).done) < self.image.pages_of(*block)
                && self.space.frontier(lane, stream).is_full()
        });
        if let Some(block) = open.min_by_key(|block| self.image.block(*block).done) {
            let stream = self.space.stream_of(self.pages, block);
            self.space.reopen(self.pages, self.image, lane, stream, block);
        }
    }

    /// Lets copies in other blocks stand for all valid pages of `block`. `false`: some have none.
    fn give_up_copies(&mut self, block: BlockId, copies: &Copies) -> bool {
        let mut pages = Vec::new();
        self.pages.blocks().valid_pages(block, &mut pages);
        let other = |logical: Lpn| {
            let copies = copies.newest.get(&logical)?;
            copies.iter().copied().find(|copy| self.geometry.block_of(*copy) != block)
        };
        let (mut moves, mut trims, mut olds) = (Vec::new(), Vec::new(), Vec::new());
        for page in pages.into_iter().map(Ppn) {
            match self.pages.back(page).occupant() {
                Occupant::Version(logical) if self.versions.is_on(self.pages, page) => {
                    let Some(other) = other_copy(&self.geometry, logical, block, &copies.old) else { return false };
                    olds.push((page, other));
                }
                Occupant::Version(logical) => {
                    let Some(other) = other(logical) else { return false };
                    moves.push((logical, page, other));
                }
                Occupant::Tombstone(slot) => {
                    let Some(twins) = self.trims.twins(self.pages, block, slot) else { return false };
                    trims.extend(twins.into_iter().map(|(logical, twin)| (logical, slot, twin)));
                }
            }
        }
        for (logical, page, other) in moves {
            self.pages.relocate(logical, page, other);
        }
        for (page, other) in olds {
            self.versions.exchange(self.pages, page, other);
        }
        for (logical, from, slot) in trims {
            self.trims.bury_restored(self.pages, from);
            self.pages.unmap(logical, Entry::tombstone(slot));
            self.trims.revive(self.pages, slot);
        }
        true
    }

    /// Unmaps the pages that a newer tombstone names. A page without any version left needs no tombstone, unless parts
    /// of a group may be on flash that the tombstone replaces a part of. Returns the number of the trim that each
    /// page's state is due to.
    fn apply_tombstones(&mut self, newest: &mut [Newest], metadata: &[Ppn]) -> Vec<Option<u64>> {
        let mut by: Vec<Option<(u64, u32)>> = vec![None; newest.len()];
        let mut slots = Vec::new();
        let mut firsts = BTreeMap::new();
        for &page in metadata {
            let number = self.contents.oob(page.0).sequence;
            let ranges = decode(self.contents.record(page.0).unwrap_or_default());
            for range in &ranges {
                for logical in range.pages() {
                    let best = &mut by[logical.index()];
                    if best.is_none_or(|(sequence, _)| range.sequence >= sequence) {
                        *best = Some((range.sequence, slots.len() as u32));
                    }
                }
            }
            let slot = self.trims.restore(page, number, ranges, firsts.get(&number).copied());
            slots.push(*firsts.entry(number).or_insert(slot));
        }
        for (logical, tombstone) in by.iter().enumerate() {
            let Some((sequence, index)) = *tombstone else { continue };
            let best = &mut newest[logical];
            let is_needed = best.page.is_some() || self.grouped.contains(&(logical as u32));
            if !is_needed || best.sequence > sequence {
                continue;
            }
            best.page = None;
            let slot = slots[index as usize];
            self.pages.unmap(Lpn(logical as u32), Entry::tombstone(slot));
            self.trims.revive(self.pages, slot);
        }
        by.into_iter().map(|tombstone| Some(tombstone?.0)).collect()
    }
}

/// The groups of which something is on flash.
fn groups(image: &FlashState, contents: &Contents) -> FoundGroups {
    let mut groups = FoundGroups::default();
    written(image).for_each(|page| groups.note(contents.oob(page.0)));
    groups
}

/// The groups that are not whole.
fn broken_groups(image: &FlashState, contents: &Contents, groups: &FoundGroups, logical_pages: u32) -> Broken {
    if groups.is_empty() || image.breaks(LawBroken::GroupsBroken) {
        return Broken::new();
    }
    let mut newest = vec![0; logical_pages as usize];
    let mut note = |logical: usize, sequence: u64| newest[logical] = sequence.max(newest[logical]);
    for page in written(image) {
        let oob = contents.oob(page.0);
        match oob.kind {
            PageKind::Metadata if oob.logical == UNMAPPED => {
                for range in decode(contents.record(page.0).unwrap_or_default()) {
                    range.pages().for_each(|logical| note(logical.index(), range.sequence));
                }
            }
            PageKind::Data | PageKind::Lost | PageKind::Metadata if sequence_of(oob.sequence) == oob.sequence => {
                note(oob.logical as usize, oob.sequence);
            }
            _ => {}
        }
    }
    groups.broken(newest)
}
