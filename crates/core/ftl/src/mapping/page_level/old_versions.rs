//! Old versions of pages, kept for a stripe layer: a parity that is not up to date still covers them.
//!
//! A page that is kept stays valid in its block, so it is counted, moved and protected like any other. When
//! collection meets it, it says so and waits for it to be dropped, or moves it (`stripe.semi_valid`).
//!
//! ```text
//! map     -> newest version      back entry of both: the logical page
//! kept    -> kept version        a page in `kept` is never in `map`
//! ```
//!
//! *Protects*: each kept version is a valid page of its own that is not the newest version. Without a stripe layer
//! nothing is kept, and this costs nothing.

use super::entry::{Back, Entry};
use super::pages::Pages;
use super::space::Space;
use crate::mapping::common::{written_blocks, written_pages};
use crate::mapping::{FtlContext, Stripes};
use layer::{Old, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Contents, FlashState, PageKind};
use std::collections::{BTreeMap, BTreeSet};
use units::{BlockId, Geometry, Lpn, Ppn};

/// In a sequence number on flash: the parity covers nothing of the page, even if older versions of it are there.
pub(super) const FRESH: u64 = 1 << 63;

/// The state of a logical page of a mapping when power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Never written, or on a chip that is lost.
    Nothing,
    /// Its newest version carries this sequence number.
    Written(u64),
    /// It was trimmed, by a tombstone with this number.
    Trimmed(u64),
}

/// A page that collection met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// The newest version of its logical page.
    Newest,
    /// An old version that is moved like any valid page.
    Moves,
    /// An old version that stays where it is until it is dropped; the stripe layer is told.
    Stays,
}

/// Copies of old versions that were not chosen, by logical page.
pub(crate) type OldCopies = BTreeMap<Lpn, Vec<Ppn>>;

/// The pages of a mapping after a power cut.
pub(crate) struct Left<'a> {
    pub image: &'a FlashState,
    /// The state of each logical page.
    pub found: &'a [Found],
    /// Number of its newest version, if that says that no parity covers anything of the page.
    pub fresh: &'a [u64],
}

/// Which old versions of its pages a mapping keeps. The default is none.
pub(crate) trait OldVersions: Sized + 'static {
    /// Whether any is ever kept.
    const KEEPS: bool = true;

    /// Nothing is kept yet of so many pages; `has_contents`: flash keeps contents.
    fn new(stripes: Option<Stripes<'_>>, logical_pages: usize, has_contents: bool) -> Self;

    /// `logical`, which the map has at `old`, is written with the number `given`, or the next one. `keep`: what it was
    /// is its old version from now on, unless it has one. Its number as it goes to flash, and whether the flash page
    /// that it was on stays valid.
    #[inline(always)]
    fn write(&mut self, pages: &mut Pages, _: Lpn, _: Entry, given: Option<u64>, _: bool) -> (u64, bool) {
        (given.unwrap_or_else(|| pages.next_sequence()), false)
    }

    /// `logical`, which the map has at `old`, is trimmed; otherwise as [`OldVersions::write`].
    #[inline(always)]
    fn trim(&mut self, _: Lpn, _: Entry, _: bool) -> bool {
        false
    }

    /// The entry to read of a page that the map has at `newest`; `old`: of its old version, if there is one.
    #[inline(always)]
    fn to_read(&self, _: Lpn, newest: Entry, _: bool) -> Entry {
        newest
    }

    /// Brings the place of `logical` into the processor's cache.
    #[inline(always)]
    fn prefetch(&self, _: usize) {}

    /// The page with an old version, of a number that may be none.
    #[inline(always)]
    fn find_soon(&self, _: usize) -> Option<Ppn> {
        None
    }

    /// Collection met this valid page, and asks the stripe layer for it if it stays.
    #[inline(always)]
    fn met(&mut self, _: &Pages, _: Lpn, _: Ppn) -> Met {
        Met::Newest
    }

    /// The old version moves from one page to another.
    fn relocate(&mut self, _: &mut Pages, _: Lpn, _: Ppn, _: Ppn) {}

    /// A copy of an old version failed: the page it was made from stands for it again. `false`: it was no old version.
    fn return_copy(&mut self, _: &mut Pages, _: Ppn, _: Ppn) -> bool {
        false
    }

    /// Whether this page holds an old version.
    fn is_on(&self, _: &Pages, _: Ppn) -> bool {
        false
    }

    /// Lets another copy of the old version on `page` stand for it.
    fn exchange(&mut self, _: &mut Pages, _: Ppn, _: Ppn) {}

    /// Finds old versions after a power cut: of every page newer than its parity, the newest one that is not. Returns
    /// copies of them that were not chosen.
    fn recover(&mut self, _: &FtlContext<'_>, _: &mut Pages, _: &Space, _: &Left<'_>) -> OldCopies {
        OldCopies::new()
    }

    /// Valid pages that are nobody's newest version.
    fn pages(&self) -> u64 {
        0
    }

    /// Bytes a controller needs for it.
    fn ram_bytes(&self) -> u64 {
        0
    }

    /// Every kept page is valid, its own and not the newest version.
    ///
    /// # Errors
    /// The first one that breaks the law, in words.
    fn check(&self, _: &Pages) -> Result<(), String> {
        Ok(())
    }

    /// Writes what a snapshot holds of it.
    fn save(&self, writer: &mut SnapshotWriter) {
        writer.put::<u32>(SECTION, []);
    }

    /// Reads what [`OldVersions::save`] wrote.
    ///
    /// # Errors
    /// It is of another drive.
    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        reader.fill::<u32>(SECTION, &mut [])
    }
}

