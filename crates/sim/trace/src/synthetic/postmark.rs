//! `postmark`: a mail server's small files.
//!
//! ```text
//! | metadata (inodes, directories) | file slots of 12 KiB ... |
//! ```
//!
//! Faithful to: J. Katcher, "`PostMark`: a new file system benchmark", 1997: a pool of files of 0.5
//! to 10 KiB, then transactions that create or delete, read or append, in equal parts. Simplified:
//! a file system of 4 KiB blocks with one slot a file and no journal; each change of a file
//! is followed by one metadata write; of these four in five hit the block the last one hit. Our
//! reading of "4:1 metadata locality". Deleted files are trimmed only as far as `trim_share` asks.
//! Protects: only files that exist are read, appended to or deleted; appends end at the slot's end.

use engine::random::Stream;
use units::HostOp;

use super::pace::{Access, ArrivalProcess, Paced, Source};
use super::parameters::WorkloadParameters;
use super::place::Region;
use crate::Workload;

/// Sectors of a file system block.
const BLOCK_SECTORS: u32 = 8;
/// Blocks of a slot: the longest file, 10 KiB, takes three.
const SLOT_BLOCKS: u32 = 3;
/// File sizes in sectors, 0.5 to 10 KiB.
const FILE_SECTORS_MAX: u32 = 20;
/// An append adds up to this many sectors: a mail of 4 KiB.
const APPEND_SECTORS_MAX: u32 = 8;
/// Files in the pool when transactions start, as in the larger runs of the paper.
const POOL_FILES: u64 = 20_000;
/// Slots on a large drive: files may come and go without the pool filling up.
const SLOTS_MAX: u64 = 4 * POOL_FILES;
/// Files described by one metadata block.
const INODES_PER_BLOCK: u64 = 16;
/// Part of the footprint that is metadata, on a small drive.
const METADATA_PART: u64 = 64;
/// Probability that a metadata write hits the same block as the one before.
const METADATA_LOCALITY: f64 = 0.8;
/// Smallest footprint: one metadata block and two slots in the 63/64 that remain.
pub(super) const MINIMUM_SECTORS: u64 = METADATA_PART * BLOCK_SECTORS as u64;

struct Postmark {
    random: Stream,
    metadata: Region,
    metadata_block: u64,
    metadata_due: bool,
    slots: Region,
    /// Files by slot, in sectors; 0 when the slot is free.
    file_sectors: Vec<u32>,
    live: Vec<u32>,
    free: Vec<u32>,
    /// Files still to be created before transactions start.
    files_to_fill: u64,
    trim_share: f64,
}

impl Postmark {
    fn new(parameters: &WorkloadParameters) -> Self {
        let footprint = Region::footprint(parameters);
        let metadata_blocks =
            (footprint.sectors / METADATA_PART / u64::from(BLOCK_SECTORS)).min(SLOTS_MAX / INODES_PER_BLOCK);
        let (metadata, slots) = footprint.split(metadata_blocks * u64::from(BLOCK_SECTORS));
        let slot_count = (slots.sectors / u64::from(SLOT_BLOCKS * BLOCK_SECTORS)).min(SLOTS_MAX) as u32;
        assert!(slot_count >= 2, "the footprint was checked against the minimum");
        Self {
            random: Stream::new(parameters.seed, "workload.postmark"),
            metadata,
            metadata_block: metadata.first_sector,
            metadata_due: false,
            slots,
            file_sectors: vec![0; slot_count as usize],
            live: Vec::new(),
            free: (0..slot_count).rev().collect(),
            // Two requests fill one file: a short run keeps three quarters for transactions.
            files_to_fill: u64::from(slot_count / 2).min(POOL_FILES).min(parameters.access_count() / 8).max(1),
            trim_share: parameters.trim_share.unwrap_or(0.0),
        }
    }

    /// Blocks `from..to` of a slot as an access.
    fn blocks(&self, slot: u32, from: u32, to: u32, op: HostOp) -> Access {
        let first_block = u64::from(slot) * u64::from(SLOT_BLOCKS) + u64::from(from);
        Access {
            first_sector: self.slots.first_sector + first_block * u64::from(BLOCK_SECTORS),
            sectors: (to - from) * BLOCK_SECTORS,
            op,
        }
    }

    fn metadata_write(&mut self) -> Access {
        if !self.random.chance(METADATA_LOCALITY) {
            self.metadata_block = self.metadata.random(&mut self.random, BLOCK_SECTORS, BLOCK_SECTORS);
        }
        Access { first_sector: self.metadata_block, sectors: BLOCK_SECTORS, op: HostOp::Write }
    }

    /// Files take the slot freed last, so that the pool stays dense.
    fn create(&mut self) -> Access {
        let slot = self.free.pop().expect("a create is chosen only while a slot is free");
        let sectors = 1 + self.random.below(u64::from(FILE_SECTORS_MAX)) as u32;
        self.file_sectors[slot as usize] = sectors;
        self.live.push(slot);
        self.metadata_due = true;
        self.blocks(slot, 0, sectors.div_ceil(BLOCK_SECTORS), HostOp::Write)
    }

    /// The trim of a deleted file, or the metadata write alone.
    fn delete(&mut self) -> Access {
        let index = self.random.below(self.live.len() as u64) as usize;
        let slot = self.live.swap_remove(index);
        let sectors = std::mem::take(&mut self.file_sectors[slot as usize]);
        assert!(sectors > 0, "slot {slot} holds no file");
        self.free.push(slot);
        if !self.random.chance(self.trim_share) {
            return self.metadata_write();
        }
        self.metadata_due = true;
        self.blocks(slot, 0, sectors.div_ceil(BLOCK_SECTORS), HostOp::Trim)
    }

    fn read(&mut self) -> Access {
        let slot = self.any_file();
        self.blocks(slot, 0, self.file_sectors[slot as usize].div_ceil(BLOCK_SECTORS), HostOp::Read)
    }

    /// Writes the blocks from the one that held the end of the file to the one that holds it now.
    fn append(&mut self) -> Access {
        let slot = self.any_file();
        let old = self.file_sectors[slot as usize];
        let added = 1 + self.random.below(u64::from(APPEND_SECTORS_MAX)) as u32;
        let new = (old + added).min(SLOT_BLOCKS * BLOCK_SECTORS);
        self.file_sectors[slot as usize] = new;
        self.metadata_due = true;
        // A full file has its last block written again.
        let from = (old / BLOCK_SECTORS).min(SLOT_BLOCKS - 1);
        self.blocks(slot, from, new.div_ceil(BLOCK_SECTORS), HostOp::Write)
    }

    fn any_file(&mut self) -> u32 {
        self.live[self.random.below(self.live.len() as u64) as usize]
    }

    /// Creation and deletion alternate at random around the pool's size.
    fn create_or_delete(&mut self) -> Access {
        let create = self.random.chance(0.5);
        if self.free.is_empty() || (!create && self.live.len() > 1) { self.delete() } else { self.create() }
    }
}

impl Source for Postmark {
    fn next_access(&mut self) -> Access {
        if std::mem::take(&mut self.metadata_due) {
            return self.metadata_write();
        }
        if self.files_to_fill > 0 {
            self.files_to_fill -= 1;
            return self.create();
        }
        match self.random.below(4) {
            0 | 1 => self.create_or_delete(),
            2 => self.read(),
            _ => self.append(),
        }
    }
}

pub(super) fn build(name: &'static str, parameters: &WorkloadParameters) -> Box<dyn Workload + Send> {
    Box::new(Paced::new(name, parameters, ArrivalProcess::UNKNOWN, Postmark::new(parameters)))
}
