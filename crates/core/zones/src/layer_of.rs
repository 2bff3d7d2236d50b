//! The layer as seen from above: operations, events, checks, reports, snapshots.

use crate::zoned::{NONE, Zoned};
use layer::{
    Answer, Held, LayerReport, Outbox, PageLayer, PageOp, STRIPE_OWNER, SnapshotError, SnapshotReader, SnapshotWriter,
};
use nand::{Event, Flash, Owner};
use units::{HostOp, Request, SECTOR_BYTES, members};

/// What a page holds on flash.
enum Cells {
    Zeros,
    Are(Vec<u8>),
    OnTheirWay,
}

impl<F: Flash> Zoned<F> {
    /// Calls `hint` with requests as the mapping below numbers their pages.
    fn translated(&self, requests: &[Request], hint: impl Fn(&[Request])) {
        let per_page = u64::from(self.page_bytes) / SECTOR_BYTES;
        let page_of = |page: u64| {
            let block = (page / u64::from(self.layout.pages)) as u32;
            let place = self.layout.place(block.min(self.layout.blocks() - 1));
            self.layout.page(place.zone, place.row, place.bank)
        };
        layer::translated(requests, per_page, page_of, hint);
    }

    /// Bytes a controller needs: a map entry of 4 bytes for each stripe block, a bit for each code block, read counts,
    /// the thread table with its buffers, the window.
    fn ram_bytes(&self) -> u64 {
        let block = u64::from(self.layout.pages) * u64::from(self.page_bytes);
        let entries = u64::from(self.layout.blocks()) + self.agrees.len() as u64 * 64;
        let threads = self.ahead.threads.len() as u64 * (u64::from(self.layout.group) * block + 24);
        entries * 4 + self.agrees.len() as u64 * 8 + self.reads.len() as u64 * 8 + threads
    }

    fn report_own(&self) -> LayerReport {
        let counters = &self.counters;
        let mut report = LayerReport { name: "zones", ram_bytes: self.ram_bytes(), ..LayerReport::default() };
        report.counters.extend([
            ("blocks_read", counters.data_reads),
            ("code_blocks_read", counters.code_reads),
            ("block_reads_taken_back", counters.taken_back),
            ("block_reads_wasted", counters.wasted),
            ("blocks_decoded", counters.decoded),
            ("code_reads_gone_stale", counters.stale_drops),
            ("coded_groups_read", counters.coded_groups),
            ("coded_groups_partly_stale", counters.stale_groups),
            ("blocks_read_ahead", counters.ahead_blocks),
            ("read_ahead_hits", counters.ahead_hits),
            ("sequential_reads", counters.sequential),
            ("sequential_reads_fragmented", counters.sequential_fragments),
            ("sequential_reads_misaligned", counters.sequential_misaligned),
            ("writes_filled_up", counters.filled_up_writes),
            ("code_blocks_updated", counters.code_updates),
            ("code_blocks_encoded", counters.encoded),
            ("encodings_spoiled", counters.spoiled),
            ("offline_phases", counters.offline_phases),
            ("zones_coded", self.coded.iter().filter(|zone| **zone != NONE).count() as u64),
            ("map_bytes", u64::from(self.layout.blocks()) * 4),
        ]);
        report
    }

