//! Opening a device that holds a drive: the newest good checkpoint, and the journal read over it.

use super::checkpoint::Checkpoints;
use super::disk::{self, Head, NOWHERE, Seals, Stamp};
use super::gather::Gather;
use super::journal::Journal;
use super::reclaim::Reclaim;
use super::space::Space;
use super::{Hard, Layout, Options};
use crate::{OpenError, ReadSectors};
use std::io;

/// The source of the map of an opened drive, and the records passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    /// A newer checkpoint that was not taken, and why.
    pub rejected: Option<(u64, &'static str)>,
    /// The contents of the place of the other checkpoint.
    pub other: OtherCheckpoint,
    /// Superpages of the journal read over the checkpoint.
    pub journal_superpages: u64,
    /// Records in them that the checkpoint did not have.
    pub journal_records: u64,
    /// The last write of the journal is torn: power went meanwhile, and nobody was told that it lasts. Where its place
    /// was never written before, it may also be damaged, and its records are lost.
    pub torn_tail: bool,
    /// Metadata superpages that could not be read.
    pub unreadable: u32,
}

/// The contents of the place of a checkpoint that was not taken.
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
    /// The note for a user.
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

    /// The superpage of this number that has most of its records, and where it is.
    fn newest(&self, number: u64, layout: &Layout) -> Option<(Head, u64)> {
        let tails = [0, 1].map(|place| (self.tails[place as usize], layout.tail_at(place)));
        let places = std::iter::once((self.in_ring(number), layout.ring_at(number))).chain(tails);
        let heads = places.filter_map(|(place, at)| Some((place.sound()?, at)));
        heads.filter(|(head, _)| head.number == number).max_by_key(|(head, _)| head.count)
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
    /// See [`crate::Driver::open`]. A metadata superpage that was damaged in a way no power cut can cause is noticed,
    /// the last one of the journal as well. Damage looks like a write that the power cut only where the very last
    /// superpage is the first one in its place; there it looks like none at all if no sector of it is whole.
    pub(super) fn opened(options: &Options, device_sectors: u64, read: &mut ReadSectors) -> Result<Self, OpenError> {
        let (id, layout) = disk::open(disk::SUPERBLOCK, options.terms.cell_bytes, device_sectors, read, disk::layout)?;
        let options = options.limited(&layout);
        let map = vec![NOWHERE; layout.pages as usize];
        let bytes = vec![0; layout.superpage_bytes()];
        let (recovered, slots, heads) = (Recovered::default(), [OtherCheckpoint::None; 2], Vec::new());
        Recovery { layout, options, id, map, read, bytes, recovered, slots, heads }.run()
    }
}

/// The head of a checkpoint.
#[derive(Clone, Copy)]
struct CheckpointHead {
    head: Head,
    /// Records of the journal that it has already.
    skip: u64,
    /// The journal when it was begun.
    stamp: Stamp,
}

/// A drive that is being opened: the map that is made, and from what.
struct Recovery<'a> {
    layout: Layout,
    options: Options,
    id: u64,
    /// The virtual page of each page.
    map: Vec<u32>,
    read: &'a mut ReadSectors<'a>,
    /// The superpage that was read last.
    bytes: Vec<u8>,
    recovered: Recovered,
    /// What the two places of checkpoints hold.
    slots: [OtherCheckpoint; 2],
    /// Those whose heads are sound, the newest first.
    heads: Vec<CheckpointHead>,
}

