//! The page-operation waist: what a buffer, a stripe and a flash translation layer have in common.
//!
//! ```text
//!   host ---- submit ---> layer ---- submit ---> layer ---- commands ---> flash
//!   host <--- outbox ---- layer <--- outbox ---- layer <--- events ------ flash
//! ```
//! Downward is a direct call, one for each extent; upward goes through an outbox that the caller
//! empties, so layers never re-enter each other.

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
mod timing;
mod unit;
mod waited;

pub use ageing::{AGE_MAX, CELLS_ERR, ERRORS};
pub use below::Below;
pub use choices::Choices;
pub use condition::{Condition, Conditions, Test, declaring, of_table};
pub use flushes::FlushLine;
pub use hint::translated;
pub use ops::{Op, Ops};
pub use parameter::{Named, Parameter, ParameterKind, Role, Value, Values};
pub use room::Room;
pub use slots::Slots;
pub use snapshot::{SnapshotError, SnapshotReader, SnapshotRow, SnapshotWriter};
pub use tag::{Tag, TagKind};
pub use timing::{IN_TIME, SERVICE, SIDE_BY_SIDE, TIME};
pub use unit::{UNIT, page_key};
pub use waited::{Waited, charge, charge_space};

use nand::{Backlog, Cancelled, Event, Flash, JoinId, Owner, PayloadId, Token};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Cause, DieId, HostOp, Lpn, Ppn, Request};

/// One operation on an extent of logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOp {
    /// What to do.
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
    /// Old versions are meant, as far as there are any ([`Versioned`]): a read returns what was kept, a write
    /// or trim keeps what it replaces.
    pub kept: bool,
    /// First of `pages` payloads with the cells to write or to fill.
    pub payload: PayloadId,
    /// What its reads and programs of user data are counted as.
    pub cause: Cause,
    /// Sectors of the whole host request this operation is a part of; 0 if a layer asks for itself.
    pub request_sectors: u32,
    /// Who hears that the operation is done: [`HOST_OWNER`] or the unit number of the layer above.
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
/// Names of these owners, from the highest number down.
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

    /// Its pages, in order.
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

/// Whether a read had better go around its die: that is cleaning, and nobody on the detour is, or more stands before it
/// than before the longest part of the detour, whose own reads make that one longer.
#[inline]
pub fn goes_around(way: Backlog, detour: Backlog) -> bool {
    detour.cleaning == 0 && (way.cleaning > 0 || way.commands > detour.commands + 1)
}

/// An operation that is under way. It can be taken back where one layer answers for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpHandle(pub Option<JoinId>);

/// What a layer says to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done already; nothing will follow.
    Done {
        /// Some page of a read is uncorrectable.
        failed: bool,
    },
    /// Under way; its owner will hear its token, from flash or through the outbox.
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
    /// What is said of an operation that found no room after `taken` of its pages, where this is to be said of those.
    #[must_use]
    pub fn full(self, taken: u32) -> Self {
        match self {
            Self::Done { failed } => Self::Full { taken, pending: false, failed },
            _ => Self::Full { taken, pending: true, failed: false },
        }
    }
}

