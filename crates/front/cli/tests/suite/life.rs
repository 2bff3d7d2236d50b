//! `nandarium life` as a user runs it.

use crate::support::{Said, hash, json, nandarium, said, tiny_beside, trace};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

const ENDURANCE: &str = "flash.endurance=1000";
const SHUFFLE: &str = "workload.repeat_order=shuffle";

fn life_on(settings: &[&str], arguments: &[&str]) -> Said {
    let mut command = nandarium(&["life", "--no-snapshots"]);
    command.args(tiny_beside(&[settings, arguments].concat()));
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    command.args(arguments);
    said(command)
}

fn life(arguments: &[&str]) -> Said {
    life_on(&[ENDURANCE], arguments)
}

fn document(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).expect("standard output is one JSON document")
}

fn number(document: &Value, path: &str) -> f64 {
    document.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is no number"))
}

#[test]
fn a_life_is_printed_with_what_spends_it_and_the_hash_of_the_run() {
    let said = life(&["--workload", "zipf", "--requests", "20000", "--per-day", "500GB", "--price", "100"]);
    assert_eq!(said.code, 0, "{}", said.err);
    for part in [
        "TB written (TBW)",
        "over 5 years (DWPD)",
        "years at 500 GB a day",
        "price of a TB written",
        "earliest",
        "latest",
        "gc",
        "uneven wear",
        "blocks survive 1,000 erases",
    ] {
        assert!(said.out.contains(part), "`{part}` is missing in: {}", said.out);
    }
    let run =
        hash(&["--workload", "zipf", "--requests", "20000", "--set", "drive.precondition=steady", "--set", ENDURANCE]);
    assert!(said.out.contains(&run), "{run} is missing in: {}", said.out);
}

/// Means over seeds had to be made by hand.
#[test]
fn repetitions_tell_the_mean_of_lives_with_the_next_seeds() {
    let of = |more: &[&str]| {
        let asked = ["--workload", "zipf", "--requests", "20000", "--per-day", "500GB", "--json"];
        document(&life(&[&asked, more].concat()))
    };
    let alone = ["1", "2", "3"].map(|seed| number(&of(&["--seed", seed]), "/tbw/estimate"));
    let told = of(&["--seed", "1", "--repetitions", "3"]);
    assert!((number(&told, "/repeated/tbw/mean") / (alone.iter().sum::<f64>() / 3.0) - 1.0).abs() < 1e-12, "{told}");
    assert!(number(&told, "/repeated/tbw/half") > 0.0 && told["repeated"]["price_per_tb_written"].is_null());
    assert!((number(&told, "/tbw/estimate") / alone[0] - 1.0).abs() < 1e-12, "its own life is that of the first run");
    assert!(of(&["--seed", "1", "--repetitions", "1"]).get("repeated").is_none());
    let said = life(&["--workload", "zipf", "--requests", "20000", "--repetitions", "2", "--quiet"]);
    assert!(
        said.out.contains("repeated  means of 2 runs with different seeds") && said.out.contains(" ±"),
        "{}",
        said.out
    );
    let refused = life(&["--workload", "-", "--set", "drive.precondition=none", "--repetitions", "2"]);
    assert!(refused.code == 2 && refused.err.contains("standard input can be read only once"), "{}", refused.err);
}

/// The table told them again.
#[test]
fn notes_of_a_life_are_told_once() {
    let said = life(&["--workload", "zipf", "--requests", "20000"]);
    assert!(said.out.contains("measure.warm_up = ") && !said.err.contains("measure.warm_up"), "{}", said.err);
}

/// A row said that 0.0 % of the life went into pages without data.
#[test]
fn causes_that_spend_nothing_are_no_rows_of_a_life() {
    let load = ["--workload", "hot-cold", "--requests", "20000"];
    let whole = document(&life(&[&load[..], &["--json"]].concat()));
    let unfilled = number(&whole, "/causes/unfilled/share");
    assert!(0.0 < unfilled && unfilled < 0.0005, "{unfilled}: take another load");
    let text = life(&load).out;
    assert!(!text.contains("unfilled") && !text.contains(" 0.0 %") && text.contains("uneven wear"), "{text}");
}

