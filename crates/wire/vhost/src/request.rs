//! Requests as they stand in the memory of the virtual machine.

use crate::device::{MOST_BYTES, MOST_CLEARED, SECTOR};
use serve::{Device, Order, OrderKind};
use std::io::{Read, Write};
use std::sync::Arc;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_ID_BYTES, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH,
    VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES,
    VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP,
};
use virtio_queue::DescriptorChain;
use vm_memory::GuestMemoryMmap;

/// The parts of a request. The memory stays mapped as long as it does.
pub(crate) type Chain = DescriptorChain<Arc<GuestMemoryMmap>>;

/// The request of a driver, understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Work for the target.
    Order(Order),
    /// The name of the disk.
    Name,
    /// No byte at all.
    Nothing,
}

/// Status of a request that failed.
pub(crate) const FAILED: u8 = VIRTIO_BLK_S_IOERR as u8;
const UNSUPPORTED: u8 = VIRTIO_BLK_S_UNSUPP as u8;

/// Understands a request; the bytes of a write replace `payload`. `write_through`: the driver knows no flush, so writes
/// last when they are answered.
/// Errors: the status that the driver is told.
pub(crate) fn understand(
    chain: &Chain,
    device: &Device,
    write_through: bool,
    payload: &mut Vec<u8>,
) -> Result<Wanted, u8> {
    let mut sent = chain.clone().reader(chain.memory()).map_err(|_| FAILED)?;
    let head: [u8; 16] = array(&mut sent)?;
    let (kind, sector) = (number(&head[..4]), u64::from_le_bytes(head[8..].try_into().unwrap_or_default()));
    let order = |kind, sector: u64, length: usize| {
        let offset = sector.checked_mul(SECTOR.into()).ok_or(FAILED)?;
        let is_inside = offset.checked_add(length as u64).is_some_and(|end| end <= device.bytes);
        if !is_inside || !length.is_multiple_of(SECTOR as usize) || device.read_only && kind != OrderKind::Read {
            return Err(FAILED);
        }
        let order = Order { kind, offset, length: length as u32, fua: write_through && kind != OrderKind::Read };
        Ok(if length == 0 { Wanted::Nothing } else { Wanted::Order(order) })
    };
    match kind {
        VIRTIO_BLK_T_IN => {
            let room = chain.clone().writer(chain.memory()).map_err(|_| FAILED)?.available_bytes();
            let length = room.checked_sub(1).filter(|length| *length <= MOST_BYTES).ok_or(FAILED)?;
            order(OrderKind::Read, sector, length)
        }
        VIRTIO_BLK_T_OUT => {
            let length = Some(sent.available_bytes()).filter(|length| *length <= MOST_BYTES).ok_or(FAILED)?;
            let wanted = order(OrderKind::Write, sector, length)?;
            payload.resize(length, 0);
            sent.read_exact(payload).map_err(|_| FAILED)?;
            Ok(wanted)
        }
        VIRTIO_BLK_T_FLUSH => Ok(Wanted::Order(Order { kind: OrderKind::Flush, offset: 0, length: 0, fua: false })),
        VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
            let range: [u8; 16] = array(&mut sent)?;
            let (sectors, flags) = (number(&range[8..12]), number(&range[12..]));
            let sector = u64::from_le_bytes(range[..8].try_into().unwrap_or_default());
            let clears = kind == VIRTIO_BLK_T_WRITE_ZEROES;
            let known = if clears { VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP } else { 0 };
            if flags & !known != 0 {
                return Err(UNSUPPORTED);
            }
            if sectors > MOST_CLEARED || sent.available_bytes() > 0 {
                return Err(FAILED);
            }
            let kind = if clears { OrderKind::Zeroes { keep: flags == 0 } } else { OrderKind::Trim };
            order(kind, sector, sectors as usize * SECTOR as usize)
        }
        VIRTIO_BLK_T_GET_ID => Ok(Wanted::Name),
        _ => Err(UNSUPPORTED),
    }
}

/// Bytes of the name of a disk, with zeros behind it.
pub(crate) fn name(device: &Device) -> Vec<u8> {
    let mut name = device.name.clone().into_bytes();
    name.resize(VIRTIO_BLK_ID_BYTES as usize, 0);
    name
}

/// Writes an answer: bytes, and the status behind all room for bytes. Number of bytes that were written.
pub(crate) fn finish(chain: &Chain, status: u8, bytes: &[u8]) -> u32 {
    let Ok(mut room) = chain.clone().writer(chain.memory()) else { return 0 };
    let Some(before) = room.available_bytes().checked_sub(1) else { return 0 };
    let Ok(mut last) = room.split_at(before) else { return 0 };
    // A driver that took its memory away sees no answer there.
    let written = room.write(&bytes[..bytes.len().min(before)]).unwrap_or(0);
    let told = last.write(&[status]).unwrap_or(0);
    (written + told) as u32
}

fn array<const N: usize>(from: &mut impl Read) -> Result<[u8; N], u8> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(|_| FAILED)?;
    Ok(bytes)
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().unwrap_or_default())
}
