//! The page-operation waist: the trait that buffers, stripes and flash translation layers share.
//!
//! ```text
//!   host ---- submit ---> layer ---- submit ---> layer ---- commands ---> flash
//!   host <--- outbox ---- layer <--- outbox ---- layer <--- events ------ flash
//! ```
//! Operations go down by direct calls, one for each extent. Answers go up through an outbox that the caller empties, so
//! layers never re-enter each other.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod ageing;
mod below;
mod choices;
mod condition;
mod flushes;
mod hint;
mod ops;
pub mod parameter;
pub mod recency;
pub mod registry;
mod room;
mod slots;
mod snapshot;
pub mod spelling;
mod tag;
mod tile;
mod timing;
mod unit;
mod waited;

pub use ageing::{AGE_MAX, CELLS_ERR, ERRORS};
pub use below::Below;
pub use choices::Choices;
pub use condition::{Condition, Conditions, Declared, Test, of_table};
pub use flushes::FlushLine;
pub use hint::translated;
pub use ops::{Op, Ops};
pub use parameter::{Named, Parameter, ParameterKind, Role, Value, Values};
pub use room::Room;
pub use slots::Slots;
pub use snapshot::{Snapshot, SnapshotError, SnapshotReader, SnapshotRow, SnapshotWriter};
pub use tag::{Tag, TagKind};
pub use tile::{Tiled, TiledBlock, Tiling};
pub use timing::{IN_TIME, SERVICE, SIDE_BY_SIDE, TIME};
pub use unit::{ATOMIC, UNIT, page_key};
pub use waited::{Waited, charge, charge_space};

use nand::{Backlog, Cancelled, Event, Flash, FlashState, JoinId, Owner, PayloadId, Token};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Cause, DieId, HostOp, Lpn, Ppn, Request};

/// One operation on an extent of logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOp {
    /// The operation.
    pub op: HostOp,
    /// First logical page.
    pub first: Lpn,
    /// Number of pages, 1 and up (0 for a flush).
    pub pages: u32,
    /// Sectors meant in the first page (bit 0 is the page's first sector).
    pub first_mask: u64,
    /// Sectors meant in the last page; equals `first_mask` for a single page.
    pub last_mask: u64,
    /// A write must survive a power cut once it is acknowledged.
    pub fua: bool,
    /// The operation may be taken back with [`PageLayer::cancel`] (reads only).
    pub cancellable: bool,
    /// Another operation of the same group follows at once: pages that a buffer gives up together.
    pub more: bool,
    /// The operation is about old versions, where there are any ([`Versioned`]): a read returns the old version, and a
    /// write or trim keeps the version that it replaces.
    pub kept: bool,
    /// First of `pages` payloads with the cells to write or to fill.
    pub payload: PayloadId,
    /// Cause under which its reads and programs of user data are counted.
    pub cause: Cause,
    /// Sectors of the whole host request this operation is a part of; 0 if a layer asks for itself.
    pub request_sectors: u32,
    /// The unit that hears that the operation is done: [`HOST_OWNER`] or the unit number of the layer above.
    pub owner: Owner,
    /// Handed back when the operation is done, in [`nand::Event::Joined`] or [`Signal::Done`].
    pub token: Token,
}

/// The owner number of the host interface.
pub const HOST_OWNER: Owner = Owner::MAX;
/// The owner number of the write buffer.
pub const BUFFER_OWNER: Owner = Owner::MAX - 1;
/// The owner number of the stripe layer.
pub const STRIPE_OWNER: Owner = Owner::MAX - 2;
/// The owner number of the write buffer that gathers pages for the stripe layer.
pub const GATHER_OWNER: Owner = Owner::MAX - 3;
/// Names of the owner numbers, from the highest number down.
pub const OWNERS: [&str; 4] = ["host", "buffer", "stripe", "gather"];

impl PageOp {
    /// An operation of the host on the sectors `mask` of one page, by itself and with no payload.
    #[inline]
    pub fn on_page(op: HostOp, page: Lpn, mask: u64) -> Self {
        Self {
            op,
            first: page,
            pages: 1,
            first_mask: mask,
            last_mask: mask,
            fua: false,
            cancellable: false,
            more: false,
            kept: false,
            payload: PayloadId::NONE,
            cause: Cause::Host,
            request_sectors: 0,
            owner: HOST_OWNER,
            token: 0,
        }
    }

    /// The page at `index` of the extent.
    #[inline(always)]
    pub fn at(&self, index: u32) -> Lpn {
        self.first + index
    }

    /// The pages of the extent, in order.
    #[inline]
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Lpn> + use<> {
        (self.first.0..self.first.0 + self.pages).map(Lpn)
    }

    /// Where the `pages` pages from `first` on are in the extent, as far as they are.
    #[inline]
    pub fn part(&self, first: Lpn, pages: u32) -> Range<u32> {
        let end = (first.0 + pages).min(self.first.0 + self.pages);
        first.0.saturating_sub(self.first.0)..end.saturating_sub(self.first.0)
    }