#[test]
fn the_document_agrees_with_itself() {
    let whole = document(&life(&[
        "--workload",
        "zipf",
        "--requests",
        "20000",
        "--json",
        "--per-day",
        "1GB",
        "--warranty",
        "730d",
        "--price-per-gb",
        "2",
    ]));
    assert_eq!(whole["schema"], "nandarium.life/2");
    for key in ["tbw", "dwpd", "years"] {
        let [earliest, estimate, latest] =
            ["earliest", "estimate", "latest"].map(|end| number(&whole, &format!("/{key}/{end}")));
        assert!(0.0 < earliest && earliest <= estimate && estimate <= latest, "{key}");
    }
    let tbw = number(&whole, "/tbw/estimate");
    let is_near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value} and {expected}");
    is_near(number(&whole, "/years/estimate"), tbw * 1e12 / 1e9 / 365.0);
    is_near(number(&whole, "/dwpd/estimate"), tbw * 1e12 / 730.0 / f64::from(16 << 20));
    let price = 2.0 * number(&whole, "/flash_bytes") / 1e9;
    is_near(number(&whole, "/cost/price"), price);
    is_near(number(&whole, "/cost/per_gb"), price * 1e9 / f64::from(16 << 20));
    is_near(number(&whole, "/cost/per_tb_written/earliest"), price / number(&whole, "/tbw/earliest"));
    let causes = whole["causes"].as_object().unwrap();
    let shares: f64 = causes.values().filter_map(|cause| cause["share"].as_f64()).sum();
    is_near(shares, 1.0);
    assert!(causes["host"]["years_gained"].is_null() && causes["gc"]["years_gained"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (whole["rate"].as_str(), whole["config"]["drive.precondition"].as_str()),
        (Some("given"), Some("steady"))
    );
}

#[test]
fn without_a_rate_of_its_own_a_closed_loop_lives_at_full_speed_and_counted_time_has_no_years() {
    let fast = document(&life(&["--workload", "uniform-write", "--requests", "20000", "--json"]));
    assert_eq!(fast["rate"], "full-speed");
    let text = life(&["--workload", "uniform-write", "--requests", "20000"]).out;
    assert!(text.contains("years at full speed without a pause"), "{text}");
    let counted =
        document(&life(&["--workload", "uniform-write", "--requests", "20000", "--json", "--set", "engine.time=none"]));
    assert!(counted["years"].is_null() && counted["causes"]["gc"]["years_gained"].is_null());
    assert!(counted["notes"].to_string().contains("--per-day"), "{}", counted["notes"]);
}

/// A drive with an unpartitioned end was told half of its life.
#[test]
fn a_drive_with_an_unpartitioned_end_lives_as_long_as_a_smaller_one_on_the_same_flash() {
    let lived = |settings: &[&str]| {
        let all = [&[ENDURANCE], settings].concat();
        let whole = document(&life_on(&all, &["--workload", "uniform-write", "--requests", "40000", "--json"]));
        (number(&whole, "/flash_bytes"), number(&whole, "/tbw/estimate"), whole["notes"].to_string())
    };
    let spare = "drive.over_provisioning=12.5%";
    let (flash, all, _) = lived(&[spare]);
    // 75 % of the addresses, on as many blocks.
    let (same, smaller, _) = lived(&["drive.capacity=12MiB", "drive.over_provisioning=50%"]);
    assert!((flash - same).abs() < 1.0, "{flash} and {same} bytes of flash");
    assert!(smaller > 1.5 * all, "{smaller} and {all}");
    for setting in ["workload.footprint=75%", "drive.fill=75%"] {
        let (_, part, notes) = lived(&[spare, setting]);
        assert!((part / smaller - 1.0).abs() < 0.15, "{setting}: {part}, and {smaller} of a smaller drive");
        assert!(notes.contains("Only 75 % of the drive holds data."), "{notes}");
    }
}

