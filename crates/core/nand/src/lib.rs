//! Flash: state of blocks and pages, commands, timing, wear, faults; and the memory of the controller beside it.
//!
//! Two implementations of one trait, [`Flash`]: [`CountedFlash`] completes every command where it
//! is issued (counting studies, ageing), [`TimedFlash`] lets commands queue on dies and channels in
//! virtual time. A [`Meter`] on counted flash adds up what its commands would cost one after the
//! other. Layers are generic over the trait, so there is no dynamic call per command.
//! Flash never sees a logical address except in the out-of-band area, and reads no configuration.

#![deny(missing_docs)]
#![warn(clippy::missing_errors_doc)]

mod cells;
pub mod contents;
mod counted;
mod fault;
mod flash;
mod memory;
mod meter;
mod nvram;
mod part;
mod payloads;
mod state;
mod timed;

pub use contents::{Contents, ContentsKind, KeptBlock, Mirror, Oob, PageKind};
pub use counted::CountedFlash;
pub use fault::FaultPlan;
pub use flash::{
    Awaits, Backlog, Cancel, Cancelled, Closed, CommandId, Completion, CopyRun, CopyWay, Event, Flash, JoinId,
    Operation, Outcome, Owner, PageCopy, PageProgram, Program, ProgramFailure, Read, Ticket, Token, WaitList,
    WaitVector,
};
pub use memory::Memory;
pub use meter::{Meter, MeteredFlash, ServiceMeter, Span};
pub use nvram::{Nvram, NvramId, NvramPage};
pub use part::{CommandCycles, CommandOptions, MultiPlane, PAGE_TYPES, PageTimes, Part, SlcTimes, SuspendOption};
pub use payloads::{PayloadId, Payloads, RecordId};
pub use state::{
    Ageing, AgeingOptions, Ages, BlockRow, BlockUse, Blocks, Correction, Counters, ErrorRate, FlashState, LawBroken,
    RefreshLimits, Running, lost_share,
};
pub use timed::{Blame, Choice, Closeup, DieTrouble, Recorder, RecorderPlan, Served, Slice, TimedFlash, Window, Work};

/// "No such page, command or slot" inside packed records; outside them it is an `Option`.
pub(crate) const NIL: u32 = u32::MAX;
