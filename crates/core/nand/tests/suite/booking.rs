//! A read that books its transfer when its array begins ends as one that asks for its channel when its array has ended.
//!
//! Work that is recorded has each of these moments as an event, and nothing in a run depends on what records it. So
//! the same random commands go to flash that records work and to flash that does not.

use crate::rig::{BLOCKS, DIES, PAGES, PART, at, command, copy, part_of, record_steps, silent_read, state};
use engine::random::Stream;
use nand::{
    Awaits, Cancel, Closed, CommandOptions, ContentsKind, CopyWay, Event, Flash, JoinId, MultiPlane, Operation,
    PageTimes, Part, Read, SuspendOption, TimedFlash,
};
use units::{BlockId, Cause, DieId, Nanos, Ppn, WAIT_KINDS};

/// Times that are seldom a sum of others, ns.
const ODD: Part =
    Part { read_ns: 10_007, program_ns: 50_021, erase_ns: 200_003, bus_bytes_per_second: 98_765_432, ..PART };

/// Everything that happened and was asked, and the events that it took.
#[derive(Default)]
struct Story {
    told: Vec<(Nanos, String)>,
    steps: u64,
}

struct Player {
    flash: TimedFlash,
    stream: Stream,
    story: Story,
    /// Pages of each block that were given a program, or `None` while it is erased.
    used: Vec<Option<u32>>,
    /// Operations that may be cancelled, by token.
    open: Vec<(u32, JoinId)>,
    tokens: u32,
}

impl Player {
    fn new(part: Part, options: CommandOptions, seed: u64, records: bool) -> Self {
        let mut flash = TimedFlash::new(state(1, ContentsKind::None), part, options, 1);
        if records {
            record_steps(&mut flash);
        }
        let used = vec![Some(0); (DIES * BLOCKS) as usize];
        let stream = Stream::new(seed, "booking");
        Self { flash, stream, story: Story::default(), used, open: Vec::new(), tokens: 1 << 20 }
    }

    fn tell(&mut self, what: String) {
        self.story.told.push((self.flash.now(), what));
    }

    fn pick(&mut self, below: u32) -> u32 {
        self.stream.below(u64::from(below)) as u32
    }

    /// A page that was given a program, if the block that was drawn has one.
    fn some_page(&mut self) -> Option<Ppn> {
        let block = self.pick(DIES * BLOCKS);
        let used = self.used[block as usize].filter(|used| *used > 0)?;
        let page = self.pick(used);
        Some(at(block / BLOCKS, block % BLOCKS, page))
    }

    /// The next page of some block, which is erased first if it is full.
    fn next_page(&mut self) -> Option<Ppn> {
        let block = self.pick(DIES * BLOCKS);
        let used = self.used[block as usize]?;
        if used == PAGES {
            self.used[block as usize] = None;
            self.flash.erase(0, BlockId(block), Cause::Gc);
            return None;
        }
        self.used[block as usize] = Some(used + 1);
        Some(at(block / BLOCKS, block % BLOCKS, used))
    }

    fn act(&mut self) {
        self.tokens += 1;
        let token = self.tokens;
        match self.pick(10) {
            0..4 => {
                let Some(page) = self.some_page() else { return };
                let read = Read { sectors: 1, ..silent_read(page) };
                self.flash.read_alone(0, Operation { owner: 0, token }, read);
            }
            4 => {
                let join = self.flash.open(0, token, Cancel::Possible);
                for _ in 0..=self.pick(3) {
                    if let Some(page) = self.some_page() {
                        self.flash.read(0, part_of(join, page, Cause::Host));
                    }
                }
                if self.flash.close(join, Awaits::Commands) == Closed::Pending {
                    self.open.push((token, join));
                }
            }
            5..8 => {
                if let Some(page) = self.next_page() {
                    self.flash.program(0, command(page));
                }
            }
            8 => {
                let Some(from) = self.some_page() else { return };
                let Some(to) = self.next_page() else { return };
                // The block of the source may be erased by now.
                let block = from.0 / PAGES;
                if self.used[block as usize].is_some_and(|used| from.0 % PAGES < used) && from != to {
                    self.flash.copy(0, copy(from, to, CopyWay::Channel));
                } else {
                    self.flash.program(0, command(to));
                }
            }
            _ => {
                if self.open.is_empty() {
                    return;
                }
                let which = self.stream.below(self.open.len() as u64) as usize;
                let (token, join) = self.open.swap_remove(which);
                let left = self.flash.cancel(join);
                self.tell(format!("{token} is cancelled: {left:?}"));
            }
        }
    }

