//! State of each stripe: its pages on flash, its entry in memory, and its lost pages.
//!
//! Protects: an old version is kept for exactly the pages that are newer than the parity on flash.

use crate::cache::Cache;
use crate::choice;
use crate::code::Code;
use crate::gone::Gone;
use crate::layout::StripeLayout;
use crate::rebuild::Chips;
use crate::scheme::Scheme;
use crate::settings::Settings;
use crate::striped::Counters;
use crate::torn::Torn;
use layer::{Below, Versioned};
use nand::Flash;

/// All stripes, on flash and in memory.
pub(crate) struct Array<F: Flash> {
    pub below: Below<dyn Versioned<F>>,
    pub layout: StripeLayout,
    pub scheme: &'static Scheme,
    pub settings: Settings,
    pub code: Code,
    pub cache: Cache,
    pub chips: Chips,
    /// Pages that are lost for good, and stripes that a power cut tore.
    pub gone: Gone,
    pub torn: Torn,
    /// An old version was dropped: there may be room now.
    pub freed: bool,
    pub counters: Counters,
    pub page_bytes: u32,
    pub full_mask: u64,
}

impl<F: Flash> Array<F> {
    pub fn new(
        scheme: &'static Scheme,
        layout: StripeLayout,
        settings: Settings,
        chips: Chips,
        geometry: &units::Geometry,
        below: Box<dyn Versioned<F>>,
    ) -> Self {
        let cost = |newer| {
            let (old, others) = scheme.commit_reads(layout.data, newer);
            old.min(others)
        };
        let limits = [if scheme.delays() { settings.entries } else { 0 }, settings.in_flight];
        Self {
            below: Below::new(below),
            layout,
            scheme,
            code: Code::new(layout.data, layout.parity),
            cache: Cache::new(layout.stripes(), limits, choice::build(settings.victim), layout.data, cost),
            settings,
            chips,
            gone: Gone::default(),
            torn: Torn::default(),
            freed: false,
            counters: Counters::default(),
            page_bytes: geometry.page_bytes,
            full_mask: geometry.full_mask(),
        }
    }

    /// Whether a write of these data pages commits their stripe at once, so that it leaves memory with it.
    #[inline]
    pub fn is_transient(&self, pages: u64) -> bool {
        !self.scheme.delays() || pages == self.layout.all()
    }
}
