//! Results that hold exactly: the knee of a fresh drive, and the figure of reclamation.

use super::drives::{self, PLAIN, Shape};
use super::runs::race;
use crate::error::StudyError;
use crate::study::Options;
use experiment::Monitor;
use remap::probe::{Point, SIZES};
use remap::{Blocking, Terms, WriteCache};
use trace::synthetic::{WorkloadParameters, build};

/// Bytes that each size of the probe writes at least.
const PROBED: u64 = 16 << 20;
/// Writes of each size at least.
const LEAST_WRITES: u64 = 64;
/// Requests under way.
const DEPTH: u32 = 32;
/// Bytes of a page and of a superpage of the driver.
const PAGE_SECTORS: u64 = 8;
const SECTOR: usize = 512;

/// Counts of one reclamation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Virtual superpages that were reclaimed.
    pub victims: u64,
    /// Pages copied.
    pub copies: u64,
    /// Virtual superpages written for it.
    pub written: u64,
    /// Free ones after it, less those before.
    pub more_free: i64,
}

/// The sweep of write sizes on a drive with `ways`; each size gets a fresh drive.
/// Errors: the drive cannot be built, or the user stopped.
pub fn probe(options: &Options, ways: u64, monitor: &dyn Monitor) -> Result<Vec<Point>, StudyError> {
    let point = |bytes: u64| {
        let bench = drives::bench(options, Shape::of(PLAIN, ways))?;
        let mut drive = bench.factory_fresh();
        // No more than half of it: what cleaning does is not asked here.
        let writes = (PROBED / bytes).max(LEAST_WRITES).min(drives::capacity(options) / 2 / bytes);
        let parameters = WorkloadParameters {
            seed: options.seed,
            request_bytes: Some(bytes),
            ..WorkloadParameters::new(bench.sectors(), writes)
        };
        let mut workload = build("uniform-write", &parameters)?;
        let elapsed = race(&mut drive, &mut *workload, DEPTH, monitor)?;
        Ok(Point { bytes, writes, seconds: elapsed as f64 / 1e9 })
    };
    SIZES.into_iter().map(point).collect()
}

/// Figure 14.3: two virtual superpages that are half valid are reclaimed into one. Over memory, with real bytes.
/// Errors: in words, if the driver refuses a request or loses one.
pub fn reclamation() -> Result<Reclaimed, String> {
    let said = |error: &dyn std::fmt::Display| format!("reclamation on a small drive: {error}");
    let options = remap::Options {
        terms: Terms { write_cache: WriteCache::Volatile, ..Terms::default() },
        var_background: 1.0,
        var_ahead: Some(0),
        ..remap::Options::default()
    };
    let mut drive = Blocking::format(vec![0; 1 << 20], &options).map_err(|error| said(&error))?;
    for page in 0..32_u8 {
        drive
            .write(u64::from(page) * PAGE_SECTORS, &[page; SECTOR * PAGE_SECTORS as usize], false)
            .map_err(|error| said(&error))?;
    }
    let gone = [1, 3, 4, 6];
    for page in gone {
        drive.trim(u64::from(page) * PAGE_SECTORS, PAGE_SECTORS as u32).map_err(|error| said(&error))?;
    }
    drive.flush().map_err(|error| said(&error))?;
    let before = drive.report();
    drive.idle().map_err(|error| said(&error))?;
    let after = drive.report();
    drive.check()?;
    let mut sector = [0; SECTOR];
    for page in 0..32_u8 {
        drive.read(u64::from(page) * PAGE_SECTORS, &mut sector).map_err(|error| said(&error))?;
        let wanted = if gone.contains(&page) { 0 } else { page };
        if sector != [wanted; SECTOR] {
            return Err(format!("reclamation on a small drive: page {page} reads {}", sector[0]));
        }
    }
    Ok(Reclaimed {
        victims: after["victims"],
        copies: after["var_copies"],
        written: after["superpages"] - before["superpages"],
        more_free: after["free"].cast_signed() - before["free"].cast_signed(),
    })
}
