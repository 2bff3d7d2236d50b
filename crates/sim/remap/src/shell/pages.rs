//! Reads, writes and trims, page by page.

use super::Shell;
use super::host::{RequestId, Work};
use super::request::{HeldBack, Job};
use crate::{Driver, PageWrite, Source};
use std::ops::Range;
use units::HostOp;

/// Sectors of one page.
#[derive(Clone, Copy)]
struct Piece {
    page: u32,
    first: u32,
    sectors: u32,
}

/// Sectors of the device in a row, for sectors of a request in a row.
#[derive(Clone, Copy)]
struct Run {
    sector: u64,
    sectors: u32,
    cell: usize,
    part: u32,
}

impl<D: Driver> Shell<D> {
    fn page_sectors(&self) -> u32 {
        self.host.front.shape.page_sectors
    }

    /// The first page of sectors that follow each other, and which of it.
    fn piece(&self, sector: u64, sectors: u32) -> Piece {
        let size = self.page_sectors();
        let first = (sector % u64::from(size)) as u32;
        Piece { page: (sector / u64::from(size)) as u32, first, sectors: (size - first).min(sectors) }
    }

    /// Reads what each page is now.
    ///
    /// 1. Ask the driver where each page is.
    /// 2. Copy the pages in memory at once; known zeros are there already.
    /// 3. Gather pages that lie in a row on the device, in one part of it, and send one command for each such run.
    /// 4. The request is answered when all its commands are completed: at once if there are none.
    pub(super) fn read(&mut self, request: RequestId, first_sector: u64, sectors: u32) {
        let mut data = self.host.front.zeros(self.host.bytes(sectors));
        let mut run: Option<Run> = None;
        let (mut done, mut commands) = (0, 0);
        while done < sectors {
            let Piece { page, first, sectors: count } = self.piece(first_sector + u64::from(done), sectors - done);
            let source = self.driver.locate(page);
            self.host.counts.found(source);
            match source {
                Source::Zeros => {}
                Source::Memory { buffer, at } => {
                    let from = at + self.host.bytes(first);
                    let bytes = &self.host.buffers.get(buffer)[from..from + self.host.bytes(count)];
                    data[self.host.bytes(done)..][..bytes.len()].copy_from_slice(bytes);
                }
                Source::Device { sector, part } => {
                    let sector = sector + u64::from(first);
                    match &mut run {
                        // In a row on the device, and no page from memory between.
                        Some(run)
                            if run.part == part
                                && run.sector + u64::from(run.sectors) == sector
                                && run.cell + run.sectors as usize == done as usize =>
                        {
                            run.sectors += count;
                        }
                        _ => {
                            let next = Run { sector, sectors: count, cell: done as usize, part };
                            commands += self.read_run(request, run.replace(next));
                        }
                    }
                }
            }
            done += count;
        }
        commands += self.read_run(request, run);
        self.host.counts.reads += 1;
        self.host.counts.read_commands += commands;
        self.host.counts.reads_split += u64::from(commands > 1);
        self.host.front.requests.at_mut(request.0).data = data;
        self.host.end_part(request, false);
    }

    /// Commands that a run takes.
    fn read_run(&mut self, request: RequestId, run: Option<Run>) -> u64 {
        let Some(Run { sector, sectors, cell, .. }) = run else { return 0 };
        self.host.front.requests.at_mut(request.0).pending += 1;
        self.host.send_any(Work::Read { request, cell }, HostOp::Read, sector, sectors);
        1
    }

    pub(super) fn read_completed(&mut self, request: RequestId, cell: usize, failed: bool, sectors: u32, data: &[u8]) {
        if !failed {
            self.host.front.fill(request.0, cell, sectors, data);
        }
        self.host.end_part(request, failed);
    }

    /// Begins a write or a trim; false if it has to wait.
    pub(super) fn begin(&mut self, request: RequestId, first_sector: u64, sectors: u32, data: &[u8]) -> bool {
        let (op, fua) = {
            let request = self.host.front.requests.at_mut(request.0);
            (request.op, request.fua)
        };
        if op == HostOp::Write {
            self.begin_write(request, first_sector, sectors, data);
            self.host.close_wanted |= fua;
            self.host.end_part(request, false);
            return true;
        }
        let size = u64::from(self.page_sectors());
        let first = first_sector.div_ceil(size) as u32;
        let end = ((first_sector + u64::from(sectors)) / size) as u32;
        if first < end && !self.begin_trim(request, first..end) {
            return false;
        }
        self.host.close_wanted |= fua;
        self.trim_done(request);
        true
    }

    fn begin_write(&mut self, request: RequestId, first_sector: u64, sectors: u32, data: &[u8]) {
        let mut done = 0;
        while done < sectors {
            let piece = self.piece(first_sector + u64::from(done), sectors - done);
            let rest = &data[self.host.bytes(done)..];
            self.host.front.requests.at_mut(request.0).pending += 1;
            let whole = if piece.first == 0 { (sectors - done) / self.page_sectors() } else { 0 };
            let in_place = self.write_in_place(request, piece.page, whole, rest);
            done += if in_place > 0 {
                in_place * self.page_sectors()
            } else {
                self.write_page(request, piece, &rest[..self.host.bytes(piece.sectors)]);
                piece.sectors
            };
        }
    }

    /// Whole pages go where they are already, if the driver does that. Pages done.
    fn write_in_place(&mut self, request: RequestId, page: u32, pages: u32, data: &[u8]) -> u32 {
        if pages == 0 {
            return 0;
        }
        let owner = self.host.owner_of(request);
        let done = self.driver.place_in_place(&mut self.host, PageWrite { page, pages, data, owner });
        if done > 0 && owner.is_none() {
            self.host.end_part(request, false);
        }
        done
    }

