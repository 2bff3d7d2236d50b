//! Writes of several pages that a power cut leaves whole or not at all, without memory that outlives it.
//!
//! The versions of one write are a *group*. They have one sequence number, and each has a mark beside it in its
//! out-of-band area: which part of how many it is.
//! 1. All parts find room before the first one is written. They are programmed side by side, as without a promise.
//! 2. The pages that they replace are held until the last part is on flash.
//! 3. A write of a part of a page that an open group has written waits until that group is whole, as it would take over
//!    data of the group.
//! 4. After a power cut a part counts only if its group is whole. A group is whole if each of its parts is on flash,
//!    or is replaced by a newer version that counts, or by a tombstone.
//! 5. Parts that do not count stay on flash. The host may then write the pages whose parts are missing, and the group
//!    would look whole after the next power cut. So before the first change after a power cut, the version that counts
//!    instead of such a part is programmed again, under the number after the one of its group, which nothing else has.
//!    The oldest group comes first, and each is on flash before the next one: the programs for one would make an older
//!    one look whole.
//!
//! *Protects*: a version that a group replaces is on flash as long as a part of the group is not. A group that was
//! whole once is whole after every power cut: its marks stay on copies, and the newest version of a page, or its
//! tombstone, is always on flash.

use super::PageMap;
use super::access::{MapAccess, Use};
use super::entry::Entry;
use super::place::NoRoom;
use super::space::Stream;
use super::write::{Ends, Write};
use super::{Heard, Tag};
use crate::FtlContext;
use crate::mapping::common::answer;
use layer::{Answer, Outbox, PageOp, Signal, Slots};
use nand::{Awaits, Cancel, Closed, Flash, JoinId, LawBroken, Oob, Outcome, PageKind, PayloadId, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Cause, Geometry, Lpn, Ppn};

/// Bits of the sequence number in the number of the out-of-band area. Above it: parts of the group less one, and the
/// place of the part. The highest bit is [`super::old_versions::FRESH`].
const SEQUENCE_BITS: u32 = 45;
const PART_BITS: u32 = 9;

/// Most pages of a group.
pub const MOST_PAGES: u32 = 1 << PART_BITS;

/// The token of the join that renews the versions that count instead of parts of broken groups.
pub(super) const RENEWAL: Token = 1;

/// Which part of a group a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Its place, from 0 on.
    pub place: u32,
    /// Parts of the group, 2 or more.
    pub parts: u32,
}

/// The number in the out-of-band area of a part.
fn marked(sequence: u64, mark: Mark) -> u64 {
    sequence | u64::from(mark.parts - 1) << SEQUENCE_BITS | u64::from(mark.place) << (SEQUENCE_BITS + PART_BITS)
}

/// The sequence number of a version by the number in its out-of-band area.
pub(super) fn sequence_of(number: u64) -> u64 {
    number & ((1 << SEQUENCE_BITS) - 1)
}

/// The last sequence number that a version takes: a group takes two.
pub(super) fn last_taken(number: u64) -> u64 {
    sequence_of(number) + u64::from(mark_of(number).is_some())
}

fn mark_of(number: u64) -> Option<Mark> {
    let field = |shift: u32| (number >> shift) as u32 & (MOST_PAGES - 1);
    let mark = Mark { place: field(SEQUENCE_BITS + PART_BITS), parts: field(SEQUENCE_BITS) + 1 };
    (mark.parts > 1).then_some(mark)
}

/// A group whose parts are not all on flash.
#[derive(Debug)]
struct Group {
    /// The logical pages of its parts.
    pages: Range<u32>,
    /// Parts that are not on flash, issued or not.
    missing: u32,
    /// Pages of the issued ones among them.
    parts: Vec<Ppn>,
    /// Pages that its parts replace.
    held: Vec<Ppn>,
}

/// The groups of a drive.
#[derive(Debug)]
pub(crate) struct Groups {
    geometry: Geometry,
    /// Pages of an aligned window in which no write is torn; 1: each page by itself.
    window: u32,
    open: Slots<Group>,
    /// Versions to be programmed before the drive may change.
    broken: Broken,
    /// The versions that count instead of broken parts are being programmed.
    renewing: bool,
    /// The data of those programs.
    lent: Vec<PayloadId>,
    /// A write waits until a group is whole.
    awaited: bool,
    /// The last part of a group is on flash.
    ended: bool,
    /// Pages taken for the group that is being written, and whether one opened its block: memory that is used again.
    taken: Vec<(Ppn, bool)>,
    /// Groups written since counting began, and times that one found no room for all of its pages.
    written: u64,
    delayed: u64,
}

