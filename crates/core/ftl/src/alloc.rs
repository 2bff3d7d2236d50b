//! In which order pages go to channels, dies and planes.

use layer::Choices;
use units::Geometry;

/// The units over which consecutive pages are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Channel,
    /// The dies behind a channel.
    Die,
    /// The planes of a die.
    Plane,
}

use Axis::{Channel, Die, Plane};

/// A striping order: the first one varies fastest.
pub type Order = [Axis; 3];

/// The striping orders by name: a letter for each of channel, die and plane.
pub const ORDERS: Choices<Order> = Choices {
    key: "ftl.allocation.order",
    table: &[
        (
            "cdp",
            "the next page on the next channel, then on the next die of each, then on the next plane",
            [Channel, Die, Plane],
        ),
        (
            "cpd",
            "the next page on the next channel, then on the next plane of a die, then on the next die",
            [Channel, Plane, Die],
        ),
        (
            "dcp",
            "the next page on the next die of a channel, then on the next channel, then on the next plane",
            [Die, Channel, Plane],
        ),
        (
            "dpc",
            "the next page on the next die of a channel, then on the next plane, then on the next channel",
            [Die, Plane, Channel],
        ),
        (
            "pcd",
            "the next page on the next plane of a die, then on the next channel, then on the next die",
            [Plane, Channel, Die],
        ),
        (
            "pdc",
            "the next page on the next plane of a die, then on the next die, then on the next channel",
            [Plane, Die, Channel],
        ),
    ],
};

/// Where a page goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// To the next plane in order that has room.
    Dynamic,
    /// To the plane its logical page number names.
    Static,
}

/// Where a page goes, by name.
pub const PLACEMENTS: Choices<Placement> = Choices {
    key: "ftl.allocation.placement",
    table: &[
        ("dynamic", "the next plane with room", Placement::Dynamic),
        ("static", "the plane that its logical page number names", Placement::Static),
    ],
};

/// Whether copies share the host's open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frontiers {
    /// Host writes and copies go to different blocks.
    Separate,
    /// They go to the same block.
    Shared,
}

impl Frontiers {
    /// Open blocks of a plane for the host's writes and copies.
    pub const fn open_blocks(self) -> u32 {
        match self {
            Self::Separate => 2,
            Self::Shared => 1,
        }
    }
}

/// Where collection copies valid pages to, by name.
pub const FRONTIERS: Choices<Frontiers> = Choices {
    key: "ftl.gc.frontier",
    table: &[
        ("separate", "copies go to an open block of their own", Frontiers::Separate),
        ("shared", "copies go to the open block of the host", Frontiers::Shared),
    ],
};

/// Planes of the drive in the order in which consecutive pages use them.
pub fn plane_order(geometry: &Geometry, order: &Order) -> Vec<u32> {
    let extent = |axis: Axis| match axis {
        Channel => geometry.channels,
        Die => geometry.dies_per_channel,
        Plane => geometry.planes_per_die,
    };
    (0..geometry.planes())
        .map(|number| {
            let (mut rest, mut at) = (number, [0_u32; 3]);
            for axis in order {
                at[*axis as usize] = rest % extent(*axis);
                rest /= extent(*axis);
            }
            let [channel, die, plane] = at;
            (die * geometry.channels + channel) * geometry.planes_per_die + plane
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Shape;

    #[test]
    fn every_order_visits_every_plane_once_and_starts_with_its_first_letter() {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 3,
            planes_per_die: 2,
            blocks_per_die: 4,
            pages_per_block: 4,
            page_bytes: 4096,
        };
        let geometry = Geometry::new(shape).unwrap();
        for (name, _, order) in ORDERS.table {
            let mut planes = plane_order(&geometry, order);
            let step = planes[1];
            let expected = match &name[..1] {
                "c" => 2, // plane 0 of die 1, which is on channel 1
                "d" => 4, // plane 0 of die 2, behind channel 0
                _ => 1,
            };
            assert_eq!(step, expected, "{name}");
            planes.sort_unstable();
            assert_eq!(planes, (0..12).collect::<Vec<_>>(), "{name}");
        }
    }
}
