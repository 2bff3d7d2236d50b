//! Metadata as bytes: little endian, one checksum over the whole superpage.
//!
//! ```text
//! 0 magic 8 | 8 crc32 4 | 12 version 4 | 16 id 8 | 24 number 8 | 32 more 8 | 40 count 4 | 44 zeros | 64 body
//! ```
//! Each driver has kinds of its own, and says what it puts into the fields and the body.

use crate::{OpenError, ReadSectors, Shape};
use std::io;
use units::SECTOR_BYTES;

/// Bytes before the body.
pub(crate) const HEAD_BYTES: usize = 64;
/// The form of metadata: their beginning, and the version of the format of their drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub magic: &'static [u8; 8],
    pub version: u32,
}

/// The fields before the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub id: u64,
    pub number: u64,
    pub more: u64,
    pub count: u32,
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..8]);
    hasher.update(&[0; 4]);
    hasher.update(&bytes[12..]);
    hasher.finalize()
}

/// Writes the head over a superpage whose body is there.
pub(crate) fn seal(bytes: &mut [u8], kind: Kind, head: Head) {
    put_head(bytes, kind, head);
    put_checksum(bytes);
}

pub(crate) fn put_checksum(bytes: &mut [u8]) {
    let checksum = checksum(bytes);
    put_u32(bytes, 8, checksum);
}

pub(crate) fn put_head(bytes: &mut [u8], kind: Kind, head: Head) {
    bytes[..8].copy_from_slice(kind.magic);
    put_u32(bytes, 12, kind.version);
    put_u64(bytes, 16, head.id);
    put_u64(bytes, 24, head.number);
    put_u64(bytes, 32, head.more);
    put_u32(bytes, 40, head.count);
    bytes[44..HEAD_BYTES].fill(0);
}

/// Reads the head; `None` if this is not such a superpage or is damaged.
pub(crate) fn unseal(bytes: &[u8], kind: Kind) -> Option<Head> {
    let known = &bytes[..8] == kind.magic && u32_at(bytes, 12) == kind.version && u32_at(bytes, 8) == checksum(bytes);
    known.then(|| head(bytes))
}

/// Whether these bytes begin as that kind does, damaged or not.
pub(crate) fn looks_like(bytes: &[u8], kind: Kind) -> bool {
    &bytes[..8] == kind.magic
}

fn head(bytes: &[u8]) -> Head {
    Head { id: u64_at(bytes, 16), number: u64_at(bytes, 24), more: u64_at(bytes, 32), count: u32_at(bytes, 40) }
}

/// The field `count` of a head that was not looked at yet.
pub(crate) fn count(bytes: &[u8]) -> u32 {
    u32_at(bytes, 40)
}

/// The identity that metadata of any kind and version carry, if they are sound.
pub(crate) fn any_id(bytes: &[u8]) -> Option<u64> {
    (u32_at(bytes, 8) == checksum(bytes)).then(|| head(bytes).id)
}

/// Writes a superblock into a sector of zeros: the sectors of its device, and fields of 4 bytes.
pub(crate) fn put_superblock(sector: &mut [u8], kind: Kind, id: u64, device_sectors: u64, fields: &[u32]) {
    put_u64(sector, HEAD_BYTES, device_sectors);
    for (field, value) in fields.iter().enumerate() {
        put_u32(sector, HEAD_BYTES + 8 + 4 * field, *value);
    }
    seal(sector, kind, Head { id, number: 0, more: 0, count: 0 });
}

/// The contents of a superblock: its device and its layout.
pub(crate) fn superblock<const FIELDS: usize>(sector: &[u8]) -> (u64, [u32; FIELDS]) {
    (u64_at(sector, HEAD_BYTES), std::array::from_fn(|field| u32_at(sector, HEAD_BYTES + 8 + 4 * field)))
}

/// One more than the highest identity that `id_of` finds in so many bytes from any of these sectors on: an identity for
/// a new driver.
pub(crate) fn fresh_id(
    sectors: impl Iterator<Item = u64>,
    bytes: usize,
    id_of: impl Fn(&[u8]) -> Option<u64>,
    read: &mut ReadSectors,
) -> io::Result<u64> {
    let (mut bytes, mut highest) = (vec![0; bytes], 0);
    for sector in sectors {
        read(sector, &mut bytes)?;
        highest = highest.max(id_of(&bytes).unwrap_or(0));
    }
    Ok(highest.wrapping_add(1))
}

/// The identity and the layout that the superblock of a device says, where a driver of this kind formatted it;
/// `layout` reads it from the sector, if it can be.
pub(crate) fn open<L: Copy + Into<Shape>>(
    kind: Kind,
    cell_bytes: u32,
    device_sectors: u64,
    read: &mut ReadSectors,
    layout: fn(&[u8]) -> Option<L>,
) -> Result<(u64, L), OpenError> {
    if cell_bytes == 0 {
        return Err(OpenError::NoContents);
    }
    let mut sector = [0; SECTOR_BYTES as usize];
    read(0, &mut sector)?;
    let Some(head) = unseal(&sector, kind) else {
        return Err(if looks_like(&sector, kind) { OpenError::Superblock } else { OpenError::Foreign });
    };
    let layout = layout(&sector).ok_or(OpenError::Superblock)?;
    let formatted = layout.into().device_sectors;
    if formatted > device_sectors {
        return Err(OpenError::Shrunk { sectors: device_sectors, formatted });
    }
    Ok((head.id, layout))
}
