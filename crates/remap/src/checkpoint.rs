//! Checkpoints: the whole map, written in pieces while it changes.
//!
//! Each piece is the map as it is when the piece is made. What changes from the beginning on is in the journal, and is
//! read over it. A piece may lead to pages whose records are not durable yet; so the head, which makes the checkpoint
//! valid, is written only when all records are durable that were made before the last piece. Two slots are used in
//! turn, so the checkpoint before is good until then.

use crate::disk::{self, ENTRY_BYTES, HEAD_BYTES, Head, Kind, Stamp};
use crate::hard::{Hard, Work};
use units::{HostOp, SECTOR_BYTES};

/// Pieces written at a time.
const PIECES_AT_A_TIME: u32 = 4;
/// A checkpoint costs at most one hundredth of what the host writes.
const SPACING: u64 = 100;

/// What has to be done before the host may change anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Startup {
    /// A checkpoint, as soon as the host wants to change something: numbers of journal superpages begin anew there, so
    /// that no old one is taken for a new one.
    Lazy,
    /// A superblock and a checkpoint.
    Format,
    /// The checkpoint is wanted.
    Running,
    /// Nothing.
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Pieces,
    /// Waits until so many entries are durable, by a cycle of this number or a later one.
    Settle {
        target: u64,
        cycle: u64,
    },
    /// The head is being written or flushed.
    Head,
}

#[derive(Debug)]
pub(crate) struct Checkpoint {
    number: u64,
    /// First journal superpage to be read over it.
    from: u64,
    /// Records that are not, because they were durable before it was begun.
    skip: u64,
    /// The journal as it was then.
    stamp: Stamp,
    /// The next piece.
    next: u32,
    /// Writes under way.
    under_way: u32,
    failed: bool,
    pub stage: Stage,
}

impl Hard {
    pub(crate) fn pump_checkpoint(&mut self) -> bool {
        let Some(checkpoint) = &mut self.checkpoint else {
            return self.checkpoint_is_due() && self.begin_checkpoint();
        };
        match checkpoint.stage {
            Stage::Pieces if checkpoint.failed => {
                let over = checkpoint.under_way == 0;
                if over {
                    self.give_checkpoint_up();
                }
                over
            }
            Stage::Pieces if checkpoint.next < self.layout.pieces => {
                checkpoint.under_way < PIECES_AT_A_TIME && self.write_piece()
            }
            Stage::Pieces if checkpoint.under_way == 0 => {
                self.issue_host();
                self.issue_copies();
                let stage = Stage::Settle { target: self.issued(), cycle: self.journal.cycle + 1 };
                self.checkpoint.as_mut().expect("it is under way").stage = stage;
                true
            }
            Stage::Settle { target, cycle } if self.durable >= target && self.journal.finished >= cycle => {
                checkpoint.stage = Stage::Head;
                let (number, more, skip, stamp) =
                    (checkpoint.number, checkpoint.from, checkpoint.skip, checkpoint.stamp);
                self.write_head(number, more, skip, stamp);
                true
            }
            _ => false,
        }
    }

    fn checkpoint_is_due(&self) -> bool {
        let used = self.journal.number - self.journal.from;
        let cost = u64::from(self.layout.checkpoint_superpages()) * u64::from(self.layout.slots());
        match self.startup {
            Startup::Lazy => false,
            Startup::Format | Startup::Running => true,
            Startup::Ready => {
                self.journal.wants_checkpoint
                    || used >= u64::from(self.layout.ring) * 3 / 4
                    || (used > 0 && !self.has_records(self.locks.len()))
                    || self.counts.host_pages - self.checkpoint_pages >= SPACING * cost
            }
        }
    }

