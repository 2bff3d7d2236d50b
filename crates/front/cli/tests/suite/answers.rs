//! `compare --life` as somebody runs it who has to choose a drive.

use crate::support::{Said, nandarium, said, tiny_beside, trace};
use serde_json::Value;
use std::fmt::Write;

const LASTS: &str = "page+flash.endurance=9000";

/// Two drives of which one survives three times as many erases.
fn compared(more: &[&str]) -> Said {
    let asked = ["compare", "page", LASTS, "--life", "--no-snapshots", "-q", "--workload", "zipf"];
    let load = ["--per-day", "1GB", "--requests", "20000", "--set", "flash.endurance=3000"];
    said(nandarium(&[&asked, &load[..], &tiny_beside(&load), more].concat()))
}

fn document(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{}", said.err);
    serde_json::from_str(&said.out).expect("standard output is one JSON document")
}

/// The table had to be read to the end, and named no winner.
#[test]
fn a_comparison_of_lives_begins_with_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let prices = ["--price", "page=100EUR", "--price", "page+flash.endurance=9000=120EUR"];
    let text = compared(&[&prices[..], &["--out", out]].concat());
    assert_eq!(text.code, 0, "{}", text.err);
    let plain = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.starts_with(&format!("answer Cheapest a year: {LASTS}, ")), "{}", text.out);
    for part in [
        " EUR a year if it lives ",
        " years).",
        "No measurable difference in writes at the tail (p99.9) between ",
        "- years: ",
        "- cost a year: ",
    ] {
        assert!(plain.contains(part), "`{part}` is missing in: {}", text.out);
    }
    let (_, assumed) = text.out.split_once("\nassumes   ").unwrap();
    let (assumed, _) = assumed.split_once("\n\n").unwrap();
    // It was one line of three hundred characters.
    assert!(assumed.lines().all(|line| line.chars().count() <= 100), "{assumed}");
    let assumed = assumed.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "prices in EUR; ",
        "whole drives simulated",
        "3,000 erases (given)",
        "1 GB written a day",
        "rates and latencies at full speed, queue depth 32",
        "years have no cap",
        "20,000 requests, 3 runs of each (chosen)",
    ] {
        assert!(assumed.contains(part), "`{part}` is missing in: {assumed}");
    }
    let [at, table] = ["assumes ", "2 stacks under zipf"].map(|part| text.out.find(part).unwrap());
    assert!(at < table && text.out[table..].contains("\ncost a year "), "{}", text.out);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (whole, page): (Value, String) = (serde_json::from_str(&read("result.json")).unwrap(), read("report.html"));
    let answer = &whole["answer"];
    assert_eq!(answer["life"]["stack"], LASTS);
    assert_eq!((&answer["repetitions"], &answer["life"]["by"]), (&3.into(), &"cost_per_year".into()));
    assert!(page.contains("rates and latencies at full speed, queue depth 32; "), "nothing said so beside the answer");
    assert!(page.contains("id=\"answer\"") && page.contains("<li>cost a year: "), "the page begins with it");
    let again = folder.path().join("again.html");
    let report = nandarium(&["report", out, "--out", again.to_str().unwrap()]);
    assert_eq!(said(report).code, 0);
    assert_eq!(std::fs::read_to_string(again).unwrap(), page, "a page that is made again has it too");
}

/// A cheap drive was told to be cheaper although the intervals of both overlap.
#[test]
fn drives_that_cannot_be_told_apart_are_not_ranked() {
    let asked = ["compare", "page", "page+host.latency=1ns", "--life", "--no-snapshots", "-q", "--json"];
    let load = ["--workload", "zipf", "--per-day", "1GB", "--requests", "20000", "--set", "flash.endurance=3000"];
    let prices = ["--price", "page=100", "--price", "1ns=101"];
    let whole = document(&said(nandarium(&[&asked[..], &load, &tiny_beside(&load), &prices].concat())));
    let answer = &whole["answer"];
    let sentence = answer["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Cheapest a year: no measurable difference between page ("), "{sentence}");
    assert!(answer["differences"].as_array().unwrap().is_empty(), "{}", answer["differences"]);
    assert_eq!(answer["life"]["not_told_from"], serde_json::json!(["page+host.latency=1ns"]));
}