/// A trace of random writes of 4 KiB, one a millisecond, in a folder.
fn writes(folder: &Path, requests: u64) -> String {
    let mut rows = String::new();
    for at in 0..requests {
        // A fixed walk over all 4,096 pages.
        writeln!(rows, "{},0,W,{},4096", at * 1_000_000, at.wrapping_mul(2_654_435_761) % 4096 * 4096).unwrap();
    }
    trace(folder, &rows)
}

#[test]
fn a_trace_has_a_rate_of_its_own_and_may_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let short = writes(folder.path(), 2_000);
    let refused = life(&["--workload", &short]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("the window is too short")
            && refused.err.contains("--set workload.repeat=")
            && refused.err.contains("--set workload.repeat_order=shuffle"),
        "{}",
        refused.err
    );
    let (_, wanted) = refused.err.split_once("workload.repeat=").unwrap();
    let wanted: u64 = wanted.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
    // What was taken already was named once more.
    let taken = format!("workload.repeat={}", wanted / 4);
    let again = life(&["--workload", &short, "--set", &taken, "--set", SHUFFLE]);
    assert!(again.code == 2 && !again.err.contains("repeat_order"), "{}", again.err);
    assert!(again.err.contains("workload.repeat=") && !again.err.contains(&taken), "{}", again.err);
    let repeated = format!("workload.repeat={}", wanted * 2);
    // In one order the passes would wear too little, as the trace writes no place twice.
    let same = life(&["--workload", &short, "--set", &repeated]);
    assert!(same.code == 2 && same.err.contains("workload.repeat_order = shuffle"), "{}", same.err);
    let whole = document(&life(&["--workload", &short, "--set", &repeated, "--set", SHUFFLE, "--json"]));
    assert_eq!(
        (whole["rate"].as_str(), number(&whole, "/window/requests")),
        (Some("own-time"), 2_000.0 * wanted as f64 * 2.0)
    );
    // 4 KiB a millisecond, in each pass and between them.
    let per_day = 4096.0 * 1000.0 * 86_400.0;
    assert!((number(&whole, "/bytes_per_day") / per_day - 1.0).abs() < 0.01, "{}", number(&whole, "/bytes_per_day"));
}

/// A short trace on a large drive, run many times, had a long life and no doubt.
#[test]
fn a_life_under_a_trace_that_touches_little_of_the_drive_is_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let of = |pages: u64| {
        let mut rows = String::new();
        for at in 0..4_000_u64 {
            let page = at.wrapping_mul(2_654_435_761) % pages * 4096;
            writeln!(rows, "{},0,W,{page},4096", at * 1_000_000).unwrap();
        }
        let passes = ["--workload", &trace(folder.path(), &rows), "--set", "workload.repeat=8", "--json"];
        document(&life(&passes))["notes"].as_array().unwrap().iter().map(ToString::to_string).collect::<String>()
    };
    let (some, all) = (of(256), of(2048));
    assert!(some.contains("Doubt: one pass of the trace touches 6.2 % of the drive, and each of 8 passes"), "{some}");
    assert!(!all.contains("one pass of the trace"), "{all}");
}

#[test]
fn a_drive_that_falls_behind_does_not_stretch_the_workload_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let trace = writes(folder.path(), 4_000);
    // Ten million requests a second: far more than any drive serves.
    let passes = ["--set", "workload.repeat=4", "--set", SHUFFLE];
    let hurried = [&["--workload", &trace][..], &passes, &["--set", "workload.time_scale=0.0001", "--json"]].concat();
    let whole = document(&life(&hurried));
    let per_day = 4096.0 * 1e7 * 86_400.0;
    assert!((number(&whole, "/bytes_per_day") / per_day - 1.0).abs() < 0.01, "{}", number(&whole, "/bytes_per_day"));
    // The overload was told twice, with two figures.
    let notes = whole["notes"].to_string();
    assert_eq!(notes.matches("Doubt: the load is more than the drive takes").count(), 1, "{notes}");
    assert!(notes.contains("Years count the time in which requests arrived") && !notes.contains("fell behind"));
    // Without time the workload's own still counts.
    let counted = document(&life(&[&hurried[..], &["--set", "engine.time=none"]].concat()));
    assert_eq!(counted["bytes_per_day"], whole["bytes_per_day"]);
}