    fn hear(&mut self) {
        let state = self.flash.state_mut();
        let events: Vec<_> = state.events.drain(..).collect();
        for (_, event) in events {
            match event {
                Event::Joined { token, failed, wait } => {
                    self.open.retain(|(open, _)| *open != token);
                    let waits = &self.flash.state().memory.waits;
                    // Waiting of no time may be told or left out.
                    let wait =
                        wait.map_or([[0; 2]; WAIT_KINDS], |wait| {
                            let vector = waits[wait];
                            std::array::from_fn(|kind| {
                                if vector.kinds >> kind & 1 == 1 { vector.entries[kind] } else { [0; 2] }
                            })
                        });
                    self.tell(format!("{token} {failed} {wait:?}"));
                }
                Event::Erased { block } => {
                    self.used[block.index()] = Some(0);
                    self.tell(format!("{event:?}"));
                }
                event => self.tell(format!("{event:?}")),
            }
        }
    }

    fn play(mut self, rounds: u32) -> Story {
        for _ in 0..rounds {
            for _ in 0..self.pick(5) {
                self.act();
            }
            if self.stream.chance(0.3) {
                let time = self.flash.now() + self.stream.below(30_000);
                self.flash.set_timer(0, Some(time));
            }
            while self.flash.state().events.is_empty() && self.flash.step() {
                self.story.steps += 1;
            }
            self.hear();
            let queued: Vec<_> = (0..DIES).map(|die| self.flash.backlog_ns(DieId(die))).collect();
            let before: Vec<_> = (0..DIES).map(|die| self.flash.backlog(DieId(die))).collect();
            self.tell(format!("{queued:?} {before:?}"));
            if self.pick(8) == 0 {
                let after = self.flash.power_cut(&mut Stream::new(1, "cut"));
                self.tell(format!("{:?}", after.blocks()));
            }
        }
        while self.flash.advance() {
            self.hear();
        }
        let (busy, hash) = (self.flash.die_busy_ns().collect::<Vec<_>>(), self.flash.state().hash());
        self.tell(format!("{busy:?} {hash} {:?}", self.flash.state().counters));
        self.story
    }
}

/// Plays the same commands both ways; the events that the first and the second way took.
fn play(part: Part, options: CommandOptions) -> [u64; 2] {
    let mut steps = [0; 2];
    for seed in 0..25 {
        let [booked, recorded] = [false, true].map(|records| Player::new(part, options, seed, records).play(400));
        for (booked, recorded) in booked.told.iter().zip(&recorded.told) {
            assert_eq!(booked, recorded, "seed {seed}, {options:?}, {part:?}");
        }
        assert_eq!(booked.told.len(), recorded.told.len());
        steps = [steps[0] + booked.steps, steps[1] + recorded.steps];
    }
    steps
}

fn parts() -> [Part; 5] {
    let by_page = PageTimes::new(&[7_001, 13_007, 29_009]);
    [
        PART,
        ODD,
        Part { bus_bytes_per_second: 10_000_019, ..ODD },
        Part { command_ns: 2_003, ..ODD },
        Part { page_read_ns: by_page, ..ODD },
    ]
}

#[test]
fn reads_that_book_their_transfers_end_as_those_that_ask_for_them() {
    let plain = CommandOptions::default();
    let suspends = CommandOptions { suspend: SuspendOption::ProgramErase, suspend_ns: 3_001, ..plain };
    let all = [
        plain,
        CommandOptions { read_priority: true, ..plain },
        CommandOptions { suspend: SuspendOption::Erase, ..plain },
        suspends,
        CommandOptions { suspend_step_ns: 20_011, suspend_limit: 2, ..suspends },
        CommandOptions { multi_plane: MultiPlane::All, ..plain },
        CommandOptions { multi_plane: MultiPlane::All, ..suspends },
    ];
    for part in parts() {
        for options in all {
            let [booked, recorded] = play(part, options);
            assert!(booked < recorded, "no read was booked: {options:?}");
        }
    }
}
