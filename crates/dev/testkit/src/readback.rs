//! Reading a whole drive back after a power cut, by two paths.

use layer::{Answer, Outbox, PageLayer, PageOp, Signal};
use nand::{CountedFlash, Event, Flash, FlashState};
use simulator::{BlockDevice, Clocked, Completions, Drive, DrivePlan, Oracle, Progress};
use stack::Stacked as _;
use units::{HostOp, Lpn, Request};

/// The contents of a drive: one stamp a sector, `None` where it could not be read.
pub type ReadBack = Vec<Option<u64>>;

/// Rebuilds the layers over counted flash and reads every sector in one operation: the layers' own
/// recovery and read path without any waiting, a few microseconds on a small drive. Also checks
/// the invariants of the recovered layers.
/// Errors: the layers cannot be rebuilt, break an invariant, or do not answer.
pub fn read_back(plan: &DrivePlan, image: FlashState, found: &mut ReadBack) -> Result<(), String> {
    let layers = CountedFlash::recovered(&plan.stack(), &image).map_err(|error| error.to_string())?;
    read_back_from(layers, plan.user_pages, image, found)
}

/// Reads every sector of `pages` pages from layers that were rebuilt from `image`.
/// Errors: the layers break an invariant, or do not answer.
pub fn read_back_from(
    mut layers: Box<dyn PageLayer<CountedFlash>>,
    pages: u32,
    image: FlashState,
    found: &mut ReadBack,
) -> Result<(), String> {
    let mut flash = CountedFlash::new(image);
    layers.check(&flash)?;
    let full = flash.state().geometry.full_mask();
    let payload = flash.memory_mut().payloads.take(pages, full);
    found.clear();
    for page in 0..pages {
        let op = PageOp { payload: payload.offset(page), ..PageOp::on_page(HostOp::Read, Lpn(page), full) };
        let mut outbox = Outbox::new();
        let answer = match layers.submit(&mut flash, &op, &mut outbox) {
            Answer::Done { failed } => Some(failed),
            // It waits for a stripe to be mended, and a program of that may have failed.
            Answer::Pending(_) => answer_of(&op, &mut *layers, &mut flash, &mut outbox),
            Answer::Full { .. } => None,
        };
        let failed = answer.ok_or_else(|| format!("page {page} cannot be read after a power cut"))?;
        let payloads = &flash.state().memory.payloads;
        let cells = payloads.cells(op.payload).chunks_exact(payloads.cell_bytes());
        found.extend(cells.map(|cell| (!failed).then(|| Oracle::stamp_in(cell))));
    }
    Ok(())
}

/// Hands events to layers until an operation is done; whether it failed. `None`: it never will be.
fn answer_of(
    op: &PageOp,
    layers: &mut dyn PageLayer<CountedFlash>,
    flash: &mut CountedFlash,
    outbox: &mut Outbox,
) -> Option<bool> {
    loop {
        for signal in outbox.drain(..) {
            if let Signal::Done { owner, token, failed, .. } = signal
                && (owner, token) == (op.owner, op.token)
            {
                return Some(failed);
            }
        }
        if !flash.advance() {
            return None;
        }
        let events = std::mem::take(&mut flash.state_mut().events);
        for (owner, event) in &events {
            match *event {
                Event::Joined { token, failed, .. } if *owner == op.owner => {
                    outbox.push(Signal::Done { owner: *owner, token, failed, wait: None });
                }
                ref event => layers.on_event(flash, *owner, event, outbox),
            }
        }
    }
}

/// Reads every page of a drive by real requests; the drive's own oracle checks what it returns.
/// Returns how many reads are never answered, or with an error though no page is uncorrectable.
/// Errors: the oracle objects.
pub fn read_through<F: Clocked>(drive: &mut Drive<F>, per_page: u32) -> Result<u64, String> {
    let all = drive.sectors() / u64::from(per_page);
    let lost_before = drive.flash().state().counters.failed_reads;
    for page in 0..all {
        let first_sector = page * u64::from(per_page);
        let request = Request { arrival: 0, first_sector, sectors: per_page, op: HostOp::Read, fua: false };
        drive.submit(page as u32, &request);
    }
    let mut completions = Completions::default();
    let (mut done, mut failed) = (0, 0);
    while done < all {
        if drive.advance(&mut completions) == Progress::Idle {
            break;
        }
        // Writes may still be under way, or wait for room they will never get.
        for completion in completions.done.iter().filter(|completion| completion.request.op == HostOp::Read) {
            done += 1;
            failed += u64::from(completion.failed);
        }
    }
    if let Some(violation) = drive.oracle().and_then(|oracle| oracle.violation()) {
        return Err(violation.to_owned());
    }
    // What a buffer could not write back, because the rest of the page could not be read, is not read below.
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let not_written: u64 = reports.iter().filter_map(|report| report.counters.get("pages_not_written_back")).sum();
    let lost = drive.flash().state().counters.failed_reads - lost_before + not_written;
    // Requests that were waiting already may be among those done.
    Ok(all.saturating_sub(done) + failed.saturating_sub(lost))
}
