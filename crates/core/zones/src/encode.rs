//! Encoding: the off-line phase, and code blocks encoded again in idle time.
//!
//! Faithful to: the zones read most get the code zones; counts accumulate; what encoding costs is not charged by
//! default. Simplified: the off-line phase begins with the first idle moment after its period is over. Protects: a code
//! block counts only if no source of it was written since its encoding began.

use crate::settings::{Settings, Stale};
use crate::zoned::{Asked, NONE, Tag, Zoned};
use layer::{Answer, PageOp, Slots, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, PayloadId};
use std::collections::{HashMap, HashSet, VecDeque};
use units::{Cause, HostOp, members};

/// A group of a row being encoded.
#[derive(Clone, Copy, Debug)]
struct Encoding {
    place: [u32; 3],
    /// Code blocks, as elements.
    codes: u32,
    outstanding: u32,
    /// Pages of the code blocks given to the mapping; before that, data is read.
    sent: Option<u32>,
    /// A source was written meanwhile, or something failed.
    spoiled: bool,
    stalled: bool,
    cells: PayloadId,
}

/// What is to be encoded, and what is being.
#[derive(Debug)]
pub(crate) struct Encoder {
    queue: VecDeque<[u32; 3]>,
    /// What is in the queue.
    queued: HashSet<[u32; 3]>,
    under_way: Slots<Encoding>,
    /// Most at once.
    limit: usize,
    /// Slots by what they encode, and those that found no room.
    active: HashMap<[u32; 3], u32>,
    stalled: Vec<u32>,
    /// When the next off-line phase is due; `None`: at the first idle moment.
    pub due: Option<u64>,
    /// Nothing encoding does takes time now.
    instant: bool,
    again_when_idle: bool,
}

impl Encoder {
    pub fn new(settings: &Settings) -> Self {
        Self {
            queue: VecDeque::new(),
            queued: HashSet::new(),
            under_way: Slots::default(),
            limit: settings.encode_rows,
            active: HashMap::new(),
            stalled: Vec::new(),
            due: (!settings.at_start).then_some(settings.every),
            instant: false,
            again_when_idle: settings.stale == Stale::ReencodeIdle,
        }
    }

    /// A source of a group was written: what is being encoded of it does not count.
    pub fn spoil(&mut self, zone: u32, row: u32, group: u32) {
        if let Some(slot) = self.active.get(&[zone, row, group]) {
            self.under_way.at_mut(*slot).spoiled = true;
        }
    }

    /// Code blocks of a group are stale.
    pub fn note_stale(&mut self, zone: u32, row: u32, group: u32) {
        if self.again_when_idle {
            self.enqueue([zone, row, group]);
        }
    }

    fn enqueue(&mut self, place: [u32; 3]) {
        if self.queued.insert(place) {
            self.queue.push_back(place);
        }
    }

    fn next(&mut self) -> Option<[u32; 3]> {
        let place = self.queue.pop_front()?;
        self.queued.remove(&place);
        Some(place)
    }

    /// When the next off-line phase is due, and what is to be encoded.
    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put_u64("zones.offline_due", self.due.into_iter());
        let places: Vec<u32> = self.queue.iter().flatten().copied().collect();
        writer.put_u32("zones.to_encode", places.into_iter());
    }

    /// As it was saved.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        self.due = reader.get_u64("zones.offline_due")?.first().copied();
        let places = reader.get_u32("zones.to_encode")?;
        (self.queue, self.queued) = Default::default();
        places.as_chunks::<3>().0.iter().for_each(|place| self.enqueue(*place));
        Ok(())
    }

    /// Whether one more group may be encoded at once.
    fn has_room(&self) -> bool {
        self.under_way.len() < self.limit
    }

    /// Nothing is being encoded.
    pub fn is_quiet(&self) -> bool {
        self.active.is_empty()
    }
}

impl<F: Flash> Zoned<F> {
    /// The host has nothing to do.
    pub fn encode_when_idle(&mut self, flash: &mut F) -> bool {
        if self.layout.code_zones == 0 {
            return false;
        }
        // Code zones change hands only while nobody reads, writes or encodes code blocks.
        let quiet = self.fetches.is_quiet() && self.jobs.is_quiet() && self.encoder.is_quiet();
        if quiet && self.encoder.due.is_none_or(|due| flash.now() >= due) {
            self.begin_offline(flash);
        }
        if self.encoder.queue.is_empty() {
            return false;
        }
        if !self.settings.charged {
            self.encoder.instant = true;
            flash.set_instant(true);
        }
        self.encode_more(flash);
        true
    }

