//! Codes: which zones have a code zone, which code blocks agree, and how they are encoded.
//!
//! Faithful to: the zones read most get the code zones; counts accumulate; the cost of encoding is not charged by
//! default. Simplified: the off-line phase begins with the first idle moment after its period is over. Protects: a code
//! block agrees only while it is the sum of its sources as they are on flash; it is encoded into agreement only if no
//! source of it was written since its encoding began.
//!
//! ```text
//! off-line phase   1  rank the zones by what was read of them; as many as there are code zones are chosen
//!                  2  a chosen zone keeps its code zone; others that have one lose it
//!                  3  those without get the code zones that are free; no block of these agrees
//!                  4  every group of the chosen zones is to be encoded
//! encoding         1  read the sources of the code blocks that do not agree; nothing, if none was ever written
//!                  2  compute the code blocks, and write them one after the other, as far as there is room
//!                  3  they agree from now on, unless a source was written meanwhile or something failed
//! ```

use crate::base::{Asked, Base, NONE, Tag, Turn};
use crate::code::Code;
use crate::group::{Elements, GroupAt};
use crate::layout::{Place, ZoneLayout};
use crate::reads::Reads;
use crate::settings::{Settings, Stale};
use crate::writes::Writes;
use layer::{Answer, PageOp, Slots, SnapshotError, SnapshotReader, SnapshotWriter};
use nand::{Flash, PayloadId};
use std::collections::{HashMap, HashSet, VecDeque};
use units::{Cause, HostOp, Lpn};

/// Counters of codes, for the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CodeCounters {
    pub encoded: u64,
    pub spoiled: u64,
    pub offline_phases: u64,
}

/// A group being encoded.
#[derive(Clone, Copy, Debug)]
struct Encoding {
    at: GroupAt,
    codes: Elements,
    outstanding: u32,
    /// Pages of the code blocks given to the mapping; before that, data is read.
    sent: Option<u32>,
    /// A source was written meanwhile, or something failed.
    spoiled: bool,
    stalled: bool,
    cells: PayloadId,
}

/// Groups that are to be encoded, each once.
#[derive(Debug, Default)]
struct EncodeQueue {
    line: VecDeque<GroupAt>,
    members: HashSet<GroupAt>,
}

impl EncodeQueue {
    fn push(&mut self, at: GroupAt) {
        if self.members.insert(at) {
            self.line.push_back(at);
        }
    }

    fn pop(&mut self) -> Option<GroupAt> {
        let at = self.line.pop_front()?;
        self.members.remove(&at);
        Some(at)
    }
}

/// Code zones, and whether their blocks agree with their sources.
#[derive(Debug)]
pub(crate) struct Codes {
    pub code: Code,
    pub counters: CodeCounters,
    layout: ZoneLayout,
    settings: Settings,
    /// Code zone of each data zone, and data zone of each code zone.
    code_of: Vec<u32>,
    coded: Vec<u32>,
    /// Stripe blocks read of each zone.
    reads: Vec<u64>,
    /// One bit for each code block.
    agrees: Vec<u64>,
    queue: EncodeQueue,
    under_way: Slots<Encoding>,
    /// Encodings by their group, and those that found no room.
    active: HashMap<GroupAt, u32>,
    stalled: Vec<u32>,
    /// When the next off-line phase is due; nothing: at the first idle moment.
    due: Option<u64>,
    /// The host has nothing to do.
    is_idle: bool,
    /// Nothing encoding does takes time now.
    instant: bool,
}

impl Codes {
    pub fn new(code: Code, layout: &ZoneLayout, settings: &Settings) -> Self {
        let code_blocks = layout.code_zones as usize * layout.rows as usize * layout.banks as usize;
        Self {
            code,
            counters: CodeCounters::default(),
            code_of: vec![NONE; layout.zones as usize],
            coded: vec![NONE; layout.code_zones as usize],
            reads: vec![0; layout.zones as usize],
            agrees: vec![0; code_blocks.div_ceil(64)],
            queue: EncodeQueue::default(),
            under_way: Slots::default(),
            active: HashMap::new(),
            stalled: Vec::new(),
            due: (!settings.at_start).then_some(settings.every),
            is_idle: false,
            instant: false,
            layout: layout.clone(),
            settings: settings.clone(),
        }
    }

