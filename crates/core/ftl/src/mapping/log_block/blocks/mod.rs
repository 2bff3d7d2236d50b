//! The use of each block, from the pool of free blocks through its use and back by an erase.
//!
//! *Protects*: a block has one role, and the table by logical block, the pool and the lists name exactly the blocks
//! of their role. Only this file writes any of them.

mod pool;
mod table;

use super::lbn::{Lbn, LogicalBlocks};
use super::merge::Kind;
use super::parameters::Settings;
use super::{AWAITED, NOBODY, unfit};
use crate::FtlContext;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, FlashState, Outcome, Owner};
use pool::FreePool;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;
use units::{BlockId, Cause, Geometry, Ppn};

/// The use of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Erased and in the pool.
    Free,
    /// Data block of a logical block.
    Data(Lbn),
    /// Log block of one logical block.
    Log(Lbn),
    /// Log block shared by logical blocks.
    Shared,
    /// Being filled by a full merge, or with a logical block written anew.
    Target(Lbn),
    /// To be merged away.
    Odd(Lbn),
    /// Without valid pages, to be erased.
    Garbage,
    /// Its erase was issued.
    Erasing,
    Bad,
}

/// The roles by their number in a snapshot; those of no logical block ignore it.
const ROLES: [fn(Lbn) -> Role; 9] = [
    |_| Role::Free,
    Role::Data,
    Role::Log,
    |_| Role::Shared,
    Role::Target,
    Role::Odd,
    |_| Role::Garbage,
    |_| Role::Erasing,
    |_| Role::Bad,
];

impl Role {
    /// The logical block it is for.
    fn lbn(self) -> Option<Lbn> {
        match self {
            Self::Data(lbn) | Self::Log(lbn) | Self::Target(lbn) | Self::Odd(lbn) => Some(lbn),
            _ => None,
        }
    }

    fn number(self) -> usize {
        let lbn = self.lbn().unwrap_or(NOBODY);
        ROLES.iter().position(|role| role(lbn) == self).expect("every role is listed")
    }
}

pub(in crate::mapping) struct Blocks {
    geometry: Geometry,
    owner: Owner,
    /// Blocks kept for merges where programs may fail.
    kept: u32,
    roles: Vec<Role>,
    /// All pages of the block are at their own offsets.
    in_place: Vec<bool>,
    pub table: Table,
    free: FreePool,
    /// Blocks beyond data and log block of their logical block.
    odd: Vec<BlockId>,
    /// Blocks without valid pages that are yet to be erased.
    garbage: Vec<BlockId>,
    /// Blocks in which a program failed, not retired yet.
    failing: BTreeSet<BlockId>,
    erasing: u32,
    /// Blocks that merges replaced and that are not erased yet, by kind.
    merged_away: BTreeMap<BlockId, Kind>,
    /// Blocks that merges had erased: switch, partial, full.
    merge_erases: [u64; 3],
    /// Blocks that are bad.
    bad: u32,
    retired: u32,
    /// An erase ended, which may give room.
    has_ended_erase: bool,
}

impl Blocks {
    pub(super) fn new(context: &FtlContext<'_>, settings: &Settings, lbns: LogicalBlocks, state: &FlashState) -> Self {
        let geometry = context.geometry;
        let (mut roles, mut free) = (Vec::new(), FreePool::new(geometry, settings.order));
        for block in (0..geometry.blocks()).map(BlockId) {
            let row = state.block(block);
            roles.push(if row.is_bad() { Role::Bad } else { Role::Free });
            if !row.is_bad() && row.done == 0 {
                free.push(block);
            }
        }
        Self {
            geometry,
            owner: context.owner,
            kept: settings.merge_blocks,
            bad: roles.iter().filter(|role| **role == Role::Bad).count() as u32,
            in_place: vec![true; roles.len()],
            roles,
            table: Table::new(lbns.count()),
            free,
            odd: Vec::new(),
            garbage: Vec::new(),
            failing: BTreeSet::new(),
            erasing: 0,
            merged_away: BTreeMap::new(),
            merge_erases: [0; 3],
            retired: 0,
            has_ended_erase: false,
        }
    }

    /// A log block is written to.
    #[inline]
    pub fn touch_log(&mut self, lbn: Lbn) {
        self.table.touch_log(lbn);
    }

    /// The next page of a block, if it has one.
    #[inline]
    pub fn next_page<F: Flash>(&self, flash: &F, block: BlockId) -> Option<Ppn> {
        let row = flash.state().block(block);
        let next = u32::from(row.issued);
        (next < self.geometry.pages_per_block && !row.has_failed()).then(|| self.geometry.page_at(block, next))
    }