impl Groups {
    pub fn new(context: &FtlContext<'_>) -> Self {
        Self {
            geometry: context.geometry,
            window: context.group_pages,
            open: Slots::default(),
            broken: Broken::new(),
            renewing: false,
            lent: Vec::new(),
            awaited: false,
            ended: false,
            taken: Vec::new(),
            written: 0,
            delayed: 0,
        }
    }

    /// Whether writes of several pages are kept whole.
    #[inline]
    pub fn are_kept(&self) -> bool {
        self.window > 1
    }

    /// Whether something must be programmed before the drive may change, as a power cut broke groups.
    #[inline]
    pub fn are_broken(&self) -> bool {
        self.renewing || !self.broken.is_empty()
    }

    /// The parts that [`Groups::set_broken`] was told of and that are not renewed, as numbers of a snapshot.
    pub fn broken(&self) -> impl Iterator<Item = u64> {
        self.broken.iter().flat_map(|(sequence, pages)| pages.iter().flat_map(|page| [*sequence, page.0.into()]))
    }

    /// Parts on flash do not count.
    pub fn set_broken(&mut self, broken: Broken) {
        self.broken = broken;
    }

    fn return_payloads<F: Flash>(&mut self, flash: &mut F) {
        for payload in self.lent.drain(..) {
            flash.memory_mut().payloads.release(payload, 1);
        }
    }

    /// Whether a write may go on that waited for a group. It is told once.
    #[inline]
    pub fn let_go_on(&mut self) -> bool {
        std::mem::take(&mut self.ended) && std::mem::take(&mut self.awaited)
    }

    /// Groups written, and times that one found no room; nothing where no groups are kept.
    pub fn counters(&self) -> Option<[(&'static str, u64); 2]> {
        self.are_kept().then_some([("atomic_writes", self.written), ("atomic_writes_delayed", self.delayed)])
    }

    pub fn reset_counters(&mut self) {
        (self.written, self.delayed) = (0, 0);
    }

    fn hold<F: Flash>(&mut self, flash: &mut F, group: u32, page: Ppn) {
        if !flash.state().breaks(LawBroken::GroupHoldsOff) {
            flash.blocks_mut().hold(self.geometry.block_of(page));
            self.open.at_mut(group).held.push(page);
        }
    }

    /// A part is on flash, or is needed no more; nothing happens for a page that is none.
    fn part_ends<F: Flash>(&mut self, flash: &mut F, group: u32, page: Ppn) {
        let Some(open) = self.open.get(group) else { return };
        let Some(at) = open.parts.iter().position(|part| *part == page) else { return };
        let open = self.open.at_mut(group);
        open.parts.swap_remove(at);
        open.missing -= 1;
        if open.missing == 0 {
            self.ended = true;
            for page in self.open.remove(group).held {
                flash.release(self.geometry.block_of(page));
            }
        }
    }

    fn group_of(&self, part: Ppn) -> Option<u32> {
        self.open.iter().find(|(_, group)| group.parts.contains(&part)).map(|(number, _)| number)
    }

    /// The program of a page will never be done, because something newer is on flash or its die is lost.
    pub fn give_up<F: Flash>(&mut self, flash: &mut F, page: Ppn) {
        if let Some(group) = self.group_of(page) {
            self.part_ends(flash, group, page);
        }
    }

    /// The program of a page failed and goes to another one; the group that it is a part of.
    pub fn move_part(&mut self, from: Ppn, to: Ppn) -> Option<u32> {
        let group = self.group_of(from)?;
        let parts = &mut self.open.at_mut(group).parts;
        parts.iter_mut().filter(|part| **part == from).for_each(|part| *part = to);
        Some(group)
    }

    /// Whether a group replaces a page and is not whole.
    pub fn is_held(&self, page: Ppn) -> bool {
        self.open.iter().any(|(_, group)| group.held.contains(&page))
    }

    /// A version that a group replaces is at another page, because its program failed.
    pub fn move_hold<F: Flash>(&mut self, flash: &mut F, from: Ppn, to: Ppn) {
        let holders: Vec<u32> =
            self.open.iter().filter(|(_, group)| group.held.contains(&from)).map(|(number, _)| number).collect();
        for number in holders {
            for page in self.open.at_mut(number).held.iter_mut().filter(|page| **page == from) {
                *page = to;
                flash.blocks_mut().hold(self.geometry.block_of(to));
                flash.release(self.geometry.block_of(from));
            }
        }
    }

    /// Whether a write of a part of a page would take over data of a group that is not whole.
    fn is_open(&self, logical: Lpn) -> bool {
        self.open.iter().any(|(_, group)| group.pages.contains(&logical.0))
    }

    /// Whether all groups are whole.
    pub fn are_at_rest(&self) -> bool {
        self.open.is_empty()
    }
}

impl<A: MapAccess> PageMap<A> {
    /// A write whose pages in each aligned window stay together.
    pub(super) fn submit_groups<F: Flash>(&mut self, flash: &mut F, op: &PageOp) -> Answer {
        let join = flash.open(op.owner, op.token, Cancel::Never);
        let mut index = 0;
        while index < op.pages {
            let window = self.groups.window;
            let pages = (window - op.at(index).0 % window).min(op.pages - index);
            if self.must_await_group(op, index..index + pages) {
                self.groups.awaited = true;
                return answer(flash, join, Awaits::Commands).full(index);
            }
            if let Err(why) = self.make_group_room(flash, pages)
                && !(self.starve(flash, why) && self.make_group_room(flash, pages).is_ok())
            {
                self.groups.delayed += u64::from(pages > 1);
                return answer(flash, join, Awaits::Commands).full(index);
            }
            self.write_group(flash, op, index..index + pages, join);
            index += pages;
        }
        answer(flash, join, Awaits::Commands)
    }

