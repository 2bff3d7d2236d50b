//! What can be chosen for a log cache, and what it did.

use crate::WriteCache;
use units::Nanos;

/// The options. The first four belong to the layout and count only where a drive is formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogOptions {
    /// Sectors of a page, the unit of the map: a power of two, 1 to 128.
    pub page_sectors: u32,
    /// Segments are written in multiples of so many sectors, and everything begins at one: a power of two, at least a
    /// page, 2 to 8192.
    pub superpage_sectors: u32,
    /// Sectors of a segment, its header included: a power of two, at least two pages and a superpage, up to 32768.
    pub segment_sectors: u32,
    /// Share of the device that the log takes, 0.001 to 0.5. A small device gives more: four segments at least.
    pub log: f64,
    /// Bytes of data a sector: 512, or 0 where a simulation has no contents.
    pub cell_bytes: u32,
    /// How long a page waits for others before its segment is written all the same, nanoseconds.
    pub timeout_ns: Nanos,
    /// When a write is answered.
    pub write_cache: WriteCache,
    /// How long no request came, and none is under way, before the log is written back, nanoseconds.
    pub idle_after_ns: Nanos,
    /// Segments that are held in memory at most, being filled, being written, or kept: 2 or more. Writing back needs
    /// more.
    pub buffers: u32,
    /// Segments that are written back together at most, 1 or more; never more than a quarter of the log. More of them
    /// bring more neighbours together, and need more memory.
    pub batch: u32,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            page_sectors: 8,
            superpage_sectors: 32,
            segment_sectors: 1024,
            log: 0.1,
            cell_bytes: 512,
            timeout_ns: 2_000_000,
            write_cache: WriteCache::Volatile,
            idle_after_ns: 100_000_000,
            buffers: 8,
            batch: 16,
        }
    }
}

/// Counters since the drive was formatted or opened, and how it stands now. Pages are pages of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Those of them that replaced a page of the segment in memory, and so never reach the log twice.
    pub overwritten_pages: u64,
    /// Trims that the log recorded.
    pub trims: u64,
    /// Pages whose old contents were read to complete a write of a part.
    pub merge_reads: u64,
    /// Segments written, full or not.
    pub segments: u64,
    /// Their data, in pages.
    pub data_pages: u64,
    /// Their headers, in pages.
    pub header_pages: u64,
    /// Pages behind their data, up to a whole superpage.
    pub pad_pages: u64,
    /// Batches of segments that were written back.
    pub write_backs: u64,
    /// Segments in them.
    pub written_back_segments: u64,
    /// Pages written home, those that were trimmed as zeros.
    pub write_back_pages: u64,
    /// Commands that wrote them.
    pub write_back_commands: u64,
    /// Commands that read them from the log first.
    pub write_back_reads: u64,
    /// Reads of the host.
    pub reads: u64,
    /// Reads of the host that needed more than one command.
    pub reads_split: u64,
    /// Commands for reads of the host.
    pub read_commands: u64,
    /// Pages that reads of the host found in memory.
    pub memory_hits: u64,
    /// Pages that reads of the host found in the log.
    pub log_hits: u64,
    /// Pages that reads of the host found at home.
    pub home_hits: u64,
    /// Flushes that the device was asked for.
    pub device_flushes: u64,
    /// Flushes of the host.
    pub host_flushes: u64,
    /// Commands that failed.
    pub failed_commands: u64,
    /// Segments that are free, or will be as soon as the log says so.
    pub free: u32,
    /// Pages whose newest contents are not at home.
    pub cached_pages: u32,
    /// Bytes of memory: the map, 4 bytes a page, what segments hold, and buffers.
    pub ram_bytes: u64,
    /// Too many commands failed in a row: only reads are served.
    pub broken: bool,
}

impl LogReport {
    /// What was counted since an earlier report, and how it stands now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_pages: self.host_pages - earlier.host_pages,
            overwritten_pages: self.overwritten_pages - earlier.overwritten_pages,
            trims: self.trims - earlier.trims,
            merge_reads: self.merge_reads - earlier.merge_reads,
            segments: self.segments - earlier.segments,
            data_pages: self.data_pages - earlier.data_pages,
            header_pages: self.header_pages - earlier.header_pages,
            pad_pages: self.pad_pages - earlier.pad_pages,
            write_backs: self.write_backs - earlier.write_backs,
            written_back_segments: self.written_back_segments - earlier.written_back_segments,
            write_back_pages: self.write_back_pages - earlier.write_back_pages,
            write_back_commands: self.write_back_commands - earlier.write_back_commands,
            write_back_reads: self.write_back_reads - earlier.write_back_reads,
            reads: self.reads - earlier.reads,
            reads_split: self.reads_split - earlier.reads_split,
            read_commands: self.read_commands - earlier.read_commands,
            memory_hits: self.memory_hits - earlier.memory_hits,
            log_hits: self.log_hits - earlier.log_hits,
            home_hits: self.home_hits - earlier.home_hits,
            device_flushes: self.device_flushes - earlier.device_flushes,
            host_flushes: self.host_flushes - earlier.host_flushes,
            failed_commands: self.failed_commands - earlier.failed_commands,
            ..*self
        }
    }
}
