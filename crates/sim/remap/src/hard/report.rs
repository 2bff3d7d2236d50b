//! What was done.

crate::report::report! {
    /// Counters since the drive was formatted or opened, and how it stands now. Pages are pages of the map.
    Report {
        /// Pages that the host wrote and that were remapped.
        host host_pages: u64,
        /// Pages that the host wrote in place.
        sum in_place_pages: u64,
        /// Pages that reclamation copied.
        sum var_copies: u64,
        /// Pages written again elsewhere because their write failed.
        sum moved_pages: u64,
        /// Virtual superpages taken for all these.
        sum superpages: u64,
        /// Slots of them that were written with nothing in them, or given up.
        sum pad_pages: u64,
        /// Slots of open ones that are still to be filled.
        untold open_slots: u64,
        /// Virtual superpages reclaimed.
        sum victims: u64,
        /// Virtual superpages with valid pages that could not be read for reclamation.
        sum unreadable: u64,
        /// Pages whose old contents were read to complete a write of a part.
        host merge_reads: u64,
        /// Reads of the host.
        host reads: u64,
        /// Reads of the host that needed more than one command.
        host reads_split: u64,
        /// Commands for reads of the host.
        host read_commands: u64,
        /// Superpages written for the journal.
        sum journal_superpages: u64,
        /// Superpages written for checkpoints.
        sum checkpoint_superpages: u64,
        /// Checkpoints completed.
        sum checkpoints: u64,
        /// Flushes that the device was asked for.
        host device_flushes: u64,
        /// Flushes of the host.
        host host_flushes: u64,
        /// Commands that failed.
        host failed_commands: u64,
        /// Free virtual superpages.
        now free: u32,
        /// Virtual superpages that are free as soon as the journal says so.
        now empty: u32,
        /// Virtual superpages set aside because a write of them failed.
        now aside: u32,
        /// Pages that are mapped.
        now mapped_pages: u32,
        /// Bytes of memory: the map both ways, 4 bytes a page each, the list of virtual superpages, and buffers.
        untold ram_bytes: u64,
        /// A flush failed, too many commands failed in a row, or no space is left: only reads are served.
        now broken: bool,
    }
}
