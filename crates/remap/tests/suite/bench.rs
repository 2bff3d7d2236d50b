//! A host, the driver and the device, with an oracle beside them.

use crate::device::Device;
use crate::oracle::{Change, Mark, Oracle};
use engine::random::Stream;
use remap::{Blocking, Hard, Layout, Options, Partial, Submit, WriteCache};
use std::collections::BTreeMap;
use units::HostOp;

enum Asked {
    Read(u64, Mark),
    Change(Change, bool),
    Flush(Mark),
}

pub struct Bench {
    pub hard: Hard,
    pub device: Device,
    pub oracle: Oracle,
    pub options: Options,
    pub random: Stream,
    pub now: u64,
    pub failures: u64,
    /// Pages the host writes are among the first ones, so many.
    pub hot: u64,
    asked: BTreeMap<u64, Asked>,
    tag: u64,
}

/// Options drawn at random, of small shapes.
pub fn random_options(random: &mut Stream) -> Options {
    let mut one_of = |choices: &[u32]| choices[random.below(choices.len() as u64) as usize];
    let page_sectors = one_of(&[1, 1, 2, 4]);
    let superpage_sectors = page_sectors * one_of(&[1, 2, 4, 4, 4, 8]);
    let superpage_sectors = superpage_sectors.max(2);
    Options {
        page_sectors,
        superpage_sectors,
        hold_back: [0.05, 0.1, 0.2, 0.3][one_of(&[0, 1, 2, 3]) as usize],
        timeout_ns: 1000,
        partial: [Partial::Pad, Partial::Hold][one_of(&[0, 1]) as usize],
        write_cache: [WriteCache::Through, WriteCache::Volatile][one_of(&[0, 1]) as usize],
        bypass: one_of(&[0, 0, 1]) == 1,
        var_free: one_of(&[1, 2, 3]),
        var_ahead: [None, Some(0), Some(3)][one_of(&[0, 1, 2]) as usize],
        var_background: [0.0, 0.05, 0.5][one_of(&[0, 1, 2]) as usize],
        idle_after_ns: 5000,
        trim: one_of(&[0, 1]) == 1,
        buffers: one_of(&[2, 4, 64]),
        ..Options::default()
    }
}

/// Sectors of a device with so many virtual superpages, or a few more.
pub fn device_sectors(options: &Options, superpages: u32) -> u64 {
    let size = u64::from(options.superpage_sectors);
    let fits = |sectors: &u64| Layout::new(options, *sectors).is_ok_and(|layout| layout.superpages() >= superpages);
    (u64::from(superpages)..1 << 20).map(|count| count * size).find(fits).expect("a large one will do")
}

impl Bench {
    pub fn new(options: Options, superpages: u32, seed: u64) -> Self {
        let sectors = device_sectors(&options, superpages);
        let layout = Layout::new(&options, sectors).expect("it fits");
        let mut random = Stream::new(seed, "bench");
        // What was there before is no zeros.
        let image: Vec<u8> = (0..sectors * 64).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        let mut device = Device::new(image);
        device.overlaps = options.bypass;
        let mut bench = Self {
            hard: Hard::format(layout, &options, seed + 1),
            device,
            oracle: Oracle::new(layout.sectors(), options.page_sectors, !options.bypass),
            options,
            random,
            now: 0,
            failures: 0,
            hot: layout.sectors(),
            asked: BTreeMap::new(),
            tag: 0,
        };
        bench.settle();
        bench
    }

    /// Does commands until none is left.
    pub fn settle(&mut self) {
        self.answers();
        while !self.device.held.is_empty() {
            self.complete();
        }
    }

    pub fn outstanding(&self) -> usize {
        self.asked.len()
    }

    pub fn submit(&mut self, op: HostOp, first_sector: u64, sectors: u32, fua: bool) {
        let mark = self.oracle.mark();
        let (data, asked) = match op {
            HostOp::Read => (Vec::new(), Asked::Read(first_sector, mark)),
            HostOp::Flush => (Vec::new(), Asked::Flush(mark)),
            HostOp::Trim => (Vec::new(), Asked::Change(self.oracle.trim(first_sector, sectors), fua)),
            HostOp::Write => {
                let (data, change) = self.oracle.write(first_sector, sectors);
                (data, Asked::Change(change, fua))
            }
        };
        self.asked.insert(self.tag, asked);
        self.hard.submit(self.now, Submit { tag: self.tag, op, first_sector, sectors, fua }, &data);
        self.tag += 1;
        self.answers();
    }

