//! The cost of commands of counted flash, where it is asked for.
//!
//! Faithful to: the part's times; each command costs what it would on an idle die and channel.
//! Simplified: nothing overlaps, so multi-plane and cache commands, suspension and read priority
//! cannot show.
//! Protects: the order in which commands were issued, so that a moment within the sum can be told
//! from another; the speed of counting alone, because without a meter none of this is compiled in.

use crate::counted::CountedFlash;
use crate::part::Part;
use crate::state::FlashState;
use units::{Cause, Nanos, SECTOR_BYTES};

/// Hears of every command that counted flash carries out, failed ones included.
pub trait Meter: 'static {
    /// A page was read, and `sectors` of it moved over the channel.
    fn read(&mut self, cause: Cause, sectors: u8);
    /// A page was read again so many times.
    fn retry(&mut self, times: u32);
    /// A page was moved over the channel and programmed.
    fn program(&mut self, cause: Cause);
    /// A page was copied inside its plane.
    fn copyback(&mut self, cause: Cause);
    /// A block was erased.
    fn erase(&mut self, cause: Cause);
}

/// No meter: commands only count.
impl Meter for () {
    #[inline(always)]
    fn read(&mut self, _: Cause, _: u8) {}
    #[inline(always)]
    fn retry(&mut self, _: u32) {}
    #[inline(always)]
    fn program(&mut self, _: Cause) {}
    #[inline(always)]
    fn copyback(&mut self, _: Cause) {}
    #[inline(always)]
    fn erase(&mut self, _: Cause) {}
}

/// Counted flash that tells what its commands would cost one after the other.
pub type MeteredFlash = CountedFlash<ServiceMeter>;

/// Commands of one cause in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Why they were issued.
    pub cause: Cause,
    /// Their cost together, ns.
    pub time: Nanos,
}

/// Lists what commands cost, in the order of issue.
#[derive(Clone, Debug)]
pub struct ServiceMeter {
    /// Cost of a read by sectors moved: a division less for each.
    read_ns: Vec<Nanos>,
    retry_ns: Nanos,
    program_ns: Nanos,
    copyback_ns: Nanos,
    erase_ns: Nanos,
    spans: Vec<Span>,
}

impl ServiceMeter {
    /// A meter with the times of a part for the pages of a flash.
    pub fn new(part: &Part, state: &FlashState) -> Self {
        let geometry = &state.geometry;
        let Part { read_ns, program_ns, erase_ns, command_ns, .. } = *part;
        Self {
            read_ns: (0..=geometry.sectors_per_page())
                .map(|sectors| read_ns + command_ns + part.transfer_ns(u64::from(sectors) * SECTOR_BYTES))
                .collect(),
            retry_ns: read_ns + state.ageing.decode_ns(),
            program_ns: program_ns + command_ns + part.transfer_ns(u64::from(geometry.page_bytes)),
            copyback_ns: read_ns + program_ns + command_ns,
            erase_ns: erase_ns + command_ns,
            spans: Vec::new(),
        }
    }

    /// Moves what was listed since the last time into `spans`, whose old entries are dropped.
    pub fn take(&mut self, spans: &mut Vec<Span>) {
        spans.clear();
        std::mem::swap(spans, &mut self.spans);
    }

    #[inline]
    fn add(&mut self, cause: Cause, time: Nanos) {
        match self.spans.last_mut() {
            Some(span) if span.cause == cause => span.time += time,
            _ => self.spans.push(Span { cause, time }),
        }
    }
}

impl Meter for ServiceMeter {
    #[inline]
    fn read(&mut self, cause: Cause, sectors: u8) {
        self.add(cause, self.read_ns[usize::from(sectors)]);
    }

    fn retry(&mut self, times: u32) {
        self.add(Cause::Retry, Nanos::from(times) * self.retry_ns);
    }

    #[inline]
    fn program(&mut self, cause: Cause) {
        self.add(cause, self.program_ns);
    }

    #[inline]
    fn copyback(&mut self, cause: Cause) {
        self.add(cause, self.copyback_ns);
    }

    #[inline]
    fn erase(&mut self, cause: Cause) {
        self.add(cause, self.erase_ns);
    }
}