    fn begin_checkpoint(&mut self) -> bool {
        self.journal.wants_checkpoint = false;
        self.checkpoint_pages = self.counts.host_pages;
        let (number, from, skip) = (self.checkpoint_number, self.journal.number, self.journal.recorded());
        let stamp = self.journal.durable_stamp();
        self.checkpoint =
            Some(Checkpoint { number, from, skip, stamp, next: 0, under_way: 0, failed: false, stage: Stage::Pieces });
        if self.startup == Startup::Format {
            let buffer = self.buffers.take();
            let layout = self.layout;
            let bytes = self.buffers.get_mut(buffer);
            if !bytes.is_empty() {
                disk::put_layout(bytes, &layout);
                let head = Head { id: self.id, number: 0, more: 0, count: 0 };
                // Whoever opens it does not know yet how long a superpage is.
                disk::seal(&mut bytes[..SECTOR_BYTES as usize], Kind::Superblock, head);
            }
            self.write_metadata(0, Work::Piece { buffer });
        }
        true
    }

    fn write_metadata(&mut self, superpage: u64, work: Work) {
        if let (Work::Piece { .. }, Some(checkpoint)) = (work, &mut self.checkpoint) {
            checkpoint.under_way += 1;
        }
        self.send(work, HostOp::Write, self.layout.sector_of(superpage), self.layout.superpage_sectors);
    }

    fn write_piece(&mut self) -> bool {
        let checkpoint = self.checkpoint.as_mut().expect("it is under way");
        let (number, piece) = (checkpoint.number, checkpoint.next);
        checkpoint.next += 1;
        let buffer = self.buffers.take();
        let bytes = self.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            let entries = self.layout.entries_a_piece() as usize;
            let first = (piece as usize * entries).min(self.space.map.len());
            let end = (first + entries).min(self.space.map.len());
            let map = &self.space.map[first..end];
            for (index, place) in map.iter().enumerate() {
                disk::put_u32(bytes, HEAD_BYTES + index * ENTRY_BYTES, *place);
            }
            let head = Head { id: self.id, number, more: u64::from(piece), count: map.len() as u32 };
            disk::seal(bytes, Kind::Piece, head);
        }
        let superpage = self.layout.checkpoint_at(number) + 1 + u64::from(piece);
        self.write_metadata(superpage, Work::Piece { buffer });
        true
    }

    fn write_head(&mut self, number: u64, more: u64, skip: u64, stamp: Stamp) {
        let buffer = self.buffers.take();
        let bytes = self.buffers.get_mut(buffer);
        if !bytes.is_empty() {
            disk::put_u64(bytes, HEAD_BYTES, skip);
            stamp.put(bytes);
            disk::seal(bytes, Kind::Head, Head { id: self.id, number, more, count: self.layout.pieces });
        }
        self.write_metadata(self.layout.checkpoint_at(number), Work::Head { buffer });
    }

    pub(crate) fn piece_completed(&mut self, failed: bool) {
        self.counts.checkpoint_superpages += u64::from(!failed);
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.under_way -= 1;
            checkpoint.failed |= failed;
        }
    }

    pub(crate) fn head_completed(&mut self, failed: bool) {
        self.counts.checkpoint_superpages += u64::from(!failed);
        if self.counts.broken {
            return;
        }
        if failed {
            self.give_checkpoint_up();
        } else {
            self.send(Work::HeadFlush, HostOp::Flush, 0, 0);
        }
    }

    pub(crate) fn head_flushed(&mut self, failed: bool) {
        if failed {
            // As with any flush: data of the host may be among what it lost.
            self.break_down();
            return;
        }
        let Some(checkpoint) = self.checkpoint.take() else { return };
        self.journal.from = checkpoint.from;
        self.checkpoint_number = checkpoint.number + 1;
        self.counts.checkpoints += 1;
        self.failures = 0;
        self.startup = Startup::Ready;
    }

    /// Its head may be on the device all the same. So the next one, in the same slot, has another number: its pieces
    /// must not be taken for those of this one.
    fn give_checkpoint_up(&mut self) {
        self.checkpoint_number += 2;
        self.checkpoint = None;
        self.journal.wants_checkpoint = true;
        self.failure();
    }
}