    /// Whether some of these pages of a write are written in part, over an open group.
    fn must_await_group(&self, op: &PageOp, mut places: Range<u32>) -> bool {
        let full = self.geometry.full_mask();
        !self.groups.open.is_empty()
            && places.any(|index| op.mask_at(index, full) != full && self.groups.is_open(op.at(index)))
    }

    /// Sees to it that so many pages of the host find room now, without any collection.
    ///
    /// # Errors
    /// Why they do not.
    fn make_group_room<F: Flash>(&mut self, flash: &mut F, pages: u32) -> Result<(), NoRoom> {
        if self.group_room() >= pages {
            return Ok(());
        }
        for lane in 0..self.space.lanes.len() {
            self.make_free_block(flash, lane);
        }
        let outpaced = self.settings.paced && (0..self.space.lanes.len()).any(|lane| self.is_outpaced(lane));
        let why = if outpaced { NoRoom::Outpaced } else { NoRoom::Full };
        if self.group_room() >= pages { Ok(()) } else { Err(why) }
    }

    /// Pages that the host finds without any collection.
    fn group_room(&self) -> u32 {
        let lanes = self.space.lanes.in_order();
        let open = lanes.filter(|lane| !(self.settings.paced && self.is_outpaced(*lane)));
        open.map(|lane| self.room_in_lane(lane)).sum()
    }

    /// Pages that the host finds in a lane without any collection. Copies have a block of their own.
    fn room_in_lane(&self, lane: usize) -> u32 {
        let spare = self.space.lanes[lane].free().saturating_sub(self.space.lanes.withheld()) as u32;
        self.space.frontier(lane, Stream::Host).room() + spare * self.geometry.pages_per_block
    }

    /// A page of the next lane that has room without any collection, and whether its block was opened for it. The
    /// caller has counted the room, and collects in the lanes where blocks were opened.
    fn page_of_group(&mut self) -> (Ppn, bool) {
        for _ in 0..self.space.lanes.width() {
            let lane = self.space.lanes.next();
            let opens = self.space.lanes[lane].host_is_full();
            if !opens || self.space.lanes.can_give(lane) {
                if opens {
                    self.space.open_block(&mut self.pages, lane, Stream::Host);
                }
                return (self.space.take(&mut self.pages, lane, Stream::Host), opens);
            }
            self.space.lanes.end_run();
        }
        unreachable!("the room for a group was counted")
    }

