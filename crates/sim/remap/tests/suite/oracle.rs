//! What each sector and each page may read as.

/// Versions of a sector, oldest first; 0 is zeros.
#[derive(Clone, Default)]
struct Sector {
    versions: Vec<u64>,
    acknowledged: usize,
    durable: usize,
}

/// Versions of a page as wholes, each the versions of its sectors.
#[derive(Clone, Default)]
struct Page {
    states: Vec<Vec<u64>>,
    acknowledged: usize,
    durable: usize,
}

#[derive(Clone)]
pub struct Oracle {
    sectors: Vec<Sector>,
    pages: Vec<Page>,
    page_sectors: usize,
    next: u64,
    /// Pages are replaced as wholes.
    pub atomic: bool,
}

/// What a write or a trim did: sector and index of its version, page and index of its state.
#[derive(Clone, Debug, Default)]
pub struct Change {
    sectors: Vec<(usize, usize)>,
    pages: Vec<(usize, usize)>,
}

/// What was acknowledged at some time.
pub struct Mark {
    sectors: Vec<usize>,
    pages: Vec<usize>,
}

/// Bytes of a version of a sector.
pub fn contents(sector: u64, version: u64, into: &mut [u8]) {
    if version == 0 {
        into.fill(0);
        return;
    }
    for chunk in into.chunks_mut(16) {
        chunk[..8].copy_from_slice(&version.to_le_bytes());
        chunk[8..].copy_from_slice(&sector.to_le_bytes());
    }
}

/// The version that a sector reads as.
pub fn version(sector: u64, bytes: &[u8]) -> u64 {
    let version = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    let mut wanted = [0; 512];
    contents(sector, version, &mut wanted);
    assert!(bytes == wanted, "sector {sector} reads as something foreign: {:?}", &bytes[..16]);
    version
}

impl Oracle {
    pub fn new(sectors: u64, page_sectors: u32, atomic: bool) -> Self {
        let page = Page { states: vec![vec![0; page_sectors as usize]], ..Page::default() };
        Self {
            sectors: vec![Sector { versions: vec![0], ..Sector::default() }; sectors as usize],
            pages: vec![page; sectors as usize / page_sectors as usize],
            page_sectors: page_sectors as usize,
            next: 1,
            atomic,
        }
    }

    /// A write is submitted: its data.
    pub fn write(&mut self, first: u64, count: u32) -> (Vec<u8>, Change) {
        let version = self.next;
        self.next += 1;
        let mut data = vec![0; count as usize * 512];
        let sectors = first..first + u64::from(count);
        data.chunks_mut(512).zip(sectors.clone()).for_each(|(into, sector)| contents(sector, version, into));
        (data, self.change(sectors.start as usize..sectors.end as usize, version))
    }

    /// A trim is submitted.
    pub fn trim(&mut self, first: u64, count: u32) -> Change {
        let size = self.page_sectors;
        let (from, end) = ((first as usize).div_ceil(size) * size, (first as usize + count as usize) / size * size);
        self.change(from..end.max(from), 0)
    }

    fn change(&mut self, sectors: std::ops::Range<usize>, version: u64) -> Change {
        let mut change = Change::default();
        for sector in sectors {
            let versions = &mut self.sectors[sector].versions;
            versions.push(version);
            change.sectors.push((sector, versions.len() - 1));
            let (page, slot) = (sector / self.page_sectors, sector % self.page_sectors);
            let states = &mut self.pages[page].states;
            if change.pages.last().is_none_or(|(last, _)| *last != page) {
                states.push(states.last().expect("there is one").clone());
                change.pages.push((page, states.len() - 1));
            }
            states.last_mut().expect("there is one")[slot] = version;
        }
        change
    }

    pub fn acknowledged(&mut self, change: &Change, durable: bool) {
        for (sector, index) in &change.sectors {
            let sector = &mut self.sectors[*sector];
            sector.acknowledged = sector.acknowledged.max(*index);
            sector.durable = sector.durable.max(if durable { *index } else { 0 });
        }
        for (page, index) in &change.pages {
            let page = &mut self.pages[*page];
            page.acknowledged = page.acknowledged.max(*index);
            page.durable = page.durable.max(if durable { *index } else { 0 });
        }
    }

    pub fn mark(&self) -> Mark {
        Mark {
            sectors: self.sectors.iter().map(|sector| sector.acknowledged).collect(),
            pages: self.pages.iter().map(|page| page.acknowledged).collect(),
        }
    }

    /// What the mark says is durable.
    pub fn flushed(&mut self, mark: &Mark) {
        for (sector, index) in self.sectors.iter_mut().zip(&mark.sectors) {
            sector.durable = sector.durable.max(*index);
        }
        for (page, index) in self.pages.iter_mut().zip(&mark.pages) {
            page.durable = page.durable.max(*index);
        }
    }

    /// What was read: no older than the mark.
    pub fn check_read(&self, first: u64, data: &[u8], mark: &Mark) {
        self.check(first, data, |sector| mark.sectors[sector], |page| mark.pages[page]);
    }

    /// What was read after a power cut, from sector 0.
    pub fn check_cut(&self, data: &[u8]) {
        self.check(0, data, |sector| self.sectors[sector].durable, |page| self.pages[page].durable);
    }

    fn check(&self, first: u64, data: &[u8], oldest: impl Fn(usize) -> usize, oldest_page: impl Fn(usize) -> usize) {
        let read: Vec<u64> = data.chunks(512).zip(first..).map(|(bytes, sector)| version(sector, bytes)).collect();
        for (sector, found) in (first as usize..).zip(&read) {
            let allowed = &self.sectors[sector].versions[oldest(sector)..];
            assert!(allowed.contains(found), "sector {sector} reads as {found}, not one of {allowed:?}");
        }
        if !self.atomic {
            return;
        }
        let mut sector = first as usize;
        let end = first as usize + read.len();
        while sector < end {
            let (page, slot) = (sector / self.page_sectors, sector % self.page_sectors);
            let count = (self.page_sectors - slot).min(end - sector);
            let found = &read[sector - first as usize..][..count];
            let allowed = &self.pages[page].states[oldest_page(page)..];
            let fits = allowed.iter().any(|state| &state[slot..slot + count] == found);
            assert!(fits, "page {page} reads as {found:?}, not one of {allowed:?}");
            sector += count;
        }
    }

    /// A new life begins with what was read, from sector 0.
    pub fn restart(&mut self, data: &[u8]) {
        let read: Vec<u64> = data.chunks(512).zip(0..).map(|(bytes, sector)| version(sector, bytes)).collect();
        self.sectors = read.iter().map(|version| Sector { versions: vec![*version], ..Sector::default() }).collect();
        let states = read.chunks(self.page_sectors).map(<[u64]>::to_vec);
        self.pages = states.map(|state| Page { states: vec![state], ..Page::default() }).collect();
    }
}
