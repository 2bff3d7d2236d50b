//! The differences between mappings with their maps on flash: which entries are cached, and whether each translation
//! page has blocks of its own.
//!
//! A scheme decides what is cached; the mapping around it reads and programs translation pages, finds
//! room for them, collects them and repairs them after a power cut.

use layer::{LayerReport, SnapshotError, SnapshotReader, SnapshotWriter, Values};
use units::{Lpn, Ppn, Tpn};

/// The shape of the translation pages of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TranslationShape {
    /// Logical pages of the user.
    pub user_pages: u32,
    /// Entries of a translation page as a power of two.
    pub shift: u32,
    pub count: u32,
}

impl TranslationShape {
    /// No translation pages: the whole map is in memory.
    pub const NONE: TranslationShape = TranslationShape { user_pages: 0, shift: 0, count: 0 };

    /// `entries` (a power of two) for each translation page.
    pub fn new(user_pages: u32, entries: u32) -> Self {
        Self { user_pages, shift: entries.trailing_zeros(), count: user_pages.div_ceil(entries) }
    }

    /// Entries of a translation page.
    pub fn entries(&self) -> u32 {
        1 << self.shift
    }

    /// The translation page with the entry of a logical page.
    #[inline]
    pub fn page_of(&self, logical: Lpn) -> Tpn {
        Tpn(logical.0 >> self.shift)
    }

    /// Logical pages whose entries are in a translation page.
    pub fn range(&self, page: Tpn) -> std::ops::Range<u32> {
        let first = page.0 << self.shift;
        first..self.user_pages.min(first + self.entries())
    }

    pub fn pages(&self) -> impl Iterator<Item = Tpn> + use<> {
        (0..self.count).map(Tpn)
    }

    /// Whether it is a page of the user, and no translation page.
    #[inline]
    pub fn is_users(&self, logical: Lpn) -> bool {
        logical.0 < self.user_pages
    }
}

/// One use of a map entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub logical: Lpn,
    /// Last logical page of the operation it belongs to.
    pub request_end: Lpn,
    pub change: bool,
    /// Where the page is, if it is anywhere.
    pub at: Option<Ppn>,
}

/// A translation page to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteBack {
    pub page: Tpn,
    /// All its entries are in memory: it need not be read first.
    pub whole: bool,
}

/// Most translation pages one access may write back.
pub(crate) const MOST_WRITE_BACKS: usize = 4;

/// The cost of an access to the cache, in this order: write-backs, then the fetch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    write_backs: [Option<WriteBack>; MOST_WRITE_BACKS],
    count: usize,
    /// Translation page to read.
    pub fetch: Option<Tpn>,
    /// The entry was in memory.
    pub hit: bool,
    /// A page read in vain before the right one was known.
    pub misread: Option<Ppn>,
}

impl Plan {
    pub fn write_back(&mut self, page: Tpn, whole: bool) {
        self.write_backs[self.count] = Some(WriteBack { page, whole });
        self.count += 1;
    }

    /// The write-backs in order.
    pub fn write_backs(&self) -> impl Iterator<Item = WriteBack> + use<> {
        self.write_backs.into_iter().take(self.count).flatten()
    }
}

/// Which map entries are in memory.
pub(crate) trait Scheme: Sized + 'static {
    /// Each translation page has its own write pointer: no block holds data pages of two of them.
    const OWN_BLOCKS: bool = false;
    /// The data of a write is programmed without waiting for its translation page.
    const DATA_FIRST: bool = false;
    /// Most translation pages one access writes back.
    const WRITE_BACKS: u32 = 1;

    /// Bytes of memory for each translation page besides the cache: where it is, and what else the
    /// scheme keeps for it.
    const DIRECTORY_BYTES: u64 = 4;

    /// Smallest cache it works with, bytes.
    fn least_bytes(shape: TranslationShape, values: &Values) -> u64;

    /// An empty cache of `budget` bytes.
    fn new(shape: TranslationShape, budget: u64, values: &Values) -> Self;

    /// Whether using this entry writes nothing back, because it is in memory.
    fn is_free(&self, logical: Lpn) -> bool;

    /// Uses an entry: brings it in if it is missing, makes room for it, marks it if it changes.
    fn access(&mut self, access: &Access, plan: &mut Plan);

    /// A host write of `logical`, whose entry was just used, went to flash page `at`.
    #[inline]
    fn placed(&mut self, _logical: Lpn, _at: Ppn) {}

    /// Collection moved a page. `true`: its entry is in memory and was changed there; otherwise the
    /// translation page is programmed anew with the end of the collection.
    fn relocated(&mut self, logical: Lpn, to: Ppn) -> bool;

    /// Whether memory holds a newer entry than the translation page on flash.
    fn is_dirty(&self, logical: Lpn) -> bool;

    /// The translation page was programmed with every entry that is not dirty after this call.
    fn programmed(&mut self, page: Tpn);

    /// Brings what a lookup of `logical` touches into the processor's cache.
    fn prefetch(&self, logical: Lpn);

    /// Bytes of cached entries, never more than the budget.
    fn cached_bytes(&self) -> u64;

    /// Bytes of memory a controller needs for the scheme besides the cache and the directory of
    /// translation pages.
    fn overhead_bytes(&self) -> u64 {
        0
    }

    /// Checks what must always hold of the scheme's own state.
    ///
    /// # Errors
    /// The first law broken, in words.
    fn check(&self) -> Result<(), String>;

    /// Adds counters of its own.
    fn report(&self, _: &mut LayerReport) {}

    fn reset_counters(&mut self) {}

    /// Writes the cache into a snapshot.
    fn save(&self, writer: &mut SnapshotWriter);

    /// Reads what [`Scheme::save`] wrote.
    ///
    /// # Errors
    /// The snapshot is of another shape.
    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError>;
}
