//! Reads of the host.

use crate::disk::NOWHERE;
use crate::hard::{Hard, Work};
use units::HostOp;

/// Sectors of the device in a row, for sectors of a request in a row.
struct Run {
    sector: u64,
    sectors: u32,
    cell: usize,
    first: u32,
    last: u32,
}

impl Hard {
    /// Reads what each page is now. Pages that lie in a row on the device are one command.
    pub(crate) fn read(&mut self, request: u32, first_sector: u64, sectors: u32) {
        let (size, cell) = (u64::from(self.layout.page_sectors), self.options.cell_bytes as usize);
        let slots = self.layout.slots();
        let mut data = self.front.zeros(sectors as usize * cell);
        let mut run: Option<Run> = None;
        let (mut done, mut commands) = (0, 0);
        while done < sectors {
            let sector = first_sector + u64::from(done);
            let (page, first) = ((sector / size) as usize, (sector % size) as u32);
            let count = (self.layout.page_sectors - first).min(sectors - done);
            let place = self.space.map[page];
            if let Some(memory) = self.memory.get(&(place / slots)).filter(|_| place != NOWHERE) {
                let from = (place % slots) as usize * self.page_bytes() + first as usize * cell;
                let length = count as usize * cell;
                let bytes = &self.buffers.get(memory.buffer)[from..from + length];
                data[done as usize * cell..][..length].copy_from_slice(bytes);
            } else if place != NOWHERE {
                let at = self.layout.sector_of_page(place) + u64::from(first);
                let superpage = place / slots;
                match &mut run {
                    // In a row on the device, and no page from memory between.
                    Some(run)
                        if run.sector + u64::from(run.sectors) == at
                            && run.cell + run.sectors as usize == done as usize =>
                    {
                        run.sectors += count;
                        run.last = superpage;
                    }
                    _ => {
                        let next =
                            Run { sector: at, sectors: count, cell: done as usize, first: superpage, last: superpage };
                        commands += u64::from(self.read_run(request, run.as_ref()));
                        run = Some(next);
                    }
                }
            }
            done += count;
        }
        commands += u64::from(self.read_run(request, run.as_ref()));
        self.counts.reads += 1;
        self.counts.read_commands += commands;
        self.counts.reads_split += u64::from(commands > 1);
        self.front.requests.at(request).data = data;
        self.part_done(request, false);
    }

    fn read_run(&mut self, request: u32, run: Option<&Run>) -> bool {
        let Some(&Run { sector, sectors, cell, first, last }) = run else { return false };
        self.front.requests.at(request).pending += 1;
        (first..=last).for_each(|superpage| self.space.pin(superpage));
        self.send(Work::Read { request, cell, first, last }, HostOp::Read, sector, sectors);
        true
    }

    pub(crate) fn read_completed(&mut self, request: u32, cell: usize, failed: bool, sectors: u32, data: &[u8]) {
        if !failed {
            self.front.fill(request, cell, sectors, self.options.cell_bytes, data);
        }
        self.part_done(request, failed);
    }
}