    /// Good blocks beyond a data block for each logical block and `kept` for merges.
    pub(super) fn spare(&self, kept: u32) -> u32 {
        let good = self.roles.len() as u32 - self.bad - self.failing.len() as u32;
        good.saturating_sub(self.table.len() + kept)
    }

    /// Whether there is a free block that need not stay for a merge.
    pub(super) fn has_free<F: Flash>(&self, flash: &F) -> bool {
        self.free.len() > if flash.state().expects_failures() { self.kept } else { 1 }
    }

    fn assign(&mut self, block: BlockId, role: Role) {
        self.roles[block.index()] = role;
        self.in_place[block.index()] = true;
    }

    /// A free block for `role`, unless it must stay for a merge.
    fn open<F: Flash>(&mut self, flash: &F, role: Role) -> Option<BlockId> {
        let block = self.has_free(flash).then(|| self.free.take()).flatten()?;
        self.assign(block, role);
        Some(block)
    }

    /// Gives a logical block a data block.
    pub(super) fn open_data<F: Flash>(&mut self, flash: &F, lbn: Lbn) -> Option<BlockId> {
        let block = self.open(flash, Role::Data(lbn))?;
        self.table.set_data(lbn, Some(block));
        Some(block)
    }

    /// Gives a logical block a log block of its own. `None`: there is none to give now.
    pub fn open_log<F: Flash>(&mut self, flash: &F, lbn: Lbn) -> Option<BlockId> {
        let block = self.open(flash, Role::Log(lbn))?;
        self.table.attach_log(lbn, block);
        Some(block)
    }

    /// A free block for logs shared by logical blocks.
    pub fn open_shared<F: Flash>(&mut self, flash: &F) -> Option<BlockId> {
        self.open(flash, Role::Shared)
    }

    /// A free block to write a logical block anew.
    pub(super) fn open_target<F: Flash>(&mut self, flash: &F, lbn: Lbn) -> Option<BlockId> {
        self.open(flash, Role::Target(lbn))
    }

    /// A block to merge a logical block into: the last one will do; the most worn one, if it need not stay, for
    /// levelling.
    pub(super) fn take_target<F: Flash>(&mut self, flash: &F, lbn: Lbn, kind: Kind) -> Option<BlockId> {
        let target = if kind == Kind::Level {
            let worn = |block| flash.state().block(block).erases;
            self.has_free(flash).then(|| self.free.take_worn(worn)).flatten()?
        } else {
            self.free.take()?
        };
        self.assign(target, Role::Target(lbn));
        Some(target)
    }

    /// Notes at which offset a block is programmed with the page whose own offset is `own`.
    #[inline]
    pub(super) fn note_place(&mut self, page: Ppn, own: u32) {
        if self.geometry.page_in_block(page) != own {
            self.in_place[self.geometry.block_of(page).index()] = false;
        }
    }

    /// Whether all pages of a block are at their own offsets.
    pub(super) fn is_in_place(&self, block: BlockId) -> bool {
        self.in_place[block.index()]
    }

    /// Whether a logical block is merged or written into a block that takes pages.
    pub(super) fn is_target(&self, block: BlockId, lbn: Lbn) -> bool {
        self.roles[block.index()] == Role::Target(lbn)
    }

    /// The log block of a logical block becomes its data block; returns the one before.
    pub(super) fn log_becomes_data(&mut self, lbn: Lbn) -> Option<BlockId> {
        let log = self.table.detach_log(lbn).expect("it has a log block");
        self.target_becomes_data(lbn, log)
    }

    /// A block becomes the data block of its logical block; returns the one before.
    pub(super) fn target_becomes_data(&mut self, lbn: Lbn, target: BlockId) -> Option<BlockId> {
        self.roles[target.index()] = Role::Data(lbn);
        self.table.set_data(lbn, Some(target))
    }

    /// Takes a log block away from its logical block, to be erased.
    pub(super) fn detach_log(&mut self, lbn: Lbn) -> Option<BlockId> {
        self.table.detach_log(lbn)
    }

    /// Whether a logical block has blocks beyond its data and log block.
    pub(super) fn has_odd(&self, lbn: Lbn) -> bool {
        self.odd.iter().any(|block| self.roles[block.index()] == Role::Odd(lbn))
    }

    /// Takes one of those away, to be erased.
    pub(super) fn take_odd(&mut self, lbn: Lbn) -> Option<BlockId> {
        let at = self.odd.iter().position(|block| self.roles[block.index()] == Role::Odd(lbn))?;
        Some(self.odd.swap_remove(at))
    }

    /// A block is one more of its logical block, to be merged away.
    pub(super) fn make_odd(&mut self, block: BlockId, lbn: Lbn) {
        self.roles[block.index()] = Role::Odd(lbn);
        self.odd.push(block);
    }

