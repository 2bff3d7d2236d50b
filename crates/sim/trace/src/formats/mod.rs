//! Trace formats: one file each, registered in [`FORMATS`], and their common code.
//!
//! Address unit, time unit and operation code differ between formats, and hardly any file says
//! which one it is. So every format has an explicit name, and detection refuses to guess between
//! formats that read the same bytes differently. To add one: a file here, its `mod` and a line in [`FORMATS`]; or,
//! from a program around this one, [`register`].

mod alibaba;
mod arc;
mod biosnoop;
mod biotracer;
mod blkparse;
mod blktrace;
mod block_ftrace;
mod columns;
mod diskmon;
mod disksim;
mod fio_iolog;
mod fiu;
mod hp_srt;
mod iosnoop;
mod key_value;
mod libcachesim_csv;
mod midas;
mod mqsim;
mod msr;
mod nandarium;
mod nvme_ftrace;
mod oracle_general;
mod pixel;
mod reading;
mod replay;
mod reports;
mod scsi_ftrace;
mod spc;
mod ssdsim;
mod systor;
mod tencent;
mod tracetracker;
mod ufs_ftrace;
mod vscsi;
mod wpa;
mod xperf;

pub use key_value::Allocator;
pub use reading::{
    FieldError, FieldResult, FrameParser, LineParser, LostEvents, Malformed, OddLine, OddLines, OddLinesError,
    OpenOptions, Order, Parser, ReadStatistics, Records, Sink, TraceError, TraceRecord, detect, field_error,
    long_duration, open, open_reader, read_in_order,
};
pub use replay::{DevicePolicy, Fit, Survey, TraceOptions, TraceWorkload};
pub use reports::{
    DeviceSummary, GapSummary, OpSummary, PeakSummary, SizeSummary, Streams, TraceSummary, WritePattern, WriteSurvey,
    summarise, write_nandarium,
};

use std::sync::{PoisonError, RwLock};

/// Bytes of a sector in every format that counts sectors and does not say otherwise.
const SECTOR: u64 = units::SECTOR_BYTES;

pub struct Format {
    /// The name `--format` takes.
    pub name: &'static str,
    /// A description, in one line.
    pub doc: &'static str,
    /// The columns, in order.
    pub columns: &'static str,
    /// Unit of the time column.
    pub time_unit: &'static str,
    /// Unit of addresses, and of sizes where that differs.
    pub address_unit: &'static str,
    /// File-name endings that settle a choice between formats the contents fit.
    pub extensions: &'static [&'static str],
    /// Default treatment of times that go back.
    pub usual_order: Order,
    /// A parser at the start of a file.
    pub parser: fn() -> Parser,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every format, in alphabetical order.
pub static FORMATS: &[Format] = &[
    alibaba::FORMAT,
    arc::FORMAT,
    biosnoop::FORMAT,
    biotracer::FORMAT,
    blkparse::FORMAT,
    blkparse::FORMAT_COMPLETE,
    blkparse::FORMAT_ISSUE,
    blktrace::FORMAT,
    blktrace::FORMAT_COMPLETE,
    blktrace::FORMAT_ISSUE,
    block_ftrace::FORMAT,
    block_ftrace::FORMAT_ISSUE,
    diskmon::FORMAT,
    disksim::FORMAT,
    fio_iolog::FORMAT,
    fiu::FORMAT,
    hp_srt::FORMAT,
    iosnoop::FORMAT,
    libcachesim_csv::FORMAT,
    libcachesim_csv::FORMAT_BYTES,
    midas::FORMAT,
    key_value::mlperf::FORMAT,
    mqsim::FORMAT,
    msr::FORMAT,
    nandarium::FORMAT,
    nvme_ftrace::FORMAT,
    nvme_ftrace::FORMAT_4K,
    oracle_general::FORMAT,
    oracle_general::FORMAT_BYTES,
    pixel::FORMAT,
    scsi_ftrace::FORMAT,
    scsi_ftrace::FORMAT_4K,
    spc::FORMAT,
    ssdsim::FORMAT,
    systor::FORMAT,
    tencent::FORMAT,
    tracetracker::FORMAT,
    ufs_ftrace::FORMAT,
    vscsi::FORMAT_1,
    vscsi::FORMAT_2,
    wpa::FORMAT,
    xperf::FORMAT,
];

/// Formats from outside.
static OUTSIDE: RwLock<Vec<&'static Format>> = RwLock::new(Vec::new());

/// Makes the name of `format` mean this format wherever a name is given; detection does not try it.
/// Errors: another format has this name.
pub fn register(format: &'static Format) -> Result<(), String> {
    let mut outside = OUTSIDE.write().unwrap_or_else(PoisonError::into_inner);
    if FORMATS.iter().chain(outside.iter().copied()).any(|known| known.name == format.name) {
        return Err(format!("there is a trace format called {:?} already; take another name", format.name));
    }
    outside.push(format);
    Ok(())
}

/// The format called `name`.
/// Errors: [`TraceError::NoSuchFormat`], listing the names.
pub fn by_name(name: &str) -> Result<&'static Format, TraceError> {
    let found = known().find(|format| format.name == name);
    found.ok_or_else(|| TraceError::NoSuchFormat { name: name.to_owned(), known: format_names() })
}

/// Every format, those from outside last.
fn known() -> impl Iterator<Item = &'static Format> {
    let outside = OUTSIDE.read().unwrap_or_else(PoisonError::into_inner).clone();
    FORMATS.iter().chain(outside)
}

fn format_names() -> String {
    known().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::FORMATS;

    #[test]
    fn the_table_is_alphabetical() {
        assert!(FORMATS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
