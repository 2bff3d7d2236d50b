//! Reads of the host, and of what is under a part of a page.

use super::{HOME, LogCache, Work};
use crate::Command;
use units::HostOp;

/// Where the contents of a page are.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Trimmed.
    Zeros,
    /// A buffer, and where in it.
    Memory(u32, usize),
    /// A sector of a segment, or of the home.
    Device(u64, Option<u32>),
}

/// Sectors of the device in a row, for sectors of a request in a row.
struct Run {
    sector: u64,
    sectors: u32,
    cell: usize,
    segment: Option<u32>,
}

impl LogCache {
    pub(super) fn source(&self, page: u32) -> Source {
        let place = self.map[page as usize];
        if place == HOME {
            return Source::Device(self.layout.page_sector(page), None);
        }
        let (segment, entry) = self.entry(place);
        match (entry.slot, self.segments[segment as usize].buffer) {
            (None, _) => Source::Zeros,
            (Some(slot), Some(buffer)) => Source::Memory(buffer, self.offset(slot)),
            (Some(slot), None) => Source::Device(self.layout.slot_sector(segment, slot), Some(segment)),
        }
    }

    /// Reads what each page is now. Pages that lie in a row on the device are one command.
    pub(super) fn read(&mut self, request: u32, first_sector: u64, sectors: u32) {
        let (size, cell) = (u64::from(self.layout.page_sectors()), self.options.cell_bytes as usize);
        let mut data = self.front.zeros(sectors as usize * cell);
        let mut run: Option<Run> = None;
        let (mut done, mut commands) = (0, 0);
        while done < sectors {
            let sector = first_sector + u64::from(done);
            let (page, first) = ((sector / size) as u32, (sector % size) as u32);
            let count = (self.layout.page_sectors() - first).min(sectors - done);
            match self.source(page) {
                Source::Zeros => self.counts.memory_hits += 1,
                Source::Memory(buffer, at) => {
                    self.counts.memory_hits += 1;
                    let bytes = &self.buffers.get(buffer)[at + first as usize * cell..][..count as usize * cell];
                    data[done as usize * cell..][..bytes.len()].copy_from_slice(bytes);
                }
                Source::Device(at, segment) => {
                    self.counts.log_hits += u64::from(segment.is_some());
                    self.counts.home_hits += u64::from(segment.is_none());
                    let at = at + u64::from(first);
                    match &mut run {
                        // In a row on the device, and no page from memory between.
                        Some(run)
                            if run.segment == segment
                                && run.sector + u64::from(run.sectors) == at
                                && run.cell + run.sectors as usize == done as usize =>
                        {
                            run.sectors += count;
                        }
                        _ => {
                            let next = Run { sector: at, sectors: count, cell: done as usize, segment };
                            commands += self.read_run(request, run.replace(next).as_ref());
                        }
                    }
                }
            }
            done += count;
        }
        commands += self.read_run(request, run.as_ref());
        self.counts.reads += 1;
        self.counts.read_commands += commands;
        self.counts.reads_split += u64::from(commands > 1);
        self.front.requests.at(request).data = data;
        self.part_done(request, false);
    }

    fn read_run(&mut self, request: u32, run: Option<&Run>) -> u64 {
        let Some(&Run { sector, sectors, cell, segment }) = run else { return 0 };
        self.front.requests.at(request).pending += 1;
        self.hold(segment, sector, sectors);
        self.send(Work::Read { request, cell, segment }, HostOp::Read, sector, sectors);
        1
    }

    /// Nothing is written there while it is read.
    pub(super) fn hold(&mut self, segment: Option<u32>, sector: u64, sectors: u32) {
        match segment {
            Some(segment) => self.segments[segment as usize].pins += 1,
            None => self.home_reads.push((sector, sectors)),
        }
    }

    pub(super) fn let_go(&mut self, segment: Option<u32>, command: &Command) {
        if let Some(segment) = segment {
            self.segments[segment as usize].pins -= 1;
            return;
        }
        let read = (command.first_sector, command.sectors);
        let index = self.home_reads.iter().position(|known| *known == read).expect("a read of the home was noted");
        self.home_reads.swap_remove(index);
    }

    /// Whether these sectors of the home are being read.
    pub(super) fn is_read(&self, first_sector: u64, sectors: u32) -> bool {
        let end = first_sector + u64::from(sectors);
        self.home_reads.iter().any(|(first, sectors)| *first < end && first_sector < first + u64::from(*sectors))
    }

    pub(super) fn read_completed(&mut self, request: u32, cell: usize, failed: bool, sectors: u32, data: &[u8]) {
        if !failed {
            self.front.fill(request, cell, sectors, self.options.cell_bytes, data);
        }
        self.part_done(request, failed);
    }
}
