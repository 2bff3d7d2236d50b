//! A small drive is measured with noise in closed loops, of every kind that files can state, and fitted again.

use crate::fitting::{is_the_truth, with_noise};
use experiment::Monitor;
use fit::{Experiment, MeasuredDrive, Subject, Verdict, fit, judge};
use simulator::Setting;
use std::sync::Mutex;

const STACK: &str = "micron-7450-max-like";

/// 16 dies, as small as they can be.
const SMALL: [&str; 3] = ["flash.channels=4", "flash.dies_per_channel=4", "flash.pages_per_block=96"];

/// What the drive is, which the fit does not know.
const TRUTH: [(&str, f64, &str); 5] = [
    ("flash.read_time", 63e3, "63us"),
    ("controller.request_time", 8e3, "8us"),
    ("controller.write_request_time", 12e3, "12us"),
    ("host.link_bandwidth", 1.2e9, "1.2GB/s"),
    ("host.latency", 6e3, "6us"),
];

const EXPERIMENTS: &str = r#"
name = "a small drive"
capacity = "4GiB"
[source.s]
text = "this program"
[[experiment]]
kind = "closed"
op = "read"
depth = 1
source = "s"
fit = ["mean"]
measured = { iops = 1, mean = "1000ms", p50 = "1us" }
[[experiment]]
kind = "closed"
op = "read"
depth = 64
source = "s"
fit = ["iops"]
measured = { iops = 1, p99 = "1us" }
[[experiment]]
kind = "closed"
op = "read"
order = "sequential"
size = "128KiB"
depth = 32
source = "s"
fit = ["rate"]
measured = { rate = "1B/s" }
[[experiment]]
kind = "closed"
op = "write"
depth = 1
source = "s"
fit = ["p50"]
measured = { p50 = "1us" }
[[experiment]]
kind = "closed"
op = "write"
depth = 64
source = "s"
fit = ["iops"]
measured = { iops = 1 }
[[experiment]]
kind = "closed"
op = "mixed"
reads = 0.7
depth = 8
zipf = 0.9
source = "s"
measured = { iops = 1, read.mean = "8000ms", write.mean = "8000ms" }
[[experiment]]
kind = "closed"
op = "commit"
depth = 1
source = "s"
measured = { iops = 1, mean = "1000ms", p99 = "1us" }
"#;

fn settings(more: &[(&str, f64, &str)]) -> Vec<Setting> {
    let small = SMALL.iter().map(|text| Setting::from_argument(text).unwrap());
    small.chain(more.iter().map(|(key, _, text)| Setting::new(key, text, "the truth"))).collect()
}

/// No fast drive was fitted to its most reads a second: the firmware's time was 0 in the stack to begin with.
#[test]
fn what_the_stack_has_no_value_of_is_found_from_closed_loops() {
    let mut measured = MeasuredDrive::from_text(EXPERIMENTS, "test").unwrap();
    let truth = Subject::new(STACK, &settings(&TRUTH), &measured, 1).unwrap();
    with_noise(&mut measured, &truth, 0.01);
    let start = Subject::new(STACK, &settings(&[]), &measured, 1).unwrap();
    let fitted = fit(start, &measured, &()).unwrap();
    is_the_truth(&fitted, &TRUTH);
    assert_eq!(fitted.figures.len(), 5, "{:?}", fitted.figures);
    let judged = judge(&measured, &fitted.outcomes, &fitted.figures);
    for one in judged.iter().filter(|one| one.number >= 5) {
        let error = one.error().unwrap_or(f64::INFINITY);
        assert!(error.abs() < 0.1, "{}: {} {error}", one.experiment.title(), one.figure.name);
    }
    assert!(judged.iter().all(|one| one.verdict != Verdict::Missed));
}

/// A drive came out with reads of 497 ns, and nothing was said.
#[test]
fn a_fit_that_wants_a_read_no_part_has_stops_at_the_bound_and_says_so() {
    let text = "name = \"too fast\"\ncapacity = \"4GiB\"\n[source.s]\ntext = \"t\"\n[[experiment]]\nkind = \"closed\"\n\
                op = \"read\"\ndepth = 1\nsource = \"s\"\nfit = [\"mean\"]\nmeasured = { mean = \"9us\" }\n";
    let measured = MeasuredDrive::from_text(text, "test").unwrap();
    let fitted = fit(Subject::new(STACK, &settings(&[]), &measured, 1).unwrap(), &measured, &()).unwrap();
    assert_eq!(fitted.settings, [("flash.read_time".to_owned(), "20000ns".to_owned())]);
    let told = |warning: &&String| warning.starts_with("flash.read_time stopped at its bound, 20us: mean of ");
    assert_eq!(fitted.warnings.iter().filter(told).count(), 1, "{:?}", fitted.warnings);
}

