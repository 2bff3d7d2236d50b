//! The narrow waist: the commands that a layer gives to flash, and the events that it gets back.

use crate::memory::Memory;
use crate::payloads::{PayloadId, RecordId};
use crate::state::{BlockUse, FlashState};
use units::{BlockId, Cause, DieId, Nanos, Ppn, WAIT_KINDS, Wait};

/// The unit above flash that issued a command or operation and gets the event of its end; 0 when there is only one
/// unit.
pub type Owner = u16;

/// A number the issuer chose, handed back unchanged.
pub type Token = u32;

/// A command in progress. Slots are reused; the generation tells an old handle from a new command. Without time only
/// failed programs and waiting erases have handles, of generation 0, because no other command outlives its issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// A place in the queues of all dies, kept for commands that are issued later ([`Flash::take_ticket`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ticket(pub(crate) u64);

/// A set of commands that end together: one operation of the layer above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JoinId(pub(crate) u32);

/// Waiting time of an operation by kind: The *direct* entry charges the command that was in the way. The *root* entry
/// charges the command for which that command itself had been waiting. Nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct WaitVector {
    /// Direct and root time of each kind, indexed by [`units::Wait::index`]. Only entries named in
    /// `kinds` mean anything: most requests wait for one or two of thirteen.
    pub entries: [[Nanos; 2]; WAIT_KINDS],
    /// Bit k is set where entry k counts.
    pub kinds: u32,
}

/// Calls `action` with the number of each bit that is set.
#[inline(always)]
pub(crate) fn each_kind(mut kinds: u32, mut action: impl FnMut(usize)) {
    while kinds != 0 {
        action(kinds.trailing_zeros() as usize);
        kinds &= kinds - 1;
    }
}

impl WaitVector {
    /// No waiting at all.
    pub const ZERO: WaitVector = WaitVector { entries: [[0; 2]; WAIT_KINDS], kinds: 0 };

    /// Takes the times of another one. Only the kinds that count are copied.
    #[inline]
    pub fn copy_from(&mut self, other: &WaitVector) {
        self.kinds = other.kinds;
        each_kind(other.kinds, |kind| self.entries[kind] = other.entries[kind]);
    }

    fn entry(&self, wait: Wait) -> [Nanos; 2] {
        if self.kinds >> wait.index() & 1 == 1 { self.entries[wait.index()] } else { [0; 2] }
    }

    /// Time charged to the direct blocker.
    pub fn direct(&self, wait: Wait) -> Nanos {
        self.entry(wait)[0]
    }

    /// Time charged to the root cause.
    pub fn root(&self, wait: Wait) -> Nanos {
        self.entry(wait)[1]
    }

    /// Waiting time of all kinds together, ns.
    pub fn total(&self) -> Nanos {
        self.total_of(0)
    }

    /// All waiting time by direct blocker (0), or by root cause (1).
    pub fn total_of(&self, by: usize) -> Nanos {
        (0..WAIT_KINDS).filter(|kind| self.kinds >> kind & 1 == 1).map(|kind| self.entries[kind][by]).sum()
    }
}

/// Waiting times by number, until the host has heard of them.
///
/// Entries are reused without clearing them: only the kinds that count are copied.
#[derive(Clone, Debug, Default)]
pub struct WaitList {
    entries: Vec<WaitVector>,
    used: usize,
}

impl WaitList {
    /// Keeps a waiting time. The layer that ends an operation passes its number on.
    #[inline]
    pub fn note(&mut self, wait: &WaitVector) -> u32 {
        let number = self.note_none();
        self.entries[number as usize].copy_from(wait);
        number
    }

    /// Keeps a waiting time that begins as another one of the list.
    #[inline]
    pub fn note_again(&mut self, of: u32) -> u32 {
        let number = self.note_none();
        let (before, own) = self.entries.split_at_mut(number as usize);
        own[0].copy_from(&before[of as usize]);
        number
    }

