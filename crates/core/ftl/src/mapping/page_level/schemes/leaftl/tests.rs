//! The scheme against a plain map: its answers, its costs, and its promises to collection.

use super::*;
use page_level::scheme::WriteBack;
use proptest::prelude::*;

const PAGES: u32 = 700;

/// A scheme between a plain map and what flash would hold of it.
struct Drive {
    shape: TranslationShape,
    values: Values,
    budget: u64,
    scheme: Leaftl,
    /// The scheme before it went through a snapshot: from then on it must do the same.
    twin: Option<Leaftl>,
    map: Vec<Option<Ppn>>,
    on_flash: Vec<Option<Ppn>>,
    awaits_update: Vec<bool>,
    next: u32,
    misreads: u32,
}

impl Drive {
    fn new(entries: u32, more_bytes: u64, settings: [(&'static str, u64); 2]) -> Self {
        let shape = TranslationShape::new(PAGES, entries);
        let mut values = Values::default();
        for (key, value) in settings {
            let parameter = parameters().into_iter().find(|parameter| parameter.key == key).expect("it is a parameter");
            values.set(key, parameter.kind.parse(&value.to_string()).expect("tests set what is allowed"));
        }
        let budget = Leaftl::least_bytes(shape, &values) + more_bytes;
        let scheme = Leaftl::new(shape, budget, &values);
        let (pages, count) = (PAGES as usize, shape.count as usize);
        let (map, on_flash) = (vec![None; pages], vec![None; pages]);
        let awaits_update = vec![false; count];
        Self { shape, values, budget, scheme, twin: None, map, on_flash, awaits_update, next: 100, misreads: 0 }
    }

    fn with_batch(batch_pages: u64, error_bound: u64, more_bytes: u64) -> Self {
        Self::new(256, more_bytes, [("ftl.leaftl.batch_pages", batch_pages), ("ftl.leaftl.error_bound", error_bound)])
    }

    /// Uses an entry; returns the translation pages read and programmed.
    fn access(&mut self, number: u32, change: bool) -> (usize, usize) {
        let logical = Lpn(number);
        let at = self.map[logical.index()];
        let access = Access { logical, request_end: logical, change, at };
        let free = self.scheme.is_free(logical);
        let mut plan = Plan::default();
        self.scheme.access(&access, &mut plan);
        if let Some(twin) = &mut self.twin {
            let mut other = Plan::default();
            twin.access(&access, &mut other);
            assert_eq!(format!("{plan:?}"), format!("{other:?}"), "a snapshot changed what happens");
        }
        let backs: Vec<WriteBack> = plan.write_backs().collect();
        assert!(backs.is_empty() || !free, "a free access programs {backs:?}");
        assert!(plan.misread.is_none() || plan.misread == at && at.is_some(), "the right page is read");
        assert_eq!(plan.fetch, (!plan.hit).then_some(self.shape.page_of(logical)));
        self.misreads += u32::from(plan.misread.is_some());
        for back in &backs {
            self.program(back.page);
        }
        if change {
            self.map[logical.index()] = None;
        }
        (usize::from(!plan.hit), backs.len())
    }

    fn write(&mut self, number: u32, at: u32) {
        let (logical, at) = (Lpn(number), Ppn(at));
        self.access(number, true);
        self.map[logical.index()] = Some(at);
        [Some(&mut self.scheme), self.twin.as_mut()]
            .into_iter()
            .flatten()
            .for_each(|scheme| scheme.placed(logical, at));
    }

    fn write_next(&mut self, number: u32) {
        self.next += 1;
        self.write(number, self.next);
    }

    fn relocate(&mut self, number: u32) {
        let logical = Lpn(number);
        if self.map[logical.index()].is_none() {
            return;
        }
        self.next += 1;
        let to = Ppn(self.next);
        self.map[logical.index()] = Some(to);
        let taken = self.scheme.relocated(logical, to);
        if let Some(twin) = &mut self.twin {
            assert_eq!(twin.relocated(logical, to), taken);
        }
        assert!(!taken || self.scheme.is_dirty(logical));
        self.awaits_update[self.shape.page_of(logical).index()] |= !taken;
    }

    /// A collection ends.
    fn update(&mut self) {
        for page in self.shape.pages() {
            if self.awaits_update[page.index()] {
                [Some(&mut self.scheme), self.twin.as_mut()]
                    .into_iter()
                    .flatten()
                    .for_each(|scheme| scheme.programmed(page));
                self.program(page);
            }
        }
    }

    fn program(&mut self, page: Tpn) {
        self.awaits_update[page.index()] = false;
        for logical in self.shape.range(page).map(Lpn) {
            if !self.scheme.is_dirty(logical) {
                self.on_flash[logical.index()] = self.map[logical.index()];
            }
        }
    }

    fn restore(&mut self) {
        let mut writer = SnapshotWriter::new();
        self.scheme.save(&mut writer);
        let bytes = writer.into_bytes();
        let mut restored = Leaftl::new(self.shape, self.budget, &self.values);
        restored.load(&mut SnapshotReader::new(&bytes)).expect("it fits a scheme of the same shape");
        let mut again = SnapshotWriter::new();
        restored.save(&mut again);
        assert!(bytes == again.into_bytes(), "what was read is not what was written");
        self.twin = Some(std::mem::replace(&mut self.scheme, restored));
    }

    /// The power is cut: what was in memory is gone, and all translation pages are written anew.
    fn lose_power(&mut self) {
        self.scheme = Leaftl::new(self.shape, self.budget, &self.values);
        self.twin = None;
        self.shape.pages().for_each(|page| self.program(page));
    }

    fn verify(&self) {
        self.scheme.check().unwrap();
        assert!(self.scheme.cached_bytes() <= self.budget);
        for logical in (0..PAGES).map(Lpn) {
            let known = self.scheme.is_dirty(logical) || self.awaits_update[self.shape.page_of(logical).index()];
            let same = self.map[logical.index()] == self.on_flash[logical.index()];
            assert!(known || same, "the entry of logical page {logical} is clean, but flash has another");
        }
    }

    fn counter(&self, name: &str) -> u64 {
        let mut report = LayerReport::default();
        self.scheme.report(&mut report);
        report.counters[name]
    }
}

#[test]
fn a_drive_written_in_order_takes_a_few_bytes() {
    let mut drive = Drive::with_batch(64, 0, 4_000);
    (0..PAGES).for_each(|logical| drive.write_next(logical));
    drive.scheme.learn_batch();
    assert_eq!((drive.counter("learned_segments"), drive.counter("learned_pages")), (3, u64::from(PAGES)));
    assert_eq!(
        (drive.counter("learned_bytes"), drive.counter("learned_page_map_bytes")),
        (3 * 16, 4 * u64::from(PAGES))
    );
}

#[test]
fn a_map_of_runs_takes_a_bit_a_page_and_four_bytes_a_run() {
    let mut drive = Drive::with_batch(64, 0, 4_000);
    (0..PAGES).for_each(|logical| drive.write_next(logical));
    drive.scheme.learn_batch();
    let units = drive.shape.pages().count() as u64;
    let bits = u64::from(drive.shape.entries()).div_ceil(8);
    assert_eq!(drive.counter("learned_run_map_bytes"), units * (bits + 4));
    // A page that is written again ends a run and begins two.
    drive.write_next(1);
    drive.scheme.learn_batch();
    assert_eq!(drive.counter("learned_run_map_bytes"), units * (bits + 4) + 8);
}

#[test]
fn a_predicted_page_that_is_wrong_is_read_in_vain() {
    let mut drive = Drive::with_batch(200, 2, 4_000);
    // A row with pages of others in between, here one, there two of them.
    (0..200).for_each(|logical| drive.write(logical, 1_000 + 2 * logical + logical * logical % 3));
    assert_eq!(drive.misreads, 0, "what is not learned is exact");
    drive.scheme.learn_batch();
    assert!(drive.counter("learned_approximate_segments") > 0);
    let wrong = (0..200)
        .filter(|logical| Some(Ppn(drive.scheme.answer(Lpn(*logical)).page)) != drive.map[*logical as usize])
        .count();
    for logical in 0..200 {
        drive.access(logical, false);
    }
    assert!(wrong > 0 && drive.misreads as usize == wrong);
    drive.verify();
}

#[test]
fn the_least_recently_used_unit_leaves_and_comes_back_whole() {
    let mut drive = Drive::with_batch(16, 0, 1_300);
    for logical in [0, 1, 300, 301, 600] {
        drive.write_next(logical);
    }
    assert_eq!(drive.access(1, false), (0, 0), "three small units fit");
    // Units of pages in disorder need all of the memory.
    (256..512).for_each(|logical| drive.write(logical, 5_000 + logical * 7_919 % 256 * 100));
    assert_eq!(drive.access(1, false).0, 1);
    assert_eq!(drive.access(2, false), (0, 0));
    drive.verify();
}

#[test]
fn collection_notes_what_it_moves_as_long_as_accesses_stay_free() {
    let mut drive = Drive::with_batch(1_000, 0, 1_300);
    (0..40).for_each(|logical| drive.write_next(logical));
    let mut taken = 0;
    for logical in (0..40).cycle().take(80) {
        let free = drive.scheme.is_free(Lpn(logical));
        drive.relocate(logical);
        taken += u32::from(!drive.awaits_update[0]);
        assert!(!free || drive.scheme.is_free(Lpn(logical)));
    }
    assert!(taken > 0);
    drive.update();
    drive.verify();
}

proptest! {
    #[test]
    fn answers_agree_with_a_plain_map_within_the_budget(
        entries in prop::sample::select(vec![4_u32, 64, 256, 512]),
        more_bytes in prop::sample::select(vec![0_u64, 40, 700, 3_000]),
        batch_pages in 1..40_u64,
        error_bound in 0..6_u64,
        steps in prop::collection::vec((0..13_u8, 0..PAGES, 1..60_u32, 1..6_u32), 0..60),
    ) {
        let settings = [("ftl.leaftl.batch_pages", batch_pages), ("ftl.leaftl.error_bound", error_bound)];
        let mut drive = Drive::new(entries, more_bytes, settings);
        for (what, first, count, stride) in steps {
            let pages = (first..PAGES).step_by(stride as usize).take(count as usize);
            match what {
                0..3 => pages.for_each(|logical| drive.write_next(logical)),
                // As striped over planes.
                3..5 => {
                    drive.next += 100;
                    let base = drive.next;
                    pages.enumerate().for_each(|(index, logical)| {
                        drive.write(logical, base + 100_000 * (index as u32 % 4 + 1) + index as u32 / 4);
                    });
                }
                5..8 => pages.for_each(|logical| { drive.access(logical, false); }),
                8 => pages.for_each(|logical| { drive.access(logical, true); }),
                9 => {
                    let free = drive.scheme.is_free(Lpn(first));
                    pages.for_each(|logical| drive.relocate(logical));
                    if stride % 2 == 0 {
                        drive.update();
                    }
                    let still_free = drive.scheme.is_free(Lpn(first));
                    prop_assert!(!free || still_free, "a collection made an access cost something");
                    drive.access(first, true);
                }
                10 => drive.update(),
                11 => drive.restore(),
                _ if count < 10 => drive.lose_power(),
                _ => drive.scheme.learn_batch(),
            }
            if what == 12 {
                drive.twin = None;
            }
            drive.verify();
        }
        for logical in 0..PAGES {
            drive.access(logical, false);
        }
        drive.verify();
    }
}
