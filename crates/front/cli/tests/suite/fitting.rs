//! `nandarium measure` and `nandarium fit` from end to end, and drives by their names.

use crate::support::{nandarium, said, tiny_beside};
use std::path::Path;

const MEASURED: &str = "name = \"a small one\"\ncapacity = \"256MiB\"\n[source.s]\ntext = \"a test\"\n[[experiment]]\n\
    kind = \"closed\"\nop = \"read\"\ndepth = 1\nsource = \"s\"\nfit = [\"mean\"]\nmeasured = { mean = \"40us\" }\n\
    [[experiment]]\nkind = \"closed\"\nop = \"read\"\ndepth = 4\nsource = \"s\"\nmeasured = { mean = \"50us\" }\n";
/// The drive to begin with: two dies.
const BEGIN: [&str; 8] =
    ["--from", "page", "--set", "flash.channels=2", "--set", "flash.dies_per_channel=1", "--scale", "1"];

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of a test is text")
}

#[test]
fn a_fitted_drive_is_a_stack_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (measured, out) = (folder.path().join("small.toml"), folder.path().join("small-like.toml"));
    std::fs::write(&measured, MEASURED).unwrap();
    let fitted = said(nandarium(&[&["fit", text(&measured), "--out", text(&out), "-q"], &BEGIN[..]].concat()));
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    assert!(fitted.out.contains("fitted") && fitted.out.contains("1 figure was fitted"), "{}", fitted.out);
    let stack = std::fs::read_to_string(&out).unwrap();
    assert!(stack.contains("extends = \"page\"") && stack.contains("read_time = "), "{stack}");
    assert!(!folder.path().join("small-like.toml.fitting").exists(), "what is kept is for fits that are stopped");
    let run = said(nandarium(&["run", "--drive", text(&out), "--workload", "uniform-read", "--requests", "100", "-q"]));
    assert_eq!(run.code, 0, "{}", run.err);
}

/// Every job of fio's was told as fitted, as none of them has a line in a file.
#[test]
fn of_several_jobs_of_fio_only_those_are_told_as_fitted_that_were() {
    let folder = tempfile::tempdir().unwrap();
    let job = |depth: u32| {
        let mean = 40_000 * depth;
        let options = format!("\"rw\": \"randread\", \"bs\": \"4k\", \"direct\": \"1\", \"iodepth\": \"{depth}\"");
        let read = format!("{{\"total_ios\": 9, \"iops\": 25000, \"lat_ns\": {{\"mean\": {mean}}}}}");
        let options = format!("{{{options}, \"stonewall\": \"\"}}");
        format!("{{\"jobname\": \"of-{depth}\", \"job options\": {options}, \"read\": {read}}}")
    };
    let paced = job(8).replace("\"stonewall\"", "\"rate_iops\": \"500\", \"stonewall\"");
    let output = format!("{{\"fio version\": \"fio-3\", \"jobs\": [{}, {}, {paced}]}}", job(1), job(4));
    std::fs::write(folder.path().join("a.json"), output).unwrap();
    let arguments = ["fit", text(folder.path()), "--capacity", "256MiB", "-q"];
    let fitted = said(nandarium(&[&arguments[..], &BEGIN[..]].concat()));
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    let means: Vec<&str> = fitted.out.lines().filter(|line| line.trim_start().starts_with("mean")).collect();
    assert_eq!(means.iter().map(|line| line.contains("fitted")).collect::<Vec<_>>(), [true, false], "{}", fitted.out);
    // A job with a rate of its own was left out without a word.
    let told = fitted.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("a.json, job of-4: used as 4 KiB random reads, depth 4"), "{}", fitted.out);
    assert!(
        told.contains("job of-8: left out: it has a rate of its own") && told.contains("(rate_iops=500)"),
        "{told}"
    );
    let judge = ["fit", "--judge", text(folder.path()), "--capacity", "256MiB", "--drive", "page", "-q", "--json"];
    let judged = said(nandarium(&[&judge[..], &["--scale", "1"]].concat()));
    let document: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.iter().map(|job| job["experiment"].is_string()).collect::<Vec<_>>(), [true, true, false]);
    assert!(jobs[2]["left_out"].as_str().unwrap().contains("rate_iops"), "{document}");
}