/// No old version is kept, as in a mapping without a stripe layer.
pub(crate) struct NoVersions;

impl OldVersions for NoVersions {
    const KEEPS: bool = false;

    fn new(_: Option<Stripes<'_>>, _: usize, _: bool) -> Self {
        Self
    }
}

/// Name of the map in a snapshot.
const SECTION: &str = "page.old";
/// Name of the sequence numbers in a snapshot, which has them where flash keeps contents.
const NUMBERS: &str = "page.old_numbers";

/// Old versions by logical page.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptVersions {
    /// A flash page, [`Entry::ZEROS`] of a page that was never written or trimmed, or [`Entry::NOWHERE`] for none;
    /// empty where nothing is ever kept.
    table: Vec<Entry>,
    /// Flash pages in it.
    pages: u64,
    /// Collection moves them at once instead of waiting.
    moves: bool,
    /// Logical pages whose old version collection moves instead of waiting for it.
    to_be_moved: BTreeSet<Lpn>,
    wanted: Vec<Lpn>,
    /// Sequence number of the newest version of each page, as its out-of-band area has it or will have it.
    numbers: Vec<u64>,
}

impl OldVersions for KeptVersions {
    fn new(stripes: Option<Stripes<'_>>, logical_pages: usize, has_contents: bool) -> Self {
        let stripes = stripes.expect("old versions are kept for a stripe layer");
        let numbers = if has_contents { vec![0; logical_pages] } else { Vec::new() };
        Self {
            table: units::table(logical_pages, Entry::NOWHERE),
            moves: stripes.moves_old,
            numbers,
            ..Self::default()
        }
    }

    #[inline]
    fn write(&mut self, pages: &mut Pages, page: Lpn, old: Entry, given: Option<u64>, keep: bool) -> (u64, bool) {
        let sequence = given.unwrap_or_else(|| pages.next_sequence());
        self.number(page, sequence);
        let stays = self.keep_old(page, old, keep);
        let is_fresh = keep && self.table[page.index()] == Entry::ZEROS;
        (if is_fresh { sequence | FRESH } else { sequence }, stays)
    }

