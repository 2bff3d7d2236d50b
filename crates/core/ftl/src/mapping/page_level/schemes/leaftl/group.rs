//! A group: up to 256 consecutive logical pages, whose segments lie in levels as in a log.
//!
//! A new segment goes to the top level and takes the pages it answers for away from older ones: from
//! the rosters of approximate ones, from the ends of accurate ones. A segment that still answers for
//! one of its pages sinks below it. A lookup goes down from the top and takes the first answer. When
//! many pages were learned since the last time, the group is compacted: its present answers are
//! learned from scratch, and kept if they take fewer bytes. If plain entries take fewer still, it
//! has these.

use super::learn::{Point, Workshop};
use super::segment::{NOWHERE, Pages, Piece, SEGMENT_BYTES, Segment};

/// Bytes of a plain entry.
pub(super) const PLAIN_BYTES: u32 = 4;
/// Set in a plain entry that is a prediction.
const PREDICTED: u32 = 1 << 31;
/// Pages learned after which compaction is tried.
const COMPACT_EVERY: u16 = 32;

/// The answer of memory about a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Flash page, or `NOWHERE`.
    pub page: u32,
    /// It is there; otherwise within the error bound.
    pub exact: bool,
}

impl Answer {
    pub const NOWHERE: Answer = Answer { page: NOWHERE, exact: true };

    pub fn exact(page: u32) -> Self {
        Self { page, exact: true }
    }
}

/// A census of the segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub accurate: u64,
    pub approximate: u64,
    /// Mapped pages that segments answer for.
    pub learned_pages: u64,
    /// Groups of plain entries, and mapped pages there.
    pub plain_groups: u64,
    pub plain_pages: u64,
    /// Levels of the deepest group.
    pub levels: u64,
}

/// See the module description.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Segments, those of the top level first.
    segments: Vec<Segment>,
    /// Positions of each approximate segment, in the order of those.
    rosters: Vec<Pages>,
    /// Where each level ends in `segments`.
    ends: Vec<u16>,
    /// An entry for each page instead of segments.
    plain: Vec<u32>,
    /// Pages learned since compaction was tried.
    changes: u16,
    bytes: u32,
}

impl Group {
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Its answer about a position.
    #[inline]
    pub fn answer(&self, position: u8) -> Answer {
        if let Some(&entry) = self.plain.get(usize::from(position)) {
            let predicted = entry != NOWHERE && entry & PREDICTED != 0;
            return Answer { page: if predicted { entry & !PREDICTED } else { entry }, exact: !predicted };
        }
        let mut rosters = self.rosters.iter();
        for segment in &self.segments {
            let exact = segment.is_accurate();
            let is_own =
                if exact { segment.spans(position) } else { rosters.next().is_some_and(|roster| roster.has(position)) };
            if is_own {
                return Answer { page: segment.predict(position), exact };
            }
        }
        Answer::NOWHERE
    }

    /// Learns the workshop's points, all of them exact. `pages`: of the group. It grows by no more than
    /// a segment for each point, and never beyond plain entries.
    pub fn learn(&mut self, pages: u32, workshop: &mut Workshop) {
        self.changes = self.changes.saturating_add(workshop.points.len() as u16);
        if self.plain.is_empty() {
            workshop.learn();
            workshop.pieces.clear();
            let mut covered = Pages::default();
            for piece in &workshop.learned {
                covered.add(&piece.pages);
                workshop.pieces.push(*piece);
            }
            self.pieces_below(covered, &mut workshop.pieces);
            self.stack(workshop);
        } else {
            for point in &workshop.points {
                self.plain[usize::from(point.position)] = point.page;
            }
        }
        if self.changes >= COMPACT_EVERY || self.bytes > pages * PLAIN_BYTES {
            self.compact(pages, workshop);
        }
    }

    /// The segments, each with the positions it answers for and the level it has now. Positions in
    /// `covered` have a newer answer; what answers for no others is left out.
    fn pieces_below(&self, mut covered: Pages, pieces: &mut Vec<Piece>) {
        let mut rosters = self.rosters.iter();
        for &segment in &self.segments {
            let all = if segment.is_accurate() { Some(segment.span()) } else { rosters.next().copied() };
            let all = all.expect("every approximate segment has a roster");
            let live = all.without(&covered);
            covered.add(&all);
            if live == all {
                pieces.push(Piece { segment, pages: all, level: 0 });
                continue;
            }
            if live.is_empty() {
                continue;
            }
            let segment = segment.trimmed(&live);
            // Between its ends an accurate segment still speaks for pages it lost.
            let pages = if segment.is_accurate() { segment.span() } else { live };
            pieces.push(Piece { segment, pages, level: 0 });
        }
    }

