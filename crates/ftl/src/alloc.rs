//! In which order pages go to channels, dies and planes.

use layer::{Choices, Named};
use units::Geometry;

/// The striping orders: the first letter varies fastest (c channel, d die behind a channel, p plane).
pub const ORDERS: [Named; 6] = [
    ("cdp", "the next page on the next channel, then on the next die of each, then on the next plane"),
    ("cpd", "the next page on the next channel, then on the next plane of a die, then on the next die"),
    ("dcp", "the next page on the next die of a channel, then on the next channel, then on the next plane"),
    ("dpc", "the next page on the next die of a channel, then on the next plane, then on the next channel"),
    ("pcd", "the next page on the next plane of a die, then on the next channel, then on the next die"),
    ("pdc", "the next page on the next plane of a die, then on the next die, then on the next channel"),
];

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
        ("dynamic", "a page goes to the next plane with room", Placement::Dynamic),
        ("static", "a page goes to the plane that its logical page number names", Placement::Static),
    ],
};

/// Planes of the drive in the order in which consecutive pages use them.
///
/// # Panics
/// If `order` is none of [`ORDERS`].
pub fn plane_order(geometry: &Geometry, order: &str) -> Vec<u32> {
    assert!(ORDERS.iter().any(|(known, _)| *known == order), "striping order `{order}` was not checked");
    let extent = |letter: char| match letter {
        'c' => geometry.channels,
        'd' => geometry.dies_per_channel,
        _ => geometry.planes_per_die,
    };
    let letters: Vec<char> = order.chars().collect();
    (0..geometry.planes())
        .map(|number| {
            let (mut rest, mut at) = (number, [0_u32; 3]);
            for (letter, place) in letters.iter().zip(&mut at) {
                *place = rest % extent(*letter);
                rest /= extent(*letter);
            }
            let position = |letter| letters.iter().position(|l| *l == letter).map_or(0, |index| at[index]);
            let die = position('d') * geometry.channels + position('c');
            die * geometry.planes_per_die + position('p')
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
        for (order, _) in ORDERS {
            let mut planes = plane_order(&geometry, order);
            let step = planes[1];
            let expected = match &order[..1] {
                "c" => 2, // plane 0 of die 1, which is on channel 1
                "d" => 4, // plane 0 of die 2, behind channel 0
                _ => 1,
            };
            assert_eq!(step, expected, "{order}");
            planes.sort_unstable();
            assert_eq!(planes, (0..12).collect::<Vec<_>>(), "{order}");
        }
    }
}