    /// Keeps that something did not wait.
    #[inline]
    pub fn note_none(&mut self) -> u32 {
        if self.used == self.entries.len() {
            self.entries.push(WaitVector::ZERO);
        }
        self.entries[self.used].kinds = 0;
        self.used += 1;
        self.used as u32 - 1
    }

    /// Forgets all waiting times.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

impl std::ops::IndexMut<u32> for WaitList {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut WaitVector {
        &mut self.entries[..self.used][number as usize]
    }
}

impl std::ops::Index<u32> for WaitList {
    type Output = WaitVector;

    #[inline]
    fn index(&self, number: u32) -> &WaitVector {
        &self.entries[..self.used][number as usize]
    }
}

/// The receiver of a command's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The command is part of a join; the last one ends it.
    Join(JoinId),
    /// The owner gets [`Event::Notified`] with this token.
    Notify(Token),
}

/// A command that reads a page.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The page that is read.
    pub page: Ppn,
    /// Cause of the command, for counters and waiting times.
    pub cause: Cause,
    /// Sectors to transfer over the channel.
    pub sectors: u8,
    /// Payload that gets the cells; [`PayloadId::NONE`] for none.
    pub payload: PayloadId,
    /// Receiver of the end. `None`: nobody, for a read that only feeds a following command.
    pub completion: Option<Completion>,
    /// Command that must complete first.
    pub after: Option<CommandId>,
}

/// The contents that a program puts into its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// User data: the payload's sectors, over the superseded page when `merge` is set.
    Data {
        /// New cells and which sectors they cover.
        payload: PayloadId,
        /// Sectors the payload does not name come from the superseded page.
        merge: bool,
    },
    /// The contents and out-of-band area of the superseded page, unchanged: the second half of a [`PageCopy`].
    Copy,
    /// A record of the drive's own; [`None`] when contents are off.
    Record(Option<RecordId>),
}

/// A command that programs a page.
#[derive(Clone, Copy, Debug)]
pub struct PageProgram {
    /// Page to program; must be the next one of its block.
    pub page: Ppn,
    /// Page whose data this one replaces: its block cannot be erased before this completes.
    pub supersedes: Option<Ppn>,
    /// Contents of the page.
    pub what: Program,
    /// Logical page for the out-of-band area.
    pub logical: u32,
    /// Sequence number, fixed now, when the map changes.
    pub sequence: u64,
    /// Cause of the command, for counters and waiting times.
    pub cause: Cause,
    /// Receiver of the end.
    pub completion: Completion,
    /// Command that must complete first.
    pub after: Option<CommandId>,
}

/// How a copy goes from page to page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyWay {
    /// Over the channel: a read of the whole page, and a program that waits for it.
    Channel,
    /// Inside the plane of both pages, as one command of the die that leaves the channel free.
    Plane,
}

/// A page programmed at another place as it is: contents and out-of-band area, sequence number included. The source
/// counts as superseded, so its block cannot be erased before the copy completes.
#[derive(Clone, Copy, Debug)]
pub struct PageCopy {
    /// The page that is copied.
    pub from: Ppn,
    /// Page to program; must be the next one of its block.
    pub to: Ppn,
    /// Logical page, handed back if the program fails.
    pub logical: u32,
    /// Cause of the command, for counters and waiting times.
    pub cause: Cause,
    /// Number that the owner chose: an event tells it when the page is programmed.
    pub token: Token,
    /// Whether the data goes through the controller.
    pub way: CopyWay,
}

impl PageCopy {
    /// The half that fills the page register of the source, where the copy goes over the channel.
    #[inline(always)]
    pub(crate) fn read(&self, sectors: u32) -> Read {
        let Self { from: page, cause, .. } = *self;
        Read { page, cause, sectors: sectors as u8, payload: PayloadId::NONE, completion: None, after: None }
    }

    /// The half that programs the target.
    #[inline(always)]
    pub(crate) fn program(&self, after: Option<CommandId>) -> PageProgram {
        let Self { from, to, logical, cause, token, .. } = *self;
        let (supersedes, what, sequence) = (Some(from), Program::Copy, 0);
        let completion = Completion::Notify(token);
        PageProgram { page: to, supersedes, what, logical, sequence, cause, completion, after }
    }
}