    #[inline]
    fn trim(&mut self, page: Lpn, old: Entry, keep: bool) -> bool {
        self.keep_old(page, old, keep)
    }

    #[inline]
    fn to_read(&self, page: Lpn, newest: Entry, old: bool) -> Entry {
        if old { self.entry(page).unwrap_or(newest) } else { newest }
    }

    #[inline]
    fn prefetch(&self, page: usize) {
        units::prefetch(&self.table, page);
    }

    #[inline]
    fn find_soon(&self, page: usize) -> Option<Ppn> {
        self.table.get(page)?.on_flash()
    }

    #[inline]
    fn met(&mut self, pages: &Pages, logical: Lpn, page: Ppn) -> Met {
        if pages.find(logical) == Some(page) {
            return Met::Newest;
        }
        debug_assert!(self.is(logical, page), "a valid page is the newest version or kept");
        if self.moves || self.to_be_moved.contains(&logical) {
            return Met::Moves;
        }
        self.wanted.push(logical);
        Met::Stays
    }

    fn relocate(&mut self, pages: &mut Pages, logical: Lpn, from: Ppn, to: Ppn) {
        self.to_be_moved.remove(&logical);
        self.stand_in(pages, logical, from, to);
    }

    fn return_copy(&mut self, pages: &mut Pages, copy: Ppn, source: Ppn) -> bool {
        let is_old = self.is_on(pages, copy);
        if is_old {
            self.exchange(pages, copy, source);
        }
        is_old
    }

    fn is_on(&self, pages: &Pages, page: Ppn) -> bool {
        pages.back(page).logical().is_some_and(|logical| self.is(logical, page))
    }

    fn exchange(&mut self, pages: &mut Pages, page: Ppn, other: Ppn) {
        if let Some(logical) = pages.back(page).logical() {
            self.stand_in(pages, logical, page, other);
        }
    }

    /// 1. For each logical page newer than its parity: up to which number does that parity cover it?
    /// 2. Of the versions up to that number, the newest is the old version; others with its number are its copies.
    /// 3. Without any, the parity covers zeros.
    /// 4. The pages found become valid, and the numbers of the newest versions are noted.
    fn recover(&mut self, context: &FtlContext<'_>, pages: &mut Pages, space: &Space, left: &Left<'_>) -> OldCopies {
        let Left { image, found, fresh } = *left;
        let mut copies = OldCopies::new();
        let (Some(stripes), Some(contents)) = (context.stripes, image.contents()) else { return copies };
        pages.note_sequence(stripes.given);
        let bounds = bounds(&stripes, image, contents, pages, space, found);
        let mut best = vec![0_u64; pages.logical_pages() as usize];
        for page in written_blocks(image).flat_map(|block| written_pages(image, block)) {
            let oob = contents.oob(page.0);
            let logical = oob.logical as usize;
            let sequence = oob.sequence & !FRESH;
            let covered = matches!(oob.kind, PageKind::Data | PageKind::Lost)
                && bounds[logical].is_some_and(|bound| sequence <= bound && fresh[logical] <= bound);
            if !covered || sequence < best[logical] {
                continue;
            }
            let others = copies.entry(Lpn(oob.logical)).or_default();
            if sequence > best[logical] {
                others.clear();
            } else {
                others.extend(self.table[logical].on_flash());
            }
            (best[logical], self.table[logical]) = (sequence, Entry::page(page));
        }
        for (logical, bound) in bounds.iter().enumerate() {
            let entry = self.table[logical];
            if bound.is_none() {
                continue;
            }
            let Some(page) = entry.on_flash() else {
                self.table[logical] = Entry::ZEROS;
                continue;
            };
            pages.keep(page, Back::data(Lpn(logical as u32)));
            self.pages += 1;
        }
        copies.retain(|_, others| !others.is_empty());
        for (logical, found) in (0..).map(Lpn).zip(found) {
            if let Found::Written(sequence) = found {
                self.number(logical, *sequence);
            }
        }
        copies
    }

