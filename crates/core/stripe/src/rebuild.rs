//! Lost chips: which pages of a stripe they take along, reading without them, and filling a spare.

use crate::array::Array;
use crate::jobs::{Cell, Job, Kind, NONE, Phase, Shards};
use crate::layout::{Member, StripeLayout};
use crate::load::Loaded;
use crate::striped::Striped;
use crate::token::{Asked, Tag};
use crate::work::Work;
use layer::{Answer, STRIPE_OWNER};
use nand::{Flash, Nvram, NvramId, PayloadId};
use std::collections::BTreeMap;
use units::{Cause, DieId, members};

/// A spare in the place of a lost die, as far as it has been filled.
#[derive(Clone, Debug)]
struct Refill {
    spare: DieId,
    /// Its note in non-volatile memory, with the number of stripes filled without a gap.
    place: NvramId,
    filled: u32,
    /// Notes of stripes filled beyond that.
    beyond: BTreeMap<u32, NvramId>,
    /// One bit a stripe.
    done: Vec<u64>,
    next: u32,
    left: u32,
}

impl Refill {
    fn new(replaced: &Replaced, stripes: u32) -> Self {
        let mut refill = Self {
            spare: replaced.spare,
            place: replaced.place,
            filled: replaced.filled,
            beyond: replaced.beyond.clone(),
            done: vec![0; stripes.div_ceil(64) as usize],
            next: 0,
            left: stripes,
        };
        (0..replaced.filled).chain(replaced.beyond.keys().copied()).for_each(|stripe| refill.fill(stripe));
        refill
    }

    fn fill(&mut self, stripe: u32) {
        let word = &mut self.done[stripe as usize / 64];
        self.left -= u32::from(*word >> (stripe % 64) & 1 == 0);
        *word |= 1 << (stripe % 64);
    }

    fn has(&self, stripe: u32) -> bool {
        self.done.get(stripe as usize / 64).is_some_and(|word| word >> (stripe % 64) & 1 == 1)
    }

    /// Notes in non-volatile memory that a stripe is complete: what is on the spare does not tell, for a page may
    /// have been trimmed since.
    fn note(&mut self, nvram: &mut Nvram, stripe: u32) {
        if stripe != self.filled {
            let note = FILLED | u64::from(self.spare.0);
            self.beyond.entry(stripe).or_insert_with(|| nvram.insert(STRIPE_OWNER, stripe, 0, PayloadId::NONE, note));
            return;
        }
        while self.has(self.filled) {
            self.beyond.remove(&self.filled).into_iter().for_each(|place| nvram.remove(place));
            self.filled += 1;
        }
        nvram.set_number(self.place, u64::from(self.filled));
    }
}

/// Notes in non-volatile memory of a spare in the place of a lost die.
#[derive(Clone, Debug)]
pub(crate) struct Replaced {
    pub lost: DieId,
    pub spare: DieId,
    /// Where the note is; stripes filled without a gap, and the notes of others.
    pub place: NvramId,
    pub filled: u32,
    pub beyond: BTreeMap<u32, NvramId>,
}

/// The dies under the stripes.
#[derive(Clone, Debug)]
pub(crate) struct Chips {
    /// Planes that consecutive pages of the mapping use in turn.
    pub planes: Vec<u32>,
    planes_per_die: u32,
    lost: Vec<DieId>,
    spares: Vec<DieId>,
    refills: Vec<Refill>,
    under_way: u32,
    /// Dies that failed, spares and replaced ones as well.
    failed: Vec<DieId>,
    /// Dies lost or replaced so far: jobs planned before a change do not know of it.
    pub changes: u32,
}

/// In the note of a non-volatile entry: a spare took the place of the die it is entered for.
pub(crate) const REPLACED: u64 = 1 << 63;
/// In a note: nothing is left of the page of the user that it is entered for.
pub(crate) const GONE: u64 = REPLACED | 1 << 62;
/// In a note: of the stripe that it is entered for a spare has what it should.
pub(crate) const FILLED: u64 = REPLACED | 1 << 61;
/// Of a rebuild, the first row of the parity among the pages it has written: behind all data pages.
const FIRST_ROW: u32 = 30;
const _: () = assert!(FIRST_ROW >= crate::layout::MOST_DATA);

/// The bits that tell those from each other.
pub(crate) const KIND: u64 = 7 << 61;