/// Copies of pages of one block to consecutive pages of another one, in this order.
#[derive(Clone, Copy, Debug)]
pub struct CopyRun<'a> {
    /// Numbers of the pages that are copied.
    pub from: &'a [u32],
    /// Page to program first; must be the next one of its block, which has room for all.
    pub to: Ppn,
    /// Cause of the commands, for counters.
    pub cause: Cause,
    /// Whether the data goes through the controller.
    pub way: CopyWay,
}

/// The operation of a layer that a command is all of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The layer above that asked for it.
    pub owner: Owner,
    /// The number that this layer chose.
    pub token: Token,
}

/// Reads a page as all of an operation, by a join that waits for it.
#[inline(always)]
pub(crate) fn read_in_join<F: Flash + ?Sized>(flash: &mut F, owner: Owner, of: Operation, read: Read) -> Closed {
    let join = flash.open(of.owner, of.token, Cancel::Never);
    flash.read(owner, Read { completion: Some(Completion::Join(join)), ..read });
    flash.close(join, Awaits::Commands)
}

/// Programs a page as all of an operation, by a join that waits for it.
#[inline(always)]
pub(crate) fn program_in_join<F: Flash + ?Sized>(
    flash: &mut F,
    owner: Owner,
    of: Operation,
    command: PageProgram,
) -> Closed {
    let join = flash.open(of.owner, of.token, Cancel::Never);
    flash.program(owner, PageProgram { completion: Completion::Join(join), ..command });
    flash.close(join, Awaits::Commands)
}

/// Result of issuing a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command completed where it was issued.
    Done,
    /// The command is queued, and an event follows.
    Pending(CommandId),
}

impl Outcome {
    /// The command to wait for, if it has not completed yet.
    #[inline]
    pub fn pending(self) -> Option<CommandId> {
        match self {
            Outcome::Done => None,
            Outcome::Pending(id) => Some(id),
        }
    }
}

/// Result of closing an operation, after all its commands have been issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// All commands had completed already. No event follows.
    Done {
        /// A read of it was uncorrectable.
        failed: bool,
    },
    /// [`Event::Joined`] will tell.
    Pending,
}

/// A program that failed, handed back to its owner with everything needed to place it again.
/// The pins it holds (on its own and on the superseded block) stay until [`Flash::place_again`] or [`Flash::abandon`].
/// The controller still has the user data that it was to program, and answers reads of the page from its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramFailure {
    /// Page that took no data.
    pub page: Ppn,
    /// Page it was to supersede.
    pub supersedes: Option<Ppn>,
    /// Contents that were to go into the page.
    pub what: Program,
    /// Logical page, as the out-of-band area says.
    pub logical: u32,
    /// Sequence number, which a copy keeps.
    pub sequence: u64,
    /// Cause of the program.
    pub cause: Cause,
    /// A program under way supersedes its page, at the moment of asking.
    pub is_superseded: bool,
    /// The failed command, which still holds its pins.
    pub id: CommandId,
}

/// Events that flash gives to the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The last command of a join completed, or the read that is all of an operation.
    Joined {
        /// Token given when the join was opened.
        token: Token,
        /// A read of the join was uncorrectable.
        failed: bool,
        /// Index into [`Memory::waits`] valid until the events are cleared; `None`: no waiting.
        wait: Option<u32>,
    },
    /// A command with [`Completion::Notify`] completed.
    Notified {
        /// Token that the command was given with.
        token: Token,
        /// The page that the command was for.
        page: Ppn,
    },
    /// A block was erased and is free now.
    Erased {
        /// The block that is free now.
        block: BlockId,
    },
    /// An erase failed; the block has been marked bad.
    EraseFailed {
        /// The block that is bad now.
        block: BlockId,
    },
    /// A program failed, or was queued behind one that failed. [`Flash::failure`] describes it.
    ProgramFailed(CommandId),
    /// The data of a block is to be rewritten, because it was read too often or is too old.
    RefreshDue {
        /// The block whose pages are to move.
        block: BlockId,
    },
    /// A die no longer answers commands.
    DieLost {
        /// The die that no longer answers.
        die: DieId,
    },
    /// A timer of the drive fired.
    Timer {
        /// The timer that runs out.
        timer: u32,
    },
}

