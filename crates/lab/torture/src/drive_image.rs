//! The contents of a drive in a state, looked up and not copied.

use crate::states::States;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use units::SECTOR_BYTES;

/// Identifies contents: 128 bits, a sum over sectors, so that a change costs as much as what it changes. Two states of
/// a run with the same are taken for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Digest(u128);

impl Digest {
    pub fn with(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }
}

/// The key of a sector with given contents.
pub(crate) fn digest_of(sector: u64, bytes: &[u8]) -> Digest {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, sector).hash(&mut hasher);
        hasher.write(bytes);
        u128::from(hasher.finish())
    };
    Digest(half(0) << 64 | half(1))
}

/// The contents of a sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// The contents from before the recording.
    Before,
    /// The contents after a request.
    Of(usize),
    /// Bytes that no request wrote.
    Mixed(Box<[u8]>),
    /// Nothing that can be read.
    Unreadable,
}

impl Version {
    /// The bytes of the sector; zeros where it cannot be read.
    pub fn bytes<'a>(&'a self, states: &'a States<'_>, sector: u64) -> &'a [u8] {
        match self {
            Version::Before => states.bytes_before(sector),
            Version::Of(request) => states.bytes_of(*request, sector),
            Version::Mixed(bytes) => bytes,
            Version::Unreadable => &[0; SECTOR_BYTES as usize],
        }
    }
}

impl Version {
    /// Its part of the digest of a drive.
    pub fn digest(&self, states: &States<'_>, sector: u64) -> Digest {
        let digest = digest_of(sector, self.bytes(states, sector));
        if *self == Self::Unreadable { digest.with(digest_of(sector, b"unreadable")) } else { digest }
    }
}

/// The contents of a drive.
pub struct DriveImage<'a> {
    states: &'a States<'a>,
    /// All requests before this one are there, but for `over`.
    floor: usize,
    over: HashMap<u64, Version>,
    digest: Digest,
    /// A sector whose first read brings something older.
    pub(crate) stale: Option<u64>,
}

impl<'a> DriveImage<'a> {
    pub(crate) fn new(
        states: &'a States<'a>,
        floor: usize,
        over: HashMap<u64, Version>,
        digest: Digest,
        stale: Option<u64>,
    ) -> Self {
        Self { states, floor, over, digest, stale }
    }

    /// Some sectors as they are given, and all others as they were when the recording began.
    pub(crate) fn given(states: &'a States<'a>, sectors: impl IntoIterator<Item = (u64, Version)>) -> Self {
        let over: HashMap<u64, Version> = sectors.into_iter().collect();
        let digest =
            over.iter().fold(Digest::default(), |all, (sector, version)| all.with(version.digest(states, *sector)));
        Self { states, floor: 0, over, digest, stale: None }
    }

    pub(crate) fn digest(&self) -> (Digest, Option<u64>) {
        (self.digest, self.stale)
    }

    /// The contents of a sector, if it can be read.
    pub fn sector(&self, sector: u64) -> Option<&[u8]> {
        match self.over.get(&sector) {
            Some(Version::Unreadable) => None,
            Some(version) => Some(version.bytes(self.states, sector)),
            None => Some(match self.states.last_change(sector, self.floor) {
                Some(request) => self.states.bytes_of(request, sector),
                None => self.states.bytes_before(sector),
            }),
        }
    }

    /// The contents of the sector before its last write.
    pub(crate) fn older(&self, sector: u64) -> &[u8] {
        let newest = match self.over.get(&sector) {
            Some(Version::Of(request)) => Some(*request),
            Some(_) => None,
            None => self.states.last_change(sector, self.floor),
        };
        let older = newest.and_then(|newest| self.states.last_change(sector, newest));
        older.map_or_else(|| self.states.bytes_before(sector), |request| self.states.bytes_of(request, sector))
    }

    /// The sectors that [`DriveImage::given`] was given, in order.
    pub(crate) fn into_sectors(self) -> Vec<(u64, Version)> {
        let mut sectors: Vec<(u64, Version)> = self.over.into_iter().collect();
        sectors.sort_unstable_by_key(|(sector, _)| *sector);
        sectors
    }

    /// All sectors that may hold something else than when the recording began.
    pub(crate) fn changed(&self) -> impl Iterator<Item = u64> {
        self.states.touched().iter().copied().chain(self.over.keys().copied())
    }

    /// The contents of the whole drive when the recording began.
    pub(crate) fn before(&self) -> &[u8] {
        &self.states.recording.before
    }
}
