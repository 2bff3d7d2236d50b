//! Coded striping over the banks of a drive.
//!
//! One layer ([`layer::PageLayer`]) between the buffer and a mapping whose lanes are segments. Reads of blocks whose
//! zone has a code zone can be served around busy banks.

mod ahead;
mod base;
mod code;
mod codes;
mod fetches;
mod group;
mod jobs;
mod layout;
mod policy;
mod queue;
mod reads;
mod settings;
mod striping;
mod writes;

pub use layout::{Place, ZoneLayout, ZoneShape};
pub use settings::{CODES_AT_START, parameters};

use ftl::mapping::{FtlContext, RecoverError, StripeShape, Stripes, VersionedEntry};
use layer::{PageLayer, Values, Versioned};
use nand::{Flash, FlashState};
use settings::{Plan, Settings};
use striping::CodedStriping;
use units::{Geometry, Lpn, Organization};

/// Value of `stripe.kind` for this layer.
pub const KIND: &str = "coded";

/// The zones of a drive.
#[derive(Clone, Debug)]
pub struct CodedPlan(Plan);

impl CodedPlan {
    /// The zones of a configuration for `user_pages`; nothing where `stripe.kind` is not `coded`.
    ///
    /// # Errors
    /// Why the values do not fit, in words.
    pub fn new(values: &Values, organization: &Organization, user_pages: u64) -> Result<Option<Self>, String> {
        Ok(settings::plan(values, organization, user_pages)?.map(Self))
    }

    /// Where stripe blocks are.
    pub fn layout(&self) -> &ZoneLayout {
        &self.0.layout
    }

    /// Erase blocks of a bank.
    pub fn bank_blocks(&self) -> u64 {
        u64::from(self.0.layout.zones + self.0.layout.code_zones) * u64::from(self.0.segment_blocks)
    }

    /// Zones over a mapping built by `entry` over erased flash.
    pub fn build<F: Flash>(
        &self,
        context: &FtlContext<'_>,
        entry: &VersionedEntry<F>,
        flash: &F,
    ) -> Box<dyn PageLayer<F>> {
        let below = self.with_mapping(context, |context| (entry.build)(context, flash));
        Box::new(self.over(context, below))
    }

    /// Zones over a mapping, both rebuilt from what a power cut left. No code block is used before it is encoded again.
    ///
    /// # Errors
    /// The mapping cannot be rebuilt.
    pub fn recover<F: Flash>(
        &self,
        context: &FtlContext<'_>,
        entry: &VersionedEntry<F>,
        image: &FlashState,
    ) -> Result<Box<dyn PageLayer<F>>, RecoverError> {
        let below = self.with_mapping(context, |context| (entry.recover)(context, image))?;
        Ok(Box::new(self.over(context, below)))
    }

    /// Lanes in the order of segments: zone by zone, bank by bank.
    fn lanes(&self, geometry: &Geometry) -> Vec<u32> {
        let zones = self.0.layout.zones + self.0.layout.code_zones;
        (0..zones).flat_map(|zone| (0..geometry.dies()).map(move |die| die * zones + zone)).collect()
    }

    fn with_mapping<T>(&self, context: &FtlContext<'_>, build: impl FnOnce(&FtlContext<'_>) -> T) -> T {
        let layout = &self.0.layout;
        let stripes = Stripes {
            lanes: &self.lanes(&context.geometry),
            lanes_per_plane: layout.zones + layout.code_zones,
            run: layout.rows * layout.pages,
            shape: &NoParity,
            moves_old: false,
            given: 0,
            may_fail: 0,
            in_turn: settings::CLEANS_IN_TURN.read(context.values),
        };
        build(&FtlContext {
            user_pages: layout.mapped_pages() as u32,
            stripes: Some(stripes),
            group_pages: 1,
            ..*context
        })
    }

    fn over<F: Flash>(&self, context: &FtlContext<'_>, below: Box<dyn Versioned<F>>) -> CodedStriping<F> {
        CodedStriping::new(&self.0, &Settings::read(context.values), &context.geometry, below)
    }
}

/// No page has an old version that counts.
#[derive(Debug)]
struct NoParity;

impl StripeShape for NoParity {
    fn parities(&self, _: Lpn) -> [Option<Lpn>; 2] {
        [None; 2]
    }

    fn covered_until(&self, _: Lpn) -> Option<u64> {
        None
    }
}
