//! `nandarium torture`: a program's requests are recorded once, and each state that power cuts may leave is checked.

use super::{results, sweep};
use crate::arguments::TortureArguments;
use crate::failure::{Failure, INTEGRITY, INTERRUPTED};
use crate::{junit, output, settings, watch};
use std::path::{Path, PathBuf};
use std::time::Duration;
use torture::{Commands, Guarantee, Lie, Recording, Torture, Tried};

/// Name of the verdict in the file of `--junit`.
pub const SUITE: &str = "nandarium torture";

pub fn execute(arguments: &TortureArguments) -> Result<(), Failure> {
    let torture = asked(arguments)?;
    // It may lie in the folder of --out, whose files are moved away next.
    let read = |path: &PathBuf| {
        Recording::read_from(path).map_err(|error| {
            let place = path.display();
            Failure::usage(format!("--recording {place}: {error}; give the file `recording` in the folder of an --out"))
        })
    };
    let mut commands = Commands {
        prepare: arguments.prepare.clone(),
        mount: arguments.mount.clone(),
        image: arguments.image,
        limit: Duration::from_secs(arguments.time_limit),
        recording: arguments.recording.as_ref().map(read).transpose()?,
        owns_process: true,
        ..Commands::new(&arguments.workload, &arguments.check)
    };
    torture.check_commands(&commands)?;
    results::prepare(arguments.out.as_deref(), arguments.quiet)?;
    watch::catch_interrupts();
    let states = watch::States::new(arguments.quiet, arguments.jobs.map(usize::from));
    if commands.recording.is_none() {
        let recording = torture.record_commands(commands.clone(), &states)?;
        if recording.changes_something() && recording.said.is_empty() && !arguments.quiet {
            output::complain(
                "--workload has printed nothing, so that nothing is promised: the check alone knows what must be there",
            );
        }
        commands.recording = Some(recording);
    }
    let tried = torture.run_commands(commands, &states)?;
    drop(states);
    if let Some(out) = &arguments.out {
        tried.write_to(out)?;
        if !arguments.quiet {
            output::complain(&format!("written: {}", out.join("torture.html").display()));
        }
    }
    let is_interrupted = watch::is_stopped();
    output::print(&tried.report(|report| {
        if arguments.json { format!("{:#}\n", report.to_json()) } else { report.to_text(is_interrupted) }
    }))?;
    let has_found = tried.exploration.found.is_some();
    let verdict = match () {
        () if is_interrupted => Err(INTERRUPTED),
        () if has_found => Err(INTEGRITY),
        () => Ok(()),
    };
    let verdict = verdict.map_err(|code| Failure { code, message: String::new() });
    // What was found is a verdict, even if it was interrupted while it was made smaller.
    let path = arguments.junit.as_deref().filter(|_| has_found || !is_interrupted);
    junit::both(verdict, path.map_or(Ok(()), |path| write_junit(path, &tried, &arguments.check)))
}

/// The verdict as one test, which has the name of the check.
fn write_junit(path: &Path, tried: &Tried, check: &str) -> Result<(), Failure> {
    let found = tried.exploration.found.as_ref();
    let problem = found.map(|found| format!("{}\n\n{}", found.why, tried.to_text()));
    let of = "states after power cuts".to_owned();
    let test = junit::Test { of, name: check.to_owned(), problem, seconds: Some(tried.seconds) };
    junit::write(path, SUITE, std::iter::once(test))
}

/// What the arguments ask for, checked.
fn asked(arguments: &TortureArguments) -> Result<Torture, Failure> {
    let is_drive = arguments.cuts == "drive";
    if is_drive && !arguments.lie.is_empty() {
        let problem = "--lie: promises are broken where states come from promises; leave out --cuts drive";
        return Err(Failure::usage(problem));
    }
    if is_drive && arguments.atomic.is_some() {
        let problem = "--atomic: states come from the simulated drive, which keeps its own promise; set drive.atomic, \
                       or leave out --cuts drive";
        return Err(Failure::usage(problem));
    }
    let is_answered = Guarantee::named(&arguments.guarantee) == Some(Guarantee::Answered);
    if is_drive && is_answered {
        let problem = "--guarantee: states come from the simulated drive, which keeps its own promise; leave out \
                       --guarantee answered, or --cuts drive";
        return Err(Failure::usage(problem));
    }
    let is_of_flushes = |lie: &&String| Lie::named(lie).is_some_and(Lie::is_of_flushes);
    if let Some(lie) = arguments.lie.iter().find(is_of_flushes).filter(|_| is_answered) {
        let problem = format!(
            "--lie {lie}: with --guarantee answered a write lasts without a flush, so no program can notice; leave out \
             one of them"
        );
        return Err(Failure::usage(problem));
    }
    if !is_drive && !arguments.fault.is_empty() {
        let problem = "--fault names a part of the simulated drive that fails with the power; add --cuts drive";
        return Err(Failure::usage(problem));
    }
    let given: Vec<&str> = arguments.set.iter().map(String::as_str).collect();
    let given = torture::with_usual_settings(&arguments.stack, &given);
    let torture = Torture::of_config(settings::load_with_bytes(&arguments.stack, &given)?)?;
    let torture = if is_drive { torture.cuts_within() } else { torture };
    let faults: Vec<&str> = arguments.fault.iter().map(String::as_str).collect();
    let torture = torture.faults(&faults).map_err(|error| Failure::usage(format!("--fault: {error}")))?;
    let lies: Vec<Lie> = arguments.lie.iter().filter_map(|name| Lie::named(name)).collect();
    let kept = arguments.recording.clone().or(arguments.out.as_ref().map(|out| out.join("recording")));
    let again = match kept {
        Some(_) if arguments.shard.is_some() => "the same command without --shard, and with --replay".to_owned(),
        Some(kept) => format!("the same command with --recording {} --replay", kept.display()),
        None => "the same command with --out FOLDER, and then with its --recording and --replay".to_owned(),
    };
    let torture = torture
        .guarantee(Guarantee::named(&arguments.guarantee).expect("its name was checked"))
        .atomic(arguments.atomic)
        .lies(&lies)
        .states(arguments.states)
        .seed(arguments.seed)
        .again(&again);
    Ok(match (arguments.replay, arguments.shard.as_deref().map(sweep::shard).transpose()?) {
        (Some(number), _) => torture.replay(number),
        (None, Some(shard)) => torture.shard(shard.index as u64, shard.count as u64),
        (None, None) => torture,
    })
}
