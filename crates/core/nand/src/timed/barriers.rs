//! Barriers: joins that wait for every program issued before them.

use std::collections::VecDeque;

/// Programs counted by epoch; a barrier closes an epoch and waits until it and all older ones
/// are empty.
#[derive(Clone, Debug)]
pub(super) struct Barriers {
    outstanding: [u32; 256],
    current: u8,
    waiting: VecDeque<(u8, u32)>,
}

impl Barriers {
    pub fn new() -> Self {
        Self { outstanding: [0; 256], current: 0, waiting: VecDeque::new() }
    }

    /// A program was issued; returns the epoch it belongs to.
    #[inline]
    pub fn issued(&mut self) -> u8 {
        self.outstanding[self.current as usize] += 1;
        self.current
    }

    /// A program of `epoch` completed. `true`: a barrier may have fallen.
    #[inline]
    pub fn completed(&mut self, epoch: u8) -> bool {
        self.outstanding[epoch as usize] -= 1;
        self.outstanding[epoch as usize] == 0 && !self.waiting.is_empty()
    }

    /// Adds a barrier for `join`. `false`: nothing is outstanding, it has fallen already.
    pub fn add(&mut self, join: u32) -> bool {
        if self.waiting.is_empty() && self.outstanding[self.current as usize] == 0 {
            return false;
        }
        self.waiting.push_back((self.current, join));
        // With 250 epochs open, further barriers share the last one and wait a little longer.
        if self.waiting.front().is_some_and(|(oldest, _)| self.current.wrapping_sub(*oldest) < 250) {
            self.current = self.current.wrapping_add(1);
        }
        true
    }

    /// The join of the next barrier that has fallen.
    pub fn fallen(&mut self) -> Option<u32> {
        let (epoch, join) = *self.waiting.front()?;
        (self.outstanding[epoch as usize] == 0).then(|| {
            self.waiting.pop_front();
            join
        })
    }
}
