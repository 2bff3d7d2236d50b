//! The stripe layer as seen from above: operations, events, checks, reports, snapshots.

use crate::array::Array;
use crate::scheme::Delay;
use crate::striped::{Counters, Striped};
use layer::{
    Answer, Held, LayerReport, Old, Outbox, PageLayer, PageOp, STRIPE_OWNER, SnapshotError, SnapshotReader,
    SnapshotWriter,
};
use nand::{Event, Flash, Owner, PayloadId};
use units::{HostOp, Lpn, Ppn, Request, SECTOR_BYTES, members};

/// Commits under way at once while the host has nothing to do.
const IDLE_COMMITS: usize = 4;

impl<F: Flash> Striped<F> {
    /// These stripes may be committed next, in this order: the data looked up for each are brought in the steps in
    /// which one is found by the other. Its pages are neighbours in the mapping below.
    pub fn look_ahead(&self, flash: &F, [next, after, later]: [Option<u32>; 3]) {
        let Array { layout, page_bytes, below, .. } = &self.work.array;
        let per_page = u64::from(*page_bytes) / SECTOR_BYTES;
        let request = |page: Lpn| Request {
            arrival: 0,
            first_sector: u64::from(page.0) * per_page,
            sectors: 0,
            op: HostOp::Write,
            fua: false,
        };
        if let Some(stripe) = next {
            // Of the stripe, a commit mostly reads its newer pages and the parity alone.
            let newer = members(self.work.array.newer_of(stripe)).map(|index| layout.data_page(stripe, index));
            let rows = (0..layout.parity).map(|row| layout.parity_page(stripe, row));
            newer.chain(rows).for_each(|page| below.hint_target(flash, &[request(page)]));
        }
        if let Some(stripe) = after {
            let first = stripe * layout.chips();
            below.hint_map(flash, &[request(Lpn(first)), request(Lpn(first + layout.chips() - 1))]);
        }
        if let Some(stripe) = later {
            self.work.jobs.prefetch(stripe);
        }
    }

    /// What a power cut tore is mended before anything else: collection that began in an idle time would have a torn
    /// stripe committed from what memory has of it.
    #[inline]
    fn resume_once(&mut self, flash: &mut F) {
        if self.work.array.torn.is_fresh && self.work.array.layout.parity > 0 {
            self.resume(flash);
        }
    }
}

impl<F: Flash> Array<F> {
    /// Calls `hint` with requests as the mapping below numbers their pages.
    pub fn translated(&self, requests: &[Request], hint: impl Fn(&[Request])) {
        let per_page = u64::from(self.page_bytes) / SECTOR_BYTES;
        let page_of = |user: u64| {
            let is_users = user < u64::from(self.layout.user_pages);
            let page = if is_users { self.layout.below(Lpn(user as u32)) } else { Lpn(0) };
            self.cache.prefetch(self.layout.stripe_of(page));
            page.0
        };
        layer::translated(requests, per_page, page_of, hint);
    }

    /// Bits of the cache: for each entry the stripe's number, a bit a page, and the parity.
    pub fn cache_bits(&self) -> u64 {
        let number = u64::from(self.layout.stripes().max(2) - 1).ilog2() + 1;
        let pages = if self.scheme.delay == Delay::Idle { 0 } else { self.layout.parity };
        let entry = u64::from(number) + u64::from(self.layout.data) + u64::from(pages) * u64::from(self.page_bytes) * 8;
        u64::from(self.settings.entries) * entry
    }