impl Chips {
    pub fn new(planes: Vec<u32>, planes_per_die: u32, spares: Vec<DieId>) -> Self {
        Self {
            planes,
            planes_per_die,
            lost: Vec::new(),
            failed: Vec::new(),
            spares,
            refills: Vec::new(),
            under_way: 0,
            changes: 0,
        }
    }

    #[inline]
    pub fn all_there(&self) -> bool {
        self.lost.is_empty() && self.refills.is_empty()
    }

    fn die(&self, page: u32) -> DieId {
        DieId(self.planes[page as usize % self.planes.len()] / self.planes_per_die)
    }

    /// The lost dies have something of a stripe: its data pages and rows of the parity.
    pub fn lost_members(&self, layout: &StripeLayout, stripe: u32) -> (u64, u64) {
        self.members_where(layout, stripe, |die| self.lost.contains(&die) || self.is_to_be_filled(die, stripe))
    }

    /// Data pages and rows of a stripe that are still to be brought to spares.
    pub fn to_be_filled(&self, layout: &StripeLayout, stripe: u32) -> (u64, u64) {
        self.members_where(layout, stripe, |die| self.is_to_be_filled(die, stripe))
    }

    /// What of a stripe is on lost dies that nothing took the place of.
    fn without_spare(&self, layout: &StripeLayout, stripe: u32) -> (u64, u64) {
        self.members_where(layout, stripe, |die| self.lost.contains(&die))
    }

    fn members_where(&self, layout: &StripeLayout, stripe: u32, is_one: impl Fn(DieId) -> bool) -> (u64, u64) {
        let (mut data, mut rows) = (0, 0);
        for chip in (0..layout.chips()).filter(|chip| is_one(self.die(stripe * layout.chips() + chip))) {
            match layout.member(stripe, chip) {
                Member::Data(index) => data |= 1 << index,
                Member::Parity(row) => rows |= 1 << row,
            }
        }
        (data, rows)
    }

    fn is_to_be_filled(&self, die: DieId, stripe: u32) -> bool {
        self.refills.iter().find(|refill| refill.spare == die).is_some_and(|refill| !refill.has(stripe))
    }

    /// A die is lost.
    pub fn lose_quietly(&mut self, die: DieId) {
        self.changes += 1;
        if !self.failed.contains(&die) {
            self.failed.push(die);
        }
        self.spares.retain(|spare| *spare != die);
        let used = self.planes.iter().any(|plane| plane / self.planes_per_die == die.0);
        if used && !self.lost.contains(&die) {
            self.refills.retain(|refill| refill.spare != die);
            self.lost.push(die);
        }
    }

    /// Lost dies for which there are spares.
    pub fn lost_with_spares(&self) -> Vec<DieId> {
        self.lost.iter().copied().take(self.spares.len()).collect()
    }

    /// A spare takes the place of a lost die.
    pub fn replace(&mut self, replaced: &Replaced, stripes: u32) {
        let Replaced { lost, spare, .. } = *replaced;
        self.changes += 1;
        self.lost.retain(|die| *die != lost);
        self.spares.retain(|die| *die != spare);
        let (from, to) = (lost.0 * self.planes_per_die, spare.0 * self.planes_per_die);
        for plane in &mut self.planes {
            if (from..from + self.planes_per_die).contains(plane) {
                *plane = *plane - from + to;
            }
        }
        if replaced.filled < stripes {
            self.refills.push(Refill::new(replaced, stripes));
        }
    }

    /// A stripe is complete again.
    pub fn filled(&mut self, nvram: &mut Nvram, stripe: u32) {
        for refill in &mut self.refills {
            refill.fill(stripe);
            refill.note(nvram, stripe);
        }
        self.refills.retain(|refill| refill.left > 0);
    }

    /// Stripes not yet brought to their spares.
    pub fn left(&self) -> u64 {
        // A stripe is filled for all spares at once, so the youngest has the most left.
        self.refills.iter().map(|refill| u64::from(refill.left)).max().unwrap_or(0)
    }

    pub fn failed_dies(&self) -> u64 {
        self.failed.len() as u64
    }

    /// Lost dies that nothing took the place of.
    pub fn missing(&self) -> u64 {
        self.lost.len() as u64
    }
}

