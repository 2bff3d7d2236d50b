//! The layers of a drive, built over each kind of flash.
//!
//! Every mapping, buffer and stripe is generic over flash, so each kind of flash needs a copy of all of them. They are
//! compiled here, once: [`Stacked`] is a trait of functions that are not generic. Crates above see only
//! [`layer::PageLayer`] behind a pointer, and a change to one of them compiles no layer anew.

use buffer::BufferContext;
use coded::CodedPlan;
use ftl::RecoverError;
use ftl::mapping::{self, Builder, FtlContext, VersionedEntry};
use layer::{ATOMIC, BUFFER_OWNER, GATHER_OWNER, PageLayer, Values};
use nand::{CountedFlash, Flash, FlashState, MeteredFlash, TimedFlash};
use stripe::StripePlan;
use units::Geometry;

/// Layers over one kind of flash.
pub type Layers<F> = Box<dyn PageLayer<F>>;

/// The buffer that gathers the pages of a stripe.
const GATHER_KIND: &str = "group-lru";

/// Parts and settings that layers are built from. The values were checked.
#[derive(Clone, Copy, Debug)]
pub struct StackPlan<'a> {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Logical pages the user sees.
    pub user_pages: u32,
    /// Seed of the drive.
    pub seed: u64,
    pub values: &'a Values,
    /// Stripes over the chips, if there are any.
    pub stripes: Option<&'a StripePlan>,
    /// Zones over the banks, if there are any.
    pub coded: Option<&'a CodedPlan>,
    /// Values of the buffer that gathers the pages of stripes, if there is one.
    pub gather: Option<&'a Values>,
}

/// Flash that layers can be built over.
pub trait Stacked: Flash + Sized {
    /// The builder of the mapping called `name`, for tests of mappings; `None`: no mapping has this name.
    fn mapping(name: &str) -> Option<Builder<Self>>;

    /// Layers over flash in its fresh state.
    fn layers(&self, plan: &StackPlan<'_>) -> Layers<Self>;

    /// Layers rebuilt from what a power cut left.
    ///
    /// # Errors
    /// The mapping cannot be rebuilt.
    fn recovered(plan: &StackPlan<'_>, image: &FlashState) -> Result<Layers<Self>, RecoverError>;

    /// A buffer of this kind over layers; `below` itself where the kind is none.
    fn buffered(kind: &str, context: &BufferContext<'_>, below: Layers<Self>, state: &FlashState) -> Layers<Self>;
}

macro_rules! stacked {
    ($($flash:ty),*) => {$(
        impl Stacked for $flash {
            fn mapping(name: &str) -> Option<Builder<Self>> {
                mapping::builder(name)
            }

            fn layers(&self, plan: &StackPlan<'_>) -> Layers<Self> {
                plan.over(self)
            }

            fn recovered(plan: &StackPlan<'_>, image: &FlashState) -> Result<Layers<Self>, RecoverError> {
                plan.recover(image)
            }

            fn buffered(
                kind: &str,
                context: &BufferContext<'_>,
                below: Layers<Self>,
                state: &FlashState,
            ) -> Layers<Self> {
                buffer_over(kind, context, below, state)
            }
        }
    )*};
}

stacked!(CountedFlash, MeteredFlash, TimedFlash);

impl StackPlan<'_> {
    fn over<F: Flash>(&self, flash: &F) -> Layers<F> {
        let entry = self.builder::<F>();
        let below = match (self.stripes, self.coded) {
            (Some(stripes), _) => stripes.build(&self.context(), versioned(&entry), flash),
            (None, Some(coded)) => coded.build(&self.context(), versioned(&entry), flash),
            (None, None) => (entry.build)(&self.context(), flash),
        };
        self.buffered(below, flash.state())
    }

    fn recover<F: Flash>(&self, image: &FlashState) -> Result<Layers<F>, RecoverError> {
        let entry = self.builder::<F>();
        let below = match (self.stripes, self.coded) {
            (Some(stripes), _) => stripes.recover(&self.context(), versioned(&entry), image)?,
            (None, Some(coded)) => coded.recover(&self.context(), versioned(&entry), image)?,
            (None, None) => (entry.recover)(&self.context(), image)?,
        };
        Ok(self.buffered(below, image))
    }

    fn builder<F: Flash>(&self) -> Builder<F> {
        mapping::builder(self.values.name(mapping::KEY)).expect("mapping names are checked")
    }

    fn context(&self) -> FtlContext<'_> {
        FtlContext {
            geometry: self.geometry,
            user_pages: self.user_pages,
            owner: 0,
            seed: self.seed,
            values: self.values,
            stripes: None,
            group_pages: self.group_pages(),
        }
    }

    /// Pages that the mapping keeps together over a power cut. A buffer above it does so itself.
    fn group_pages(&self) -> u32 {
        let promised = self.values.get(ATOMIC).map_or(0, |_| self.values.whole(ATOMIC));
        let buffered = buffer::find(self.values.name(buffer::KEY)).is_some();
        if buffered { 1 } else { (promised / u64::from(self.geometry.page_bytes)).max(1) as u32 }
    }

    /// Settings that the buffer of the host is built from.
    pub fn buffer_context(&self) -> BufferContext<'_> {
        BufferContext {
            geometry: self.geometry,
            user_pages: self.user_pages,
            owner: BUFFER_OWNER,
            name: "buffer",
            values: self.values,
        }
    }

    /// Puts the buffers, if there are any, over the layers below.
    fn buffered<F: Flash>(&self, below: Layers<F>, state: &FlashState) -> Layers<F> {
        let below = match self.gather {
            Some(values) => {
                let build = buffer::build(GATHER_KIND).expect("the table has the buffer that gathers");
                let context = BufferContext { owner: GATHER_OWNER, name: "gather", values, ..self.buffer_context() };
                build(&context, below, state)
            }
            None => below,
        };
        buffer_over(self.values.name(buffer::KEY), &self.buffer_context(), below, state)
    }
}

/// How the mapping is built under a layer that needs its pages to stay on their chips.
fn versioned<F: Flash>(entry: &Builder<F>) -> &VersionedEntry<F> {
    entry.versioned.as_ref().expect("stripes and zones are configured over mappings whose pages stay on their chips")
}

fn buffer_over<F: Flash>(kind: &str, context: &BufferContext<'_>, below: Layers<F>, state: &FlashState) -> Layers<F> {
    match buffer::build(kind) {
        Some(build) => build(context, below, state),
        None => below,
    }
}