    /// Blocks of a zone are read.
    #[inline]
    pub fn count_reads(&mut self, zone: u32, blocks: u32) {
        self.reads[zone as usize] += u64::from(blocks);
    }

    #[inline]
    pub fn has_code_zone(&self, zone: u32) -> bool {
        self.code_of[zone as usize] != NONE
    }

    /// Zones that have a code zone.
    pub fn coded_zones(&self) -> impl Iterator<Item = u32> {
        self.coded.iter().copied().filter(|zone| *zone != NONE)
    }

    /// The bit of the first code block of a group; those of the others follow.
    #[inline]
    fn first_bit(&self, at: GroupAt) -> Option<u32> {
        let code_zone = self.code_of[at.zone as usize];
        let bit = || (code_zone * self.layout.rows + at.row) * self.layout.banks + at.group * self.layout.group;
        (code_zone != NONE).then(bit)
    }

    /// Code blocks of a group that are the sums of their sources on flash.
    #[inline]
    pub fn agreeing(&self, at: GroupAt) -> Elements {
        let Some(first) = self.first_bit(at) else { return Elements::NONE };
        let agrees = |bit: u32| self.agrees[bit as usize / 64] >> (bit % 64) & 1 == 1;
        self.code.all_codes().iter().filter(|element| agrees(first + element - self.code.data())).collect()
    }

    /// Notes that code blocks of a group agree, or do not.
    pub fn set_agrees(&mut self, at: GroupAt, codes: Elements, agrees: bool) {
        debug_assert!(codes.is_disjoint(self.code.all_data()), "only code blocks agree with others");
        let Some(first) = self.first_bit(at) else { return };
        for bit in codes.iter().map(|element| first + element - self.code.data()) {
            let word = &mut self.agrees[bit as usize / 64];
            *word = if agrees { *word | 1 << (bit % 64) } else { *word & !(1 << (bit % 64)) };
        }
    }

    /// Code blocks made of a data block, if there are any on flash.
    pub fn made_of(&self, at: GroupAt, block: u32) -> Elements {
        if self.has_code_zone(at.zone) { self.code.codes_of(block) } else { Elements::NONE }
    }

    /// Where an element of a group is; a code block in the code zone of the group's zone.
    #[inline]
    pub fn place(&self, at: GroupAt, element: u32) -> Place {
        let bank = self.layout.bank(at, element);
        if element < self.layout.group {
            return Place { zone: at.zone, row: at.row, bank };
        }
        debug_assert!(self.has_code_zone(at.zone), "zone {} has no code blocks", at.zone);
        Place { zone: self.layout.zones + self.code_of[at.zone as usize], row: at.row, bank }
    }

    /// First page of an element in the mapping below.
    #[inline]
    pub fn page(&self, at: GroupAt, element: u32) -> Lpn {
        self.layout.page(self.place(at, element))
    }

    /// A source of code blocks of a group was written: encodings of the group under way do not count.
    pub fn spoil(&mut self, at: GroupAt) {
        if let Some(slot) = self.active.get(&at) {
            self.under_way.at_mut(*slot).spoiled = true;
        }
        self.encode_again(at);
    }

    /// Code blocks of a group do not agree: they are encoded again, if that is how it is set.
    fn encode_again(&mut self, at: GroupAt) {
        if self.settings.stale == Stale::ReencodeIdle {
            self.queue.push(at);
        }
    }

    /// Nothing is being encoded.
    pub fn is_quiet(&self) -> bool {
        self.active.is_empty()
    }

    /// The first off-line phase comes before the first request.
    pub fn begins_at_start(&self) -> bool {
        self.settings.at_start
    }

