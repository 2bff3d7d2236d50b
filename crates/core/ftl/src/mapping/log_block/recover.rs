//! Rebuilding the map from out-of-band areas after a power cut.
//!
//! The newest sequence number of each logical page wins, in data pages and tombstones alike. Where a merge was
//! under way pages exist twice, with one number. If one block in place holds all newest pages of a logical
//! block, it is the data block. Otherwise the blocks that others make superfluous are given up, the emptiest
//! first, so that a target does not outlive the merge that was filling it and each cut gives back the free
//! block that was taken. Blocks then left beyond a data and a log block are merged before the next write.

use super::blocks::Role;
use super::lbn::{Lbn, LogicalBlocks};
use super::trims::Range;
use super::{LogMap, Scheme, Tables};
use crate::mapping::common::{written_blocks, written_pages};
use crate::mapping::{FtlContext, RecoverError};
use nand::{Contents, FlashState, PageKind};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use units::{BlockId, DieId, Lpn, Ppn};

/// What a block turned out to hold.
struct Found {
    /// The one logical block all its pages are of; `None` without pages.
    lbn: Option<Lbn>,
    mixed: bool,
    in_place: bool,
    sequence: u64,
    /// Pages with a newest version, and what they hold it of.
    newest: Vec<(Ppn, Lpn)>,
}

/// Newest version of a logical page.
#[derive(Clone, Copy)]
struct Newest {
    sequence: u64,
    /// Blocks that hold it.
    holders: u16,
    is_tombstone: bool,
    chosen: Option<Ppn>,
}

/// The scan of a drive.
struct Scan {
    newest: Vec<Newest>,
    blocks: BTreeMap<BlockId, Found>,
    lbns: LogicalBlocks,
}

impl<S: Scheme> LogMap<S> {
    pub(super) fn recover(context: &FtlContext<'_>, image: &FlashState) -> Result<Self, RecoverError> {
        let contents = image.contents().ok_or(RecoverError::NoContents)?;
        let geometry = context.geometry;
        if let Some(die) = (0..geometry.dies()).find(|die| image.die_is_dead(DieId(*die))) {
            return Err(RecoverError::DieLost { die });
        }
        let mut ftl = Self::new(context, image);
        let mut scan =
            Scan::read(image, contents, ftl.tables.lbns, |sequence| ftl.tables.pages.note_sequence(sequence));
        scan.choose();
        scan.fill_map(&mut ftl.tables, contents);
        ftl.scheme.adopt(scan.give_roles::<S>(&mut ftl.tables, image));
        Ok(ftl)
    }
}

/// The pages that a flash page speaks of.
fn named(contents: &Contents, page: Ppn) -> Option<Range> {
    let oob = contents.oob(page.0);
    match oob.kind {
        PageKind::Data | PageKind::Lost => Some(Range { first: Lpn(oob.logical), count: 1 }),
        PageKind::Metadata => contents.record(page.0).and_then(Range::decode),
        PageKind::Erased | PageKind::Torn => None,
    }
}

impl Found {
    fn note(&mut self, lbn: Lbn, in_place: bool, sequence: u64) {
        self.mixed |= self.lbn.is_some_and(|known| known != lbn);
        self.lbn = Some(lbn);
        self.in_place &= !self.mixed && in_place;
        self.sequence = self.sequence.max(sequence);
    }
}

impl Scan {
    /// Reads all out-of-band areas. `note`: hears every sequence number.
    fn read(image: &FlashState, contents: &Contents, lbns: LogicalBlocks, mut note: impl FnMut(u64)) -> Self {
        let none = Newest { sequence: 0, holders: 0, is_tombstone: false, chosen: None };
        let mut scan = Self { newest: vec![none; lbns.pages as usize], blocks: BTreeMap::new(), lbns };
        for block in written_blocks(image) {
            let mut found = Found { lbn: None, mixed: false, in_place: true, sequence: 0, newest: Vec::new() };
            for (position, page) in (0..).zip(written_pages(image, block)) {
                let oob = contents.oob(page.0);
                note(oob.sequence);
                let Some(range) = named(contents, page) else { continue };
                let is_tombstone = oob.kind == PageKind::Metadata;
                // A tombstone carried along by a merge is where its first page not written since belongs.
                let in_place = is_tombstone || lbns.offset(range.first) == position;
                found.note(lbns.of(range.first), in_place, oob.sequence);
                for logical in range.pages() {
                    let newest = &mut scan.newest[logical.index()];
                    // A tombstone without an older version is not needed, but does no harm.
                    if oob.sequence > newest.sequence {
                        *newest = Newest { sequence: oob.sequence, is_tombstone, ..none };
                    }
                }
            }
            scan.blocks.insert(block, found);
        }
        for (block, found) in &mut scan.blocks {
            for page in written_pages(image, *block) {
                let sequence = contents.oob(page.0).sequence;
                for logical in named(contents, page).into_iter().flat_map(Range::pages) {
                    let best = &mut scan.newest[logical.index()];
                    if best.sequence == sequence {
                        found.newest.push((page, logical));
                        best.holders += 1;
                    }
                }
            }
        }
        scan
    }

