//! `nandarium repro`: published studies, run again.

use super::results::{make, pretty, tell_page};
use super::sweep::shard;
use crate::arguments::{ALL_STUDIES, ReproArguments};
use crate::failure::{Failure, INTERRUPTED, MISSED};
use crate::{output, settings, table, watch};
use experiment::{Cache, Shard};
use repro::{Findings, Options, Row, STUDIES, Scale, Study, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn execute(arguments: &ReproArguments) -> Result<(), Failure> {
    let studies: Vec<&Study> =
        STUDIES.iter().copied().filter(|study| [study.name, ALL_STUDIES].contains(&arguments.study.as_str())).collect();
    let options = options(arguments)?;
    if let Some(figure) = options.figure.as_ref().filter(|_| studies.len() > 1) {
        return Err(Failure::usage(format!("--figure {figure}: name the study of the figure instead of all studies")));
    }
    let has_size = arguments.full || arguments.scale.is_some();
    let each: Vec<Options> = studies
        .iter()
        .map(|study| {
            let options = for_study(&options, study, studies.len());
            Options { scale: if has_size { options.scale } else { study.usual }, ..options }
        })
        .collect();
    for (study, options) in studies.iter().zip(&each) {
        options.check(study)?;
    }
    let part = arguments.shard.as_deref().map(shard).transpose()?;
    arguments.out.as_deref().map_or(Ok(()), make)?;
    watch::catch_interrupts();
    let keeping = keeping(arguments.out.as_deref());
    let (mut rows, mut done, mut stopped) = (Vec::new(), Vec::new(), None);
    for (study, options) in studies.iter().zip(&each) {
        let cache = keeping.as_deref().and_then(|folder| kept(folder, study, options));
        let simulations = watch::Simulations::new(study.name, arguments.quiet, cache, part.unwrap_or(Shard::ALL));
        if !arguments.quiet && options.scale == study.usual && options.figure.is_none() {
            output::complain(&format!("{} takes {} on two free cores", study.name, study.takes));
        }
        let findings = study.reproduce(options, &simulations)?;
        if part.is_some() && !watch::is_stopped() {
            continue; // rows are for the command that collects
        }
        if !arguments.json {
            output::print(&table::study(study, &findings))?;
        }
        if let Some(folder) = &arguments.out {
            let folder = if studies.len() > 1 { folder.join(study.name) } else { folder.clone() };
            write(&folder, study, &findings)?;
            tell_page(&folder.join("repro.html"), arguments.quiet);
        }
        rows.extend(findings.rows);
        if findings.missing > 0 {
            stopped = Some(interrupted(study, &simulations));
            break;
        }
        done.push(Arc::clone(simulations.keeping()));
    }
    if part.is_some() && stopped.is_none() {
        if !arguments.quiet {
            output::complain("this shard is done: when all are, the same command without --shard gives the rows");
        }
        return Ok(());
    }
    if arguments.json {
        output::print(&pretty(&repro::to_json(&rows, stopped.is_none())))?;
    }
    if let Some(failure) = stopped {
        return Err(failure);
    }
    // Whoever runs it once more wants it measured once more.
    for keeping in &done {
        keeping.forget();
    }
    verdict(&rows)
}

/// What to say of a study that was stopped.
fn interrupted(study: &Study, simulations: &watch::Simulations) -> Failure {
    let (done, all) = simulations.counts();
    let goes_on = simulations.keeping().goes_on();
    let message = format!(
        "interrupted: {done} of {all} simulations of `{}` have ended; {goes_on}. Rows that need the others are not run",
        study.name
    );
    Failure { code: INTERRUPTED, message }
}

/// The folder of kept simulations: below the folder of results, or the user's cache folder.
pub fn keeping(out: Option<&Path>) -> Option<PathBuf> {
    let folder = out
        .map(|folder| folder.join("simulations"))
        .or_else(|| settings::cache_folder().map(|folder| folder.join("repro")))?;
    Cache::forget_old(&folder);
    Some(folder)
}

/// The simulations of a study that this program runs, with these options and the contents of the files given. `None`: a
/// file cannot be read, as the study will say.
pub fn kept(folder: &Path, study: &Study, options: &Options) -> Option<Cache> {
    let Options { scale, seed, traces, figure, .. } = options;
    let mut identity = format!("{}\n{} at {scale}, seed {seed}\n", settings::program_hash(), study.name);
    for setting in study.settings() {
        let _ = writeln!(identity, "{} = {}", setting.name, options.setting(setting));
    }
    if let Some(figure) = figure {
        let _ = writeln!(identity, "{figure} alone");
    }
    for (name, path) in traces {
        let path = Path::new(path);
        // The name tells its format.
        let _ = writeln!(identity, "{name}: {} {}", path.file_name()?.display(), sweep::file_digest(path).ok()?);
    }
    Some(Cache::new(folder, study.name, identity))
}

fn options(arguments: &ReproArguments) -> Result<Options, Failure> {
    let scale = match &arguments.scale {
        _ if arguments.full => Scale::FULL,
        Some(text) => Scale::parse(text)?,
        None => Scale::DEFAULT, // of each study the usual one
    };
    let traces = pairs("--trace", &arguments.trace, "financial=Financial2.spc")?;
    let settings = pairs("--set", &arguments.set, "reserve=user")?;
    let family = arguments.family;
    let figure = arguments.figure.clone();
    Ok(Options { scale, seed: arguments.seed, traces, settings, family, figure, ..Options::default() })
}

/// `NAME=VALUE` arguments by name.
fn pairs(option: &str, texts: &[String], example: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut found = BTreeMap::new();
    for text in texts {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("{option} {text}: write NAME=VALUE, for example {option} {example}"))
        })?;
        if found.insert(name.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err(Failure::usage(format!("{option}: {name} is given twice; leave one out")));
        }
    }
    Ok(found)
}