    /// Nothing more is programmed into a block. Returns its logical block, if that must be merged therefore; a shared
    /// log block is reclaimed in its turn.
    pub(super) fn give_up(&mut self, block: BlockId, has_failed: bool) -> Option<Lbn> {
        if has_failed {
            self.failing.insert(block);
        }
        let lbn = match self.roles[block.index()] {
            Role::Data(lbn) => {
                self.table.set_data(lbn, None);
                lbn
            }
            Role::Log(lbn) => {
                self.table.detach_log(lbn);
                lbn
            }
            Role::Target(lbn) => lbn,
            _ => return None,
        };
        self.make_odd(block, lbn);
        Some(lbn)
    }

    /// Erases a block that a merge replaced.
    pub(super) fn erase_merged<F: Flash>(&mut self, flash: &mut F, block: BlockId, kind: Kind) {
        if kind != Kind::Level {
            self.merged_away.insert(block, kind);
        }
        self.erase(flash, block, kind.cause());
    }

    /// Erases a block without valid pages, as soon as nothing pins it. Programs of it that nobody needs any
    /// more may still be on their way to the die; no program enters a block whose erase was issued, so they
    /// go first.
    fn erase<F: Flash>(&mut self, flash: &mut F, block: BlockId, cause: Cause) {
        let row = flash.state().block(block);
        if row.done != row.issued && !row.has_failed() {
            let last = self.geometry.page_at(block, u32::from(row.issued) - 1);
            self.assign(block, Role::Garbage);
            self.garbage.push(block);
            flash.await_program(self.owner, last, AWAITED | NOBODY.0);
            return;
        }
        self.assign(block, Role::Erasing);
        self.erasing += 1;
        if flash.erase(self.owner, block, cause) == Outcome::Done {
            self.erased(block);
        }
    }

    /// Erases what could not be erased before.
    #[cold]
    pub(super) fn erase_garbage<F: Flash>(&mut self, flash: &mut F) {
        for block in std::mem::take(&mut self.garbage) {
            let row = flash.state().block(block);
            if row.done == row.issued || row.has_failed() {
                self.erase(flash, block, Cause::Merge);
            } else {
                self.garbage.push(block);
            }
        }
    }

    #[inline]
    pub(super) fn has_garbage(&self) -> bool {
        !self.garbage.is_empty()
    }

    /// Whether blocks are on their way back to the pool.
    pub(super) fn is_erasing(&self) -> bool {
        self.erasing > 0 || self.has_garbage()
    }

    /// A block was erased.
    pub(super) fn erased(&mut self, block: BlockId) {
        self.erasing -= 1;
        if let Some(kind) = self.merged_away.remove(&block) {
            self.merge_erases[kind as usize] += 1;
        }
        self.assign(block, Role::Free);
        self.free.free(block);
        self.has_ended_erase = true;
    }

    /// The erase of a block failed: it is bad now.
    pub(super) fn retire(&mut self, block: BlockId) {
        self.erasing -= 1;
        self.merged_away.remove(&block);
        self.failing.remove(&block);
        self.bad += 1;
        self.assign(block, Role::Bad);
        self.retired += 1;
        self.has_ended_erase = true;
    }

    /// Whether an erase has ended since this was asked.
    pub(super) fn take_ended_erase(&mut self) -> bool {
        std::mem::take(&mut self.has_ended_erase)
    }

    /// Whether enough blocks were freed to look at the spread of wear.
    #[inline]
    pub(super) fn is_to_level(&self) -> bool {
        self.free.is_to_level()
    }

    /// Wear was looked at.
    pub(super) fn looked_at_wear(&mut self) {
        self.free.looked_at_wear();
    }

    /// Blocks that merges had erased, by kind, and blocks retired.
    pub(super) fn counts(&self) -> ([u64; 3], u32) {
        (self.merge_erases, self.retired)
    }

    pub(super) fn reset_counters(&mut self) {
        self.merge_erases = [0; 3];
    }

    /// A block has this role, as a scan of flash or a snapshot says.
    pub(super) fn restore(&mut self, block: BlockId, role: Role, in_place: bool) {
        self.roles[block.index()] = role;
        self.in_place[block.index()] = in_place;
        match role {
            Role::Data(lbn) => {
                self.table.set_data(lbn, Some(block));
            }
            Role::Log(lbn) => self.table.attach_log(lbn, block),
            Role::Odd(_) => self.odd.push(block),
            Role::Garbage => self.garbage.push(block),
            _ => {}
        }
    }

