//! Where a desktop file system keeps its things, for `desktop-ntfs`.
//!
//! ```text
//! | log 1/16 (at most 64 MiB) | temporary files 1/16 (at most 24 MiB) | bulk: everything else |
//!                                                       warm blocks are spread over the bulk
//! ```
//!
//! Protects: parts do not overlap, except that bulk traffic may cross warm blocks, as files do.

use engine::random::Stream;

use super::desktop_shape::DesktopShape;
use super::place::Region;
use super::zipf_law::Zipf;

/// Sectors of a page (an NTFS cluster of 4 KiB).
pub(super) const PAGE_SECTORS: u32 = 8;
/// Sectors of the 512 KiB block in which warm pages cluster.
const BLOCK_SECTORS: u64 = 1024;
/// Pages of such a block.
pub(super) const BLOCK_PAGES: u64 = BLOCK_SECTORS / PAGE_SECTORS as u64;
/// Pages rewritten all the time: log restart area, first MFT records, bitmap, root directory.
const HOT_PAGES: u64 = 12;
const TEMPORARY_FILES: u64 = 6;
/// Sequential streams (downloads, installations, copies) open at the same time.
const STREAMS: usize = 4;
const LOG_SECTORS_MAX: u64 = 64 << 11;
const TEMPORARY_SECTORS_MAX: u64 = 24 << 11;

/// A region that is written in order, again and again.
#[derive(Clone, Debug)]
pub(super) struct Track {
    region: Region,
    cursor: u64,
}

impl Track {
    fn new(region: Region) -> Self {
        Self { region, cursor: region.first_sector }
    }

    /// The next `sectors` of the track, cut down to its length.
    pub fn advance(&mut self, sectors: u32) -> (u64, u32) {
        let sectors = self.region.clip(sectors);
        let first_sector = self.region.wrapped(self.cursor, sectors);
        self.cursor = first_sector + u64::from(sectors);
        (first_sector, sectors)
    }

    /// Moves to any page of the track.
    pub fn move_anywhere(&mut self, random: &mut Stream) {
        self.cursor = self.region.random(random, PAGE_SECTORS, PAGE_SECTORS);
    }

    /// Moves back to the start of the page the cursor is in: the last page is written again.
    pub fn rewind_to_page(&mut self) {
        let into = (self.cursor - self.region.first_sector) % u64::from(PAGE_SECTORS);
        self.cursor -= into;
    }
}

/// The places of one drive.
#[derive(Debug)]
pub(super) struct Layout {
    /// The file system's log.
    pub log: Track,
    /// Temporary files, rewritten from their start when full.
    pub temporary: Vec<Track>,
    /// Long files being written.
    pub streams: Vec<Track>,
    /// Everything but log and temporary files.
    pub bulk: Region,
    hot: Vec<u64>,
    warm: Vec<u64>,
    hot_law: Zipf,
    warm_law: Zipf,
}

impl Layout {
    /// Lays out `footprint`, which must have at least 8 MiB.
    pub fn new(footprint: Region, shape: &DesktopShape, random: &mut Stream) -> Self {
        let part = |sectors: u64| sectors / u64::from(PAGE_SECTORS) * u64::from(PAGE_SECTORS);
        let (log, rest) = footprint.split(part(footprint.sectors / 16).min(LOG_SECTORS_MAX));
        let temporary_sectors =
            part(footprint.sectors / 16 / TEMPORARY_FILES).min(TEMPORARY_SECTORS_MAX / TEMPORARY_FILES);
        let (temporary, bulk) = rest.split(temporary_sectors * TEMPORARY_FILES);
        let (hot, warm) = metadata_pages(bulk, shape, random);
        Self {
            log: Track::new(log),
            temporary: equal_tracks(temporary, TEMPORARY_FILES),
            streams: equal_tracks(bulk, STREAMS as u64),
            bulk,
            hot_law: Zipf::new(hot.len() as u64, 0.5),
            warm_law: Zipf::new(warm.len() as u64, 0.5),
            hot,
            warm,
        }
    }

    /// A temporary file, or behind these a stream.
    pub fn long_track(&mut self, track: usize) -> &mut Track {
        let temporary = self.temporary.len();
        if track < temporary { &mut self.temporary[track] } else { &mut self.streams[track - temporary] }
    }

    /// First sector of one of the dozen hottest pages.
    pub fn hot_page(&self, random: &mut Stream) -> u64 {
        self.hot[self.hot_law.draw(random) as usize]
    }

    /// First sector of one of the hundreds of warm pages.
    pub fn warm_page(&self, random: &mut Stream) -> u64 {
        self.warm[self.warm_law.draw(random) as usize]
    }
}

fn equal_tracks(region: Region, count: u64) -> Vec<Track> {
    let page = u64::from(PAGE_SECTORS);
    let sectors = region.sectors / count / page * page;
    let track = |index| Region { first_sector: region.first_sector + index * sectors, sectors };
    (0..count).map(|index| Track::new(track(index))).collect()
}

/// The hot pages, all in the bulk's first block, and the warm pages, most popular first.
fn metadata_pages(bulk: Region, shape: &DesktopShape, random: &mut Stream) -> (Vec<u64>, Vec<u64>) {
    let page_at = |page: u64| bulk.first_sector + page * u64::from(PAGE_SECTORS);
    let hot = (0..HOT_PAGES).map(|index| page_at(index * BLOCK_PAGES / HOT_PAGES)).collect();
    let blocks = bulk.sectors / BLOCK_SECTORS;
    assert!(blocks >= 2, "the footprint was checked against the minimum");
    let warm_blocks = shape.warm_blocks().min(blocks - 1);
    let (fewest, most) = shape.warm_range();
    let mut warm = Vec::new();
    for index in 0..warm_blocks {
        // One block in each equal part of the bulk, so that no two fall on each other.
        let low = 1 + index * (blocks - 1) / warm_blocks;
        let high = 1 + (index + 1) * (blocks - 1) / warm_blocks;
        let block = low + random.below(high - low);
        let count = fewest + random.below(most - fewest + 1);
        let first_page = random.below(BLOCK_PAGES - most);
        warm.extend((0..count).map(|page| page_at(block * BLOCK_PAGES + first_page + page)));
    }
    // Popularity must not follow the address.
    random.shuffle(&mut warm);
    (hot, warm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_pages_cluster_sixteen_to_thirty_two_to_a_block() {
        let bulk = Region { first_sector: 4096, sectors: 40 << 21 };
        let (hot, warm) = metadata_pages(bulk, &DesktopShape::default(), &mut Stream::new(3, "layout test"));
        assert_eq!(hot.len(), 12);
        let mut blocks: Vec<u64> = warm.iter().map(|page| (page - 4096) / BLOCK_SECTORS).collect();
        blocks.sort_unstable();
        for same in blocks.chunk_by(|a, b| a == b) {
            assert!((16..=32).contains(&same.len()), "{} warm pages in block {}", same.len(), same[0]);
        }
    }

    #[test]
    fn a_full_track_starts_again() {
        let mut track = Track::new(Region { first_sector: 100, sectors: 20 });
        let starts: Vec<u64> = (0..4).map(|_| track.advance(8).0).collect();
        assert_eq!(starts, [100, 108, 100, 108]);
    }
}
