//! Fitting addresses to the drive. All policies work on whole sectors.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::SECTOR_BYTES;

use super::super::Fit;

/// Sectors of a chunk of `fit = compact` and of the rounding of concatenated devices: 1 MiB.
pub(super) const CHUNK_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;
/// Unit `fit = scale` keeps aligned.
const SCALE_SECTORS: u64 = 4096 / SECTOR_BYTES;

/// A run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub first: u64,
    pub sectors: u64,
}

impl Run {
    /// The sectors that hold the bytes `[offset, offset + length)`, rounded outward.
    pub fn covering(offset_bytes: u64, length_bytes: u64) -> Run {
        let first = offset_bytes / SECTOR_BYTES;
        let end = (offset_bytes + length_bytes).div_ceil(SECTOR_BYTES);
        Run { first, sectors: end - first }
    }

    pub fn end(self) -> u64 {
        self.first + self.sectors
    }
}

/// Why a run cannot be placed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It ends beyond the drive.
    Beyond,
    /// No room for another chunk; this many are needed at least.
    Footprint(u64),
}

/// Maps runs of the trace to runs of the drive.
pub(super) struct Fitter {
    fit: Fit,
    capacity_sectors: u64,
    /// Sectors the trace spans (scale).
    span_sectors: u64,
    /// Chunk of a device of the trace to chunk of the drive (auto, compact).
    chunks: BTreeMap<(u32, u64), u64>,
    /// Chunks of the drive that are taken from `lowest` on; all below are (auto).
    taken: BTreeSet<u64>,
    lowest: u64,
    /// Runs with a part at another address than their own (auto, modulo).
    pub moved: u64,
}

impl Fitter {
    pub fn new(fit: Fit, capacity_sectors: u64, span_sectors: u64) -> Fitter {
        Fitter {
            fit,
            capacity_sectors,
            span_sectors,
            chunks: BTreeMap::new(),
            taken: BTreeSet::new(),
            lowest: 0,
            moved: 0,
        }
    }

    /// Appends the places of `run` to `out`. `device` keeps regions of several devices apart where their runs may
    /// overlap. `allocate` is false for trims, which give nothing a place that has none.
    pub fn place(&mut self, device: u32, run: Run, allocate: bool, out: &mut VecDeque<Run>) -> Result<(), Misfit> {
        match self.fit {
            Fit::Error if run.end() > self.capacity_sectors => return Err(Misfit::Beyond),
            Fit::Error => out.push_back(run),
            Fit::Modulo => self.wrap(run, out),
            Fit::Auto | Fit::Compact if allocate => return self.place_chunks(device, run, out),
            Fit::Auto | Fit::Compact => self.place_touched(device, run, out),
            Fit::Scale => out.push_back(self.scale(run)),
        }
        Ok(())
    }

    fn wrap(&mut self, run: Run, out: &mut VecDeque<Run>) {
        self.moved += u64::from(run.end() > self.capacity_sectors);
        let first = run.first % self.capacity_sectors;
        let sectors = run.sectors.min(self.capacity_sectors);
        let before_end = sectors.min(self.capacity_sectors - first);
        out.push_back(Run { first, sectors: before_end });
        if sectors > before_end {
            out.push_back(Run { first: 0, sectors: sectors - before_end });
        }
    }

    fn place_chunks(&mut self, device: u32, run: Run, out: &mut VecDeque<Run>) -> Result<(), Misfit> {
        let capacity_chunks = self.capacity_sectors / CHUNK_SECTORS;
        let count = (run.end() - 1) / CHUNK_SECTORS - run.first / CHUNK_SECTORS + 1;
        if count > capacity_chunks {
            return Err(Misfit::Footprint(count));
        }
        let mut first = run.first;
        let mut is_moved = false;
        while first < run.end() {
            let chunk = first / CHUNK_SECTORS;
            let place = match self.chunks.get(&(device, chunk)) {
                Some(place) => *place,
                None => self.give_place(device, chunk),
            };
            if place >= capacity_chunks {
                return Err(Misfit::Footprint(self.chunks.len() as u64));
            }
            is_moved |= place != chunk;
            let end = run.end().min((chunk + 1) * CHUNK_SECTORS);
            append(out, Run { first: place * CHUNK_SECTORS + first % CHUNK_SECTORS, sectors: end - first });
            first = end;
        }
        // That compaction moves everything is what was asked for.
        self.moved += u64::from(is_moved && self.fit == Fit::Auto);
        Ok(())
    }

    /// Gives a chunk met for the first time its place, which is beyond the drive once that is full.
    fn give_place(&mut self, device: u32, chunk: u64) -> u64 {
        let is_own = self.fit == Fit::Auto
            && chunk < self.capacity_sectors / CHUNK_SECTORS
            && chunk >= self.lowest
            && !self.taken.contains(&chunk);
        let place = if is_own { chunk } else { self.lowest };
        self.taken.insert(place);
        while self.taken.remove(&self.lowest) {
            self.lowest += 1;
        }
        self.chunks.insert((device, chunk), place);
        place
    }

