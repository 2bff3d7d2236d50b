//! What was done.

/// Counters since the drive was formatted or opened, and how it stands now. Pages are pages of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Pages that the host wrote and that were remapped.
    pub host_pages: u64,
    /// Pages that the host wrote in place.
    pub in_place_pages: u64,
    /// Pages that reclamation copied.
    pub var_copies: u64,
    /// Pages written again elsewhere because their write failed.
    pub moved_pages: u64,
    /// Virtual superpages taken for all these.
    pub superpages: u64,
    /// Slots of them that were written with nothing in them, or given up.
    pub pad_pages: u64,
    /// Slots of open ones that are still to be filled.
    pub open_slots: u64,
    /// Virtual superpages reclaimed.
    pub victims: u64,
    /// Virtual superpages with valid pages that could not be read for reclamation.
    pub unreadable: u64,
    /// Pages whose old contents were read to complete a write of a part.
    pub merge_reads: u64,
    /// Reads of the host.
    pub reads: u64,
    /// Reads of the host that needed more than one command.
    pub reads_split: u64,
    /// Commands for reads of the host.
    pub read_commands: u64,
    /// Superpages written for the journal.
    pub journal_superpages: u64,
    /// Superpages written for checkpoints.
    pub checkpoint_superpages: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Flushes that the device was asked for.
    pub device_flushes: u64,
    /// Flushes of the host.
    pub host_flushes: u64,
    /// Commands that failed.
    pub failed_commands: u64,
    /// Free virtual superpages.
    pub free: u32,
    /// Virtual superpages that are free as soon as the journal says so.
    pub empty: u32,
    /// Virtual superpages set aside because a write of them failed.
    pub aside: u32,
    /// Pages that are mapped.
    pub mapped_pages: u32,
    /// Bytes of memory: the map both ways, 4 bytes a page each, the list of virtual superpages, and buffers.
    pub ram_bytes: u64,
    /// Too many commands failed in a row, or no space is left: only reads are served.
    pub broken: bool,
}
