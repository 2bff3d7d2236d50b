//! What a drive may hold after a cut, by what it promises.

use crate::recording::{Recording, Step};
use engine::random::Stream;
use serve::OrderKind;
use std::collections::BTreeSet;
use units::SECTOR_BYTES;

/// What a drive promises beside that a sector is written whole or not at all, that what was answered before a flush was
/// asked for lasts once that is answered, and that a write with FUA lasts once it is answered itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// Nothing: what need not last may be lost in any combination.
    AnyOrder,
    /// What need not last is lost from some request on: none is there whose predecessor is lost.
    InOrder,
}

impl Guarantee {
    /// All of them by name, with what they say.
    pub const TABLE: [(&str, &str, Guarantee); 2] = [
        ("any-order", "what need not last yet may be lost in any combination, and torn at a sector", Self::AnyOrder),
        ("in-order", "what need not last yet is lost from some request on", Self::InOrder),
    ];
}

/// What became of a request that need not last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is there.
    Kept,
    /// It is not.
    Lost,
    /// So many of its first sectors are there.
    Torn(u32),
}

/// A moment at which power goes, and what became of each request that need not last then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashState {
    /// Steps of the recording that have happened.
    pub step: usize,
    /// Numbers of requests and their fates, in the order in which they were asked for.
    pub fates: Vec<(usize, Fate)>,
}

/// When a request was asked for and from which step on it must last.
#[derive(Clone, Copy, Debug)]
struct Span {
    asked: usize,
    lasts: usize,
}

/// All states that a recording may leave.
pub struct States<'a> {
    recording: &'a Recording,
    guarantee: Guarantee,
    /// By request; flushes change nothing.
    spans: Vec<Span>,
    /// Steps at which something begins to last, or is asked to.
    edges: Vec<usize>,
    /// Sectors that some request changes, in order: all others are as they were before.
    touched: Vec<u64>,
}

const NEVER: usize = usize::MAX;

impl<'a> States<'a> {
    /// Those of a recording under what the drive promises.
    pub fn new(recording: &'a Recording, guarantee: Guarantee) -> Self {
        let count = recording.requests.len();
        let (mut asked, mut answered) = (vec![NEVER; count], vec![NEVER; count]);
        for (at, step) in recording.steps.iter().enumerate() {
            match step {
                Step::Asked(number) => asked[*number] = at + 1,
                Step::Answered(number) => answered[*number] = at + 1,
            }
        }
        let is_flush = |number: usize| recording.requests[number].order.kind == OrderKind::Flush;
        // The earliest answer among flushes from one on, each with when it was asked for.
        let mut flushes: Vec<(usize, usize)> =
            (0..count).filter(|number| is_flush(*number)).map(|number| (asked[number], answered[number])).collect();
        let mut earliest = NEVER;
        for (_, answer) in flushes.iter_mut().rev() {
            earliest = earliest.min(*answer);
            *answer = earliest;
        }
        let flushed = |answer: usize| {
            let next = flushes.partition_point(|(asked, _)| *asked <= answer);
            flushes.get(next).map_or(NEVER, |(_, lasts)| *lasts)
        };
        let span = |number: usize| {
            let own = if recording.requests[number].order.fua { answered[number] } else { NEVER };
            let lasts = if answered[number] == NEVER { NEVER } else { own.min(flushed(answered[number])) };
            Span { asked: asked[number], lasts }
        };
        let spans: Vec<Span> = (0..count).map(span).collect();
        let lasting = |number: usize| is_flush(number) || recording.requests[number].order.fua;
        let ends = (0..count).filter(|number| lasting(*number)).flat_map(|number| [asked[number], answered[number]]);
        let edges: BTreeSet<usize> = ends.filter(|at| *at != NEVER).flat_map(|at| [at - 1, at]).collect();
        let touched: BTreeSet<u64> = (0..count).flat_map(|number| sectors(recording, number)).collect();
        let (edges, touched) = (edges.into_iter().collect(), touched.into_iter().collect());
        Self { recording, guarantee, spans, edges, touched }
    }

    /// What the drive promises.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Sectors that some request changes, in order.
    pub fn touched(&self) -> &[u64] {
        &self.touched
    }

    /// The state with this number of those that `seed` draws.
    pub fn draw(&self, seed: u64, number: u64) -> CrashState {
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
        let fate = |kept: bool| if kept { Fate::Kept } else { Fate::Lost };
        let all = open.iter().enumerate();
        let mut fates: Vec<(usize, Fate)> = all.map(|(at, number)| (*number, fate(is_kept(at)))).collect();
        if fates.len() > first && stream.chance(0.25) {
            let lost = fates.iter().position(|(_, fate)| *fate == Fate::Lost);
            let at = match self.guarantee {
                Guarantee::InOrder => lost.unwrap_or(fates.len() - 1),
                Guarantee::AnyOrder => stream.below(fates.len() as u64) as usize,
            };
            let sectors = sectors(self.recording, fates[at].0).count() as u64;
            if sectors > 1 {
                fates[at].1 = Fate::Torn(1 + stream.below(sectors - 1) as u32);
            }
        }
        CrashState { step, fates }
    }

    /// How many of these requests were asked for before the last one that must last at a step.
    fn before_lasting(&self, open: &[usize], step: usize) -> usize {
        let last = (0..self.spans.len()).rev().find(|number| self.spans[*number].lasts <= step);
        open.partition_point(|number| last.is_some_and(|last| *number < last))
    }

    /// Requests that were asked for by a step and need not last then.
    fn open(&self, step: usize) -> Vec<usize> {
        let changes = |number: &usize| self.recording.requests[*number].order.kind != OrderKind::Flush;
        let is_open = |number: &usize| self.spans[*number].asked <= step && step < self.spans[*number].lasts;
        (0..self.spans.len()).filter(|number| changes(number) && is_open(number)).collect()
    }

    /// The bytes of the sectors that some request changes, as a state leaves them.
    pub fn contents(&self, state: &CrashState) -> Vec<u8> {
        let size = SECTOR_BYTES as usize;
        let mut bytes = Vec::with_capacity(self.touched.len() * size);
        for sector in &self.touched {
            bytes.extend_from_slice(&self.recording.before[*sector as usize * size..][..size]);
        }
        let mut fates = state.fates.iter().peekable();
        for (number, span) in self.spans.iter().enumerate() {
            let own = fates.next_if(|(open, _)| *open == number).map(|(_, fate)| *fate);
            let kept = match own {
                Some(Fate::Torn(sectors)) => sectors as usize,
                Some(Fate::Kept) => usize::MAX,
                None if span.lasts <= state.step => usize::MAX,
                Some(Fate::Lost) | None => 0, // lost, or not asked for yet
            };
            let payload = &self.recording.requests[number].payload;
            for (part, sector) in sectors(self.recording, number).enumerate().take(kept) {
                let at = self.touched.binary_search(&sector).expect("the sectors of all requests are there") * size;
                match payload.get(part * size..(part + 1) * size) {
                    Some(data) => bytes[at..at + size].copy_from_slice(data),
                    None => bytes[at..at + size].fill(0),
                }
            }
        }
        bytes
    }
}

/// Sectors that a request changes.
fn sectors(recording: &Recording, number: usize) -> impl Iterator<Item = u64> + use<> {
    let order = recording.requests[number].order;
    let changes = order.kind != OrderKind::Flush;
    let (first, count) = (order.offset / SECTOR_BYTES, u64::from(order.length) / SECTOR_BYTES);
    first..first + if changes { count } else { 0 }
}