impl<F: Flash> Striped<F> {
    /// A die answers nothing any more.
    #[cold]
    pub fn lose_die(&mut self, flash: &mut F, die: DieId) {
        self.work.array.chips.lose_quietly(die);
        self.work.array.below.lose_die(flash, die);
        for (stripe, index) in self.work.array.torn.seen() {
            if self.work.array.lost_members(stripe).0 >> index & 1 == 1 {
                self.work.array.give_up(flash, stripe, index);
            }
        }
        self.work.array.give_up_doubtful(flash);
        for die in self.work.array.chips.lost_with_spares() {
            self.work.array.replace_die(flash, die);
        }
        self.rebuild_next(flash);
    }

    /// Begins to rebuild as many stripes as may be rebuilt at once.
    pub fn rebuild_next(&mut self, flash: &mut F) {
        while self.work.array.chips.under_way < self.work.array.settings.rebuild_stripes {
            let stripes = self.work.array.layout.stripes();
            let Some(refill) = self.work.array.chips.refills.first_mut() else { return };
            let stripe = refill.next;
            if stripe == stripes {
                return; // the last ones are under way
            }
            refill.next += 1;
            let (data, rows) = self.work.array.chips.to_be_filled(&self.work.array.layout, stripe);
            if data | rows == 0 {
                self.work.array.chips.filled(&mut flash.memory_mut().nvram, stripe);
                continue;
            }
            self.work.array.chips.under_way += 1;
            self.work.jobs.enqueue(Job::new(Kind::Rebuild, stripe, 0));
        }
    }

    /// A job begins that brings what a lost die held of a stripe to its spare.
    pub fn start_rebuild(&mut self, flash: &mut F, number: u32) -> bool {
        let stripe = self.work.jobs.at(number).stripe;
        let entry = self.work.array.cache.find(stripe);
        if entry.is_none()
            && !self.work.array.layout.pages_of(stripe).any(|page| self.work.array.below.is_written(page))
        {
            self.work.end_rebuild(flash, number);
            return true;
        }
        if let Some(entry) = entry {
            let job = self.work.jobs.at_mut(number);
            (job.entry, job.phase) = (entry, Phase::Commit);
            self.work.plan_commit(number);
        } else {
            self.work.jobs.at_mut(number).phase = Phase::Restore;
            self.work.plan_restore(number);
        }
        true
    }
}

impl<F: Flash> Work<F> {
    /// Another die was lost or replaced since a rebuild was planned: it begins anew.
    pub fn has_to_begin_anew(&mut self, flash: &mut F, number: u32) -> bool {
        if self.jobs.at(number).chips_known == self.array.chips.changes {
            return false;
        }
        self.release_cells(flash, number);
        let job = self.jobs.at_mut(number);
        (job.have, job.want, job.lost) = (Shards::default(), Shards::default(), (0, 0));
        (job.issued, job.sequence, job.entry, job.phase, job.whole) = (0, 0, NONE, Phase::Start, false);
        true
    }

    pub fn end_rebuild(&mut self, flash: &mut F, number: u32) {
        self.array.chips.filled(&mut flash.memory_mut().nvram, self.jobs.at(number).stripe);
        self.array.chips.under_way -= 1;
        self.array.counters.rebuilt_stripes += 1;
        self.jobs.at_mut(number).phase = Phase::End;
    }

    /// Plans the pages to be known, and the pages to be written.
    pub fn plan_restore(&mut self, number: u32) {
        let stripe = self.jobs.at(number).stripe;
        let (data, rows) = self.array.chips.to_be_filled(&self.array.layout, stripe);
        let changes = self.array.chips.changes;
        let job = self.jobs.at_mut(number);
        (job.chips_known, job.whole) = (changes, false);
        job.sum = Shards { newest: data, old: 0, parity: rows };
        job.want = Shards { newest: if rows == 0 { data } else { self.array.layout.all() }, ..Shards::default() };
        job.issued = 0;
    }

    pub fn restore(&mut self, flash: &mut F, number: u32) -> bool {
        loop {
            match self.load(flash, number) {
                Loaded::Waits => return false,
                Loaded::Ready => break,
                Loaded::Lost => self.restore_what_is_left(flash, number),
            }
        }
        for row in members(self.jobs.at(number).sum.parity) {
            let fresh = self.array.take_page(flash);
            self.jobs.set_cell(number, Cell::Fresh(row), fresh);
            for index in members(self.array.layout.all()) {
                self.array.add(flash, row, index, self.jobs.cell(number, Cell::Newest(index)), fresh);
            }
        }
        self.jobs.at_mut(number).phase = Phase::Refill;
        true
    }

