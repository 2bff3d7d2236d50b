//! Small flash with round times, and commands made by hand.
//!
//! Times of the part: read 10, program 100, erase 1,000, a page over the channel 5 (all in us).

use nand::{
    Awaits, Cancel, Choice, Closed, CommandId, CommandOptions, Completion, Contents, ContentsKind, CopyWay,
    CountedFlash, Event, FaultPlan, Flash, FlashState, JoinId, PageCopy, PageProgram, Part, PayloadId, Program, Read,
    RecorderPlan, TimedFlash, WaitVector,
};
use units::{BlockId, Cause, Geometry, Nanos, Ppn, Shape};

pub const US: Nanos = 1000;
/// Pages of a block.
pub const PAGES: u32 = 4;
/// Blocks of a die; the first half of them is one plane, the other half another.
pub const BLOCKS: u32 = 4;
/// Dies: 0 and 2 share a channel, 1 and 3 another.
pub const DIES: u32 = 4;

pub const PART: Part = Part {
    read_ns: 10 * US,
    program_ns: 100 * US,
    erase_ns: 1000 * US,
    bus_bytes_per_second: 102_400_000,
    page_bytes: 512,
    planes_as_one: 1,
    side_by_side: (1, 512),
    command_ns: 0,
    page_read_ns: None,
    page_program_ns: None,
    slc: None,
    first_pass_ns: None,
    endurance: 0,
};

/// The state of a fresh drive.
pub fn state(sectors_per_page: u32, contents: ContentsKind) -> FlashState {
    let shape = Shape {
        channels: 2,
        dies_per_channel: 2,
        planes_per_die: 2,
        blocks_per_die: BLOCKS,
        pages_per_block: PAGES,
        page_bytes: 512 * sectors_per_page,
    };
    FlashState::new(Geometry::new(shape).expect("a valid shape"), contents)
}

/// Timed flash without contents, pages of one sector.
pub fn flash(options: CommandOptions) -> TimedFlash {
    TimedFlash::new(state(1, ContentsKind::None), PART, options, 0)
}

/// Work is recorded, of a time that never comes: each step of a command is an event of its own.
pub fn record_steps(flash: &mut TimedFlash) {
    let window = Some([Nanos::MAX - 1, Nanos::MAX]);
    flash.record(RecorderPlan { window, most: 0, closeups: Choice::Nobody, samples: false, host: 0, layers: 0 });
}

/// Timed flash without optional commands.
pub fn plain() -> TimedFlash {
    flash(CommandOptions::default())
}

/// Timed flash whose pages hold two stamps.
pub fn stamped() -> TimedFlash {
    TimedFlash::new(state(2, ContentsKind::Stamp), PART, CommandOptions::default(), 0)
}

/// Counted flash without contents.
pub fn counted() -> CountedFlash {
    CountedFlash::new(state(1, ContentsKind::None))
}

/// Counted flash whose pages hold two stamps.
pub fn counted_stamps() -> CountedFlash {
    CountedFlash::new(state(2, ContentsKind::Stamp))
}

/// Page `page` of block `block` of die `die`.
pub fn at(die: u32, block: u32, page: u32) -> Ppn {
    Ppn((die * BLOCKS + block) * PAGES + page)
}

/// A program of a whole page for the host, which tells its page's number when it ends.
pub fn command(page: Ppn) -> PageProgram {
    PageProgram {
        page,
        supersedes: None,
        what: Program::Data { payload: PayloadId::NONE, merge: false },
        logical: 0,
        sequence: 1,
        cause: Cause::Host,
        completion: Completion::Notify(page.0),
        after: None,
    }
}

/// A copy for collection, which tells its page's number when it ends.
pub fn copy(from: Ppn, to: Ppn, way: CopyWay) -> PageCopy {
    PageCopy { from, to, logical: 0, cause: Cause::Gc, token: to.0, way }
}

/// Issues a program that takes time.
pub fn issue(flash: &mut TimedFlash, command: PageProgram) -> CommandId {
    flash.program(0, command).pending().expect("programs take time")
}

/// Programs a page.
pub fn program(flash: &mut TimedFlash, page: Ppn) -> CommandId {
    issue(flash, command(page))
}

/// Programs a page over another one.
pub fn program_over(flash: &mut TimedFlash, page: Ppn, old: Ppn) -> CommandId {
    issue(flash, PageProgram { supersedes: Some(old), ..command(page) })
}

/// Programs a page after another command.
pub fn program_after(flash: &mut TimedFlash, page: Ppn, before: CommandId) -> CommandId {
    issue(flash, PageProgram { after: Some(before), ..command(page) })
}

/// A read of one sector for a join.
pub fn part_of(join: JoinId, page: Ppn, cause: Cause) -> Read {
    let completion = Some(Completion::Join(join));
    Read { page, cause, sectors: 1, payload: PayloadId::NONE, completion, after: None }
}