    /// Sectors meant in the page at `index` of the extent; `full` is a whole page.
    #[inline]
    pub fn mask_at(&self, index: u32, full: u64) -> u64 {
        if index == 0 {
            self.first_mask
        } else if index + 1 == self.pages {
            self.last_mask
        } else {
            full
        }
    }
}

/// Whether to reconstruct a page instead of reading it. True if no die of the detour is collecting, and the page's own
/// die is, or has at least two more commands queued than the busiest die of the detour.
#[inline]
pub fn goes_around(way: Backlog, detour: Backlog) -> bool {
    detour.cleaning == 0 && (way.cleaning > 0 || way.commands > detour.commands + 1)
}

/// An operation that is under way. It can be taken back where one layer answers for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpHandle(pub Option<JoinId>);

/// The answer of a layer to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The operation is done. No signal follows.
    Done {
        /// Some page of a read is uncorrectable.
        failed: bool,
    },
    /// The operation is under way. Its owner will get its token, from flash or through the outbox.
    Pending(OpHandle),
    /// No room. `taken` pages of the extent were accepted and are under way under the
    /// operation's token (if any); submit the rest again after [`Signal::Room`].
    Full {
        /// Pages that were accepted, the first ones of the rest.
        taken: u32,
        /// The accepted pages are not all done: their token will be heard once.
        pending: bool,
        /// They are all done, and one of them failed.
        failed: bool,
    },
}

impl Answer {
    /// The answer to an operation that found no room after `taken` of its pages, where `self` is the answer to these
    /// pages.
    #[must_use]
    pub fn full(self, taken: u32) -> Self {
        match self {
            Self::Done { failed } => Self::Full { taken, pending: false, failed },
            _ => Self::Full { taken, pending: true, failed: false },
        }
    }
}

/// The signals of a layer to the layer above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An operation is done.
    Done {
        /// The unit that submitted it.
        owner: Owner,
        /// Token that the operation was submitted with.
        token: Token,
        /// Some page of a read is uncorrectable.
        failed: bool,
        /// Its waiting times: an index into the waits delivered with the events being handled.
        wait: Option<u32>,
    },
    /// An operation that was answered `Full` may find room now.
    Room,
}

/// The list in which a layer leaves its signals.
pub type Outbox = Vec<Signal>;

/// The data of a page, from the least on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// It was never written, or was trimmed since.
    Nothing,
    /// It was written without bytes, as preconditioning does: it is on flash and reads as zeros.
    Zeros,
    /// It may read as anything.
    Bytes,
}

impl Held {
    /// The data of a page that was written; `has_bytes`: it may read as anything but zeros.
    pub fn written(has_bytes: bool) -> Self {
        if has_bytes { Self::Bytes } else { Self::Zeros }
    }
}

/// Counters of one layer for the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerReport {
    /// Name of the layer, as in the configuration.
    pub name: &'static str,
    /// Bytes of memory a real controller would need for its state.
    pub ram_bytes: u64,
    /// Switch, partial and full merges of a hybrid mapping.
    pub merges: [u64; 3],
    /// Hits and misses of its cache, if it has one.
    pub cache: Option<(u64, u64)>,
    /// Further counters by name.
    pub counters: BTreeMap<&'static str, u64>,
    /// Share of valid pages by block, for the report (FTLs only).
    pub valid_pages: Vec<u16>,
}

/// A buffer, a stripe or a flash translation layer over flash of kind `F`.
pub trait PageLayer<F: Flash> {
    /// Accepts as many pages of an operation as there is room for.
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer;

    /// Writes the first requests of the host in a list to their ends, one after the other, where commands end where
    /// they are issued and each request writes one whole page. Returns how many; nobody hears of their ends. The next
    /// one takes the way of [`PageLayer::submit`].
    fn write_at_once(&mut self, _flash: &mut F, _requests: &[Request]) -> usize {
        0
    }

    /// The pages `first..first + pages`, a whole logical block of the layer above, will be written next
    /// by operations of their own, each once and in order, and nothing else in between. A mapping with
    /// logical blocks gives them a fresh one; the others need not know. `Full`: not now.
    fn begin_block(&mut self, _flash: &mut F, _first: Lpn, _pages: u32) -> Answer {
        Answer::Done { failed: false }
    }

    /// Cancels an operation. Queued commands never start. Started commands run to their end and are counted as wasted.
    /// The owner will not get the token.
    fn cancel(&mut self, flash: &mut F, handle: OpHandle) -> Cancelled {
        handle.0.map_or(Cancelled::default(), |join| flash.cancel(join))
    }

    /// Handles an event of flash for unit `owner`: this layer, or a layer below it.
    fn on_event(&mut self, flash: &mut F, owner: Owner, event: &Event, outbox: &mut Outbox);

    /// Prepares for the first request: the drive has its initial state, and the host will begin.
    fn prepare(&mut self, _flash: &mut F) {}

