//! Rebuilding the map from out-of-band areas after a power cut.
//!
//! The newest sequence number of each logical page wins, in data pages and tombstones alike. Where a merge was
//! under way pages exist twice, with one number. If one block in place holds all newest pages of a logical
//! block, it is the data block. Otherwise the blocks that others make superfluous are given up, the emptiest
//! first, so that a target does not outlive the merge that was filling it and each cut gives back the free
//! block that was taken. What is then left beyond a data and a log block is merged before the next write.

use super::state::Role;
use super::trim::{Tombstone, decode};
use super::{LogMap, NONE, Scheme, TRIMMED, UNMAPPED};
use crate::mapping::common::{written_blocks, written_pages};
use crate::mapping::{FtlContext, RecoverError};
use nand::{Contents, FlashState, PageKind};
use std::collections::BTreeMap;
use units::{BlockId, DieId, Ppn};

/// What a block turned out to hold.
#[derive(Clone, Debug, Default)]
struct Found {
    /// The one logical block all its pages are of; `NONE` without pages.
    lbn: u32,
    mixed: bool,
    in_place: bool,
    /// Highest sequence number.
    sequence: u64,
    /// Pages with a newest version, and what they hold it of.
    newest: Vec<(u32, u32)>,
}

/// Newest version of a logical page.
#[derive(Clone, Copy)]
struct Newest {
    sequence: u64,
    /// Blocks that hold it.
    holders: u16,
    is_tombstone: bool,
    chosen: u32,
}

/// The scan of a drive.
struct Scan {
    newest: Vec<Newest>,
    blocks: BTreeMap<u32, Found>,
    pages: u32,
}

impl<S: Scheme> LogMap<S> {
    pub(super) fn recover(context: &FtlContext<'_>, image: &FlashState) -> Result<Self, RecoverError> {
        let contents = image.contents().ok_or(RecoverError::NoContents)?;
        let geometry = context.geometry;
        if let Some(die) = (0..geometry.dies()).find(|die| image.die_is_dead(DieId(*die))) {
            return Err(RecoverError::DieLost { die });
        }
        let mut ftl = LogMap::new(context, image);
        let mut scan = ftl.scan(image, contents);
        scan.choose(ftl.data.len() as u32);
        ftl.adopt(&scan, contents);
        ftl.give_roles(&scan, image);
        Ok(ftl)
    }

    /// Reads all out-of-band areas.
    fn scan(&mut self, image: &FlashState, contents: &Contents) -> Scan {
        let none = Newest { sequence: 0, holders: 0, is_tombstone: false, chosen: NONE };
        let mut scan = Scan { newest: vec![none; self.map.len()], blocks: BTreeMap::new(), pages: self.pages };
        for block in written_blocks(image) {
            let mut found = Found { lbn: NONE, in_place: true, ..Found::default() };
            for (position, page) in (0..).zip(written_pages(image, block)) {
                let oob = contents.oob(page.0);
                self.sequence = self.sequence.max(oob.sequence);
                let Some((first, count)) = named(contents, page) else { continue };
                let is_tombstone = oob.kind == PageKind::Metadata;
                // A tombstone carried along by a merge is where its first page not written since belongs.
                let offset = if is_tombstone { position } else { first % self.pages };
                found.note(first / self.pages, offset == position, oob.sequence);
                for newest in &mut scan.newest[first as usize..(first + count) as usize] {
                    // A tombstone without an older version is not needed, but does no harm.
                    if oob.sequence > newest.sequence {
                        *newest = Newest { sequence: oob.sequence, is_tombstone, ..none };
                    }
                }
            }
            scan.blocks.insert(block.0, found);
        }
        for block in written_blocks(image) {
            let mut newest = Vec::new();
            for page in written_pages(image, block) {
                let Some((first, count)) = named(contents, page) else { continue };
                let sequence = contents.oob(page.0).sequence;
                for logical in first..first + count {
                    let best = &mut scan.newest[logical as usize];
                    if best.sequence == sequence {
                        newest.push((page.0, logical));
                        best.holders += 1;
                    }
                }
            }
            scan.blocks.entry(block.0).or_default().newest = newest;
        }
        scan
    }

    /// Fills the map from what was chosen.
    fn adopt(&mut self, scan: &Scan, contents: &Contents) {
        for (logical, newest) in scan.newest.iter().enumerate().filter(|(_, newest)| newest.chosen != NONE) {
            let page = Ppn(newest.chosen);
            if !newest.is_tombstone {
                self.map[logical] = page.0;
                self.back[page.index()] = logical as u32;
                self.blocks.validate(page);
                continue;
            }
            self.map[logical] = TRIMMED | page.0;
            let (first, count) = named(contents, page).expect("a tombstone says what it names");
            let fresh = || Tombstone { first, count, live: 0, held: Vec::new() };
            let tombstone = self.tombstones.entry(page.0).or_insert_with(fresh);
            tombstone.live += 1;
            if tombstone.live == 1 {
                self.back[page.index()] = TRIMMED;
                self.blocks.validate(page);
            }
        }
    }

