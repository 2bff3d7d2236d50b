//! `shrd`: the host gathers small writes in a log on the drive and later has them remapped, sorted and without a
//! copy.
//!
//! Faithful to: "SHRD: Improving Spatial Locality in Flash Storage Accesses by Sequentializing in Host and
//! Randomizing in Device" (FAST 2017). Small writes go one after the other to addresses of a log, so that they touch
//! few translation pages. The host remembers their places and reads them there. When the log is full, one command
//! makes the drive's map point to the data in the log, for all pages that share a translation page at once. The real
//! address stands in each page's out-of-band area. So after a power cut the scan of the drive finishes the remapping
//! that the host had not asked for yet.
//! Simplified: the table of the host and the command are part of the mapping and take no time. The log's own map,
//! four bytes a page, is in the drive's memory. When the log is full the host remaps the oldest page, and takes along
//! the pages that share its translation page. The host does nothing while idle. A small trim is noted in the log as a
//! write is.
//! Protects: a page of the log is used again only when its entry is in a translation page or there is a newer
//! version.

use super::cache::{ItemTable, NO_LPN, NONE};
use super::dftl::{self, Dftl};
use crate::mapping::Mapping;
use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape};
use crate::mapping::page_level::{self, Translation};
use layer::{LayerReport, Parameter, ParameterKind, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use std::collections::VecDeque;
use units::{Lpn, Ppn, Tpn};

/// A logical page and where it is in the log: what the host remembers of each.
const HOST_BYTES: u64 = 8;
/// An entry of the log's map in the drive.
const LOG_ENTRY_BYTES: u64 = 4;

/// The line for the table of mappings.
pub(in crate::mapping) fn mapping() -> Mapping {
    let doc = "dftl, with a host that writes small requests to a log and has them remapped in order, without a copy";
    let when = "Use it to study a host that works with the drive: small random writes touch few translation pages. \
                Host and drive must both know the remapping command, and large writes gain nothing.";
    page_level::mapping::<Translation<Shrd>>("shrd", doc, when, parameters)
}

pub(in crate::mapping) fn parameters() -> Vec<Parameter> {
    let mut parameters = dftl::parameters();
    parameters.extend([
        Parameter::new(
            "ftl.shrd.log",
            ParameterKind::Share { max: 0.5 },
            "1%",
            "Share of the drive for the log to which the host writes small requests.",
        ),
        Parameter::new(
            "ftl.shrd.most_pages",
            ParameterKind::Count { min: 1, max: 4096 },
            "32",
            "Pages of the largest write that goes to the log. Larger writes go to their own addresses.",
        ),
    ]);
    parameters
}

/// The cache of the drive, and the knowledge of the host.
pub(crate) struct Shrd {
    shape: TranslationShape,
    cache: Dftl,
    /// Pages of the log.
    size: usize,
    most_pages: u32,
    /// Logical pages in the order of their writing, the oldest first; `NONE`: a newer version follows.
    log: VecDeque<Lpn>,
    /// Number of the oldest one.
    first: u64,
    /// Pages whose newest version is in the log, all dirty.
    gathered: ItemTable,
    /// Where each of them is, as the number of its write.
    place: Vec<u64>,
    run: Run,
    counters: Counters,
}

/// The write under way, if it has several pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    end: Lpn,
    /// The page expected next.
    next: Lpn,
    is_small: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    logged: u64,
    remapped: u64,
    remaps: u64,
}

impl Shrd {
    /// Whether the write that `access` belongs to is small.
    #[inline]
    fn is_small(&mut self, access: &Access) -> bool {
        let Access { logical, request_end: end, .. } = *access;
        let continues = self.run.end == end && self.run.next == logical;
        let is_small = if continues { self.run.is_small } else { end.0 - logical.0 < self.most_pages };
        self.run = Run { end, next: Lpn(logical.0.wrapping_add(1)), is_small };
        is_small
    }

    /// The oldest page of the log is the newest version of what it holds.
    #[inline]
    fn oldest(&self) -> Option<u32> {
        let logical = *self.log.front()?;
        let slot = self.gathered.find(logical)?;
        (self.place[slot as usize] == self.first).then_some(slot)
    }

    fn drop_oldest(&mut self) {
        self.log.pop_front();
        self.first += 1;
    }

