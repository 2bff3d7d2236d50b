//! How far the collection of one lane is.

use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use nand::Outcome;
use units::{BlockId, CAUSES, Cause, Ppn, Tpn};

/// A block being emptied: the pages that were valid when it was chosen, and how far we are. A page
/// that became invalid since is skipped.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub victim: BlockId,
    pub cause: Cause,
    pages: Vec<u32>,
    next: usize,
    /// Pages that the host wrote in this lane since it began.
    written: u32,
    /// Pages of room that emptying the block gives; 0: it is not emptied for room.
    gain: i64,
    /// Pages dealt with, more than go with what the host has written: times `gain`, as `written` goes with the number
    /// of pages. Lanes are asked for it more often than it changes.
    lead: i64,
}

impl Collection {
    /// The page that is `ahead` pages behind the next one in its list.
    #[inline(always)]
    pub fn page(&self, ahead: usize) -> Option<Ppn> {
        self.pages.get(self.next + ahead).copied().map(Ppn)
    }

    /// The next pages of its list, at most `most`.
    #[inline]
    pub fn next_pages(&self, most: u32) -> &[u32] {
        let rest = &self.pages[self.next..];
        &rest[..rest.len().min(most as usize)]
    }

    /// Of a block of `pages_per_block` pages, the first `next` of these were dealt with while the host wrote `written`.
    fn new([victim, next, written]: [u32; 3], cause: Cause, pages: Vec<u32>, pages_per_block: u32) -> Self {
        let is_for_room = matches!(cause, Cause::Gc | Cause::Fold);
        let gain = if is_for_room { pages_per_block.saturating_sub(pages.len() as u32) } else { 0 };
        let (victim, next, gain) = (BlockId(victim), next as usize, i64::from(gain));
        let mut collection = Self { victim, cause, pages, next, written, gain, lead: 0 };
        collection.look_again();
        collection
    }

    /// Counts anew how far it is ahead of the host.
    fn look_again(&mut self) {
        self.lead = self.next as i64 * self.gain - i64::from(self.written) * self.pages.len() as i64;
    }

    /// The next pages are dealt with.
    #[inline(always)]
    fn advance(&mut self, pages: usize) {
        self.next += pages;
        self.lead += pages as i64 * self.gain;
    }
}

/// The collection of one lane. Only this file writes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    collection: Option<Collection>,
    /// Copies under way, and translation pages that go with them.
    in_flight: u32,
    /// Translation pages to be programmed with the end of a collection.
    updates: Vec<Tpn>,
    /// A block without invalid pages was moved since the host last wrote here.
    moved_full: bool,
    /// Such blocks that the policy has chosen since it chose another one.
    full_in_a_row: u32,
    /// Memory of the last collection's page list, to be used again.
    spare_list: Vec<u32>,
}

impl Cursor {
    /// The block being emptied, and how far that is.
    #[inline(always)]
    pub fn collection(&self) -> Option<&Collection> {
        self.collection.as_ref()
    }

    /// The block being emptied.
    #[inline]
    pub fn victim(&self) -> Option<BlockId> {
        self.collection.as_ref().map(|collection| collection.victim)
    }

    #[inline]
    pub fn copies_under_way(&self) -> u32 {
        self.in_flight
    }

    /// More is moved than goes with the writes of the host here, in groups of `group` pages.
    #[inline]
    pub fn is_ahead(&self, group: u32) -> bool {
        let is_ahead = |collection: &Collection| {
            let of_group = i64::from(collection.next as u32 % group);
            collection.gain > 0 && collection.lead - of_group * collection.gain > 0
        };
        self.collection.as_ref().is_some_and(is_ahead)
    }

    /// Copies are under way, and with the next one there would be no more than go with the writes of the host here.
    #[inline(always)]
    pub fn is_behind(&self) -> bool {
        let is_behind = |collection: &Collection| collection.gain > 0 && collection.lead + collection.gain <= 0;
        self.in_flight > 0 && self.collection.as_ref().is_some_and(is_behind)
    }

    /// Pages of the block being emptied that were dealt with.
    pub fn passed(&self) -> impl Iterator<Item = Ppn> {
        let passed = self.collection.as_ref().map_or(&[][..], |collection| &collection.pages[..collection.next]);
        passed.iter().copied().map(Ppn)
    }