    /// The host has nothing to do. Whether anything is left to encode.
    pub fn begin_idle<F: Flash>(&mut self, reads: &Reads, writes: &Writes, turn: &mut Turn<'_, F>) -> bool {
        self.is_idle = true;
        if self.layout.code_zones == 0 {
            return false;
        }
        // Code zones change hands only while nobody reads, writes or encodes code blocks.
        let quiet = reads.is_quiet() && writes.is_quiet() && self.is_quiet();
        if quiet && self.due.is_none_or(|due| turn.now() >= due) {
            self.due = Some(turn.now() + self.settings.every);
            self.begin_offline();
        }
        if self.queue.line.is_empty() {
            return false;
        }
        if !self.settings.charged {
            self.instant = true;
            turn.flash.set_instant(true);
        }
        self.encode_more(writes, turn);
        true
    }

    /// The host has something to do: groups still to be encoded wait for the next idle moment.
    #[inline]
    pub fn end_idle<F: Flash>(&mut self, flash: &mut F) {
        if self.is_idle {
            self.is_idle = false;
            self.end_instant(flash);
        }
    }

    fn end_instant<F: Flash>(&mut self, flash: &mut F) {
        if std::mem::take(&mut self.instant) {
            flash.set_instant(false);
        }
    }

    /// Gives the code zones to the zones read most.
    fn begin_offline(&mut self) {
        self.counters.offline_phases += 1;
        let mut ranked: Vec<u32> = (0..self.layout.zones).collect();
        ranked.sort_by_key(|zone| (std::cmp::Reverse(self.reads[*zone as usize]), *zone));
        let chosen = &ranked[..self.layout.code_zones as usize];
        for zone in self.coded.iter_mut().filter(|zone| **zone != NONE && !chosen.contains(zone)) {
            self.code_of[*zone as usize] = NONE;
            *zone = NONE;
        }
        for zone in chosen {
            if !self.has_code_zone(*zone) {
                self.give_code_zone(*zone);
            }
        }
        self.queue = EncodeQueue::default();
        for zone in chosen {
            for row in 0..self.layout.rows {
                (0..self.layout.groups()).for_each(|group| self.queue.push(GroupAt { zone: *zone, row, group }));
            }
        }
        if self.settings.halves {
            self.reads.iter_mut().for_each(|reads| *reads /= 2);
        }
        debug_assert!(self.code_zones_are_paired());
    }

    /// Gives the first free code zone to a zone; no block of it agrees.
    fn give_code_zone(&mut self, zone: u32) {
        let free = self.coded.iter().position(|zone| *zone == NONE);
        let code_zone = free.expect("as many code zones as chosen zones") as u32;
        self.coded[code_zone as usize] = zone;
        self.code_of[zone as usize] = code_zone;
        let blocks = self.layout.rows * self.layout.banks;
        for bit in code_zone * blocks..(code_zone + 1) * blocks {
            self.agrees[bit as usize / 64] &= !(1 << (bit % 64));
        }
    }

    /// The zone of a code zone has that code zone, and no other zone has one.
    fn code_zones_are_paired(&self) -> bool {
        let with_one = self.code_of.iter().filter(|code_zone| **code_zone != NONE).count();
        let mut pairs = (0..).zip(&self.coded).filter(|(_, zone)| **zone != NONE);
        self.coded_zones().count() == with_one
            && pairs.all(|(code_zone, zone)| self.code_of[*zone as usize] == code_zone)
    }

    /// There may be room in the mapping: encodings that found none go on, and as many groups are begun as may be.
    pub fn encode_more<F: Flash>(&mut self, writes: &Writes, turn: &mut Turn<'_, F>) {
        let mut stalled = std::mem::take(&mut self.stalled);
        for slot in stalled.drain(..) {
            self.under_way.at_mut(slot).stalled = false;
            self.encode_on(turn, slot);
        }
        if self.stalled.is_empty() {
            self.stalled = stalled; // its memory
        }
        while self.is_idle && self.under_way.len() < self.settings.encode_rows {
            let Some(at) = self.queue.pop() else { break };
            if self.active.contains_key(&at) {
                self.queue.push(at);
                break;
            }
            self.begin_encoding(writes, turn, at);
        }
        if self.is_quiet() {
            self.end_instant(turn.flash);
        }
    }