/// It was refused.
#[test]
fn lives_are_compared_with_the_repetitions_asked_for() {
    let whole = document(&compared(&["--repetitions", "2", "--json"]));
    let told = [0, 1].map(|index| whole["results"][index]["life"]["repeated"]["count"].clone());
    assert_eq!((told, &whole["answer"]["repetitions"]), ([2.into(), 2.into()], &2.into()));
    let once = document(&compared(&["--repetitions", "1", "--json"]));
    let sentence = once["answer"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with(&format!("Lives longest: {LASTS}, ")), "{sentence}");
    assert!(sentence.contains(", of one run each"), "{sentence}");
    let notes = once["notes"].to_string();
    assert!(notes.contains("No cost a year: give prices with --price page=NUMBER"), "{notes}");
}

/// Each drive was told another number of passes, and none had a life.
#[test]
fn a_trace_too_short_for_a_life_is_lengthened_by_the_same_for_all_drives() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::new();
    for at in 0..2_000_u64 {
        writeln!(rows, "{},0,W,{},4096", at * 1_000_000, at.wrapping_mul(2_654_435_761) % 4096 * 4096).unwrap();
    }
    let path = trace(folder.path(), &rows);
    let drives = ["compare", "page", "page+drive.over_provisioning=90%", "--life", "--no-snapshots", "-q", "--json"];
    let load = ["--workload", &path, "--set", "flash.endurance=3000"];
    let of = |more: &[&str]| {
        document(&said(nandarium(&[&drives[..], &load, &tiny_beside(&[&load, more].concat()), more].concat())))
    };
    let whole = of(&[]);
    let setting = |index: usize, key: &str| whole["results"][index]["config"][key].as_str().unwrap().to_owned();
    let passes = [0, 1].map(|index| setting(index, "workload.repeat").parse::<u64>().unwrap());
    assert!(passes[0] > 1 && passes[0] == passes[1], "{passes:?}");
    assert_eq!(setting(1, "workload.repeat_order"), "shuffle", "the trace writes each place once");
    assert!([0, 1].iter().all(|index| whole["results"][*index]["life"].is_object()), "{}", whole["notes"]);
    let assumed = whole["answer"]["assumptions"].as_str().unwrap();
    assert!(assumed.contains(&format!(" in {} passes, 3 runs of each (chosen", passes[0])), "{assumed}");
    assert!(assumed.contains("rates and latencies at the load's own arrival times"), "{assumed}");
    // A length that was given is kept.
    let given = of(&["--set", "workload.repeat=1"]);
    assert!(given["results"][0]["life"].is_null() && given["results"][0]["config"]["workload.repeat"] == "1");
    let answer = &given["answer"];
    assert!(answer["sentence"].as_str().unwrap().starts_with("No life can be told"), "{answer}");
    // It told a number of runs that was chosen, and why: the one of another number.
    let assumed = answer["assumptions"].as_str().unwrap();
    assert!(assumed.ends_with("1 run of each (not repeated: page has no life (too few erases))"), "{assumed}");
    assert!(!answer["about_differences"].as_str().unwrap().contains("--repetitions"), "{answer}");
    assert!(given["notes"].to_string().contains("No repetitions: page has no life (too few erases), and means take"));
}

