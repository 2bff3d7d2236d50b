//! Channels: data of one die at a time, and commands, where they take the channel, in order of asking.
//!
//! A turn is *booked*: its begin and its end follow from the turns before it. A read books its transfer when its array
//! begins, for the moment at which the array will have ended. A turn that is asked for before that moment goes before
//! it, and later turns move on.
//!
//! The number of a channel comes from a die or from the schedule, that of a turn from a die, and both lists never
//! change their lengths. The accessors rely on it and skip the bounds check. Debug and test builds check.

use super::schedule::Moment;
use crate::NIL;
use units::Nanos;

/// A die's turn on its channel: to move a page, or to be sent a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn(u32);

impl Turn {
    /// Turns that a die can have at once.
    const OF_DIE: u32 = 2;
    /// The end of a list of turns.
    pub const NONE: Turn = Turn(NIL);

    #[inline(always)]
    pub fn of_data(die: usize) -> Self {
        Turn(die as u32 * Self::OF_DIE)
    }

    #[inline(always)]
    pub fn of_command(die: usize) -> Self {
        Turn(die as u32 * Self::OF_DIE + 1)
    }

    #[inline(always)]
    pub fn die(self) -> usize {
        (self.0 / Self::OF_DIE) as usize
    }

    #[inline(always)]
    pub fn is_command(self) -> bool {
        self.0 % Self::OF_DIE == 1
    }
}

/// The place of a turn in the order of its channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booking {
    /// When the die asks for the channel.
    pub asked: Moment,
    /// When the channel serves it, ns.
    pub begin: Nanos,
    pub end: Nanos,
    before: Turn,
    pub next: Turn,
}

impl Booking {
    const FREE: Booking =
        Booking { asked: Moment { time: 0, number: 0 }, begin: 0, end: 0, before: Turn::NONE, next: Turn::NONE };

    /// A turn of so much time on a channel that is free from `free_at` on, between these two.
    #[inline(always)]
    fn between(free_at: Nanos, asked: Moment, time: Nanos, [before, next]: [Turn; 2]) -> Self {
        let begin = free_at.max(asked.time);
        Self { asked, begin, end: begin + time, before, next }
    }

    fn time(&self) -> Nanos {
        self.end - self.begin
    }
}

/// One channel: the turn that it serves, or will serve first, and the last one.
#[derive(Clone, Copy, Debug)]
struct Channel {
    first: Turn,
    last: Turn,
}

#[derive(Clone, Debug)]
pub(super) struct Channels {
    all: Vec<Channel>,
    /// By turn; bookings of turns without a place mean nothing.
    bookings: Vec<Booking>,
    /// Commands go before data that waits.
    commands_first: bool,
}

impl Channels {
    pub fn new(channels: u32, dies: u32, commands_first: bool) -> Self {
        let all = vec![Channel { first: Turn::NONE, last: Turn::NONE }; channels as usize];
        Self { all, bookings: vec![Booking::FREE; (dies * Turn::OF_DIE) as usize], commands_first }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn at(&mut self, channel: usize) -> &mut Channel {
        debug_assert!(channel < self.all.len(), "channel {channel} does not exist");
        // SAFETY: see the module description.
        unsafe { self.all.get_unchecked_mut(channel) }
    }

    /// The booking of a turn.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn get(&self, turn: Turn) -> &Booking {
        debug_assert!((turn.0 as usize) < self.bookings.len(), "{turn:?} does not exist");
        // SAFETY: see the module description.
        unsafe { self.bookings.get_unchecked(turn.0 as usize) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn get_mut(&mut self, turn: Turn) -> &mut Booking {
        debug_assert!((turn.0 as usize) < self.bookings.len(), "{turn:?} does not exist");
        // SAFETY: see the module description.
        unsafe { self.bookings.get_unchecked_mut(turn.0 as usize) }
    }

    /// The turn that a channel serves, or will serve first.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn first(&self, channel: usize) -> Turn {
        debug_assert!(channel < self.all.len(), "channel {channel} does not exist");
        // SAFETY: see the module description.
        unsafe { self.all.get_unchecked(channel).first }
    }

    /// All turns of a channel in their order.
    pub fn turns(&self, channel: usize) -> impl Iterator<Item = Turn> + '_ {
        let some = |turn: Turn| (turn != Turn::NONE).then_some(turn);
        std::iter::successors(some(self.first(channel)), move |turn| some(self.get(*turn).next))
    }