/// What of the options concerns a study: with several, each takes the traces, settings and draws it knows.
fn for_study(options: &Options, study: &Study, studies: usize) -> Options {
    let mut options = options.clone();
    if studies > 1 {
        options.traces.retain(|name, _| study.traces().any(|known| known == name));
        options.settings.retain(|name, _| study.settings().iter().any(|setting| setting.name == *name));
        options.family = if study.has_family() { options.family } else { 0 };
    }
    options
}

/// Writes rows, figures and the page of a study into a folder.
pub fn write(folder: &Path, study: &Study, findings: &Findings) -> Result<(), Failure> {
    output::write_file(&folder.join("rows.json"), &pretty(&repro::to_json(&findings.rows, findings.missing == 0)))?;
    output::write_file(&folder.join("rows.md"), &repro::to_markdown(&findings.rows))?;
    for figure in &findings.figures {
        output::write_file(&folder.join(format!("{}.csv", figure.name)), &figure.to_csv())?;
    }
    output::write_file(&folder.join("repro.html"), &repro::render(study, findings))
}

fn verdict(rows: &[Row]) -> Result<(), Failure> {
    let named = |row: &Row| match row.family {
        Some(_) => format!("{} (by its family)", row.id),
        None => row.id.to_string(),
    };
    let missed: Vec<String> = rows.iter().filter(|row| row.is_new_miss()).map(named).collect();
    if missed.is_empty() {
        return Ok(());
    }
    let is_judged = |row: &&Row| row.family.is_some() || matches!(row.verdict, Verdict::Pass | Verdict::Fail);
    let judged = rows.iter().filter(is_judged).count();
    let message = format!(
        "{} of {judged} judged rows missed what is accepted, and {} not known to miss: {}. Smaller sizes miss more",
        missed.len(),
        if missed.len() == 1 { "is" } else { "are" },
        missed.join(", ")
    );
    Err(Failure { code: MISSED, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro::{Accept, Class, Measured, Target};

    fn row(id: &'static str, value: f64) -> Row {
        let accept = Accept::Within(1.0, 2.0);
        let class = Class::Numeric;
        let [id, paper, experiment, metric, unit, published] = [id, "p", "e", "m", "", "1.5"].map(str::to_owned);
        let target = Target { id, paper, experiment, metric, unit, published, class, accept, family: None };
        target.row(Measured::Number(value), "generated", "")
    }

    #[test]
    fn a_missed_row_ends_the_program_with_code_6_and_is_named() {
        assert!(verdict(&[row("3.4", 1.5)]).is_ok());
        let failure = verdict(&[row("3.4", 1.5), row("3.5", 2.5)]).unwrap_err();
        assert_eq!(failure.code, 6);
        assert!(
            failure.message.contains("1 of 2 judged rows") && failure.message.contains("3.5"),
            "{}",
            failure.message
        );
        let known = Row { known: Some("Why.".to_owned()), ..row("3.5", 2.5) };
        assert!(verdict(std::slice::from_ref(&known)).is_ok(), "a miss with its reason is no news");
    }

    #[test]
    fn pairs_need_a_name_once() {
        let given =
            |texts: &[&str]| pairs("--trace", &texts.iter().map(ToString::to_string).collect::<Vec<_>>(), "a=b");
        assert_eq!(given(&["x=1", "y = 2"]).unwrap()["y"], "2");
        assert!(given(&["x"]).unwrap_err().message.contains("a=b"));
        assert!(given(&["x=1", "x=2"]).unwrap_err().message.contains("twice"));
    }
}