    pub fn report_own(&self) -> LayerReport {
        let Counters { cases, commits, .. } = self.counters;
        let mut report = LayerReport { name: "stripe", ..LayerReport::default() };
        if self.scheme.delays() {
            report.ram_bytes = self.cache_bits().div_ceil(8);
            report.cache = Some((cases[1] + cases[2], cases[0]));
        }
        report.counters.extend([
            ("stripes_newly_delayed", cases[0]),
            ("pages_added", cases[1]),
            ("pages_overwritten", cases[2]),
            ("full_stripe_writes", self.counters.full_stripes),
            ("commits_replacement", commits[0]),
            ("commits_collection", commits[1]),
            ("commits_idle", commits[2]),
            ("commits_repair", commits[3]),
            ("commits_with_writes", self.counters.commits_with_writes),
            ("commit_reads", self.counters.commit_reads),
            ("commit_reads_most", self.counters.most_commit_reads),
            ("stripes_delayed", u64::from(self.cache.delayed)),
            ("cache_bits", if self.scheme.delays() { self.cache_bits() } else { 0 }),
            ("pages_reconstructed", self.counters.degraded_reads),
            ("pages_read_around", self.counters.around.pages),
            ("pages_computed_instead", self.counters.around.computed),
            ("around_reads_taken_back", self.counters.around.taken_back),
            ("around_reads_wasted", self.counters.around.wasted),
            ("pages_written_to_parity_alone", self.counters.degraded_writes),
            ("pages_healed", self.counters.healed_pages),
            ("pages_lost", self.counters.lost_pages + self.beyond_parity()),
            ("dies_missing", self.chips.missing()),
            ("dies_lost", self.chips.failed_dies()),
            ("stripes_rebuilt", self.counters.rebuilt_stripes),
            ("stripes_to_rebuild", self.chips.left()),
            ("stripes_to_repair", self.torn.left()),
        ]);
        report
    }

    /// Old versions are kept exactly for the pages newer than their parity.
    pub fn check_old(&self, stripe: u32) -> Result<(), String> {
        let entry = self.cache.find(stripe).map(|slot| self.cache.at(slot));
        let newer = entry.filter(|entry| !entry.full).map_or(0, |entry| entry.newer);
        let (lost, _) = self.lost_members(stripe);
        for index in members(self.layout.all() & !lost) {
            let kept = self.below.old(self.layout.data_page(stripe, index)) != Old::None;
            if kept != (newer >> index & 1 == 1) {
                return Err(format!(
                    "stripe {stripe}: an old version of data page {index} is kept: {kept}; pages newer than the \
                     parity: {newer:#b}"
                ));
            }
        }
        if entry.is_some_and(|entry| entry.newer == 0) {
            return Err(format!("stripe {stripe} is delayed, but none of its pages is newer than its parity"));
        }
        Ok(())
    }
}

impl<F: Flash> PageLayer<F> for Striped<F> {
    fn submit(&mut self, flash: &mut F, op: &PageOp, outbox: &mut Outbox) -> Answer {
        if self.work.array.layout.parity == 0 {
            return (*self.work.array.below).submit(flash, op, outbox); // the numbers of pages are the same
        }
        self.idle = false;
        self.resume_once(flash);
        match op.op {
            HostOp::Read => self.submit_read(flash, op, outbox),
            HostOp::Write | HostOp::Trim => self.submit_write(flash, op, outbox),
            HostOp::Flush => {
                self.work.jobs.close_group();
                self.settle(flash, outbox);
                self.submit_flush(flash, op)
            }
        }
    }

    fn on_event(&mut self, flash: &mut F, owner: Owner, event: &Event, outbox: &mut Outbox) {
        self.resume_once(flash);
        match *event {
            Event::Joined { token, failed, wait } if owner == STRIPE_OWNER => {
                self.on_joined(flash, token, failed, wait, outbox);
                return;
            }
            Event::DieLost { die } if self.work.array.layout.parity > 0 => self.lose_die(flash, die),
            ref event if self.work.array.layout.parity > 0 => self.work.array.below.on_event(flash, owner, event),
            ref event => (*self.work.array.below).on_event(flash, owner, event, outbox),
        }
        if self.work.array.layout.parity > 0 {
            self.settle(flash, outbox);
        }
    }

    fn on_idle(&mut self, flash: &mut F) -> bool {
        self.idle = true;
        self.resume_once(flash);
        let begun = (0..IDLE_COMMITS).filter(|_| self.commit_when_idle()).count() > 0;
        if begun {
            self.settle(flash, &mut Outbox::new());
        }
        self.work.array.below.on_idle(flash) || begun
    }