    /// Books a turn of so much time behind all others of its channel. Returns when it ends. `None`: it does not come
    /// last.
    #[inline(always)]
    pub fn book_last(&mut self, channel: usize, turn: Turn, asked: Moment, time: Nanos) -> Option<Nanos> {
        let last = self.at(channel).last;
        let mut free_at = 0;
        if last == Turn::NONE {
            self.at(channel).first = turn;
        } else {
            if self.get(last).asked > asked || self.commands_first {
                return None;
            }
            free_at = self.get(last).end;
            self.get_mut(last).next = turn;
        }
        let booking = Booking::between(free_at, asked, time, [last, Turn::NONE]);
        *self.get_mut(turn) = booking;
        self.at(channel).last = turn;
        Some(booking.end)
    }

    /// Books a turn behind all that were asked for before it, on a channel that has turns. Returns the first one after
    /// it that it does not move.
    #[inline(never)]
    pub fn book_between(&mut self, channel: usize, turn: Turn, asked: Moment, time: Nanos) -> Turn {
        let goes_first = turn.is_command() && self.commands_first;
        let comes_after = |place: usize, before: Turn| {
            if goes_first { place == 0 || before.is_command() } else { self.get(before).asked <= asked }
        };
        let mut places = self.turns(channel).enumerate();
        let next = places.find(|(place, other)| !comes_after(*place, *other)).map_or(Turn::NONE, |(_, next)| next);
        drop(places);
        let before = if next == Turn::NONE { self.at(channel).last } else { self.get(next).before };
        let free_at = if before == Turn::NONE { 0 } else { self.get(before).end };
        *self.get_mut(turn) = Booking::between(free_at, asked, time, [before, next]);
        self.link(channel, before, turn);
        self.link(channel, turn, next);
        self.move_on(next)
    }

    /// One turn comes behind another; none: at an end of the channel.
    #[inline(always)]
    fn link(&mut self, channel: usize, before: Turn, next: Turn) {
        if before == Turn::NONE {
            self.at(channel).first = next;
        } else {
            self.get_mut(before).next = next;
        }
        if next == Turn::NONE {
            self.at(channel).last = before;
        } else {
            self.get_mut(next).before = before;
        }
    }

    /// Tells the turns from one on when those before them end. Returns the first one that does not move.
    fn move_on(&mut self, from: Turn) -> Turn {
        let mut turn = from;
        while turn != Turn::NONE {
            let booking = *self.get(turn);
            let Booking { asked, before, next, .. } = booking;
            let free_at = if before == Turn::NONE { 0 } else { self.get(before).end };
            let moved = Booking::between(free_at, asked, booking.time(), [before, next]);
            if moved.begin == booking.begin {
                break;
            }
            *self.get_mut(turn) = moved;
            turn = next;
        }
        turn
    }

    /// Takes a turn back that has not begun. Returns the first one after it that this does not move.
    pub fn take_back(&mut self, channel: usize, turn: Turn) -> Turn {
        let Booking { before, next, .. } = *self.get(turn);
        self.link(channel, before, next);
        self.move_on(next)
    }

    /// A turn has ended. Returns its booking. Programs before it may have ended too, and be told of later.
    #[inline(always)]
    pub fn release(&mut self, channel: usize, turn: Turn) -> Booking {
        let booking = *self.get(turn);
        self.link(channel, booking.before, booking.next);
        booking
    }

    /// Whether a channel serves a turn that has been asked for.
    pub fn is_served(&self, turn: Turn, moment: Moment) -> bool {
        let before = self.get(turn).before;
        before == Turn::NONE || self.has_ended(before, moment)
    }

    /// Whether a turn of data has ended.
    pub fn has_ended(&self, turn: Turn, moment: Moment) -> bool {
        Moment { time: self.get(turn).end, number: turn.die() as u32 } <= moment
    }
}