    /// Reads what the code blocks of a group are made of that do not agree.
    fn begin_encoding<F: Flash>(&mut self, writes: &Writes, turn: &mut Turn<'_, F>, at: GroupAt) {
        if !self.has_code_zone(at.zone) {
            return;
        }
        let codes = self.code.all_codes() - self.agreeing(at);
        let sources = codes.iter().fold(Elements::NONE, |all, element| all | self.code.sources(element));
        let pages_of = |block: u32| {
            let first = self.page(at, block);
            (0..self.layout.pages).map(move |page| first + page)
        };
        // Blocks that were never written are not worth a code.
        if !sources.iter().flat_map(pages_of).any(|page| turn.base.below.is_written(page)) {
            return;
        }
        // Who writes now would spoil it.
        let spoiled = writes.is_written_to(at);
        let (slots, full) = (self.code.elements() * self.layout.pages, turn.base.full_mask);
        let cells = turn.payloads().take(slots, full);
        let encoding = Encoding { at, codes, outstanding: 0, sent: None, spoiled, stalled: false, cells };
        let slot = self.under_way.insert(encoding);
        self.active.insert(at, slot);
        let sources = if self.code.is_sums() { sources } else { self.code.all_data() };
        for block in sources.iter() {
            let into = cells.offset(block * self.layout.pages);
            let first = self.page(at, block);
            let pages = first..first + self.layout.pages;
            let op = turn.base.own_op(HostOp::Read, pages, into, Cause::Code, Tag::token(Asked::Encode, slot, 0));
            self.hand_down(turn, slot, &op);
        }
        if self.under_way.at(slot).outstanding == 0 {
            self.encode_on(turn, slot);
        }
    }

    /// Gives an operation to the mapping. The pages taken, if not all.
    fn hand_down<F: Flash>(&mut self, turn: &mut Turn<'_, F>, slot: u32, op: &PageOp) -> Option<u32> {
        let answer = turn.submit(op);
        let encoding = self.under_way.at_mut(slot);
        match answer {
            Answer::Done { failed } => encoding.spoiled |= failed,
            Answer::Pending(_) => encoding.outstanding += 1,
            Answer::Full { taken, pending, failed } => {
                encoding.spoiled |= failed;
                encoding.outstanding += u32::from(pending);
                encoding.stalled = true;
                self.stalled.push(slot);
                return Some(taken);
            }
        }
        None
    }

    /// Something of an encoding is done.
    pub fn step_done<F: Flash>(&mut self, writes: &Writes, turn: &mut Turn<'_, F>, slot: u32, failed: bool) {
        let encoding = self.under_way.at_mut(slot);
        debug_assert!(encoding.outstanding > 0);
        encoding.outstanding -= 1;
        encoding.spoiled |= failed;
        if encoding.outstanding == 0 && !encoding.stalled {
            self.encode_on(turn, slot);
            self.encode_more(writes, turn);
        }
    }

    /// The data is there, or the code blocks are written as far as there was room.
    fn encode_on<F: Flash>(&mut self, turn: &mut Turn<'_, F>, slot: u32) {
        let Encoding { at, codes, sent, cells, spoiled, outstanding, .. } = *self.under_way.at(slot);
        if outstanding > 0 {
            return;
        }
        let pages = self.layout.pages;
        let all = codes.len() * pages;
        // The zone may have lost its code zone since, in the next off-line phase.
        if spoiled || !self.has_code_zone(at.zone) || sent == Some(all) {
            self.end_encoding(turn, slot);
            return;
        }
        if sent.is_none() && cells != PayloadId::NONE {
            for (element, page) in codes.iter().flat_map(|element| (0..pages).map(move |page| (element, page))) {
                let cell = |element: u32| cells.offset(element * pages + page);
                self.code.compute(turn.payloads(), element, self.code.all_data(), cell);
            }
        }
        let mut sent = sent.unwrap_or(0);
        while sent < all {
            let element = codes.iter().nth((sent / pages) as usize).expect("it is one of them");
            let (first, done) = (self.page(at, element), sent % pages);
            let from = cells.offset(element * pages + done);
            let token = Tag::token(Asked::Encode, slot, 0);
            let op = turn.base.own_op(HostOp::Write, first + done..first + pages, from, Cause::Code, token);
            if let Some(taken) = self.hand_down(turn, slot, &op) {
                self.under_way.at_mut(slot).sent = Some(sent + taken);
                return;
            }
            sent += pages - done;
        }
        let encoding = self.under_way.at_mut(slot);
        encoding.sent = Some(all);
        if encoding.outstanding == 0 {
            self.end_encoding(turn, slot);
        }
    }