/// A file of which the drive has no figure passed, with a count of 0 missed.
#[test]
fn a_judged_figure_that_is_not_found_ends_with_7() {
    let folder = tempfile::tempdir().unwrap();
    let fill = folder.path().join("fill.toml");
    let (head, _) = MEASURED.split_once("[[experiment]]").unwrap();
    let experiment = "[[experiment]]\nkind = \"fill\"\nsize = \"1MiB\"\ndepth = 8\nsource = \"s\"\nmeasured = {";
    std::fs::write(&fill, format!("{head}{experiment} phase3.rate = \"90MB/s\" }}\n")).unwrap();
    let judged = said(nandarium(&["fit", "--judge", text(&fill), "--drive", "page", "--scale", "1", "-q"]));
    assert_eq!(judged.code, 7, "{}", judged.out);
    assert!(judged.err.contains("the simulated drive has no phase3.rate of \"erased drive filled"), "{}", judged.err);
    assert!(judged.out.contains("1 is not found"), "{}", judged.out);
}

/// How near a drive is could only be seen by fitting another one.
#[test]
fn a_drive_is_judged_by_a_file_without_a_fit() {
    let folder = tempfile::tempdir().unwrap();
    let measured = folder.path().join("small.toml");
    std::fs::write(&measured, MEASURED).unwrap();
    let judge = ["fit", "--judge", text(&measured), "--drive", "page", "--scale", "1", "-q"];
    let table = said(nandarium(&judge));
    // It was far off, and ended with 0 without a word.
    assert_eq!(table.code, 7, "{}", table.err);
    let told = "2 figures are outside their bands, farthest mean of \"4 KiB random reads, depth";
    assert!(table.err.contains(told) && table.err.contains(" %, and its band is 10 %"), "{}", table.err);
    assert!(table.out.contains("fitted to none of these figures") && table.out.contains("within"), "{}", table.out);
    let document = said(nandarium(&[&judge[..], &["--json"]].concat()));
    let document: serde_json::Value = serde_json::from_str(&document.out).unwrap();
    assert_eq!((&document["mode"], &document["from"]), (&"judge".into(), &"page".into()));
    let figures = document["figures"].as_array().unwrap();
    let verdicts: Vec<&str> = figures.iter().filter_map(|figure| figure["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["missed", "missed"], "reads of this stack take 25 us");
    let near = folder.path().join("near.toml");
    let mean = figures[0]["modelled"].as_f64().unwrap();
    let (first, _) = MEASURED.rsplit_once("[[experiment]]").unwrap();
    std::fs::write(&near, first.replace("40us", &format!("{mean:.0}ns"))).unwrap();
    let judged = said(nandarium(&["fit", "--judge", text(&near), "--drive", "page", "--scale", "1", "-q"]));
    assert_eq!((judged.code, judged.err.as_str()), (0, ""));
    for (arguments, wanted) in [
        (&["fit", text(&measured), "--judge"][..], "--drive"),
        (&["fit", text(&measured), "--drive", "page"], "--judge"),
        (&["fit", text(&measured)], "--from"),
    ] {
        let said = said(nandarium(arguments));
        assert!(said.code == 2 && said.err.contains(wanted), "{arguments:?}: {}", said.err);
    }
}

/// A fitted drive was told to live as long as the data sheet of another drive promises.
#[test]
fn an_inherited_data_sheet_is_said_to_be_that_of_the_other_drive() {
    let folder = tempfile::tempdir().unwrap();
    let (measured, other) = (folder.path().join("small.toml"), folder.path().join("other.toml"));
    std::fs::write(&measured, MEASURED).unwrap();
    std::fs::write(&other, "extends = \"page\"\n[drive]\ndata_sheet_writes = \"100TB\"\n").unwrap();
    let fitted = |more: &[&str]| {
        let begin = [&["fit", text(&measured), "--from", text(&other), "-q"], &BEGIN[2..], more].concat();
        said(nandarium(&begin)).out.contains("100 TB, from the data sheet of")
    };
    assert!(fitted(&[]));
    assert!(!fitted(&["--set", "drive.data_sheet_writes=7TB"]));
}

/// Judging was refused where fio's jobs tell no parameter, `rate` of offered writes was not found, and figures that are
/// not found were in no count.
#[test]
fn a_drive_is_judged_by_whatever_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let job = "{\"job options\": {\"rw\": \"randread\", \"iodepth\": \"4\"}, \
               \"read\": {\"total_ios\": 9, \"iops\": 8333, \"lat_ns\": {\"mean\": 480000}}}";
    let fio = folder.path().join("a.json");
    std::fs::write(&fio, format!("{{\"fio version\": \"fio-3\", \"jobs\": [{job}]}}")).unwrap();
    let capacity = ["--capacity", "256MiB", "--scale", "1", "-q"];
    let judged = said(nandarium(&[&["fit", "--judge", text(&fio), "--drive", "page"], &capacity[..]].concat()));
    assert!(judged.code == 7 && judged.out.contains("depth 4"), "{} {}", judged.out, judged.err);
    let fitted = said(nandarium(&[&["fit", text(&fio), "--from", "page"], &capacity[..]].concat()));
    assert!(fitted.code == 2 && fitted.err.contains("no job of these tells a parameter"), "{}", fitted.err);
    let offered = folder.path().join("offered.toml");
    let (head, _) = MEASURED.split_once("[[experiment]]").unwrap();
    let experiment = "[[experiment]]\nkind = \"offered\"\nwrites_per_second = 1000\nsource = \"s\"\nmeasured = {";
    std::fs::write(&offered, format!("{head}{experiment} rate = \"4.1MB/s\" }}\n")).unwrap();
    let judged =
        said(nandarium(&["fit", "--judge", text(&offered), "--drive", "page", "--scale", "1", "-q", "--json"]));
    let document: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    let rate = document["figures"][0]["modelled"].as_f64().unwrap_or_default();
    assert!((rate / 4.096e6 - 1.0).abs() < 0.1, "{document}");
}

#[test]
fn fit_says_what_is_wrong_and_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let measured = folder.path().join("small.toml");
    std::fs::write(&measured, MEASURED.replace("fit = [\"mean\"]\n", "")).unwrap();
    for (arguments, wanted) in [
        (&["fit", text(&measured)][..], "which figures to fit to"),
        (&["fit", "micron-7450"], "did you mean `micron-7450-max`"),
        (&["fit", text(folder.path())], "--capacity"),
        (&["fit", text(&measured), "--capacity", "1GiB"], "has a capacity of its own"),
        (&["fit", text(&measured), "--set", "drive.scale=4"], "from --scale"),
    ] {
        let said = said(nandarium(&[arguments, &BEGIN[..], &["-q"]].concat()));
        assert!(said.code == 2 && said.err.contains(wanted), "{arguments:?}: {}", said.err);
    }
    // Before it is fitted, which takes minutes.
    let nowhere = said(nandarium(&[&["fit", "micron-7450-max", "--out", text(folder.path())], &BEGIN[..]].concat()));
    assert!(nowhere.code != 0 && nowhere.err.contains("could not be written"), "{}", nowhere.err);
}

