//! Trims: a tombstone and a copy of it on another die are written at once.
//!
//! A tombstone names the pages it trims; it is valid as long as one of them was not written since. Collection
//! writes those it meets as one. A page that is lost for good is named by a tombstone as well, which says so.

use super::stripes::Member;
use super::superblocks::Stream;
use super::{Elastic, LOST, NONE, TRIMMED, UNMAPPED};
use layer::{Answer, Outbox, PageOp};
use nand::{Completion, Flash, PageProgram, PayloadId, Program};
use std::collections::BTreeSet;
use units::Cause;

/// How a tombstone begins, to tell it from a parity.
const TOMBSTONE: u8 = 2;
const RANGE_BYTES: usize = 16;

/// Consecutive logical pages trimmed by one operation, or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub count: u32,
    /// [`LOST`] is set where the pages were not trimmed but lost.
    pub sequence: u64,
}

/// Pages that are nowhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Tombstone {
    pub ranges: Vec<Range>,
    /// Pages not written since.
    pub live: u32,
    pub twin: Option<u32>,
    /// It and its twin are on flash.
    pub safe: bool,
}

impl Tombstone {
    /// Whether it says of this page that it is lost.
    pub(super) fn has_lost(&self, logical: u32) -> bool {
        let names = |range: &&Range| (range.first..range.first + range.count).contains(&logical);
        self.ranges
            .iter()
            .filter(names)
            .max_by_key(|range| range.sequence & !LOST)
            .is_some_and(|range| range.sequence & LOST != 0)
    }
}

/// Writes a tombstone's record.
pub(super) fn encode(ranges: &[Range]) -> Box<[u8]> {
    let bytes = ranges.iter().flat_map(|range| {
        let words = [range.first.to_le_bytes(), range.count.to_le_bytes()];
        words.into_iter().flatten().chain(range.sequence.to_le_bytes())
    });
    std::iter::once(TOMBSTONE).chain(bytes).collect()
}

/// Reads a tombstone's record; nothing if it is none.
pub(super) fn decode(record: &[u8]) -> Option<Vec<Range>> {
    let (&TOMBSTONE, ranges) = record.split_first()? else { return None };
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let ranges = ranges.chunks_exact(RANGE_BYTES).map(|range| Range {
        first: word(&range[..4]),
        count: word(&range[4..8]),
        sequence: u64::from_le_bytes(range[8..].try_into().expect("eight bytes")),
    });
    Some(ranges.collect())
}

impl<F: Flash> Elastic<F> {
    /// Ranges that fit a page.
    fn capacity(&self) -> usize {
        (self.page_bytes as usize - 1) / RANGE_BYTES
    }

    pub(super) fn submit_trim(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        // A trim is advice: a page trimmed in part keeps its contents.
        let is_whole = |index: &u32| op.mask_at(*index, self.full_mask) == self.full_mask;
        let Some(first) = (0..op.pages).find(is_whole) else { return Answer::Done { failed: false } };
        let last = (0..op.pages).rfind(is_whole).unwrap_or(first);
        let (first, count) = (op.first + first, last - first + 1);
        if !self.map[first as usize..(first + count) as usize].iter().any(|entry| *entry < TRIMMED) {
            return Answer::Done { failed: false };
        }
        let ranges = vec![Range { first, count, sequence: self.next_sequence() }];
        let number = self.new_op(op, 1);
        let member = Member { op: number, ..Member::new(UNMAPPED, self.sequence, PayloadId::NONE, Cause::Metadata) };
        let is_meant = |entry| entry != UNMAPPED;
        if self.log(flash, ranges.clone(), &member, Stream::Host, is_meant).is_none() {
            self.settle(flash, outbox);
            if self.log(flash, ranges, &member, Stream::Host, is_meant).is_none() {
                return self.refuse(number, 0, 1);
            }
        }
        self.counters.trimmed += u64::from(count);
        self.settle(flash, outbox);
        self.answer(number)
    }

    /// Writes a tombstone and its copy: of the pages it names, those whose map entries are meant are nowhere from
    /// now on. Its place; nothing if there is no room.
    fn log(
        &mut self,
        flash: &mut F,
        ranges: Vec<Range>,
        member: &Member,
        stream: Stream,
        is_meant: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        self.close_stripe(flash, stream);
        let place = self.next_place(flash, stream)?;
        let stripe = self.building_at(place, stream);
        let (mut live, mut replaced) = (0, BTreeSet::new());
        for logical in ranges.iter().flat_map(|range| range.first..range.first + range.count) {
            let old = self.map[logical as usize];
            if !is_meant(old) {
                continue;
            }
            if old != UNMAPPED {
                replaced.insert(self.blocks.of(old & !TRIMMED));
            }
            if old < TRIMMED {
                self.blocks.invalidate(old);
            } else if old != UNMAPPED {
                self.bury(old & !TRIMMED);
            }
            self.map[logical as usize] = TRIMMED | place;
            live += 1;
        }
        for superblock in replaced {
            self.blocks.held[superblock as usize] += 1;
            self.wait_with(stripe, superblock);
        }
        self.write_tombstone(
            flash,
            (place, stripe, stream),
            Tombstone { ranges, live, ..Tombstone::default() },
            member,
        );
        Some(place)
    }

