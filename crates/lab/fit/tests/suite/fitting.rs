//! A drive that this program simulates is measured, with noise, and its parameters are found again.

use engine::random::Stream;
use experiment::Monitor;
use fit::{Experiment, FitError, Fitted, MeasuredDrive, Subject, Watch, fit};
use simulator::Setting;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const STACK: &str = "micron-7450-max-like";
const SCALE: u64 = 256;

/// What the drive is, which the fit does not know.
const TRUTH: [(&str, f64, &str); 4] = [
    ("drive.over_provisioning", 0.36, "36%"),
    ("flash.program_time", 1.5e6, "1500us"),
    ("flash.read_time", 63e3, "63us"),
    ("host.latency", 2.2e3, "2200ns"),
];

const EXPERIMENTS: &str = r#"
name = "a simulated drive"
capacity = "745.2GiB"
[source.s]
text = "this program"
[[experiment]]
kind = "amplification"
used = "745.2GiB"
source = "s"
fit = ["waf"]
measured = { waf = 2.0 }
[[experiment]]
kind = "transient"
used = "745.2GiB"
depth = 448
source = "s"
fit = ["plateau"]
measured = { plateau = 1, steady = 1 }
[[experiment]]
kind = "offered"
writes_per_second = 10_000
source = "s"
fit = ["read.mean", "write.p50"]
measured = { read.mean = "1us", read.p99 = "2us", write.p50 = "1us" }
[[experiment]]
kind = "offered"
writes_per_second = 60_000
source = "s"
measured = { read.mean = "1us", read.p99 = "2us" }
[[experiment]]
kind = "amplification"
used = "521.6GiB"
source = "s"
measured = { waf = 1.0 }
"#;

/// The experiments, with the figures of the true drive, each off by up to 1.5 %.
fn measured() -> MeasuredDrive {
    let mut drive = MeasuredDrive::from_text(EXPERIMENTS, "test").unwrap();
    let settings: Vec<Setting> = TRUTH.iter().map(|(key, _, text)| Setting::new(key, text, "the truth")).collect();
    let subject = Subject::new(STACK, &settings, &drive, SCALE).unwrap();
    with_noise(&mut drive, &subject, 0.015);
    drive
}

/// Gives a drive the figures of a simulated one, each off by up to `most` as a share.
pub(crate) fn with_noise(drive: &mut MeasuredDrive, subject: &Subject, most: f64) {
    let all: Vec<(&Experiment, u64)> = drive.experiments.iter().map(|one| (one, 0)).collect();
    let found: Vec<_> = subject.run_all(&all, &()).unwrap().into_iter().map(|found| found.unwrap().unwrap()).collect();
    let mut noise = Stream::new(7, "noise");
    for (experiment, found) in drive.experiments.iter_mut().zip(found) {
        for (name, value) in &mut experiment.measured {
            *value = found[name] * (1.0 + most * (2.0 * noise.unit() - 1.0));
        }
    }
}

/// Each parameter was found within 5 %: key, number and text.
pub(crate) fn is_the_truth(fitted: &Fitted, truth: &[(&str, f64, &str)]) {
    for (key, truth, _) in truth {
        let text = &fitted.settings.iter().find(|(fitted, _)| fitted == key).unwrap_or_else(|| panic!("{key}")).1;
        let number: f64 = text.trim_end_matches(['n', 's', '%', 'k', 'B', '/']).parse().unwrap();
        let value = match () {
            () if text.ends_with('%') => number / 100.0,
            () if text.ends_with("kB/s") => number * 1e3,
            () => number,
        };
        assert!((value / truth - 1.0).abs() < 0.05, "{key} is {truth}, and {text} was found: {:?}", fitted.warnings);
    }
}

#[test]
fn a_fit_finds_the_parameters_of_a_simulated_drive_and_predicts_what_it_has_not_seen() {
    let measured = measured();
    let start = Subject::new(STACK, &[], &measured, SCALE).unwrap();
    let fitted = fit(start, &measured, &()).unwrap();
    is_the_truth(&fitted, &TRUTH);
    for (experiment, found) in measured.experiments.iter().zip(&fitted.outcomes) {
        for (name, value) in &experiment.measured {
            let (found, band) = (found.as_ref().unwrap()[name], experiment.band(name).unwrap_or(0.1));
            assert!((found / value - 1.0).abs() < band.max(0.04), "{}: {name} {value} {found}", experiment.title());
        }
    }
    assert_eq!(fitted.warnings, Vec::<String>::new());
}

/// A lone read knows no more than the sum of the host's time and that of the array.
#[test]
fn parameters_that_one_figure_cannot_tell_apart_are_named() {
    let mut measured = measured();
    measured.experiments = vec![measured.experiments[2].clone()];
    measured.experiments[0].fit = ["read.mean"].into();
    let start = Subject::new(STACK, &[], &measured, SCALE).unwrap();
    let fitted = fit(start, &measured, &()).unwrap();
    let told = |warning: &String| warning.contains("flash.read_time and host.latency cannot be told apart");
    assert!(fitted.warnings.iter().any(told), "{:?}", fitted.warnings);
}