    /// Writes the pages of an operation at these places. There is room for all of them. Nothing is collected before the
    /// last one is issued, as that would take some of the room.
    fn write_group<F: Flash>(&mut self, flash: &mut F, op: &PageOp, places: Range<u32>, join: JoinId) {
        let (parts, full) = (places.len() as u32, self.geometry.full_mask());
        let sequence = self.pages.next_sequence();
        if parts > 1 {
            self.pages.next_sequence(); // for what may have to count instead
        }
        let pages = op.at(places.start).0..op.at(places.start).0 + parts;
        let open = Group { pages, missing: parts, parts: Vec::new(), held: Vec::new() };
        let group = (parts > 1).then(|| self.groups.open.insert(open));
        self.groups.written += u64::from(parts > 1);
        let mut taken = std::mem::take(&mut self.groups.taken);
        for (place, index) in (0..).zip(places) {
            let logical = op.at(index);
            let (page, opens) = self.page_of_group();
            taken.push((page, opens));
            let replaced = self.pages.entry(logical) != Entry::NOWHERE;
            if let Some(group) = group.filter(|_| replaced) {
                let old = self.trims.page_that_stands_for(&self.pages, logical);
                self.groups.hold(flash, group, old);
            }
            let known =
                self.access.translate(flash, &mut self.pages, &mut self.space, &Use { op, index, join, room: true });
            let (mask, payload) = (op.mask_at(index, full), op.payload.offset(index));
            let number = if parts > 1 { marked(sequence, Mark { place, parts }) } else { sequence };
            let sequence = Some(number);
            let write = Write { logical, page, mask, payload, known, sequence, keep: op.kept, cause: op.cause };
            self.write_page(flash, &write, Ends::InJoin(join));
            if let Some(group) = group {
                self.groups.open.at_mut(group).parts.push(page);
                self.await_part(flash, group, page);
            }
        }
        for (page, opens) in taken.drain(..) {
            if opens {
                self.collect(flash, self.space.lanes.of(page));
            }
            if self.settings.paced {
                self.keep_pace(flash, page);
            }
        }
        self.groups.taken = taken;
    }

    /// A part was issued, and its group waits for it.
    pub(super) fn await_part<F: Flash>(&mut self, flash: &mut F, group: u32, page: Ppn) {
        if flash.await_program(self.owner, page, Tag::token(Heard::Part, group, 0)) == Outcome::Done {
            self.part_ended(flash, group, page);
        }
    }

    /// The program of a part ended. If it failed it is placed again, and awaited anew.
    pub(super) fn part_ended<F: Flash>(&mut self, flash: &mut F, group: u32, page: Ppn) {
        if flash.state().is_programmed(page) {
            self.groups.part_ends(flash, group, page);
        }
    }

    /// Programs again the versions that count instead of parts of broken groups. `false`: that is not done, and whoever
    /// asks for a change of the drive is told when there is room.
    #[cold]
    pub(super) fn renew<F: Flash>(&mut self, flash: &mut F) -> bool {
        while !self.groups.renewing {
            let Some(sequence) = self.groups.broken.keys().next().copied() else { return true };
            let join = flash.open(self.owner, RENEWAL, Cancel::Never);
            let mut issued = self.renew_group(flash, sequence, join);
            if let Err(why) = issued
                && self.starve(flash, why)
            {
                issued = self.renew_group(flash, sequence, join);
            }
            self.groups.renewing = flash.close(join, Awaits::AllPrograms) == Closed::Pending;
            if !self.groups.renewing {
                self.groups.return_payloads(flash);
            }
            if issued.is_err() {
                return false;
            }
            self.groups.broken.remove(&sequence);
        }
        false
    }

    /// The programs that [`PageMap::renew`] issued are on flash.
    pub(super) fn on_renewed<F: Flash>(&mut self, flash: &mut F, outbox: &mut Outbox) {
        self.groups.return_payloads(flash);
        self.groups.renewing = false;
        outbox.push(Signal::Room);
    }

