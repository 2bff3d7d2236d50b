//! Which pages hold something that the host wrote, as the host sees it: reads of all others are counted apart, and are
//! spare space that no share of over-provisioning tells of.
//!
//! Faithful to: every stack alike, as no layer is asked but once of a drive that begins with contents or comes back
//! from a power cut. Simplified: a page of which a part was written holds something, and a trim empties the pages that
//! it covers whole.
//! Protects: a bit a page, looked at once for each request.

use crate::DrivePlan;
use units::{HostOp, Lpn, Request, word_masks};

/// Bits of a word.
const WORD: u64 = u64::BITS as u64;

/// A bit for each page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    words: Vec<u64>,
    /// Pages of the drive.
    pages: u64,
    /// Pages that hold nothing: of a drive that was filled there are none, and no bit is looked at.
    empty: u64,
    /// Sectors of a page as a power of two.
    page_shift: u32,
}

impl Written {
    /// A drive that holds nothing.
    pub fn nothing_of(plan: &DrivePlan) -> Self {
        Self::nothing(plan.host_sectors(), plan.host_page_sectors())
    }

    /// A drive whose pages, of the mapping or of a driver's map, hold something where `holds` says so.
    pub fn found(plan: &DrivePlan, holds: impl Fn(Lpn) -> bool) -> Self {
        let mut found = Self::nothing_of(plan);
        (0..found.empty).filter(|page| holds(Lpn(*page as u32))).for_each(|page| found.set((page, page + 1), true));
        found
    }

    /// Nothing is written of so many sectors. `sectors_per_page`: a power of two.
    fn nothing(sectors: u64, sectors_per_page: u32) -> Self {
        let page_shift = sectors_per_page.trailing_zeros();
        let pages = sectors.div_ceil(1 << page_shift);
        Self { words: vec![0; pages.div_ceil(WORD) as usize], pages, empty: pages, page_shift }
    }

    /// Takes down what a request changes; whether it reads, and no page of it holds anything.
    #[inline]
    pub fn is_unwritten_read(&mut self, request: &Request) -> bool {
        if self.empty == 0 && request.op != HostOp::Trim {
            return false;
        }
        let last_of_page = (1 << self.page_shift) - 1;
        let (first, end) = (request.first_sector, request.end_sector());
        let touched = (first >> self.page_shift, (end + last_of_page) >> self.page_shift);
        match request.op {
            HostOp::Read => word_masks(touched.0..touched.1).all(|(word, mask)| self.words[word] & mask == 0),
            HostOp::Write => {
                self.set(touched, true);
                false
            }
            HostOp::Trim => {
                self.set(((first + last_of_page) >> self.page_shift, end >> self.page_shift), false);
                false
            }
            HostOp::Flush => false,
        }
    }

    /// Every page holds something.
    pub(super) fn set_all(&mut self) {
        self.set((0, self.pages), true);
    }

    /// Pages hold something from now on, or nothing.
    fn set(&mut self, pages: (u64, u64), is_written: bool) {
        for (word, mask) in word_masks(pages.0..pages.1) {
            let before = self.words[word];
            if is_written {
                self.words[word] |= mask;
                self.empty -= u64::from((mask & !before).count_ones());
            } else {
                self.words[word] &= !mask;
                self.empty += u64::from((mask & before).count_ones());
            }
        }
    }

    /// Share of the pages that hold something, 0 to 1.
    pub fn share(&self) -> f64 {
        (self.pages - self.empty) as f64 / self.pages as f64
    }

    /// The stored form: the pages where data begins and ends, in turn.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut before = 0;
        for (at, word) in self.words.iter().enumerate() {
            // A bit is set where a page differs from the one before it.
            let mut edges = word ^ (word << 1 | before);
            before = word >> (WORD - 1);
            while edges != 0 {
                let page = at as u64 * WORD + u64::from(edges.trailing_zeros());
                bytes.extend_from_slice(&page.to_le_bytes());
                edges &= edges - 1;
            }
        }
        bytes
    }

    /// Takes what was kept of a drive of the same size; `None`: it is not of one.
    pub(super) fn filled(mut self, bytes: &[u8]) -> Option<Self> {
        let (edges, rest) = bytes.as_chunks::<8>();
        let edges: Vec<u64> = edges.iter().map(|edge| u64::from_le_bytes(*edge)).collect();
        let all = self.empty;
        if !rest.is_empty() || edges.iter().any(|edge| *edge > all) || !edges.is_sorted() {
            return None;
        }
        for run in edges.chunks(2) {
            self.set((run[0], run.get(1).copied().unwrap_or(all)), true);
        }
        Some(self)
    }
}

