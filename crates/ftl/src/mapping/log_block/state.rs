//! Uses of blocks, the pool of free ones, invariants, report, snapshot.

use super::trim::Tombstone;
use super::{LogMap, NONE, Scheme, TRIMMED, UNMAPPED};
use crate::alloc::{Order, plane_order};
use crate::blocks::BlockTable;
use layer::{LayerReport, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{FlashState, PageKind};
use std::collections::VecDeque;
use units::{BlockId, Geometry, Ppn};

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Role {
    /// Erased and in the pool.
    Free,
    /// Data block of a logical block.
    Data,
    /// Log block of one logical block.
    Log,
    /// Log block shared by logical blocks.
    Shared,
    /// Being filled by a full merge.
    Target,
    /// To be merged away.
    Odd,
    /// Without valid pages, to be erased.
    Garbage,
    /// Its erase was issued.
    Erasing,
    /// Unusable.
    Bad,
}

const ROLES: [Role; 9] =
    [Role::Free, Role::Data, Role::Log, Role::Shared, Role::Target, Role::Odd, Role::Garbage, Role::Erasing, Role::Bad];

/// Free blocks: first in, first out within a plane; planes in turn.
#[derive(Clone, Debug)]
pub(super) struct FreePool {
    planes: Vec<VecDeque<u32>>,
    order: Vec<u32>,
    turn: usize,
    count: u32,
}

impl FreePool {
    pub fn new(geometry: &Geometry, order: Order) -> Self {
        let planes = vec![VecDeque::new(); geometry.planes() as usize];
        Self { planes, order: plane_order(geometry, &order), turn: 0, count: 0 }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.count
    }

    pub fn push(&mut self, geometry: &Geometry, block: BlockId) {
        self.planes[geometry.lane_of(block) as usize].push_back(block.0);
        self.count += 1;
    }

    /// A block of the next plane that has one.
    pub fn take(&mut self) -> Option<BlockId> {
        for _ in 0..self.order.len() {
            let plane = self.order[self.turn] as usize;
            self.turn = (self.turn + 1) % self.order.len();
            if let Some(block) = self.planes[plane].pop_front() {
                self.count -= 1;
                return Some(BlockId(block));
            }
        }
        None
    }

    /// The block for which `wear` is largest.
    pub fn take_worn(&mut self, wear: impl Fn(BlockId) -> u32) -> Option<BlockId> {
        let worn = self.blocks().max_by_key(|block| wear(BlockId(*block)))?;
        self.planes.iter_mut().for_each(|plane| plane.retain(|block| *block != worn));
        self.count -= 1;
        Some(BlockId(worn))
    }

    /// The blocks, plane by plane in their order.
    fn blocks(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.planes.iter().flatten().copied()
    }
}

impl<S: Scheme> LogMap<S> {
    /// Every invariant of the mapping.
    pub(super) fn check_laws(&self, state: &FlashState) -> Result<(), String> {
        let valid = self.blocks.check()?;
        let mut mapped = 0_u64;
        let mut live = std::collections::BTreeMap::new();
        for (logical, &entry) in self.map.iter().enumerate() {
            if entry == UNMAPPED {
                continue;
            }
            let page = Ppn(entry & !TRIMMED);
            let row = state.block(self.geometry.block_of(page));
            if self.geometry.page_in_block(page) >= u32::from(row.issued) {
                return Err(format!("logical page {logical} maps to page {page}, never programmed"));
            }
            if entry & TRIMMED != 0 {
                *live.entry(page.0).or_insert(0_u32) += 1;
                continue;
            }
            mapped += 1;
            if !self.blocks.is_valid(page) || self.back[page.index()] != logical as u32 {
                return Err(format!("logical page {logical} maps to page {page}, which is not its own"));
            }
            self.check_oob(state, logical as u32, page)?;
        }
        for (page, tombstone) in &self.tombstones {
            let named = live.remove(page).unwrap_or(0);
            let is_valid = self.blocks.is_valid(Ppn(*page));
            if named != tombstone.live || is_valid != (named > 0) {
                return Err(format!("tombstone at page {page} counts {} pages, the map names {named}", tombstone.live));
            }
            mapped += u64::from(named > 0);
        }
        if let Some((page, _)) = live.first_key_value() {
            return Err(format!("the map names page {page} as a tombstone, which it is not"));
        }
        if valid != mapped {
            return Err(format!("{valid} valid pages, but {mapped} mapped pages and tombstones"));
        }
        self.check_blocks(state)?;
        let list = self.links.check(&self.logs)?;
        let logs = self.log.iter().filter(|block| **block != NONE).count();
        if list.len() != logs || list.iter().any(|lbn| self.log[*lbn as usize] == NONE) {
            return Err(format!("{} logical blocks are listed with a log block, {logs} have one", list.len()));
        }
        let limit = self.settings.log_blocks.or(S::DEFAULT_LOGS).unwrap_or(u32::MAX);
        if logs as u32 > S::own_logs(limit) {
            return Err(format!("{logs} log blocks, but at most {limit}"));
        }
        Ok(())
    }

    fn check_oob(&self, state: &FlashState, logical: u32, page: Ppn) -> Result<(), String> {
        let Some(contents) = state.contents().filter(|_| self.is_on_flash(state, page)) else { return Ok(()) };
        let oob = contents.oob(page.0);
        if oob.logical != logical || !matches!(oob.kind, PageKind::Data | PageKind::Lost) {
            return Err(format!("logical page {logical} maps to page {page}, which holds {oob:?}"));
        }
        Ok(())
    }

    /// Each block is what its role says.
    fn check_blocks(&self, state: &FlashState) -> Result<(), String> {
        let mut counts = [0_u32; ROLES.len()];
        let shared = self.scheme.shared();
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let (role, lbn) = (self.roles[block.index()], self.owners[block.index()]);
            let (row, valid) = (state.block(block), self.blocks.valid_count(block));
            counts[role as usize] += 1;
            let of = |table: &[u32]| table.get(lbn as usize) == Some(&block.0);
            let fits = match role {
                Role::Free => valid == 0 && row.issued == 0 && !row.is_bad(),
                Role::Data => of(&self.data) && self.in_place[block.index()] && self.holds(block, lbn, true),
                Role::Log => of(&self.log) && self.holds(block, lbn, self.in_place[block.index()]),
                Role::Shared => shared.contains(&block),
                Role::Target => self.targets().any(|target| target == (lbn, block)),
                Role::Odd => {
                    self.rescues.contains_key(&lbn) && self.odd.contains(&block) && self.holds(block, lbn, false)
                }
                Role::Garbage => valid == 0 && self.garbage.contains(&block),
                Role::Erasing => valid == 0,
                Role::Bad => valid == 0 && row.is_bad(),
            };
            if !fits {
                return Err(format!("block {block} of logical block {lbn} is no {role:?} ({valid} valid pages)"));
            }
        }
        let of = |role: Role| counts[role as usize];
        let some = |table: &[u32]| table.iter().filter(|block| **block != NONE).count() as u32;
        let targets = self.targets().filter(|(_, target)| self.roles[target.index()] == Role::Target);
        let expected = [
            (Role::Free, self.free.len()),
            (Role::Data, some(&self.data)),
            (Role::Log, some(&self.log)),
            (Role::Shared, shared.len() as u32),
            (Role::Target, targets.count() as u32),
            (Role::Odd, self.odd.len() as u32),
            (Role::Garbage, self.garbage.len() as u32),
            (Role::Erasing, self.erasing),
        ];
        match expected.iter().find(|(role, count)| of(*role) != *count) {
            Some((role, count)) => Err(format!("{} blocks are {role:?}, {count} are known", of(*role))),
            None => Ok(()),
        }
    }

    /// Logical blocks being merged or written anew, and where to.
    fn targets(&self) -> impl Iterator<Item = (u32, BlockId)> + use<'_, S> {
        let rewrites = self.rewrites.iter().map(|rewrite| (rewrite.lbn, rewrite.target));
        rewrites.chain(self.merges.iter().flatten().map(|merge| (merge.lbn, merge.target)))
    }

    /// Whether all valid pages of a block are of one logical block, and at their own offsets.
    fn holds(&self, block: BlockId, lbn: u32, in_place: bool) -> bool {
        self.blocks.valid_pages_of(block).all(|page| {
            let back = self.back[page as usize];
            let Some(logical) =
                (if back & TRIMMED == 0 { Some(back) } else { self.tombstones.get(&page).map(|t| t.first) })
            else {
                return false;
            };
            let own = back & TRIMMED != 0 || logical % self.pages == self.geometry.page_in_block(Ppn(page));
            logical / self.pages == lbn && (own || !in_place)
        })
    }

    pub(super) fn layer_report(&self) -> LayerReport {
        let mut report = LayerReport { name: "ftl", ..LayerReport::default() };
        let logs = u64::from(self.logs.len()) + self.scheme.shared().len() as u64;
        let spare = self.good.saturating_sub(self.data.len() as u32 + self.settings.merge_blocks);
        let most = self.settings.log_blocks.or(S::DEFAULT_LOGS).unwrap_or(u32::MAX).min(spare);
        report.ram_bytes = self.data.len() as u64 * 4 + S::log_bytes(u64::from(most), u64::from(self.pages));
        report.merges = self.counters.merges;
        let [switch, partial, full] = self.counters.erases;
        let live = self.tombstones.values().filter(|tombstone| tombstone.live > 0).count() as u64;
        report.counters.extend([
            ("log_blocks", logs),
            ("merge_copies", self.counters.copies),
            ("merge_erases_switch", switch),
            ("merge_erases_partial", partial),
            ("merge_erases_full", full),
            ("wear_levelled_blocks", self.counters.levelled),
            ("retired_blocks", u64::from(self.retired_blocks)),
            ("trimmed_pages", self.trimmed_pages),
            ("tombstone_pages", live),
        ]);
        report.valid_pages =
            (0..self.geometry.blocks()).map(|block| self.blocks.valid_count(BlockId(block)) as u16).collect();
        report
    }

    pub(super) fn save_state(&self, writer: &mut SnapshotWriter) {
        assert!(
            self.active == 0 && self.erasing == 0 && self.rewrites.is_empty(),
            "a drive is drained before its state is saved"
        );
        writer.put_u32("log.map", self.map.iter().copied());
        writer.put_u32("log.back", self.back.iter().copied());
        self.blocks.save(writer);
        writer.put_u8("log.roles", self.roles.iter().map(|role| *role as u8));
        writer.put_u32("log.owners", self.owners.iter().copied());
        writer.put_u8("log.in_place", self.in_place.iter().map(|in_place| u8::from(*in_place)));
        let owners: Vec<u32> = self.links.oldest_first(&self.logs).collect();
        writer.put_u32("log.logs", owners.into_iter());
        let free: Vec<u32> = self.free.blocks().collect();
        writer.put_u32("log.free", free.into_iter());
        writer.put_u32("log.shared", self.scheme.shared().iter().map(|block| block.0));
        writer.put_u32("log.failing", self.failing.iter().map(|block| block.0).collect::<Vec<_>>().into_iter());
        writer.put_u32("log.rescues", self.rescues.keys().copied().collect::<Vec<_>>().into_iter());
        let tombstones = self.tombstones.iter().flat_map(|(page, t)| [*page, t.first, t.count, t.live]);
        writer.put_u32("log.tombstones", tombstones.collect::<Vec<_>>().into_iter());
        let numbers = [self.sequence, self.free.turn as u64, u64::from(self.retired_blocks), u64::from(self.freed)];
        writer.put_u64("log.numbers", numbers.into_iter());
        writer.put_u64("log.scheme", self.scheme.save().into_iter());
    }

    pub(super) fn load_state(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let unfit = |problem: &str| SnapshotError::Unfit { section: "log", problem: problem.to_owned() };
        let (map, back) = (reader.get_u32("log.map")?, reader.get_u32("log.back")?);
        if map.len() != self.map.len() || back.len() != self.back.len() {
            return Err(unfit("the number of pages differs"));
        }
        let mut blocks = BlockTable::new(self.geometry);
        blocks.load(reader)?;
        let (roles, owners) = (reader.get_u8("log.roles")?, reader.get_u32("log.owners")?);
        let in_place = reader.get_u8("log.in_place")?;
        let logs = reader.get_u32("log.logs")?;
        let free = reader.get_u32("log.free")?;
        let shared = reader.get_u32("log.shared")?;
        let failing = reader.get_u32("log.failing")?;
        let rescues = reader.get_u32("log.rescues")?;
        let tombstones = reader.get_u32("log.tombstones")?;
        let numbers = reader.get_u64("log.numbers")?;
        let own = reader.get_u64("log.scheme")?;
        let count = self.roles.len();
        let lists = [&free, &shared, &failing];
        let known = roles.iter().all(|role| usize::from(*role) < ROLES.len())
            && lists.iter().all(|list| list.iter().all(|block| (*block as usize) < count))
            && logs.iter().chain(&rescues).all(|lbn| (*lbn as usize) < self.data.len());
        if roles.len() != count || owners.len() != count || in_place.len() != count || !known {
            return Err(unfit("the number of blocks differs"));
        }
        let &[sequence, turn, retired, freed] = numbers.as_slice() else { return Err(unfit("counters are missing")) };
        self.map.copy_from_slice(&map);
        self.back.copy_from_slice(&back);
        self.blocks = blocks;
        self.roles = roles.iter().map(|role| ROLES[usize::from(*role)]).collect();
        self.owners = owners;
        self.in_place = in_place.iter().map(|in_place| *in_place == 1).collect();
        self.take_roles();
        for lbn in logs {
            self.links.push_front(&mut self.logs, lbn);
        }
        self.free.planes.iter_mut().for_each(VecDeque::clear);
        (self.free.count, self.free.turn) = (0, turn as usize % self.free.order.len());
        for block in free {
            self.free.push(&self.geometry, BlockId(block));
        }
        self.scheme.adopt(shared.into_iter().map(BlockId).collect());
        self.scheme.load(&own);
        self.failing = failing.into_iter().map(BlockId).collect();
        for lbn in rescues {
            self.rescue(lbn);
        }
        self.tombstones = tombstones
            .chunks_exact(4)
            .map(|t| (t[0], Tombstone { first: t[1], count: t[2], live: t[3], held: Vec::new() }))
            .collect();
        let unusable = self.roles.iter().filter(|role| **role == Role::Bad).count() + self.failing.len();
        self.good = (count - unusable) as u32;
        (self.sequence, self.retired_blocks, self.freed) = (sequence, retired as u32, freed as u32);
        Ok(())
    }

    /// Fills the tables by logical block from the roles of blocks.
    fn take_roles(&mut self) {
        for block in 0..self.roles.len() {
            let lbn = self.owners[block] as usize;
            match self.roles[block] {
                Role::Data => self.data[lbn] = block as u32,
                Role::Log => self.log[lbn] = block as u32,
                Role::Odd => self.odd.push(BlockId(block as u32)),
                Role::Garbage => self.garbage.push(BlockId(block as u32)),
                _ => {}
            }
        }
    }
}