    fn end_encoding<F: Flash>(&mut self, turn: &mut Turn<'_, F>, slot: u32) {
        let Encoding { at, codes, sent, cells, spoiled, .. } = self.under_way.remove(slot);
        if spoiled {
            self.counters.spoiled += 1;
            self.encode_again(at);
        } else if self.has_code_zone(at.zone) && sent.is_some() {
            self.set_agrees(at, codes, true);
            self.counters.encoded += u64::from(codes.len());
        }
        turn.payloads().release(cells, self.code.elements() * self.layout.pages);
        self.active.remove(&at);
    }

    /// Code blocks that agree are the sums of their sources.
    pub fn check<F: Flash>(&self, base: &Base<F>, flash: &F) -> Result<(), String> {
        let Some(contents) = flash.state().contents() else { return Ok(()) };
        if !self.code.is_sums() {
            return Ok(()); // sums with coefficients are checked by reading
        }
        // A page being copied is where the map says only when its program has completed.
        let cells = |page: Lpn| match base.below.place_of(page, u64::MAX) {
            None => Cells::Zeros,
            Some(at) if flash.state().is_programmed(at) => Cells::Are(contents.page(at.0).to_vec()),
            Some(_) => Cells::OnTheirWay,
        };
        for zone in (0..self.layout.zones).filter(|zone| self.has_code_zone(*zone)) {
            for row in 0..self.layout.rows {
                for at in (0..self.layout.groups()).map(|group| GroupAt { zone, row, group }) {
                    self.agreeing(at).iter().try_for_each(|code| self.check_code(at, code, &cells))?;
                }
            }
        }
        Ok(())
    }

    fn check_code(&self, at: GroupAt, code: u32, cells: &impl Fn(Lpn) -> Cells) -> Result<(), String> {
        'pages: for page in 0..self.layout.pages {
            let mut sum: Option<Vec<u8>> = None;
            for element in (self.code.sources(code) | Elements::one(code)).iter() {
                let cells = match cells(self.page(at, element) + page) {
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
                let (GroupAt { zone, row, group }, code) = (at, code - self.code.data());
                return Err(format!(
                    "code block {code} of zone {zone}, row {row}, group {group} counts, but is not the sum of its \
                     sources"
                ));
            }
        }
        Ok(())
    }

    /// Bytes a controller needs for read counts and the bits of code blocks, and code blocks those bits are for.
    pub fn ram(&self) -> (u64, u64) {
        (self.agrees.len() as u64 * 8 + self.reads.len() as u64 * 8, self.agrees.len() as u64 * 64)
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        writer.put("zones.reads", self.reads.iter().copied());
        writer.put("zones.coded", self.coded.iter().copied());
        writer.put("zones.agrees", self.agrees.iter().copied());
        writer.put("zones.offline_due", self.due);
        writer.put("zones.to_encode", self.queue.line.iter().map(|at| [at.zone, at.row, at.group]));
    }

    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        reader.fill("zones.reads", &mut self.reads)?;
        reader.fill("zones.coded", &mut self.coded)?;
        reader.fill("zones.agrees", &mut self.agrees)?;
        if self.coded.iter().any(|zone| *zone != NONE && *zone >= self.layout.zones) {
            return Err(SnapshotError::unfit("zones.coded", "the number of zones differs"));
        }
        self.code_of.fill(NONE);
        for (code_zone, zone) in (0..).zip(&self.coded).filter(|(_, zone)| **zone != NONE) {
            self.code_of[*zone as usize] = code_zone;
        }
        self.due = reader.each("zones.offline_due")?.next();
        self.queue = EncodeQueue::default();
        for [zone, row, group] in reader.each::<[u32; 3]>("zones.to_encode")? {
            self.queue.push(GroupAt { zone, row, group });
        }
        Ok(())
    }
}

/// What a page holds on flash.
enum Cells {
    Zeros,
    Are(Vec<u8>),
    OnTheirWay,
}