/// A drive that holds less than this much of what it can is told to be partly filled.
const ALL_HELD: f64 = 0.99;

/// How much of the drive holds data before and after a run, unless all of it does.
pub(super) fn note(plan: &DrivePlan, before: f64, after: f64) -> Option<String> {
    if before.min(after) >= ALL_HELD {
        return None;
    }
    let [first, last] = [before, after].map(|share| match share * 100.0 {
        percent if percent > 0.0 && percent < 1.0 => "less than 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    });
    let when = if first == last { String::new() } else { format!(" at the start of the run, and {last} at its end") };
    let spare = if plan.shares_unused_flash() {
        "Garbage collection has the rest as spare space, beside over-provisioning "
    } else {
        "The rest is not spare space for other addresses here "
    };
    let only = if before < ALL_HELD { "Only " } else { "The drive is full at first: " };
    Some(format!("{only}{first} of the drive holds data{when}. {spare}(drive.fill, workload.footprint)."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: HostOp, first_sector: u64, sectors: u32) -> Request {
        Request { arrival: 0, first_sector, sectors, op, fua: false }
    }

    /// Pages of eight sectors, against one flag a page.
    #[test]
    fn pages_are_told_apart_as_one_flag_a_page_would() {
        const PAGES: u64 = 300;
        let mut written = Written::nothing(PAGES * 8, 8);
        let mut plain = vec![false; PAGES as usize];
        let mut seed = 7_u64;
        let mut below = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for step in 0..20_000 {
            let first = below(PAGES * 8);
            let most = 1 + below(2_000);
            let sectors = 1 + below((PAGES * 8 - first).min(most)) as u32;
            let op = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush][below(4) as usize];
            let request = request(op, first, sectors);
            let end = request.end_sector();
            let pages = (first / 8) as usize..end.div_ceil(8) as usize;
            let holds_nothing = !plain[pages.clone()].contains(&true);
            assert_eq!(written.is_unwritten_read(&request), op == HostOp::Read && holds_nothing, "{step}: {request:?}");
            match op {
                HostOp::Write => plain[pages].fill(true),
                HostOp::Trim if first.div_ceil(8) < end / 8 => {
                    plain[first.div_ceil(8) as usize..(end / 8) as usize].fill(false);
                }
                _ => {}
            }
            if step % 500 == 0 {
                let kept = Written::nothing(PAGES * 8, 8).filled(&written.to_bytes());
                assert_eq!(kept.as_ref(), Some(&written));
            }
        }
        let count = plain.iter().filter(|is_written| !**is_written).count() as u64;
        assert_eq!((written.empty, Written::nothing(PAGES * 8, 8).filled(&[1, 2, 3])), (count, None));
    }

    /// A read of which one page was written waits for flash like any other.
    #[test]
    fn a_read_that_is_partly_unwritten_is_a_read() {
        let mut written = Written::nothing(1_000, 8);
        written.is_unwritten_read(&request(HostOp::Write, 20, 1));
        assert!(written.is_unwritten_read(&request(HostOp::Read, 0, 16)));
        assert!(!written.is_unwritten_read(&request(HostOp::Read, 0, 17)));
        written.is_unwritten_read(&request(HostOp::Trim, 17, 7));
        assert!(!written.is_unwritten_read(&request(HostOp::Read, 16, 1)), "a page is trimmed whole");
        written.is_unwritten_read(&request(HostOp::Trim, 16, 8));
        assert!(written.is_unwritten_read(&request(HostOp::Read, 16, 1)));
    }
}