    /// The contents of each block agree with its role. `fits`: whether its valid pages suit the role; `shared`,
    /// `targets`: blocks that others know.
    ///
    /// # Errors
    /// The first block that is not, in words.
    pub(super) fn check(
        &self,
        state: &FlashState,
        fits: impl Fn(BlockId, Role) -> bool,
        shared: usize,
        targets: usize,
    ) -> Result<(), String> {
        let mut counts = [0; ROLES.len()];
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let (role, row) = (self.roles[block.index()], state.block(block));
            counts[role.number()] += 1;
            let is_listed = match role {
                Role::Free => row.issued == 0 && !row.is_bad(),
                Role::Data(lbn) => self.table.data(lbn) == Some(block) && self.is_in_place(block),
                Role::Log(lbn) => self.table.log(lbn) == Some(block),
                Role::Odd(_) => self.odd.contains(&block),
                Role::Garbage => self.garbage.contains(&block),
                Role::Bad => row.is_bad(),
                Role::Shared | Role::Target(_) | Role::Erasing => true,
            };
            if !is_listed || !fits(block, role) {
                return Err(format!("block {block} is no {role:?}"));
            }
        }
        let (data, logs) = self.table.check()?;
        let free = self.free.len();
        let lists = [free, data, logs, shared as u32, targets as u32, self.odd.len() as u32];
        let rest = [self.garbage.len() as u32, self.erasing, self.bad];
        let mut expected = [0; ROLES.len()];
        lists.into_iter().chain(rest).zip(&mut expected).for_each(|(count, place)| *place = count as usize);
        match (0..ROLES.len()).find(|role| counts[*role] != expected[*role]) {
            Some(role) => {
                let [have, known] = [counts[role], expected[role]];
                Err(format!("{have} blocks are {:?}, {known} are known", ROLES[role](NOBODY)))
            }
            None => Ok(()),
        }
    }

    /// `shared`: shared log blocks, oldest first.
    pub(super) fn save(&self, writer: &mut SnapshotWriter, shared: &[BlockId]) {
        assert!(self.erasing == 0, "a drive is drained before its state is saved");
        writer.put("log.roles", self.roles.iter().map(|role| role.number() as u8));
        writer.put("log.owners", self.roles.iter().map(|role| role.lbn().map_or(u32::MAX, |lbn| lbn.0)));
        writer.put("log.in_place", self.in_place.iter().copied());
        writer.put("log.logs", self.table.log_owners().map(|lbn| lbn.0));
        writer.put("log.free", self.free.blocks());
        writer.put("log.shared", shared.iter().copied());
        writer.put("log.failing", self.failing.iter().copied());
    }

    /// Reads what [`Blocks::save`] wrote; returns the shared log blocks.
    pub(super) fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<Vec<BlockId>, SnapshotError> {
        let (roles, owners): (Vec<u8>, Vec<u32>) = (reader.get("log.roles")?, reader.get("log.owners")?);
        let (in_place, logs): (Vec<bool>, Vec<u32>) = (reader.get("log.in_place")?, reader.get("log.logs")?);
        let count = self.roles.len();
        let mut list = |section| {
            let blocks: Vec<BlockId> = reader.get(section)?;
            let is_known = blocks.iter().all(|block| block.index() < count);
            if is_known { Ok(blocks) } else { Err(unfit("the number of blocks differs")) }
        };
        let (free, shared, failing) = (list("log.free")?, list("log.shared")?, list("log.failing")?);
        if roles.len() != count || owners.len() != count || in_place.len() != count {
            return Err(unfit("the number of blocks differs"));
        }
        for (block, (number, owner)) in (0..).map(BlockId).zip(roles.into_iter().zip(owners)) {
            let role = ROLES.get(usize::from(number)).map(|role| role(Lbn(owner)));
            let role = role.filter(|role| role.lbn().is_none_or(|lbn| lbn.0 < self.table.len()));
            self.restore(block, role.ok_or_else(|| unfit("a block has no such use"))?, in_place[block.index()]);
        }
        for lbn in logs {
            if lbn >= self.table.len() || self.table.log(Lbn(lbn)).is_none() {
                return Err(unfit("a log block is missing"));
            }
            self.touch_log(Lbn(lbn));
        }
        self.free.load(free.into_iter());
        self.failing = failing.into_iter().collect();
        self.bad = self.roles.iter().filter(|role| **role == Role::Bad).count() as u32;
        Ok(shared)
    }

    /// Numbers for a snapshot: whose turn it is in the pool, blocks retired, blocks freed since wear was looked at.
    pub(super) fn numbers(&self) -> [u64; 3] {
        let [turn, freed] = self.free.state();
        [turn, u64::from(self.retired), freed]
    }

    pub(super) fn load_numbers(&mut self, [turn, retired, freed]: [u64; 3]) {
        self.free.load_state([turn, freed]);
        self.retired = retired as u32;
    }
}
