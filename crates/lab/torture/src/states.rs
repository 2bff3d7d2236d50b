//! The states that a drive may hold after a cut, by its promises.

use crate::drive_image::{Digest, DriveImage, Version, digest_of};
use crate::lies::{Lie, Lies};
use crate::recording::{Recorded, Recording, Step};
use crate::wrong_data::WrongData;
use engine::random::Stream;
use serve::{Order, OrderKind};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use units::SECTOR_BYTES;

/// Further promises of a drive. Every drive promises three things: a sector is written whole or not at all; requests
/// answered before a flush is asked for last once the flush is answered; a write with FUA lasts once it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// Nothing: what need not last may be lost in any combination.
    AnyOrder,
    /// What need not last is lost from some request on: none is there whose predecessor is lost.
    InOrder,
    /// A write lasts once it is answered, as without a volatile cache.
    Answered,
}

impl Guarantee {
    /// All of them by name, with their descriptions.
    pub const TABLE: [(&str, &str, Guarantee); 3] = [
        (
            "any-order",
            "writes that need not last yet may be lost in any combination, and torn at a sector",
            Self::AnyOrder,
        ),
        ("in-order", "writes that need not last yet are lost from some request on", Self::InOrder),
        ("answered", "a write lasts once it is answered; writes under way are lost as in any-order", Self::Answered),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|(own, _, _)| *own == name).map(|entry| entry.2)
    }
}

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there.
    Kept,
    /// It is not.
    Lost,
    /// A part of it is there: so many sectors from its sector `first` on, and so many bytes of the one after them.
    Torn {
        /// The first sector of it that is there.
        first: u32,
        /// Sectors that are there.
        sectors: u32,
        /// Bytes of the sector after them that are there: 0 where a sector is written whole or not at all.
        bytes: u16,
    },
}

/// A moment at which power goes, and the fate of each request that need not last then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashState {
    /// Steps of the recording that have happened.
    pub step: usize,
    /// Numbers of requests and their outcomes, in the order in which they were asked for.
    pub outcomes: Vec<(usize, Outcome)>,
    /// A sector of which the first read brings what it held before it was last written.
    pub stale: Option<u64>,
    /// Wrong data, beside the cut.
    pub wrong: Option<WrongData>,
}

impl CrashState {
    /// Requests that are lost, or torn.
    pub fn missing(&self) -> impl Iterator<Item = &(usize, Outcome)> {
        self.outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Kept)
    }
}

/// From when to when a request is under way, in steps of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// It was asked for.
    pub asked: usize,
    /// It was answered; [`NEVER`] if it was not, or was refused.
    pub answered: usize,
    /// From here on it must be there after a cut; [`NEVER`] if nothing promises that.
    pub lasts: usize,
}

/// A step that does not come.
pub const NEVER: usize = usize::MAX;

/// All states that a recording may leave.
pub struct States<'a> {
    pub(crate) recording: &'a Recording,
    guarantee: Guarantee,
    pub(crate) lies: Lies,
    /// Sectors of a unit that is written whole or not at all.
    atomic: u64,
    /// By request; flushes change nothing.
    spans: Vec<Span>,
    /// By request: the latest step from which it and all before it last.
    all_last: Vec<usize>,
    /// Steps at which something begins to last, or is asked to.
    edges: Vec<usize>,
    /// Sectors that some request changes, in order: all others are as they were before.
    touched: Vec<u64>,
    /// By touched sector: the requests that change it, in order, from `first_change` of it on.
    changes: Vec<u32>,
    first_change: Vec<u32>,
    /// By request: what identifies the contents after it and all before it.
    digests: Vec<Digest>,
}

impl<'a> States<'a> {
    /// The states of a recording under the promises of the drive.
    pub fn new(recording: &'a Recording, guarantee: Guarantee) -> Self {
        Self::with_lies(recording, guarantee, &[])
    }

    /// The same where the drive breaks promises.
    pub fn with_lies(recording: &'a Recording, guarantee: Guarantee, lies: &[Lie]) -> Self {
        let lies = Lies::new(lies);
        let count = recording.requests.len();
        let spans = spans(recording, lies, guarantee);
        let mut latest = 0;
        let all_last = spans.iter().map(|span| {
            latest = latest.max(span.lasts);
            latest
        });
        let all_last = all_last.collect();
        let lasting = |number: usize| {
            let order = recording.requests[number].order;
            is_flush(recording, number) || order.fua || is_kept_if_answered(&order, guarantee)
        };
        let ends = (0..count).filter(|number| lasting(*number));
        let ends = ends.flat_map(|number| [spans[number].asked, spans[number].answered]);
        let edges: BTreeSet<usize> = ends.filter(|at| *at != NEVER).flat_map(|at| [at - 1, at]).collect();
        let touched: BTreeSet<u64> = (0..count).flat_map(|number| sectors(recording, number)).collect();
        let touched: Vec<u64> = touched.into_iter().collect();
        let mut states = Self {
            recording,
            guarantee,
            lies,
            atomic: 1,
            spans,
            all_last,
            edges: edges.into_iter().collect(),
            touched,
            changes: Vec::new(),
            first_change: Vec::new(),
            digests: Vec::new(),
        };
        states.index();
        states
    }

