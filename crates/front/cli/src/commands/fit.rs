//! `nandarium fit`: a stack fitted to what was measured of a drive.

use super::results::pretty;
use crate::arguments::FitArguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::table::Grid;
use crate::{output, settings, watch};
use experiment::{Cache, Monitor};
use fit::{Experiment, FitError, Fitted, KNOWN, MeasuredDrive, Parameter, Subject, Watch, find_figure};
use serde_json::{Value, json};
use simulator::Setting;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use units::quantity::parse_size;

/// Version of the JSON form.
const SCHEMA: &str = "nandarium.fit/1";
/// Keys that a fit sets by itself.
const FIXED: [&str; 2] = ["drive.capacity", "drive.scale"];
/// Bytes that a simulated drive should have.
const SIMULATED: u64 = 12 << 30;

pub fn execute(arguments: &FitArguments) -> Result<(), Failure> {
    let measured = read(arguments)?;
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
    let subject = Subject::new(&arguments.from, &settings, &measured, scale).map_err(Failure::usage)?;
    watch::catch_interrupts();
    let progress = Progress::new(arguments);
    let fitted = match fit::fit(subject, &measured, &progress) {
        Ok(fitted) => fitted,
        Err(FitError::Stopped) => return Err(progress.interrupted()),
        Err(FitError::Unfit(problem)) => return Err(Failure::usage(problem)),
        Err(error @ FitError::Threads(_)) => return Err(Failure::failed(error.to_string())),
    };
    let stack = stack_text(arguments, &measured, &fitted, scale);
    if let Some(path) = &arguments.out {
        output::write_file(path, &stack)?;
        progress.keeping.forget();
    }
    let text = if arguments.json {
        pretty(&document(arguments, &measured, &fitted, scale))
    } else {
        table(&measured, &fitted) + &if arguments.out.is_none() { format!("\n{stack}") } else { String::new() }
    };
    output::print(&text)
}

/// What was measured: a built-in drive, a file, or a folder of fio's outputs.
fn read(arguments: &FitArguments) -> Result<MeasuredDrive, Failure> {
    let name = arguments.measured.as_str();
    let known = KNOWN.iter().find(|known| known.name == name);
    let is_json = |path: &Path| path.extension().is_some_and(|ending| ending == "json");
    let path = Path::new(name);
    let is_fio = known.is_none() && (path.is_dir() || is_json(path));
    if arguments.capacity.is_some() && !is_fio && (known.is_some() || path.exists()) {
        return Err(Failure::usage(format!("--capacity is for JSON of fio; {name} has a capacity of its own")));
    }
    if let Some(known) = known {
        return MeasuredDrive::from_text(known.text, known.name).map_err(Failure::usage);
    }
    let text = |path: &Path| std::fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error));
    if !is_fio {
        if !path.exists() {
            let hint = simulator::config::did_you_mean(name, KNOWN.iter().map(|known| known.name));
            let all = KNOWN.map(|known| known.name).join(", ");
            return Err(Failure::usage(format!("{name} is no file and no measured drive{hint}; there are {all}")));
        }
        return MeasuredDrive::from_text(&text(path)?, name).map_err(Failure::usage);
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
    fit::from_fio(&stem, capacity, &outputs).map_err(Failure::usage)
}

/// Figures in the order of the file: what was measured, what the stack makes of it, and how that is judged.
fn figures<'a>(
    measured: &'a MeasuredDrive,
    fitted: &'a Fitted,
) -> impl Iterator<Item = (&'a Experiment, &'static str, f64, Option<f64>, &'static str)> {
    measured.experiments.iter().zip(&fitted.outcomes).enumerate().flat_map(move |(number, (experiment, outcome))| {
        experiment.measured.iter().map(move |(name, value)| {
            let found = outcome.as_ref().ok().and_then(|found| found.get(name)).copied();
            (experiment, *name, *value, found, verdict(fitted.has(number, name), experiment, name, *value, found))
        })
    })
}

fn verdict(is_fitted: bool, experiment: &Experiment, name: &str, value: f64, found: Option<f64>) -> &'static str {
    match (is_fitted, experiment.band(name), found) {
        (true, ..) => "fitted",
        (_, _, None) => "not found",
        (_, None, _) => "",
        (_, Some(band), Some(found)) if (found / value - 1.0).abs() <= band => "predicted",
        _ => "missed",
    }
}

