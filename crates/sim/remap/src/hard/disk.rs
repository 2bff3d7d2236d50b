//! Metadata of a remapping driver as bytes.
//!
//! | kind | number | more | count | body |
//! |---|---|---|---|---|
//! | superblock | 0 | 0 | 0 | the layout |
//! | head of a checkpoint | its number | first journal superpage to read | pieces | records before that, 8 bytes |
//! | piece of a checkpoint | its number | which one | entries | virtual pages, 4 bytes each |
//! | journal | its number | records before it | records | first page, virtual page, pages, seal: 4 bytes each |
//!
//! A head of a checkpoint says the [`Stamp`] of the journal behind the number of records, 12 bytes.
//!
//! *Seals of the journal.* Each sector of a journal superpage has a stamp and a checksum of its own, in the
//! spare words of its last four records. The checksum begins with the identity of the drive, the superpage of the
//! device and the sector in it, so that what was written for another place is damage. Version 2 of the journal left the
//! superpage out; it is read, and written anew as version 3 with the first checkpoint after the drive was opened. A
//! power cut leaves every sector whole, of the write that it cut or as it was before. So a sector without a sound seal,
//! in a place that was written before, is damage; and so is a superpage of sectors of one write that does not agree
//! with its checksum.

use super::layout::Layout;
use super::options::Start;
pub(crate) use crate::disk::*;

/// Bytes of a journal record.
pub(crate) const RECORD_BYTES: usize = 16;
/// Bytes of an entry of the map.
pub(crate) const ENTRY_BYTES: usize = 4;
/// No virtual page.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Where the last four records of a sector have their spare words: what is known of places, the version,
/// twice, and the checksum.
const SPARE: [usize; 4] = [460, 476, 492, 508];
const SECTOR: usize = units::SECTOR_BYTES as usize;

pub(crate) const SUPERBLOCK: Kind = Kind { magic: b"HARDsupr", version: 2 };
/// The head of a checkpoint.
pub(crate) const CHECKPOINT: Kind = Kind { magic: b"HARDhead", version: 2 };
/// A piece of a checkpoint.
pub(crate) const PIECE: Kind = Kind { magic: b"HARDmap.", version: 2 };
const JOURNAL: Kind = Kind { magic: b"HARDjrnl", version: 3 };
/// The version before, whose seals do not say where they belong.
const JOURNAL_BEFORE: Kind = Kind { version: 2, ..JOURNAL };

/// A change of the map, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub page: u32,
    /// Where it is now; [`NOWHERE`] if nowhere.
    pub place: u32,
    /// Pages; more than one only where they are nowhere.
    pub pages: u32,
}

/// The seal in every sector of a journal superpage about its write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Number of the write among all of the journal.
    pub version: u64,
    /// Which places were written before: [`Stamp::OWN`] and so on.
    pub known: u32,
}

impl Stamp {
    /// The place of this write itself.
    pub const OWN: u32 = 1;
    /// The two places of superpages that are not full.
    pub const TAILS: [u32; 2] = [2, 4];
    /// The place in the ring of the next full one.
    pub const RING: u32 = 8;
    /// Bytes in the head of a checkpoint.
    pub const AT: usize = HEAD_BYTES + 8;

    pub fn put(self, bytes: &mut [u8]) {
        put_u64(bytes, Self::AT, self.version);
        put_u32(bytes, Self::AT + 8, self.known);
    }

    pub fn get(bytes: &[u8]) -> Self {
        Self { version: u64_at(bytes, Self::AT), known: u32_at(bytes, Self::AT + 8) }
    }
}

/// The seals of a journal superpage that is not sound as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seals {
    /// The newest stamp; the first version is 1.
    pub newest: Stamp,
    /// Sectors have no sound seal.
    pub unsealed: bool,
    /// All sectors are of one write.
    pub same: bool,
}

/// Head and stamp of a journal superpage of this identity and place on the device, or what its sectors say. The
/// checksum of all is not enough: checksums of the same kind in the sectors make it the same for every mixture of sound
/// ones.
pub(crate) fn unseal_journal(bytes: &[u8], id: u64, superpage: u64) -> Result<(Head, Stamp), Seals> {
    let seals = seals(bytes, id, superpage);
    let head = unseal(bytes, JOURNAL).or_else(|| unseal(bytes, JOURNAL_BEFORE));
    let head = head.filter(|head| seals.same && head.id == id);
    head.map(|head| (head, seals.newest)).ok_or(seals)
}

