//! The remapping driver: all writes go elsewhere, and stay there. See the overview.

mod checkpoint;
mod complete;
mod disk;
mod gather;
mod journal;
mod layout;
mod options;
mod reclaim;
mod recover;
mod space;

pub use layout::Layout;
pub use options::{Options, Partial, Start};
pub use recover::{OtherCheckpoint, Recovered};

use crate::shell::host::{Completion, Host};
use crate::{Counter, Driver, DriverOptions, OpenError, PageWrite, ReadSectors, Source};
use checkpoint::Checkpoints;
use gather::Gather;
use journal::Journal;
use reclaim::Reclaim;
use space::Space;
use std::io;
use std::ops::Range;
use units::{Nanos, SECTOR_BYTES};

/// The purpose of a command of the driver.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Pages of a victim.
    Copy(u32),
    /// Data, by the number of the change.
    Data(u64),
    /// A free virtual superpage is trimmed.
    Trim(u32),
    /// A flush for the journal.
    Flush,
    Journal,
    /// The superblock or a piece of a checkpoint.
    Piece,
    /// The head of a checkpoint.
    Head,
    /// The flush behind it.
    HeadFlush,
}

/// A remapping driver. See the overview.
#[derive(Debug)]
pub struct Hard {
    layout: Layout,
    options: Options,
    space: Space,
    gather: Gather,
    reclaim: Reclaim,
    journal: Journal,
    checkpoints: Checkpoints,
    /// What it was opened from.
    recovered: Option<Recovered>,
}

impl Hard {
    /// The source of its map, if it was opened and not formatted.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }

    /// Where things are on the device.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The journal has room for `more` records beyond those made already.
    fn has_records(&self, more: usize) -> bool {
        self.journal.has_records(self.gather.made(), more as u64 + self.reclaim.records())
    }

    fn pump_reclaim(&mut self, host: &mut Host<Work>) -> bool {
        if self.reclaim.place_copies(host, &mut self.space, &mut self.gather) {
            return true;
        }
        self.reclaim.wants_another(host, &self.space)
            && self.has_records(0)
            && self.reclaim.begin_victim(host, &mut self.space, &self.gather)
    }

    fn pump_checkpoint(&mut self, host: &mut Host<Work>) -> bool {
        let is_full = !self.has_records(host.waiting_pages());
        self.checkpoints.pump(host, &mut self.space, &mut self.gather, &self.journal, is_full)
    }

    /// Begins a cycle of the journal if one is wanted.
    fn pump_journal(&mut self, host: &mut Host<Work>) -> bool {
        self.journal.is_idle() && self.wants_cycle(host) && self.journal.begin_cycle(host)
    }

    fn wants_cycle(&self, host: &Host<Work>) -> bool {
        if host.has_waiter() {
            return true;
        }
        if let Some(target) = self.checkpoints.target() {
            return target <= host.written();
        }
        let is_low = self.space.free() <= self.options.var_free || host.is_background();
        let frees = self.space.empty > 0 && is_low;
        self.journal.has_pending() && (frees || self.journal.fills_one())
    }

    /// Last resort where something waits and nothing is under way: write what is open, make it durable, reclaim. If
    /// none of these can be done there is no space, because too many virtual superpages were set aside.
    fn pump_stuck(&mut self, host: &mut Host<Work>) -> bool {
        if !host.is_stuck() {
            return false;
        }
        if self.gather.issue_host(host, &mut self.space)
            || (self.journal.has_pending() && self.journal.begin_cycle(host))
        {
            return true;
        }
        // Copies are written before they fill a virtual superpage only if there are no more: that may gain nothing.
        if (host.is_ready() && self.reclaim.begin_victim(host, &mut self.space, &self.gather))
            || self.gather.issue_copies(host, &mut self.space)
        {
            return true;
        }
        // Reads of the host hold what they read; they may be all that is in the way.
        if !host.has_commands() {
            host.break_down();
        }
        false
    }
}

impl Driver for Hard {
    type Options = Options;
    type Work = Work;

    /// All pages read zeros, or with [`Start::Identity`] what the device holds.
    fn format(layout: Layout, options: &Options, id: u64, _host: &mut Host<Work>) -> Self {
        let options = options.limited(&layout);
        let space = Space::fresh(&layout, &options);
        Self {
            layout,
            options,
            space,
            gather: Gather::new(&layout, &options),
            reclaim: Reclaim::new(&layout, &options),
            journal: Journal::new(&layout, id),
            checkpoints: Checkpoints::new(&layout, id, true, 1),
            recovered: None,
        }
    }

    fn open(options: &Options, device_sectors: u64, read: &mut ReadSectors) -> Result<(Self, Host<Work>), OpenError> {
        let hard = Self::opened(options, device_sectors, read)?;
        let host = Host::found(hard.layout.into(), options.terms());
        Ok((hard, host))
    }

    fn fresh_id(layout: &Layout, read: &mut ReadSectors) -> io::Result<u64> {
        let superpages = (0..layout.first_data()).map(|superpage| layout.sector_of(superpage));
        let id_of = |bytes: &[u8]| disk::any_id(bytes).or_else(|| disk::any_id(&bytes[..SECTOR_BYTES as usize]));
        disk::fresh_id(superpages, layout.superpage_bytes(), id_of, read)
    }

    fn locate(&self, page: u32) -> Source {
        self.gather.locate(self.space.map()[page as usize])
    }