#[test]
fn drives_are_listed_and_stand_wherever_a_stack_does() {
    let listed = said(nandarium(&["list", "drives"]));
    assert!(listed.out.contains("micron-7450-max-like") && listed.out.contains("generic-qlc-client"), "{}", listed.out);
    let explained = said(nandarium(&["explain", "micron-7450-max-like"])).out;
    for told in [
        "fitted to Micron 7450 MAX",
        "waf = 1.888, 800 GB written at random",
        "source: ",
        "predicted besides: 70 figures, and 3 that cannot be missed",
        "not modelled: ",
    ] {
        assert!(explained.contains(told), "{told}: {explained}");
    }
    let small = ["--set", "drive.capacity=4GiB", "--set", "flash.pages_per_block=24", "--requests", "500", "-q"];
    let small = [&small[..], &["--workload", "zipf", "--set", "drive.precondition=none"]].concat();
    let drives = ["--drive", "micron-7450-max-like", "--drive", "sk-hynix-pe8110-like"];
    let compared = said(nandarium(&[&["compare"], &drives[..], &small].concat()));
    assert_eq!(compared.code, 0, "{}", compared.err);
    assert!(compared.out.contains("sk-hynix-pe8110-like"), "{}", compared.out);
    let wrong = said(nandarium(&[&["run", "--drive", "micron-7450-max-lik"], &small[..]].concat()));
    assert!(wrong.code == 2 && wrong.err.contains("did you mean `micron-7450-max-like`"), "{}", wrong.err);
}

/// The table and the page had no row of the prices that were given.
#[test]
fn a_price_that_was_given_is_told_where_no_life_can_be() {
    let short = ["compare", "page", "dftl", "--life", "--no-snapshots", "-q", "--requests", "100"];
    let asked = ["--price", "page=190", "--price", "dftl=95", "--set", "flash.endurance=3000"];
    let asked = [&short[..], &asked, &tiny_beside(&[])].concat();
    let table = said(nandarium(&asked)).out;
    let price = table.lines().find(|line| line.starts_with("price ")).unwrap_or_else(|| panic!("{table}"));
    assert_eq!(price.split_whitespace().collect::<Vec<_>>(), ["price", "190.0", "95.00", "x0.50"]);
    assert!(table.contains("No life of page: ") && !table.contains("life: years"), "{table}");
    let document = said(nandarium(&[&asked[..], &["--json"]].concat())).out;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let of = |index: usize| &document["results"][index];
    assert!(of(0)["life"].is_null() && of(0)["cost"]["price"] == 190.0 && of(1)["cost"]["price"] == 95.0);
    assert!(of(0)["cost"]["per_gb"].as_f64().unwrap() > 190.0, "{}", of(0)["cost"]);
}