/// Writes head and seals over a journal superpage whose records are there, for its place on the device.
pub(crate) fn seal_journal(bytes: &mut [u8], head: Head, stamp: Stamp, superpage: u64) {
    put_head(bytes, JOURNAL, head);
    for (number, sector) in bytes.chunks_exact_mut(SECTOR).enumerate() {
        let fields = [stamp.known, stamp.version as u32, (stamp.version >> 32) as u32];
        SPARE.iter().zip(fields).for_each(|(at, field)| put_u32(sector, *at, field));
        let sum = sector_checksum(sector, number, head.id, Some(superpage));
        put_u32(sector, SPARE[3], sum);
    }
    put_checksum(bytes);
}

/// A sector's checksum, without the one of the whole superpage in the first; `superpage`: not in the version before.
fn sector_checksum(sector: &[u8], number: usize, id: u64, superpage: Option<u64>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id.to_le_bytes());
    if let Some(superpage) = superpage {
        hasher.update(&superpage.to_le_bytes());
    }
    hasher.update(&(number as u32).to_le_bytes());
    let from = if number == 0 { 12 } else { 0 };
    hasher.update(&sector[..from.min(8)]);
    hasher.update(&sector[from..SPARE[3]]);
    hasher.finalize()
}

/// The stamp of a sector.
fn stamp(sector: &[u8]) -> Stamp {
    let [known, low, high] = [0, 1, 2].map(|field| u32_at(sector, SPARE[field]));
    Stamp { version: u64::from(high) << 32 | u64::from(low), known }
}

/// What the sectors of a journal superpage of this identity and place say, one by one.
fn seals(bytes: &[u8], id: u64, superpage: u64) -> Seals {
    let mut seals = Seals { same: true, ..Seals::default() };
    for (number, sector) in bytes.chunks_exact(SECTOR).enumerate() {
        let sum = u32_at(sector, SPARE[3]);
        if [Some(superpage), None].into_iter().all(|place| sum != sector_checksum(sector, number, id, place)) {
            (seals.unsealed, seals.same) = (true, false);
            continue;
        }
        let stamp = stamp(sector);
        seals.same &= number == 0 || stamp == seals.newest;
        if stamp.version > seals.newest.version {
            seals.newest = stamp;
        }
    }
    seals
}

/// Writes the superblock into a sector.
pub(crate) fn put_layout(sector: &mut [u8], layout: &Layout, id: u64) {
    let &Layout { page_sectors, superpage_sectors, device_sectors, superpages, pages, pieces, ring, start } = layout;
    let is_identity = u32::from(start == Start::Identity);
    let fields = [page_sectors, superpage_sectors, superpages, pages, pieces, ring, is_identity];
    put_superblock(sector, SUPERBLOCK, id, device_sectors, &fields);
}

/// The contents of a sound superblock; `None` if that cannot be.
pub(crate) fn layout(sector: &[u8]) -> Option<Layout> {
    let (device_sectors, fields) = superblock(sector);
    let [page_sectors, superpage_sectors, superpages, pages, pieces, ring, is_identity] = fields;
    let start = if is_identity == 0 { Start::Empty } else { Start::Identity };
    let layout = Layout { page_sectors, superpage_sectors, device_sectors, superpages, pages, pieces, ring, start };
    Some(layout).filter(Layout::is_sound)
}

pub(crate) fn put_entry(bytes: &mut [u8], index: usize, entry: Entry) {
    let at = HEAD_BYTES + index * RECORD_BYTES;
    let fields = [entry.page, entry.place, entry.pages];
    fields.iter().enumerate().for_each(|(field, value)| put_u32(bytes, at + 4 * field, *value));
}

pub(crate) fn entry(bytes: &[u8], index: usize) -> Entry {
    let at = HEAD_BYTES + index * RECORD_BYTES;
    Entry { page: u32_at(bytes, at), place: u32_at(bytes, at + 4), pages: u32_at(bytes, at + 8) }
}