    /// More is missing than the parity can tell: all of it is given up, and a new parity takes zeros for it. The one on
    /// flash covers what nobody knows any more.
    #[cold]
    pub fn restore_what_is_left(&mut self, flash: &mut F, number: u32) {
        let (lost, _) = self.lost_to(number);
        let stripe = self.jobs.at(number).stripe;
        let (without_spare, rows_without_spare) = self.array.chips.without_spare(&self.array.layout, stripe);
        let rows = (1 << self.array.layout.parity) - 1;
        let all = self.array.layout.all();
        let job = self.jobs.at_mut(number);
        job.whole = true;
        job.want = Shards { newest: all, ..Shards::default() };
        job.sum = Shards { newest: lost & !without_spare, old: 0, parity: rows & !rows_without_spare };
        self.give_up_lost(flash, number);
    }

    /// Writes what was lost to the spare, as old as the parity that is still there: that covers it. With a parity of
    /// its own it is newer than the last one, so that a power cut between the two is seen.
    /// 1. If dies were lost or replaced meanwhile, the job begins anew.
    /// 2. The pages are written with the number of the youngest parity which is still there, if there is any.
    /// 3. Data pages are written, then rows of the parity; the first row without a number gives its own to the others.
    /// 4. Without room the job waits, and goes on where it stopped.
    /// 5. When all of it is on flash, old versions of a new parity are dropped, and the job ends.
    pub fn refill(&mut self, flash: &mut F, number: u32) -> bool {
        if self.has_to_begin_anew(flash, number) {
            return true;
        }
        let Job { stripe, sum, issued, sequence, whole, .. } = *self.jobs.at(number);
        let (_, lost_rows) = self.array.lost_members(stripe);
        let live = (0..self.array.layout.parity).filter(|row| lost_rows >> row & 1 == 0 && !whole);
        let known = live.map(|row| self.array.below.sequence_of(self.array.layout.parity_page(stripe, row))).max();
        let mut sequence = if sequence == 0 { known.unwrap_or(0) } else { sequence };
        let data =
            members(sum.newest).map(|index| (index, self.array.layout.data_page(stripe, index), Cell::Newest(index)));
        let rows = members(sum.parity)
            .map(|row| (row + FIRST_ROW, self.array.layout.parity_page(stripe, row), Cell::Fresh(row)));
        // Parities go last: with a number of their own they are younger than what they cover.
        for (bit, page, cell) in data.chain(rows).collect::<Vec<_>>() {
            if issued >> bit & 1 == 1 {
                continue;
            }
            let op = self.array.page_op(
                page,
                self.jobs.cell(number, cell),
                Cause::Rebuild,
                Tag::token(Asked::Fresh, number, 0),
            );
            let op = layer::PageOp { kept: whole && bit >= FIRST_ROW && self.array.layout.parity > 1, ..op };
            let answer = if sequence == 0 {
                self.array.below.submit(flash, &op)
            } else {
                self.array.below.write_as(flash, &op, sequence)
            };
            if matches!(answer, Answer::Full { .. }) {
                self.stall(number, None);
                return false;
            }
            if bit >= FIRST_ROW && sequence == 0 {
                sequence = self.array.below.sequence();
            }
            let job = self.jobs.at_mut(number);
            (job.issued, job.sequence) = (job.issued | 1 << bit, sequence);
            job.outstanding += u32::from(matches!(answer, Answer::Pending(_)));
        }
        if self.jobs.at(number).outstanding > 0 {
            return false;
        }
        if whole {
            members(sum.parity)
                .for_each(|row| self.array.below.drop_old(flash, self.array.layout.parity_page(stripe, row)));
        }
        self.end_rebuild(flash, number);
        true
    }

