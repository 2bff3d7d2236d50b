//! Drives that break a promise on purpose, to see who notices.

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Lie {
    /// A flush is answered and does nothing.
    IgnoreFlush,
    /// A write with FUA is answered as one without.
    EarlyFua,
    /// What a flush covers lasts with the next flush only: what came after it may be there without what came before.
    LateFlush,
    /// A sector may be torn.
    TornSector,
    /// After the cut, the first read of one sector brings what it held before it was last written.
    StaleRead,
    /// A write was answered, and was not done.
    LostWrite,
    /// A write went to another place.
    MisdirectedWrite,
    /// One bit of a sector is flipped.
    FlippedBit,
    /// A sector that was written cannot be read.
    UnreadableSector,
}

impl Lie {
    /// Whether it breaks the promise of flushes and FUA, which nothing rests on where each answered write lasts.
    pub fn is_of_flushes(self) -> bool {
        matches!(self, Self::IgnoreFlush | Self::EarlyFua | Self::LateFlush)
    }

    /// All of them by name, with their descriptions.
    pub const TABLE: [(&str, &str, Lie); 9] = [
        ("ignore-flush", "a flush is answered and does nothing", Self::IgnoreFlush),
        ("early-fua", "a write with FUA is answered as one without", Self::EarlyFua),
        ("late-flush", "writes of a flush last only from the next flush on", Self::LateFlush),
        ("torn-sector", "a sector may be torn", Self::TornSector),
        ("stale-read", "the first read of one sector brings what it held before", Self::StaleRead),
        ("lost-write", "one write was answered, and was not done, whatever was flushed after it", Self::LostWrite),
        ("misdirected-write", "one write went to the place of another one", Self::MisdirectedWrite),
        ("flipped-bit", "one bit of a written sector is flipped", Self::FlippedBit),
        ("unreadable-sector", "one written sector cannot be read", Self::UnreadableSector),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|(own, _, _)| *own == name).map(|entry| entry.2)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lies(u16);

impl Lies {
    pub fn new(lies: &[Lie]) -> Self {
        Self(lies.iter().fold(0, |all, lie| all | 1 << *lie as u8))
    }

    fn has(self, lie: Lie) -> bool {
        self.0 >> lie as u8 & 1 == 1
    }

    /// The number of the flush with which that lasts which the flush `covering` covers.
    pub fn flush_that_counts(self, covering: usize) -> Option<usize> {
        (!self.has(Lie::IgnoreFlush)).then_some(covering + usize::from(self.has(Lie::LateFlush)))
    }

    pub fn ignores_fua(self) -> bool {
        self.has(Lie::EarlyFua)
    }

    pub fn tears_sectors(self) -> bool {
        self.has(Lie::TornSector)
    }

    /// Those of wrong data that are broken.
    pub fn of_data(self) -> impl Iterator<Item = Lie> {
        let all = [Lie::LostWrite, Lie::MisdirectedWrite, Lie::FlippedBit, Lie::UnreadableSector];
        all.into_iter().filter(move |lie| self.has(*lie))
    }

    pub fn reads_stale(self) -> bool {
        self.has(Lie::StaleRead)
    }
}
