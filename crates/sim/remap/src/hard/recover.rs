//! Opening a device that holds a drive: the newest good checkpoint, and the journal read over it.

use super::checkpoint::Checkpoints;
use super::disk::{self, Head, NOWHERE, Seals, Stamp};
use super::gather::Gather;
use super::journal::Journal;
use super::reclaim::Reclaim;
use super::space::Space;
use super::{Hard, Layout, Options};
use crate::{OpenError, ReadSectors};

/// What the map of an opened drive was made from, and what was passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    /// A newer checkpoint that was not taken, and why.
    pub rejected: Option<(u64, &'static str)>,
    /// What the place of the other checkpoint holds.
    pub other: OtherCheckpoint,
    /// Superpages of the journal read over the checkpoint.
    pub journal_superpages: u64,
    /// Records in them that the checkpoint did not have.
    pub journal_records: u64,
    /// The last write of the journal is torn: power went meanwhile, and nobody was told that it lasts. Where
    /// its place was never written before, it may also be damaged, and what it said is lost.
    pub torn_tail: bool,
    /// Metadata superpages that could not be read.
    pub unreadable: u32,
}

/// What the place of a checkpoint holds that was not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherCheckpoint {
    /// None was ever written.
    #[default]
    None,
    /// One with a sound head.
    Sound,
    /// One that power cut short, or that is damaged.
    Torn,
    /// It cannot be read.
    Unreadable,
}

impl OtherCheckpoint {
    /// What a user is told.
    pub const fn name(self) -> &'static str {
        match self {
            OtherCheckpoint::None => "none",
            OtherCheckpoint::Sound => "sound",
            OtherCheckpoint::Torn => "torn or damaged",
            OtherCheckpoint::Unreadable => "unreadable",
        }
    }
}

/// The newest of the journal is lost. An older checkpoint would lead to older data without it.
const DAMAGED_END: &str = "the last superpage of the journal is damaged";

/// What a place of the journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Sound(Head, Stamp),
    /// Nothing of this drive, or something that is not whole.
    Broken(Seals),
    Unreadable,
}

impl Place {
    fn sound(self) -> Option<Head> {
        if let Place::Sound(head, _) = self { Some(head) } else { None }
    }

    /// The newest write that left something there, 0 for none.
    fn version(self) -> u64 {
        match self {
            Place::Sound(_, stamp) => stamp.version,
            Place::Broken(seals) => seals.newest.version,
            Place::Unreadable => 0,
        }
    }

    /// All of it was written.
    fn is_written(self) -> bool {
        match self {
            Place::Sound(..) => true,
            Place::Broken(seals) => !seals.unsealed,
            Place::Unreadable => false,
        }
    }
}

/// What the journal's superpages say of themselves.
struct Found {
    /// Full ones, by place in the ring.
    ring: Vec<Place>,
    /// Those of the two other places.
    tails: [Place; 2],
    highest: Option<u64>,
}

impl Found {
    /// The place of the ring where the full superpage of this number belongs.
    fn in_ring(&self, number: u64) -> Place {
        self.ring[(number % self.ring.len() as u64) as usize]
    }

    /// Whether the write behind the last sound one, whose stamp this is, was torn. A power cut leaves each
    /// sector whole, as it was or as it was to be, in a place where that write can have gone; what else is
    /// not whole is damaged.
    fn end_is_torn(&self, last: u64, stamp: Stamp) -> Result<bool, &'static str> {
        let ring = (0..)
            .zip(&self.ring)
            .map(|(place, found)| (*found, (place == last % self.ring.len() as u64).then_some(Stamp::RING)));
        let tails = self.tails.into_iter().zip(Stamp::TAILS.map(Some));
        let mut torn = false;
        for (place, next) in ring.chain(tails) {
            let Place::Broken(seals) = place else { continue };
            if seals.newest.version > stamp.version {
                let was_written = seals.newest.known & Stamp::OWN != 0;
                if next.is_none() || seals.same || seals.unsealed && was_written {
                    return Err(DAMAGED_END);
                }
                torn = true;
            } else if seals.newest.version == 0 && next.is_some_and(|known| stamp.known & known != 0) {
                return Err(DAMAGED_END);
            }
        }
        Ok(torn)
    }
}