/// The smaller drive takes some requests in two pieces, so the drives had other numbers of requests, and one no life.
#[test]
fn a_trace_that_one_drive_has_to_move_is_lengthened_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::new();
    for at in 0..2_000_u64 {
        // The second region of the file that is met first, and then requests across its begin.
        let (offset, bytes) = match at {
            0 => (41 << 20, 4096),
            at if at % 10 == 1 => ((41 << 20) - 4096, 8192),
            at => (at.wrapping_mul(2_654_435_761) % 3072 * 4096, 4096),
        };
        writeln!(rows, "{},0,W,{offset},{bytes}", at * 1_000_000).unwrap();
    }
    let path = trace(folder.path(), &rows);
    let drives =
        ["compare", "page+drive.capacity=16MiB", "page+drive.capacity=64MiB", "--life", "--no-snapshots", "-q"];
    let load = ["--json", "--repetitions", "1", "--workload", &path, "--set", "flash.endurance=3000"];
    let tiny = tiny_beside(&["drive.capacity=16MiB"]);
    let whole = document(&said(nandarium(&[&drives[..], &load, &tiny].concat())));
    let results = [0, 1].map(|index| &whole["results"][index]);
    let requests = results.map(|result| result["host"]["write"]["requests"].as_u64().unwrap());
    assert!(requests[0] > requests[1], "{requests:?}");
    assert!(results.iter().all(|result| result["life"].is_object()), "{}", whole["notes"]);
    let sentence = whole["answer"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("The life of page+drive.capacity=64MiB is in doubt: the trace touches"), "{sentence}");
}