    fn write_tombstone(
        &mut self,
        flash: &mut F,
        (place, stripe, stream): (u32, u32, Stream),
        tombstone: Tombstone,
        member: &Member,
    ) {
        self.back[place as usize] = TRIMMED | place;
        self.blocks.validate(place);
        let record = flash.memory_mut().payloads.take_record(|| encode(&tombstone.ranges));
        self.tombstones.insert(place, tombstone);
        self.add_member(stripe, Member { place, failure: None, ..*member });
        let command = PageProgram {
            page: self.blocks.page(place),
            supersedes: None,
            what: Program::Record(record),
            logical: UNMAPPED,
            sequence: member.sequence,
            cause: Cause::Metadata,
            completion: Completion::Notify(0),
            after: None,
        };
        self.program(flash, stripe, command);
        self.close_stripe(flash, stream);
        let twin = self.parity_of(stripe);
        if let Some(twin) = twin {
            self.back[twin as usize] = TRIMMED | place;
            self.blocks.validate(twin);
        }
        self.tombstones.get_mut(&place).expect("it was just entered").twin = twin;
    }

    /// One page fewer is named by a tombstone. The last one makes it invalid, unless it is still being written:
    /// until it is safe somebody may wait for it.
    pub(super) fn bury(&mut self, place: u32) {
        let tombstone = self.tombstones.get_mut(&place).expect("a map entry names a living tombstone");
        tombstone.live -= 1;
        if tombstone.live == 0 && tombstone.safe {
            self.drop_tombstone(place);
        }
    }

    fn drop_tombstone(&mut self, place: u32) -> Tombstone {
        let tombstone = self.tombstones.remove(&place).expect("a living tombstone");
        self.blocks.invalidate(place);
        tombstone.twin.into_iter().for_each(|twin| self.blocks.invalidate(twin));
        tombstone
    }

    /// Both copies are on flash.
    pub(super) fn tombstone_is_safe(&mut self, place: u32) {
        let tombstone = self.tombstones.get_mut(&place).expect("it is kept until it is safe");
        tombstone.safe = true;
        if tombstone.live == 0 {
            self.drop_tombstone(place);
        }
    }

    /// A tombstone that could not be written finds another place.
    pub(super) fn move_tombstone(&mut self, flash: &mut F, from: u32, member: &Member) -> Option<u32> {
        self.close_stripe(flash, Stream::Copies);
        let place = self.next_place(flash, Stream::Copies)?;
        let stripe = self.building_at(place, Stream::Copies);
        let tombstone = self.drop_tombstone(from);
        for logical in tombstone.ranges.iter().flat_map(|range| range.first..range.first + range.count) {
            if self.map[logical as usize] == TRIMMED | from {
                self.map[logical as usize] = TRIMMED | place;
            }
        }
        self.write_tombstone(flash, (place, stripe, Stream::Copies), Tombstone { twin: None, ..tombstone }, member);
        Some(place)
    }

    /// Writes as many of these tombstones as fit a page as one. `false`: there is no room.
    pub(super) fn merge_tombstones(&mut self, flash: &mut F, places: &[u32], cause: Cause) -> bool {
        let mut ranges: Vec<Range> = Vec::new();
        for place in places {
            let left = self.ranges_left(*place);
            if !ranges.is_empty() && ranges.len() + left.len() > self.capacity() {
                break;
            }
            ranges.extend(left);
        }
        let sequence = ranges.iter().map(|range| range.sequence & !LOST).max().unwrap_or(0);
        let member = Member::new(UNMAPPED, sequence, PayloadId::NONE, cause);
        let is_meant = |entry: u32| entry >= TRIMMED && places.contains(&(entry & !TRIMMED));
        let placed = self.log(flash, ranges, &member, Stream::Copies, is_meant).is_some();
        self.count_copy(cause, u32::from(placed));
        placed
    }

    /// What a tombstone still trims, in no more ranges than it has.
    fn ranges_left(&self, place: u32) -> Vec<Range> {
        let tombstone = &self.tombstones[&place];
        let mut left: Vec<Range> = Vec::new();
        for range in &tombstone.ranges {
            for logical in (range.first..range.first + range.count)
                .filter(|logical| self.map[*logical as usize] == TRIMMED | place)
            {
                match left.last_mut() {
                    Some(last) if last.first + last.count == logical && last.sequence == range.sequence => {
                        last.count += 1;
                    }
                    _ => left.push(Range { first: logical, count: 1, sequence: range.sequence }),
                }
            }
        }
        if left.len() > self.capacity() { tombstone.ranges.clone() } else { left }
    }

    /// Says that there is nothing of a page. `false`: there is no room to say so.
    pub(super) fn log_nothing(&mut self, flash: &mut F, logical: u32, sequence: u64) -> bool {
        let ranges = vec![Range { first: logical, count: 1, sequence }];
        let member = Member::new(UNMAPPED, sequence, PayloadId::NONE, Cause::Rebuild);
        let placed = self.log(flash, ranges, &member, Stream::Copies, |_| true).is_some();
        self.count_copy(Cause::Rebuild, u32::from(placed));
        placed
    }

    /// Nothing is left of a page: it reads as an error until it is written again. `false`: there is no room to say so.
    pub(super) fn give_up(&mut self, flash: &mut F, logical: u32, sequence: u64) -> bool {
        let ranges = vec![Range { first: logical, count: 1, sequence: sequence | LOST }];
        let member = Member::new(UNMAPPED, sequence, PayloadId::NONE, Cause::Rebuild);
        let placed = self.log(flash, ranges, &member, Stream::Copies, |_| true).is_some();
        self.count_copy(Cause::Rebuild, u32::from(placed));
        self.counters.lost += u64::from(placed);
        placed
    }

    /// Whether a map entry stands for a page that is lost.
    #[inline]
    pub(super) fn is_gone(&self, logical: u32) -> bool {
        let entry = self.map[logical as usize];
        entry >= TRIMMED && entry != UNMAPPED && self.tombstones[&(entry & !TRIMMED)].has_lost(logical)
    }
}

const _: () = assert!(UNMAPPED == NONE);
