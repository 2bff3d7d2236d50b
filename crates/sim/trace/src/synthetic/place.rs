//! Where requests go: aligned slots, and draws of an operation or of a size.

use engine::random::Stream;
use units::HostOp;

use super::parameters::WorkloadParameters;

/// A stretch of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub first_sector: u64,
    /// Length in sectors, at least 1.
    pub sectors: u64,
}

impl Region {
    /// The footprint of a workload.
    pub fn footprint(parameters: &WorkloadParameters) -> Self {
        Self { first_sector: 0, sectors: parameters.footprint_sectors() }
    }

    /// The sector after the last one.
    pub fn end_sector(self) -> u64 {
        self.first_sector + self.sectors
    }

    /// Splits off the first `sectors`, which must leave at least one.
    pub fn split(self, sectors: u64) -> (Self, Self) {
        assert!(sectors > 0 && sectors < self.sectors, "cannot split {sectors} from {self:?}");
        (
            Self { first_sector: self.first_sector, sectors },
            Self { first_sector: self.first_sector + sectors, sectors: self.sectors - sectors },
        )
    }

    /// `sectors`, cut down to the length that fits in the region.
    pub fn clip(self, sectors: u32) -> u32 {
        u64::from(sectors).min(self.sectors) as u32
    }

    /// A random place for `sectors` (which must fit), on a multiple of `alignment` where one fits.
    pub fn random(self, random: &mut Stream, sectors: u32, alignment: u32) -> u64 {
        debug_assert!(u64::from(sectors) <= self.sectors, "{sectors} sectors do not fit in {self:?}");
        let places = (self.sectors - u64::from(sectors)) / u64::from(alignment) + 1;
        self.first_sector + random.below(places) * u64::from(alignment)
    }

    /// `first_sector` if `sectors` fit there, else the start of the region.
    pub fn wrapped(self, first_sector: u64, sectors: u32) -> u64 {
        let fits = first_sector >= self.first_sector && first_sector + u64::from(sectors) <= self.end_sector();
        if fits { first_sector } else { self.first_sector }
    }
}

/// A region cut into slots of one request each; a rest too short for a slot is never touched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    /// Sectors of a slot.
    pub slot_sectors: u32,
    /// Number of slots, at least 1.
    pub slot_count: u64,
}

impl Slots {
    /// The slots of the footprint; `default_bytes` is the request size where none is given.
    pub fn footprint(parameters: &WorkloadParameters, default_bytes: u64) -> Self {
        let slot_sectors = parameters.request_sectors(default_bytes);
        let slot_count = parameters.footprint_sectors() / u64::from(slot_sectors);
        assert!(slot_count > 0, "the request size was checked against the footprint");
        Self { slot_sectors, slot_count }
    }

    /// First sector of slot `index`.
    #[inline]
    pub fn first_sector(self, index: u64) -> u64 {
        index * u64::from(self.slot_sectors)
    }
}

/// How often each operation is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpMix {
    trim_below: f64,
    read_below: f64,
}

impl OpMix {
    /// Trims and reads as `parameters` say, where they do; the rest are writes.
    pub fn new(parameters: &WorkloadParameters, default_read_share: f64) -> Self {
        let trim_share = parameters.trim_share.unwrap_or(0.0);
        let read_share = parameters.read_share.unwrap_or(default_read_share);
        Self { trim_below: trim_share, read_below: trim_share + (1.0 - trim_share) * read_share }
    }

    #[inline]
    pub fn draw(self, random: &mut Stream) -> HostOp {
        let unit = random.unit();
        if unit < self.trim_below {
            HostOp::Trim
        } else if unit < self.read_below {
            HostOp::Read
        } else {
            HostOp::Write
        }
    }
}

/// A table entry that is drawn in proportion to its weight.
pub(super) trait Weighted {
    /// The weight, at least 0, in any unit.
    fn weight(&self) -> u32;
}

/// Request sizes: sectors and weight.
impl Weighted for (u32, u32) {
    fn weight(&self) -> u32 {
        self.1
    }
}

/// The index of an entry of `table`, drawn by weight. Tables are short: a walk beats a search.
pub(super) fn draw_index(random: &mut Stream, table: &[impl Weighted]) -> usize {
    let total: u32 = table.iter().map(Weighted::weight).sum();
    let mut rest = random.below(u64::from(total)) as u32;
    for (index, entry) in table.iter().enumerate() {
        if rest < entry.weight() {
            return index;
        }
        rest -= entry.weight();
    }
    unreachable!("a draw below the total weight ends inside the table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_honoured() {
        let (table, mut random, mut counts) = ([(1, 1), (2, 0), (3, 3)], Stream::new(1, "draw"), [0_u32; 3]);
        for _ in 0..40_000 {
            counts[draw_index(&mut random, &table)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((9_500..10_500).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn random_places_fill_the_region_and_stay_inside() {
        let (region, mut random) = (Region { first_sector: 10, sectors: 9 }, Stream::new(2, "place"));
        let mut seen = [false; 3];
        for _ in 0..100 {
            let place = region.random(&mut random, 4, 2) - 10;
            assert!(place <= 5 && place.is_multiple_of(2));
            seen[place as usize / 2] = true;
        }
        assert_eq!(seen, [true; 3]);
    }
}