fn table(measured: &MeasuredDrive, fitted: &Fitted) -> String {
    let mut text = format!("{}\n\n", measured.name);
    let mut grid = Grid::new(2);
    grid.row(["figure", "verdict", "measured", "modelled", "error"]);
    let mut before = "";
    let titles: Vec<String> = measured.experiments.iter().map(Experiment::title).collect();
    for (experiment, name, value, found, verdict) in figures(measured, fitted) {
        let place = measured.experiments.iter().position(|one| std::ptr::eq(one, experiment)).unwrap_or_default();
        if before != titles[place] {
            before = &titles[place];
            grid.row([before, "", "", "", ""]);
        }
        let figure = find_figure(name).expect("files have figures that there are");
        let modelled = found.map_or_else(|| "-".to_owned(), |found| figure.spoken(found));
        let error = found.map_or_else(String::new, |found| format!("{:+.1} %", (found / value - 1.0) * 100.0));
        grid.row([&format!("  {name}"), verdict, &figure.spoken(value), &modelled, &error]);
    }
    text.push_str(&grid.render(""));
    let count = |wanted: &str| figures(measured, fitted).filter(|(.., verdict)| *verdict == wanted).count();
    let [fit, predicted, missed] = ["fitted", "predicted", "missed"].map(count);
    let were = if fit == 1 { "figure was" } else { "figures were" };
    let _ = writeln!(
        text,
        "\n{fit} {were} fitted. Of {} others that are judged {predicted} are predicted within their bands, and \
         {missed} are missed.",
        predicted + missed
    );
    for warning in &fitted.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn document(arguments: &FitArguments, measured: &MeasuredDrive, fitted: &Fitted, scale: u64) -> Value {
    let figure = |(experiment, name, value, found, verdict): (&Experiment, &str, f64, Option<f64>, &str)| {
        json!({
            "experiment": experiment.title(),
            "figure": name,
            "measured": value,
            "modelled": found,
            "error": found.map(|found| found / value - 1.0),
            "band": experiment.band(name),
            "verdict": if verdict.is_empty() { "recorded" } else { verdict },
        })
    };
    let settings: serde_json::Map<String, Value> =
        fitted.settings.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    json!({
        "schema": SCHEMA,
        "drive": measured.name,
        "from": arguments.from,
        "scale": scale,
        "settings": settings,
        "figures": figures(measured, fitted).map(figure).collect::<Vec<_>>(),
        "warnings": fitted.warnings,
    })
}

/// The fitted stack as a file.
fn stack_text(arguments: &FitArguments, measured: &MeasuredDrive, fitted: &Fitted, scale: u64) -> String {
    let mut text = format!("description = {}\n", toml_text(&format!("fitted to {}", measured.name)));
    // A file is found from anywhere, as the fitted one may be elsewhere.
    let from = std::fs::canonicalize(&arguments.from).ok();
    let from = from.map_or_else(|| arguments.from.clone(), |path| path.display().to_string());
    let _ = writeln!(text, "extends = {}\n", toml_text(&from));
    let smaller = if scale == 1 { String::new() } else { format!(" on a drive {scale} times smaller") };
    let _ = writeln!(text, "# Fitted by `nandarium fit`{smaller}.");
    let given = arguments.set.iter().filter_map(|text| text.split_once('='));
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
                "{} is what an earlier version kept of a fit that was stopped. This version cannot read it: the fit \
                 begins anew, and the file is removed",
                file.display()
            ));
            // If it stays, nothing is kept, which is said then.
            let _ = std::fs::remove_file(file);
        }
        let cache = folder.map(|folder| Cache::new(&folder, "fit", settings::program_hash()));
        let work = (!arguments.quiet).then(watch::Work::new);
        Self { work, keeping: watch::Keeping::new(cache), tries: AtomicU32::new(0) }
    }

    fn interrupted(&self) -> Failure {
        let goes_on = self.keeping.cache().map_or_else(
            || "nothing was kept, as there is no --out FILE".to_owned(),
            |cache| {
                let folder = cache.folder().display();
                format!("what was found is kept in {folder}, and the same command goes on from there")
            },
        );
        let tries = self.tries.load(Ordering::Relaxed);
        Failure { code: INTERRUPTED, message: format!("interrupted: {tries} values were tried; {goes_on}") }
    }
}

impl Watch for Progress {
    fn tries(&self, parameter: &Parameter, value: &str) {
        self.tries.fetch_add(1, Ordering::Relaxed);
        if let Some(work) = &self.work {
            work.tell(|| format!("{} = {value}: {}", parameter.key, parameter.doc));
        }
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