impl Recovery<'_> {
    /// 1. Read the heads of both checkpoints, the newer one first.
    /// 2. Look at every place of the journal: what is whole, and what a power cut or damage left.
    /// 3. Make the map from the first checkpoint whose pieces are sound, and read the journal over it.
    /// 4. Go on behind all numbers and versions that anything there has, whether it was taken or not.
    /// 5. Where no checkpoint will do, or the end of the journal is damaged, the map is lost.
    fn run(mut self) -> Result<Hard, OpenError> {
        self.find_heads();
        let found = self.find_journal();
        for checkpoint in self.heads.clone() {
            let number = checkpoint.head.number;
            match self.try_checkpoint(checkpoint, &found) {
                Ok(space) => return Ok(self.resumed(space, number, &found)),
                Err(DAMAGED_END) => return Err(OpenError::Map(DAMAGED_END)),
                Err(why) => self.recovered.rejected = self.recovered.rejected.or(Some((number, why))),
            }
        }
        let is_unreadable = self.slots.contains(&OtherCheckpoint::Unreadable);
        let why = if is_unreadable { "no checkpoint can be read" } else { "no checkpoint is sound" };
        Err(OpenError::Map(self.recovered.rejected.map_or(why, |(_, why)| why)))
    }

    fn find_heads(&mut self) {
        for number in 0..2 {
            self.slots[number as usize] = if self.metadata(self.layout.checkpoint_at(number)) {
                self.head_of(number)
            } else {
                OtherCheckpoint::Unreadable
            };
        }
        self.heads.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.head.number));
    }

    /// What the place of a checkpoint holds that was read.
    fn head_of(&mut self, number: u64) -> OtherCheckpoint {
        let (id, pieces) = (self.id, self.layout.pieces);
        let is_own = |head: &Head| head.id == id && head.number % 2 == number && head.count == pieces;
        match disk::unseal(&self.bytes, disk::CHECKPOINT).filter(is_own) {
            Some(head) => {
                let (skip, stamp) = (disk::u64_at(&self.bytes, disk::HEAD_BYTES), Stamp::get(&self.bytes));
                self.heads.push(CheckpointHead { head, skip, stamp });
                OtherCheckpoint::Sound
            }
            None if disk::looks_like(&self.bytes, disk::CHECKPOINT) => OtherCheckpoint::Torn,
            None => OtherCheckpoint::None,
        }
    }

    /// The driver whose map was made from the checkpoint of this number.
    fn resumed(mut self, space: Space, taken: u64, found: &Found) -> Hard {
        self.recovered.checkpoint = taken;
        self.recovered.other = self.slots[(taken + 1) as usize % 2];
        let froms = self.heads.iter().map(|checkpoint| checkpoint.head.more);
        // The next number may be in a superpage that the power cut tore: the same number must not be torn there again,
        // or both parts together could be the old one.
        let number = froms.chain(found.highest).max().expect("a checkpoint was found") + 2;
        let places = || found.tails.iter().chain(&found.ring);
        let written = places().map(|place| place.is_written()).collect();
        let versions = self.heads.iter().map(|checkpoint| checkpoint.stamp.version);
        let version = versions.chain(places().map(|place| place.version())).max().unwrap_or(0);
        // The next one takes the slot of the other.
        let next = self.heads[0].head.number + 1;
        let next = next + u64::from(next % 2 == taken % 2);
        let Self { layout, options, id, recovered, .. } = self;
        Hard {
            layout,
            options,
            space,
            gather: Gather::new(&layout, &options),
            reclaim: Reclaim::new(&layout, &options),
            journal: Journal::resumed(&layout, id, number, version, written),
            checkpoints: Checkpoints::new(&layout, id, false, next),
            recovered: Some(recovered),
        }
    }

    /// Reads a superpage.
    fn fetch(&mut self, superpage: u64) -> io::Result<()> {
        (self.read)(self.layout.sector_of(superpage), &mut self.bytes)
    }

    /// Reads a metadata superpage. What cannot be read is as good as damaged: there may be another one to go on from.
    fn metadata(&mut self, superpage: u64) -> bool {
        let is_read = self.fetch(superpage).is_ok();
        self.recovered.unreadable += u32::from(!is_read);
        is_read
    }

    fn find_journal(&mut self) -> Found {
        let (size, full) = (u64::from(self.layout.ring), self.layout.records());
        let ring = (0..size).map(|place| {
            let belongs = |head: &Head| head.number % size == place && head.count as usize == full;
            self.look(self.layout.ring_at(place), belongs)
        });
        let ring: Vec<Place> = ring.collect();
        let tails = [0, 1].map(|place| self.look(self.layout.tail_at(place), |head| head.count as usize <= full));
        let highest = ring.iter().chain(&tails).filter_map(|place| Some(place.sound()?.number)).max();
        Found { ring, tails, highest }
    }

    /// Looks at a place of the journal.
    fn look(&mut self, superpage: u64, belongs: impl Fn(&Head) -> bool) -> Place {
        if !self.metadata(superpage) {
            return Place::Unreadable;
        }
        match disk::unseal_journal(&self.bytes, self.id, superpage) {
            Ok((head, stamp)) if belongs(&head) => Place::Sound(head, stamp),
            Ok(_) => Place::Broken(Seals::default()),
            Err(seals) => Place::Broken(seals),
        }
    }

    /// Makes the map from a checkpoint. The error says why it cannot be trusted.
    fn try_checkpoint(&mut self, checkpoint: CheckpointHead, found: &Found) -> Result<Space, &'static str> {
        self.map.fill(NOWHERE);
        let number = checkpoint.head.number;
        for piece in 0..self.layout.pieces {
            let superpage = self.layout.checkpoint_at(number) + 1 + u64::from(piece);
            self.fetch(superpage).map_err(|_| "a piece of the checkpoint cannot be read")?;
            let pages = self.layout.pages_of_piece(piece);
            let wanted = Head { id: self.id, number, more: u64::from(piece), count: pages.len() as u32 };
            if disk::unseal(&self.bytes, disk::PIECE) != Some(wanted) {
                return Err("a piece of the checkpoint is damaged");
            }
            for (index, place) in self.map[pages].iter_mut().enumerate() {
                *place = disk::u32_at(&self.bytes, disk::HEAD_BYTES + index * disk::ENTRY_BYTES);
            }
        }
        self.replay(checkpoint, found)?;
        Space::of(self.map.clone(), &self.layout, &self.options).ok_or("two pages share a place")
    }

    /// Reads the journal over the map of a checkpoint.
    ///
    /// 1. Of each number take the place that has most of its records: the ring's, or one of the two others.
    /// 2. Check that it begins where the one before ended, and is still what it was when all places were looked at.
    /// 3. Apply its records, but for those that the checkpoint has already.
    /// 4. End with the first that is missing or not full; nothing newer may be behind it, and what is torn there must
    ///    be what a power cut can tear.
    fn replay(&mut self, checkpoint: CheckpointHead, found: &Found) -> Result<(), &'static str> {
        let CheckpointHead { head: Head { more: from, .. }, skip, mut stamp } = checkpoint;
        let (mut before, mut records, mut number) = (None, 0, from);
        // The last one there can be: the one that is missing, or the one that is not full.
        let last = loop {
            let Some((head, at)) = found.newest(number, &self.layout) else { break number };
            if before.is_some_and(|before| before != head.more) {
                return Err("the journal has a gap");
            }
            self.fetch(at).map_err(|_| "a superpage of the journal cannot be read")?;
            let now = disk::unseal_journal(&self.bytes, self.id, at).ok().filter(|(now, _)| *now == head);
            let (_, version) = now.ok_or("the journal changes while it is read")?;
            if version.version > stamp.version {
                stamp = version;
            }
            // The map has the first ones already. Had the last version of this superpage been damaged, reading them
            // again from the version before would undo what came after them.
            let known = if number == from { skip.saturating_sub(head.more).min(u64::from(head.count)) } else { 0 };
            if !self.apply(known as usize..head.count as usize) {
                return Err("a record of the journal leads nowhere");
            }
            records += u64::from(head.count) - known;
            before = Some(head.more + u64::from(head.count));
            number += 1;
            if (head.count as usize) < self.layout.records() {
                break number - 1;
            }
        };
        // Superpages of the journal are durable one after the other: nothing can be behind one that is missing.
        if found.highest.is_some_and(|highest| highest >= number) {
            return Err("a superpage of the journal is damaged");
        }
        if [found.in_ring(last), found.tails[0], found.tails[1]].contains(&Place::Unreadable) {
            return Err("a superpage of the journal cannot be read");
        }
        let torn_tail = found.end_is_torn(last, stamp)?;
        (self.recovered.journal_superpages, self.recovered.journal_records) = (number - from, records);
        self.recovered.torn_tail = torn_tail;
        Ok(())
    }

    fn apply(&mut self, records: std::ops::Range<usize>) -> bool {
        let places = self.layout.superpages * self.layout.slots();
        for index in records {
            let entry = disk::entry(&self.bytes, index);
            let end = entry.page.checked_add(entry.pages).filter(|end| *end <= self.layout.pages);
            let (Some(end), true) = (end, entry.place == NOWHERE || (entry.place < places && entry.pages == 1)) else {
                return false;
            };
            self.map[entry.page as usize..end as usize].fill(entry.place);
        }
        true
    }
}
