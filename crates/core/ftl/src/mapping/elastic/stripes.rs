//! Stripes under way: pages are programmed as they come, the parity with the last of them.
//!
//! *Protects*: a page is in memory until its stripe is on flash, and its waiters are told then and not before.

use super::grid::Superblock;
use super::space::Stream;
use layer::Slots;
use nand::{CommandId, PayloadId};
use std::collections::{BTreeMap, VecDeque};
use units::{Cause, Lpn, Ppn};

/// The operations that wait until a page is safe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    pub op: Option<u32>,
    /// The superblock of the replaced version, kept until the new one is safe.
    pub hold: Option<Superblock>,
}

/// The page to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    /// Nothing for a tombstone.
    pub logical: Option<Lpn>,
    pub sequence: u64,
    /// The whole page, in memory until it is safe.
    pub cells: PayloadId,
    pub cause: Cause,
    pub waits: Waits,
}

impl Content {
    /// A version of a logical page. Nobody waits for it.
    pub fn version(logical: Lpn, sequence: u64, cells: PayloadId, cause: Cause) -> Self {
        Self { logical: Some(logical), sequence, cells, cause, waits: Waits::default() }
    }

    /// A tombstone. Nobody waits for it.
    pub fn tombstone(sequence: u64, cause: Cause) -> Self {
        Self { logical: None, sequence, cells: PayloadId::NONE, cause, waits: Waits::default() }
    }
}

/// A page on its way to flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub page: Ppn,
    pub content: Content,
    pub failure: Option<CommandId>,
}

/// A stripe under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Stripe {
    pub members: Vec<Member>,
    /// Where the parity goes, or the twin of a tombstone.
    pub parity: Option<Ppn>,
    /// Programs under way.
    waiting: u32,
    closed: bool,
    pub failed: bool,
    /// Operations that wait for it, though they have no page in it.
    pub others: Vec<Waits>,
}

impl Stripe {
    pub fn first(&self) -> Member {
        self.members[0]
    }
}

/// Pages under way that nobody above waits for.
#[derive(Clone, Copy, Debug, Default)]
struct Unasked {
    copies: u32,
    repairs: u32,
}

/// All stripes under way, and the pages of failed stripes.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    stripes: Slots<Stripe>,
    /// Stripes that ended, whose lists are used again.
    spent: Vec<Stripe>,
    /// By stream the one that takes more pages.
    building: [Option<u32>; 2],
    /// Complete stripes that are not on flash.
    complete: u32,
    /// Stripe of each page being programmed.
    flying: BTreeMap<Ppn, u32>,
    /// Ppns just programmed, and stripes whose programs have all ended.
    landed: VecDeque<Ppn>,
    ended: VecDeque<u32>,
    /// Pages of failed stripes, and who waits for those in each page besides.
    moves: VecDeque<Member>,
    waiting_moves: Vec<(Ppn, Waits)>,
    unasked: Unasked,
}

impl UnderWay {
    /// No program is under way.
    pub fn is_quiet(&self) -> bool {
        self.flying.is_empty()
    }

    /// No page is under way or waits for another place.
    pub fn is_empty(&self) -> bool {
        self.flying.is_empty() && self.moves.is_empty()
    }

    /// A complete stripe is under way.
    pub fn any_complete(&self) -> bool {
        self.complete > 0
    }

    /// Copies of collection under way.
    pub fn copies(&self) -> u32 {
        self.unasked.copies
    }

    /// Pages under way that are written once more because they had no parity.
    pub fn repairs(&self) -> u32 {
        self.unasked.repairs
    }

    /// A stripe under way.
    pub fn at(&self, stripe: u32) -> &Stripe {
        self.stripes.at(stripe)
    }

    /// The stripe that a stream builds.
    pub fn building(&self, stream: Stream) -> Option<&Stripe> {
        self.building[stream as usize].map(|stripe| self.stripes.at(stripe))
    }

    /// The number of the stripe that a stream builds.
    pub fn number(&self, stream: Stream) -> Option<u32> {
        self.building[stream as usize]
    }

    /// A stream begins to build a stripe.
    pub fn begin(&mut self, stream: Stream) -> u32 {
        let stripe = self.stripes.insert(self.spent.pop().unwrap_or_default());
        self.building[stream as usize] = Some(stripe);
        stripe
    }

    /// One more page belongs to a stripe; how many there are now.
    pub fn add(&mut self, stripe: u32, page: Ppn, content: Content) -> u32 {
        if let Some(unasked) = self.unasked(&content) {
            *unasked += 1;
        }
        let members = &mut self.stripes.at_mut(stripe).members;
        members.push(Member { page, content, failure: None });
        members.len() as u32
    }

    /// Where a page that nobody above waits for is counted.
    fn unasked(&mut self, content: &Content) -> Option<&mut u32> {
        match content.cause {
            _ if content.waits.op.is_some() => None,
            Cause::Gc => Some(&mut self.unasked.copies),
            Cause::Rebuild => Some(&mut self.unasked.repairs),
            _ => None,
        }
    }

    /// A page is under way no longer, at least not here.
    pub fn forget(&mut self, content: &Content) {
        if let Some(unasked) = self.unasked(content) {
            *unasked -= 1;
        }
    }

    /// Somebody waits for a stripe, though no page of theirs is in it.
    pub fn join(&mut self, stripe: u32, waits: Waits) {
        self.stripes.at_mut(stripe).others.push(waits);
    }

    /// The stripe that a stream builds is complete. Its number, if there was one.
    pub fn close(&mut self, stream: Stream) -> Option<u32> {
        let stripe = self.building[stream as usize].take()?;
        self.stripes.at_mut(stripe).closed = true;
        self.complete += 1;
        Some(stripe)
    }