/// Which of two drives: rates, tails, years and money in one table, of whole drives although smaller ones ran.
#[test]
fn drives_are_compared_by_life_and_price() {
    let drives = ["compare", "micron-7450-max-like", "micron-7450-max-like+drive.over_provisioning=60%"];
    let small = ["--workload", "uniform-write", "--requests", "400000", "--set", "drive.scale=512", "-q", "--json"];
    let asked = ["--life", "--per-day", "1TB", "--price", "micron-7450-max-like=190"];
    let compared = said(nandarium(&[&drives[..], &small, &asked].concat()));
    assert_eq!(compared.code, 0, "{}", compared.err);
    let document: serde_json::Value = serde_json::from_str(&compared.out).unwrap();
    let lives = [0, 1].map(|index| document["results"][index]["life"].clone());
    let years = lives.each_ref().map(|life| life["years"]["estimate"].as_f64().unwrap());
    assert!(years[1] > years[0] * 1.1, "spare flash lets a drive live longer: {years:?}");
    let whole = lives[0]["capacity_bytes"].as_f64().unwrap();
    assert!((whole / 800_166_076_416.0 - 1.0).abs() < 0.01, "the whole drive is told: {whole}");
    let written = lives[0]["tbw"]["estimate"].as_f64().unwrap();
    assert!((years[0] - written / 365.0).abs() < 1e-6, "a TB a day");
    let price = lives[0]["cost"]["per_tb_written"]["estimate"].as_f64().unwrap();
    assert!((price - 190.0 / written).abs() < 1e-9 && lives[1]["cost"].is_null());
    let notes = document["notes"].to_string();
    assert!(notes.matches("taken to survive 3000 erases").count() == 1, "{notes}");
    for (asked, wanted) in [
        (&["--per-day", "1TB"][..], "give --life as well"),
        (&["--warranty", "3y"], "give --life as well"),
        (&["--life", "--price", "samsung=3"], "`samsung` is not compared"),
        (&["--life", "--price", "190"], "write NAME=NUMBER"),
    ] {
        let said = said(nandarium(&[&drives[..], &small, asked].concat()));
        assert!(said.code == 2 && said.err.contains(wanted), "{asked:?}: {}", said.err);
    }
}

#[test]
fn a_file_is_measured_and_what_was_measured_is_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (image, out) = (folder.path().join("disk.img"), folder.path().join("disk.toml"));
    std::fs::write(&image, vec![7; 16 << 20]).unwrap();
    let arguments = ["measure", "--target", text(&image), "--seconds", "1", "--out", text(&out), "-q"];
    let measured = said(nandarium(&arguments));
    assert_eq!(measured.code, 0, "{}", measured.err);
    let found = std::fs::read_to_string(&out).unwrap();
    assert!(found.contains("op = \"read\"") && !found.contains("op = \"write\""), "without leave nothing is written");
    assert_eq!(std::fs::read(&image).unwrap(), vec![7; 16 << 20]);
    let checked = said(nandarium(&["fit", text(&out), "--from", "no-such-stack", "-q"]));
    assert!(checked.code == 2 && checked.err.contains("no-such-stack"), "{}", checked.err);
    let again = said(nandarium(&arguments));
    assert!(again.code == 2 && again.err.contains("it is there already"), "{}", again.err);
    // What is measured is never what is written: the file with the figures replaced its target.
    let over = said(nandarium(&["measure", "--target", text(&image), "--out", text(&image), "-q"]));
    assert!(over.code == 2 && over.err.contains("it is there already"), "{}", over.err);
    assert_eq!(std::fs::read(&image).unwrap(), vec![7; 16 << 20]);
    std::fs::remove_file(&out).unwrap();
    let larger = ["measure", "--target", text(&image), "--size", "32MiB", "--out", text(&out), "-q"];
    let larger = said(nandarium(&larger));
    assert!(larger.code == 2 && larger.err.contains("not made larger"), "{}", larger.err);
    assert_eq!(std::fs::read(&image).unwrap(), vec![7; 16 << 20], "a shorter file stays as it is");
    let absent = folder.path().join("absent.img");
    let made = said(nandarium(&["measure", "--target", text(&absent), "--size", "1MiB", "--out", text(&out), "-q"]));
    assert!(made.code != 0 && !absent.exists(), "{}", made.err);
    let unasked = said(nandarium(&["measure", "--target", text(&image), "--steady", "--out", text(&out)]));
    assert!(unasked.code == 2 && unasked.err.contains("--destroy-data"), "{}", unasked.err);
    let missing = said(nandarium(&["measure", "--target", "/no/such/disk", "--out", text(&out), "-q"]));
    assert!(missing.code != 0 && missing.err.contains("/no/such/disk"), "{}", missing.err);
}
