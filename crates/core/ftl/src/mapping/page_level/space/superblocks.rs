//! Superblocks as they are written: blocks of one number belong to the same stream in every lane.
//!
//! *Why*: a lane opens its next block for copies when its last is full, which is sooner in one lane than in another. If
//! each took its first free block, one superblock would hold what the host wrote in some lanes and what survived
//! collection in others, and hot and cold data would be mixed in it although each block holds one of them.

use super::Stream;
use super::lane::FreeList;
use layer::{SnapshotError, SnapshotReader, SnapshotWriter};
use units::BlockId;

/// The stream of each superblock.
#[derive(Debug)]
pub(crate) struct Superblocks {
    /// By number; nothing: no lane has opened it since it was chosen to be collected, or since power came back.
    streams: Vec<Option<Stream>>,
}

/// Streams by the number that stands for them in a snapshot.
const STREAMS: [Option<Stream>; 3] = [None, Some(Stream::Host), Some(Stream::Copies)];

impl Superblocks {
    /// `count` superblocks that none opened.
    pub fn new(count: u32) -> Self {
        Self { streams: vec![None; count as usize] }
    }

    /// A free block of a lane that has one, and whose first block is `first`: of the superblock that another lane
    /// opened for this stream, or else of one that none opened, or else any.
    pub fn take(&mut self, free: &mut FreeList, first: BlockId, stream: Stream) -> Option<BlockId> {
        let number = |block: BlockId| (block.0 - first.0) as usize;
        let rank = |block: BlockId| match self.streams[number(block)] {
            Some(other) if other == stream => 0,
            None => 1,
            Some(_) => 2,
        };
        let block = free.take(rank)?;
        self.streams[number(block)].get_or_insert(stream);
        Some(block)
    }

    /// The stream of a superblock, if a lane has opened it.
    pub fn stream(&self, number: u32) -> Option<Stream> {
        self.streams[number as usize]
    }

    /// Takes the stream of each superblock from a smaller drive.
    pub fn tile(&mut self, streams: Vec<Option<Stream>>) {
        self.streams = streams;
    }

    /// It will be collected: its blocks are free for any stream after that.
    pub fn chosen(&mut self, number: u32) {
        self.streams[number as usize] = None;
    }

    pub fn save(&self, writer: &mut SnapshotWriter) {
        let place = |stream: &Option<Stream>| STREAMS.iter().position(|other| other == stream).expect("only these two");
        writer.put("superblocks.streams", self.streams.iter().map(|stream| place(stream) as u32));
    }

    /// Reads what [`Superblocks::save`] wrote.
    pub fn load(&mut self, reader: &mut SnapshotReader<'_>) -> Result<(), SnapshotError> {
        let numbers = reader.get::<u32>("superblocks.streams")?;
        let streams: Option<Vec<_>> = numbers.iter().map(|number| STREAMS.get(*number as usize).copied()).collect();
        match streams {
            Some(streams) if streams.len() == self.streams.len() => {
                self.streams = streams;
                Ok(())
            }
            _ => {
                let problem = "a superblock has no stream that there is".to_owned();
                Err(SnapshotError::Unfit { section: "superblocks.streams", problem })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_opens_the_same_superblock_for_a_stream() {
        let (mut superblocks, mut lanes) = (Superblocks::new(4), [FreeList::default(), FreeList::default()]);
        for (lane, free) in lanes.iter_mut().enumerate() {
            (0..4).for_each(|number| free.push(BlockId(lane as u32 * 4 + number), 0, false));
        }
        let mut take = |superblocks: &mut Superblocks, lane: usize, stream: Stream| {
            let block = superblocks.take(&mut lanes[lane], BlockId(lane as u32 * 4), stream);
            block.map(|block| block.0 - lane as u32 * 4)
        };
        let lead = [Stream::Host, Stream::Copies, Stream::Host].map(|stream| take(&mut superblocks, 0, stream));
        assert_eq!(lead, [Some(0), Some(1), Some(2)]);
        let follow = [Stream::Host, Stream::Host, Stream::Copies].map(|stream| take(&mut superblocks, 1, stream));
        assert_eq!(follow, [Some(0), Some(2), Some(1)]);
        superblocks.chosen(3);
        assert_eq!(take(&mut superblocks, 1, Stream::Copies), Some(3));
        assert_eq!(take(&mut superblocks, 0, Stream::Host), Some(3), "there is no other");
        assert_eq!(take(&mut superblocks, 0, Stream::Host), None);
    }
}
