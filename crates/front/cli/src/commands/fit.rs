//! `nandarium fit`: a stack fitted to measurements of a drive, or judged by them.

use super::results::pretty;
use crate::arguments::FitArguments;
use crate::failure::{Failure, INTERRUPTED, OUTSIDE};
use crate::table::{Grid, wrapped_at};
use crate::{output, settings, watch};
use experiment::{Cache, Monitor};
use fit::{FitError, Fitted, FromFio, Job, Judged, KNOWN, MeasuredDrive, Parameter, Subject, Verdict, Watch, judge};
use serde_json::{Value, json};
use simulator::Setting;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use units::quantity::parse_size;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.fit/1";
/// Keys that a fit sets by itself.
const FIXED: [&str; 2] = ["drive.capacity", "drive.scale"];
/// What a data sheet promises, which no measurement tells.
const SHEET: &str = "drive.data_sheet_writes";
/// Bytes that a simulated drive should have.
const SIMULATED: u64 = 12 << 30;

pub fn execute(arguments: &FitArguments) -> Result<(), Failure> {
    let (measured, jobs) = read(arguments)?;
    let scale = arguments.scale.unwrap_or_else(|| measured.capacity.div_ceil(SIMULATED).next_power_of_two());
    let settings = arguments.set.iter().map(|text| Setting::from_argument(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(setting) = settings.iter().find(|setting| FIXED.contains(&setting.key.as_str())) {
        return Err(Failure::usage(format!(
            "--set {}: a fit takes it from what was measured, and from --scale",
            setting.key
        )));
    }
    if let Some(out) = &arguments.out {
        output::check_writable(out)?;
    }
    let stack = arguments.drive.as_deref().or(arguments.from.as_deref()).unwrap_or_default();
    let subject = Subject::new(stack, &settings, &measured, scale).map_err(Failure::usage)?;
    watch::catch_interrupts();
    let progress = Progress::new(arguments);
    let ended = |error: FitError| match error {
        FitError::Stopped => progress.interrupted(),
        FitError::Unfit(problem) => Failure::usage(problem),
        error @ FitError::Threads(_) => Failure::failed(error.to_string()),
    };
    let report = |fitted: &Fitted, left: &str| {
        let judged = judge(&measured, &fitted.outcomes, &fitted.figures);
        if arguments.json {
            let mode = if arguments.judge { "judge" } else { "fit" };
            output::print(&pretty(&document((mode, stack, scale), (&measured, &jobs), fitted, &judged)))?;
        } else {
            output::print(&(table((&measured, &jobs), fitted, &judged, arguments.judge) + left))?;
        }
        verdict(&judged, arguments.judge)
    };
    let is_own = KNOWN.iter().any(|known| known.stack == stack && known.name == arguments.measured);
    if arguments.judge {
        let numbers: Vec<usize> = (0..measured.experiments.len()).collect();
        let outcomes = subject.all(&measured, &numbers, &progress).map_err(ended)?;
        let mut warnings = Vec::new();
        for (number, outcome) in outcomes.iter().enumerate() {
            warnings.extend(outcome.as_ref().err().map(|problem| format!("{}: {problem}", measured.titled(number))));
        }
        // Marked figures are judged as all others, but for those that a built-in stack was fitted to.
        let figures = if is_own { measured.marks() } else { BTreeSet::new() };
        let judged = Fitted { settings: Vec::new(), outcomes, figures, warnings };
        return report(&judged, "");
    }
    let sheet = inherited_sheet(&subject, stack).filter(|_| !is_own);
    let mut fitted = fit::fit(subject, &measured, &progress).map_err(ended)?;
    fitted.warnings.extend(sheet);
    let text = stack_text((stack, &arguments.set, scale), &measured, &fitted);
    if let Some(path) = &arguments.out {
        output::write_file(path, &text)?;
        progress.keeping.forget();
    }
    let left = if arguments.out.is_none() { format!("\n{text}") } else { String::new() };
    report(&fitted, &left)
}

/// The warning of a fitted drive whose data sheet is that of the stack it began with; `None`: it has none, or its own.
fn inherited_sheet(subject: &Subject, stack: &str) -> Option<String> {
    let config = subject.config();
    let bytes = config.values.get(SHEET).filter(|_| !config.given.contains(SHEET))?;
    let tb = if let layer::Value::Whole(bytes) = bytes { *bytes as f64 / 1e12 } else { return None };
    (tb > 0.0).then(|| {
        format!(
            "{SHEET} is {tb:.0} TB, from the data sheet of {stack}: set the figure of the measured drive (--set \
             {SHEET}=SIZE)"
        )
    })
}

/// Fails where figures are outside their bands: of a judged drive any of them, of a fitted one those that it was fitted
/// to, as the others are predictions.
fn verdict(judged: &[Judged<'_>], only_judged: bool) -> Result<(), Failure> {
    let is_missing = |one: &Judged<'_>| only_judged && one.band.is_some() && one.modelled.is_none();
    let counts = |one: &&Judged<'_>| is_missing(one) || one.is_outside() && (only_judged || one.verdict.is_of_fit());
    let outside: Vec<&Judged<'_>> = judged.iter().filter(counts).collect();
    let error = |one: &Judged<'_>| one.error().unwrap_or_default();
    let Some(worst) = outside.iter().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs())) else { return Ok(()) };
    let figures = match (outside.len(), only_judged) {
        (1, true) => "1 figure is outside its band".to_owned(),
        (1, false) => "1 fitted figure is outside its band".to_owned(),
        (many, true) => format!("{many} figures are outside their bands"),
        (many, false) => format!("{many} fitted figures are outside their bands"),
    };
    let (name, title) = (worst.figure.name, worst.experiment.title());
    let message = match worst.error() {
        Some(error) => {
            let band = worst.band.unwrap_or_default() * 100.0;
            format!("{figures}, farthest {name} of \"{title}\": {:+.1} %, and its band is {band:.0} %", error * 100.0)
        }
        None => format!("{figures}: the simulated drive has no {name} of \"{title}\""),
    };
    Err(Failure { code: OUTSIDE, message })
}

/// What was measured: a built-in drive, a file, or a folder of fio's outputs, and what became of fio's jobs.
fn read(arguments: &FitArguments) -> Result<(MeasuredDrive, Vec<Job>), Failure> {
    let name = arguments.measured.as_str();
    let known = KNOWN.iter().find(|known| known.name == name);
    let is_json = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
    let path = Path::new(name);
    let without_jobs = |drive| (drive, Vec::new());
    let is_fio = known.is_none() && (path.is_dir() || is_json(path));
    if arguments.capacity.is_some() && !is_fio && (known.is_some() || path.exists()) {
        return Err(Failure::usage(format!("--capacity is for JSON of fio; {name} has a capacity of its own")));
    }
    if let Some(known) = known {
        return MeasuredDrive::from_text(known.text, known.name).map(without_jobs).map_err(Failure::usage);
    }
    let text = |path: &Path| std::fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error));
    if !is_fio {
        if !path.exists() {
            let hint = simulator::config::did_you_mean(name, KNOWN.iter().map(|known| known.name));
            let all = KNOWN.map(|known| known.name).join(", ");
            return Err(Failure::usage(format!(
                "{name} is neither a file nor a measured drive{hint}; there are {all}"
            )));
        }
        return MeasuredDrive::from_text(&text(path)?, name).map(without_jobs).map_err(Failure::usage);
    }
    let capacity = arguments.capacity.as_deref().ok_or_else(|| {
        Failure::usage("JSON of fio does not tell how large the drive is: give its bytes, such as --capacity 960GB")
    })?;
    let capacity = parse_size(capacity).map_err(|error| Failure::usage(format!("--capacity: {error}")))?;
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| Failure::file(path, "read", &error))?;
        files = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_json(path)).collect();
        files.sort();
    }
    let outputs = files.iter().map(|path| Ok((path.display().to_string(), text(path)?)));
    let outputs: Vec<(String, String)> = outputs.collect::<Result<_, Failure>>()?;
    let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
    let FromFio { drive, jobs } = fit::from_fio(&stem, capacity, &outputs).map_err(Failure::usage)?;
    Ok((drive, jobs))
}