    /// The host has something to do: what is still to be encoded waits for the next idle moment.
    pub fn pause_encoding(&mut self, flash: &mut F) {
        self.idle = false;
        if std::mem::take(&mut self.encoder.instant) {
            flash.set_instant(false);
        }
    }

    /// Gives the code zones to the zones read most.
    fn begin_offline(&mut self, flash: &F) {
        self.encoder.due = Some(flash.now() + self.settings.every);
        self.counters.offline_phases += 1;
        let mut ranked: Vec<u32> = (0..self.layout.zones).collect();
        ranked.sort_by_key(|zone| (std::cmp::Reverse(self.reads[*zone as usize]), *zone));
        let chosen = &ranked[..self.layout.code_zones as usize];
        for code_zone in 0..self.layout.code_zones {
            let zone = self.coded[code_zone as usize];
            if zone != NONE && !chosen.contains(&zone) {
                self.coded[code_zone as usize] = NONE;
                self.code_of[zone as usize] = NONE;
            }
        }
        let newly: Vec<u32> = chosen.iter().copied().filter(|zone| self.code_of[*zone as usize] == NONE).collect();
        let mut unused = (0..self.layout.code_zones)
            .filter(|code_zone| self.coded[*code_zone as usize] == NONE)
            .collect::<Vec<_>>()
            .into_iter();
        for zone in newly {
            let code_zone = unused.next().expect("as many code zones as chosen zones");
            self.coded[code_zone as usize] = zone;
            self.code_of[zone as usize] = code_zone;
            let blocks = self.layout.rows * self.layout.banks;
            for bit in code_zone * blocks..(code_zone + 1) * blocks {
                self.agrees[bit as usize / 64] &= !(1 << (bit % 64));
            }
        }
        self.encoder.queue.clear();
        self.encoder.queued.clear();
        for zone in chosen {
            for row in 0..self.layout.rows {
                (0..self.layout.groups()).for_each(|group| self.encoder.enqueue([*zone, row, group]));
            }
        }
        if self.settings.halves {
            self.reads.iter_mut().for_each(|reads| *reads /= 2);
        }
    }

    /// Encodes as many groups at once as may be.
    pub fn encode_more(&mut self, flash: &mut F) {
        let mut stalled = std::mem::take(&mut self.encoder.stalled);
        for slot in stalled.drain(..) {
            self.encoder.under_way.at_mut(slot).stalled = false;
            self.encode_on(flash, slot);
        }
        if self.encoder.stalled.is_empty() {
            self.encoder.stalled = stalled; // its memory
        }
        while self.idle && self.encoder.has_room() {
            let Some(place) = self.encoder.next() else { break };
            if self.encoder.active.contains_key(&place) {
                self.encoder.enqueue(place);
                break;
            }
            self.begin_encoding(flash, place);
        }
        if self.encoder.instant && self.encoder.active.is_empty() {
            self.encoder.instant = false;
            flash.set_instant(false);
        }
    }

    fn begin_encoding(&mut self, flash: &mut F, place: [u32; 3]) {
        let [zone, row, group] = place;
        let code_zone = self.code_of[zone as usize];
        if code_zone == NONE {
            return;
        }
        let data = self.layout.group;
        let stale = (0..self.known.code().code()).filter(|code| !self.agrees(code_zone, row, group, *code));
        let codes = stale.fold(0, |set, code| set | 1 << (data + code));
        let sources = members(codes).fold(0, |set, element| set | self.known.code().sources(element - data));
        let pages = self.layout.pages;
        let is_written = |bank: u32| {
            let first = self.layout.page(zone, row, bank);
            (first..first + pages).any(|page| self.below.is_written(page))
        };
        // Blocks that were never written are not worth a code; and who writes now would spoil it.
        if codes == 0 || !members(sources).any(|at| is_written(group * data + at)) {
            return;
        }
        let spoiled = self.is_written_to(place);
        let cells = flash.memory_mut().payloads.take(self.known.code().elements() * pages, self.full_mask);
        let encoding = Encoding { place, codes, outstanding: 0, sent: None, spoiled, stalled: false, cells };
        let slot = self.encoder.under_way.insert(encoding);
        self.encoder.active.insert(place, slot);
        let sources = if self.known.code().is_mds() { self.known.code().all_data() } else { sources };
        for at in members(sources) {
            let first = self.layout.page(zone, row, group * data + at);
            let op = self.own_op(
                HostOp::Read,
                first,
                pages,
                cells.offset(at * pages),
                Cause::Code,
                Tag::token(Asked::Encode, slot, 0),
            );
            self.encode_step(flash, slot, &PageOp { cancellable: false, ..op });
        }
        if self.encoder.under_way.at(slot).outstanding == 0 {
            self.encode_on(flash, slot);
        }
    }