    /// Finds a use for each block that is not erased.
    fn give_roles(&mut self, scan: &Scan, image: &FlashState) {
        let mut by_logical: BTreeMap<u32, Vec<BlockId>> = BTreeMap::new();
        let mut shared = Vec::new();
        for (&block, found) in &scan.blocks {
            let block = BlockId(block);
            if self.blocks.valid_count(block) == 0 {
                self.assign(block, Role::Garbage, NONE);
                self.garbage.push(block);
            } else if found.mixed || S::SHARED && !found.in_place {
                self.assign(block, Role::Shared, NONE);
                self.in_place[block.index()] = false;
                shared.push((found.sequence, block));
            } else {
                by_logical.entry(found.lbn).or_default().push(block);
            }
        }
        shared.sort_unstable();
        self.scheme.adopt(shared.into_iter().map(|(_, block)| block).collect());
        let limit = S::own_logs(self.settings.log_blocks.or(S::DEFAULT_LOGS).unwrap_or(u32::MAX));
        for (lbn, mut blocks) in by_logical {
            // The data block first: in place, with most pages still valid.
            blocks.sort_by_key(|block| {
                let found = &scan.blocks[&block.0];
                (!found.in_place, std::cmp::Reverse(self.blocks.valid_count(*block)), image.block(*block).done)
            });
            for block in blocks {
                let in_place = scan.blocks[&block.0].in_place;
                let logged = self.log[lbn as usize] == NONE && self.logs.len() < limit && (in_place || !S::IN_PLACE);
                if in_place && self.data[lbn as usize] == NONE {
                    self.assign(block, Role::Data, lbn);
                    self.data[lbn as usize] = block.0;
                } else if logged {
                    self.assign(block, Role::Log, lbn);
                    self.log[lbn as usize] = block.0;
                    self.links.push_front(&mut self.logs, lbn);
                } else {
                    self.assign(block, Role::Odd, lbn);
                    self.odd.push(block);
                    self.rescue(lbn);
                }
                self.in_place[block.index()] = in_place;
            }
        }
    }
}

/// First logical page and number of pages that a flash page speaks of.
fn named(contents: &Contents, page: Ppn) -> Option<(u32, u32)> {
    let oob = contents.oob(page.0);
    match oob.kind {
        PageKind::Data | PageKind::Lost => Some((oob.logical, 1)),
        PageKind::Metadata => contents.record(page.0).and_then(decode),
        PageKind::Erased | PageKind::Torn => None,
    }
}

impl Found {
    fn note(&mut self, lbn: u32, in_place: bool, sequence: u64) {
        self.mixed |= self.lbn != NONE && self.lbn != lbn;
        self.lbn = lbn;
        self.in_place &= !self.mixed && in_place;
        self.sequence = self.sequence.max(sequence);
    }
}

impl Scan {
    /// Chooses a page for each newest version.
    fn choose(&mut self, logical_blocks: u32) {
        let mut by_logical: Vec<Vec<u32>> = vec![Vec::new(); logical_blocks as usize];
        for (&block, found) in &self.blocks {
            if !found.mixed && found.in_place && !found.newest.is_empty() {
                by_logical[found.lbn as usize].push(block);
            }
        }
        for (lbn, blocks) in by_logical.iter_mut().enumerate() {
            let first = lbn * self.pages as usize;
            let end = (first + self.pages as usize).min(self.newest.len());
            let newest = self.newest[first..end].iter().filter(|newest| newest.holders > 0).count();
            let complete = blocks.iter().find(|block| self.blocks[block].newest.len() == newest);
            if let Some(&complete) = complete {
                self.take(complete);
                continue;
            }
            blocks.sort_by_key(|block| self.blocks[block].newest.len());
            for block in blocks.iter() {
                let held = &self.blocks[block].newest;
                if held.iter().all(|(_, logical)| self.newest[*logical as usize].holders > 1) {
                    for (_, logical) in std::mem::take(&mut self.blocks.entry(*block).or_default().newest) {
                        self.newest[logical as usize].holders -= 1;
                    }
                }
            }
        }
        // Of what is still there twice, the block written last keeps it.
        let mut order: Vec<u32> = self.blocks.keys().copied().collect();
        order.sort_by_key(|block| std::cmp::Reverse(self.blocks[block].sequence));
        for block in order {
            self.take(block);
        }
    }

    /// A block's newest pages are chosen, where none was.
    fn take(&mut self, block: u32) {
        for (page, logical) in &self.blocks[&block].newest {
            let newest = &mut self.newest[*logical as usize];
            if newest.chosen == NONE {
                newest.chosen = *page;
            }
        }
    }
}

const _: () = assert!(UNMAPPED == NONE);
