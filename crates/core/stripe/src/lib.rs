//! Stripes over the chips of a drive: RAID inside the SSD.
//!
//! One layer ([`layer::PageLayer`]) between the buffer and a mapping that leaves every page on its chip. To add a
//! scheme, write a line in `scheme.rs`, and its differences where the layer asks for them.

mod around;
mod array;
mod cache;
pub mod choice;
mod code;
mod commit;
mod flush;
mod gone;
mod jobs;
mod layout;
mod line;
mod load;
mod page_layer;
mod read;
mod rebuild;
mod recover;
mod scheme;
mod settings;
mod stalled;
mod striped;
mod token;
mod torn;
mod trims;
mod update;
mod waiting;
mod way;
mod work;

pub use layout::{MOST_DATA, Member, StripeLayout};
pub use settings::{MAPPED, has_own_map, kinds_in_pages, parameters, stripe_choices, stripe_names};

use array::Array;
use ftl::mapping::{FtlContext, RecoverError, Stripes, VersionedEntry, elastic};
use layer::{PageLayer, Values, Versioned};
use layout::Shape;
use nand::{Flash, FlashState};
use rebuild::Chips;
use settings::{Plan, Settings};
use striped::Striped;
use units::{DieId, Geometry, Organization};

/// The stripes of a drive.
#[derive(Clone, Copy, Debug)]
pub struct StripePlan(Plan);

impl StripePlan {
    /// The stripes of a configuration for `user_pages`; nothing where `stripe.kind` is `none`.
    ///
    /// # Errors
    /// Why the values do not fit, in words.
    pub fn new(values: &Values, organization: &Organization, user_pages: u64) -> Result<Option<Self>, String> {
        Ok(settings::plan(values, organization, user_pages)?.map(Self))
    }

    pub fn layout(&self) -> StripeLayout {
        self.0.layout
    }

    /// Most pages that leave the gathering buffer together.
    pub fn group(&self) -> u32 {
        self.0.group
    }

    /// Dies kept as spares.
    pub fn spares(&self) -> u32 {
        self.0.spares
    }

    /// Blocks of each plane that hold no data, where stripes have a map of their own.
    pub fn own_reserve(&self) -> Option<u32> {
        self.0.scheme.elastic.then_some(elastic::RESERVE)
    }

    /// State of these stripes that is not in the pages of flash and outlives a power cut, in words. `None`: nothing.
    pub fn not_in_pages(&self) -> Option<&'static str> {
        self.0.scheme.not_in_pages()
    }

    /// Differences of these stripes where requests are served one at a time (`has_time`), or where commands take no
    /// time, in words. `None`: nothing that changes what is written.
    pub fn alone(&self, has_time: bool) -> Option<&'static str> {
        self.0.scheme.alone(has_time)
    }

    /// Whether pages that are on their way to flash keep their room in the gathering buffer without time as in time.
    pub fn keeps_room(&self) -> bool {
        self.0.scheme.elastic
    }

    /// Old versions of pages that may have to be kept in one plane at once.
    pub fn most_old(&self, values: &Values) -> u64 {
        if self.0.layout.parity == 0 {
            return 0;
        }
        let settings = Settings::read(values);
        let delayed = if self.0.scheme.delays() { settings.entries } else { 0 };
        let stripes = u64::from(delayed + settings.in_flight);
        stripes.min(u64::from(self.0.layout.stripes()))
    }

    /// Keys that say how many old versions are kept. `None`: a map of their own sees to that.
    pub fn old_keys(&self) -> Option<&'static str> {
        let Plan { scheme, .. } = self.0;
        (!scheme.elastic).then_some(if scheme.delays() {
            "stripe.cache.entries or stripe.in_flight"
        } else {
            "stripe.in_flight"
        })
    }

    /// Planes in use, in the order in which consecutive pages of the mapping use them: chips of a stripe are on
    /// different dies, and on different channels as far as there are any.
    fn lanes(&self, geometry: &Geometry) -> Vec<u32> {
        let dies = geometry.dies() - self.0.spares;
        let lanes = (0..geometry.planes_per_die).flat_map(|plane| (0..dies).map(move |die| (die, plane)));
        lanes.map(|(die, plane)| die * geometry.planes_per_die + plane).collect()
    }

    fn elastic_chips(&self) -> elastic::Chips {
        elastic::Chips { data: self.0.layout.data, spares: self.0.spares }
    }

    /// The chips as flash in this state has them: some may be lost, and spares in their place.
    fn chips(&self, geometry: &Geometry, state: &FlashState) -> Chips {
        let spares = (geometry.dies() - self.0.spares..geometry.dies()).map(DieId).collect();
        let mut chips = Chips::new(self.lanes(geometry), geometry.planes_per_die, spares);
        for replaced in recover::replacements(state) {
            chips.replace(&replaced, self.0.layout.stripes());
        }
        let dies = (0..geometry.dies()).map(DieId);
        dies.filter(|die| state.die_is_dead(*die)).for_each(|die| chips.lose_quietly(die));
        chips
    }

    /// Stripes over a mapping built by `entry` over erased flash, or flash whose snapshot they will load;
    /// elastic ones bring a map of their own.
    pub fn build<F: Flash>(
        &self,
        context: &FtlContext<'_>,
        entry: &VersionedEntry<F>,
        flash: &F,
    ) -> Box<dyn PageLayer<F>> {
        if self.0.scheme.elastic {
            return elastic::build(context, self.elastic_chips(), flash);
        }
        let chips = self.chips(&context.geometry, flash.state());
        let below = self.with_mapping(context, &chips, flash.state(), |context| (entry.build)(context, flash));
        let mut array = self.over(context, chips, below);
        array.adopt_all(flash.state());
        Box::new(Striped::new(array))
    }

    /// Stripes over a mapping, both rebuilt from what a power cut left.
    ///
    /// # Errors
    /// The mapping cannot be rebuilt.
    pub fn recover<F: Flash>(
        &self,
        context: &FtlContext<'_>,
        entry: &VersionedEntry<F>,
        image: &FlashState,
    ) -> Result<Box<dyn PageLayer<F>>, RecoverError> {
        if self.0.scheme.elastic {
            return elastic::recover(context, self.elastic_chips(), image);
        }
        let chips = self.chips(&context.geometry, image);
        let below = self.with_mapping(context, &chips, image, |context| (entry.recover)(context, image))?;
        let mut array = self.over(context, chips, below);
        array.recover(image);
        Ok(Box::new(Striped::new(array)))
    }

    fn with_mapping<T>(
        &self,
        context: &FtlContext<'_>,
        chips: &Chips,
        image: &FlashState,
        build: impl FnOnce(&FtlContext<'_>) -> T,
    ) -> T {
        let shape = &Shape { layout: self.0.layout, chips, covered: recover::covered(image) };
        let moves_old = settings::MOVES_OLD.read(context.values);
        let given = shape.covered.values().copied().max().unwrap_or(0);
        let stripes = Stripes {
            lanes: &chips.planes,
            lanes_per_plane: 1,
            run: 1,
            shape,
            moves_old,
            given,
            may_fail: self.0.layout.parity,
            in_turn: false,
        };
        build(&FtlContext {
            user_pages: self.0.layout.pages() as u32,
            stripes: Some(stripes),
            group_pages: 1,
            ..*context
        })
    }

    fn over<F: Flash>(&self, context: &FtlContext<'_>, chips: Chips, below: Box<dyn Versioned<F>>) -> Array<F> {
        Array::new(self.0.scheme, self.0.layout, Settings::read(context.values), chips, &context.geometry, below)
    }
}