    /// Makes room for a page in the log.
    #[inline]
    fn make_room(&mut self, plan: &mut Plan) {
        if self.log.len() < self.size {
            return;
        }
        if let Some(slot) = self.oldest() {
            let page = self.gathered.page(slot);
            plan.write_back(page, false);
            self.counters.remapped += u64::from(self.gathered.remove_dirty(page));
            self.counters.remaps += 1;
            self.cache.programmed(page);
        }
        self.drop_oldest();
    }

    /// A page is written to the log.
    #[inline]
    fn append(&mut self, logical: Lpn) {
        let slot = self.gathered.find(logical).unwrap_or_else(|| self.gathered.insert(logical));
        self.gathered.mark(slot);
        self.place[slot as usize] = self.first + self.log.len() as u64;
        self.log.push_back(logical);
    }
}

impl Scheme for Shrd {
    /// One page of the cache, or one of the log.
    const WRITE_BACKS: u32 = 1;

    fn least_bytes(shape: TranslationShape, values: &Values) -> u64 {
        Dftl::least_bytes(shape, values)
    }

    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self {
        let size = ((f64::from(shape.user_pages) * values.real("ftl.shrd.log")) as usize).max(1);
        Self {
            shape,
            cache: Dftl::new(shape, budget, values),
            size,
            most_pages: values.whole("ftl.shrd.most_pages") as u32,
            log: VecDeque::with_capacity(size),
            first: 0,
            gathered: ItemTable::new(shape, size as u32),
            place: vec![0; size],
            run: Run { end: NO_LPN, next: NO_LPN, is_small: false },
            counters: Counters::default(),
        }
    }

    /// A small write needs room in the log, and a large one a cached entry.
    #[inline]
    fn is_free(&self, logical: Lpn) -> bool {
        self.log.len() < self.size && self.cache.is_free(logical)
    }

    #[inline]
    fn access(&mut self, access: &Access, plan: &mut Plan) {
        if access.change && self.is_small(access) {
            plan.hit = true;
            self.make_room(plan);
            self.append(access.logical);
            self.counters.logged += 1;
            return;
        }
        match self.gathered.find(access.logical) {
            Some(_) if !access.change => plan.hit = true,
            gathered => {
                if let Some(slot) = gathered {
                    self.gathered.remove(slot);
                }
                self.cache.access(access, plan);
            }
        }
    }

    #[inline]
    fn relocated(&mut self, logical: Lpn, to: Ppn) -> bool {
        self.gathered.find(logical).is_some() || self.cache.relocated(logical, to)
    }

    fn is_dirty(&self, logical: Lpn) -> bool {
        self.gathered.find(logical).is_some() || self.cache.is_dirty(logical)
    }

    fn programmed(&mut self, page: Tpn) {
        self.cache.programmed(page);
    }

    #[inline]
    fn prefetch(&self, logical: Lpn) {
        self.gathered.prefetch(logical);
        self.cache.prefetch(logical);
    }

    fn cached_bytes(&self) -> u64 {
        self.cache.cached_bytes()
    }

    fn overhead_bytes(&self) -> u64 {
        self.size as u64 * LOG_ENTRY_BYTES
    }

    fn check(&self) -> Result<(), String> {
        self.cache.check()?;
        self.gathered.check()?;
        if self.log.len() > self.size {
            return Err(format!("the log of {} pages holds {}", self.size, self.log.len()));
        }
        let newest = |(number, logical): (u64, &Lpn)| {
            self.gathered.find(*logical).is_some_and(|slot| self.place[slot as usize] == number)
        };
        let found = (self.first..).zip(&self.log).filter(|entry| newest(*entry)).count();
        if found == self.gathered.len() as usize {
            return Ok(());
        }
        Err(format!("{} pages are said to be in the log, {found} are", self.gathered.len()))
    }