/// What a layer tells the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An operation is done.
    Done {
        /// Who asked for it.
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

/// Where a layer puts what it has to say.
pub type Outbox = Vec<Signal>;

/// What a page holds, from the least on.
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
    /// What a page holds that was written; `has_bytes`: it may read as anything but zeros.
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
    /// Takes as many pages of an operation as there is room for.
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer;

    /// The pages `first..first + pages`, a whole logical block of the layer above, will be written next
    /// by operations of their own, each once and in order, and nothing else in between. A mapping with
    /// logical blocks gives them a fresh one; the others need not know. `Full`: not now.
    fn begin_block(&mut self, _flash: &mut F, _first: Lpn, _pages: u32) -> Answer {
        Answer::Done { failed: false }
    }

    /// Takes an operation back. Queued commands never start; started ones run on, counted as
    /// wasted. The token will not be heard.
    fn cancel(&mut self, flash: &mut F, handle: OpHandle) -> Cancelled {
        handle.0.map_or(Cancelled::default(), |join| flash.cancel(join))
    }

    /// Hears an event of flash meant for unit `owner`: this layer, or one below it.
    fn on_event(&mut self, flash: &mut F, owner: Owner, event: &Event, outbox: &mut Outbox);

    /// The drive has its initial state, and the host will begin: what a layer does before the first request.
    fn prepare(&mut self, _flash: &mut F) {}

    /// The host has nothing to do: background work may begin. Returns whether any was begun.
    fn on_idle(&mut self, flash: &mut F) -> bool;

    /// These requests come soon: bring their map entries into the cache.
    fn hint_map(&self, flash: &F, soon: &[Request]);

    /// These requests come next and their map entries have been brought: bring what they point to.
    fn hint_target(&self, flash: &F, next: &[Request]);

    /// What was acknowledged of a page. What is under way may count already or not yet.
    fn holds(&self, flash: &F, page: Lpn) -> Held;

    /// Checks every invariant of the layer against flash.
    ///
    /// # Errors
    /// The first law broken, in words.
    fn check(&self, flash: &F) -> Result<(), String>;

    /// Counters for the result.
    fn report(&self, reports: &mut Vec<LayerReport>);

    /// Starts counting anew (after preconditioning).
    fn reset_counters(&mut self);

    /// Writes the state of a drained drive.
    fn save(&self, writer: &mut SnapshotWriter);

    /// Reads what [`PageLayer::save`] wrote.
    ///
    /// # Errors
    /// The snapshot does not fit this layer.
    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;
}

/// The old version of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// None is kept: only the newest version counts.
    None,
    /// One is kept: there was nothing, which reads as zeros.
    Zero,
    /// One is kept, on a flash page of its own.
    Page,
}

/// A mapping that leaves every logical page on its chip and can keep one old version of it, which is what
/// a parity that has not been brought up to date still covers.
///
/// An old version is kept by a write or trim that asks for it ([`PageOp::kept`]), unless one is kept
/// already. It is as safe from erasure as a current one until [`Versioned::drop_old`].
pub trait Versioned<F: Flash>: PageLayer<F> {
    /// Nobody needs the old version of a page any more.
    fn drop_old(&mut self, flash: &mut F, logical: Lpn);

    /// What is kept of a page.
    fn old(&self, logical: Lpn) -> Old;

    /// The page holds data: it was written, and not trimmed since.
    fn is_written(&self, logical: Lpn) -> bool;

    /// Where the newest version of a page is, if it has one.
    fn place_of(&self, logical: Lpn) -> Option<Ppn>;

    /// The last sequence number given to a write.
    fn sequence(&self) -> u64;

    /// The sequence number of the newest version of a page; 0 without contents, or if there is none.
    fn sequence_of(&self, logical: Lpn) -> u64;

    /// Writes pages with a sequence number of an earlier write: they count as being as old.
    fn write_as(&mut self, flash: &mut F, op: &PageOp, sequence: u64) -> Answer;

    /// Appends the logical pages whose old versions are in the way of an erase since the last call: the erase
    /// waits until each is dropped, or moved by [`Versioned::move_old`].
    fn take_wanted(&mut self, wanted: &mut Vec<Lpn>);

    /// The old version of a page is moved like a valid page, because it is in the way of an erase and cannot be
    /// dropped now.
    fn move_old(&mut self, flash: &mut F, logical: Lpn);

    /// A die answers nothing any more. What was on its way there counts as done; its pages
    /// read as failed.
    fn lose_die(&mut self, flash: &mut F, die: DieId);

    /// Pages of a lost die are placed on `spare` from now on, and are unwritten there.
    fn replace_die(&mut self, flash: &mut F, lost: DieId, spare: DieId);

    /// Begins what a power cut left undone: what has to be on several chips and is on fewer is written again.
    fn resume(&mut self, flash: &mut F);

    /// The old version of a page found after a power cut was in truth no version at all.
    fn forget_old(&mut self, logical: Lpn);
}