#[test]
fn a_repeated_trace_is_the_trace_written_out() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows = |from: u64| {
        (0..5_u64).map(|at| format!("{},0,W,{},4096\n", from + at * 1000, at * 4096)).collect::<Vec<_>>().concat()
    };
    let (once, twice) = (trace(folder.path(), &rows(0)), trace(other.path(), &[rows(0), rows(5_000)].concat()));
    assert_eq!(hash(&["--workload", &once, "--set", "workload.repeat=2"]), hash(&["--workload", &twice]));
    assert_ne!(hash(&["--workload", &once]), hash(&["--workload", &twice]));
    let generated = life(&["--workload", "zipf", "--set", "workload.repeat=2"]);
    assert!(generated.code == 2 && generated.err.contains("workload.repeat has no effect"), "{}", generated.err);
    // Cut without a word, it looked like a whole repetition.
    let notes = |arguments: &[&str]| {
        json(&[&["--workload", &once, "--set", "workload.repeat=4"], arguments].concat())["notes"].to_string()
    };
    let cut = notes(&["--requests", "7"]);
    assert!(
        cut.contains("Only 2 of 4 passes of the trace were begun (workload.repeat)")
            && cut.contains("after the 7 requests"),
        "{cut}"
    );
    assert!(
        cut.contains("all of them have 20 requests") && !notes(&[]).contains("passes of the trace were begun"),
        "{cut}"
    );
    let input = life(&["--workload", "-", "--set", "workload.repeat=2", "--set", "drive.precondition=fill"]);
    assert!(input.code == 2 && input.err.contains("read only once"), "{}", input.err);
}

#[test]
fn a_folder_gets_the_run_the_life_and_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let said = life(&["--workload", "zipf", "--requests", "20000", "--out", out, "--json"]);
    let whole = document(&said);
    assert!(said.err.contains("life.html"), "{}", said.err);
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text("life.json")).unwrap(), whole);
    assert_eq!(serde_json::from_str::<Value>(&text("result.json")).unwrap()["hash"], whole["hash"]);
    assert!(text("report.html").contains("<html") && text("series.csv").contains("gc_programs"));
    let page = text("life.html");
    for part in [
        "What spends the life",
        "Erases of the blocks",
        "Blocks that are worn out",
        "What each cause costs",
        whole["hash"].as_str().unwrap(),
    ] {
        assert!(page.contains(part), "`{part}` is missing");
    }
    assert!(
        !page.replace("http-equiv", "").contains("http") && !page.contains("NaN"),
        "the page needs nothing from elsewhere"
    );
}

