//! The disk as its driver sees it: features and configuration space.

use serve::Device;
use vhost::vhost_user::message::VhostUserVirtioFeatures;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_MQ, VIRTIO_BLK_F_RO,
    VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_WRITE_ZEROES,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

/// Bytes of a sector, the unit of all places and sizes of virtio.
pub(crate) const SECTOR: u32 = 512;
/// Rings that a driver may use.
pub(crate) const RINGS: u16 = 16;
/// Most requests in a ring.
pub(crate) const RING_SIZE: usize = 1024;
/// Most parts of a request: with its head and its status they fit into a ring of 128.
const MOST_PARTS: u32 = 126;
/// Most bytes of a part.
const MOST_PART: u32 = 256 << 10;
/// Most bytes that a request moves.
pub(crate) const MOST_BYTES: usize = (MOST_PARTS * MOST_PART) as usize;
/// Most sectors of a discard, or of zeros without data: 1 GiB.
pub(crate) const MOST_CLEARED: u32 = (1 << 30) / SECTOR;

/// The features that a driver may ask for.
pub(crate) fn features(device: &Device) -> u64 {
    let always = [
        VIRTIO_F_VERSION_1,
        VIRTIO_RING_F_EVENT_IDX,
        VIRTIO_RING_F_INDIRECT_DESC,
        VIRTIO_BLK_F_BLK_SIZE,
        VIRTIO_BLK_F_FLUSH,
        VIRTIO_BLK_F_MQ,
        VIRTIO_BLK_F_SEG_MAX,
        VIRTIO_BLK_F_SIZE_MAX,
        VIRTIO_BLK_F_TOPOLOGY,
    ];
    let changing: &[u32] =
        if device.read_only { &[VIRTIO_BLK_F_RO] } else { &[VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES] };
    let bits = always.iter().chain(changing).fold(0, |bits, bit| bits | 1 << bit);
    bits | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
}

/// The configuration space, `virtio_blk_config` of the specification: numbers of little endian, one behind the other.
pub(crate) fn configuration(device: &Device) -> Vec<u8> {
    let preferred = device.preferred_bytes / SECTOR;
    let (exponent, sectors) = (preferred.ilog2() as u8, preferred.min(u16::MAX.into()) as u16);
    [
        &(device.bytes / u64::from(SECTOR)).to_le_bytes()[..],
        &MOST_PART.to_le_bytes(),
        &MOST_PARTS.to_le_bytes(),
        &[0; 4], // cylinders, heads and sectors of old disks
        &SECTOR.to_le_bytes(),
        &[exponent, 0],
        &sectors.to_le_bytes(),
        &preferred.to_le_bytes(),
        &[1, 0], // the cache may hold writes back, until a flush
        &RINGS.to_le_bytes(),
        &MOST_CLEARED.to_le_bytes(),
        &1_u32.to_le_bytes(), // ranges of a discard
        &(device.trim_bytes / SECTOR).max(1).to_le_bytes(),
        &MOST_CLEARED.to_le_bytes(),
        &1_u32.to_le_bytes(), // ranges of a write of zeros
        &[1, 0, 0, 0],        // which may leave holes
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn device() -> Device {
        Device {
            bytes: 64 << 20,
            preferred_bytes: 16 << 10,
            trim_bytes: 4096,
            read_only: false,
            name: "toy".to_owned(),
        }
    }

    #[test]
    fn the_configuration_stands_where_the_specification_says() {
        let space = configuration(&device());
        let number = |at: usize| u32::from_le_bytes(space[at..at + 4].try_into().unwrap());
        assert_eq!((space.len(), number(0), number(4)), (60, (64 << 20) / 512, 0));
        assert_eq!((number(12), number(20), space[24], number(28)), (126, 512, 5, 32), "segments, blocks, topology");
        assert_eq!((space[26], space[32], space[34]), (32, 1, 16), "least block, cache, queues");
        assert_eq!((number(40), number(44), number(52), space[56]), (1, 8, 1, 1), "discard and zeros");
    }

    #[test]
    fn a_disk_that_is_only_read_offers_no_discard() {
        let offered = |device: &Device, bit: u32| features(device) >> bit & 1 == 1;
        let (plain, fixed) = (device(), Device { read_only: true, ..device() });
        assert!(offered(&plain, VIRTIO_BLK_F_DISCARD) && !offered(&plain, VIRTIO_BLK_F_RO));
        assert!(offered(&fixed, VIRTIO_BLK_F_RO) && !offered(&fixed, VIRTIO_BLK_F_WRITE_ZEROES));
    }
}
