//! A client of a disk at a vhost-user socket: checks that data comes back, and measures requests a second.
//!
//! `nandarium-blkio SOCKET` prints a line for each pattern and depth. The disk loses what it holds.
#![expect(unsafe_code, reason = "blkio takes pointers into memory that it shares with the disk")]

use blkio::{Blkio, Blkioq, Completion, MemoryRegion, ReqFlags};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// Bytes of a request.
const BLOCK: usize = 4096;
/// Bytes of the disk that are used.
const SPAN: u64 = 256 << 20;
const DEPTHS: [usize; 2] = [1, 32];
const SECONDS: Duration = Duration::from_secs(2);

type Failure = Box<dyn std::error::Error>;

/// Memory that the disk reads and writes.
struct Memory(MemoryRegion);

impl Memory {
    /// The place of a block.
    fn at(&self, block: usize) -> *mut u8 {
        assert!((block + 1) * BLOCK <= self.0.len, "a block of the memory");
        (self.0.addr + block * BLOCK) as *mut u8
    }

    /// A block, while no request uses it.
    fn block(&mut self, block: usize) -> &mut [u8] {
        // SAFETY: the region is mapped as long as the disk is, the block is inside, and its requests have ended.
        unsafe { std::slice::from_raw_parts_mut(self.at(block), BLOCK) }
    }
}

/// Waits for requests. Their numbers.
fn finish(queue: &mut Blkioq, least: usize) -> Result<Vec<usize>, Failure> {
    let mut room = [const { MaybeUninit::<Completion>::uninit() }; DEPTHS[1]];
    let count = queue.do_io(&mut room, least, None, None)?;
    let done = room[..count].iter().map(|completion| {
        // SAFETY: `do_io` has filled the first `count` of them.
        let completion = unsafe { completion.assume_init_read() };
        if completion.ret == 0 { Ok(completion.user_data) } else { Err(format!("error {}", completion.ret).into()) }
    });
    done.collect()
}

/// Data of one queue comes back on another, and cleared ranges are zeros.
fn check(queues: &mut [Blkioq], memory: &mut Memory) -> Result<(), Failure> {
    let none = ReqFlags::empty();
    for block in 0..16 {
        memory.block(block).fill(block as u8 + 1);
        queues[0].write((block * BLOCK) as u64, memory.at(block), BLOCK, block, none);
    }
    let mut ended = 0;
    while ended < 16 {
        ended += finish(&mut queues[0], 1)?.len();
    }
    queues[0].flush(0, none);
    finish(&mut queues[0], 1)?;
    queues[1].discard(0, BLOCK as u64, 0, none);
    finish(&mut queues[1], 1)?;
    queues[1].write_zeroes(BLOCK as u64, BLOCK as u64, 0, none);
    finish(&mut queues[1], 1)?;
    for block in 0..16 {
        memory.block(block).fill(0xff);
        queues[1].read((block * BLOCK) as u64, memory.at(block), BLOCK, 0, none);
        finish(&mut queues[1], 1)?;
        let expected = if block < 2 { 0 } else { block as u8 + 1 };
        if memory.block(block).iter().any(|byte| *byte != expected) {
            return Err(format!("block {block} came back with other data").into());
        }
    }
    Ok(())
}

/// Requests a second with so many under way, at random places.
fn rate(queue: &mut Blkioq, memory: &Memory, writes: bool, depth: usize) -> Result<f64, Failure> {
    let mut state = 1_u64;
    let mut ask = |queue: &mut Blkioq, slot: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (state >> 33) % (SPAN / BLOCK as u64) * BLOCK as u64;
        if writes {
            queue.write(offset, memory.at(slot), BLOCK, slot, ReqFlags::empty());
        } else {
            queue.read(offset, memory.at(slot), BLOCK, slot, ReqFlags::empty());
        }
    };
    (0..depth).for_each(|slot| ask(queue, slot));
    let (begun, mut count) = (Instant::now(), 0_u64);
    while begun.elapsed() < SECONDS {
        for slot in finish(queue, 1)? {
            count += 1;
            ask(queue, slot);
        }
    }
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    let mut left = depth;
    while left > 0 {
        left -= finish(queue, 1)?.len();
    }
    Ok(rate)
}

fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).ok_or("nandarium-blkio SOCKET")?;
    let mut disk = Blkio::new("virtio-blk-vhost-user")?;
    disk.set_str("path", &path)?;
    disk.connect()?;
    disk.set_i32("num-queues", 2)?;
    let mut queues = disk.start()?.queues;
    let region = disk.alloc_mem_region(64 * BLOCK)?;
    disk.map_mem_region(&region)?;
    let mut memory = Memory(region);
    check(&mut queues, &mut memory)?;
    for (pattern, writes) in [("randwrite", true), ("randread", false)] {
        for depth in DEPTHS {
            println!("{pattern} {depth} {:.0}", rate(&mut queues[0], &memory, writes, depth)?);
        }
    }
    Ok(())
}
