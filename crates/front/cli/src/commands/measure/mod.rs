//! `nandarium measure`: what fitting needs to know of a drive, measured with fio.

mod fio;
mod target;

use self::fio::Fio;
use self::target::Target;
use crate::arguments::MeasureArguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::{output, watch};
use fit::Experiment;
use std::path::Path;
use units::quantity::exact_size;

/// What is measured of requests of one kind, so many at a time.
#[derive(Clone, Copy)]
struct Closed {
    /// What fio calls the kind, and bytes of a request.
    kind: &'static str,
    size: &'static str,
    depth: u32,
    writes: bool,
    /// Goes through the whole drive once, however long that takes.
    is_fill: bool,
}

#[derive(Clone, Copy)]
enum Step {
    Closed(Closed),
    /// After another fill, random writes at full speed until the drive is in steady state.
    Transient,
    /// A client beside writes that arrive by themselves, so large a share of the steady rate.
    Offered(f64),
}

const fn reads(kind: &'static str, size: &'static str, depth: u32) -> Step {
    Step::Closed(Closed { kind, size, depth, writes: false, is_fill: false })
}

const fn writes(kind: &'static str, size: &'static str, depth: u32) -> Step {
    Step::Closed(Closed { kind, size, depth, writes: true, is_fill: false })
}

/// The whole drive written in order.
const FILL: Closed = Closed { kind: "write", size: "1m", depth: 8, writes: true, is_fill: true };

/// What is measured, in this order: the fill comes first of what writes, as reads of what was never written are fast.
const STEPS: [Step; 16] = [
    Step::Closed(FILL),
    writes("write", "128k", 32),
    reads("randread", "4k", 1),
    reads("randread", "4k", 4),
    reads("randread", "4k", 32),
    reads("randread", "4k", 256),
    reads("read", "128k", 32),
    writes("randwrite", "4k", 1),
    writes("randwrite", "4k", 4),
    writes("randwrite", "4k", 32),
    Step::Transient,
    Step::Offered(0.1),
    Step::Offered(0.3),
    Step::Offered(0.5),
    Step::Offered(0.7),
    Step::Offered(0.9),
];
/// Requests at a time of the transient, and times the drive is written in it.
const TRANSIENT: (u32, u64) = (32, 4);

impl Step {
    fn is_wanted(self, arguments: &MeasureArguments) -> bool {
        match self {
            Step::Closed(closed) => !closed.writes || arguments.destroy_data,
            Step::Transient | Step::Offered(_) => arguments.steady,
        }
    }

    fn title(self) -> String {
        match self {
            Step::Closed(Closed { kind, size, depth, .. }) => format!("{kind} of {size}, depth {depth}"),
            Step::Transient => {
                format!("a fill, then {} times the drive in randwrite of 4k, depth {}", TRANSIENT.1, TRANSIENT.0)
            }
            Step::Offered(share) => format!("one request at a time beside {:.0} % of the steady writes", share * 100.0),
        }
    }
}

pub fn execute(arguments: &MeasureArguments) -> Result<(), Failure> {
    let target = Target::of(arguments)?;
    check_size(arguments, &target)?;
    check_out(&arguments.out)?;
    watch::catch_interrupts();
    let name = arguments.name.as_deref().unwrap_or(&arguments.target);
    let fio = Fio { target: &target, seconds: arguments.seconds };
    let steps: Vec<Step> = STEPS.into_iter().filter(|step| step.is_wanted(arguments)).collect();
    let version = Fio::version()?;
    let (mut found, mut overwritten) = (Vec::<Experiment>::new(), 0.0);
    for (number, step) in steps.iter().enumerate() {
        if !arguments.quiet {
            output::complain(&format!("{} of {}: {}", number + 1, steps.len(), step.title()));
        }
        let steady = found.iter().find_map(|one| one.measured.get("steady")).copied().unwrap_or(0.0);
        let done = measure(&fio, *step, steady, &mut overwritten)
            .map_err(|failure| kept(&failure, &arguments.out, found.len()))?;
        found.extend(done);
        let drive = fit::from_experiments(name, target.size, &version, found.clone());
        output::write_file(&arguments.out, &drive.to_text())?;
    }
    if !arguments.quiet {
        let file = arguments.out.display();
        output::complain(&format!("{file}: {} experiments; next: nandarium fit {file} --from DRIVE", found.len()));
    }
    Ok(())
}

/// Does one experiment. `overwritten`: times the drive was overwritten at random since it was filled.
fn measure(fio: &Fio<'_>, step: Step, steady: f64, overwritten: &mut f64) -> Result<Option<Experiment>, Failure> {
    let size = fio.target.size;
    match step {
        Step::Closed(closed) => {
            let text = fio.closed(&closed)?;
            let done = fit::closed_from_fio(&step.title(), size, *overwritten, &text).map_err(Failure::failed)?;
            if closed.kind == "randwrite" {
                let bytes = done.measured.get("rate").copied().unwrap_or(0.0) * fio.seconds as f64;
                *overwritten += bytes / size as f64;
            }
            Ok(Some(done))
        }
        Step::Transient => {
            fio.closed(&FILL)?;
            let rates = fio.transient(TRANSIENT.0, size * TRANSIENT.1)?;
            Ok(Some(fit::transient(&rates, size, TRANSIENT.0)))
        }
        Step::Offered(share) => {
            let writes = (steady * share).round();
            // A drive so slow has nothing that could be offered.
            if writes < 1.0 {
                return Ok(None);
            }
            let text = fio.offered(writes as u64)?;
            fit::offered_from_fio(&step.title(), writes, &text).map(Some).map_err(Failure::failed)
        }
    }
}

fn check_size(arguments: &MeasureArguments, target: &Target) -> Result<(), Failure> {
    // Its windows are a fiftieth of a drive write, and take a moment each.
    let (least, what) =
        if arguments.steady { (1 << 28, "a steady state is measured of") } else { (1 << 20, "a drive has") };
    if target.size >= least {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} has {}; {what} {} or more",
        arguments.target,
        exact_size(target.size),
        exact_size(least)
    )))
}

/// Whether the file can be written, before hours are spent. One that is there is left alone: it may be the target, or
/// have taken hours as well.
fn check_out(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Err(Failure::usage(format!(
            "--out {}: it is there already, and a measurement takes long: give another name, or remove it",
            path.display()
        )));
    }
    output::check_writable(path)
}

/// A failure, with what was measured before it.
fn kept(failure: &Failure, out: &Path, experiments: usize) -> Failure {
    let file = out.display();
    let kept = match experiments {
        0 => "nothing was measured".to_owned(),
        _ => format!("{file} has what was measured before, {experiments} experiments"),
    };
    let separator = if failure.code == INTERRUPTED { ": " } else { "; " };
    Failure { code: failure.code, message: format!("{}{separator}{kept}", failure.message) }
}