#[test]
fn what_has_no_answer_is_refused_with_the_remedy() {
    for (settings, arguments, code, parts) in [
        (
            &[][..],
            &["--workload", "zipf"][..],
            2,
            &["flash.endurance is 0", "fast-4k", "--set flash.endurance=3000", "list parts"][..],
        ),
        (
            &[ENDURANCE],
            &["--workload", "uniform-read", "--requests", "2000"],
            2,
            &["wrote nothing", "workload with writes"],
        ),
        (
            &[ENDURANCE],
            &["--workload", "uniform-write", "--requests", "100"],
            2,
            &["too short", "at least once", "(here: --requests "],
        ),
        (
            &["flash.endurance=30"],
            &["--workload", "zipf", "--set", "drive.precondition=fill", "--requests", "100000"],
            5,
            &["worn out after", "that is its life", "--requests", "flash.endurance"],
        ),
        (
            &["flash.endurance=5"],
            &["--workload", "zipf"],
            5,
            &["worn out while it is preconditioned", "flash.endurance"],
        ),
        (&[ENDURANCE], &["--workload", "zpif"], 2, &["did you mean `zipf`"]),
        (&[ENDURANCE], &["--stack", "pgae"], 2, &["did you mean `page`"]),
        (&["flash.endurence=3"], &[], 2, &["did you mean `flash.endurance`"]),
        (&[ENDURANCE], &["--per-day", "500"], 2, &["--per-day", "no unit"]),
        (&[ENDURANCE], &["--per-day", "0GB"], 2, &["--per-day 0", "500GB"]),
        (&[ENDURANCE], &["--per-day", "-1GB"], 2, &["--per-day", "negative"]),
        (&[ENDURANCE], &["--warranty", "-5y"], 2, &["--warranty -5y", "above 0"]),
        (&[ENDURANCE], &["--warranty", "5"], 2, &["--warranty 5", "5y or 1825d"]),
        (&[ENDURANCE], &["--price", "0"], 2, &["'0' for '--price", "above 0"]),
        (&[ENDURANCE], &["--price", "$5x"], 2, &["--price"]),
        (&[ENDURANCE], &["--price", "5", "--price-per-gb", "1"], 2, &["cannot be used with"]),
        (&[ENDURANCE], &["--workload", "-"], 2, &["drive.precondition = steady", "save the trace"]),
    ] {
        let said = life_on(settings, arguments);
        assert_eq!(said.code, code, "{arguments:?}: {}{}", said.out, said.err);
        for part in parts {
            assert!(said.err.contains(part), "{arguments:?}: `{part}` is missing in: {}", said.err);
        }
        assert!(said.out.is_empty() && !said.err.contains("panicked"), "{arguments:?}: {}", said.out);
    }
}

/// Two logs as nvme-cli prints them, with and without the log of the Open Compute Project.
fn log(units: u64, used: u64, flash_bytes: Option<u64>) -> String {
    let smart =
        format!(r#"{{"data_units_written": {units}, "percent_used": {used}, "power_on_hours": {}}}"#, units / 100);
    let ocp = flash_bytes.map(|bytes| format!(r#"{{"Physical media units written": {{"hi": 0, "lo": {bytes}}}}}"#));
    smart + &ocp.unwrap_or_default()
}

#[test]
fn two_logs_of_a_real_drive_tell_its_rate_and_how_long_it_lives() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("before"), log(0, 0, Some(0))).unwrap();
    std::fs::write(path("after"), log(48_000, 6, Some(49_152_000_000))).unwrap();
    let of = |more: &[&str]| {
        let mut command = nandarium(&["life", "--smart", &path("before"), &path("after")]);
        command.args(more);
        said(command)
    };
    let told = of(&["--tbw", "1TB"]);
    assert_eq!(told.code, 0, "{}", told.err);
    for part in ["20 days (power-on hours)", "24.6 GB, 1.23 GB a day", "write amplification 2.000", "0 % before, 6 %"] {
        assert!(told.out.contains(part), "`{part}` is missing in: {}", told.out);
    }
    assert!(told.out.contains("until worn out") && told.out.contains("data sheet        1 TB written"), "{}", told.out);
    let ten = document(&of(&["--over", "10d", "--json"]));
    assert_eq!((&ten["days"], &ten["days_from"], &ten["data_sheet"]), (&10.0.into(), &"given".into(), &Value::Null));
    assert!((number(&ten, "/tbw/estimate") - 0.4096).abs() < 1e-9, "{ten}");
    std::fs::write(path("after"), log(48_000, 1, None)).unwrap();
    let told = of(&[]).out;
    assert!(told.contains("the logs do not tell them") && told.contains("No projection: the "), "{told}");
    for (more, part) in [(["--workload", "zipf"], "cannot be used with"), (["--over", "soon"], "soon")] {
        let told = of(&more);
        assert!(told.code == 2 && told.err.contains(part), "{}", told.err);
    }
    std::fs::write(path("after"), "{}").unwrap();
    let told = of(&[]);
    assert!(
        told.code == 2 && told.err.contains("after: it does not tell how much the host has written"),
        "{}",
        told.err
    );
}