    /// The same where units of so many bytes, whole sectors, are written whole or not at all.
    #[must_use]
    pub fn atomic(self, bytes: u64) -> Self {
        Self { atomic: (bytes / SECTOR_BYTES).max(1), ..self }
    }

    /// Notes which requests change each sector, and what identifies the contents after each.
    fn index(&mut self) {
        let place = |sector: u64| self.touched.binary_search(&sector).expect("the sectors of all requests are there");
        let mut by_place: Vec<Vec<u32>> = vec![Vec::new(); self.touched.len()];
        let mut held: Vec<Digest> =
            self.touched.iter().map(|sector| digest_of(*sector, self.bytes_before(*sector))).collect();
        let mut digest = held.iter().fold(Digest::default(), |all, one| all.with(*one));
        self.digests.push(digest);
        for number in 0..self.recording.requests.len() {
            for sector in sectors(self.recording, number) {
                let at = place(sector);
                digest = digest.without(held[at]);
                held[at] = digest_of(sector, self.bytes_of(number, sector));
                digest = digest.with(held[at]);
                by_place[at].push(number as u32);
            }
            self.digests.push(digest);
        }
        self.first_change = Vec::with_capacity(by_place.len() + 1);
        for changes in &by_place {
            self.first_change.push(self.changes.len() as u32);
            self.changes.extend_from_slice(changes);
        }
        self.first_change.push(self.changes.len() as u32);
    }

    /// The promises of the drive.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// From when to when a request is under way.
    pub fn span(&self, request: usize) -> Span {
        self.spans[request]
    }

    /// Sectors that some request changes, in order.
    pub fn touched(&self) -> &[u64] {
        &self.touched
    }

    /// The request before `limit` that changes a sector last.
    pub(crate) fn last_change(&self, sector: u64, limit: usize) -> Option<usize> {
        let at = self.touched.binary_search(&sector).ok()?;
        let changes = &self.changes[self.first_change[at] as usize..self.first_change[at + 1] as usize];
        let count = changes.partition_point(|number| (*number as usize) < limit);
        changes[..count].last().map(|number| *number as usize)
    }

    /// The new contents of a sector that a request changes.
    pub(crate) fn bytes_of(&self, request: usize, sector: u64) -> &[u8] {
        const ZEROS: [u8; SECTOR_BYTES as usize] = [0; SECTOR_BYTES as usize];
        let Recorded { order, payload } = &self.recording.requests[request];
        let at = ((sector - order.offset / SECTOR_BYTES) * SECTOR_BYTES) as usize;
        payload.get(at..at + ZEROS.len()).unwrap_or(&ZEROS)
    }

    /// The contents of a sector when the recording began.
    pub(crate) fn bytes_before(&self, sector: u64) -> &[u8] {
        &self.recording.before[(sector * SECTOR_BYTES) as usize..][..SECTOR_BYTES as usize]
    }

    /// How many requests last, as do all before them, at a step.
    fn floor(&self, step: usize) -> usize {
        self.all_last.partition_point(|lasts| *lasts <= step)
    }

    /// How many requests were asked for by a step.
    pub(crate) fn asked_by(&self, step: usize) -> usize {
        self.spans.partition_point(|span| span.asked <= step)
    }

    /// How many states come before all others: at each step where a promise begins or ends, all that need not last is
    /// lost, and all is there.
    pub fn corners(&self) -> u64 {
        2 * self.edges.len() as u64
    }

    /// One of them. Steps come far from each other first, so that some of them are spread over the recording.
    fn corner(&self, number: u64) -> CrashState {
        let count = self.edges.len() as u64;
        let stride = (count * 5 / 8..count).find(|stride| greatest_common_divisor(count, *stride) == 1).unwrap_or(1);
        let step = self.edges[(number / 2 * stride % count) as usize];
        let open = self.open(step);
        let first = if self.guarantee == Guarantee::InOrder { self.before_lasting(&open, step) } else { 0 };
        let outcome = |at: usize| if number.is_multiple_of(2) && at >= first { Outcome::Lost } else { Outcome::Kept };
        let outcomes = open.iter().enumerate().map(|(at, number)| (*number, outcome(at))).collect();
        CrashState { step, outcomes, stale: None, wrong: None }
    }