impl Hard {
    /// A drive that was formatted before, on a device of so many sectors. `read` fills sectors from the device,
    /// beginning with the given one. Nothing is written until the host changes something. Of `options` those count that
    /// are not the layout's.
    ///
    /// A metadata superpage that was damaged in a way no power cut can cause is noticed, the last one of the
    /// journal as well. Damage looks like a write that the power cut only where the very last superpage is
    /// the first one in its place; there it looks like none at all if no sector of it is whole.
    ///
    /// # Errors
    /// The device cannot be read, or does not hold a drive whose map can be trusted.
    pub(super) fn opened(options: &Options, device_sectors: u64, read: &mut ReadSectors) -> Result<Self, OpenError> {
        let (id, layout) = disk::open(disk::SUPERBLOCK, options.terms.cell_bytes, device_sectors, read, disk::layout)?;
        let options = options.limited(&layout);
        let space = Space::new(&layout, &options);
        Recovery { layout, options, id, space }.run(read)
    }
}

/// A drive that is being opened: the map that is made, and from what.
struct Recovery {
    layout: Layout,
    options: Options,
    id: u64,
    space: Space,
}

impl Recovery {
    /// 1. Read the heads of both checkpoints, the newer one first.
    /// 2. Look at every place of the journal: what is whole, and what a power cut or damage left.
    /// 3. Make the map from the first checkpoint whose pieces are sound, and read the journal over it.
    /// 4. Go on behind all numbers and versions that anything there has, whether it was taken or not.
    /// 5. Where no checkpoint will do, or the end of the journal is damaged, the map is lost.
    fn run(mut self, read: &mut ReadSectors) -> Result<Hard, OpenError> {
        let layout = self.layout;
        let mut bytes = vec![0; layout.superpage_bytes()];
        let mut recovered = Recovered::default();
        let mut heads = Vec::new();
        let mut slots = [OtherCheckpoint::None; 2];
        for (number, slot) in (0..).zip(&mut slots) {
            if !self.metadata(layout.checkpoint_at(number), read, &mut bytes, &mut recovered) {
                *slot = OtherCheckpoint::Unreadable;
                continue;
            }
            let is_own = |head: &Head| head.id == self.id && head.number % 2 == number && head.count == layout.pieces;
            match disk::unseal(&bytes, disk::CHECKPOINT).filter(is_own) {
                Some(head) => {
                    *slot = OtherCheckpoint::Sound;
                    heads.push((head, disk::u64_at(&bytes, disk::HEAD_BYTES), Stamp::get(&bytes)));
                }
                None if disk::looks_like(&bytes, disk::CHECKPOINT) => *slot = OtherCheckpoint::Torn,
                None => {}
            }
        }
        heads.sort_by_key(|(head, ..)| std::cmp::Reverse(head.number));
        let found = self.find_journal(read, &mut bytes, &mut recovered);
        for (head, skip, stamp) in &heads {
            match self.try_checkpoint(*head, (*skip, *stamp), &found, read, &mut bytes) {
                Ok((journal_superpages, journal_records, torn_tail)) => {
                    let other = slots[(head.number + 1) as usize % 2];
                    recovered = Recovered {
                        checkpoint: head.number,
                        other,
                        journal_superpages,
                        journal_records,
                        torn_tail,
                        ..recovered
                    };
                    let froms = heads.iter().map(|(head, ..)| head.more);
                    // The next number may be in a superpage that the power cut tore: the same number must not be torn
                    // there again, or both parts together could be the old one.
                    let number = froms.chain(found.highest).max().expect("a checkpoint was found") + 2;
                    let places = || found.tails.iter().chain(&found.ring);
                    let written = places().map(|place| place.is_written()).collect();
                    let versions = heads.iter().map(|(.., stamp)| stamp.version);
                    let version = versions.chain(places().map(|place| place.version())).max().unwrap_or(0);
                    // The next one takes the slot of the other.
                    let next = heads[0].0.number + 1;
                    let next = next + u64::from(next % 2 == head.number % 2);
                    let Self { layout, options, id, space } = self;
                    return Ok(Hard {
                        layout,
                        options,
                        space,
                        gather: Gather::new(&layout, &options),
                        reclaim: Reclaim::new(&layout, &options),
                        journal: Journal::resumed(&layout, id, number, version, written),
                        checkpoints: Checkpoints::new(&layout, id, false, next),
                        recovered: Some(recovered),
                    });
                }
                Err(DAMAGED_END) => return Err(OpenError::Map(DAMAGED_END)),
                Err(why) => recovered.rejected = recovered.rejected.or(Some((head.number, why))),
            }
        }
        let why = if slots.contains(&OtherCheckpoint::Unreadable) {
            "no checkpoint can be read"
        } else {
            "no checkpoint is sound"
        };
        Err(OpenError::Map(recovered.rejected.map_or(why, |(_, why)| why)))
    }

