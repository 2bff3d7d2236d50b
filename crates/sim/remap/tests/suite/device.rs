//! A device in memory with a volatile cache, whose commands complete in any order, and which can be cut.

use crc32fast::Hasher;
use engine::random::Stream;
use remap::{Command, HostDriver};
use std::collections::BTreeMap;
use units::HostOp;

const SECTOR: usize = 512;
/// What trimmed sectors read as: nobody may look.
const POISON: u8 = 0xee;

/// A sector in the cache.
#[derive(Clone)]
struct Cached {
    /// Number of the command that wrote it, in order of completion.
    serial: u64,
    data: Vec<u8>,
    /// A flush failed to write it: no later one does.
    lost: bool,
}

/// A command the device has.
pub struct Pending {
    command: Command,
    /// What it writes.
    data: Vec<u8>,
    /// Commands completed when it came: what a flush covers.
    serial: u64,
}

pub struct Device {
    durable: Vec<u8>,
    cache: BTreeMap<u64, Vec<Cached>>,
    pub held: Vec<Pending>,
    serial: u64,
    /// Share of commands that fail.
    pub faults: f64,
    /// Bytes written.
    pub written: u64,
    /// Commands that overlap others are refused, as the order of them is open.
    pub overlaps: bool,
    /// Over every command with its data, in order.
    pub digest: Hasher,
}

impl Device {
    pub fn new(image: Vec<u8>) -> Self {
        let (cache, held) = (BTreeMap::new(), Vec::new());
        let digest = Hasher::new();
        Self { durable: image, cache, held, serial: 0, faults: 0.0, written: 0, overlaps: false, digest }
    }

    /// Takes all commands there are.
    pub fn take(&mut self, driver: &mut (impl HostDriver + ?Sized)) {
        while let Some(command) = driver.front_mut().next_command() {
            let data = match command.op {
                HostOp::Write => driver.command_data(command.id).to_vec(),
                HostOp::Trim => vec![POISON; command.sectors as usize * SECTOR],
                _ => Vec::new(),
            };
            let Command { op, first_sector, sectors, .. } = command;
            self.digest.update(format!("{op:?} {first_sector} {sectors} ").as_bytes());
            self.digest.update(&data);
            let end = command.first_sector + u64::from(command.sectors);
            for other in &self.held {
                let other = other.command;
                let apart =
                    end <= other.first_sector || other.first_sector + u64::from(other.sectors) <= command.first_sector;
                let reads = command.op == HostOp::Read && other.op == HostOp::Read;
                let flush = command.op == HostOp::Flush || other.op == HostOp::Flush;
                let in_place = self.overlaps && (command.op == HostOp::Read || other.op == HostOp::Read);
                assert!(apart || reads || flush || in_place, "{command:?} while there is {other:?}");
            }
            self.held.push(Pending { command, data, serial: self.serial });
        }
    }

    /// Does one of its commands and says so.
    pub fn complete(&mut self, driver: &mut (impl HostDriver + ?Sized), now: u64, random: &mut Stream) {
        let Pending { command, data, serial } = self.held.swap_remove(random.below(self.held.len() as u64) as usize);
        // One flush that fails ends a run: so they are rarer.
        let faults = if command.op == HostOp::Flush { self.faults / 16.0 } else { self.faults };
        let failed = random.chance(faults);
        let mut answer = Vec::new();
        let end = command.first_sector + u64::from(command.sectors);
        match command.op {
            HostOp::Read => {
                (command.first_sector..end).for_each(|sector| answer.extend_from_slice(self.newest(sector)));
            }
            HostOp::Write | HostOp::Trim => {
                self.written += data.len() as u64;
                for (sector, data) in (command.first_sector..end).zip(data.chunks(SECTOR)) {
                    // A write that fails may have been done in part.
                    if !failed || random.chance(0.5) {
                        self.cache.entry(sector).or_default().push(Cached {
                            serial: self.serial,
                            data: data.to_vec(),
                            lost: false,
                        });
                    }
                }
                self.serial += 1;
            }
            HostOp::Flush if !failed => self.flush(serial),
            HostOp::Flush => {
                let versions = self.cache.values_mut().flatten();
                versions.filter(|cached| cached.serial < serial).for_each(|cached| cached.lost = true);
            }
        }
        driver.completed(now, command.id, failed, &answer);
    }

    /// Nothing can be lost of what was completed before `serial`; newer versions stay in the cache.
    fn flush(&mut self, serial: u64) {
        for (sector, versions) in &mut self.cache {
            let count = versions.iter().take_while(|cached| cached.serial < serial).count();
            // What is lost is still read, until something newer is durable.
            if versions[..count].iter().all(|cached| cached.lost) {
                continue;
            }
            if let Some(cached) = versions.drain(..count).rfind(|cached| !cached.lost) {
                self.durable[*sector as usize * SECTOR..][..SECTOR].copy_from_slice(&cached.data);
            }
        }
        self.cache.retain(|_, versions| !versions.is_empty());
    }

    fn newest(&self, sector: u64) -> &[u8] {
        match self.cache.get(&sector).and_then(|versions| versions.last()) {
            Some(cached) => &cached.data,
            None => &self.durable[sector as usize * SECTOR..][..SECTOR],
        }
    }

    /// What is on it after a power cut: of each sector the last version flushed, or any later one, also of commands
    /// that are under way.
    pub fn cut(&self, random: &mut Stream) -> Vec<u8> {
        let mut image = self.durable.clone();
        let mut put = |sector: u64, data: &[u8]| image[sector as usize * SECTOR..][..SECTOR].copy_from_slice(data);
        let keep = [0.0, 0.1, 0.5, 0.9, 1.0][random.below(5) as usize];
        // Whole commands, or each sector on its own.
        let whole = random.chance(0.5);
        let salt = random.next_u64();
        for (sector, versions) in &self.cache {
            let kept = versions.iter().filter(|cached| !cached.lost).filter(|cached| {
                if whole { Stream::new(salt ^ cached.serial, "command").chance(keep) } else { random.chance(keep) }
            });
            // The order of the cache is its own.
            let kept: Vec<&Cached> = kept.collect();
            if !kept.is_empty() {
                put(*sector, &kept[random.below(kept.len() as u64) as usize].data);
            }
        }
        for held in &self.held {
            let share = [0.0, 0.5, 1.0][random.below(3) as usize];
            for (index, data) in held.data.chunks(SECTOR).enumerate() {
                if random.chance(share) {
                    put(held.command.first_sector + index as u64, data);
                }
            }
        }
        image
    }
}