    /// The state with this number: the [corners](Self::corners) first, then those that `seed` draws.
    pub fn draw(&self, seed: u64, number: u64) -> CrashState {
        if number < self.corners() {
            return self.corner(number);
        }
        let mut stream = Stream::new(seed, &format!("state {number}"));
        // Half of them where promises begin and end: between two of them less can go wrong.
        let step = if !self.edges.is_empty() && stream.chance(0.5) {
            self.edges[stream.below(self.edges.len() as u64) as usize]
        } else {
            stream.below(self.recording.steps.len() as u64 + 1) as usize
        };
        let open = self.open(step);
        // In order, all that came before something that lasts is there as well.
        let first = if self.guarantee == Guarantee::InOrder { self.before_lasting(&open, step) } else { 0 };
        let first_lost = first + stream.below((open.len() - first) as u64 + 1) as usize;
        let share = [0.1, 0.5, 0.9][stream.below(3) as usize];
        let kind = stream.below(8);
        let mut is_kept = |at: usize| match kind {
            0 => at < first,
            1 => true,
            2 | 3 => at < first_lost,
            _ if self.guarantee == Guarantee::InOrder => at < first_lost,
            _ => stream.chance(share),
        };
        let outcome = |kept: bool| if kept { Outcome::Kept } else { Outcome::Lost };
        let all = open.iter().enumerate();
        let mut outcomes: Vec<(usize, Outcome)> = all.map(|(at, number)| (*number, outcome(is_kept(at)))).collect();
        if outcomes.len() > first && stream.chance(0.25) {
            let lost = outcomes.iter().position(|(_, outcome)| *outcome == Outcome::Lost);
            let at = match self.guarantee {
                Guarantee::InOrder => lost.unwrap_or(outcomes.len() - 1),
                Guarantee::AnyOrder | Guarantee::Answered => stream.below(outcomes.len() as u64) as usize,
            };
            let number = outcomes[at].0;
            if let Some(outcome) = self.tear(number, &mut stream) {
                outcomes[at].1 = outcome;
            }
            let sectors = sectors(self.recording, number).count() as u64;
            if self.lies.tears_sectors() && sectors > 0 {
                let whole = stream.below(sectors) as u32;
                let bytes = 1 + stream.below(SECTOR_BYTES - 1) as u16;
                outcomes[at].1 = Outcome::Torn { first: 0, sectors: whole, bytes };
            }
        }
        let stale = self.lies.reads_stale() && stream.chance(0.5);
        let stale = stale.then(|| self.drawn_sector(step, &mut stream)).flatten();
        let wrong = self.drawn_wrong(step, &mut stream);
        CrashState { step, outcomes, stale, wrong }
    }

    /// The state without a cut: everything was asked for, and is there.
    pub fn uncut(&self) -> CrashState {
        let step = self.recording.steps.len();
        CrashState {
            step,
            outcomes: self.open(step).into_iter().map(|number| (number, Outcome::Kept)).collect(),
            stale: None,
            wrong: None,
        }
    }

    /// A part of a request, if it can be torn: where nothing is promised of order, its end may be there without its
    /// beginning.
    fn tear(&self, number: usize, stream: &mut Stream) -> Option<Outcome> {
        let all = sectors(self.recording, number);
        let count = (all.end - all.start) as u32;
        // Beginnings of units within it.
        let first = (all.start + 1).next_multiple_of(self.atomic);
        let places = all.end.saturating_sub(first).div_ceil(self.atomic);
        if places == 0 {
            return None;
        }
        let place = (first + stream.below(places) * self.atomic - all.start) as u32;
        let at_end = self.guarantee != Guarantee::InOrder && stream.chance(0.25);
        let (first, sectors) = if at_end { (place, count - place) } else { (0, place) };
        Some(Outcome::Torn { first, sectors, bytes: 0 })
    }

    /// A sector that some request changed by a step.
    pub(crate) fn drawn_sector(&self, step: usize, stream: &mut Stream) -> Option<u64> {
        let number = stream.below(self.asked_by(step).max(1) as u64) as usize;
        let all: Vec<u64> = sectors(self.recording, number).collect();
        (!all.is_empty()).then(|| all[stream.below(all.len() as u64) as usize])
    }

    /// How many of these requests were asked for before the last one that must last at a step.
    fn before_lasting(&self, open: &[usize], step: usize) -> usize {
        let asked = 0..self.asked_by(step);
        let last = asked.rev().find(|number| self.is_change(*number) && self.spans[*number].lasts <= step);
        open.partition_point(|number| last.is_some_and(|last| *number < last))
    }

    fn is_change(&self, request: usize) -> bool {
        !is_flush(self.recording, request)
    }

