//! Where things are on the device.

use super::disk::{ENTRY_BYTES, HEAD_BYTES, RECORD_BYTES};
use super::options::{Options, Start};
use crate::shape::{check_count, check_sizes};
use crate::{LayoutError, Shape, Terms};
use std::ops::Range;
use units::SECTOR_BYTES;

/// Superpages before the first checkpoint: the superblock.
const SUPERBLOCK: u64 = 1;
/// Places for the journal superpage that is not full.
const TAILS: u64 = 2;
/// Virtual superpages that are held back at least, beside those of `var_free`: the two that are open, one that is
/// being freed, and one for a write that failed.
const LEAST_BACK: u64 = 4;

/// Where the superblock, the checkpoints, the journal and the virtual superpages are. All begin at multiples of a
/// superpage. The overview has a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) page_sectors: u32,
    pub(crate) superpage_sectors: u32,
    pub(crate) device_sectors: u64,
    pub(crate) superpages: u32,
    /// Pages that the host sees.
    pub(crate) pages: u32,
    /// Superpages of the map in a checkpoint; its head is one more.
    pub(crate) pieces: u32,
    /// Superpages of the journal's ring.
    pub(crate) ring: u32,
    pub(crate) start: Start,
}

impl Layout {
    /// The layout for a device of `device_sectors`, 512 bytes each. A part of a superpage at its end is left over.
    ///
    /// # Errors
    /// An option is out of range, or the device has too few or too many sectors.
    pub fn new(options: &Options, device_sectors: u64) -> Result<Self, LayoutError> {
        let Options { terms: Terms { page_sectors, superpage_sectors, .. }, hold_back, start, .. } = *options;
        check_sizes(page_sectors, superpage_sectors)?;
        if !(0.01..=0.9).contains(&hold_back) {
            return Err(LayoutError::HoldBack(hold_back));
        }
        if !(1..=1000).contains(&options.var_free) {
            return Err(LayoutError::VarFree(options.var_free));
        }
        check_count(device_sectors, page_sectors)?;
        let slots = superpage_sectors / page_sectors;
        let mut layout = Self {
            page_sectors,
            superpage_sectors,
            device_sectors,
            superpages: 0,
            pages: 0,
            pieces: 1,
            ring: 0,
            start,
        };
        let whole = device_sectors / u64::from(superpage_sectors);
        // Enough for the map of all the device, so a little too much for what is left of it.
        let pages = (whole * u64::from(slots)) as f64 * (1.0 - hold_back);
        layout.pieces = (pages as u32).div_ceil(layout.entries_a_piece()).max(1);
        layout.ring = 3 * layout.pieces + 8;
        let back = LEAST_BACK + u64::from(options.var_free);
        let least = layout.first_data() + back + 1;
        if whole < least {
            return Err(LayoutError::Small { sectors: device_sectors, least: least * u64::from(superpage_sectors) });
        }
        let superpages = whole - layout.first_data();
        let share = ((superpages * u64::from(slots)) as f64 * (1.0 - hold_back)) as u64;
        layout.superpages = superpages as u32;
        layout.pages = share.min((superpages - back) * u64::from(slots)) as u32;
        Ok(layout)
    }

    pub fn superpages(&self) -> u32 {
        self.superpages
    }

    /// Pages of a virtual superpage.
    pub fn slots(&self) -> u32 {
        self.superpage_sectors / self.page_sectors
    }

    /// First sector of the virtual superpages, behind all metadata.
    pub fn data_sector(&self) -> u64 {
        self.first_data() * u64::from(self.superpage_sectors)
    }

    /// Superpages that a checkpoint writes.
    pub fn checkpoint_superpages(&self) -> u32 {
        self.pieces + 1
    }

    /// Bytes of a superpage.
    pub(crate) fn superpage_bytes(&self) -> usize {
        self.superpage_sectors as usize * SECTOR_BYTES as usize
    }

    /// Entries of the map in a piece of a checkpoint.
    pub(crate) fn entries_a_piece(&self) -> u32 {
        ((self.superpage_bytes() - HEAD_BYTES) / ENTRY_BYTES) as u32
    }

    /// Pages whose entries a piece of a checkpoint has.
    pub(crate) fn pages_of_piece(&self, piece: u32) -> Range<usize> {
        let (entries, pages) = (self.entries_a_piece() as usize, self.pages as usize);
        let first = (piece as usize * entries).min(pages);
        first..(first + entries).min(pages)
    }

    /// Records in a journal superpage.
    pub(crate) fn records(&self) -> usize {
        (self.superpage_bytes() - HEAD_BYTES) / RECORD_BYTES
    }

    /// Metadata superpages: where the checkpoint of this number has its head; its pieces follow.
    pub(crate) fn checkpoint_at(&self, number: u64) -> u64 {
        SUPERBLOCK + (number % 2) * u64::from(self.pieces + 1)
    }

    /// Where the journal superpage that is not full can be, 0 or 1.
    pub(crate) fn tail_at(&self, place: u64) -> u64 {
        SUPERBLOCK + 2 * u64::from(self.pieces + 1) + place
    }

    /// Where the journal superpage of this number is when it is full.
    pub(crate) fn ring_at(&self, number: u64) -> u64 {
        SUPERBLOCK + 2 * u64::from(self.pieces + 1) + TAILS + number % u64::from(self.ring)
    }

    /// Superpages before the first virtual one.
    pub(crate) fn first_data(&self) -> u64 {
        SUPERBLOCK + 2 * u64::from(self.pieces + 1) + TAILS + u64::from(self.ring)
    }

    /// First sector of a superpage of the device.
    pub(crate) fn sector_of(&self, superpage: u64) -> u64 {
        superpage * u64::from(self.superpage_sectors)
    }

    /// First sector of a virtual page.
    pub(crate) fn sector_of_page(&self, virtual_page: u32) -> u64 {
        self.data_sector() + u64::from(virtual_page) * u64::from(self.page_sectors)
    }

    /// Whether a superblock's numbers can be.
    pub(crate) fn is_sound(&self) -> bool {
        let fits = check_sizes(self.page_sectors, self.superpage_sectors);
        if fits.and_then(|()| check_count(self.device_sectors, self.page_sectors)).is_err() {
            return false;
        }
        let whole = self.device_sectors / u64::from(self.superpage_sectors);
        let held = u64::from(self.pages) + LEAST_BACK * u64::from(self.slots());
        let space = u64::from(self.superpages) * u64::from(self.slots());
        (1..=u32::MAX / 8).contains(&self.pieces)
            && u64::from(self.pieces) * u64::from(self.entries_a_piece()) >= u64::from(self.pages)
            && self.ring >= 8
            && self.first_data() + u64::from(self.superpages) == whole
            && self.pages >= 1
            && held <= space
    }

    /// Virtual superpages that reclamation may keep from the host.
    pub(crate) fn spare(&self) -> u32 {
        self.superpages - self.pages.div_ceil(self.slots())
    }

    /// The spare virtual superpages without the ones that are needed for other things.
    pub(crate) fn most_var_free(&self) -> u32 {
        (self.spare() - LEAST_BACK as u32).max(1)
    }
}

impl From<Layout> for Shape {
    fn from(layout: Layout) -> Self {
        let Layout { device_sectors, page_sectors, superpage_sectors, pages, .. } = layout;
        Self {
            sectors: u64::from(pages) * u64::from(page_sectors),
            device_sectors,
            page_sectors,
            superpage_sectors,
            buffer_sectors: superpage_sectors,
            own_sectors: if layout.start == Start::Identity { layout.data_sector() } else { device_sectors },
        }
    }
}