    /// Code blocks that count are the sums of their sources.
    fn check_codes(&self, flash: &F) -> Result<(), String> {
        let Some(contents) = flash.state().contents() else { return Ok(()) };
        if self.known.code().is_mds() {
            return Ok(()); // sums with coefficients are checked by reading
        }
        let state = flash.state();
        // A page being copied is where the map says only when its program has completed.
        let cells = |page: u32| match self.below.place_of(page) {
            None => Cells::Zeros,
            Some(at) if state.is_programmed(at) => Cells::Are(contents.page(at.0).to_vec()),
            Some(_) => Cells::OnTheirWay,
        };
        for (zone, code_zone) in (0..).zip(&self.code_of).filter(|(_, code_zone)| **code_zone != NONE) {
            for row in 0..self.layout.rows {
                for group in 0..self.layout.groups() {
                    for code in (0..self.known.code().code()).filter(|code| self.agrees(*code_zone, row, group, *code))
                    {
                        self.check_code([zone, row, group, code], &cells)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_code(&self, [zone, row, group, code]: [u32; 4], cells: &impl Fn(u32) -> Cells) -> Result<(), String> {
        let data = self.layout.group;
        'pages: for page in 0..self.layout.pages {
            let mut sum: Option<Vec<u8>> = None;
            for element in members(self.known.code().sources(code) | 1 << (data + code)) {
                let cells = match cells(self.element_page(zone, row, group, element).1 + page) {
                    Cells::Are(cells) => cells,
                    Cells::Zeros => continue,
                    Cells::OnTheirWay => continue 'pages,
                };
                match &mut sum {
                    None => sum = Some(cells),
                    Some(sum) => sum.iter_mut().zip(cells).for_each(|(sum, cell)| *sum ^= cell),
                }
            }
            if sum.is_some_and(|sum| sum.iter().any(|byte| *byte != 0)) {
                return Err(format!(
                    "code block {code} of zone {zone}, row {row}, group {group} counts, but is not the sum of its \
                     sources"
                ));
            }
        }
        Ok(())
    }
}

impl<F: Flash> PageLayer<F> for Zoned<F> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if self.idle {
            self.pause_encoding(flash);
        }
        match op.op {
            HostOp::Read => self.submit_read(flash, op, outbox),
            HostOp::Write | HostOp::Trim => self.submit_write(flash, op, outbox),
            HostOp::Flush => {
                self.settle(flash, outbox);
                self.submit_flush(flash, op)
            }
        }
    }

    fn on_event(&mut self, flash: &mut F, owner: Owner, event: &Event, outbox: &mut Outbox) {
        match *event {
            Event::Joined { token, failed, wait } if owner == STRIPE_OWNER => {
                self.on_joined(flash, token, failed, wait, outbox);
                return;
            }
            Event::DieLost { die } => self.below.lose_die(flash, die),
            ref event => self.below.on_event(flash, owner, event),
        }
        if self.below.has_spoken() {
            self.settle(flash, outbox);
        }
    }

    fn prepare(&mut self, flash: &mut F) {
        if self.settings.at_start {
            self.idle = true;
            self.encode_when_idle(flash);
            self.settle(flash, &mut Outbox::new());
        }
    }

    fn on_idle(&mut self, flash: &mut F) -> bool {
        self.idle = true;
        let begun = self.encode_when_idle(flash);
        let mut outbox = Outbox::new();
        self.settle(flash, &mut outbox);
        debug_assert!(outbox.is_empty(), "nobody waits while the host is idle");
        self.below.on_idle(flash) || begun
    }

    fn hint_map(&self, flash: &F, soon: &[Request]) {
        self.translated(soon, |soon| self.below.hint_map(flash, soon));
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        self.translated(next, |next| self.below.hint_target(flash, next));
    }

    fn holds(&self, flash: &F, page: u32) -> Held {
        if self.is_waited_for(page) { Held::Bytes } else { self.below.holds(flash, self.page_of(page)) }
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        if self.fetches.is_quiet() && self.jobs.is_quiet() && self.encoder.is_quiet() {
            self.check_codes(flash)?;
        }
        self.below.check(flash)
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        reports.push(self.report_own());
        self.below.report(reports);
    }

    fn reset_counters(&mut self) {
        self.counters = crate::zoned::Counters::default();
        self.below.reset_counters();
    }

    fn save(&self, writer: &mut SnapshotWriter) {
        assert!(self.jobs.is_quiet() && self.fetches.is_quiet(), "a drive is drained before its state is saved");
        writer.put_u64("zones.reads", self.reads.iter().copied());
        writer.put_u32("zones.coded", self.coded.iter().copied());
        writer.put_u64("zones.agrees", self.agrees.iter().copied());
        self.encoder.save(writer);
        self.below.save(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let (reads, coded, agrees) =
            (reader.get_u64("zones.reads")?, reader.get_u32("zones.coded")?, reader.get_u64("zones.agrees")?);
        let fits =
            reads.len() == self.reads.len() && coded.len() == self.coded.len() && agrees.len() == self.agrees.len();
        if !fits || coded.iter().any(|zone| *zone != NONE && *zone >= self.layout.zones) {
            return Err(SnapshotError::Unfit {
                section: "zones",
                problem: "the number of zones or rows differs".to_owned(),
            });
        }
        (self.reads, self.coded, self.agrees) = (reads, coded, agrees);
        self.encoder.load(reader)?;
        self.code_of.fill(NONE);
        for (code_zone, zone) in (0..).zip(&self.coded).filter(|(_, zone)| **zone != NONE) {
            self.code_of[*zone as usize] = code_zone;
        }
        self.below.load(reader)
    }
}
