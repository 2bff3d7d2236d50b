//! Free blocks: first in, first out within a plane; planes in turn.

use crate::alloc::{Order, plane_order};
use std::collections::VecDeque;
use units::{BlockId, Geometry};

/// Blocks freed between two looks at the spread of wear.
const LEVEL_EVERY: u32 = 8;

#[derive(Clone, Debug)]
pub(super) struct FreePool {
    geometry: Geometry,
    planes: Vec<VecDeque<BlockId>>,
    order: Vec<u32>,
    turn: usize,
    count: u32,
    /// Blocks freed since wear was looked at.
    freed: u32,
}

impl FreePool {
    pub fn new(geometry: Geometry, order: Order) -> Self {
        let planes = vec![VecDeque::new(); geometry.planes() as usize];
        Self { geometry, planes, order: plane_order(&geometry, &order), turn: 0, count: 0, freed: 0 }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.count
    }

    pub fn push(&mut self, block: BlockId) {
        self.planes[self.geometry.plane_in_drive(block) as usize].push_back(block);
        self.count += 1;
    }

    /// Adds a block that was just erased.
    pub fn free(&mut self, block: BlockId) {
        self.push(block);
        self.freed += 1;
    }

    /// A block of the next plane that has one.
    pub fn take(&mut self) -> Option<BlockId> {
        for _ in 0..self.order.len() {
            let plane = self.order[self.turn] as usize;
            self.turn = (self.turn + 1) % self.order.len();
            if let Some(block) = self.planes[plane].pop_front() {
                debug_assert!(
                    self.geometry.plane_in_drive(block) as usize == plane,
                    "block {block} is of another plane"
                );
                self.count -= 1;
                return Some(block);
            }
        }
        None
    }

    /// The block for which `wear` is largest.
    pub fn take_worn(&mut self, wear: impl Fn(BlockId) -> u32) -> Option<BlockId> {
        let worn = self.blocks().max_by_key(|block| wear(*block))?;
        self.planes.iter_mut().for_each(|plane| plane.retain(|block| *block != worn));
        self.count -= 1;
        Some(worn)
    }

    /// Whether enough blocks were freed to look at the spread of wear.
    #[inline]
    pub fn is_to_level(&self) -> bool {
        self.freed >= LEVEL_EVERY
    }

    /// Wear was looked at.
    pub fn looked_at_wear(&mut self) {
        self.freed = 0;
    }

    /// The blocks, plane by plane in their order.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> {
        self.planes.iter().flatten().copied()
    }

    /// The plane whose turn it is, and blocks freed since wear was looked at.
    pub fn state(&self) -> [u64; 2] {
        [self.turn as u64, u64::from(self.freed)]
    }

    pub fn load(&mut self, blocks: impl Iterator<Item = BlockId>) {
        self.planes.iter_mut().for_each(VecDeque::clear);
        self.count = 0;
        blocks.for_each(|block| self.push(block));
    }

    pub fn load_state(&mut self, [turn, freed]: [u64; 2]) {
        (self.turn, self.freed) = (turn as usize % self.order.len(), freed as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::ORDERS;
    use layer::Values;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use units::Shape;

    fn pool() -> FreePool {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 1,
            planes_per_die: 2,
            blocks_per_die: 8,
            pages_per_block: 4,
            page_bytes: 512,
        };
        let mut values = Values::default();
        values.set(ORDERS.key, layer::Value::Name("cdp".to_owned()));
        FreePool::new(Geometry::new(shape).expect("a valid shape"), ORDERS.read(&values))
    }

    proptest! {
        #[test]
        fn a_free_block_is_given_once(steps in prop::collection::vec((0..16_u32, 0..4_u8), 0..200)) {
            let (mut pool, mut free) = (pool(), BTreeSet::new());
            for (number, what) in steps {
                match what {
                    0..2 if free.insert(BlockId(number)) => pool.free(BlockId(number)),
                    2 => {
                        let taken = pool.take();
                        prop_assert_eq!(taken.is_none(), free.is_empty(), "any plane gives what it has");
                        prop_assert!(taken.is_none_or(|block| free.remove(&block)));
                    }
                    3 => {
                        let most = free.iter().max_by_key(|block| block.0 * 7 % 16).copied();
                        let taken = pool.take_worn(|block| block.0 * 7 % 16);
                        prop_assert_eq!(taken, most);
                        if let Some(block) = &taken {
                            free.remove(block);
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(pool.len() as usize, free.len());
                prop_assert_eq!(pool.blocks().collect::<BTreeSet<_>>(), free.clone());
            }
        }
    }

    #[test]
    fn planes_give_in_turn_and_each_gives_first_what_came_first() {
        let mut pool = pool();
        [1, 0, 9, 8].map(BlockId).into_iter().for_each(|block| pool.push(block));
        let taken: Vec<u32> = std::iter::from_fn(|| pool.take()).map(|block| block.0).collect();
        assert_eq!(taken, [1, 9, 0, 8]);
    }
}
