//! Mappings: how logical pages find their flash pages.
//!
//! To add one: a file in `page_level/schemes` or `log_block/schemes`, its `mod` there and a line in the table below.
//! A mapping that caches its map also has a line in `conduct.rs`, which a test asks for. From that line come its
//! configuration name, its parameters, the help text and the conformance and crash tests.

mod common;
pub mod elastic;
mod entry;
mod log_block;
mod page_level;
mod pages;
mod ranges;
mod tombstones;

use layer::{Condition, Declared, Named, PageLayer, Parameter, Values, Versioned, of_table};
use log_block::schemes::{bast, block, fast};
use nand::{Flash, FlashState, Owner};
use page_level::Translation;
pub use page_level::refresh::limits as refresh_limits;
use page_level::schemes::{cdftl, dftl, leaftl, page, shrd, superpage, tpftl, tpm};
pub use page_level::{MOST_GROUP_PAGES, PACE, SLC_CACHED, SUPERBLOCKS};
use std::sync::LazyLock;
pub use superpage::Lockstep;
use units::{Geometry, Lpn};

/// Which pages of a mapping belong together.
pub trait StripeShape: std::fmt::Debug {
    /// The pages with the parities of the stripe a page belongs to; a parity page names itself as well.
    fn parities(&self, logical: Lpn) -> [Option<Lpn>; 2];

    /// The last sequence number that a parity outside of flash covers, where there is one for this stripe.
    fn covered_until(&self, logical: Lpn) -> Option<u64>;
}

/// The demands of a stripe layer on the mapping below it.
#[derive(Clone, Copy, Debug)]
pub struct Stripes<'a> {
    /// Lanes that consecutive runs of logical pages use in turn and that their pages never leave. A lane is a plane or
    /// a part of one; the lanes of a plane follow each other.
    pub lanes: &'a [u32],
    /// Lanes of a plane: 1, or more if they divide its blocks evenly.
    pub lanes_per_plane: u32,
    /// Logical pages of a run.
    pub run: u32,
    /// Which pages belong together.
    pub shape: &'a dyn StripeShape,
    /// Collection moves old versions instead of waiting until they are dropped.
    pub moves_old: bool,
    /// Sequence numbers up to this one were given before a power cut, even if flash shows lower ones.
    pub given: u64,
    /// Chips that may fail: the mapping writes its own records once more for each.
    pub may_fail: u32,
    /// Planes collect one after the other, so that the others can answer for the one that does. Only where collection
    /// waits for nobody above.
    pub in_turn: bool,
}

/// How a mapping is built under a stripe layer.
pub struct VersionedEntry<F: Flash> {
    /// Builds it over erased flash.
    pub build: fn(&FtlContext<'_>, &F) -> Box<dyn Versioned<F>>,
    /// Rebuilds it from what a power cut left.
    pub recover: fn(&FtlContext<'_>, &FlashState) -> RecoveredVersioned<F>,
}

/// A mapping under a stripe layer rebuilt after a power cut.
pub type RecoveredVersioned<F> = Result<Box<dyn Versioned<F>>, RecoverError>;

/// The inputs of a new mapping.
#[derive(Clone, Copy, Debug)]
pub struct FtlContext<'a> {
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Logical pages to serve.
    pub user_pages: u32,
    /// By which number flash knows it.
    pub owner: Owner,
    /// Seed of the run.
    pub seed: u64,
    /// Configuration whose values were checked.
    pub values: &'a Values,
    /// The demands of a stripe layer above, if there is one.
    pub stripes: Option<Stripes<'a>>,
    /// Pages of an aligned window: a power cut leaves each write whole within one. 1: each page by itself. More only
    /// where [`Mapping::keeps_groups`] says so, without stripes.
    pub group_pages: u32,
}

/// The shape of a drive before its spare space is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a flash page.
    pub page_bytes: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Planes of the whole drive.
    pub planes: u32,
    /// Logical pages to serve.
    pub user_pages: u32,
}

/// Why a mapping cannot be rebuilt from flash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoverError {
    /// Flash holds no out-of-band areas.
    #[error("nothing can be recovered: contents are off, so flash holds no out-of-band areas")]
    NoContents,
    /// What a lost die held cannot be told from what was overwritten since.
    #[error(
        "die {die} is lost and the mapping keeps no redundancy: older versions of its pages on other dies cannot be \
         told from the newest"
    )]
    DieLost {
        /// The die that does not answer.
        die: u32,
    },
}

/// A mapping rebuilt after a power cut.
pub type Recovered<F> = Result<Box<dyn PageLayer<F>>, RecoverError>;

