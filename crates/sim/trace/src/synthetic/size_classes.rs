//! Accesses by size class: each size has its share, and its own chance to go on where the last
//! request of the same class ended. Server traces are described well by it, because one program
//! (log, scan, page cleaner) tends to issue one size.

use engine::random::Stream;

use super::place::{Region, Weighted, draw_index};

/// One request size of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeClass {
    /// Sectors of a request, at least 1.
    pub sectors: u32,
    /// Weight of the class among the classes of its operation.
    pub weight: u32,
    /// Probability, 0 to 1, of starting where the class's previous request ended.
    pub continues: f64,
}

impl Weighted for SizeClass {
    fn weight(&self) -> u32 {
        self.weight
    }
}

/// The classes of one operation, with a cursor each.
#[derive(Clone, Debug)]
pub(super) struct SizeClasses {
    table: &'static [SizeClass],
    cursors: Vec<u64>,
}

impl SizeClasses {
    /// Cursors start outside any region, so that each class's first request is a jump.
    pub fn new(table: &'static [SizeClass]) -> Self {
        Self { table, cursors: vec![u64::MAX / 2; table.len()] }
    }

    /// Draws a size and a first sector inside `region`; `jump` chooses where a new run of the
    /// given size starts.
    pub fn draw(
        &mut self,
        random: &mut Stream,
        region: Region,
        jump: impl FnOnce(&mut Stream, u32) -> u64,
    ) -> (u64, u32) {
        let index = draw_index(random, self.table);
        let class = self.table[index];
        let sectors = region.clip(class.sectors);
        let cursor = self.cursors[index];
        let fits = cursor + u64::from(sectors) <= region.end_sector();
        let first_sector = if fits && random.chance(class.continues) { cursor } else { jump(random, sectors) };
        self.cursors[index] = first_sector + u64::from(sectors);
        (first_sector, sectors)
    }
}
