//! `nandarium measure`: the figures that fitting needs of a drive, measured with fio.

use crate::arguments::MeasureArguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::{output, watch};
use measure::{Experiments, Plan};
use std::path::Path;
use units::quantity::parse_size;

pub fn execute(arguments: &MeasureArguments) -> Result<(), Failure> {
    let size = arguments.size.as_deref().map(parse_size).transpose();
    let plan = Plan {
        target: arguments.target.clone(),
        name: arguments.name.as_ref().unwrap_or(&arguments.target).clone(),
        size: size.map_err(|error| Failure::usage(format!("--size: {error}")))?,
        seconds: arguments.seconds,
        overwrites: arguments.destroy_data,
        steady: arguments.steady,
    };
    let mut experiments = Experiments::new(&plan)?;
    check_out(&arguments.out)?;
    watch::catch_interrupts();
    let say = |line: &str| {
        if !arguments.quiet {
            output::complain(line);
        }
    };
    while let Some(title) = experiments.next_title() {
        say(&format!("{} of {}: {title}", experiments.done() + 1, experiments.all()));
        let done = experiments.step(watch::stop());
        let done = done.map_err(|error| kept(&error.into(), &arguments.out, experiments.found().len()))?;
        if let Some(problem) = done {
            say(&format!("left out, as the host may have been busy with something else: {problem}"));
        }
        output::write_file(&arguments.out, &experiments.drive().to_text())?;
    }
    let (file, found) = (arguments.out.display(), experiments.found().len());
    say(&format!("{file}: {found} experiments; next: nandarium fit {file} --from DRIVE"));
    Ok(())
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
