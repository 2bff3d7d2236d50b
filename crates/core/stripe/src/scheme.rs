//! The table of schemes, and the differences between them.
//!
//! | name          | parities | where a parity is while it is behind its data             |
//! |---------------|----------|-----------------------------------------------------------|
//! | `raid0`       | 0        | there is none                                             |
//! | `raid4`       | 1, fixed | nowhere: it is written with every update                  |
//! | `raid5`       | 1        | nowhere                                                   |
//! | `raid5-fpc`   | 1        | in non-volatile memory, complete                          |
//! | `raid5-ppc`   | 1        | in non-volatile memory, of the newer pages alone          |
//! | `raid-elastic`| 1        | nowhere: it is of the pages written together           |
//! | `fra`         | 1        | nowhere, until the host is idle                           |
//! | `raid6`       | 2        | nowhere                                                   |
//! | `raid6-ppc`   | 2        | in non-volatile memory, of the newer pages alone          |

/// When a parity follows its data, and how the data are protected until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// With the write that made it stale.
    AtOnce,
    /// When its place is needed; memory holds the parity of the newer pages.
    Partial,
    /// When its place is needed; memory holds the parity of all pages.
    Full,
    /// When the host is idle; nothing protects the newer pages.
    Idle,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheme {
    pub name: &'static str,
    /// Its idea, in a line.
    pub doc: &'static str,
    /// When to use it and at which cost, in a sentence or two.
    pub when: &'static str,
    pub parity: u32,
    pub rotates: bool,
    /// Pages have no place of their own: parities follow the pages written together.
    pub elastic: bool,
    pub delay: Delay,
    /// Its difference where no two commands are under way at once, a sentence; `None`: nothing that changes
    /// what is written.
    pub alone: Option<&'static str>,
}

pub(crate) const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "raid0",
        doc: "pages striped over the chips, no parity",
        when: "Use it for speed and capacity where a lost die may lose data, and as the base line of the other \
               kinds. It costs no parity.",
        parity: 0,
        rotates: false,
        elastic: false,
        delay: Delay::AtOnce,
        alone: None,
    },
    Scheme {
        name: "raid4",
        doc: "one parity, on the last chip of each stripe",
        when: "Use it to study a chip of parities alone. Every small write goes to this chip, which limits the rate \
               and wears out first; raid5 spreads the parities.",
        parity: 1,
        rotates: false,
        elastic: false,
        delay: Delay::AtOnce,
        alone: None,
    },
    Scheme {
        name: "raid5",
        doc: "one parity, rotating; read-modify-write or reconstruct-write, whichever takes fewer reads when every \
              page was written",
        when: "Use it where a lost die must lose nothing and no non-volatile memory is at hand. A small write costs \
               two reads and two programs, and write amplification about doubles.",
        parity: 1,
        rotates: true,
        elastic: false,
        delay: Delay::AtOnce,
        alone: None,
    },
    Scheme {
        name: "raid5-fpc",
        doc: "full parity cache: parities wait in non-volatile memory until their place is needed",
        when: "Use it with non-volatile memory where the same stripes are written again: one parity program serves \
               many updates. It programs fewer parities than raid5-ppc and reads more for them.",
        parity: 1,
        rotates: true,
        elastic: false,
        delay: Delay::Full,
        alone: None,
    },
    Scheme {
        name: "raid5-ppc",
        doc: "partial parity cache: the parity of the newer pages waits in non-volatile memory; old versions on flash \
              stand in for the rest",
        when: "Use it with non-volatile memory where the same stripes are written again: most updates read nothing \
               for parity. Old versions take spare flash, and uniform writes gain nothing over raid5.",
        parity: 1,
        rotates: true,
        elastic: false,
        delay: Delay::Partial,
        alone: None,
    },
    Scheme {
        name: "raid-elastic",
        doc: "pages go anywhere, and one parity covers the pages written together: a write needs no reads",
        when: "Use it for small random writes that must survive a lost die: a write reads nothing, and many pages \
               share a parity. A lone write takes a parity of its own, and collection empties superblocks of all \
               dies.",
        parity: 1,
        rotates: true,
        elastic: true,
        delay: Delay::AtOnce,
        alone: Some(
            "a request is on flash before the next one begins, so that a parity covers fewer pages: more parities are \
            written, and write amplification is higher",
        ),
    },
    Scheme {
        name: "fra",
        doc: "parities are written when the host is idle; until then the data is not protected",
        when: "Use it where the host has idle time and may lose its newest writes with a die. Until an idle moment \
               these pages have no parity.",
        parity: 1,
        rotates: true,
        elastic: false,
        delay: Delay::Idle,
        alone: Some("the host is never idle, so that a parity is written only when memory for stale parities is full"),
    },
    Scheme {
        name: "raid6",
        doc: "two parities, rotating; any two chips may fail",
        when: "Use it where a second die may fail before the first one is rebuilt. A small write updates two \
               parities, so write amplification is about three times as high as with raid0.",
        parity: 2,
        rotates: true,
        elastic: false,
        delay: Delay::AtOnce,
        alone: None,
    },
    Scheme {
        name: "raid6-ppc",
        doc: "partial parity cache with two parities",
        when: "Use it like raid5-ppc where two dies may fail. It saves most parity programs of raid6 where the same \
               stripes are written again, and none under uniform writes.",
        parity: 2,
        rotates: true,
        elastic: false,
        delay: Delay::Partial,
        alone: None,
    },
];

/// The scheme of a name.
pub(crate) fn find(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.name == name)
}

impl Scheme {
    /// Its differences where requests are served one at a time, or where commands take no time: elastic stripes gather
    /// without time as in time, from all requests that are under way.
    pub fn alone(&self, has_time: bool) -> Option<&'static str> {
        self.alone.filter(|_| has_time || !self.elastic)
    }

    /// Pages newer than their parity may stay so when a write ends.
    pub fn delays(&self) -> bool {
        self.delay != Delay::AtOnce
    }

    /// Every page has a stripe that stays, with a parity: its old versions are kept until the parity is newer.
    pub fn keeps_old(&self) -> bool {
        !self.elastic && self.parity > 0
    }

    /// A write brings a full parity up to date.
    pub fn updates(&self) -> bool {
        self.keeps_old() && matches!(self.delay, Delay::AtOnce | Delay::Full)
    }

    /// Memory holds the parity of the newer pages.
    pub fn gathers(&self) -> bool {
        matches!(self.delay, Delay::AtOnce | Delay::Partial)
    }

    /// Its entries in memory outlive a power cut.
    pub fn is_nonvolatile(&self) -> bool {
        self.delays()
    }

    /// State of it that is not in the pages of flash, in words. `None`: nothing.
    pub fn not_in_pages(&self) -> Option<&'static str> {
        match () {
            () if self.elastic => Some("lists of pages beside the pages of its parities"),
            () if self.is_nonvolatile() => Some("stripes whose parity is delayed in non-volatile memory"),
            // Spares in the place of lost dies, and pages that no parity can tell any more.
            () if self.keeps_old() => Some("notes of dies that failed in non-volatile memory"),
            () => None,
        }
    }

    /// Reads of a commit with `newer` of `data` pages newer than the parity: by the old versions of those and the
    /// old parities, and by the newest versions of the others.
    pub fn commit_reads(&self, data: u32, newer: u32) -> (u32, u32) {
        match self.delay {
            Delay::Full => (0, 0),
            Delay::Idle => (2 * newer + self.parity, data),
            Delay::AtOnce | Delay::Partial => (newer + self.parity, data - newer),
        }
    }
}
