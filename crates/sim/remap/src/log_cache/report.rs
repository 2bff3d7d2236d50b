//! What was done.

crate::report::report! {
    /// Counters since the drive was formatted or opened, and how it stands now. Pages are pages of the map.
    LogReport {
        /// Pages that the host wrote.
        host host_pages: u64,
        /// Those of them that replaced a page of the segment in memory, and so never reach the log twice.
        sum overwritten_pages: u64,
        /// Trims that the log recorded.
        sum trims: u64,
        /// Pages whose old contents were read to complete a write of a part.
        host merge_reads: u64,
        /// Segments written, full or not.
        sum segments: u64,
        /// Their data, in pages.
        sum data_pages: u64,
        /// Their headers, in pages.
        sum header_pages: u64,
        /// Pages behind their data, up to a whole superpage.
        sum pad_pages: u64,
        /// Batches of segments that were written back.
        sum write_backs: u64,
        /// Segments in them.
        sum written_back_segments: u64,
        /// Pages written home, those that were trimmed as zeros.
        sum write_back_pages: u64,
        /// Commands that wrote them.
        sum write_back_commands: u64,
        /// Commands that read them from the log first.
        sum write_back_reads: u64,
        /// Reads of the host.
        host reads: u64,
        /// Reads of the host that needed more than one command.
        host reads_split: u64,
        /// Commands for reads of the host.
        host read_commands: u64,
        /// Pages that reads of the host found in memory.
        host memory_hits: u64,
        /// Pages that reads of the host found in the log.
        host log_hits: u64,
        /// Pages that reads of the host found at home.
        host home_hits: u64,
        /// Flushes that the device was asked for.
        host device_flushes: u64,
        /// Flushes of the host.
        host host_flushes: u64,
        /// Commands that failed.
        host failed_commands: u64,
        /// Segments that are free, or will be as soon as the log says so.
        now free: u32,
        /// Pages whose newest contents are not at home.
        now cached_pages: u32,
        /// Bytes of memory: the map, 4 bytes a page, what segments hold, and buffers.
        untold ram_bytes: u64,
        /// Too many commands failed in a row: only reads are served.
        now broken: bool,
    }
}