    fn place_touched(&mut self, device: u32, run: Run, out: &mut VecDeque<Run>) {
        let last = (run.end() - 1) / CHUNK_SECTORS;
        for (&(_, chunk), &place) in self.chunks.range((device, run.first / CHUNK_SECTORS)..=(device, last)) {
            let first = run.first.max(chunk * CHUNK_SECTORS);
            let end = run.end().min((chunk + 1) * CHUNK_SECTORS);
            append(out, Run { first: place * CHUNK_SECTORS + first % CHUNK_SECTORS, sectors: end - first });
        }
    }

    fn scale(&self, run: Run) -> Run {
        let sectors = run.sectors.min(self.capacity_sectors);
        let pages = (self.capacity_sectors / SCALE_SECTORS).max(1);
        let span_pages = self.span_sectors.div_ceil(SCALE_SECTORS).max(1);
        let page = u128::from(run.first / SCALE_SECTORS) * u128::from(pages) / u128::from(span_pages);
        // `page` is below `pages` because the run starts within the span.
        let first = page as u64 * SCALE_SECTORS + run.first % SCALE_SECTORS;
        let latest = self.capacity_sectors - sectors;
        let first = if first <= latest { first } else { shifted_back(latest, run.first) };
        Run { first, sectors }
    }
}

/// The highest start up to `latest` with the alignment of `original` within 4 KiB.
fn shifted_back(latest: u64, original: u64) -> u64 {
    let within = original % SCALE_SECTORS;
    if latest < within { latest } else { (latest - within) / SCALE_SECTORS * SCALE_SECTORS + within }
}

/// Appends a piece of one request, joined to the piece before it where they meet.
fn append(out: &mut VecDeque<Run>, run: Run) {
    match out.back_mut() {
        Some(back) if back.end() == run.first => back.sectors += run.sectors,
        _ => out.push_back(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(fitter: &mut Fitter, first: u64, sectors: u64) -> Vec<(u64, u64)> {
        let mut out = VecDeque::new();
        fitter.place(0, Run { first, sectors }, true, &mut out).unwrap();
        out.into_iter().map(|run| (run.first, run.sectors)).collect()
    }

    #[test]
    fn modulo_splits_at_the_end_of_the_drive() {
        let mut fitter = Fitter::new(Fit::Modulo, 100, 0);
        assert_eq!(placed(&mut fitter, 298, 4), [(98, 2), (0, 2)]);
        assert_eq!(placed(&mut fitter, 300, 4), [(0, 4)]);
        assert_eq!(placed(&mut fitter, 50, 1000), [(50, 50), (0, 50)]);
    }

    #[test]
    fn compact_places_chunks_in_order_of_first_touch() {
        let chunk = CHUNK_SECTORS;
        let mut fitter = Fitter::new(Fit::Compact, 3 * chunk, 0);
        assert_eq!(placed(&mut fitter, 1000 * chunk + 8, 8), [(8, 8)]);
        assert_eq!(placed(&mut fitter, 5 * chunk, 8), [(chunk, 8)]);
        assert_eq!(placed(&mut fitter, 5 * chunk + chunk - 8, 16), [(2 * chunk - 8, 16)]);
        let mut out = VecDeque::new();
        let full = fitter.place(0, Run { first: 7 * chunk, sectors: 1 }, true, &mut out);
        assert_eq!(full, Err(Misfit::Footprint(4)));
    }

    #[test]
    fn auto_keeps_addresses_and_moves_what_is_beyond_the_drive_or_in_the_way() {
        let chunk = CHUNK_SECTORS;
        let mut fitter = Fitter::new(Fit::Auto, 4 * chunk, 0);
        assert_eq!(placed(&mut fitter, 2 * chunk + 8, 8), [(2 * chunk + 8, 8)]);
        assert_eq!(placed(&mut fitter, 1000 * chunk, 8), [(0, 8)]);
        assert_eq!(
            placed(&mut fitter, chunk - 8, 16),
            [(2 * chunk - 8, 8), (3 * chunk, 8)],
            "its own place was taken, and so is the next"
        );
        assert_eq!(fitter.moved, 2);
        let mut out = VecDeque::new();
        fitter.place(1, Run { first: 2 * chunk, sectors: 8 }, false, &mut out).unwrap();
        assert!(out.is_empty(), "another device has touched nothing there");
        assert_eq!(fitter.place(1, Run { first: 2 * chunk, sectors: 8 }, true, &mut out), Err(Misfit::Footprint(5)));
    }

    #[test]
    fn compact_leaves_out_trims_of_untouched_chunks() {
        let chunk = CHUNK_SECTORS;
        let mut fitter = Fitter::new(Fit::Compact, 4 * chunk, 0);
        placed(&mut fitter, 10 * chunk, 8);
        let mut out = VecDeque::new();
        fitter.place(0, Run { first: 0, sectors: 1 << 50 }, false, &mut out).unwrap();
        assert_eq!(out, [Run { first: 0, sectors: chunk }]);
    }

    #[test]
    fn scale_keeps_alignment_and_stays_on_the_drive() {
        let mut fitter = Fitter::new(Fit::Scale, 1000, 10_000);
        assert_eq!(placed(&mut fitter, 0, 8), [(0, 8)]);
        assert_eq!(placed(&mut fitter, 8000, 8), [(800, 8)]);
        let last = placed(&mut fitter, 9984, 16)[0];
        assert!(last.0 + last.1 <= 1000 && last.0.is_multiple_of(8), "{last:?}");
    }
}
