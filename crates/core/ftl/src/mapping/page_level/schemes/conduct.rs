//! Tests of schemes by themselves: the cost of one access, and the laws of every scheme.

use crate::mapping::page_level::scheme::{Access, Plan, Scheme, TranslationShape, WriteBack};
use layer::{Parameter, ParameterKind, SnapshotReader, SnapshotWriter, Values};
use proptest::prelude::*;
use units::{Lpn, Ppn, Tpn};

/// A scheme, and its translation pages as flash would hold them.
pub(in crate::mapping) struct Trial<S> {
    shape: TranslationShape,
    budget: u64,
    values: Values,
    scheme: S,
    /// The scheme as it was before it went through a snapshot: from then on it must do the same.
    twin: Option<S>,
    /// Version of each entry, and the one on flash.
    newest: Vec<u32>,
    on_flash: Vec<u32>,
    /// Where each logical page is, and the flash page that is programmed next.
    at: Vec<Option<Ppn>>,
    next: u32,
    /// Collection has changed entries of this translation page that are not in memory.
    awaits_update: Vec<bool>,
}

impl<S: Scheme> Trial<S> {
    /// A scheme with an empty cache and these settings; the others have their defaults.
    pub fn new(shape: TranslationShape, budget: u64, parameters: Vec<Parameter>, settings: &[(&str, &str)]) -> Self {
        let values = testing::values(parameters, settings);
        let (pages, count) = (shape.user_pages as usize, shape.count as usize);
        Self {
            shape,
            budget,
            scheme: S::new(shape, budget, &values),
            values,
            twin: None,
            newest: vec![0; pages],
            on_flash: vec![0; pages],
            at: vec![None; pages],
            next: 0,
            awaits_update: vec![false; count],
        }
    }

    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Whether using the entry of logical page `number` writes nothing back.
    pub fn is_free(&self, number: u32) -> bool {
        self.scheme.is_free(Lpn(number))
    }

    /// Whether memory holds a newer entry of logical page `number` than flash.
    pub fn is_dirty(&self, number: u32) -> bool {
        self.scheme.is_dirty(Lpn(number))
    }

    /// Reads the entry of a request of one page; returns the translation pages read and programmed.
    pub fn read(&mut self, number: u32) -> (usize, usize) {
        self.use_in(number, number, false)
    }

    /// Changes the entry in a request of one page; returns as [`Trial::read`].
    pub fn write(&mut self, number: u32) -> (usize, usize) {
        self.use_in(number, number, true)
    }

    /// Uses the entry in a request that ends at page `last`; returns as [`Trial::read`].
    pub fn use_in(&mut self, number: u32, last: u32, change: bool) -> (usize, usize) {
        let logical = Lpn(number);
        let access = Access { logical, request_end: Lpn(last), change, at: self.at[logical.index()] };
        let free = self.scheme.is_free(logical);
        let mut plan = Plan::default();
        self.scheme.access(&access, &mut plan);
        if let Some(twin) = &mut self.twin {
            let mut other = Plan::default();
            twin.access(&access, &mut other);
            assert_eq!(format!("{plan:?}"), format!("{other:?}"), "a snapshot changed what happens");
        }
        let backs: Vec<WriteBack> = plan.write_backs().collect();
        assert!(backs.is_empty() || !free, "a free access writes {backs:?}");
        assert!(backs.len() <= S::WRITE_BACKS as usize, "too many pages are written: {backs:?}");
        let page = self.shape.page_of(logical);
        assert_eq!(plan.fetch, (!plan.hit).then_some(page), "a miss reads the translation page of its entry");
        for back in &backs {
            self.program(back.page);
        }
        // As in a mapping: the entry changes when its cache is up to date.
        if change {
            let page = self.place(logical);
            self.scheme.placed(logical, page);
            if let Some(twin) = &mut self.twin {
                twin.placed(logical, page);
            }
        }
        let reads = usize::from(!plan.hit) + backs.iter().filter(|back| !back.whole).count();
        self.verify();
        (reads, backs.len())
    }

    /// Collection moves a page; whether its entry was in memory.
    pub fn relocate(&mut self, number: u32) -> bool {
        let logical = Lpn(number);
        let page = self.place(logical);
        let here = self.scheme.relocated(logical, page);
        if let Some(twin) = &mut self.twin {
            assert_eq!(twin.relocated(logical, page), here);
        }
        if !here {
            self.awaits_update[self.shape.page_of(logical).index()] = true;
        }
        self.verify();
        here
    }

    /// Programs a translation page at the end of a collection.
    fn update(&mut self, page: Tpn) {
        self.scheme.programmed(page);
        if let Some(twin) = &mut self.twin {
            twin.programmed(page);
        }
        self.program(page);
        self.verify();
    }

    /// Puts the scheme through a snapshot.
    fn restore(&mut self) {
        let mut writer = SnapshotWriter::new();
        self.scheme.save(&mut writer);
        let bytes = writer.into_bytes();
        let mut restored = S::new(self.shape, self.budget, &self.values);
        restored.load(&mut SnapshotReader::new(&bytes)).expect("it fits a scheme of the same shape");
        let mut again = SnapshotWriter::new();
        restored.save(&mut again);
        assert!(bytes == again.into_bytes(), "what was read is not what was written");
        self.twin = Some(std::mem::replace(&mut self.scheme, restored));
        self.verify();
    }