    /// Takes the workshop's pieces, newest first, each to the highest level below all newer ones that
    /// answer for one of its positions.
    fn stack(&mut self, workshop: &mut Workshop) {
        let Workshop { pieces, levels, .. } = workshop;
        levels.clear();
        for piece in pieces.iter_mut() {
            let level = levels.iter().rposition(|level| level.meets(&piece.pages)).map_or(0, |level| level + 1);
            piece.level = level as u16;
            match levels.get_mut(level) {
                Some(taken) => taken.add(&piece.pages),
                None => levels.push(piece.pages),
            }
        }
        if levels.len() > 1 {
            pieces.sort_unstable_by_key(|piece| (piece.level, piece.pages.first()));
        }
        self.take(pieces, levels.len());
    }

    /// Takes pieces in order of their levels.
    fn take(&mut self, pieces: &[Piece], levels: usize) {
        self.plain.clear();
        self.segments.clear();
        self.rosters.clear();
        self.ends.clear();
        self.ends.resize(levels, 0);
        self.bytes = 0;
        for piece in pieces {
            self.segments.push(piece.segment);
            self.ends[usize::from(piece.level)] = self.segments.len() as u16;
            self.bytes += piece.bytes();
            if !piece.segment.is_accurate() {
                self.rosters.push(piece.pages);
            }
        }
    }

    /// Learns anew what the group answers, and takes what needs the fewest bytes: the segments there
    /// are, those learned, or plain entries. Predictions stay as they are, or errors would add up.
    fn compact(&mut self, pages: u32, workshop: &mut Workshop) {
        self.changes = 0;
        self.collect_points(workshop);
        workshop.learn();
        let learned: u32 = workshop.learned.iter().map(Piece::bytes).sum();
        if learned < self.bytes && learned <= pages * PLAIN_BYTES {
            self.take(&workshop.learned, usize::from(!workshop.learned.is_empty()));
        } else if self.bytes > pages * PLAIN_BYTES {
            self.take(&[], 0);
            self.plain.resize(pages as usize, NOWHERE);
            for point in &workshop.points {
                let flag = if point.exact { 0 } else { PREDICTED };
                self.plain[usize::from(point.position)] = point.page | flag;
            }
            self.bytes = pages * PLAIN_BYTES;
        }
    }

    /// What the group answers. A page that is nowhere needs no answer: there is none below to hide.
    fn collect_points(&self, workshop: &mut Workshop) {
        let points = &mut workshop.points;
        points.clear();
        for position in 0..self.plain.len() {
            let Answer { page, exact } = self.answer(position as u8);
            points.push(Point { position: position as u8, page, exact });
        }
        workshop.pieces.clear();
        self.pieces_below(Pages::default(), &mut workshop.pieces);
        let mut covered = Pages::default();
        for piece in &workshop.pieces {
            for position in piece.pages.without(&covered).iter() {
                let page = piece.segment.predict(position);
                points.push(Point { position, page, exact: piece.segment.is_accurate() });
            }
            covered.add(&piece.pages);
        }
        points.retain(|point| point.page != NOWHERE);
    }

    /// Adds what it is made of, and how many of its pages are mapped.
    pub fn count(&self, census: &mut Census) {
        if !self.plain.is_empty() {
            census.plain_groups += 1;
            census.plain_pages += self.plain.iter().filter(|entry| **entry != NOWHERE).count() as u64;
            return;
        }
        census.approximate += self.rosters.len() as u64;
        census.accurate += (self.segments.len() - self.rosters.len()) as u64;
        census.levels = census.levels.max(self.ends.len() as u64);
        let mut pieces = Vec::new();
        self.pieces_below(Pages::default(), &mut pieces);
        let mut covered = Pages::default();
        for piece in pieces {
            if piece.segment.is_mapped() {
                census.learned_pages += u64::from(piece.pages.without(&covered).count());
            }
            covered.add(&piece.pages);
        }
    }