/// A read of two sectors that tells nobody.
pub fn silent_read(page: Ppn) -> Read {
    Read { page, cause: Cause::Host, sectors: 2, payload: PayloadId::NONE, completion: None, after: None }
}

/// Reads one sector as an operation of its own.
pub fn read(flash: &mut impl Flash, page: Ppn, token: u32) -> JoinId {
    read_for(flash, page, Cause::Host, token)
}

/// The same for another cause.
pub fn read_for(flash: &mut impl Flash, page: Ppn, cause: Cause, token: u32) -> JoinId {
    let join = flash.open(0, token, Cancel::Possible);
    flash.read(0, part_of(join, page, cause));
    flash.close(join, Awaits::Commands);
    join
}

/// An operation that waits for the programs issued so far and nothing else.
pub fn barrier(flash: &mut impl Flash, token: u32) -> Closed {
    let join = flash.open(0, token, Cancel::Never);
    flash.close(join, Awaits::AllPrograms)
}

/// Flash of either kind in the hands of a test.
pub trait Owned: Flash {
    fn state_mut(&mut self) -> &mut FlashState;
}

impl Owned for CountedFlash {
    fn state_mut(&mut self) -> &mut FlashState {
        CountedFlash::state_mut(self)
    }
}

impl Owned for TimedFlash {
    fn state_mut(&mut self) -> &mut FlashState {
        TimedFlash::state_mut(self)
    }
}

/// Every program of these blocks fails from now on.
pub fn fail_programs_of(flash: &mut impl Owned, blocks: &[BlockId]) {
    flash.state_mut().set_faults(FaultPlan { bad_programs: blocks.to_vec(), ..FaultPlan::default() }, 1);
}

/// Runs to the end; every event with its time.
pub fn run(flash: &mut TimedFlash) -> Vec<(Nanos, Event)> {
    let mut seen = Vec::new();
    while flash.advance() {
        let now = flash.now();
        seen.extend(flash.state_mut().events.drain(..).map(|(_, event)| (now, event)));
    }
    seen
}

/// Waiting of operation `token`, which is the only one asked for.
pub fn waits(flash: &mut TimedFlash, token: u32) -> Option<WaitVector> {
    let mut found = None;
    while flash.advance() {
        let state = flash.state_mut();
        for (_, event) in state.events.drain(..) {
            match event {
                Event::Joined { token: joined, wait: Some(wait), .. } if joined == token => {
                    found = Some(state.memory.waits[wait]);
                }
                _ => {}
            }
        }
    }
    found
}

pub fn time_of(seen: &[(Nanos, Event)], wanted: impl Fn(&Event) -> bool) -> Nanos {
    seen.iter().find(|(_, event)| wanted(event)).expect("the event happened").0
}

pub fn programmed(page: Ppn) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Notified { token, .. } if *token == page.0)
}

pub fn joined(wanted: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Joined { token, .. } if *token == wanted)
}

pub fn erased(event: &Event) -> bool {
    matches!(event, Event::Erased { .. })
}

/// The programs that failed, in the order in which they were told of.
pub fn failed(seen: &[(Nanos, Event)]) -> Vec<CommandId> {
    let id = |event: &Event| if let Event::ProgramFailed(id) = event { Some(*id) } else { None };
    seen.iter().filter_map(|(_, event)| id(event)).collect()
}

/// Fills the first `pages` of a block; the time when that is done.
pub fn fill(flash: &mut TimedFlash, die: u32, block: u32, pages: u32) -> Nanos {
    for page in 0..pages {
        program(flash, at(die, block, page));
    }
    run(flash);
    flash.now()
}

/// Pins of a block.
pub fn pins(flash: &impl Flash, block: u32) -> u32 {
    flash.state().block(BlockId(block)).pins()
}

/// Contents of flash that holds stamps.
pub fn contents(flash: &impl Flash) -> &Contents {
    flash.state().contents().expect("contents are on")
}

/// A payload of two stamps; `mask` names those that are meant.
pub fn stamps(flash: &mut impl Flash, stamp: u64, mask: u64) -> PayloadId {
    let payloads = &mut flash.memory_mut().payloads;
    let payload = payloads.take(1, mask);
    for cell in payloads.cells_mut(payload).chunks_mut(8) {
        cell.copy_from_slice(&stamp.to_le_bytes());
    }
    payload
}

/// The two stamps of a page.
pub fn stamps_at(flash: &impl Flash, page: Ppn) -> [u64; 2] {
    two(contents(flash).page(page.0))
}

/// The two stamps of a payload.
pub fn stamps_of(flash: &impl Flash, payload: PayloadId) -> [u64; 2] {
    two(flash.state().memory.payloads.cells(payload))
}

fn two(cells: &[u8]) -> [u64; 2] {
    [0, 8].map(|at| u64::from_le_bytes(cells[at..at + 8].try_into().expect("a stamp has eight bytes")))
}