    fn pages(&self) -> u64 {
        self.pages
    }

    fn ram_bytes(&self) -> u64 {
        self.table.len() as u64 * 4
    }

    fn check(&self, pages: &Pages) -> Result<(), String> {
        let mut count = 0;
        for (logical, entry) in (0..).map(Lpn).zip(&self.table) {
            let Some(page) = entry.on_flash() else { continue };
            count += 1;
            let is_its_own = pages.blocks().is_valid(page) && pages.back(page) == Back::data(logical);
            if !is_its_own || pages.find(logical) == Some(page) {
                return Err(format!("the old version of logical page {logical} is page {page}, which is not its own"));
            }
        }
        if count == self.pages { Ok(()) } else { Err(format!("{count} old versions, but {} counted", self.pages)) }
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        writer.put(SECTION, self.table.iter().map(|entry| entry.bits()));
        if !self.numbers.is_empty() {
            writer.put(NUMBERS, self.numbers.iter().copied());
        }
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let table = reader.each::<u32>(SECTION)?;
        if table.len() != self.table.len() {
            return Err(SnapshotError::unfit(SECTION, "the number of pages differs"));
        }
        self.table = table.map(Entry::from_bits).collect();
        self.pages = self.table.iter().filter(|entry| entry.is_page()).count() as u64;
        if reader.has_next(NUMBERS) && self.numbers.is_empty() {
            reader.get::<u64>(NUMBERS)?; // they are of no use without contents
        } else if reader.has_next(NUMBERS) {
            reader.fill(NUMBERS, &mut self.numbers)?;
        }
        Ok(())
    }
}

impl KeptVersions {
    /// What the map had of a page is its old version from now on, if `keep` and it has none. `true`: the page of it
    /// stays valid.
    #[inline]
    fn keep_old(&mut self, page: Lpn, old: Entry, keep: bool) -> bool {
        let entry = &mut self.table[page.index()];
        if !keep || *entry != Entry::NOWHERE {
            return false;
        }
        let mapped = old.is_page();
        *entry = if mapped { old } else { Entry::ZEROS };
        self.pages += u64::from(mapped);
        mapped
    }

    /// A page is written with this number.
    #[inline]
    fn number(&mut self, logical: Lpn, sequence: u64) {
        if let Some(number) = self.numbers.get_mut(logical.index()) {
            *number = sequence;
        }
    }

    /// What is kept of a page, if anything is.
    #[inline]
    fn entry(&self, logical: Lpn) -> Option<Entry> {
        self.table.get(logical.index()).copied().filter(|entry| *entry != Entry::NOWHERE)
    }

    fn is(&self, logical: Lpn, page: Ppn) -> bool {
        self.table.get(logical.index()) == Some(&Entry::page(page))
    }

    fn stand_in(&mut self, pages: &mut Pages, logical: Lpn, from: Ppn, to: Ppn) {
        self.table[logical.index()] = Entry::page(to);
        pages.stand_in(from, to);
    }

    /// The page of an old version that is kept no longer: the caller's to drop.
    pub fn drop(&mut self, logical: Lpn) -> Option<Ppn> {
        self.replace(logical, Entry::NOWHERE)
    }

    /// The page of an old version that counts as zeros from now on: the caller's to drop.
    pub fn forget(&mut self, logical: Lpn) -> Option<Ppn> {
        self.replace(logical, Entry::ZEROS)
    }

    /// The page of an old version that was lost: the caller's to drop.
    pub fn lose(&mut self, logical: Lpn) -> Option<Ppn> {
        self.replace(logical, Entry::NOWHERE)
    }

    fn replace(&mut self, logical: Lpn, entry: Entry) -> Option<Ppn> {
        if !self.to_be_moved.is_empty() {
            self.to_be_moved.remove(&logical);
        }
        let page = std::mem::replace(&mut self.table[logical.index()], entry).on_flash();
        self.pages -= u64::from(page.is_some());
        page
    }