    /// Issues the programs for the broken group of this number.
    fn renew_group<F: Flash>(&mut self, flash: &mut F, sequence: u64, join: JoinId) -> Result<(), NoRoom> {
        while let Some(logical) = self.groups.broken[&sequence].first().copied() {
            let page = A::page_for_write(self, flash, logical)?;
            // A page without a version reads as zeros, and so does a page that is written with no data.
            let mask = if self.pages.find(logical).is_some() { 0 } else { self.geometry.full_mask() };
            let payloads = &mut flash.memory_mut().payloads;
            let payload = payloads.take(1, mask);
            payloads.clear(payload, mask);
            self.groups.lent.push(payload);
            let (number, cause) = (Some(sequence + 1), Cause::Metadata);
            let write = Write { logical, page, mask, payload, known: None, sequence: number, keep: false, cause };
            self.write_page(flash, &write, Ends::InJoin(join));
            self.groups.broken.entry(sequence).or_default().remove(&logical);
        }
        Ok(())
    }
}

/// Logical pages with parts of broken groups newer than the version that counts, by the sequence number of the group.
pub(super) type Broken = BTreeMap<u64, BTreeSet<Lpn>>;

/// A group of which a power cut left something.
#[derive(Debug)]
struct FoundGroup {
    /// Its first logical page.
    first: u32,
    /// Which of its parts are there.
    parts: Vec<bool>,
}

/// The groups that a power cut left on flash, by their sequence number.
#[derive(Debug, Default)]
pub(super) struct FoundGroups {
    all: BTreeMap<u64, FoundGroup>,
}

impl FoundGroups {
    /// A version was found on flash.
    pub fn note(&mut self, oob: Oob) {
        let Some(mark) = mark_of(oob.sequence).filter(|_| matches!(oob.kind, PageKind::Data | PageKind::Lost)) else {
            return;
        };
        let (first, parts) = (oob.logical - mark.place, vec![false; mark.parts as usize]);
        let group = self.all.entry(sequence_of(oob.sequence)).or_insert(FoundGroup { first, parts });
        group.parts[mark.place as usize] = true;
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The logical pages of all groups: a tombstone of one of them is needed, even if it trims nothing.
    pub fn pages(&self) -> BTreeSet<u32> {
        self.all.values().flat_map(|group| group.first..group.first + group.parts.len() as u32).collect()
    }

    /// The groups that are not whole. `newest`: number of the newest version without a mark, or tombstone, of each
    /// logical page.
    pub fn broken(&self, mut newest: Vec<u64>) -> Broken {
        let mut broken = Broken::new();
        // A newer group may replace a part of an older one, if it counts.
        for (sequence, group) in self.all.iter().rev() {
            let pages = (group.first..).zip(&group.parts);
            let is_whole = pages.clone().all(|(page, found)| *found || newest[page as usize] > *sequence);
            let found = pages.filter_map(|(page, found)| found.then_some(page));
            if is_whole {
                found.for_each(|page| newest[page as usize] = newest[page as usize].max(*sequence));
            } else {
                broken.insert(*sequence, found.map(Lpn).collect());
            }
        }
        for (sequence, pages) in &mut broken {
            pages.retain(|page| newest[page.index()] < *sequence);
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(parts: &[(u32, u64, Mark)]) -> FoundGroups {
        let mut groups = FoundGroups::default();
        for (logical, sequence, mark) in parts {
            groups.note(Oob { kind: PageKind::Data, logical: *logical, sequence: marked(*sequence, *mark) });
        }
        groups
    }

    fn part(place: u32, parts: u32) -> Mark {
        Mark { place, parts }
    }

    fn pages(pages: &[u32]) -> BTreeSet<Lpn> {
        pages.iter().copied().map(Lpn).collect()
    }

    /// The numbers of eight pages of which only page 4 has a version.
    fn newest(of_page_4: u64) -> Vec<u64> {
        let mut newest = vec![0; 8];
        newest[4] = of_page_4;
        newest
    }

    proptest! {
        #[test]
        fn a_number_keeps_its_mark(
            sequence in 1_u64..1 << SEQUENCE_BITS, place in 0..MOST_PAGES, parts in 2..=MOST_PAGES,
        ) {
            let number = marked(sequence, part(place, parts));
            prop_assert_eq!((sequence_of(number), mark_of(number)), (sequence, Some(part(place, parts))));
            prop_assert_eq!((sequence_of(sequence), mark_of(sequence)), (sequence, None));
            prop_assert_eq!(number & super::super::old_versions::FRESH, 0);
        }
    }

    #[test]
    fn a_group_counts_if_each_part_is_there_or_replaced_by_something_that_counts() {
        let both = found(&[(4, 7, part(0, 2)), (5, 7, part(1, 2))]);
        assert_eq!(both.broken(newest(0)), Broken::new());
        let one = found(&[(5, 7, part(1, 2))]);
        assert_eq!(one.broken(newest(6)), Broken::from([(7, pages(&[5]))]), "page 4 holds an older version");
        assert_eq!(one.broken(newest(8)), Broken::new(), "page 4 was written later");
    }

    #[test]
    fn a_part_of_a_broken_group_replaces_nothing() {
        // Pages 4 and 5 by group 7, of which 4 is gone; pages 4 to 6 by group 9, of which 6 never came to flash.
        let groups = found(&[(5, 7, part(1, 2)), (4, 9, part(0, 3)), (5, 9, part(1, 3))]);
        assert_eq!(groups.broken(newest(0)), Broken::from([(7, pages(&[5])), (9, pages(&[4, 5]))]));
    }

    #[test]
    fn a_broken_part_under_a_newer_version_needs_no_renewal() {
        let groups = found(&[(4, 7, part(0, 2))]);
        assert_eq!(groups.broken(newest(8)), Broken::from([(7, pages(&[]))]));
    }
}
