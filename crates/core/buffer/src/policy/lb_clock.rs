//! `lb-clock`: a clock over logical blocks; of those not written since the hand passed, the largest leaves.
//!
//! Faithful to: "Large Block CLOCK" (MASCOTS 2009), built from its abstract, as the full text was not available. The
//! abstract names recency and the use of a block's space, and says that the weight of both follows the workload.
//! Decided here, not in the abstract: each logical block has a reference bit, which a write sets. The hand clears the
//! bits it finds set, and blocks without a set bit are candidates. The candidate with the most pages leaves. With many
//! set bits recency decides, and with few of them size. A candidate that is written again is not a candidate any more.
//! A block written from begin to end gets no second chance and leaves before all candidates.
//! Simplified: the hand goes once round for a set of candidates. It goes again only when the set is used up, and a
//! second time at once if all bits were set. It begins at the place of the last victim, as a plain clock does. A new
//! block takes that place, so the hand comes to it last. Among equals the first on its way leaves.
//! Protects: one place on the dial for each block buffered; the hand never points to a block that left.

use super::{Piece, Policy, Victim, with_common};
use crate::Buffer;
use crate::parameters::{Area, BLOCK_SIZE, Shape};
use crate::store::Store;
use layer::recency::{Links, List};
use layer::{SnapshotError, SnapshotReader, SnapshotWriter, Values};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use units::Lpn;

pub(super) fn entry() -> Buffer {
    let doc = "a clock over logical blocks; the largest block not used lately leaves first";
    let when = "Use it for mixed file traffic over any mapping: blocks in use stay, and large blocks leave as a \
                whole. Against fab it keeps more hot blocks and sends smaller ones. It is built from the abstract of \
                its publication: the order of the hand and the set of candidates are choices of this project.";
    super::entry::<LbClock>("lb-clock", doc, when, || with_common(&[BLOCK_SIZE]))
}

/// A block that may leave; the least of them leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// It was not written from begin to end.
    may_grow: bool,
    size: Reverse<u32>,
    /// Those the hand came to earlier have smaller ones.
    turn: u64,
    block: u32,
}

/// What is known of a logical block.
#[derive(Clone, Copy, Debug, Default)]
struct Face {
    referenced: bool,
    /// Its last writes began at its first sector and followed each other.
    in_order: bool,
    /// Sector behind the last write.
    end: u32,
    candidate: Option<Candidate>,
}

/// See the module description.
pub(crate) struct LbClock {
    links: Links,
    /// The hand goes from the head to the tail, and on at the head.
    dial: List,
    /// The block it comes to next; none: the head.
    hand: Option<u32>,
    faces: Vec<Face>,
    candidates: BTreeSet<Candidate>,
    turns: u64,
}

impl LbClock {
    fn is_full(store: &Store, block: u32) -> bool {
        store.held(Area::Blocks, block) as usize == store.shape.pages_of(block).len()
    }

    fn nominate(&mut self, store: &Store, block: u32, may_grow: bool) {
        self.turns += 1;
        let candidate = Candidate { may_grow, size: Reverse(store.held(Area::Blocks, block)), turn: self.turns, block };
        self.candidates.insert(candidate);
        self.faces[block as usize].candidate = Some(candidate);
    }

    /// Takes a block out of the candidates, if it is one.
    #[inline]
    fn withdraw(&mut self, block: u32) -> Option<Candidate> {
        let candidate = self.faces[block as usize].candidate.take()?;
        self.candidates.remove(&candidate);
        Some(candidate)
    }

    /// The hand goes once round. Each step clears a bit that a write had set, or makes a candidate: it costs
    /// no more than the writes did.
    fn go_round(&mut self, store: &Store) {
        for _ in 0..self.dial.len() {
            let Some(block) = self.hand.or(self.dial.head()) else { return };
            self.hand = self.links.behind(block);
            if std::mem::take(&mut self.faces[block as usize].referenced) {
                continue;
            }
            self.nominate(store, block, true);
        }
    }
}

impl Policy for LbClock {
    const AREAS: &'static [Area] = &[Area::Blocks];

    fn blocks_bytes(values: &Values) -> u64 {
        values.whole("buffer.size")
    }

    fn new(shape: Shape, _: &Values) -> Self {
        let blocks = shape.blocks() as usize;
        Self {
            links: Links::new(blocks),
            dial: List::default(),
            hand: None,
            faces: vec![Face::default(); blocks],
            candidates: BTreeSet::new(),
            turns: 0,
        }
    }

    #[inline]
    fn route(&mut self, _: &Piece, _: &Store) -> Area {
        Area::Blocks
    }

    #[inline]
    fn put(&mut self, store: &Store, _: Area, slot: u32, is_new: bool) {
        let block = store.shape.block_of(store.slot(slot).logical);
        if is_new && store.held(Area::Blocks, block) == 1 {
            // Behind the hand: it comes to all others before.
            self.links.insert_before(&mut self.dial, block, self.hand);
            self.faces[block as usize] = Face::default();
        }
        self.withdraw(block);
        self.faces[block as usize].referenced = true;
    }