    /// Chooses a page for each newest version.
    fn choose(&mut self) {
        let mut by_logical: BTreeMap<Lbn, Vec<BlockId>> = BTreeMap::new();
        for (block, found) in &self.blocks {
            if let Some(lbn) = found.lbn.filter(|_| !found.mixed && found.in_place && !found.newest.is_empty()) {
                by_logical.entry(lbn).or_default().push(*block);
            }
        }
        for (lbn, mut blocks) in by_logical {
            let newest = self.lbns.pages_of(lbn).filter(|logical| self.newest[logical.index()].holders > 0).count();
            let complete = blocks.iter().find(|block| self.blocks[block].newest.len() == newest);
            if let Some(&complete) = complete {
                self.take(complete);
                continue;
            }
            blocks.sort_by_key(|block| self.blocks[block].newest.len());
            for block in blocks {
                let Some(found) = self.blocks.get_mut(&block) else { continue };
                if found.newest.iter().all(|(_, logical)| self.newest[logical.index()].holders > 1) {
                    for (_, logical) in std::mem::take(&mut found.newest) {
                        self.newest[logical.index()].holders -= 1;
                    }
                }
            }
        }
        // Of what is still there twice, the block written last keeps it.
        let mut order: Vec<BlockId> = self.blocks.keys().copied().collect();
        order.sort_by_key(|block| Reverse(self.blocks[block].sequence));
        for block in order {
            self.take(block);
        }
    }

    /// A block's newest pages are chosen, where none was.
    fn take(&mut self, block: BlockId) {
        for (page, logical) in &self.blocks[&block].newest {
            self.newest[logical.index()].chosen.get_or_insert(*page);
        }
    }

    /// Fills the map from what was chosen.
    fn fill_map(&self, Tables { pages, trims, .. }: &mut Tables, contents: &Contents) {
        for (logical, newest) in (0..).map(Lpn).zip(&self.newest) {
            let Some(page) = newest.chosen else { continue };
            if newest.is_tombstone {
                let range = named(contents, page).expect("a tombstone says what it names");
                trims.restore(pages, logical, page, range);
            } else {
                pages.place(logical, page);
            }
        }
    }

    /// Finds a use for each block that is not erased; returns the shared log blocks, oldest first.
    /// 1. A block without a valid page is garbage.
    /// 2. A block with pages of several logical blocks is a shared log block. So is a block out of place, where the
    ///    scheme has shared log blocks.
    /// 3. Of the blocks of one logical block, the first in place is its data block: that with most valid pages.
    /// 4. The next one is its log block, while log blocks are left and the scheme can use it.
    /// 5. All others are odd: their pages are merged as soon as there is room.
    fn give_roles<S: Scheme>(
        &self,
        Tables { pages, blocks, jobs, settings, .. }: &mut Tables,
        image: &FlashState,
    ) -> Vec<BlockId> {
        let mut by_logical: BTreeMap<Lbn, Vec<(BlockId, &Found)>> = BTreeMap::new();
        let mut shared = Vec::new();
        for (&block, found) in &self.blocks {
            if pages.is_empty(block) {
                blocks.restore(block, Role::Garbage, true);
                continue;
            }
            if let Some(lbn) = found.lbn.filter(|_| !found.mixed && (found.in_place || !S::SHARED)) {
                by_logical.entry(lbn).or_default().push((block, found));
            } else {
                blocks.restore(block, Role::Shared, false);
                shared.push((found.sequence, block));
            }
        }
        let limit = S::own_logs(settings.most_logs());
        for (lbn, mut found) in by_logical {
            // The data block first: in place, with most pages still valid.
            found.sort_by_key(|(block, found)| {
                (!found.in_place, Reverse(pages.blocks().valid_count(*block)), image.block(*block).done)
            });
            for (block, Found { in_place, .. }) in found {
                let may_be_log = blocks.table.log(lbn).is_none() && blocks.table.logs() < limit;
                let role = if *in_place && blocks.table.data(lbn).is_none() {
                    Role::Data(lbn)
                } else if may_be_log && (*in_place || !S::IN_PLACE) {
                    Role::Log(lbn)
                } else {
                    jobs.rescue(lbn, None);
                    Role::Odd(lbn)
                };
                blocks.restore(block, role, *in_place);
            }
        }
        shared.sort_unstable();
        shared.into_iter().map(|(_, block)| block).collect()
    }
}