/// A drive of a seventh of its spare flash was ranked by its life and its tails, and a note below the table said so.
#[test]
fn the_answer_tells_drives_that_are_too_small_for_their_spare_flash() {
    let drives =
        ["compare", "sk-hynix-pe8110-like", "micron-7450-max-like", "--life", "--no-snapshots", "-q", "--json"];
    let load = ["--workload", "uniform-write", "--requests", "100000", "--repetitions", "1", "--per-day", "1TB"];
    let answer =
        |scale: &str| document(&said(nandarium(&[&drives[..], &load, &["--set", scale]].concat())))["answer"].clone();
    let small = answer("drive.scale=1024");
    let [sentence, assumed] = ["sentence", "assumptions"].map(|key| small[key].as_str().unwrap());
    assert!(sentence.contains("sk-hynix-pe8110-like"), "{sentence}");
    let told = "too little spare flash: they live longer and answer faster as whole drives, so the real order may be \
                another.";
    assert!(sentence.ends_with(told), "{sentence}");
    assert!(assumed.starts_with("scale 1/1,024; too little spare flash to clean with at this scale: "), "{assumed}");
    let scale = assumed.split("--set drive.scale=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(scale.parse::<u64>().unwrap() < 1024, "{assumed}");
}

/// A life was told beside "–, too few writes", and a life that could not be told was a dash without a reason.
#[test]
fn a_run_without_write_amplification_has_no_life_and_both_dashes_have_the_reason() {
    // Merges erase each block more than once while the host writes less than the spare flash holds.
    let asked = ["compare", "page+drive.over_provisioning=12%", "bast", "page", "--life", "--no-snapshots", "-q"];
    let load = ["--per-day", "1GB", "--workload", "uniform-write", "--requests", "1000"];
    let load = [&load[..], &["--set", "flash.endurance=30000"]].concat();
    let said = said(nandarium(&[&asked[..], &load, &tiny_beside(&load)].concat()));
    assert_eq!(said.code, 0, "{}", said.err);
    let row = |label: &str| {
        let row = said.out.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("{}", said.out));
        row[label.len()..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    for label in ["WAF ", "WAF by pages", "life: years  ", "life: TB written (TBW)"] {
        let cells = row(label);
        let refused = if label.starts_with("WAF") { "-, too few writes" } else { "-, too few erases" };
        assert!(cells[0].parse::<f64>().is_ok(), "{cells:?}");
        assert_eq!(cells[1..], ["-, too few writes", "-", refused, "-"], "{label}");
    }
    let plain = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains("Without a life: bast (too few writes) and page (too few erases)."), "{}", said.out);
    assert!(plain.contains("No life of bast: the host wrote less than the spare flash holds"), "{}", said.out);
}

/// The table calls a drive by its name, and prices had to be given by how it was typed.
#[test]
fn prices_and_data_sheets_are_given_by_short_names() {
    let sheets = ["--tbw", "page=2TB", "--tbw", "9000=3TB"];
    let whole =
        document(&compared(&[&["--price", "PAGE=$50", "--price", "Endurance=$60"], &sheets[..], &["--json"]].concat()));
    let life = |index: usize| &whole["results"][index]["life"];
    assert_eq!((&life(0)["cost"]["price"], &life(1)["cost"]["price"]), (&50.0.into(), &60.0.into()));
    assert_eq!((&life(1)["cost"]["currency"], &life(1)["data_sheet"]["tbw"]), (&"$".into(), &3.0.into()));
    let sentence = whole["answer"]["sentence"].as_str().unwrap();
    assert!(sentence.contains(&format!("By the data sheets: {LASTS}, $7.3 a year for 8.22 years.")), "{sentence}");
    for (more, wanted) in [
        (&["--price", "page=50EUR", "--price", "9000=$60"][..], "one table has one currency"),
        (&["--price", "page=50EUR", "--price", "9000=60"], "is in EUR, and --price"),
        (&["--price", "dftl=50"], "`dftl` is not compared; compared are page, page+flash.endurance=9000"),
        (&["--price", "page=50", "--price", "Page=60"], "`page` has one already"),
        (&["--tbw", "1752TB"], "write NAME=SIZE, such as page=1752TB"),
        (&["--tbw", "page=17"], "no unit"),
    ] {
        let said = compared(more);
        assert!(said.code == 2 && said.err.contains(wanted), "{more:?}: {}", said.err);
    }
}

/// The preset had no such figure, and the own one stood alone.
#[test]
fn a_life_stands_beside_what_the_data_sheet_promises() {
    let asked = ["life", "--drive", "sk-hynix-pe8110-like", "--no-snapshots", "-q", "--workload", "uniform-write"];
    let small = ["--set", "drive.scale=1024", "--requests", "200000", "--per-day", "1TB"];
    let text = said(nandarium(&[&asked[..], &small, &["--price", "$120"]].concat())).out;
    for part in ["TB written (TBW); data sheet: 1,752 TB ", "which are 4.8 years here", "$120.0 for the drive"] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
    let tiny = ["life", "page", "--no-snapshots", "-q", "--json", "--workload", "zipf", "--requests", "20000"];
    let tiny_of = |more: &[&str]| {
        let part = ["--set", "flash.part=mlc-4k"];
        document(&said(nandarium(&[&tiny[..], &part, &tiny_beside(&part), more].concat())))
    };
    let own = tiny_of(&["--tbw", "1000TB", "--set", "drive.data_sheet_writes=2TB"]);
    assert_eq!((&own["data_sheet"]["tbw"], &own["data_sheet"]["origin"]), (&1000.0.into(), &"given".into()));
    assert_eq!(own["endurance_factor"], 3.0);
    let end = |key: &str, end: &str| own[key][end].as_f64().unwrap();
    assert!((end("tbw", "earliest") * 3.0 / end("tbw_at_endurance", "earliest") - 1.0).abs() < 1e-9, "{own}");
    let given = tiny_of(&["--set", "flash.endurance=3000", "--set", "drive.data_sheet_writes=2TB"]);
    assert_eq!((&given["data_sheet"]["tbw"], &given["data_sheet"]["origin"]), (&2.0.into(), &"stack".into()));
    assert_eq!((&given["endurance_factor"], &given["tbw"]), (&1.0.into(), &given["tbw_at_endurance"]));
}

/// Flushes had no rows, and a load of commits was compared by its writes alone.
#[test]
fn a_load_of_commits_is_compared_by_its_flushes() {
    let asked =
        ["compare", "page", "dftl", "--no-snapshots", "-q", "--workload", "uniform-write", "--requests", "8000"];
    let of = |more: &[&str]| said(nandarium(&[&asked[..], &tiny_beside(&asked), more].concat()));
    let flushed = of(&["--set", "workload.flush_every=4"]);
    assert_eq!(flushed.code, 0, "{}", flushed.err);
    let row = flushed.out.lines().find(|line| line.starts_with("flush latency p99 ")).expect(&flushed.out);
    assert!(row.contains('x') && row.contains("s "), "{row}");
    let told = document(&of(&["--set", "workload.flush_every=4", "--repetitions", "2", "--json"]));
    let figures = told["results"][1]["repeated"]["figures"].to_string();
    assert!(figures.contains("flush_p99_ns") && figures.contains("mean flush latency"), "{figures}");
    assert!(!of(&[]).out.contains("flush latency"), "rows without flushes");
}

/// The first of two equal drives was named the cheapest by its data sheet.
#[test]
fn a_drive_given_twice_is_told_to_be_no_different() {
    let asked = ["compare", "page", "page", "--life", "--no-snapshots", "-q", "--workload", "zipf", "--json"];
    let load = ["--per-day", "1GB", "--requests", "20000", "--set", "flash.endurance=3000", "--price-per-gb", "1"];
    let sheet = ["--set", "drive.data_sheet_writes=2TB"];
    let whole = document(&said(nandarium(&[&asked[..], &load, &tiny_beside(&load), &sheet].concat())));
    let sentence = whole["answer"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Cheapest a year: no measurable difference between page ("), "{sentence}");
    assert!(sentence.contains("By the data sheets: no difference between page and page ("), "{sentence}");
    assert!(!sentence.contains("Fastest"), "{sentence}");
    assert_eq!(whole["answer"]["differences"], serde_json::json!([]));
    let promised = &whole["answer"]["life"]["by_data_sheets"];
    assert!(promised["stack"].is_null(), "one of two equal drives was named: {promised}");
    assert_eq!(promised["equal"], serde_json::json!(["page", "page"]));
}

/// An interval of a factor of 50 stood beside "within a factor of 3", and nothing explained it.
#[test]
fn an_interval_that_uneven_wear_makes_wide_is_explained() {
    let asked = ["compare", "page", "--life", "--no-snapshots", "-q", "--json", "--repetitions", "1"];
    let load = ["--workload", "hot-cold", "--per-day", "1GB", "--requests", "60000"];
    let hot = ["--set", "workload.hot_space=5%", "--set", "workload.hot_traffic=99.9%", "--set", "flash.part=mlc-4k"];
    let uneven = ["--set", "drive.precondition=fill"];
    let whole = document(&said(nandarium(&[&asked[..], &load, &hot, &uneven, &tiny_beside(&load)].concat())));
    let end = |end: &str| whole["results"][0]["life"]["tbw_at_endurance"][end].as_f64().unwrap();
    let factor = end("latest") / end("earliest");
    assert!(factor > 3.0, "{factor}");
    let told = format!("Uneven wear widens the interval of page by a factor of {factor:.2}");
    let sentence = whole["answer"]["sentence"].as_str().unwrap();
    assert!(sentence.contains(&told), "{sentence}");
    let notes = whole["notes"].to_string();
    assert!(notes.contains("page: uneven wear makes the latest end of its life"), "{notes}");
    assert!(notes.contains("What is not known of endurance widens it 9 times more"), "{notes}");
    // The advice was a longer run, which narrows nothing.
    let gap = notes.contains("Wear levelling with ftl.wear.static_gap below the spread of the erases narrows");
    assert!(gap && !notes.contains("A longer run"), "{notes}");
    let levelled = [&hot[..], &uneven, &["--set", "ftl.wear.static_gap=2"]].concat();
    let whole = document(&said(nandarium(&[&asked[..], &load, &levelled, &tiny_beside(&load)].concat())));
    let end = |end: &str| whole["results"][0]["life"]["tbw_at_endurance"][end].as_f64().unwrap();
    let narrow = end("latest") / end("earliest");
    assert!(narrow < 0.8 * factor, "a factor of {narrow} with, and of {factor} without");
}