    /// Reads a metadata superpage. What cannot be read is as good as damaged: there may be another one to go on from.
    fn metadata(&self, superpage: u64, read: &mut ReadSectors, bytes: &mut [u8], recovered: &mut Recovered) -> bool {
        let is_read = read(self.layout.sector_of(superpage), bytes).is_ok();
        recovered.unreadable += u32::from(!is_read);
        is_read
    }

    fn find_journal(&self, read: &mut ReadSectors, bytes: &mut [u8], recovered: &mut Recovered) -> Found {
        let layout = self.layout;
        let sound = |head: &Head| head.count as usize <= layout.records();
        let mut look = |superpage: u64, belongs: &dyn Fn(&Head) -> bool| {
            if !self.metadata(superpage, read, bytes, recovered) {
                return Place::Unreadable;
            }
            match disk::unseal_journal(bytes, self.id, superpage) {
                Ok((head, stamp)) if sound(&head) && belongs(&head) => Place::Sound(head, stamp),
                Ok(_) => Place::Broken(Seals::default()),
                Err(seals) => Place::Broken(seals),
            }
        };
        let ring = (0..u64::from(layout.ring)).map(|place| {
            let belongs =
                |head: &Head| head.number % u64::from(layout.ring) == place && head.count as usize == layout.records();
            look(layout.ring_at(place), &belongs)
        });
        let ring: Vec<Place> = ring.collect();
        let tails = [0, 1].map(|place| look(layout.tail_at(place), &|_| true));
        let highest = ring.iter().chain(&tails).filter_map(|place| Some(place.sound()?.number)).max();
        Found { ring, tails, highest }
    }

