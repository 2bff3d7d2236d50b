//! Jobs that wait for room, in order, and the chips that are known to have none.
//!
//! Each page that becomes free may be the one that any of these jobs waits for, and many jobs wait: so a job whose chip
//! refused another page since anything changed is passed over without a look at it.

use std::collections::VecDeque;

/// See the module description.
#[derive(Debug, Default)]
pub(crate) struct Stalled {
    /// Each with the chip that refused it as a set; empty where more than that chip must be looked at.
    jobs: VecDeque<(u32, u64)>,
    /// Chips that refuse pages, as far as that was found since the last job ran: one bit each for the first 64.
    full: u64,
}

impl Stalled {
    /// A job waits behind the others, until this chip has room if there is nothing else.
    #[inline]
    pub fn push(&mut self, job: u32, chip: Option<u32>) {
        self.jobs.push_back((job, chip.map_or(0, set)));
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub fn jobs(&self) -> impl Iterator<Item = &u32> {
        self.jobs.iter().map(|(job, _)| job)
    }

    /// The next of the first `left` jobs that may find room. Jobs before it wait on, in their order.
    #[inline]
    pub fn next(&mut self, left: &mut usize) -> Option<u32> {
        while *left > 0 {
            *left -= 1;
            let (job, chip) = self.jobs.pop_front()?;
            if chip & self.full == 0 {
                return Some(job);
            }
            self.jobs.push_back((job, chip));
        }
        None
    }

    #[inline]
    pub fn is_full(&self, chip: u32) -> bool {
        self.full & set(chip) != 0
    }

    /// A chip refuses pages.
    pub fn note_full(&mut self, chip: u32) {
        self.full |= set(chip);
    }

    /// A job runs, or time has passed: chips may have room.
    pub fn forget_full(&mut self) {
        self.full = 0;
    }

    /// A job went before one that waits: each is looked at.
    #[cold]
    pub fn look_at_all(&mut self) {
        self.jobs.iter_mut().for_each(|(_, chip)| *chip = 0);
    }
}

/// A set with a chip, of the first 64.
fn set(chip: u32) -> u64 {
    1_u64.checked_shl(chip).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs that are looked at while these chips are full.
    fn looked_at(stalled: &mut Stalled, full: &[u32]) -> Vec<u32> {
        for chip in full {
            stalled.note_full(*chip);
        }
        let mut left = stalled.len();
        let jobs = std::iter::from_fn(|| stalled.next(&mut left)).collect();
        stalled.forget_full();
        jobs
    }

    #[test]
    fn jobs_of_full_chips_are_passed_over_and_keep_their_order() {
        let mut stalled = Stalled::default();
        for (job, chip) in [(5, Some(0)), (3, Some(1)), (4, Some(0)), (7, None), (6, Some(64))] {
            stalled.push(job, chip);
        }
        assert_eq!(looked_at(&mut stalled, &[0, 64]), [3, 7, 6], "a chip beyond the first 64 is looked at");
        assert_eq!(stalled.jobs().copied().collect::<Vec<_>>(), [5, 4]);
        stalled.push(8, Some(2));
        assert_eq!(looked_at(&mut stalled, &[0]), [8]);
        stalled.look_at_all();
        assert_eq!(looked_at(&mut stalled, &[0]), [5, 4]);
    }
}