/// A parameter whose figures are met at its bound may be anything beyond it, and nothing was said.
#[test]
fn a_parameter_that_ends_at_its_bound_with_its_figures_met_is_named() {
    let fitted = |mean: f64| {
        let text = format!(
            "name = \"d\"\ncapacity = \"4GiB\"\n[source.s]\ntext = \"t\"\n[[experiment]]\n\
             kind = \"closed\"\nop = \"read\"\ndepth = 1\nsource = \"s\"\nfit = [\"mean\"]\n\
             measured = {{ mean = \"{mean:.0}ns\" }}\n"
        );
        let measured = MeasuredDrive::from_text(&text, "test").unwrap();
        fit(Subject::new(STACK, &settings(&[]), &measured, 1).unwrap(), &measured, &()).unwrap()
    };
    let least = fitted(9e3).outcomes[0].as_ref().unwrap()["mean"];
    let warnings = fitted(least).warnings;
    let told = |warning: &&String| warning.starts_with("flash.read_time ended at its bound, 20");
    assert_eq!(warnings.iter().filter(told).count(), 1, "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("may be true of a smaller value as well. The bound: ")));
}

/// A stack from before there was a time for requests.
#[test]
fn a_stack_with_a_time_for_pages_alone_keeps_it_unless_large_reads_are_fitted() {
    let settings = settings(&[("controller.page_time", 9e3, "9us"), ("controller.request_time", 0.0, "0ns")]);
    let small = "name = \"d\"\ncapacity = \"4GiB\"\n[source.s]\ntext = \"t\"\n[[experiment]]\nkind = \"closed\"\n\
                 op = \"read\"\ndepth = 64\nsource = \"s\"\nfit = [\"iops\"]\nmeasured = { iops = 100_000 }\n";
    let large = "[[experiment]]\nkind = \"closed\"\nop = \"read\"\norder = \"sequential\"\nsize = \"128KiB\"\n\
                 depth = 32\nsource = \"s\"\nfit = [\"rate\"]\nmeasured = { rate = \"1GB/s\" }\n";
    let fitted = |text: &str| {
        let measured = MeasuredDrive::from_text(text, "test").unwrap();
        let fitted = fit(Subject::new(STACK, &settings, &measured, 1).unwrap(), &measured, &()).unwrap();
        assert!(fitted.warnings.iter().all(|warning| !warning.contains("_time")), "{:?}", fitted.warnings);
        let value = |key: &str| fitted.settings.iter().find(|(fitted, _)| fitted == key).map(|(_, text)| text.clone());
        [value("controller.page_time"), value("controller.request_time"), value("host.link_bandwidth")]
    };
    let [page, request, link] = fitted(small);
    let page: f64 = page.unwrap().trim_end_matches("ns").parse().unwrap();
    assert!((page / 10e3 - 1.0).abs() < 0.02 && request.is_none() && link.is_none(), "{page}");
    let [page, request, link] = fitted(&format!("{small}{large}"));
    let request: f64 = request.unwrap().trim_end_matches("ns").parse().unwrap();
    assert!(page.as_deref() == Some("0ns") && (request / 10e3 - 1.0).abs() < 0.02, "{page:?} {request}");
    assert!(link.is_some());
}

/// Counts what is simulated.
#[derive(Default)]
struct Simulated(Mutex<Vec<String>>);

impl Monitor for Simulated {
    fn keep(&self, name: &str, _: &[u8]) {
        self.0.lock().unwrap().push(name.to_owned());
    }
}

/// Six of eight values of spare flash gave the same blocks, and each was simulated.
#[test]
fn a_drive_that_was_simulated_is_not_simulated_again() {
    let text = "name = \"d\"\ncapacity = \"4GiB\"\n[source.s]\ntext = \"t\"\n[[experiment]]\nkind = \"amplification\"\n\
                used = \"4GiB\"\nwindow_end = 0.2\nsource = \"s\"\nmeasured = { waf = 1.5 }\n";
    let measured = MeasuredDrive::from_text(text, "test").unwrap();
    let experiments: Vec<(&Experiment, u64)> = measured.experiments.iter().map(|one| (one, 0)).collect();
    let (first, simulated) = (Subject::new(STACK, &settings(&[]), &measured, 1).unwrap(), Simulated::default());
    let waf = |over: &str| {
        let subject = first.with(&[Setting::from_argument(over).unwrap()]).unwrap();
        let found = subject.run_all(&experiments, &simulated).unwrap();
        (found[0].clone().unwrap().unwrap()["waf"].to_bits(), simulated.0.lock().unwrap().len())
    };
    let (one, _) = waf("drive.over_provisioning=45%");
    assert_eq!(waf("drive.over_provisioning=45.001%"), (one, 1), "the same blocks");
    assert_eq!(waf("flash.read_time=99us"), (waf("flash.program_time=2ms").0, 2), "it is counted without time");
    assert_ne!(waf("drive.over_provisioning=90%"), (one, 2), "other blocks");
}