/// Commands that a new command on a die waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Commands queued, and on the die.
    pub commands: u32,
    /// Commands of collection and wear levelling among them.
    pub cleaning: u32,
}

/// The narrow waist between the layers of a drive and its flash.
///
/// - *Commands*: read, program, copy and erase pages and blocks; open and close joins, which end together; hold and
///   release blocks; place a failed program again or give it up.
/// - *State*: shape, blocks, contents and counters, to be looked at; the memory of the controller and the uses of
///   blocks, which layers write; the description of a failed program.
/// - *Time*: the clock, the queue of a die, and waiting. The defaults suit flash without time, where each command ends
///   where it is issued.
///
/// Laws every caller may rely on: Commands of a block's pages start in issue order. A read of a page in flight waits
/// for it. An erase waits for every unfinished command in its block, every unfinished program that supersedes one of
/// its pages, and every hold.
pub trait Flash: 'static {
    // Commands.

    /// Opens a join for one operation of the layer above. The join waits for each command issued with it;
    /// [`Flash::close`] says that no more commands follow.
    fn open(&mut self, owner: Owner, token: Token, cancel: Cancel) -> JoinId;
    /// Ends the issue phase of a join.
    fn close(&mut self, join: JoinId, awaits: Awaits) -> Closed;
    /// Reads a page.
    fn read(&mut self, owner: Owner, read: Read) -> Outcome;
    /// Reads a page as all of an operation that cannot be taken back. The owner of the operation hears of its end as
    /// of the end of a join; the completion of `read` does not count.
    #[inline(always)]
    fn read_alone(&mut self, owner: Owner, operation: Operation, read: Read) -> Closed {
        read_in_join(self, owner, operation, read)
    }
    /// Programs a page.
    fn program(&mut self, owner: Owner, command: PageProgram) -> Outcome;
    /// Programs a page as all of an operation. The owner of the operation hears of its end as of the end of a join;
    /// the completion of `command` does not count.
    #[inline(always)]
    fn program_alone(&mut self, owner: Owner, operation: Operation, command: PageProgram) -> Closed {
        program_in_join(self, owner, operation, command)
    }
    /// Copies a page. The copy ends when its program ends.
    fn copy(&mut self, owner: Owner, copy: PageCopy) -> Outcome;
    /// Copies pages one after the other, which nobody hears of. Only flash that [`Flash::ends_at_once`] does so.
    /// `false`: nothing was done.
    #[inline]
    fn copy_run(&mut self, _run: &CopyRun<'_>) -> bool {
        false
    }
    /// Erases a block once nothing needs it any more; the owner hears [`Event::Erased`] unless
    /// the outcome is `Done`.
    fn erase(&mut self, owner: Owner, block: BlockId, cause: Cause) -> Outcome;
    /// Cancels an erase that still waits for pins. `false`: no erase of the block waits.
    fn take_back_erase(&mut self, block: BlockId) -> bool;
    /// Releases a block that was held ([`BlockUse::hold`]).
    fn release(&mut self, block: BlockId);
    /// Issues a failed program again at another page, with the pins it kept.
    fn place_again(&mut self, failed: CommandId, page: Ppn) -> Outcome;
    /// Gives a failed program up because its data has been replaced for good: its pins are released, its join counts it
    /// as completed, and reads that wait for it (where there is time to wait) go to `readers_to`.
    fn abandon(&mut self, failed: CommandId, readers_to: Ppn);
    /// A program under way that supersedes the page of a failed one supersedes `to` instead. `false`: there is none, or
    /// no other.
    fn retarget(&mut self, from: Ppn, to: Ppn) -> bool;

    // State.

    /// The state that a layer may read: shape, blocks, contents, counters.
    fn state(&self) -> &FlashState;
    /// Memory of the controller, which a layer may write besides giving commands.
    fn memory_mut(&mut self) -> &mut Memory;
    /// Uses of blocks, which a layer may set without a command.
    fn blocks_mut(&mut self) -> BlockUse<'_>;
    /// The description of a failed program.
    fn failure(&self, failed: CommandId) -> ProgramFailure;
    /// Whether each read, program and copy ends where it is issued, moves no contents and cannot fail.
    #[inline]
    fn ends_at_once(&self) -> bool {
        false
    }
    /// Whether a page that a layer has placed may read as anything but zeros.
    fn may_hold_bytes(&self, page: Ppn) -> bool {
        self.state().may_hold_bytes(page)
    }

    // Time.

    /// Simulated time, ns.
    #[inline]
    fn now(&self) -> Nanos {
        0
    }
    /// Commands that a new command on a die waits for. Commands that wait for others, and erases that wait for pins,
    /// are not queued yet.
    fn backlog(&self, _die: DieId) -> Backlog {
        Backlog::default()
    }
    /// Time that the queue before a new command on a die takes, ns, including programs that only wait for reads. Walks
    /// over the queue.
    fn backlog_ns(&self, _die: DieId) -> Nanos {
        0
    }
    /// From now on commands take no time, or take their time again. A layer calls this around work whose time a model
    /// leaves out. The commands are counted in both cases.
    fn set_instant(&mut self, _instant: bool) {}
    /// Reserves a place at the end of the queues of all dies.
    fn take_ticket(&mut self) -> Ticket {
        Ticket::default()
    }
    /// From now on commands stand in the queues of their dies at this place, or with `None` again behind all others. A
    /// layer shows a ticket around each step of one piece of work. At the moment at which a step ends its die begins no
    /// other command, so that the next step can follow. Commands of collection take the place only where collection is
    /// not interrupted.
    fn show_ticket(&mut self, _ticket: Option<Ticket>) {}
    /// Cancels an operation that consists of reads. If none of its commands has started, none starts. Otherwise all of
    /// them run to their end and are counted as wasted. No event follows.
    fn cancel(&mut self, _join: JoinId) -> Cancelled {
        Cancelled::default()
    }
    /// Tells `token` to the owner ([`Event::Notified`]) when the program issued for `page` has completed, or has failed
    /// with its data in the controller; a copy that failed must find its place first. `Done`: it had completed already.
    /// Takes no time and moves no data.
    fn await_program(&mut self, _owner: Owner, _page: Ppn, _token: Token) -> Outcome {
        Outcome::Done
    }
    /// Whether the owner will hear of a program that completed where it was issued as of any other
    /// ([`Event::Notified`]), once nothing else can happen without it. A layer asks for this that gathers pages while
    /// others are under way. `false`: no event will come. Flash with time completes a program where it is issued only
    /// if its memory for programs takes the page, and other pages are under way then.
    fn notify_late(&mut self, _owner: Owner, _page: Ppn, _token: Token) -> bool {
        false
    }
    /// Whether memory that is not protected holds pages of `block`, for a program that is not full, which keep `erase`
    /// from being erased; without `erase`, which flushes wait for. Their owner fills the program up.
    fn holds_back(&self, _block: BlockId, _erase: Option<BlockId>) -> bool {
        false
    }
}

/// The commands that a join waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// The commands issued with it.
    Commands,
    /// Every data or record program issued so far as well: a flush.
    AllPrograms,
}

/// Whether an operation may be taken back (its commands are then remembered).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// [`Flash::cancel`] will not be called for it.
    Never,
    /// The operation may be taken back.
    Possible,
}

/// The commands that a cancelled operation leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cancelled {
    /// Commands that never started.
    pub unstarted: u32,
    /// Commands that run to their end without use, because one of them had started.
    pub wasted: u32,
}