    fn wrote(&mut self, store: &Store, _: Area, piece: &Piece) {
        let Piece { block, sectors: (start, end), .. } = *piece;
        let face = &mut self.faces[block as usize];
        face.in_order = start == 0 || face.in_order && face.end == start;
        face.end = end;
        let reaches_end = end == store.shape.len_of(block) * store.shape.sectors_per_page;
        if face.in_order && reaches_end && Self::is_full(store, block) {
            face.referenced = false;
            self.withdraw(block);
            self.nominate(store, block, false);
        }
    }

    #[inline]
    fn left(&mut self, store: &Store, _: Area, _: u32, logical: Lpn) {
        let block = store.shape.block_of(logical);
        let candidate = self.withdraw(block);
        if store.held(Area::Blocks, block) == 0 {
            if self.hand == Some(block) {
                self.hand = self.links.behind(block);
            }
            self.links.remove(&mut self.dial, block);
        } else if let Some(Candidate { turn, .. }) = candidate {
            // Smaller than before, it keeps its turn.
            let smaller = Candidate { may_grow: true, size: Reverse(store.held(Area::Blocks, block)), turn, block };
            self.candidates.insert(smaller);
            self.faces[block as usize].candidate = Some(smaller);
        }
    }

    fn victim(&mut self, store: &Store, _: Area) -> Option<Victim> {
        if self.candidates.is_empty() {
            self.go_round(store);
        }
        if self.candidates.is_empty() {
            self.go_round(store);
        }
        let Candidate { block, may_grow, .. } = *self.candidates.first()?;
        if may_grow {
            self.hand = Some(block); // it goes on behind, once the block has left
        }
        Some(Victim::Block { block, pad: Self::is_full(store, block) })
    }

    fn ram_bytes(&self) -> u64 {
        // Two links, the end of the last write, size and bits; as much for an entry of the candidates.
        16 * u64::from(self.dial.len()) + 16 * self.candidates.len() as u64
    }

    fn check(&self, store: &Store) -> Result<(), String> {
        let mut dial = self.links.check(&self.dial)?;
        dial.sort_unstable();
        let held: Vec<u32> = (0..store.shape.blocks()).filter(|block| store.held(Area::Blocks, *block) > 0).collect();
        if dial != held || self.hand.is_some_and(|block| held.binary_search(&block).is_err()) {
            return Err("the clock has other blocks than the buffer".to_owned());
        }
        let fits = |candidate: &Candidate| {
            let face = &self.faces[candidate.block as usize];
            let size = store.held(Area::Blocks, candidate.block);
            face.candidate == Some(*candidate) && !face.referenced && candidate.size == Reverse(size) && size > 0
        };
        if self.candidates.iter().all(fits) {
            Ok(())
        } else {
            Err("a candidate of the clock was written, or left".to_owned())
        }
    }

    fn save(&self, _: &Store, writer: &mut SnapshotWriter) {
        let mut dial: Vec<u32> = self.links.oldest_first(&self.dial).collect();
        dial.reverse();
        // From the hand on, so that its place need not be told.
        let hand = self.hand.and_then(|block| dial.iter().position(|other| *other == block)).unwrap_or(0);
        dial.rotate_left(hand);
        let state = dial.iter().map(|block| {
            let face = &self.faces[*block as usize];
            [*block, face.end, u32::from(face.in_order) | u32::from(face.referenced) << 1]
        });
        writer.put("buffer.clock", state);
        let mut candidates: Vec<&Candidate> = self.candidates.iter().collect();
        candidates.sort_unstable_by_key(|candidate| candidate.turn);
        let state = candidates.iter().map(|candidate| [candidate.block, u32::from(candidate.may_grow)]);
        writer.put("buffer.clock_candidates", state);
    }

    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        (self.dial, self.hand, self.turns) = (List::default(), None, 0);
        self.candidates.clear();
        self.faces.fill(Face::default());
        let known = |section: &'static str, block: u32| {
            if block < store.shape.blocks() && store.held(Area::Blocks, block) > 0 {
                return Ok(());
            }
            Err(SnapshotError::unfit(section, format!("block {block} is on the clock and not in the buffer")))
        };
        for [block, end, bits] in reader.each::<[u32; 3]>("buffer.clock")? {
            known("buffer.clock", block)?;
            self.links.insert_before(&mut self.dial, block, None);
            self.faces[block as usize] =
                Face { referenced: bits & 2 != 0, in_order: bits & 1 != 0, end, candidate: None };
        }
        for [block, may_grow] in reader.each::<[u32; 2]>("buffer.clock_candidates")? {
            known("buffer.clock_candidates", block)?;
            self.nominate(store, block, may_grow != 0);
        }
        Ok(())
    }
}