    /// Collection is to move the old version of a page, if it is on flash: where it is.
    pub fn move_soon(&mut self, logical: Lpn) -> Option<Ppn> {
        let page = self.page(logical)?;
        self.to_be_moved.insert(logical);
        Some(page)
    }

    /// The page with an old version.
    pub fn page(&self, logical: Lpn) -> Option<Ppn> {
        self.entry(logical).and_then(Entry::on_flash)
    }

    /// The kept versions of a page.
    pub fn version(&self, logical: Lpn) -> Old {
        match self.entry(logical) {
            None => Old::None,
            Some(Entry::ZEROS) => Old::Zero,
            Some(_) => Old::Page,
        }
    }

    /// Sequence number of the newest version of a page, where flash keeps contents; 0: none.
    pub fn sequence_of(&self, logical: Lpn) -> u64 {
        self.numbers.get(logical.index()).copied().unwrap_or(0)
    }

    /// Appends the logical pages whose old versions collection waits for.
    pub fn take_wanted(&mut self, wanted: &mut Vec<Lpn>) {
        wanted.append(&mut self.wanted);
    }
}

/// Another copy of an old version, outside of `block`.
pub(super) fn other_copy(geometry: &Geometry, logical: Lpn, block: BlockId, copies: &OldCopies) -> Option<Ppn> {
    copies.get(&logical)?.iter().copied().find(|copy| geometry.block_of(*copy) != block)
}

/// Of each page that is newer than its parity, the sequence number of that parity. Of several parities, the
/// newest number that all of them had: power may have been cut between one and the other, more than once.
/// 1. A parity page is torn if another row of its stripe has another number.
/// 2. For torn ones, all numbers that flash has of them are collected.
/// 3. The bound of a page is what memory outside of flash covers, where there is such a parity; otherwise the number
///    of its parity on flash, or of torn ones the highest that all of them had.
/// 4. A page that is not newer than its bound has none.
fn bounds(
    stripes: &Stripes<'_>,
    image: &FlashState,
    contents: &Contents,
    pages: &Pages,
    space: &Space,
    found: &[Found],
) -> Vec<Option<u64>> {
    let number = |logical: Lpn| match found[logical.index()] {
        Found::Nothing => 0,
        Found::Written(sequence) | Found::Trimmed(sequence) => sequence,
    };
    let live = |logical: Lpn| {
        let parities = stripes.shape.parities(logical).into_iter().flatten();
        parities.filter(|parity| !space.lanes[space.lanes.home(*parity)].is_dead())
    };
    let is_torn = |logical: &Lpn| {
        live(*logical).any(|parity| parity == *logical)
            && live(*logical).any(|parity| number(parity) != number(*logical))
    };
    // Before the first one there was nothing.
    let mut torn: BTreeMap<Lpn, BTreeSet<u64>> =
        pages.all().filter(is_torn).map(|logical| (logical, [0].into())).collect();
    if !torn.is_empty() {
        for page in written_blocks(image).flat_map(|block| written_pages(image, block)) {
            let oob = contents.oob(page.0);
            if let Some(numbers) =
                torn.get_mut(&Lpn(oob.logical)).filter(|_| matches!(oob.kind, PageKind::Data | PageKind::Lost))
            {
                numbers.insert(oob.sequence & !FRESH);
            }
        }
    }
    let bound = |logical: Lpn| {
        let common = |first: Lpn| match torn.get(&first) {
            Some(numbers) => {
                numbers.iter().rev().copied().find(|number| live(first).all(|other| torn[&other].contains(number)))
            }
            None => Some(number(first)),
        };
        let bound = stripes.shape.covered_until(logical).or_else(|| common(live(logical).next()?))?;
        (number(logical) > bound).then_some(bound)
    };
    pages.all().map(bound).collect()
}
