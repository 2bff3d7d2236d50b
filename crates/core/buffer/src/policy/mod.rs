//! Policies: where written pages are kept, and which leave first.
//!
//! A policy sees what is buffered and names a victim; the layer writes it back. Its lists follow what the
//! layer tells it: pages that came, pages that left.

mod block;
mod block_list;
mod cbm;
mod cflru;
mod fab;
mod group;
mod identify;
mod lb_clock;
pub(crate) mod outside;
mod page;
mod page_list;
mod sorted;
mod two_level;

use crate::buffered::Buffered;
use crate::parameters::{self, Area, Shape};
use crate::store::{State, Store};
use crate::{Buffer, BufferContext, Build};
use layer::{Declared, LayerReport, PageLayer, Parameter, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use nand::{Flash, FlashState};
use std::sync::LazyLock;
use units::{Lpn, quantity};

/// A part of a write within one logical block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub block: u32,
    pub first: Lpn,
    pub pages: u32,
    /// First sector and the one behind the last, counted from the beginning of the block.
    pub sectors: (u32, u32),
    /// Sectors of the whole request.
    pub request_sectors: u32,
}

/// A page or block that leaves the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    Page(u32),
    /// All pages of a logical block in the area, in order; completed to a whole block if `pad`.
    Block {
        block: u32,
        pad: bool,
    },
}

/// See the module description.
pub(crate) trait Policy: Sized + 'static {
    /// The areas it uses.
    const AREAS: &'static [Area];
    /// Pages the host reads are kept as well.
    const KEEPS_READS: bool = false;
    /// A logical block may take room for all of its pages (`buffer.accounting`).
    const HAS_FRAMES: bool = false;
    /// A logical block that is all there is written as a whole when it leaves for a flush.
    const COMPLETES: bool = true;
    /// Both areas share one room, and logical blocks may move from the one for pages to the other one.
    const SHARES_ROOM: bool = false;
    /// It knows without a search what leaves next.
    const LOOKS_AHEAD: bool = false;

    /// Bytes of the buffer that belong to the area for blocks.
    fn blocks_bytes(values: &Values) -> u64;

    /// A policy for an empty buffer.
    fn new(shape: Shape, values: &Values) -> Self;

    /// The area a piece of a write goes to.
    fn route(&mut self, piece: &Piece, store: &Store) -> Area;

    /// A page was put into a slot; `is_new`: it was not there.
    fn put(&mut self, store: &Store, area: Area, slot: u32, is_new: bool);

    /// A piece, or as much of it as found room, was put.
    fn wrote(&mut self, _store: &Store, _area: Area, _piece: &Piece) {}

    /// A buffered page was read.
    fn read(&mut self, _store: &Store, _area: Area, _slot: u32) {}

    /// A page left an area; the store does not count it any more.
    fn left(&mut self, store: &Store, area: Area, slot: u32, logical: Lpn);

    /// What leaves an area next; nothing when nothing is there.
    fn victim(&mut self, store: &Store, area: Area) -> Option<Victim>;

    /// Logical blocks that may leave next and after that, of a policy that looks ahead.
    #[inline]
    fn look_ahead(&self) -> [Option<u32>; 2] {
        [None; 2]
    }

    /// The area that gives up a page when one is put into `area`; another one only if both share their room.
    #[inline]
    fn giver(&self, area: Area) -> Area {
        area
    }

    /// Whether the dirty pages of a logical block move from the area for pages to the one for blocks; asked
    /// after a write to the first.
    #[inline]
    fn moves(&mut self, _store: &Store, _block: u32) -> bool {
        false
    }

    /// Whether a page that is being read is kept only in the place of another one, whatever room there is.
    #[inline]
    fn is_full_of_reads(&self) -> bool {
        false
    }

    /// The page that makes place for one that is being read; never a dirty one.
    fn read_victim(&mut self, store: &Store) -> Option<u32> {
        match self.victim(store, Area::Pages) {
            Some(Victim::Page(slot)) if store.slot(slot).state != State::Dirty => Some(slot),
            _ => None,
        }
    }

    /// Bytes a controller needs for its lists.
    fn ram_bytes(&self) -> u64;

    /// Checks its lists against what is buffered.
    fn check(&self, store: &Store) -> Result<(), String>;

    /// Counters of its own.
    fn report(&self, _report: &mut LayerReport) {}

    /// Counters begin at zero.
    fn reset_counters(&mut self) {}

    /// Writes what cannot be told from the order in which pages are put.
    fn save(&self, store: &Store, writer: &mut SnapshotWriter);

    /// Reads what [`Policy::save`] wrote; the store has its pages again, the policy has heard of none.
    fn load(&mut self, store: &Store, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;
}