    /// Whether writes of this group were accepted and are not done.
    fn is_written_to(&self, [zone, row, group]: [u32; 3]) -> bool {
        if self.jobs.is_quiet() {
            return false;
        }
        if self.rows_in_line {
            return !self.jobs.is_idle(self.layout.line(zone, row, group));
        }
        let first = self.layout.block(zone, row, group * self.layout.group);
        (first..first + self.layout.group).any(|block| !self.jobs.is_idle(block))
    }

    /// Gives an operation to the mapping. The pages taken, if not all.
    fn encode_step(&mut self, flash: &mut F, slot: u32, op: &PageOp) -> Option<u32> {
        let answer = self.below.submit(flash, op);
        let encoding = self.encoder.under_way.at_mut(slot);
        match answer {
            Answer::Done { failed } => encoding.spoiled |= failed,
            Answer::Pending(_) => encoding.outstanding += 1,
            Answer::Full { taken, pending } => {
                encoding.outstanding += u32::from(pending);
                encoding.stalled = true;
                self.encoder.stalled.push(slot);
                return Some(taken);
            }
        }
        None
    }

    /// Something of an encoding is done.
    pub fn encode_step_done(&mut self, flash: &mut F, slot: u32, failed: bool) {
        let encoding = self.encoder.under_way.at_mut(slot);
        encoding.outstanding -= 1;
        encoding.spoiled |= failed;
        if encoding.outstanding == 0 && !encoding.stalled {
            self.encode_on(flash, slot);
            self.encode_more(flash);
        }
    }

    /// The data is there, or the code blocks are written.
    fn encode_on(&mut self, flash: &mut F, slot: u32) {
        let Encoding { place: [zone, row, group], codes, sent, cells, spoiled, outstanding, .. } =
            *self.encoder.under_way.at(slot);
        if outstanding > 0 {
            return;
        }
        let pages = self.layout.pages;
        let all = codes.count_ones() * pages;
        // The zone may have lost its code zone since, in the next off-line phase.
        if spoiled || self.code_of[zone as usize] == NONE || sent == Some(all) {
            self.end_encoding(flash, slot);
            return;
        }
        if sent.is_none() && cells != PayloadId::NONE {
            let payloads = &mut flash.memory_mut().payloads;
            for element in members(codes) {
                for page in 0..pages {
                    let cell = |element: u32| cells.offset(element * pages + page);
                    self.coder.compute(payloads, self.known.code(), element, self.known.code().all_data(), cell);
                }
            }
        }
        let mut sent = sent.unwrap_or(0);
        while sent < all {
            let element = members(codes).nth((sent / pages) as usize).expect("it is one of them");
            let (_, first) = self.element_page(zone, row, group, element);
            let (done, left) = (sent % pages, pages - sent % pages);
            let op = self.own_op(
                HostOp::Write,
                first + done,
                left,
                cells.offset(element * pages + done),
                Cause::Code,
                Tag::token(Asked::Encode, slot, 0),
            );
            if let Some(taken) = self.encode_step(flash, slot, &op) {
                self.encoder.under_way.at_mut(slot).sent = Some(sent + taken);
                return;
            }
            sent += left;
        }
        let encoding = self.encoder.under_way.at_mut(slot);
        encoding.sent = Some(all);
        if encoding.outstanding == 0 {
            self.end_encoding(flash, slot);
        }
    }

    fn end_encoding(&mut self, flash: &mut F, slot: u32) {
        let Encoding { place, codes, sent, cells, spoiled, .. } = self.encoder.under_way.remove(slot);
        let [zone, row, group] = place;
        let code_zone = self.code_of[zone as usize];
        if spoiled {
            self.counters.spoiled += 1;
            self.encoder.note_stale(zone, row, group);
        } else if code_zone != NONE && sent.is_some() {
            members(codes)
                .for_each(|element| self.set_agrees(code_zone, row, group, element - self.layout.group, true));
            self.counters.encoded += u64::from(codes.count_ones());
        }
        flash.memory_mut().payloads.release(cells, self.known.code().elements() * self.layout.pages);
        self.encoder.active.remove(&place);
    }
}
