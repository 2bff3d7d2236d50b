//! The queue for room: work of a layer, in order, and an operation from above that it refused.

use crate::{Answer, Outbox, Signal};
use std::collections::VecDeque;

/// See the module description.
#[derive(Debug, Default)]
pub struct Room {
    stalled: VecDeque<u32>,
    has_refused: bool,
}

impl Room {
    /// A piece of work waits, behind what waits already.
    #[inline]
    pub fn stall(&mut self, number: u32) {
        self.stalled.push_back(number);
    }

    /// There may be room: the first piece of work that waits goes on.
    #[inline]
    pub fn next_stalled(&mut self) -> Option<u32> {
        self.stalled.pop_front()
    }

    /// An operation from above may have been refused: if so, it will hear when there is room.
    #[inline]
    pub fn note(&mut self, answer: Answer) -> Answer {
        self.has_refused |= matches!(answer, Answer::Full { .. });
        answer
    }

    /// Refuses an operation after `taken` of its pages, which are done.
    pub fn refuse(&mut self, taken: u32) -> Answer {
        self.note(Answer::Done { failed: false }.full(taken))
    }

    /// There may be room: refused operations may try again.
    #[inline]
    pub fn announce(&mut self, outbox: &mut Outbox) {
        if std::mem::take(&mut self.has_refused) {
            outbox.push(Signal::Room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_refused_hears_of_room_once() {
        let (mut room, mut outbox) = (Room::default(), Outbox::new());
        room.note(Answer::Done { failed: false });
        room.announce(&mut outbox);
        assert!(outbox.is_empty(), "nobody was refused");
        room.refuse(0);
        room.announce(&mut outbox);
        room.announce(&mut outbox);
        assert_eq!(outbox, [Signal::Room]);
    }

    #[test]
    fn work_goes_on_in_the_order_in_which_it_came() {
        let mut room = Room::default();
        for number in [5, 3, 4] {
            room.stall(number);
        }
        assert_eq!(std::iter::from_fn(|| room.next_stalled()).collect::<Vec<_>>(), [5, 3, 4]);
    }
}