    /// The parity of a complete stripe, or the twin of a tombstone, goes to `page`.
    pub fn end_with(&mut self, stripe: u32, page: Ppn) {
        self.stripes.at_mut(stripe).parity = Some(page);
    }

    /// A complete stripe has no place for a parity. It fails, if it must have one and a page of it is waited for.
    pub fn end_without(&mut self, number: u32, must_have_one: bool) {
        let stripe = self.stripes.at_mut(number);
        let waits = stripe.members.iter().map(|member| member.content.waits);
        let somebody_waits = waits.chain(stripe.others.iter().copied()).any(|waits| waits.op.is_some());
        stripe.failed |= must_have_one && somebody_waits;
        if stripe.waiting == 0 {
            self.ended.push_back(number);
        }
    }

    /// A program of a stripe is issued.
    pub fn fly(&mut self, stripe: u32, page: Ppn) {
        self.flying.insert(page, stripe);
        self.stripes.at_mut(stripe).waiting += 1;
    }

    /// A program has ended.
    pub fn landed(&mut self, page: Ppn) {
        self.landed.push_back(page);
    }

    /// Takes in the programs that have ended. Returns the next stripe without a program under way, if there is one.
    pub fn next_ended(&mut self) -> Option<u32> {
        while let Some(page) = self.landed.pop_front() {
            self.land(page);
        }
        self.ended.pop_front()
    }

    /// Nothing waits to be taken in.
    pub fn is_settled(&self) -> bool {
        self.landed.is_empty() && self.ended.is_empty()
    }

    fn land(&mut self, page: Ppn) {
        let number = self.flying[&page];
        let stripe = self.stripes.at_mut(number);
        stripe.waiting -= 1;
        if stripe.closed && stripe.waiting == 0 {
            self.ended.push_back(number);
        }
    }

    /// A program failed: its stripe is written once more when the rest of it has ended. Its number, and whether the
    /// page is one of its members.
    pub fn fail(&mut self, page: Ppn, failed: CommandId) -> (u32, bool) {
        let number = self.flying[&page];
        let stripe = self.stripes.at_mut(number);
        stripe.failed = true;
        let member = stripe.members.iter_mut().find(|member| member.page == page);
        let is_member = member.map(|member| member.failure = Some(failed)).is_some();
        self.land(page);
        (number, is_member)
    }

    /// Every program of a stripe has ended.
    pub fn end(&mut self, number: u32) -> Stripe {
        let stripe = self.stripes.remove(number);
        self.complete -= 1;
        for page in stripe.members.iter().map(|member| member.page).chain(stripe.parity) {
            self.flying.remove(&page);
        }
        stripe
    }

    /// The pages of a stripe that failed are to find another place. Other operations that waited for it wait for the
    /// first.
    pub fn move_all(&mut self, stripe: &Stripe) {
        let first = stripe.first().page;
        self.waiting_moves.extend(stripe.others.iter().map(|waits| (first, *waits)));
        self.moves.extend(stripe.members.iter().copied());
    }

    /// The lists of a stripe that ended are used again.
    pub fn recycle(&mut self, Stripe { mut members, mut others, .. }: Stripe) {
        members.clear();
        others.clear();
        self.spent.push(Stripe { members, others, ..Stripe::default() });
    }

    /// The next page of a failed stripe that is to find another place.
    pub fn next_move(&self) -> Option<Member> {
        self.moves.front().copied()
    }

    /// It has found one. Other operations that wait for it.
    pub fn moved(&mut self) -> Vec<Waits> {
        let member = self.moves.pop_front().expect("a page was moved");
        self.forget(&member.content);
        if self.waiting_moves.is_empty() {
            return Vec::new();
        }
        let (its, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting_moves).into_iter().partition(|(page, _)| *page == member.page);
        self.waiting_moves = others;
        its.into_iter().map(|(_, waits)| waits).collect()
    }

    /// Waiters of a version that was overwritten, or that was moved, wait for the one at `page`. `false`: that one is
    /// safe.
    pub fn wait_for(&mut self, page: Ppn, waits: Waits) -> bool {
        if let Some(stripe) = self.flying.get(&page) {
            self.stripes.at_mut(*stripe).others.push(waits);
        } else if self.moves.iter().any(|other| other.page == page) {
            self.waiting_moves.push((page, waits));
        } else {
            return false;
        }
        true
    }

    /// The page at `page`, where it is still in memory.
    pub fn in_memory(&self, page: Ppn) -> Option<Member> {
        let flying = self.flying.get(&page).map(|stripe| &self.stripes.at(*stripe).members);
        flying.into_iter().flatten().chain(&self.moves).find(|member| member.page == page).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy whose program had failed was taken as written, where no place was left for the parity of its stripe.
    #[test]
    fn a_stripe_whose_program_failed_stays_failed_without_a_parity() {
        let mut under_way = UnderWay::default();
        let stripe = under_way.begin(Stream::Copies);
        let page = Ppn(3);
        under_way.add(stripe, page, Content::version(Lpn(7), 1, PayloadId::NONE, Cause::Gc));
        under_way.fly(stripe, page);
        under_way.stripes.at_mut(stripe).failed = true;
        under_way.landed(page);
        under_way.close(Stream::Copies);
        under_way.end_without(stripe, true);
        assert_eq!(under_way.next_ended(), Some(stripe));
        assert!(under_way.end(stripe).failed, "nobody waits for the copy, but it is not on flash");
    }
}
