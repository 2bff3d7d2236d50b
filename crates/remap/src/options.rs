//! What can be chosen.

use units::Nanos;

/// What becomes of a virtual superpage that is not full when its pages have to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partial {
    /// It is filled up; the slots that hold nothing are lost until it is reclaimed.
    #[default]
    Pad,
    /// Only the part that is filled is written, and the next pages go to the same virtual superpage. The device
    /// has to read and modify.
    Hold,
}

/// When a write of the host is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCache {
    /// When the device has completed the write of its virtual superpage.
    #[default]
    Through,
    /// When its data are in memory.
    Volatile,
}

/// What a fresh drive maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nothing: every page reads zeros.
    #[default]
    Empty,
    /// Each page to the virtual page of the same number: what the device holds there can be read.
    Identity,
}

/// The options. The first four and `start` belong to the layout and count only where a drive is formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Sectors of a page, the unit of the map: a power of two, 1 to 128.
    pub page_sectors: u32,
    /// Sectors of a virtual superpage: a power of two, at least a page, 2 to 8192.
    pub superpage_sectors: u32,
    /// Share of the virtual space that is held back from the host, 0.01 to 0.9. A small device gives more.
    pub hold_back: f64,
    /// What a fresh drive maps.
    pub start: Start,
    /// Bytes of data a sector: 512, or 0 where a simulation has no contents.
    pub cell_bytes: u32,
    /// How long a page waits for others before its virtual superpage is written all the same, nanoseconds.
    pub timeout_ns: Nanos,
    /// What becomes of a virtual superpage that is not full then.
    pub partial: Partial,
    /// When a write is answered.
    pub write_cache: WriteCache,
    /// Write whole superpages in place where one virtual superpage holds exactly them. They are not replaced in
    /// one piece then: a power cut can leave some sectors old.
    pub bypass: bool,
    /// Free virtual superpages that only reclamation may take: 1 or more.
    pub var_free: u32,
    /// Reclamation keeps so many more free or about to be, so that many are freed by one write of the journal.
    /// `None`: an eighth of what is held back, at most what one journal superpage can free. Where space is
    /// short, the journal is written for them: its superpages carry a quarter to a half of the records that
    /// fit.
    pub var_ahead: Option<u32>,
    /// Share of virtual superpages that reclamation keeps free while the host is idle, 0 to 1.
    pub var_background: f64,
    /// How long no request came, and none is under way, before that, nanoseconds.
    pub idle_after_ns: Nanos,
    /// Tell the device which virtual superpages are free. That costs it records of its own, see `remap.trim`.
    pub trim: bool,
    /// Virtual superpages of the host that are held in memory at most, written or being filled: 2 or more.
    pub buffers: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_sectors: 8,
            superpage_sectors: 32,
            hold_back: 0.1,
            start: Start::Empty,
            cell_bytes: 512,
            timeout_ns: 2_000_000,
            partial: Partial::Pad,
            write_cache: WriteCache::Through,
            bypass: false,
            var_free: 2,
            var_ahead: None,
            var_background: 0.05,
            idle_after_ns: 100_000_000,
            trim: false,
            buffers: 64,
        }
    }
}