    fn read_ended(&mut self, host: &mut Host<Work>, first_sector: u64, sectors: u32) {
        for superpage in self.space.superpages_of(first_sector, sectors) {
            self.space.settle(host, superpage);
        }
    }

    fn admits(&self, host: &Host<Work>) -> bool {
        self.has_records(host.waiting_pages())
    }

    fn has_room(&self, _host: &Host<Work>) -> bool {
        let is_there = self.space.free() > self.options.var_free && !self.reclaim.is_behind(&self.space);
        let has_slot = self.gather.is_open() || (is_there && self.gather.has_memory());
        has_slot && self.has_records(0)
    }

    fn place(&mut self, host: &mut Host<Work>, write: PageWrite<'_>) {
        self.gather.place(host, &mut self.space, write);
    }

    fn place_in_place(&mut self, host: &mut Host<Work>, write: PageWrite<'_>) -> u32 {
        let slots = self.layout.slots();
        let can_be = !self.options.terms.replaces_pages && write.pages >= slots;
        if can_be && self.gather.place_in_place(host, &mut self.space, write) { slots } else { 0 }
    }

    fn trim(&mut self, host: &mut Host<Work>, pages: Range<u32>) {
        self.gather.trim(host, &mut self.space, &mut self.journal, pages);
    }

    fn gathering_since(&self) -> Option<Nanos> {
        self.gather.since()
    }

    fn close(&mut self, host: &mut Host<Work>) -> bool {
        self.gather.issue_host(host, &mut self.space)
    }

    fn completed(&mut self, host: &mut Host<Work>, work: Work, done: &Completion) {
        let failed = done.failed;
        match work {
            Work::Copy(superpage) => self.reclaim.copy_completed(superpage, failed),
            Work::Data(number) => {
                self.gather.completed(host, &mut self.space, &mut self.journal, number, failed);
            }
            Work::Trim(superpage) => self.space.trimmed(superpage),
            Work::Flush => self.journal.flush_completed(host, &mut self.space),
            Work::Journal => {
                host.release(done);
                self.journal.write_completed(host, failed);
            }
            Work::Piece => {
                host.release(done);
                self.checkpoints.piece_completed(failed);
            }
            Work::Head => {
                host.release(done);
                self.checkpoints.head_completed(host, failed);
            }
            Work::HeadFlush => self.checkpoints.head_flushed(host, &mut self.journal),
        }
    }

    /// Reclaims, before pages of the host are placed: they would take all that a write of the journal freed.
    fn pump_first(&mut self, host: &mut Host<Work>) -> bool {
        // Before the first checkpoint nothing may go to the journal.
        host.is_ready() && self.pump_reclaim(host)
    }

    fn pump_last(&mut self, host: &mut Host<Work>) -> bool {
        self.pump_checkpoint(host) || self.pump_journal(host) || self.pump_stuck(host)
    }

    fn has_idle_work(&self, _host: &Host<Work>) -> bool {
        self.reclaim.is_short_of_free(&self.space)
    }

    /// A checkpoint is written, so that the next start reads no journal.
    fn tidy_up(&mut self, host: &mut Host<Work>) {
        if !host.is_broken() {
            host.want_life();
        }
        self.checkpoints.want();
    }

    fn counters(&self, host: &Host<Work>) -> Vec<Counter> {
        let (counts, written) = (host.counts(), self.gather.written());
        vec![
            Counter::sum("host_pages", counts.host_pages),
            Counter::sum("in_place_pages", written.in_place_pages),
            Counter::sum("var_copies", written.var_copies),
            Counter::sum("moved_pages", written.moved_pages),
            Counter::sum("superpages", written.superpages),
            Counter::sum("pad_pages", written.pad_pages),
            Counter::sum("victims", self.reclaim.reclaimed),
            Counter::sum("unreadable", self.reclaim.unreadable),
            Counter::sum("merge_reads", counts.merge_reads),
            Counter::sum("reads", counts.reads),
            Counter::sum("reads_split", counts.reads_split),
            Counter::sum("read_commands", counts.read_commands),
            Counter::sum("journal_superpages", self.journal.superpages),
            Counter::sum("checkpoint_superpages", self.checkpoints.superpages),
            Counter::sum("checkpoints", self.checkpoints.completed),
            Counter::sum("device_flushes", counts.device_flushes),
            Counter::sum("host_flushes", counts.host_flushes),
            Counter::sum("failed_commands", counts.failed_commands),
            Counter::now("free", self.space.free().into()),
            Counter::now("empty", self.space.empty.into()),
            Counter::now("aside", self.space.aside.into()),
            Counter::now("mapped_pages", self.space.mapped.into()),
            Counter::now("broken", host.is_broken().into()),
        ]
    }

    fn ram_bytes(&self) -> u64 {
        self.space.ram_bytes()
    }

    /// Whether the map, its reverse, the counts and the states agree, and every slot is accounted for: host pages,
    /// copies, pages written again and pads fill the virtual superpages taken, but for what is still open.
    fn check(&self, host: &Host<Work>) -> Result<(), String> {
        self.space.check()?;
        let (written, open) = (self.gather.written(), self.gather.open_slots());
        let pages = host.counts().host_pages + written.var_copies + written.moved_pages + written.pad_pages + open;
        let slots = written.superpages * u64::from(self.layout.slots());
        if pages != slots {
            return Err(format!("{pages} pages for {slots} slots: {written:?}"));
        }
        Ok(())
    }
}
