//! Open blocks of translation pages and of data that belong to each of them, and the pages promised of them to
//! collections.

use super::lane::Frontier;
use super::lanes::Lanes;
use crate::mapping::page_level::access::Sharing;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};

/// Where translation pages go. Empty where a scheme has none.
pub(crate) struct TranslationBlocks {
    /// Open blocks of translation pages: one for each lane, or a single one.
    pub open: Vec<Frontier>,
    /// Pages of these that collections under way will need.
    promised: Vec<u32>,
    /// The lane that gets the next translation page.
    turn: usize,
    /// Lanes that gave a block to translation pages and were not looked at since: they may be short of blocks now.
    pub opened: Vec<u32>,
    /// Open block of each translation page's data, where it has blocks of its own.
    pub own: Vec<Frontier>,
}

impl TranslationBlocks {
    /// `open`: how many open blocks of translation pages; `pages`: how many translation pages.
    pub fn new(sharing: Sharing, open: usize, pages: usize) -> Self {
        let open = if sharing == Sharing::Data { 0 } else { open };
        Self {
            open: vec![Frontier::NONE; open],
            promised: vec![0; open],
            turn: 0,
            opened: Vec::new(),
            own: vec![Frontier::NONE; if sharing == Sharing::Own { pages } else { 0 }],
        }
    }

    /// All lanes share one open block.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.open.len() == 1
    }

    /// Which open block a lane uses.
    #[inline]
    pub fn index(&self, lane: usize) -> usize {
        if self.is_single() { 0 } else { lane }
    }

    /// Pages of a lane's open block that collections under way will need.
    #[inline]
    pub fn promised_in(&self, lane: usize) -> u32 {
        self.promised[self.index(lane)]
    }

    pub fn promise(&mut self, lane: usize, pages: u32) {
        let index = self.index(lane);
        self.promised[index] += pages;
    }

    pub fn release(&mut self, lane: usize, pages: u32) {
        let index = self.index(lane);
        self.promised[index] -= pages;
    }

    #[inline]
    pub fn lane_in_turn(&self) -> usize {
        self.turn
    }

    /// The lane whose turn it is; the next one's turn is next.
    #[inline]
    pub fn next_lane(&mut self, lanes: usize) -> usize {
        let lane = self.turn;
        self.turn = if lane + 1 == lanes { 0 } else { lane + 1 };
        lane
    }

    /// The promises of each open block are the sum of the promises to the lanes that use it.
    ///
    /// # Errors
    /// The first open block that breaks the law, in words.
    pub fn check(&self, lanes: &Lanes) -> Result<(), String> {
        for (index, promised) in self.promised.iter().enumerate() {
            let users = (0..lanes.len()).filter(|lane| self.index(*lane) == index);
            let sum: u32 = users.map(|lane| lanes[lane].promised).sum();
            if sum != *promised {
                return Err(format!("open block {index}: {promised} translation pages promised, lanes hold {sum}"));
            }
        }
        Ok(())
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let numbers = self.open.iter().chain(&self.own).flat_map(Frontier::numbers);
        writer.put("translation.frontiers", numbers);
        writer.put("translation.turn", std::iter::once(self.turn as u32).chain(self.opened.iter().copied()));
    }

    /// Reads what [`TranslationBlocks::save`] wrote, and renews the promises.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>, lanes: &Lanes) -> Result<(), SnapshotError> {
        let numbers = reader.get::<u32>("translation.frontiers")?;
        if numbers.len() != 3 * (self.open.len() + self.own.len()) {
            return Err(unfit("the number of open blocks differs"));
        }
        let open = self.open.iter_mut().chain(&mut self.own);
        for (frontier, numbers) in open.zip(numbers.chunks_exact(3)) {
            *frontier = Frontier::from_numbers([numbers[0], numbers[1], numbers[2]]);
        }
        let turn = reader.get::<u32>("translation.turn")?;
        let [turn, opened @ ..] = turn.as_slice() else { return Err(unfit("the lane in turn is missing")) };
        if turn.max(opened.iter().max().unwrap_or(turn)) >= &(lanes.len() as u32) {
            return Err(unfit("a lane of translation pages is out of range"));
        }
        self.turn = *turn as usize;
        self.opened = opened.to_vec();
        self.promised.fill(0);
        for (lane, entry) in lanes.iter().enumerate() {
            self.promise(lane, entry.promised);
        }
        Ok(())
    }
}

fn unfit(problem: &str) -> SnapshotError {
    SnapshotError::Unfit { section: "translation", problem: problem.to_owned() }
}