    /// Reads the page a job is about, or what stands for it.
    pub fn fetch(&mut self, flash: &mut F, number: u32) -> bool {
        let loaded = self.load(flash, number);
        if loaded == Loaded::Waits {
            return false;
        }
        let Job { stripe, pages, lost, .. } = *self.jobs.at(number);
        let index = pages.trailing_zeros();
        let user = self.array.layout.user_page(stripe, index);
        if loaded == Loaded::Lost || user.is_some_and(|user| self.array.gone.has(user)) {
            let job = self.jobs.at_mut(number);
            (job.failed, job.phase) = (true, Phase::End);
            return true;
        }
        let (part, newest) = (*self.jobs.part(number, index), self.jobs.cell(number, Cell::Newest(index)));
        flash.memory_mut().payloads.copy(newest, part.payload, part.mask);
        if !self.array.torn.is_quiet() {
            self.note_seen(stripe, index);
        }
        let can_be_healed = lost.0 >> index & 1 == 1 && self.array.lost_members(stripe).0 >> index & 1 == 0;
        self.jobs.at_mut(number).phase = if can_be_healed { Phase::Heal } else { Phase::End };
        true
    }

    /// Writes a page again that could not be read, as old as it was.
    pub fn heal(&mut self, flash: &mut F, number: u32) -> bool {
        let Job { stripe, pages, issued, .. } = *self.jobs.at(number);
        let index = pages.trailing_zeros();
        if issued == 0 {
            let page = self.array.layout.data_page(stripe, index);
            let sequence = self.array.below.sequence_of(page);
            let newest = self.jobs.cell(number, Cell::Newest(index));
            let op = self.array.page_op(page, newest, Cause::Rebuild, Tag::token(Asked::Fresh, number, 0));
            let answer = self.array.below.write_as(flash, &op, sequence);
            let job = self.jobs.at_mut(number);
            job.issued = pages;
            job.outstanding += u32::from(matches!(answer, Answer::Pending(_)));
            // Without room it stays as it is until it is read again.
            self.array.counters.healed_pages += u64::from(!matches!(answer, Answer::Full { .. }));
        }
        if self.jobs.at(number).outstanding > 0 {
            return false;
        }
        self.jobs.at_mut(number).phase = Phase::End;
        true
    }
}

impl<F: Flash> Array<F> {
    /// A spare takes the place of a lost die.
    pub fn replace_die(&mut self, flash: &mut F, die: DieId) {
        let Some(spare) = self.chips.spares.last().copied() else { return };
        self.below.replace_die(flash, die, spare);
        let place =
            flash.memory_mut().nvram.insert(STRIPE_OWNER, die.0, 0, PayloadId::NONE, REPLACED | u64::from(spare.0));
        let replaced = Replaced { lost: die, spare, place, filled: 0, beyond: BTreeMap::new() };
        self.chips.replace(&replaced, self.layout.stripes());
    }

    /// Nothing is left of a data page: it reads as an error from now on, power cuts or not.
    #[cold]
    pub fn give_up(&mut self, flash: &mut F, stripe: u32, index: u32) {
        let Some(user) = self.layout.user_page(stripe, index) else { return };
        let is_new = self.gone.give_up(&mut flash.memory_mut().nvram, user);
        self.counters.lost_pages += u64::from(is_new);
    }

    /// Pages of stripes that have lost more than their parity can tell, and that nobody has given up yet.
    pub fn beyond_parity(&self) -> u64 {
        if self.chips.all_there() {
            return 0;
        }
        let lost_of = |stripe: u32| {
            let (data, rows) = self.lost_members(stripe);
            if data.count_ones() <= self.layout.parity - rows.count_ones() {
                return 0;
            }
            let is_lost = |index: &u32| {
                let is_gone = self.layout.user_page(stripe, *index).is_none_or(|user| self.gone.has(user));
                !is_gone && self.below.is_written(self.layout.data_page(stripe, *index))
            };
            members(data).filter(is_lost).count() as u64
        };
        (0..self.layout.stripes()).map(lost_of).sum()
    }

    /// Whether one of these data pages was given up.
    pub fn has_gone(&self, stripe: u32, pages: u64) -> bool {
        let is_gone = |index| self.layout.user_page(stripe, index).is_some_and(|user| self.gone.has(user));
        !self.gone.is_empty() && members(pages).any(is_gone)
    }

    /// A page is written anew: its loss does not matter any more.
    #[inline]
    pub fn forget_gone(&mut self, flash: &mut F, stripe: u32, index: u32) {
        if !self.gone.is_empty()
            && let Some(user) = self.layout.user_page(stripe, index)
        {
            self.gone.forget(&mut flash.memory_mut().nvram, user);
        }
    }
}