    /// Writes sectors of a page, at once if that can be.
    fn write_page(&mut self, request: RequestId, piece: Piece, data: &[u8]) {
        let Piece { page, first, sectors } = piece;
        let is_locked = self.host.waits.is_locked(page);
        if !is_locked && self.has_room() && !self.needs_merge(page, sectors) {
            self.place(request, piece, data);
            return;
        }
        let job = Job::write(request, (first, sectors), data, self.host.page_bytes(), self.host.terms().cell_bytes);
        self.host.waits.push(page, job);
        if !is_locked {
            self.start(page);
        }
    }

    /// The rest of the page has to be read first.
    fn needs_merge(&self, page: u32, sectors: u32) -> bool {
        sectors < self.page_sectors() && matches!(self.driver.locate(page), Source::Device { .. })
    }

    /// Goes on with what waits for a page.
    fn start(&mut self, page: u32) {
        while self.host.waits.first(page).is_some_and(|job| job.trim) {
            let job = self.host.waits.pop(page);
            self.driver.trim(&mut self.host, page..page + 1);
            self.trim_done(job.request);
        }
        let Some(job) = self.host.waits.first(page) else {
            self.host.waits.unlock(page);
            return;
        };
        let size = self.page_sectors();
        match self.driver.locate(page) {
            Source::Device { sector, .. } if job.sectors < size => {
                self.host.counts.merge_reads += 1;
                self.host.send_any(Work::Merge { page }, HostOp::Read, sector, size);
            }
            _ => self.host.waits.set_ready(page),
        }
    }

    /// The old contents of a page are there.
    pub(super) fn merge_completed(&mut self, page: u32, failed: bool, data: &[u8]) {
        let (size, cell) = (self.page_sectors(), self.host.terms().cell_bytes);
        if !self.host.waits.is_locked(page) {
            return;
        }
        if failed {
            let job = self.host.waits.pop(page);
            self.host.end_part(job.request, true);
            self.start(page);
            return;
        }
        self.host.waits.first_mut(page).expect("a page is locked by a write").complete(data, size, cell);
        self.host.waits.set_ready(page);
    }

    /// Begins what was held back.
    pub(super) fn pump_held(&mut self) -> bool {
        if self.host.waits.held.is_empty() {
            return false;
        }
        if self.host.want_life() {
            return true;
        }
        if !self.admits() {
            return false;
        }
        let held = self.host.waits.held.pop_front().expect("there is one");
        let HeldBack { request, first_sector, sectors, data } = &held;
        let begun = self.begin(*request, *first_sector, *sectors, data);
        if !begun {
            self.host.waits.held.push_front(held);
        }
        begun
    }

    /// Places a page that waited for room.
    pub(super) fn pump_ready(&mut self) -> bool {
        if !self.host.waits.has_ready() || !self.has_room() {
            return false;
        }
        let page = self.host.waits.next_ready().expect("there is one");
        let sectors = self.host.waits.first(page).expect("a page that waits has a job").sectors;
        // What it was to go over may be in memory no more.
        if !self.needs_merge(page, sectors) {
            let job = self.host.waits.pop(page);
            let piece = Piece { page, first: job.first, sectors: job.sectors };
            self.place(job.request, piece, job.bytes(self.host.terms().cell_bytes));
        }
        self.start(page);
        true
    }

    /// The driver takes a page: these sectors, over what was there, which is not on the device.
    fn place(&mut self, request: RequestId, piece: Piece, data: &[u8]) {
        let owner = self.host.owner_of(request);
        self.host.counts.host_pages += 1;
        self.host.close_wanted |= self.host.front.requests.at_mut(request.0).fua;
        let Piece { page, first, sectors } = piece;
        if sectors == self.page_sectors() {
            self.driver.place(&mut self.host, PageWrite { page, pages: 1, data, owner });
        } else {
            self.merged.clear();
            if let Source::Memory { buffer, at } = self.driver.locate(page) {
                self.merged.extend_from_slice(&self.host.buffers.get(buffer)[at..at + self.host.page_bytes()]);
            }
            self.merged.resize(self.host.page_bytes(), 0);
            self.merged[self.host.bytes(first)..][..data.len()].copy_from_slice(data);
            self.driver.place(&mut self.host, PageWrite { page, pages: 1, data: &self.merged, owner });
        }
        if owner.is_none() {
            self.host.end_part(request, false);
        }
    }

    /// Trims whole pages; those that have writes waiting in their turn. False if that has to wait.
    fn begin_trim(&mut self, request: RequestId, pages: Range<u32>) -> bool {
        if D::TRIM_TAKES_ROOM {
            let can_be = self.has_room() && !self.host.is_waited_for(pages.clone());
            if can_be {
                self.driver.trim(&mut self.host, pages);
            }
            return can_be;
        }
        let locked: Vec<u32> = self.host.waits.pages_in(pages.clone()).collect();
        let mut from = pages.start;
        for page in locked {
            self.driver.trim(&mut self.host, from..page);
            from = page + 1;
            self.host.front.requests.at_mut(request.0).pending += 1;
            self.host.waits.push(page, Job::trim(request));
        }
        self.driver.trim(&mut self.host, from..pages.end);
        true
    }

    /// A part of a trim is done.
    fn trim_done(&mut self, request: RequestId) {
        if !self.host.front.part_done(request.0, false) {
            return;
        }
        let entry = self.host.front.requests.at_mut(request.0);
        if entry.fua && !entry.failed {
            self.end_when_durable(request);
        } else {
            let failed = entry.failed;
            self.host.front.end(request.0, failed);
        }
    }
}
