//! Commands in progress: plain records of 64 bytes in a slab, linked by 32-bit indices; beside each what it has waited
//! for, and the joins and barriers that wait for them.
//!
//! Indices come from [`Commands::take`] alone and slots are never given back to the system, so an index
//! once valid stays valid; the accessors rely on it and skip the bounds check (3 % of all
//! commands in steady state). Debug and test builds check.

use super::account::{Meter, Trace};
use super::barriers::Barriers;
use crate::NIL;
use crate::flash::{Cancel, CommandId, Completion, Event, Operation, Owner, Program, Read, Token};
use crate::payloads::{PayloadId, RecordId};
use crate::state::FlashState;
use units::Nanos;

/// The effect of a command on its die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Read,
    Program,
    Copyback,
    /// Programs pages that are in memory.
    Gathered,
    Erase,
}

/// Where a command is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    Free,
    /// Waits for another command.
    Waiting,
    /// Waits for its turn within its block.
    Parked,
    /// In the queue of its die.
    Queued,
    /// On its die or channel.
    Active,
    /// A program that waits for memory.
    Gathered,
    /// An erase that waits for pins.
    Pinned,
    /// A record in memory, which is told of when it is in the cells.
    Held,
    /// A failed program, back with its owner.
    Failed,
}

/// The contents of a program, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum What {
    Nothing,
    Data,
    Merge,
    Copy,
    Record,
    /// A read that has its data from the controller and waits for something else to end.
    Answered,
    /// A read whose array has read again, as often as that takes.
    Retried,
}

pub(super) mod flag {
    /// `completion` is a join.
    pub const JOIN: u16 = 1;
    /// `completion` is a token for the owner.
    pub const NOTIFY: u16 = 2;
    /// Waiting times are recorded (a command of a join).
    pub const TRACED: u16 = 4;
    /// Cancelled after it had started.
    pub const WASTED: u16 = 8;
    /// The read it depends on was uncorrectable.
    pub const BASE_LOST: u16 = 16;
    /// Some waiting time was charged.
    pub const WAITED: u16 = 32;
    /// Waited for by barriers.
    pub const BARRIER: u16 = 64;
    /// Taken back while it waited for another command: it goes when that one ends.
    pub const DROPPED: u16 = 128;
    /// A command that is all of an operation: `completion` is the token of that, and `Slot::asker` its owner.
    pub const ALONE: u16 = 256;
    /// A read that is the first half of a copy.
    pub const COPY: u16 = 512;
}

/// One command. The order of fields keeps the record at 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Slot {
    pub sequence: u64,
    /// When it entered the queue or asked for the channel.
    pub since: Nanos,
    pub page: u32,
    pub supersedes: u32,
    pub logical: u32,
    /// Payload or record slot.
    pub payload: u32,
    pub next: u32,
    pub prev: u32,
    /// The command that waits for this one, or an edge list (high bit set), or NIL.
    pub successor: u32,
    /// Join that the command belongs to, or the token that its end is told with.
    pub completion: u32,
    pub generation: u32,
    pub owner: u16,
    pub flags: u16,
    pub kind: Kind,
    pub cause: u8,
    pub root: u8,
    pub state: State,
    /// Commands this one still waits for.
    pub waits: u8,
    pub sectors: u8,
    pub epoch: u8,
    pub what: What,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    /// The contents that a program puts into its page.
    pub fn program(&self) -> Program {
        match self.what {
            What::Data => Program::Data { payload: PayloadId(self.payload), merge: false },
            What::Merge => Program::Data { payload: PayloadId(self.payload), merge: true },
            What::Copy => Program::Copy,
            What::Record => Program::Record((self.payload != NIL).then_some(RecordId(self.payload))),
            What::Nothing | What::Answered | What::Retried => unreachable!("a read or an erase writes nothing"),
        }
    }

    /// A read that nothing was done for yet.
    #[inline(always)]
    pub fn of_read(owner: Owner, read: &Read) -> Self {
        Self {
            page: read.page.0,
            payload: read.payload.0,
            owner,
            kind: Kind::Read,
            cause: read.cause as u8,
            root: read.cause as u8,
            sectors: read.sectors,
            ..Self::FREE
        }
    }

    /// The owner of the operation that this command is all of. A read has no logical page, which has the place for it;
    /// a program moves all of its sectors, whose place has how far the owner is from the highest number.
    #[inline(always)]
    fn asker(&self) -> Owner {
        if self.kind == Kind::Read { self.logical as Owner } else { Owner::MAX - Owner::from(self.sectors) }
    }

    /// Whether a program has a place for the owner of its operation.
    #[inline(always)]
    pub fn can_be_of(owner: Owner) -> bool {
        owner >= Owner::MAX - Owner::from(u8::MAX)
    }

    /// Pages of a program of gathered ones, which is of no logical page.
    pub fn held(&self) -> u32 {
        self.logical
    }

    /// Of such a program: it is the first of two passes.
    pub fn is_first_pass(&self) -> bool {
        self.kind == Kind::Gathered && self.sectors == 1
    }

    pub const FREE: Slot = Slot {
        sequence: 0,
        since: 0,
        page: 0,
        supersedes: NIL,
        logical: NIL,
        payload: NIL,
        next: NIL,
        prev: NIL,
        successor: NIL,
        completion: NIL,
        generation: 0,
        owner: 0,
        kind: Kind::Read,
        cause: 0,
        root: 0,
        state: State::Free,
        waits: 0,
        flags: 0,
        sectors: 0,
        epoch: 0,
        what: What::Nothing,
    };
}