/// A mapping: its properties before a drive exists.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its idea, in a line.
    pub doc: &'static str,
    /// When to use it and at which cost, in a sentence or two.
    pub when: &'static str,
    /// Parameters that it reads, whether or not others do.
    pub parameters: fn() -> Vec<Parameter>,
    /// Spare blocks of each plane it needs beyond the user's pages; an error says in words why the
    /// configuration does not fit.
    pub reserve_blocks: fn(&Values, &Layout) -> Result<u32, String>,
    /// Blocks of each plane that collection keeps erased beyond `reserve_blocks` (`ftl.gc.free_blocks`). `None`:
    /// nothing is collected; spare blocks are log blocks, and their number is a choice.
    pub kept_erased: Option<fn(&Values) -> u32>,
    /// Blocks of each plane that collection keeps erased beyond those where commands may fail; `blocks`: good ones of a
    /// plane. Of a plane in segments, each counts as one.
    pub kept_for_failures: fn(&Values, &Layout, u32) -> u32,
    /// It can be built under a stripe layer: pages stay on their chip.
    pub is_versioned: bool,
    /// A write of several pages can be left whole by a power cut ([`FtlContext::group_pages`]).
    pub keeps_groups: bool,
}

/// The builder of a mapping over one kind of flash.
pub struct Builder<F: Flash> {
    /// Builds it over erased flash.
    pub build: fn(&FtlContext<'_>, &F) -> Box<dyn PageLayer<F>>,
    /// Rebuilds it from what a power cut left.
    pub recover: fn(&FtlContext<'_>, &FlashState) -> Recovered<F>,
    /// How it is built under a stripe layer; nothing where pages do not stay on their chip.
    pub versioned: Option<VersionedEntry<F>>,
}

/// The table: the file of a mapping, and what builds it. Code that names a kind of flash compiles all of them for it;
/// whoever only asks what there is compiles none.
macro_rules! table {
    ($($module:ident => $builder:expr,)*) => {
        /// Every mapping there is, in the order of their names.
        pub fn mappings() -> Vec<Mapping> {
            vec![$($module::mapping()),*]
        }

        /// The builder of the mapping called `name`.
        pub fn builder<F: Flash>(name: &str) -> Option<Builder<F>> {
            $(if name == $module::mapping().name {
                return Some($builder);
            })*
            None
        }
    };
}

table! {
    bast => log_block::builder::<bast::Bast, F>(),
    block => log_block::builder::<block::Block, F>(),
    cdftl => page_level::builder::<Translation<cdftl::Cdftl>, F>(),
    dftl => page_level::builder::<Translation<dftl::Dftl>, F>(),
    fast => log_block::builder::<fast::Fast, F>(),
    leaftl => page_level::builder::<Translation<leaftl::Leaftl>, F>(),
    page => Builder {
        versioned: Some(page_level::versioned::<page::Versioned, F>()),
        ..page_level::builder::<page::Page, F>()
    },
    shrd => page_level::builder::<Translation<shrd::Shrd>, F>(),
    superpage => page_level::builder::<page::Page, F>(),
    tpftl => page_level::builder::<Translation<tpftl::Tpftl>, F>(),
    tpm => page_level::builder::<Translation<tpm::Tpm>, F>(),
}

/// The key whose value is the name of a mapping.
pub const KEY: &str = "ftl.kind";

/// A parameter of mappings is read where one that declares it is chosen.
const CHOSEN: Condition = Condition::one_of(KEY, |key, name| DECLARED.declares(key, name));

static DECLARED: LazyLock<Declared> =
    LazyLock::new(|| Declared::new(mappings().into_iter().map(|entry| (entry.name, (entry.parameters)()))));

/// Parameters of all mappings.
pub fn parameters() -> Vec<Parameter> {
    of_table(mappings().iter().flat_map(|entry| (entry.parameters)()), CHOSEN)
}

/// The mapping called `name`.
pub fn find(name: &str) -> Option<Mapping> {
    mappings().into_iter().find(|mapping| mapping.name == name)
}

/// Names of all mappings, with a description of each.
pub fn mapping_choices() -> Vec<Named> {
    mappings().iter().map(|entry| (entry.name, entry.doc)).collect()
}

/// When to use each mapping.
pub fn mapping_uses() -> Vec<Named> {
    mappings().iter().map(|entry| (entry.name, entry.when)).collect()
}

/// Names of all mappings.
pub fn mapping_names() -> Vec<&'static str> {
    mapping_choices().into_iter().map(|(name, _)| name).collect()
}