    fn report(&self, report: &mut LayerReport) {
        let Counters { logged, remapped, remaps } = self.counters;
        let counters = [
            ("logged_pages", logged),
            ("remapped_pages", remapped),
            ("remaps", remaps),
            ("host_ram_bytes", self.size as u64 * HOST_BYTES),
        ];
        report.counters.extend(counters);
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        self.cache.save(writer);
        let newest = |number: u64, logical: Lpn| {
            let slot = self.gathered.find(logical);
            slot.filter(|slot| self.place[*slot as usize] == number).map_or(NONE, |_| logical.0)
        };
        writer.put("shrd.log", (self.first..).zip(&self.log).map(|(number, logical)| newest(number, *logical)));
        writer.put("shrd.run", [self.run.end.0, self.run.next.0, u32::from(self.run.is_small)]);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.cache.load(reader)?;
        let log: Vec<u32> = reader.get("shrd.log")?;
        let [end, next, is_small] = reader.array("shrd.run")?;
        if log.len() > self.size || log.iter().any(|page| *page != NONE && *page >= self.shape.user_pages) {
            return Err(SnapshotError::unfit("shrd.log", "the log or the drive is of another size"));
        }
        debug_assert!(self.log.is_empty(), "state is read into an empty log");
        for logical in log {
            match logical {
                NONE => self.log.push_back(NO_LPN),
                logical => self.append(Lpn(logical)),
            }
        }
        self.run = Run { end: Lpn(end), next: Lpn(next), is_small: is_small == 1 };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::conduct::Trial;
    use super::*;
    use engine::random::Stream;

    fn trial(shape: TranslationShape, log: &str) -> Trial<Shrd> {
        Trial::new(shape, 8 * 16, parameters(), &[("ftl.shrd.log", log), ("ftl.shrd.most_pages", "4")])
    }

    #[test]
    fn small_writes_cost_nothing_until_the_log_is_full_and_then_a_page_takes_its_fellows_along() {
        // A log of eight pages over translation pages of four entries.
        let mut trial = trial(TranslationShape::new(80, 4), "10%");
        for logical in [0, 40, 1, 41, 2, 42, 3, 43] {
            assert_eq!(trial.write(logical), (0, 0));
            assert_eq!(trial.read(logical), (0, 0), "the host knows where it is");
        }
        assert_eq!(trial.write(20), (1, 1), "the page of entry 0 is read, changed and programmed");
        assert_eq!(trial.write(21), (1, 1), "entry 40 was on another one");
        for logical in 22..28 {
            assert_eq!(trial.write(logical), (0, 0), "what was next in the log has its entries on flash");
        }
        assert_eq!(trial.read(1), (1, 0), "remapped: the host has forgotten it");
    }

    #[test]
    fn large_writes_go_where_they_belong() {
        let mut trial = trial(TranslationShape::new(80, 4), "10%");
        let reads: usize = (0..8).map(|logical| trial.use_in(logical, 7, true).0).sum();
        assert_eq!(reads, 8, "eight pages are more than four: each misses in the cache, to the last");
        assert_eq!(trial.write(0), (0, 0));
        let large: usize = (0..8).map(|logical| trial.use_in(logical, 7, true).1).sum();
        assert_eq!((large, trial.scheme().gathered.len()), (0, 0), "the host forgets what was overwritten in place");
    }

    #[test]
    fn a_remap_takes_along_what_was_gathered_since_its_oldest_page_was_written() {
        let (pages, translation_pages, log) = (1 << 16, 1 << 9, 1 << 12);
        let share = f64::from(log) / f64::from(pages) * 100.0;
        let values = testing::values(parameters(), &[("ftl.shrd.log", &format!("{share}%"))]);
        let mut scheme = Shrd::new(TranslationShape::new(pages, pages / translation_pages), 1 << 10, &values);
        let mut stream = Stream::new(7, "shrd");
        let mut write = |count: u32| {
            (0..count)
                .map(|_| {
                    let logical = Lpn(stream.below(u64::from(pages)) as u32);
                    let mut plan = Plan::default();
                    scheme.access(&Access { logical, request_end: logical, change: true, at: None }, &mut plan);
                    plan.write_backs().count()
                })
                .sum::<usize>() as f64
        };
        write(4 * log);
        // Between the writing of its oldest page and the end of the log, each of the other writes meets a translation
        // page with the same chance; the waiting time between ends is the log and a geometric one until it is met
        // again.
        let expected = f64::from(translation_pages) / f64::from(log + translation_pages);
        let measured = write(200_000) / 200_000.0;
        assert!((measured / expected - 1.0).abs() < 0.02, "{measured} programs a write, expected {expected}");
    }
}