    /// The host is idle: background work may begin. Returns whether any work began.
    fn on_idle(&mut self, flash: &mut F) -> bool;

    /// These requests come soon: bring their map entries into the cache.
    fn hint_map(&self, flash: &F, soon: &[Request]);

    /// These requests come next and their map entries are in the cache: bring the data that the entries point to.
    fn hint_target(&self, flash: &F, next: &[Request]);

    /// The acknowledged data of a page. Data of writes under way may be included.
    fn holds(&self, flash: &F, page: Lpn) -> Held;

    /// The flash page with the newest version of some sectors of a page, a bit each, from the time on when its program
    /// is issued. `None`: memory has a newer version of one of them, or no page has them.
    fn place_of(&self, page: Lpn, sectors: u64) -> Option<Ppn>;

    /// Checks every invariant of the layer against flash.
    ///
    /// # Errors
    /// The first law broken, in words.
    fn check(&self, flash: &F) -> Result<(), String>;

    /// Counters for the result.
    fn report(&self, reports: &mut Vec<LayerReport>);

    /// Resets the counters (after preconditioning).
    fn reset_counters(&mut self);

    /// Writes the state of a drained drive. A writer that takes tables leaves a layer that only
    /// [`PageLayer::load`] can make whole again.
    fn save(&mut self, writer: &mut SnapshotWriter);

    /// Restores the state that [`PageLayer::save`] wrote.
    ///
    /// # Errors
    /// The snapshot does not fit this layer.
    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;

    /// Whether [`PageLayer::tile`] can bring a new layer into use.
    ///
    /// # Errors
    /// The reason why not, to follow "because".
    fn may_tile(&self) -> Result<(), &'static str> {
        Err("a buffer, a stripe or the mapping has tables that cannot be tiled")
    }

    /// Brings a new layer into the state of a smaller one of the same kind, which [`PageLayer::save`] wrote: that state
    /// stands in it many times. `small`: the flash of the smaller drive. The caller gives flash the blocks.
    ///
    /// # Errors
    /// The snapshot has something that cannot be tiled. The layer is of no use then.
    fn tile(
        &mut self,
        _small: &FlashState,
        _tiling: &Tiling,
        _reader: &mut SnapshotReader<'_>,
    ) -> Result<Tiled, SnapshotError> {
        Err(SnapshotError::unfit("tiles", "this layer cannot be tiled"))
    }
}

/// The old version of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// No old version is kept: only the newest version counts.
    None,
    /// An old version is kept: the page was unwritten, and reads as zeros.
    Zero,
    /// An old version is kept, on a flash page of its own.
    Page,
}

/// A mapping that leaves every logical page on its chip and can keep one old version of it. A parity that is not up to
/// date still covers this old version.
///
/// An old version is kept by a write or trim that asks for it ([`PageOp::kept`]), unless one is kept
/// already. It is as safe from erasure as a current one until [`Versioned::drop_old`].
pub trait Versioned<F: Flash>: PageLayer<F> {
    /// Drops the old version of a page, which no parity needs any more.
    fn drop_old(&mut self, flash: &mut F, logical: Lpn);

    /// The old version of a page, if one is kept.
    fn old(&self, logical: Lpn) -> Old;

    /// The page holds data: it was written, and not trimmed since.
    fn is_written(&self, logical: Lpn) -> bool;

    /// The last sequence number given to a write.
    fn sequence(&self) -> u64;

    /// The sequence number of the newest version of a page; 0 without contents, or if there is none.
    fn sequence_of(&self, logical: Lpn) -> u64;

    /// Writes pages with a sequence number of an earlier write: the pages count as being as old as that write.
    fn write_as(&mut self, flash: &mut F, op: &PageOp, sequence: u64) -> Answer;

    /// A write of this page would be refused as it was before, and change nothing: the page has one place to go to,
    /// which is full, and commands under way there will make room.
    fn still_refuses(&self, flash: &F, logical: Lpn) -> bool;

    /// Appends the logical pages whose old versions are in the way of an erase since the last call: the erase
    /// waits until each is dropped, or moved by [`Versioned::move_old`].
    fn take_wanted(&mut self, wanted: &mut Vec<Lpn>);

    /// The old version of a page is moved like a valid page, because it is in the way of an erase and cannot be
    /// dropped now.
    fn move_old(&mut self, flash: &mut F, logical: Lpn);

    /// A die no longer answers. Commands on their way to it count as done; its pages read as failed.
    fn lose_die(&mut self, flash: &mut F, die: DieId);

    /// Pages of a lost die are placed on `spare` from now on, and are unwritten there.
    fn replace_die(&mut self, flash: &mut F, lost: DieId, spare: DieId);

    /// Continues work that a power cut interrupted: data that has to be on several chips and is on fewer is written
    /// again.
    fn resume(&mut self, flash: &mut F);

    /// The old version of a page found after a power cut was in truth no version at all.
    fn forget_old(&mut self, logical: Lpn);
}