    /// A block is being emptied, or copies of one are under way.
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.collection.is_some()
    }

    /// An empty list for the pages of the next victim.
    pub fn page_list(&mut self) -> Vec<u32> {
        let mut list = std::mem::take(&mut self.spare_list);
        list.clear();
        list
    }

    /// `victim` is emptied from now on; these of its `pages_per_block` pages are valid.
    pub fn begin(&mut self, victim: BlockId, cause: Cause, pages: Vec<u32>, pages_per_block: u32) {
        self.collection = Some(Collection::new([victim.0, 0, 0], cause, pages, pages_per_block));
    }

    /// The next page is dealt with.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.advance_by(1);
    }

    /// So many pages are dealt with.
    #[inline(always)]
    pub fn advance_by(&mut self, pages: usize) {
        if let Some(collection) = &mut self.collection {
            collection.advance(pages);
        }
    }

    /// The host wrote a page here.
    #[inline]
    pub fn keeps_pace(&mut self) {
        if let Some(collection) = &mut self.collection {
            collection.written += 1;
            collection.lead -= collection.pages.len() as i64;
        }
    }

    /// One more page of `block` is to be moved. `false`: that block is not being emptied.
    pub fn add(&mut self, block: BlockId, page: Ppn) -> bool {
        let Some(collection) = self.collection.as_mut().filter(|collection| collection.victim == block) else {
            return false;
        };
        collection.pages.push(page.0);
        collection.gain = (collection.gain - 1).max(0);
        collection.look_again();
        true
    }

    /// The collection is over, or given up. The emptied block, and the reason.
    pub fn end(&mut self) -> Option<(BlockId, Cause)> {
        let collection = self.collection.take()?;
        self.spare_list = collection.pages;
        Some((collection.victim, collection.cause))
    }

    /// A program of this collection was issued, and ends later unless it is `Done`.
    #[inline]
    pub fn issued(&mut self, outcome: Outcome) {
        self.in_flight += u32::from(outcome != Outcome::Done);
    }

    /// A program of this collection ended.
    pub fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// The host wrote here.
    #[inline]
    pub fn host_wrote(&mut self) {
        self.moved_full = false;
    }

    /// A block without invalid pages was moved since the host last wrote here.
    pub fn has_moved_full(&self) -> bool {
        self.moved_full
    }

    /// A block without invalid pages is chosen to even out wear.
    pub fn levels(&mut self) {
        self.moved_full = true;
    }

    /// The policy's choice is taken, which gains room or not. How many in a row gained none.
    pub fn picked(&mut self, gains: bool) -> u32 {
        self.moved_full |= !gains;
        self.full_in_a_row = if gains { 0 } else { self.full_in_a_row.saturating_add(1) };
        self.full_in_a_row
    }

    /// A translation page is to be programmed with the end of this collection.
    pub fn update_later(&mut self, page: Tpn) {
        self.updates.push(page);
    }

    /// The next translation page to be programmed with the end of this collection.
    pub fn next_update(&mut self) -> Option<Tpn> {
        self.updates.pop()
    }

    /// Nothing more is collected here.
    pub fn lose(&mut self) {
        self.collection = None;
    }

    /// `promised`: translation pages that its lane promises it.
    pub fn save(&self, writer: &mut SnapshotWriter, promised: u32) {
        let numbers = |collection: &Collection| {
            let head =
                [collection.victim.0, collection.cause.index() as u32, collection.next as u32, collection.written];
            head.into_iter().chain(collection.pages.iter().copied()).collect()
        };
        let collection: Vec<u32> = self.collection.as_ref().map(numbers).unwrap_or_default();
        writer.put("lane.collection", collection);
        let full = self.full_in_a_row << 1 | u32::from(self.moved_full);
        writer.put("lane.updates", [promised, full].into_iter().chain(self.updates.iter().map(|page| page.0)));
    }

    /// Reads the output of [`Cursor::save`]: the cursor, and the promised translation pages. `pages_per_block`: of the
    /// drive.
    pub fn load(reader: &mut SnapshotReader<'_>, pages_per_block: u32) -> Result<(Self, u32), SnapshotError> {
        let problem = "its promise is missing".to_owned();
        let collection = match reader.get::<u32>("lane.collection")?.as_slice() {
            [victim, cause, next, written, pages @ ..] => {
                let cause = CAUSES[*cause as usize % CAUSES.len()];
                Some(Collection::new([*victim, *next, *written], cause, pages.to_vec(), pages_per_block))
            }
            _ => None,
        };
        let updates = reader.get::<u32>("lane.updates")?;
        let [promised, full, updates @ ..] = updates.as_slice() else {
            return Err(SnapshotError::Unfit { section: "lane", problem });
        };
        let updates = updates.iter().copied().map(Tpn).collect();
        let (moved_full, full_in_a_row) = (full & 1 == 1, full >> 1);
        Ok((Self { collection, updates, moved_full, full_in_a_row, ..Self::default() }, *promised))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_with_what_the_host_writes() {
        let mut cursor = Cursor::default();
        cursor.begin(BlockId(7), Cause::Gc, (0..30).collect(), 40);
        let mut moved = Vec::new();
        for _ in 0..9 {
            while !cursor.is_ahead(1) {
                cursor.advance();
            }
            moved.push(cursor.collection().map_or(0, |collection| collection.next));
            cursor.keeps_pace();
        }
        // 30 pages make room for ten: three with each, and the first one at once.
        assert_eq!(moved, [1, 4, 7, 10, 13, 16, 19, 22, 25]);
        cursor.in_flight = 1;
        assert!(cursor.is_behind(), "the copies that go with the last page have not begun");
        (0..3).for_each(|_| cursor.advance());
        assert!(!cursor.is_behind());
        cursor.keeps_pace();
        cursor.ended();
        assert!(!cursor.is_behind(), "no copy is under way whose end could be heard");
    }

    #[test]
    fn what_gives_no_room_keeps_nobody_waiting() {
        for (cause, valid) in [(Cause::Gc, 40), (Cause::Wear, 30), (Cause::Refresh, 30)] {
            let mut cursor = Cursor::default();
            cursor.begin(BlockId(7), cause, (0..valid).collect(), 40);
            cursor.in_flight = 1;
            (0..20).for_each(|_| cursor.keeps_pace());
            assert!(!cursor.is_behind() && !cursor.is_ahead(1), "{cause:?}, {valid} pages");
        }
    }
}