/// `flash.read_time` "stopped at its bound: the mean would take less", and "cannot be told apart from host.latency".
#[test]
fn no_parameter_has_two_warnings() {
    let text = "name = \"too fast\"\ncapacity = \"256MiB\"\n[source.s]\ntext = \"a test\"\n[[experiment]]\n\
        kind = \"closed\"\nop = \"read\"\ndepth = 1\nsource = \"s\"\nfit = [\"mean\"]\nmeasured = { mean = \"1us\" }\n";
    let measured = MeasuredDrive::from_text(text, "test").unwrap();
    let two_dies = ["flash.channels=2", "flash.dies_per_channel=1"].map(|text| Setting::from_argument(text).unwrap());
    let fitted = fit(Subject::new("page", &two_dies, &measured, 1).unwrap(), &measured, &()).unwrap();
    let about: Vec<&String> = fitted.warnings.iter().filter(|warning| warning.starts_with("flash.read_time")).collect();
    assert!(about.len() == 1 && about[0].contains("stopped at its bound"), "{:?}", fitted.warnings);
    assert!(fitted.warnings.iter().any(|warning| warning.contains("was fitted to and is +")), "{:?}", fitted.warnings);
}

#[test]
fn without_a_figure_to_fit_to_there_is_no_fit() {
    let mut measured = MeasuredDrive::from_text(EXPERIMENTS, "test").unwrap();
    measured.experiments.iter_mut().for_each(|experiment| experiment.fit.clear());
    let start = Subject::new(STACK, &[], &measured, SCALE).unwrap();
    assert!(fit(start, &measured, &()).unwrap_err().to_string().contains("fit = "));
}

/// A drive without a cache has no cliff that `ftl.slc.share` could be fitted to: the fit ended for want of it.
#[test]
fn a_figure_that_the_simulated_drive_lacks_is_left_out_with_a_warning() {
    let text = r#"
name = "a drive with a cache"
capacity = "8GiB"
[source.s]
text = "this program"
[[experiment]]
kind = "closed"
op = "read"
depth = 1
source = "s"
fit = ["mean"]
measured = { mean = "90us" }
[[experiment]]
kind = "fill"
size = "128KiB"
depth = 8
source = "s"
fit = ["phase2.rate"]
measured = { "phase1.rate" = "2GB/s", "phase1.until" = "2GB", "phase2.rate" = "1GB/s" }
"#;
    let measured = MeasuredDrive::from_text(text, "test").unwrap();
    let start = Subject::new("page", &[], &measured, 1).unwrap();
    let fitted = fit(start, &measured, &()).unwrap();
    assert!(fitted.figures.contains(&(0, "mean")) && !fitted.figures.contains(&(1, "phase2.rate")));
    let told =
        fitted.warnings.iter().any(|warning| warning.contains("has no phase2.rate") && warning.contains("--from"));
    assert!(told, "{:?}", fitted.warnings);
}

/// What was found before a fit was stopped.
#[derive(Default)]
struct Kept {
    found: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Experiments after which it stops.
    most: usize,
    recalled: AtomicUsize,
}

impl Watch for Kept {}

impl Monitor for Kept {
    fn is_stopped(&self) -> bool {
        self.found.lock().unwrap().len() >= self.most
    }
    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        let found = self.found.lock().unwrap().get(name).cloned();
        self.recalled.fetch_add(usize::from(found.is_some()), Ordering::Relaxed);
        found
    }
    fn keep(&self, name: &str, found: &[u8]) {
        let before = self.found.lock().unwrap().insert(name.to_owned(), found.to_vec());
        assert!(before.is_none(), "it was done twice: {name}");
    }
}

#[test]
fn a_fit_that_was_stopped_goes_on_and_finds_the_same() {
    let text = "name = \"a small one\"\ncapacity = \"256MiB\"\n[source.s]\ntext = \"a test\"\n[[experiment]]\n\
        kind = \"closed\"\nop = \"read\"\ndepth = 1\nsource = \"s\"\nfit = [\"mean\"]\n\
        measured = { mean = \"120us\" }\n";
    let measured = MeasuredDrive::from_text(text, "test").unwrap();
    let two_dies = ["flash.channels=2", "flash.dies_per_channel=1"].map(|text| Setting::from_argument(text).unwrap());
    let start = || Subject::new("page", &two_dies, &measured, 1).unwrap();
    let whole = fit(start(), &measured, &Kept { most: usize::MAX, ..Kept::default() }).unwrap();
    let mut kept = Kept { most: 2, ..Kept::default() };
    assert!(matches!(fit(start(), &measured, &kept), Err(FitError::Stopped)));
    kept.most = usize::MAX;
    let again = fit(start(), &measured, &kept).unwrap();
    assert_eq!((again.settings, again.outcomes), (whole.settings, whole.outcomes));
    assert!(kept.recalled.into_inner() >= 2, "nothing was recalled");
}

/// Wants it to end after it was asked some times.
struct Impatient {
    looks: AtomicUsize,
    most: usize,
}

impl Monitor for Impatient {
    fn is_stopped(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= self.most
    }
}

/// Ctrl-C was heard after minutes, when the experiments under way had ended.
#[test]
fn a_stop_is_heard_within_an_experiment() {
    let measured = MeasuredDrive::from_text(EXPERIMENTS, "test").unwrap();
    let experiment: Vec<(&Experiment, u64)> = measured.experiments.iter().take(1).map(|one| (one, 0)).collect();
    let asked = |most: usize| {
        let monitor = Impatient { looks: AtomicUsize::new(0), most };
        let subject = Subject::new(STACK, &[], &measured, SCALE).unwrap();
        let found = subject.run_all(&experiment, &monitor).unwrap();
        (found[0].is_some(), monitor.looks.into_inner())
    };
    let (has_ended, all) = asked(usize::MAX);
    assert!(has_ended && all > 20, "{all}");
    for most in [0, all / 3, all - 2] {
        let (has_ended, looks) = asked(most);
        assert!(!has_ended && looks <= most + 3, "{most} of {all}: {looks}");
    }
}