    /// Requests that were asked for by a step and need not last then.
    fn open(&self, step: usize) -> Vec<usize> {
        let is_open = |number: &usize| self.is_change(*number) && step < self.spans[*number].lasts;
        (self.floor(step)..self.asked_by(step)).filter(is_open).collect()
    }

    /// The contents of the drive in a state. All that lasts, and all before it, is looked up: only the requests from
    /// the first on that need not last are laid over it.
    pub fn image(&self, state: &CrashState) -> DriveImage<'_> {
        let floor = self.floor(state.step);
        let mut over = HashMap::new();
        let mut outcomes = state.outcomes.iter().peekable();
        for number in floor..self.asked_by(state.step) {
            let (first, kept, bytes) = match outcomes.next_if(|(open, _)| *open == number).map(|(_, outcome)| *outcome)
            {
                Some(Outcome::Torn { first, sectors, bytes }) => (first as usize, sectors as usize, bytes),
                Some(Outcome::Lost) => continue,
                Some(Outcome::Kept) | None => (0, usize::MAX, 0),
            };
            let mut there = sectors(self.recording, number).skip(first);
            for sector in there.by_ref().take(kept) {
                over.insert(sector, Version::Of(number));
            }
            if let Some(sector) = there.next().filter(|_| bytes > 0) {
                let below = self.version_below(sector, floor);
                let mut mixed: Box<[u8]> = over.get(&sector).unwrap_or(&below).bytes(self, sector).into();
                mixed[..bytes as usize].copy_from_slice(&self.bytes_of(number, sector)[..bytes as usize]);
                over.insert(sector, Version::Mixed(mixed));
            }
        }
        if let Some(wrong) = state.wrong {
            self.lay_over(wrong, floor, &mut over);
        }
        let mut digest = self.digests[floor];
        for (sector, version) in &over {
            let held = self.version_below(*sector, floor);
            // Of a sector that no request changes, the digest of all says nothing.
            if self.touched.binary_search(sector).is_ok() {
                digest = digest.without(digest_of(*sector, held.bytes(self, *sector)));
            }
            digest = digest.with(version.digest(self, *sector));
        }
        DriveImage::new(self, floor, over, digest, state.stale)
    }

    pub(crate) fn version_below(&self, sector: u64, limit: usize) -> Version {
        self.last_change(sector, limit).map_or(Version::Before, Version::Of)
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// From when to when each request is under way.
fn spans(recording: &Recording, lies: Lies, guarantee: Guarantee) -> Vec<Span> {
    let count = recording.requests.len();
    let (mut asked, mut answered) = (vec![NEVER; count], vec![NEVER; count]);
    for (at, step) in recording.steps.iter().enumerate() {
        match step {
            Step::Asked(number) => asked[*number] = at + 1,
            Step::Answered(number) => answered[*number] = at + 1,
        }
    }
    // The earliest answer among flushes from one on, each with when it was asked for.
    let flushes = (0..count).filter(|number| is_flush(recording, *number));
    let mut flushes: Vec<(usize, usize)> = flushes.map(|number| (asked[number], answered[number])).collect();
    let mut earliest = NEVER;
    for (_, answer) in flushes.iter_mut().rev() {
        earliest = earliest.min(*answer);
        *answer = earliest;
    }
    let flushed = |answer: usize| {
        let next = flushes.partition_point(|(asked, _)| *asked <= answer);
        lies.flush_that_counts(next).and_then(|next| flushes.get(next)).map_or(NEVER, |(_, lasts)| *lasts)
    };
    let span = |number: usize| {
        let (asked, answered) = (asked[number], answered[number]);
        let order = recording.requests[number].order;
        let fua = is_kept_if_answered(&order, guarantee) || order.fua && !lies.ignores_fua();
        let lasts = match () {
            () if is_flush(recording, number) => 0,
            () if answered == NEVER => NEVER,
            () if fua => answered.min(flushed(answered)),
            () => flushed(answered),
        };
        Span { asked, answered, lasts }
    };
    (0..count).map(span).collect()
}

/// Whether a request lasts once it is answered, without FUA. A trim lasts with the next flush on any drive.
fn is_kept_if_answered(order: &Order, guarantee: Guarantee) -> bool {
    guarantee == Guarantee::Answered && order.kind == OrderKind::Write
}

fn is_flush(recording: &Recording, request: usize) -> bool {
    recording.requests[request].order.kind == OrderKind::Flush
}

/// Sectors that a request changes.
pub(crate) fn sectors(recording: &Recording, number: usize) -> Range<u64> {
    let order = recording.requests[number].order;
    let changes = order.kind != OrderKind::Flush;
    let (first, count) = (order.offset / SECTOR_BYTES, u64::from(order.length) / SECTOR_BYTES);
    first..first + if changes { count } else { 0 }
}