    /// A request as the dice say.
    pub fn submit_any(&mut self) {
        let random = &mut self.random;
        let dice = random.below(100);
        let op = match dice {
            0..60 => HostOp::Write,
            60..85 => HostOp::Read,
            85..92 => HostOp::Trim,
            _ => HostOp::Flush,
        };
        if op == HostOp::Flush {
            self.submit(op, 0, 0, false);
            return;
        }
        let most = [1, 4, 16, 64][random.below(4) as usize].min(self.hot);
        let count = 1 + random.below(most);
        let mut first = random.below(self.hot - count + 1);
        let mut count = count as u32;
        if random.chance(0.4) {
            // Whole superpages, for writes in place.
            let size = u64::from(self.options.superpage_sectors);
            first = first / size * size;
            count = size as u32 * (1 + random.below(2) as u32);
            if first + u64::from(count) > self.hot {
                return;
            }
        }
        let fua = random.chance(0.05);
        self.submit(op, first, count, fua);
    }

    pub fn complete(&mut self) {
        self.now += 10;
        self.device.complete(&mut self.hard, self.now, &mut self.random);
        self.answers();
    }

    /// Time passes until something happens; false if nothing would.
    pub fn wait(&mut self) -> bool {
        let Some(at) = self.hard.wake_at() else { return false };
        self.now = self.now.max(at);
        self.hard.woken(self.now);
        self.answers();
        true
    }

    fn answers(&mut self) {
        self.device.take(&mut self.hard);
        while let Some(done) = self.hard.next_done() {
            let asked = self.asked.remove(&done.tag).expect("an answer to a request");
            self.failures += u64::from(done.failed);
            match asked {
                _ if done.failed => {}
                Asked::Read(first, mark) => self.oracle.check_read(first, self.hard.done_data(), &mark),
                Asked::Change(change, fua) => self.oracle.acknowledged(&change, fua),
                Asked::Flush(mark) => self.oracle.flushed(&mark),
            }
        }
    }

    /// Everything is answered: no request waits for ever.
    pub fn drain(&mut self) {
        let mut steps = 0;
        while self.outstanding() > 0 {
            assert!(steps < 1_000_000, "something goes on for ever: {:?}", self.hard.report());
            steps += 1;
            if self.device.held.is_empty() {
                assert!(self.wait(), "{} requests wait for nothing: {:?}", self.outstanding(), self.hard.report());
            } else {
                self.complete();
            }
        }
    }

    /// Asks for a checkpoint while all else goes on.
    pub fn checkpoint(&mut self) {
        self.hard.write_checkpoint();
        self.answers();
    }

    /// Opens what a cut left and looks at all of it.
    pub fn check_image(&self, image: Vec<u8>) -> Vec<u8> {
        let mut drive = Blocking::open(image, &self.options).expect("a power cut damages nothing");
        let mut all = vec![0; drive.sectors() as usize * 512];
        drive.read(0, &mut all).expect("the store does not fail");
        self.oracle.check_cut(&all);
        drive.check().expect("all is consistent after a cut");
        all
    }

    pub fn cut(&mut self) {
        let image = self.device.cut(&mut self.random);
        self.check_image(image);
    }

    /// The power fails, and the run goes on with what is left.
    pub fn restart(&mut self) {
        let image = self.device.cut(&mut self.random);
        let all = self.check_image(image.clone());
        self.oracle.restart(&all);
        let sectors = image.len() as u64 / 512;
        let mut read = |first: u64, into: &mut [u8]| {
            into.copy_from_slice(&image[first as usize * 512..][..into.len()]);
            Ok(())
        };
        self.hard = Hard::open(&self.options, sectors, &mut read).expect("it was opened before");
        let mut device = Device::new(image);
        (device.faults, device.overlaps, device.written) = (self.device.faults, self.device.overlaps, self.device.written);
        self.device = device;
        self.asked.clear();
    }
}
