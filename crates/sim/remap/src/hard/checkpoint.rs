//! Checkpoints: the whole map, written in pieces while it changes.
//!
//! Each piece is the map as it is when the piece is made. Changes from the beginning on are in the journal, and are
//! read over it. A piece may lead to pages whose records are not durable yet; so the head, which makes the checkpoint
//! valid, is written only when all records are durable that were made before the last piece. Two slots are used in
//! turn, so the checkpoint before is good until then.

use super::disk::{self, ENTRY_BYTES, HEAD_BYTES, Head};
use super::gather::Gather;
use super::journal::{Beginning, Journal};
use super::space::Space;
use super::{Layout, Work};
use crate::shell::host::{Host, Life};
use units::{HostOp, SECTOR_BYTES};

/// Pieces written at a time.
const PIECES_AT_A_TIME: u32 = 4;
/// A checkpoint costs at most one hundredth of what the host writes.
const SPACING: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Pieces,
    /// Waits until `entries` are durable, by a cycle of this number or a later one.
    Settle {
        target: u64,
        cycle: u64,
    },
    /// The head is being written or flushed.
    Head,
}

#[derive(Debug)]
struct Checkpoint {
    number: u64,
    beginning: Beginning,
    /// Number of the piece that is written next.
    next: u32,
    /// Writes of pieces under way.
    under_way: u32,
    failed: bool,
    stage: Stage,
}

/// The checkpoints of a drive: the one that is being written, and when the next one is due. A life begins with one:
/// numbers of journal superpages begin anew there, so that no old one is taken for a new one.
#[derive(Debug)]
pub(super) struct Checkpoints {
    layout: Layout,
    id: u64,
    /// A superblock goes before the first one.
    is_fresh: bool,
    current: Option<Checkpoint>,
    /// Number of the next one.
    number: u64,
    /// Pages of the host when the last one was begun.
    pages: u64,
    is_wanted: bool,
    pub superpages: u64,
    pub completed: u64,
}

impl Checkpoints {
    /// `number` is the number of the next checkpoint.
    pub fn new(layout: &Layout, id: u64, is_fresh: bool, number: u64) -> Self {
        let (layout, current, is_wanted) = (*layout, None, false);
        Self { layout, id, is_fresh, current, number, pages: 0, is_wanted, superpages: 0, completed: 0 }
    }

    /// A checkpoint is to be written as soon as that can be.
    pub fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Entries that have to be durable for the one under way, if it waits for that.
    pub fn target(&self) -> Option<u64> {
        match self.current.as_ref()?.stage {
            Stage::Settle { target, .. } => Some(target),
            Stage::Pieces | Stage::Head => None,
        }
    }

    /// Does the next thing for the one under way, or begins one that is due; `is_full`: the journal has no room.
    pub fn pump(
        &mut self,
        host: &mut Host<Work>,
        space: &mut Space,
        gather: &mut Gather,
        journal: &Journal,
        is_full: bool,
    ) -> bool {
        let Some(checkpoint) = &mut self.current else {
            return self.is_due(host, journal, is_full) && self.begin(host, journal);
        };
        match checkpoint.stage {
            Stage::Pieces if checkpoint.failed => {
                let over = checkpoint.under_way == 0;
                if over {
                    self.give_up(host);
                }
                over
            }
            Stage::Pieces if checkpoint.next < self.layout.pieces => {
                checkpoint.under_way < PIECES_AT_A_TIME && self.write_piece(host, space)
            }
            Stage::Pieces if checkpoint.under_way == 0 => {
                gather.issue_host(host, space);
                gather.issue_copies(host, space);
                checkpoint.stage = Stage::Settle { target: host.issued(), cycle: journal.next_cycle() };
                true
            }
            Stage::Settle { target, cycle } if host.durable() >= target && journal.finished() >= cycle => {
                self.write_head(host);
                true
            }
            _ => false,
        }
    }