    /// Checks its bytes and levels.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn check(&self, pages: u32) -> Result<(), String> {
        let rosters: u32 = self.rosters.iter().map(|roster| 1 + roster.count()).sum();
        let bytes = self.segments.len() as u32 * SEGMENT_BYTES + rosters + self.plain.len() as u32 * PLAIN_BYTES;
        if bytes != self.bytes || bytes > pages * PLAIN_BYTES {
            return Err(format!("a group of {pages} pages counts {} bytes and has {bytes}", self.bytes));
        }
        let approximate = self.segments.iter().filter(|segment| !segment.is_accurate()).count();
        if approximate != self.rosters.len()
            || self.ends.last().map_or(0, |end| usize::from(*end)) != self.segments.len()
        {
            return Err("a group has segments without level or roster".to_owned());
        }
        let (mut index, mut rosters) = (0, self.rosters.iter());
        for (level, &end) in self.ends.iter().enumerate() {
            let mut taken = Pages::default();
            for segment in &self.segments[index..usize::from(end)] {
                let span = if segment.is_accurate() { Some(segment.span()) } else { rosters.next().copied() };
                let span = span.expect("they were counted");
                if span.is_empty() || span.meets(&taken) || span.last().is_some_and(|last| u32::from(last) >= pages) {
                    return Err(format!("segment {segment:?} does not fit level {level}"));
                }
                taken.add(&span);
            }
            index = usize::from(end);
        }
        Ok(())
    }

    /// Numbers that stand for it in a snapshot.
    pub fn save(&self, numbers: &mut Vec<u32>) {
        let counts = [self.segments.len(), self.ends.len(), self.plain.len(), usize::from(self.changes)];
        numbers.extend(counts.map(|count| count as u32));
        numbers.extend(self.segments.iter().flat_map(|segment| segment.numbers()));
        numbers.extend(self.ends.iter().map(|end| u32::from(*end)));
        numbers.extend(self.rosters.iter().flat_map(Pages::numbers));
        numbers.extend(&self.plain);
    }

    /// Takes what [`Group::save`] gave from the front of `numbers`; nothing if that is no group.
    pub fn load(numbers: &mut &[u32], pages: u32) -> Option<Self> {
        let mut take = |count: u32| {
            let (head, tail) = numbers.split_at_checked(count as usize)?;
            *numbers = tail;
            Some(head)
        };
        let &[segments, levels, plain, changes] = take(4)? else { return None };
        let mut group = Self { changes: changes as u16, ..Self::default() };
        for pair in take(segments.checked_mul(2)?)?.chunks_exact(2) {
            group.segments.push(Segment::from_numbers(pair[0], pair[1])?);
        }
        group.ends = take(levels)?.iter().map(|end| *end as u16).collect();
        let approximate = group.segments.iter().filter(|segment| !segment.is_accurate()).count();
        group.rosters = take(8 * approximate as u32)?.chunks_exact(8).map(Pages::from_numbers).collect();
        group.plain = take(plain)?.to_vec();
        let rosters: u32 = group.rosters.iter().map(|roster| 1 + roster.count()).sum();
        group.bytes = segments * SEGMENT_BYTES + rosters + plain * PLAIN_BYTES;
        let ends_fit = group.ends.is_sorted() && group.ends.iter().all(|end| u32::from(*end) <= segments);
        (ends_fit && (plain == 0 || plain == pages) && group.check(pages).is_ok()).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use super::super::learn::tests::points;
    use super::*;
    use proptest::prelude::*;

    fn learn(group: &mut Group, workshop: &mut Workshop, pages: u32, batch: impl IntoIterator<Item = (u8, u32)>) {
        workshop.points = points(batch);
        group.learn(pages, workshop);
        group.check(pages).unwrap();
    }

    #[test]
    fn the_newest_segment_answers_and_hidden_ones_go() {
        let (mut group, mut workshop) = (Group::default(), Workshop::new(0));
        learn(&mut group, &mut workshop, 256, (0..20).zip(100..));
        learn(&mut group, &mut workshop, 256, (5..10).zip(900..));
        assert_eq!((group.segments.len(), group.ends.len()), (2, 2), "the older one sank");
        assert_eq!([4, 5, 9, 10].map(|position| group.answer(position).page), [104, 900, 904, 110]);
        learn(&mut group, &mut workshop, 256, (10..20).zip(700..));
        assert_eq!(
            (group.segments.len(), group.ends.len()),
            (3, 1),
            "cut off at the end the older one fits beside them"
        );
        learn(&mut group, &mut workshop, 256, (0..5).zip(300..));
        assert_eq!((group.segments.len(), group.ends.len()), (3, 1), "the oldest is gone");
    }

    #[test]
    fn batches_of_a_row_are_compacted_to_one_segment() {
        let (mut group, mut workshop) = (Group::default(), Workshop::new(4));
        for first in (0..=252_u8).step_by(4) {
            learn(
                &mut group,
                &mut workshop,
                256,
                (first..=first + 3).map(|position| (position, 40 + u32::from(position))),
            );
        }
        assert_eq!((group.segments.len(), group.bytes()), (1, SEGMENT_BYTES));
    }

    #[test]
    fn pages_without_order_take_plain_entries() {
        let (mut group, mut workshop) = (Group::default(), Workshop::new(0));
        learn(
            &mut group,
            &mut workshop,
            64,
            (0..64).map(|position| (position, u32::from(position) * 7919 % 64 * 1000)),
        );
        assert_eq!((group.plain.len(), group.bytes()), (64, 256));
        learn(&mut group, &mut workshop, 64, (0..64).zip(5000..));
        assert_eq!((group.plain.len(), group.bytes()), (0, SEGMENT_BYTES), "put in order they are learned again");
    }

    #[test]
    fn trimmed_pages_are_forgotten() {
        let (mut group, mut workshop) = (Group::default(), Workshop::new(0));
        learn(&mut group, &mut workshop, 128, (0..100).zip(5000..));
        learn(&mut group, &mut workshop, 128, (20..30).map(|position| (position, NOWHERE)));
        assert_eq!([19, 20, 29, 30].map(|position| group.answer(position).page), [5019, NOWHERE, NOWHERE, 5030]);
        assert_eq!(group.bytes(), 2 * SEGMENT_BYTES);
        learn(&mut group, &mut workshop, 128, (0..100).map(|position| (position, NOWHERE)));
        assert_eq!(group.bytes(), 0);
    }

    /// Batches with something of everything: rows, strides, noise, trims.
    fn batch(shape: u8, base: u32, position: u8, index: usize) -> u32 {
        match shape {
            0 => base + index as u32,
            1 => base + 50_000 * (u32::from(position) % 4) + u32::from(position) / 4,
            2 => base + u32::from(position) + base % 7 * index as u32 % 3,
            3 => base + index as u32 * 7919 % 4_000,
            _ => NOWHERE,
        }
    }

    proptest! {
        #[test]
        fn every_answer_is_the_newest_within_the_error_bound(
            error_bound in 0..6_u32,
            last in prop::sample::select(vec![15_u8, 100, 255]),
            batches in prop::collection::vec(
                (0..5_u8, 0..100_000_u32, prop::collection::btree_set(any::<u8>(), 1..60)),
                0..30,
            ),
        ) {
            let pages = u32::from(last) + 1;
            let (mut group, mut workshop) = (Group::default(), Workshop::new(error_bound));
            let mut truth = [NOWHERE; 256];
            for (shape, base, positions) in batches {
                let positions: Vec<u8> = positions.into_iter().filter(|position| *position <= last).collect();
                let page = |(index, position): (usize, &u8)| (*position, batch(shape, base, *position, index));
                let batch: Vec<(u8, u32)> = positions.iter().enumerate().map(page).collect();
                for (position, page) in &batch {
                    truth[usize::from(*position)] = *page;
                }
                let before = group.bytes();
                let most = before + SEGMENT_BYTES * batch.len() as u32;
                learn(&mut group, &mut workshop, pages, batch);
                prop_assert!(group.bytes() <= most.min(pages * PLAIN_BYTES));
                for position in 0..=last {
                    let (answer, truth) = (group.answer(position), truth[usize::from(position)]);
                    let bound = if answer.exact { 0 } else { error_bound };
                    prop_assert!(answer.page.abs_diff(truth) <= bound, "{position}: {answer:?}, but {truth}");
                }
                let mut census = Census::default();
                group.count(&mut census);
                let mapped = truth.iter().filter(|page| **page != NOWHERE).count() as u64;
                prop_assert_eq!(census.learned_pages + census.plain_pages, mapped);
                let mut numbers = Vec::new();
                group.save(&mut numbers);
                let again = Group::load(&mut numbers.as_slice(), pages).expect("it was just written");
                prop_assert_eq!(format!("{group:?}"), format!("{again:?}"));
            }
        }
    }
}