    /// The flash page of the next version of a logical page.
    fn place(&mut self, logical: Lpn) -> Ppn {
        let page = Ppn(self.next);
        self.next += 1;
        self.at[logical.index()] = Some(page);
        self.newest[logical.index()] += 1;
        page
    }

    fn program(&mut self, page: Tpn) {
        self.awaits_update[page.index()] = false;
        for logical in self.shape.range(page).map(Lpn) {
            if !self.scheme.is_dirty(logical) {
                self.on_flash[logical.index()] = self.newest[logical.index()];
            }
        }
    }

    /// Flash is behind memory only where the scheme knows it, and the cache is within its budget.
    fn verify(&self) {
        self.scheme.check().unwrap();
        assert!(self.scheme.cached_bytes() <= self.budget);
        for logical in (0..self.shape.user_pages).map(Lpn) {
            let known = self.scheme.is_dirty(logical) || self.awaits_update[self.shape.page_of(logical).index()];
            let same = self.newest[logical.index()] == self.on_flash[logical.index()];
            assert!(known || same, "the entry of logical page {logical} is clean, but flash has another");
        }
    }
}

/// Any settings of a scheme's own parameters.
fn settings(
    parameters: fn() -> Vec<Parameter>,
    prefix: &'static str,
) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let own = parameters().into_iter().filter(|parameter| parameter.key.starts_with(prefix));
    own.map(|Parameter { key, kind, .. }| {
        let text = match kind {
            ParameterKind::Choice(names) => prop::sample::select(names()).prop_map(|(name, _)| name.to_owned()).boxed(),
            ParameterKind::Switch => any::<bool>().prop_map(|on| on.to_string()).boxed(),
            ParameterKind::Count { min, .. } => (min..min + 6).prop_map(|count| count.to_string()).boxed(),
            ParameterKind::Share { max } => (0.0..max).prop_map(|share| format!("{:.1}%", share * 100.0)).boxed(),
            other => panic!("no test draws {other:?}"),
        };
        text.prop_map(move |text| (key, text)).boxed()
    })
    .collect::<Vec<_>>()
}

/// One step: what is done, a logical page, and how far the request goes.
type Step = (u8, u32, u32);

fn live<S: Scheme>(parameters: Vec<Parameter>, settings: &[(&str, String)], size: (u32, u64), steps: &[Step]) {
    let shape = TranslationShape::new(61, 1 << size.0);
    let settings: Vec<(&str, &str)> = settings.iter().map(|(key, text)| (*key, text.as_str())).collect();
    let mut trial = Trial::<S>::new(shape, 0, parameters, &settings);
    let budget = S::least_bytes(shape, &trial.values) + size.1;
    (trial.budget, trial.scheme) = (budget, S::new(shape, budget, &trial.values));
    for &(what, logical, pages) in steps {
        let last = (logical + pages).min(60);
        match what {
            0..6 => (logical..=last).for_each(|page| {
                trial.use_in(page, last, what % 2 == 0);
            }),
            6 => {
                trial.relocate(logical);
            }
            7 => trial.update(shape.page_of(Lpn(logical))),
            8 => trial.restore(),
            _ => {
                // What was free stays free whatever a collection moves in between.
                let free = trial.is_free(logical);
                (0..61).step_by(1 + pages as usize).for_each(|page| {
                    trial.relocate(page);
                });
                assert!(trial.is_free(logical) || !free, "a collection made an access cost something");
                trial.write(logical);
            }
        }
    }
}

/// Tests that each scheme keeps to what schemes promise, named as it is in the table of mappings.
macro_rules! keep_their_promises {
    ($($module:ident: $scheme:ident;)*) => {
        const TESTED: &[&str] = &[$(stringify!($module)),*];

        mod keeps_its_promises {
            use super::*;
            use crate::mapping;

            proptest! {$(
                #[test]
                fn $module(
                    settings in settings(mapping::$module::parameters, concat!("ftl.", stringify!($module), ".")),
                    size in (2..5_u32, 0..400_u64),
                    steps in prop::collection::vec((0..10_u8, 0..61_u32, 0..9_u32), 0..120),
                ) {
                    live::<mapping::$module::$scheme>(mapping::$module::parameters(), &settings, size, &steps);
                }
            )*}
        }
    };
}

keep_their_promises! {
    cdftl: Cdftl;
    dftl: Dftl;
    leaftl: Leaftl;
    shrd: Shrd;
    tpftl: Tpftl;
    tpm: Tpm;
}

#[test]
fn every_mapping_with_a_map_cache_is_tested_for_what_schemes_promise() {
    let has_cache =
        |mapping: &crate::mapping::Mapping| (mapping.parameters)().iter().any(|own| own.key == "ftl.map_cache");
    let with_cache: Vec<_> =
        crate::mapping::mappings().into_iter().filter(has_cache).map(|mapping| mapping.name).collect();
    assert_eq!(with_cache, TESTED, "a line of `keep_their_promises!` is missing or too many");
}