    /// Makes the map from a checkpoint: superpages and records of the journal that were read over it, and whether its
    /// last write is torn. The error says why it cannot be trusted.
    fn try_checkpoint(
        &mut self,
        head: Head,
        known: (u64, Stamp),
        found: &Found,
        read: &mut ReadSectors,
        bytes: &mut [u8],
    ) -> Result<(u64, u64, bool), &'static str> {
        self.space = Space::new(&self.layout, &self.options);
        let entries = self.layout.entries_a_piece() as usize;
        for piece in 0..self.layout.pieces {
            let superpage = self.layout.checkpoint_at(head.number) + 1 + u64::from(piece);
            read(self.layout.sector_of(superpage), bytes).map_err(|_| "a piece of the checkpoint cannot be read")?;
            let first = (piece as usize * entries).min(self.space.map.len());
            let count = entries.min(self.space.map.len() - first);
            let wanted = Head { id: self.id, number: head.number, more: u64::from(piece), count: count as u32 };
            if disk::unseal(bytes, disk::PIECE) != Some(wanted) {
                return Err("a piece of the checkpoint is damaged");
            }
            for (index, place) in self.space.map[first..first + count].iter_mut().enumerate() {
                *place = disk::u32_at(bytes, disk::HEAD_BYTES + index * disk::ENTRY_BYTES);
            }
        }
        let read_over = self.replay(head.more, known, found, read, bytes)?;
        if self.space.rebuild() { Ok(read_over) } else { Err("two pages share a place") }
    }

    /// Reads the journal over the map of a checkpoint.
    ///
    /// 1. Of each number take the place that has most of its records: the ring's, or one of the two others.
    /// 2. Check that it begins where the one before ended, and is still what it was when all places were looked at.
    /// 3. Apply its records, but for those that the checkpoint has already.
    /// 4. End with the first that is missing or not full; nothing newer may be behind it, and what is torn there must
    ///    be what a power cut can tear.
    fn replay(
        &mut self,
        from: u64,
        (skip, mut stamp): (u64, Stamp),
        found: &Found,
        read: &mut ReadSectors,
        bytes: &mut [u8],
    ) -> Result<(u64, u64, bool), &'static str> {
        let layout = self.layout;
        let mut before = None;
        let mut records = 0;
        let mut number = from;
        // The last one there can be: the one that is missing, or the one that is not full.
        let last = loop {
            let places = [
                (found.in_ring(number), layout.ring_at(number)),
                (found.tails[0], layout.tail_at(0)),
                (found.tails[1], layout.tail_at(1)),
            ];
            let heads = places.into_iter().filter_map(|(place, at)| Some((place.sound()?, at)));
            let newest = heads.filter(|(head, _)| head.number == number).max_by_key(|(head, _)| head.count);
            let Some((head, at)) = newest else { break number };
            if before.is_some_and(|before| before != head.more) {
                return Err("the journal has a gap");
            }
            read(layout.sector_of(at), bytes).map_err(|_| "a superpage of the journal cannot be read")?;
            let Some((_, found)) = disk::unseal_journal(bytes, self.id, at).ok().filter(|(now, _)| *now == head) else {
                return Err("the journal changes while it is read");
            };
            if found.version > stamp.version {
                stamp = found;
            }
            // The map has the first ones already. Had the last version of this superpage been damaged, reading them
            // again from the version before would undo what came after them.
            let known = if number == from { skip.saturating_sub(head.more).min(u64::from(head.count)) } else { 0 };
            if !self.apply(bytes, known as usize..head.count as usize) {
                return Err("a record of the journal leads nowhere");
            }
            records += u64::from(head.count) - known;
            before = Some(head.more + u64::from(head.count));
            number += 1;
            if (head.count as usize) < layout.records() {
                break number - 1;
            }
        };
        // Superpages of the journal are durable one after the other: nothing can be behind one that is missing.
        if found.highest.is_some_and(|highest| highest >= number) {
            return Err("a superpage of the journal is damaged");
        }
        let places = [found.in_ring(last), found.tails[0], found.tails[1]];
        if places.contains(&Place::Unreadable) {
            return Err("a superpage of the journal cannot be read");
        }
        Ok((number - from, records, found.end_is_torn(last, stamp)?))
    }

    fn apply(&mut self, bytes: &[u8], records: std::ops::Range<usize>) -> bool {
        let places = self.space.back.len() as u32;
        for index in records {
            let entry = disk::entry(bytes, index);
            let end = entry.page.checked_add(entry.pages).filter(|end| *end as usize <= self.space.map.len());
            let (Some(end), true) = (end, entry.place == NOWHERE || (entry.place < places && entry.pages == 1)) else {
                return false;
            };
            self.space.map[entry.page as usize..end as usize].fill(entry.place);
        }
        true
    }
}