    fn is_due(&self, host: &Host<Work>, journal: &Journal, is_full: bool) -> bool {
        let cost = u64::from(self.layout.checkpoint_superpages()) * u64::from(self.layout.slots());
        match host.life() {
            Life::Lazy => false,
            Life::Wanted | Life::Beginning => true,
            Life::Ready => {
                self.is_wanted
                    || journal.used() >= u64::from(self.layout.ring) * 3 / 4
                    || (journal.used() > 0 && is_full)
                    || host.counts().host_pages - self.pages >= SPACING * cost
            }
        }
    }

    fn begin(&mut self, host: &mut Host<Work>, journal: &Journal) -> bool {
        self.is_wanted = false;
        self.pages = host.counts().host_pages;
        let (number, beginning, stage) = (self.number, journal.beginning(), Stage::Pieces);
        self.current = Some(Checkpoint { number, beginning, next: 0, under_way: 0, failed: false, stage });
        if self.is_fresh {
            let (layout, id) = (self.layout, self.id);
            // Whoever opens it does not know yet how long a superpage is.
            let fill = |bytes: &mut [u8]| disk::put_layout(&mut bytes[..SECTOR_BYTES as usize], &layout, id);
            self.send_piece(host, 0, fill);
        }
        true
    }

    fn send_piece(&mut self, host: &mut Host<Work>, superpage: u64, fill: impl FnOnce(&mut [u8])) {
        self.current.as_mut().expect("it is under way").under_way += 1;
        host.write_new(Work::Piece, self.layout.sector_of(superpage), self.layout.superpage_sectors, fill);
    }

    fn write_piece(&mut self, host: &mut Host<Work>, space: &Space) -> bool {
        let checkpoint = self.current.as_mut().expect("it is under way");
        let (number, piece) = (checkpoint.number, checkpoint.next);
        checkpoint.next += 1;
        let map = &space.map()[self.layout.pages_of_piece(piece)];
        let head = Head { id: self.id, number, more: u64::from(piece), count: map.len() as u32 };
        self.send_piece(host, self.layout.checkpoint_at(number) + 1 + u64::from(piece), |bytes| {
            for (index, place) in map.iter().enumerate() {
                disk::put_u32(bytes, HEAD_BYTES + index * ENTRY_BYTES, *place);
            }
            disk::seal(bytes, disk::PIECE, head);
        });
        true
    }

    fn write_head(&mut self, host: &mut Host<Work>) {
        let checkpoint = self.current.as_mut().expect("it is under way");
        checkpoint.stage = Stage::Head;
        let Checkpoint { number, beginning: Beginning { number: more, skip, stamp }, .. } = *checkpoint;
        let head = Head { id: self.id, number, more, count: self.layout.pieces };
        let sector = self.layout.sector_of(self.layout.checkpoint_at(number));
        host.write_new(Work::Head, sector, self.layout.superpage_sectors, |bytes| {
            disk::put_u64(bytes, HEAD_BYTES, skip);
            stamp.put(bytes);
            disk::seal(bytes, disk::CHECKPOINT, head);
        });
    }

    pub fn piece_completed(&mut self, failed: bool) {
        self.superpages += u64::from(!failed);
        if let Some(checkpoint) = &mut self.current {
            checkpoint.under_way -= 1;
            checkpoint.failed |= failed;
        }
    }

    pub fn head_completed(&mut self, host: &mut Host<Work>, failed: bool) {
        self.superpages += u64::from(!failed);
        if host.is_broken() {
            return;
        }
        if failed {
            self.give_up(host);
        } else {
            host.send(Work::HeadFlush, HostOp::Flush, 0, 0);
        }
    }

    pub fn head_flushed(&mut self, host: &mut Host<Work>, journal: &mut Journal) {
        let checkpoint = self.current.take().expect("its head was written");
        journal.begins_at(checkpoint.beginning.number);
        self.number = checkpoint.number + 1;
        self.completed += 1;
        host.succeeded();
        self.is_fresh = false;
        host.set_ready();
    }

    /// Its head may be on the device all the same. So the next one, in the same slot, has another number: its pieces
    /// must not be taken for those of this one.
    fn give_up(&mut self, host: &mut Host<Work>) {
        self.number += 2;
        self.current = None;
        self.is_wanted = true;
        host.failed();
    }
}