/// What became of the jobs of fio: each is used or left out.
fn told(jobs: &[Job]) -> String {
    let mut text = String::new();
    for job in jobs {
        let used = match &job.used {
            Ok(experiment) => format!("used as {experiment}"),
            Err(why) => format!("left out: {why}"),
        };
        let _ = writeln!(text, "{}", wrapped_at(&format!("{}: {used}", job.place), 2));
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn table(
    (measured, jobs): (&MeasuredDrive, &[Job]),
    fitted: &Fitted,
    judged: &[Judged<'_>],
    only_judged: bool,
) -> String {
    let mut text = format!("{}\n\n{}", measured.name, told(jobs));
    let mut grid = Grid::new(2);
    grid.row(["figure", "verdict", "measured", "modelled", "error", "within"]);
    let mut before = None;
    for one in judged {
        if before != Some(one.number) {
            before = Some(one.number);
            grid.row([one.experiment.title().as_str(), "", "", "", "", ""]);
        }
        let modelled = one.modelled.map_or_else(|| "-".to_owned(), |found| one.figure.spoken(found));
        let error = one.error().map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0));
        let band = one.band.map_or_else(String::new, |band| format!("{:.0} %", band * 100.0));
        let verdict = if one.verdict == Verdict::Recorded { "" } else { one.verdict.name() };
        let name = format!("  {}", one.figure.name);
        grid.row([&name, verdict, &one.figure.spoken(one.measured), &modelled, &error, &band]);
    }
    text.push_str(&grid.render(""));
    let [well, badly, forced, predicted, missed] =
        [Verdict::Fitted, Verdict::FitMissed, Verdict::Forced, Verdict::Predicted, Verdict::Missed]
            .map(|one| fit::count(judged, one));
    let unfound = judged.iter().filter(|one| one.verdict == Verdict::NotFound && one.band.is_some()).count();
    let outside = match (badly, well) {
        (0, _) => String::new(),
        (1, 0) => " and is outside its band".to_owned(),
        (1, _) => " (1 is outside its band)".to_owned(),
        _ => format!(" ({badly} are outside their bands)"),
    };
    let fit = match (only_judged, well + badly) {
        (true, 0) => "The stack was fitted to none of these figures".to_owned(),
        (true, all) => format!("The stack was fitted to {all} of these figures{outside}"),
        (false, 1) => format!("1 figure was fitted{outside}"),
        (false, all) => format!("{all} figures were fitted{outside}"),
    };
    let are = |number: usize| if number == 1 { "1 is".to_owned() } else { format!("{number} are") };
    let unfound_too = if unfound == 0 { String::new() } else { format!(", and {} not found", are(unfound)) };
    let left = predicted + missed + unfound;
    let sentence = format!(
        "{fit}, and {forced} of the others cannot be missed or repeat another one (forced). Of the {} left, {} \
         predicted within {}, and {} missed{unfound_too}.",
        if left == 1 { "1 figure".to_owned() } else { format!("{left} figures") },
        are(predicted),
        if predicted == 1 { "its band" } else { "their bands" },
        are(missed)
    );
    let _ = writeln!(text, "\n{}", wrapped_at(&sentence, 0));
    for warning in &fitted.warnings {
        let _ = writeln!(text, "warning: {}", wrapped_at(warning, 9));
    }
    text
}

fn document(
    (mode, stack, scale): (&str, &str, u64),
    (measured, jobs): (&MeasuredDrive, &[Job]),
    fitted: &Fitted,
    judged: &[Judged<'_>],
) -> Value {
    let figure = |one: &Judged<'_>| {
        json!({
            "experiment": one.experiment.title(),
            "figure": one.figure.name,
            "measured": one.measured,
            "modelled": one.modelled,
            "error": one.error(),
            "band": one.band,
            "verdict": one.verdict.name(),
            "forced": one.forced,
        })
    };
    let job = |job: &Job| {
        let used = job.used.as_ref();
        json!({"job": job.place, "experiment": used.ok(), "left_out": used.err()})
    };
    let settings: serde_json::Map<String, Value> =
        fitted.settings.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    json!({
        "schema": SCHEMA,
        "mode": mode,
        "drive": measured.name,
        "from": stack,
        "scale": scale,
        "settings": settings,
        "jobs": jobs.iter().map(job).collect::<Vec<_>>(),
        "figures": judged.iter().map(figure).collect::<Vec<_>>(),
        "warnings": fitted.warnings,
    })
}

/// The fitted stack as a file.
fn stack_text((stack, set, scale): (&str, &[String], u64), measured: &MeasuredDrive, fitted: &Fitted) -> String {
    let mut text = format!("description = {}\n", toml_text(&format!("fitted to {}", measured.name)));
    // A file is found from anywhere, as the fitted one may be elsewhere.
    let from = std::fs::canonicalize(stack).ok();
    let from = from.map_or_else(|| stack.to_owned(), |path| path.display().to_string());
    let _ = writeln!(text, "extends = {}\n", toml_text(&from));
    let smaller = if scale == 1 { String::new() } else { format!(" on a drive {scale} times smaller") };
    let _ = writeln!(text, "# Fitted by `nandarium fit`{smaller}.");
    let given = set.iter().filter_map(|text| text.split_once('='));
    // A whole number of pages, whatever their size.
    let fixed = [("drive.capacity", format!("{}MiB", measured.capacity >> 20))];
    let fixed = fixed.iter().map(|(key, value)| (*key, value.as_str())).chain(given);
    let fitted = fitted.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut groups: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for (key, value) in fixed.chain(fitted) {
        let (group, rest) = key.trim().split_once('.').unwrap_or(("", key));
        groups.entry(group).or_default().insert(rest, value.trim());
    }
    for (group, keys) in groups {
        let _ = writeln!(text, "\n[{group}]");
        for (key, value) in keys {
            let _ = writeln!(text, "{key} = {}", toml_text(value));
        }
    }
    text
}

fn toml_text(text: &str) -> String {
    // A string of JSON is one of TOML.
    Value::from(text).to_string()
}

/// Tells how far a fit is, and keeps what it has found beside its result.
struct Progress {
    work: Option<watch::Work>,
    keeping: watch::Keeping,
    tries: AtomicU32,
    /// The step that has begun, and how many there are.
    step: [AtomicUsize; 2],
}

impl Progress {
    fn new(arguments: &FitArguments) -> Self {
        let folder = arguments.out.as_deref().map(|out| {
            let mut name = out.as_os_str().to_owned();
            name.push(".fitting");
            PathBuf::from(name)
        });
        if let Some(file) = folder.as_ref().filter(|path| path.is_file()) {
            output::complain(&format!(
                "{} is the file of a stopped fit of an earlier version. This version cannot read it: the fit begins \
                 anew, and the file is removed",
                file.display()
            ));
            // If it stays, nothing is kept, which is said then.
            let _ = std::fs::remove_file(file);
        }
        let cache = folder.map(|folder| Cache::new(&folder, "fit", settings::program_hash()));
        let work = (!arguments.quiet).then(watch::Work::new);
        let step = [AtomicUsize::new(0), AtomicUsize::new(0)];
        Self { work, keeping: watch::Keeping::new(cache), tries: AtomicU32::new(0), step }
    }

    fn interrupted(&self) -> Failure {
        let goes_on = self.keeping.cache().map_or_else(
            || "nothing was kept, as there is no --out FILE".to_owned(),
            |cache| {
                let folder = cache.folder().display();
                format!("the findings are kept in {folder}, and the same command continues from there")
            },
        );
        let tried = match self.tries.load(Ordering::Relaxed) {
            // Judging tries no values.
            0 => String::new(),
            1 => "1 value was tried; ".to_owned(),
            many => format!("{many} values were tried; "),
        };
        Failure { code: INTERRUPTED, message: format!("interrupted: {tried}{goes_on}") }
    }
}

impl Watch for Progress {
    fn begins(&self, step: usize, of: usize) {
        self.step[0].store(step, Ordering::Relaxed);
        self.step[1].store(of, Ordering::Relaxed);
        if let Some(work) = self.work.as_ref().filter(|_| step == of) {
            work.tell(|| format!("step {step} of {of}: all experiments on the fitted drive"));
        }
    }

    fn tries(&self, parameter: &Parameter, value: &str) {
        self.tries.fetch_add(1, Ordering::Relaxed);
        let Some(work) = &self.work else { return };
        let [step, of] = self.step.each_ref().map(|number| number.load(Ordering::Relaxed));
        // Steps differ, so that it is about so long; at first nothing is known.
        let left = work.seconds() * (of - step.min(of) + 1) as f64 / (step.max(2) - 1) as f64;
        let left = if step > 2 { format!(", about {:.0} s to go", left.max(1.0)) } else { String::new() };
        work.tell(|| format!("step {step} of {of}{left}: {} = {value}, {}", parameter.key, parameter.doc));
    }
}

impl Monitor for Progress {
    fn is_stopped(&self) -> bool {
        self.keeping.is_stopped()
    }

    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        self.keeping.recall(name)
    }

    fn keep(&self, name: &str, given: &[u8]) {
        self.keeping.keep(name, given);
    }
}