    fn hint_map(&self, flash: &F, soon: &[Request]) {
        let chips = u64::from(self.work.array.layout.chips());
        let per_page = u64::from(self.work.array.page_bytes) / SECTOR_BYTES;
        self.work.array.translated(soon, |soon| {
            for request in soon {
                self.work.jobs.prefetch((request.first_sector / per_page / chips) as u32);
            }
            self.work.array.below.hint_map(flash, soon);
        });
    }

    fn hint_target(&self, flash: &F, next: &[Request]) {
        self.work.array.translated(next, |next| self.work.array.below.hint_target(flash, next));
    }

    fn holds(&self, flash: &F, page: Lpn) -> Held {
        let array = &self.work.array;
        if array.layout.parity == 0 {
            return array.below.holds(flash, page);
        }
        let (stripe, at) = array.layout.place(page);
        if !array.is_there(stripe, at) || self.work.jobs.is_awaited(stripe, at, false) {
            return Held::Bytes;
        }
        array.below.holds(flash, array.layout.data_page(stripe, at))
    }

    fn place_of(&self, page: Lpn, sectors: u64) -> Option<Ppn> {
        let array = &self.work.array;
        if array.layout.parity == 0 {
            return array.below.place_of(page, sectors);
        }
        let (stripe, at) = array.layout.place(page);
        let is_below = array.is_there(stripe, at) && !self.work.jobs.is_awaited(stripe, at, false);
        is_below.then(|| array.below.place_of(array.layout.data_page(stripe, at), sectors)).flatten()
    }

    fn check(&self, flash: &F) -> Result<(), String> {
        self.work.array.cache.check()?;
        self.work.jobs.check()?;
        self.work.array.torn.check()?;
        self.waiting.check()?;
        if self.work.array.layout.parity > 0 && !self.work.array.torn.is_fresh {
            (0..self.work.array.layout.stripes())
                .filter(|stripe| self.work.jobs.is_idle(*stripe))
                .try_for_each(|stripe| self.work.array.check_old(stripe))?;
        }
        self.work.array.below.check(flash)
    }

    fn report(&self, reports: &mut Vec<LayerReport>) {
        if self.work.array.layout.parity > 0 {
            reports.push(self.work.array.report_own());
        }
        self.work.array.below.report(reports);
    }

    fn reset_counters(&mut self) {
        self.work.array.counters = Counters::default();
        self.work.array.below.reset_counters();
    }

    fn save(&mut self, writer: &mut SnapshotWriter) {
        assert!(self.work.jobs.is_quiet(), "a drive is drained before its state is saved");
        let cache = &self.work.array.cache;
        let delayed = cache.delayed_stripes().into_iter().map(|stripe| {
            let entry = cache.at(cache.find(stripe).expect("a delayed stripe has an entry"));
            [u64::from(stripe), entry.newer, entry.zeros, entry.trims, u64::from(entry.full)]
        });
        writer.put("stripe.delayed", delayed);
        self.work.array.below.save(writer);
    }

    fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        for [stripe, newer, zeros, trims, full] in reader.each::<[u64; 5]>("stripe.delayed")? {
            if stripe >= u64::from(self.work.array.layout.stripes()) || newer & !self.work.array.layout.all() != 0 {
                let problem = format!("stripe {stripe} does not belong there");
                return Err(SnapshotError::unfit("stripe.delayed", problem));
            }
            // With contents, non-volatile memory has brought the stripe along.
            let slot = self.work.array.cache.find(stripe as u32);
            let slot = slot.unwrap_or_else(|| self.work.array.cache.insert(stripe as u32, false, [PayloadId::NONE; 2]));
            let entry = self.work.array.cache.at_mut(slot);
            (entry.newer, entry.zeros, entry.trims, entry.full) = (newer, zeros, trims, full == 1);
            self.work.array.cache.touch(slot);
        }
        self.work.array.below.load(reader)
    }
}
