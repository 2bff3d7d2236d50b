//! Popular places: regions of 1 MiB of Zipf popularity, and in each of them pages of Zipf popularity.
//!
//! Regions come before pages because files and tables are popular as wholes: pages that are scattered
//! over a drive one by one touch many times more regions than recorded traces do.

use engine::random::Stream;

use super::zipf_law::{Scatter, Zipf};

/// Sectors of a region: 1 MiB, or less on a small drive.
const REGION_SECTORS: u64 = 2048;

/// How uneven popularity is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skew {
    /// Regions that are ever chosen, at most.
    pub regions_most: u64,
    /// Exponent of the popularity of regions.
    pub regions: f64,
    /// Exponent of the popularity of the pages of a region.
    pub pages: f64,
}

/// Where accesses go, from most to least popular.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    regions: Zipf,
    region_places: Scatter,
    pages: Zipf,
    page_places: Scatter,
}

impl Popularity {
    /// Over `sectors`, at least a page of `page_sectors`.
    pub fn new(sectors: u64, page_sectors: u64, skew: Skew, random: &mut Stream) -> Self {
        let pages = sectors / page_sectors;
        let region_pages = (REGION_SECTORS / page_sectors).min(pages);
        let regions = pages / region_pages;
        Self {
            regions: Zipf::new(regions.min(skew.regions_most), skew.regions),
            region_places: Scatter::new(regions, random),
            pages: Zipf::new(region_pages, skew.pages),
            page_places: Scatter::new(region_pages, random),
        }
    }

    /// The same order of popularity, less or more uneven.
    pub fn skewed(&self, skew: Skew) -> Self {
        Self {
            regions: Zipf::new(self.region_places.count().min(skew.regions_most), skew.regions),
            pages: Zipf::new(self.page_places.count(), skew.pages),
            ..self.clone()
        }
    }

    /// The number of another page in the region of `page`.
    pub fn neighbour(&self, page: u64, random: &mut Stream) -> u64 {
        let region_pages = self.page_places.count();
        page / region_pages * region_pages + random.below(region_pages)
    }

    /// The number of a page.
    pub fn page(&self, random: &mut Stream) -> u64 {
        let region = self.region_places.place(self.regions.draw(random));
        // Popular pages lie elsewhere in each region.
        let rank = self.pages.draw(random);
        let page = (self.page_places.place(rank) + region) % self.page_places.count();
        region * self.page_places.count() + page
    }
}