/// All commands in progress.
#[derive(Clone, Debug)]
pub(super) struct Commands {
    slots: Vec<Slot>,
    /// What a command has waited for; parallel to `slots`.
    traces: Vec<Trace>,
    pub joins: Joins,
    pub barriers: Barriers,
    /// Whether commands of joins are traced.
    tells_waits: bool,
    free: u32,
    pub live: u32,
    /// Dependency edges beyond the first of a command: (successor, next edge).
    edges: Vec<(u32, u32)>,
    free_edge: u32,
}

const EDGE: u32 = 1 << 31;

impl Commands {
    pub fn new(tells_waits: bool) -> Self {
        Self {
            slots: Vec::new(),
            traces: Vec::new(),
            joins: Joins::new(),
            barriers: Barriers::new(),
            tells_waits,
            free: NIL,
            live: 0,
            edges: Vec::new(),
            free_edge: NIL,
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn get(&self, id: u32) -> &Slot {
        debug_assert!((id as usize) < self.slots.len(), "command {id} does not exist");
        // SAFETY: see the module description.
        unsafe { self.slots.get_unchecked(id as usize) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn at(&mut self, id: u32) -> &mut Slot {
        debug_assert!((id as usize) < self.slots.len(), "command {id} does not exist");
        // SAFETY: see the module description.
        unsafe { self.slots.get_unchecked_mut(id as usize) }
    }

    /// Asks the processor for a command that will be looked at soon. NIL: there is none.
    #[inline(always)]
    pub fn prefetch(&self, id: u32) {
        units::prefetch(&self.slots, id as usize);
        units::prefetch(&self.traces, id as usize);
    }

    /// Fills a slot with a new command. `slot.generation` is ignored.
    #[inline(always)]
    pub fn insert(&mut self, slot: Slot, completion: Option<Completion>, now: Nanos) -> CommandId {
        let id = self.take();
        let tells_waits = self.tells_waits;
        let place = self.at(id);
        let generation = place.generation;
        *place = Slot { generation, state: State::Waiting, ..slot };
        let command = CommandId { slot: id, generation };
        match completion {
            Some(Completion::Join(join)) => {
                place.flags |= flag::JOIN;
                place.completion = join.0;
                if tells_waits {
                    place.flags |= flag::TRACED;
                    self.trace_mut(id).begin(now);
                }
                self.joins.add(join.0, command);
            }
            Some(Completion::Notify(token)) => {
                place.flags |= flag::NOTIFY;
                place.completion = token;
            }
            None => {}
        }
        command
    }

    /// Fills a slot with a read that is all of an operation, or with such a program. `slot.generation` is ignored.
    #[inline(always)]
    pub fn insert_alone(&mut self, slot: Slot, operation: Operation, now: Nanos) -> CommandId {
        let flags = slot.flags | if self.tells_waits { flag::ALONE | flag::TRACED } else { flag::ALONE };
        let asked = Slot { completion: operation.token, flags, ..slot };
        let asked = match slot.kind {
            Kind::Read => Slot { logical: u32::from(operation.owner), ..asked },
            _ => Slot { sectors: (Owner::MAX - operation.owner) as u8, ..asked },
        };
        debug_assert!(asked.asker() == operation.owner, "{operation:?} has no place in {asked:?}");
        let command = self.insert(asked, None, now);
        if self.tells_waits {
            self.trace_mut(command.slot).begin(now);
        }
        command
    }

    /// The operation of a layer that a command is of, if it is of one.
    pub fn operation_of(&self, slot: &Slot) -> Option<Operation> {
        if slot.flags & flag::ALONE != 0 {
            return Some(Operation { owner: slot.asker(), token: slot.completion });
        }
        let join = (slot.flags & flag::JOIN != 0).then(|| self.joins.get(slot.completion))?;
        Some(Operation { owner: join.owner, token: join.token })
    }

    /// Takes a free slot, to be filled by the caller, who keeps its generation.
    #[inline(always)]
    fn take(&mut self) -> u32 {
        if self.free == NIL {
            self.grow();
        }
        self.live += 1;
        let id = self.free;
        self.free = self.get(id).next;
        id
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.slots.len();
        let count = first.max(256);
        assert!(first + count < EDGE as usize, "more than 2^31 commands in progress");
        self.slots.extend((first..first + count).map(|id| Slot { next: id as u32 + 1, ..Slot::FREE }));
        self.slots[first + count - 1].next = NIL;
        self.traces.resize(first + count, Trace::NEW);
        self.free = first as u32;
    }

    #[inline(always)]
    pub fn remove(&mut self, id: u32) {
        let free = self.free;
        let slot = self.at(id);
        debug_assert!(slot.state != State::Free, "command {id} released twice");
        slot.state = State::Free;
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = free;
        self.free = id;
        self.live -= 1;
    }

    /// Makes `successor` wait for `id`.
    #[inline]
    pub fn depend(&mut self, id: u32, successor: u32) {
        let first = self.get(id).successor;
        self.at(successor).waits += 1;
        if first == NIL {
            self.at(id).successor = successor;
            return;
        }
        let rest = if first & EDGE == 0 { self.edge(first, NIL) } else { first & !EDGE };
        let edge = self.edge(successor, rest);
        self.at(id).successor = edge | EDGE;
    }

    fn edge(&mut self, successor: u32, next: u32) -> u32 {
        if self.free_edge == NIL {
            self.edges.push((successor, next));
            return self.edges.len() as u32 - 1;
        }
        let edge = self.free_edge;
        self.free_edge = self.edges[edge as usize].1;
        self.edges[edge as usize] = (successor, next);
        edge
    }

    /// The command that waits for this one, if a single one does.
    pub fn only_successor(&self, id: u32) -> Option<&Slot> {
        let first = self.get(id).successor;
        (first & EDGE == 0).then(|| self.get(first))
    }

    /// Takes the next successor of a finished command.
    #[inline]
    pub fn next_successor(&mut self, id: u32) -> Option<u32> {
        let first = self.get(id).successor;
        if first == NIL {
            return None;
        }
        if first & EDGE == 0 {
            self.at(id).successor = NIL;
            return Some(first);
        }
        let edge = first & !EDGE;
        let (successor, next) = self.edges[edge as usize];
        self.edges[edge as usize].1 = self.free_edge;
        self.free_edge = edge;
        self.at(id).successor = if next == NIL { NIL } else { next | EDGE };
        Some(successor)
    }

    /// Commands that are not free, in slot order (rare paths only: faults and inspection).
    pub fn live_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().enumerate().filter(|(_, slot)| slot.state != State::Free).map(|(id, _)| id as u32)
    }

    /// The commands of a queue or gang from `first` on.
    pub fn chain(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |id: u32| (id != NIL).then_some(id);
        std::iter::successors(some(first), move |id| some(self.get(*id).next))
    }

    /// Does something to each member of a gang, which may leave it.
    #[inline]
    pub fn each_member(&mut self, gang: u32, mut action: impl FnMut(&mut Self, u32)) {
        let mut id = gang;
        while id != NIL {
            let next = self.get(id).next;
            action(self, id);
            id = next;
        }
    }

    /// A traced command waits from now on for what its die does.
    #[inline]
    pub fn wait_for_die(&mut self, id: u32, meter: &Meter, now: Nanos) {
        if self.get(id).flags & flag::TRACED != 0 {
            self.trace_mut(id).queued(meter, now);
        }
    }

    /// Charges a traced command with the work of its die since it began to wait.
    #[inline]
    pub fn settle_wait(&mut self, id: u32, meter: &Meter, now: Nanos) {
        let slot = self.at(id);
        if slot.flags & flag::TRACED != 0 {
            let first = slot.flags & flag::WAITED == 0;
            slot.flags |= flag::WAITED;
            self.trace_mut(id).started(meter, now, first);
        }
    }

    /// Charges a traced command with waiting that is no die's.
    #[inline]
    pub fn charge(&mut self, id: u32, [direct, root]: [u8; 2], time: Nanos) {
        let slot = self.at(id);
        if slot.flags & flag::TRACED != 0 {
            let first = slot.flags & flag::WAITED == 0;
            slot.flags |= flag::WAITED;
            self.trace_mut(id).charge(usize::from(direct), usize::from(root), time, first);
        }
    }

    /// A command inherits the waiting of the one it has waited for, which ends, and its service as waiting behind it.
    #[inline(never)]
    pub fn hand_wait_on(&mut self, before: u32, successor: u32, now: Nanos) {
        self.at(successor).flags |= flag::WAITED;
        let slot = self.get(before);
        let waited = slot.flags & flag::WAITED != 0;
        let since = self.trace(successor).issued();
        let wait = self.trace(before).handed_on(now, [slot.cause, slot.root], waited, since);
        self.trace_mut(successor).inherit(&wait);
    }

    /// One member of a join is done; `waited` names the command whose waiting counts if it is the last.
    #[inline]
    pub fn end_member(&mut self, join: u32, waited: Option<u32>, state: &mut FlashState) {
        let entry = self.joins.at(join);
        debug_assert!(entry.remaining > 0, "join {join} has ended already");
        entry.remaining -= 1;
        if entry.remaining > 0 {
            return;
        }
        let (owner, token, failed) = (entry.owner, entry.token, entry.failed);
        self.joins.remove(join);
        let wait = waited.map(|id| state.memory.waits.note(self.trace(id).wait()));
        state.events.push((owner, Event::Joined { token, failed, wait }));
    }

    /// A command that is all of an operation is done. `waited`: its waiting counts.
    #[inline(always)]
    pub fn end_alone(&self, id: u32, failed: bool, waited: bool, state: &mut FlashState) {
        let slot = self.get(id);
        let wait = waited.then(|| state.memory.waits.note(self.trace(id).wait()));
        state.events.push((slot.asker(), Event::Joined { token: slot.completion, failed, wait }));
    }

    /// A join waits for every data or record program issued so far.
    pub fn await_all_programs(&mut self, join: u32) {
        if self.barriers.add(join) {
            self.joins.at(join).remaining += 1;
        }
    }

    /// A program of an epoch is where barriers want it.
    #[inline]
    pub fn lower_barriers(&mut self, epoch: u8, state: &mut FlashState) {
        if self.barriers.completed(epoch) {
            while let Some(join) = self.barriers.fallen() {
                self.end_member(join, None, state);
            }
        }
    }

    /// The causes that a command has waited for.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn trace(&self, id: u32) -> &Trace {
        debug_assert!((id as usize) < self.traces.len(), "command {id} does not exist");
        // SAFETY: see the module description; each slot has a trace.
        unsafe { self.traces.get_unchecked(id as usize) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn trace_mut(&mut self, id: u32) -> &mut Trace {
        debug_assert!((id as usize) < self.traces.len(), "command {id} does not exist");
        // SAFETY: see the module description; each slot has a trace.
        unsafe { self.traces.get_unchecked_mut(id as usize) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Join {
    pub token: Token,
    /// Commands not yet completed, plus one while the join is open.
    pub remaining: u32,
    pub owner: Owner,
    pub failed: bool,
    pub cancellable: bool,
    next_free: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Joins {
    entries: Vec<Join>,
    /// Commands of joins that may be cancelled; parallel to `entries`.
    members: Vec<Vec<CommandId>>,
    free: u32,
}

impl Joins {
    pub fn new() -> Self {
        Self { entries: Vec::with_capacity(1 << 10), members: Vec::new(), free: NIL }
    }

    #[inline]
    pub fn open(&mut self, owner: Owner, token: Token, cancel: Cancel) -> u32 {
        let cancellable = cancel == Cancel::Possible;
        let join = Join { token, remaining: 1, owner, failed: false, cancellable, next_free: NIL };
        let id = if self.free == NIL {
            self.entries.push(join);
            self.entries.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = self.entries[id as usize].next_free;
            self.entries[id as usize] = join;
            id
        };
        if cancellable {
            if self.members.len() <= id as usize {
                self.members.resize(id as usize + 1, Vec::new());
            }
            self.members[id as usize].clear();
        }
        id
    }

    pub fn get(&self, id: u32) -> &Join {
        &self.entries[id as usize]
    }

    #[inline(always)]
    pub fn at(&mut self, id: u32) -> &mut Join {
        &mut self.entries[id as usize]
    }

    #[inline]
    pub fn add(&mut self, id: u32, command: CommandId) {
        let join = &mut self.entries[id as usize];
        join.remaining += 1;
        if join.cancellable {
            self.members[id as usize].push(command);
        }
    }

    pub fn take_members(&mut self, id: u32) -> Vec<CommandId> {
        std::mem::take(&mut self.members[id as usize])
    }

    /// Gives the emptied list back so that its memory is used again.
    pub fn return_members(&mut self, id: u32, mut members: Vec<CommandId>) {
        members.clear();
        self.members[id as usize] = members;
    }

    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.entries[id as usize].next_free = self.free;
        self.free = id;
    }
}