fn entry<P: Policy>(name: &'static str, doc: &'static str, when: &'static str, own: fn() -> Vec<Parameter>) -> Buffer {
    Buffer { name, doc, when, parameters: own, check: check::<P> }
}

fn check<P: Policy>(context: &BufferContext<'_>) -> Result<(), String> {
    let blocks = P::blocks_bytes(context.values);
    let total = context.values.whole("buffer.size");
    if blocks > total {
        let [part, whole] = [blocks, total].map(quantity::exact_size);
        let page = u64::from(context.geometry.page_bytes);
        let least = quantity::size_at_least(blocks + page, page).unwrap_or_default();
        return Err(format!(
            "buffer.block_buffer is {part} of a buffer of {whole} (buffer.size); raise buffer.size to \"{least}\" or \
             more, or lower buffer.block_buffer"
        ));
    }
    parameters::check(context, &parameters::shape::<P>(context), P::AREAS)
}

/// Parameters of a buffer: the common ones and its own.
fn with_common(own: &[Parameter]) -> Vec<Parameter> {
    let mut all = parameters::common();
    all.extend_from_slice(own);
    all
}

/// The table: what a buffer is, and the policy that builds it. Whoever names a kind of flash compiles all of them for
/// it.
macro_rules! table {
    ($($about:path => $policy:ty,)*) => {
        fn built_in() -> Vec<Buffer> {
            vec![$($about()),*]
        }

        /// The builder that puts the buffer called `name` over a layer.
        pub(crate) fn build<F: Flash>(name: &str) -> Option<Build<F>> {
            $(if name == $about().name {
                return Some(put::<$policy, F>);
            })*
            outside::is_from_outside(name).then_some(put::<outside::Outside, F>)
        }
    };
}

table! {
    block::block_lru => block::Blocks<true>,
    block::block_only => block::Blocks<false>,
    cbm::entry => cbm::Cbm,
    cflru::entry => cflru::Cflru,
    fab::entry => fab::Fab,
    group::entry => group::Groups,
    lb_clock::entry => lb_clock::LbClock,
    page::page_lru => page::Pages<false>,
    page::page_only => page::Pages<true>,
    sorted::entry => sorted::Sorted,
    two_level::entry => two_level::TwoLevel,
}

/// Whether the buffer called `name` reads the key called `own`.
pub(crate) fn declares(own: &str, name: &str) -> bool {
    static BUILT_IN: LazyLock<Declared> =
        LazyLock::new(|| Declared::new(built_in().into_iter().map(|entry| (entry.name, (entry.parameters)()))));
    // Registered ones come at any time, and all read the same keys.
    static REGISTERED: LazyLock<Vec<Parameter>> = LazyLock::new(outside::parameters);
    let is_theirs = || REGISTERED.iter().any(|parameter| parameter.key == own);
    BUILT_IN.declares(own, name) || is_theirs() && outside::is_from_outside(name)
}

/// The table of buffers, and those a program around this one has registered.
pub(crate) fn entries() -> Vec<Buffer> {
    built_in().into_iter().chain(outside::entries()).collect()
}

fn put<P: Policy, F: Flash>(
    context: &BufferContext<'_>,
    below: Box<dyn PageLayer<F>>,
    flash: &FlashState,
) -> Box<dyn PageLayer<F>> {
    Box::new(Buffered::<F, P>::new(context, below, flash))
}
